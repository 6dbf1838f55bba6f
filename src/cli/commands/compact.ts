import type { CompactionResult } from '../../compaction/result.ts'
import type { PreviewOptions } from '../../config/store-options.ts'
import type { SqliteStore } from '../../store/open.ts'
import type { Summarizer } from '../../summarizers/summarizer.ts'
import type { Context } from '../command.ts'
import { CliError, EXIT } from '../errors.ts'
import { providerAndModel } from '../options.ts'
import { count } from '../output/figures.ts'
import { commandLine, shortIds } from '../output/ids.ts'
import { paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { chooseBackend, summarizerBy } from './chat/backend.ts'
import { makePlan, planJson, planRows, type ShownPlan, WHY_NOTHING, type WhyNothing } from './compact/plan.ts'
import { planText, shortPlanText } from './compact/plan-text.ts'

export type CompactActionOptions = {
  readonly dryRun?: boolean
  readonly full?: boolean
  readonly target?: number
  readonly targetTokens?: number
  readonly stage?: readonly string[]
  readonly provider?: string
  readonly model?: string
  readonly summaryModel?: string
  readonly summaryUrl?: string
  readonly summaryPackage?: string
  readonly apiKeyEnv?: string
  readonly summarize?: boolean
  readonly reason?: string
}

/** Shows what a compaction would do and, unless it is a dry run, does that very thing. */
export async function compact(
  context: Context,
  session: string,
  options: CompactActionOptions,
): Promise<number> {
  const store = await context.open(options.dryRun === true && options.summarize !== true ? 'read' : 'change')
  const id = await context.session(store, session)
  const config = await configOf(context, options)
  if (options.summarize === true) tellOfAsking(context)
  const shown = await makePlan(store, id, config)
  if (shown === undefined) return tellNothing(context, options, id, 'NO_MESSAGES')
  const { preview } = shown
  // A plan of each row is read only where it is shown: a long session takes as long to read as to compact.
  const plan = context.json || options.dryRun === true ? await planRows(store, shown) : undefined
  const json = context.json && plan !== undefined ? planJson(shown, plan) : undefined
  if (!preview.compacted)
    return tellNothing(context, options, id, preview.reason ?? 'NOTHING_TO_COMPACT', shown, json)
  if (options.dryRun === true) {
    if (json !== undefined) context.printJson({ ...json, dryRun: true, compacted: false, run: null })
    else if (plan !== undefined) await context.page(planText(shown, plan, context, options.full === true))
    return EXIT.done
  }
  if (json === undefined) context.out.write(shortPlanText(shown, context))
  if (!context.yes && !(await context.confirm('Do it? It can be undone.')))
    throw new CliError('DECLINED', 'Nothing was written.')
  if (preview.summaryPending !== undefined) tellOfAsking(context)
  const result = await store.compactSession(id, preview)
  if (result === null) return tellNothing(context, options, id, 'NO_MESSAGES')
  tell(context, id, result, await undoName(context, store, id, result.runId), json)
  return result.compacted ? EXIT.done : EXIT.no
}

/** A model may think for a minute, in which nothing else is seen. */
function tellOfAsking({ err, style, json }: Context): void {
  if (err.isTerminal && !json) err.write(style.dim('A model is asked for the summary; Ctrl-C stops it.\n'))
}

async function configOf(context: Context, options: CompactActionOptions): Promise<PreviewOptions> {
  const { target, targetTokens, stage, reason, summarize } = options
  const summarizer = await summarizerOf(context, options)
  if (summarize === true && summarizer === undefined)
    throw new CliError('WRONG_USE', '--summarize asks a model; name it with --summary-model.')
  return {
    ...providerAndModel(options),
    signal: context.signal,
    ...(target !== undefined && { target }),
    ...(targetTokens !== undefined && { targetTokens }),
    ...(stage !== undefined && { stages: [...stage] }),
    ...(reason !== undefined && { reason }),
    ...(summarizer !== undefined && { summarizer }),
    ...(summarize === true && { summarize }),
  }
}

/** The model that is to write; absent: the settings', else the extractive summarizer. */
async function summarizerOf(
  context: Context,
  options: CompactActionOptions,
): Promise<Summarizer | undefined> {
  const { summaryModel: model, summaryUrl: url, summaryPackage: providerPackage, apiKeyEnv } = options
  if (model === undefined) {
    if (url !== undefined || providerPackage !== undefined || apiKeyEnv !== undefined)
      throw new CliError('WRONG_USE', 'Say which model is to write the summary: --summary-model.')
    return undefined
  }
  if (url === undefined && providerPackage === undefined && !model.includes('/'))
    throw new CliError(
      'WRONG_USE',
      '--summary-model names nobody to ask: write PROVIDER/MODEL, or add --summary-url.',
    )
  return summarizerBy(await chooseBackend({ model, url, providerPackage, apiKeyEnv }, {}, context))
}

function tellNothing(
  context: Context,
  { dryRun = false }: CompactActionOptions,
  sessionId: string,
  reason: WhyNothing,
  shown?: ShownPlan,
  json: object = { session: sessionId },
): number {
  if (context.json) {
    context.printJson({ ...json, reason, dryRun, compacted: false, run: null })
    return EXIT.no
  }
  const figures =
    shown === undefined
      ? ''
      : ` (${count(shown.preview.tokensBefore)} tokens, target ${count(shown.preview.targetTokens)})`
  const text = `Nothing to compact in session ${sessionId}: ${WHY_NOTHING[reason]}${figures}.`
  context.out.write(`${paragraph(safeLine(text), context.out).join('\n')}\n`)
  return EXIT.no
}

/** What the run is called in a command that undoes it: on a terminal the end of its id that no other has. */
async function undoName(
  { out }: Context,
  store: SqliteStore,
  sessionId: string,
  runId: string,
): Promise<string> {
  if (!out.isTerminal) return runId
  const compactions = await store.listCompactions(sessionId)
  return shortIds([runId, ...compactions.flatMap((one) => [one.id, one.runId])]).get(runId) ?? runId
}

function tell(
  context: Context,
  sessionId: string,
  result: CompactionResult,
  undoName: string,
  json: object | undefined,
): void {
  const { out, style } = context
  const { runId, tokensBefore, tokensAfter, compacted, failed } = result
  if (json !== undefined) {
    const { fits, reachedTarget, tokensSaved } = result
    const done = {
      tokensBefore,
      tokensAfter,
      tokensSaved,
      reachedTarget,
      fits,
      reason: result.reason ?? null,
    }
    context.printJson({ ...json, ...done, dryRun: false, compacted, run: runId, failed })
    return
  }
  for (const { summarizer, error } of failed)
    context.err.write(style.yellow(`A summary by ${summarizer} was not accepted: ${error}.\n`))
  if (!compacted) {
    const why = result.reason === undefined ? 'nothing came of it' : WHY_NOTHING[result.reason]
    out.write(`Nothing was written: ${why}.\n`)
    return
  }
  out.write(
    `${style.green('Done.')} History ${count(tokensBefore)} → ${count(tokensAfter)} tokens, as run ${undoName}.\n`,
  )
  out.write(style.dim(`Take it back: ${commandLine('undo', sessionId, undoName)}\n`))
}

import type { Summarizer } from '../../core/summarizers/summarizer.ts'
import type { CompactionResult } from '../../store/compaction/result.ts'
import type { PreviewOptions } from '../../store/config/store-options.ts'
import type { Store } from '../../store/store.ts'
import type { Context } from '../command.ts'
import type { Given } from '../declarations.ts'
import { CliError, EXIT } from '../errors.ts'
import { providerAndModel } from '../options.ts'
import { count, fromTo, mediaOf, mediaText } from '../output/figures.ts'
import { commandLine, shortIds } from '../output/ids.ts'
import { sentence, writeLines } from '../output/layout.ts'
import { openSession } from '../references.ts'
import { summarizerBy } from './chat/backend.ts'
import { chooseBackend } from './chat/choose-backend.ts'
import {
  IDLE_REASONS,
  type IdleCause,
  makePlan,
  planJson,
  planLines,
  planRows,
  type ShownPlan,
  shortPlanLines,
} from './compact/plan.ts'

type CompactOptions = Given<'compact'>

/** Shows the plan of a compaction and, unless it is a dry run, carries out exactly that plan. */
export async function compact(context: Context, session: string, options: CompactOptions): Promise<number> {
  const { dryRun = false, full = false, summarize = false } = options
  const { json: isJson, out } = context
  const { store, id } = await openSession(context, dryRun && !summarize ? 'read' : 'change', session)
  const previewOptions = await previewOptionsOf(context, options)
  if (summarize) announceModelCall(context)
  const shown = await makePlan(store, id, previewOptions)
  if (shown === undefined) return reportNothing(context, dryRun, id, 'NO_MESSAGES')
  const { preview } = shown
  // The plan row by row is only made to be shown: it reads the whole session.
  const plan = isJson || dryRun ? await planRows(store, shown) : undefined
  const json = isJson && plan !== undefined ? planJson(shown, plan) : undefined
  if (!preview.compacted)
    return reportNothing(context, dryRun, id, preview.reason ?? 'NOTHING_TO_COMPACT', shown, json)
  if (dryRun && plan !== undefined) {
    if (json !== undefined) context.printJson({ ...json, dryRun, compacted: false, run: null })
    else await context.page(`${planLines(shown, plan, context, full).join('\n')}\n`)
    return EXIT.done
  }
  if (json === undefined) writeLines(out, shortPlanLines(shown, context))
  if (!context.yes && !(await context.confirm('Compact now? It can be undone.')))
    throw new CliError('DECLINED', 'Nothing was written.')
  if (preview.summaryPending !== undefined) announceModelCall(context)
  const result = await store.compactSession(id, preview)
  if (result === null) return reportNothing(context, dryRun, id, 'NO_MESSAGES')
  await reportResult(context, store, id, result, json)
  return result.compacted ? EXIT.done : EXIT.no
}

/** Explains the silence while a model thinks. */
function announceModelCall({ err, style, json }: Context): void {
  if (err.isTerminal && !json)
    writeLines(err, [style.dim('Asking the model for a summary… Press Ctrl-C to cancel.')])
}

async function previewOptionsOf(context: Context, options: CompactOptions): Promise<PreviewOptions> {
  const { target, targetTokens, stage, reason, summarize } = options
  const summarizer = await summarizerOf(context, options)
  if (summarize === true && summarizer === undefined)
    throw new CliError('WRONG_USE', '--summarize calls a model; name it with --summary-model.')
  return {
    ...providerAndModel(options),
    signal: context.signal,
    target,
    targetTokens,
    stages: stage === undefined ? undefined : [...stage],
    reason,
    summarizer,
    summarize,
  }
}

/** Returns the summarizer that the options name, or `undefined`: then the settings decide, else the extractive summarizer is used. */
async function summarizerOf(context: Context, options: CompactOptions): Promise<Summarizer | undefined> {
  const { summaryModel: model, summaryUrl: url, summaryPackage: providerPackage, apiKeyEnv } = options
  if (model === undefined) {
    if (url !== undefined || providerPackage !== undefined || apiKeyEnv !== undefined)
      throw new CliError(
        'WRONG_USE',
        '--summary-url, --summary-package and --api-key-env require --summary-model.',
      )
    return undefined
  }
  if (url === undefined && providerPackage === undefined && !model.includes('/'))
    throw new CliError(
      'WRONG_USE',
      '--summary-model has no provider: write PROVIDER/MODEL, or add --summary-url.',
    )
  return summarizerBy(await chooseBackend({ model, url, providerPackage, apiKeyEnv }, {}, context))
}

function reportNothing(
  context: Context,
  dryRun: boolean,
  sessionId: string,
  reason: IdleCause,
  shown?: ShownPlan,
  json: object = { session: sessionId },
): number {
  const { out } = context
  const figures =
    shown === undefined
      ? ''
      : ` (${count(shown.preview.tokensBefore)} tokens, target ${count(shown.preview.targetTokens)})`
  if (context.json) context.printJson({ ...json, reason, dryRun, compacted: false, run: null })
  else
    writeLines(
      out,
      sentence(`Nothing to compact in session ${sessionId}: ${IDLE_REASONS[reason]}${figures}.`, out),
    )
  return EXIT.no
}

async function reportResult(
  context: Context,
  store: Store,
  sessionId: string,
  result: CompactionResult,
  json: object | undefined,
): Promise<void> {
  const { out, err, style } = context
  const { runId, tokensBefore, tokensAfter, compacted, failed, reason } = result
  if (json !== undefined) {
    const { fits, reachedTarget, tokensSaved } = result
    const why = { reason: reason ?? null, offTarget: result.offTarget ?? null }
    const tokens = { tokensBefore, tokensAfter, tokensSaved }
    const figures = { ...tokens, ...mediaOf(result), reachedTarget, fits, ...why }
    context.printJson({ ...json, ...figures, dryRun: false, compacted, run: runId, failed })
    return
  }
  for (const { summarizer, error } of failed)
    err.write(style.yellow(`A summary by ${summarizer} was rejected: ${error}.\n`))
  if (!compacted) {
    const why = reason === undefined ? 'it had no result' : IDLE_REASONS[reason]
    writeLines(out, [`Nothing was written: ${why}.`])
    return
  }
  const name = out.isTerminal ? await shortRunId(store, sessionId, runId) : runId
  writeLines(out, [
    `${style.green('Done.')} History ${fromTo(tokensBefore, tokensAfter)}${mediaText(result)}, as run ${name}.`,
    style.dim(`Undo it: ${commandLine('undo', sessionId, name)}`),
  ])
}

/** The shortest end of a run's id that `undo` accepts. */
async function shortRunId(store: Store, sessionId: string, runId: string): Promise<string> {
  const compactions = await store.listCompactions(sessionId)
  return shortIds(compactions.flatMap((one) => [one.id, one.runId])).get(runId) ?? runId
}

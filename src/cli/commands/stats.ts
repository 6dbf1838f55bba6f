import { toolsSchema } from '../../core/tokens/tool-definitions.ts'
import { isAssumed } from '../../core/tokens/windows.ts'
import type { StatsOptions } from '../../store/config/store-options.ts'
import type { Context } from '../command.ts'
import { CliError, EXIT } from '../errors.ts'
import { momentOf } from '../moments.ts'
import { providerAndModel, readTextFile, type SystemPromptOptions, systemPromptOf } from '../options.ts'
import { writeLines } from '../output/layout.ts'
import { type RequestFigures, requestFigures, statsLines } from './stats/report.ts'

type StatsCommandOptions = SystemPromptOptions & {
  readonly model?: readonly string[]
  readonly prompt?: string
  readonly tools?: string
  readonly maxTokens?: number
  readonly at?: string
}

export async function showStats(
  context: Context,
  given: string,
  options: StatsCommandOptions,
): Promise<number> {
  const request = await requestOf(context, options)
  const store = await context.open('read')
  const id = await context.session(store, given)
  const { settings } = await store.sessions.config(id)
  const at = options.at === undefined ? undefined : await momentOf(context, store, id, options.at)
  const models: RequestFigures[] = []
  for (const name of options.model ?? [undefined]) {
    const { provider, model } = providerAndModel({ model: name })
    const stats = await store.getContextStats(id, provider, model, { ...request, ...(at && { at }) })
    if (stats !== null) models.push(requestFigures(stats, settings))
  }
  const session = await store.sessions.get(id)
  const counts = (await store.sessions.get(id, { counts: true })).counts
  const usage = await store.requests.usage(id)
  if (context.json) {
    const { hidden, activeCompactions: compactionsInForce } = session
    context.printJson({
      session: id,
      ...counts,
      hidden,
      compactionsInForce,
      models: models.map(statsJson),
      usage,
    })
  } else {
    writeLines(context.out, statsLines(context, session, counts, models, usage))
    const moment = models[0]?.stats.moment
    if (moment !== undefined) {
      const place = `after position ${moment.position} and entry ${moment.auditNo} of the audit`
      writeLines(context.out, [
        '',
        `The context is that of the past, ${place}; counts and usage are of today.`,
      ])
    }
  }
  return EXIT.done
}

/** What the request will hold besides the history. */
async function requestOf({ cwd }: Context, options: StatsCommandOptions): Promise<StatsOptions> {
  const { prompt, tools, maxTokens } = options
  return {
    system: await systemPromptOf(options, cwd),
    prompt,
    tools: tools === undefined ? undefined : await readTools(cwd, tools),
    maxOutputTokens: maxTokens,
  }
}

async function readTools(cwd: string, path: string): Promise<StatsOptions['tools']> {
  const text = await readTextFile(cwd, path)
  let tools: unknown
  try {
    tools = JSON.parse(text)
  } catch {
    throw new CliError('BAD_DATA', `${path} is not JSON.`, { facts: { path } })
  }
  const read = toolsSchema.safeParse(tools)
  if (read.success) return read.data
  throw new CliError(
    'BAD_DATA',
    `${path} must hold a list of tool definitions, or an object of name to tool.`,
    {
      facts: { path },
    },
  )
}

function statsJson({ stats, breakdown, free, target, due }: RequestFigures) {
  const { tokens, source, entry } = stats.contextWindow
  const { moment } = stats
  return {
    ...(moment !== undefined && { moment }),
    provider: stats.provider,
    model: stats.model ?? null,
    estimator: stats.estimator,
    tokens: stats.estimatedInputTokens,
    source: stats.source,
    estimated: stats.estimated,
    measured: stats.measured,
    calibration: stats.calibration,
    window: { tokens, source, entry: entry ?? null, assumed: isAssumed(stats.contextWindow) },
    outputReserve: stats.outputReserve,
    inputLimit: stats.inputLimit ?? null,
    available: stats.availableInputTokens,
    usageRatio: stats.usageRatio,
    images: { used: stats.images.used, limit: stats.images.limit ?? null },
    bytes: { used: stats.bytes.used, limit: stats.bytes.limit ?? null },
    fits: stats.withinBudget,
    compactionDue: stats.shouldCompact,
    compactionHeldBack: stats.heldBack === true,
    threshold: stats.threshold,
    dueAt: due,
    target,
    breakdown: { ...breakdown, free },
    fixed: stats.fixed,
  }
}

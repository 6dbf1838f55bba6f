import type { ContextStats } from '../../compaction/stats.ts'
import type { StatsOptions } from '../../config/store-options.ts'
import { CliError } from '../cli-error.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { providerAndModel } from '../provider-and-model.ts'
import { type RequestFigures, requestFigures } from '../stats/request-figures.ts'
import { statsLines } from '../stats/stats-lines.ts'
import { type SystemPromptOptions, systemPromptOf } from '../system-prompt.ts'
import { readTextFile } from '../text-file.ts'

export type StatsCommandOptions = SystemPromptOptions & {
  readonly model?: readonly string[]
  readonly prompt?: string
  readonly tools?: string
  readonly maxTokens?: number
}

export async function showStats(
  context: Context,
  given: string,
  options: StatsCommandOptions,
): Promise<number> {
  const request = await requestOf(context, options)
  const store = await context.open('read')
  const id = await context.session(store, given)
  const { settings } = await store.getConfig(id)
  const models: RequestFigures[] = []
  for (const name of options.model ?? [undefined]) {
    const { provider, model } = providerAndModel({ model: name })
    const stats = await store.getContextStats(id, provider, model, request)
    if (stats !== null) models.push(requestFigures(stats, settings))
  }
  const session = await store.getSession(id)
  const counts = await store.countMessages(id)
  const usage = await store.getUsage(id)
  if (context.json) {
    const { hidden, activeCompactions } = session
    context.printJson({
      session: id,
      ...counts,
      hidden,
      compactionsInForce: activeCompactions,
      models: models.map(jsonOf),
      usage,
    })
  } else {
    context.out.write(`${statsLines(context, session, counts, models, usage).join('\n')}\n`)
  }
  return EXIT.done
}

async function requestOf(
  { cwd }: Context,
  { prompt, tools, maxTokens, ...options }: StatsCommandOptions,
): Promise<StatsOptions> {
  const systemPrompt = await systemPromptOf(options, cwd)
  return {
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(prompt !== undefined && { currentPrompt: prompt }),
    ...(tools !== undefined && {
      toolDefinitions: toolsIn(await readTextFile(cwd, tools), tools),
    }),
    ...(maxTokens !== undefined && { maxTokens }),
  }
}

function toolsIn(text: string, path: string): unknown[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new CliError('BAD_DATA', `${path} is not JSON.`, { facts: { path } })
  }
  if (Array.isArray(value)) return value
  throw new CliError('BAD_DATA', `${path} must hold a list of tool definitions.`, { facts: { path } })
}

function jsonOf({ stats, breakdown, free, target, due }: RequestFigures) {
  return {
    provider: stats.provider,
    model: stats.model ?? null,
    estimator: stats.estimator,
    tokens: stats.estimatedInputTokens,
    source: stats.source,
    estimated: stats.estimated,
    measured: stats.measured,
    calibration: stats.calibration,
    window: windowOf(stats),
    outputReserve: stats.outputReserve,
    inputLimit: stats.inputLimit ?? null,
    available: stats.availableInputTokens,
    usageRatio: stats.usageRatio,
    fits: stats.withinBudget,
    compactionDue: stats.shouldCompact,
    compactionHeldBack: stats.heldBack === true,
    threshold: stats.threshold,
    dueAt: due,
    target,
    breakdown: { ...breakdown, free },
  }
}

function windowOf({ contextWindow: { tokens, source, entry } }: ContextStats) {
  return { tokens, source, entry: entry ?? null }
}

import type { CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { type OverflowResult, reportedSize } from '../compaction/usage.ts'
import { PREPARE_WAIT_MS } from '../compaction/waiting.ts'
import type { ResolvedSettings } from '../config/resolve.ts'
import type { CompactOptions, OverflowInput, StatsOptions } from '../config/store-options.ts'
import { isUndertextError } from '../errors.ts'
import type { NewMessage } from '../messages/message.ts'
import { isContextOverflowError } from '../overflow/overflow.ts'
import type { CheckedPrepare } from './options.ts'
import { Patience } from './patience.ts'
import { describedBy, exceeded, type PreparedRequest } from './prepared.ts'
import { lastResort, ownRun, WITHOUT_WAITING } from './room.ts'

/** Share of what a provider has room for that a request is brought down to after an overflow. Source: checklist S3-281. */
export const OVERFLOW_TARGET = 0.7
/** The same for the steps after it. Source: docs/decisions.md. */
const LOWER_TARGETS = [0.5, 0.35] as const

/** What recovery needs of a store. */
type RecoveryPort = {
  readonly settings: (sessionId: string) => Promise<ResolvedSettings>
  /** Prepares; with `isDueIgnored` room is made only for what does not fit. */
  readonly prepare: (
    sessionId: string,
    options: CheckedPrepare,
    prompt: readonly NewMessage[],
    isDueIgnored: boolean,
  ) => Promise<PreparedRequest>
  readonly recordOverflow: (
    sessionId: string,
    error: unknown,
    request: OverflowInput,
  ) => Promise<OverflowResult>
  readonly compact: (sessionId: string, config: CompactOptions) => Promise<CompactionResult | null>
  readonly stats: (
    sessionId: string,
    provider: string | undefined,
    model: string | undefined,
    request: StatsOptions,
  ) => Promise<ContextStats | null>
}

/** One recovery: what was taken so far. */
type Recovering = {
  readonly sessionId: string
  readonly options: CheckedPrepare
  readonly prompt: readonly NewMessage[]
  readonly settings: ResolvedSettings
  /** The step of escalation that comes next. */
  step: number
  readonly stagesUsed: string[]
}

/** A step of escalation: what its run is told. */
type Step = CompactOptions

/**
 * Prepares a request and makes the call; after an overflow makes the history shorter and calls again, once a step: the session's
 * stages; the same without a model; truncation and the emergency cut. Source: seed 003, checklist S3-277 to S3-281.
 */
export async function recovered<T>(
  port: RecoveryPort,
  sessionId: string,
  call: (request: PreparedRequest, attempt: number) => T | Promise<T>,
  options: CheckedPrepare,
  prompt: readonly NewMessage[],
): Promise<T> {
  let request = await port.prepare(sessionId, options, prompt, false)
  const settings = await port.settings(sessionId)
  const isOn = (options.auto ?? settings.auto) && settings.enabled
  const recovering = { sessionId, options, prompt, settings, step: 0, stagesUsed: [] }
  for (let attempt = 1; ; attempt++) {
    let error: unknown
    try {
      return await call(request, attempt)
    } catch (thrown) {
      error = thrown
    }
    const { provider } = request
    if (!isOn || options.signal?.aborted || !isContextOverflowError(error, { ...options.overflow, provider }))
      throw error
    const reported = await told(port, recovering, request, error)
    const next = await shorter(port, recovering, request, reported)
    if (next !== undefined) {
      request = next
      continue
    }
    // Nothing was done that made it smaller: it is the provider's own error that tells why.
    if (attempt === 1 || options.signal?.aborted) throw error
    const facts = { cause: error, reportedTokens: reported ?? 0 }
    throw exceeded(request.stats, recovering.stagesUsed, facts)
  }
}

/** Tells the store what the error says; answers the size it names. What cannot be told is no reason to lose the error. */
async function told(
  port: RecoveryPort,
  { sessionId, options }: Recovering,
  request: PreparedRequest,
  error: unknown,
): Promise<number | undefined> {
  const { provider, model } = request
  const outcome = await unlessOurs(() =>
    port.recordOverflow(sessionId, error, {
      ...describedBy(request),
      provider,
      ...(model !== undefined && { model }),
      ...(options.overflow !== undefined && { overflow: options.overflow }),
    }),
  )
  return outcome?.isOverflow ? reportedSize(outcome.details) : undefined
}

/** A shorter request, by the steps that are left; `undefined` when none of them made it shorter. */
async function shorter(
  port: RecoveryPort,
  recovering: Recovering,
  request: PreparedRequest,
  reported: number | undefined,
): Promise<PreparedRequest | undefined> {
  const { sessionId, options, prompt, stagesUsed } = recovering
  const beside = besides(request, options)
  // What was learnt counts now.
  const stats = await unlessOurs(() => port.stats(sessionId, options.provider, options.model, beside))
  if (stats === null || stats === undefined) return undefined
  const size = Math.max(reported ?? 0, request.stats.estimatedInputTokens)
  // A provider that refuses what we think it has room for has less than it takes.
  const room = Math.max(1, Math.min(stats.availableInputTokens, size))
  const steps = stepsOf(recovering, room)
  const target = Math.floor(OVERFLOW_TARGET * room)
  const again = (): Promise<PreparedRequest | undefined> =>
    unlessOurs(() => port.prepare(sessionId, options, prompt, true))
  // Another call of the session may have made the history shorter meanwhile.
  const isShorter = stats.estimated < request.stats.estimated
  let best = isShorter ? ifSmaller(await again(), request) : undefined
  if (best !== undefined && best.stats.estimatedInputTokens <= target) return best
  while (recovering.step < steps.length) {
    const step = steps[recovering.step]!
    recovering.step += 1
    const run = await runOf(port, recovering, { ...configOf(recovering, beside, reported), ...step })
    if (options.signal?.aborted) return undefined
    if (run?.compacted !== true) continue
    stagesUsed.push(...run.stagesUsed)
    const next = ifSmaller(await again(), best ?? request)
    if (next === undefined) continue
    best = next
    if (next.stats.estimatedInputTokens <= target) return next
  }
  return best
}

/** A request of another view, when it is smaller than the one before. */
function ifSmaller(next: PreparedRequest | undefined, before: PreparedRequest): PreparedRequest | undefined {
  const isOther = next?.viewEpoch !== before.viewEpoch
  return isOther && next !== undefined && next.stats.estimated < before.stats.estimated ? next : undefined
}

/** What each step tells a run. The last one cuts contents even when the window would have room for them. */
function stepsOf({ options, settings }: Recovering, room: number): readonly Step[] {
  const [lower, lowest] = LOWER_TARGETS
  const stages = lastResort(options, settings)
  return [
    { contextWindowTarget: room, target: OVERFLOW_TARGET },
    { contextWindowTarget: room, target: lower, ...WITHOUT_WAITING },
    ...(stages === undefined
      ? []
      : [
          {
            contextWindowTarget: Math.max(1, Math.floor(room * lowest)),
            target: 1,
            stages,
            ...WITHOUT_WAITING,
          },
        ]),
  ]
}

/** A run within the time there is. One that fails, or takes too long, is a step that does not help. */
async function runOf(
  port: RecoveryPort,
  { sessionId, options, settings }: Recovering,
  config: CompactOptions,
): Promise<CompactionResult | null> {
  const waitMs = options.waitMs ?? PREPARE_WAIT_MS
  const summaryMs = config.summaryTimeoutMs ?? settings.summaryTimeoutMs ?? waitMs
  const answer = await unlessOurs(() =>
    new Patience(sessionId, waitMs, options.signal).within((signal) =>
      port.compact(sessionId, {
        ...config,
        summaryTimeoutMs: Math.max(1, Math.min(summaryMs, waitMs)),
        signal,
      }),
    ),
  )
  return typeof answer === 'object' ? answer : null
}

/** What is known of the request besides its history. */
function besides({ system, tools, pendingTokens }: PreparedRequest, options: CheckedPrepare): StatsOptions {
  const { maxOutputTokens, contextWindowTarget } = options
  return {
    pendingTokens,
    ...(system !== undefined && { systemPrompt: system }),
    ...(tools !== undefined && { toolDefinitions: [...tools] }),
    ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
    ...(contextWindowTarget !== undefined && { contextWindowTarget }),
  }
}

function configOf(
  { options }: Recovering,
  beside: StatsOptions,
  reported: number | undefined,
): CompactOptions {
  const { compaction, provider, model } = options
  return {
    ...ownRun(compaction),
    trigger: 'overflow',
    ...(reported !== undefined && { reportedTokens: reported }),
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    ...beside,
  }
}

/** What an error of ours ends, answers nothing: it must not take the place of the provider's. */
async function unlessOurs<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isUndertextError(error)) return undefined
    throw error
  }
}

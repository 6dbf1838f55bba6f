import type { ProviderCompactionResult } from '../compaction/record-provider.ts'
import type { CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { PREPARE_WAIT_MS } from '../compaction/waiting.ts'
import type { TurnSettings } from '../config/resolve.ts'
import type { CompactOptions, StatsOptions } from '../config/store-options.ts'
import { type ContextWarningEvent, type Events, percentOf } from '../events.ts'
import type { Json, JsonObject } from '../messages/json.ts'
import type { NewMessage } from '../messages/message.ts'
import { type NextStep, nextStep } from '../messages/stop-reason.ts'
import type { AppendedMessage } from '../storage/storage.ts'
import type { CheckedAfter, CheckedBefore } from './options.ts'

/** Sessions whose crossing is remembered; beyond it the one that was looked at longest ago is forgotten. */
const MOST_SESSIONS = 10_000

/**
 * Which level of usage each session was warned of last. Kept in memory by one store object: two processes warn each for
 * itself, and a store that was opened anew warns anew.
 */
export class Warnings {
  readonly #reached = new Map<string, number>()

  /**
   * The level to warn of now, if any: the highest at or below the usage, when it is higher than the one reached before. Of
   * several that were jumped over only the highest is told. Usage below a level arms it again. Source: conflict C-29.
   */
  crossed(sessionId: string, usageRatio: number, levels: readonly number[]): number | undefined {
    const before = this.#reached.get(sessionId) ?? 0
    const level = levels.reduce((highest, one) => (usageRatio >= one && one > highest ? one : highest), 0)
    // What was reached stays so until usage is below it, whatever levels this call asks about.
    const reached = usageRatio >= before ? Math.max(before, level) : level
    this.#reached.delete(sessionId)
    if (reached > 0) this.#reached.set(sessionId, reached)
    if (this.#reached.size > MOST_SESSIONS) {
      const [oldest] = this.#reached.keys()
      this.#reached.delete(oldest!)
    }
    return level > before ? level : undefined
  }

  /** Usage has been seen to be no higher than this: levels above it are armed again, none is reached anew. */
  fell(sessionId: string, usageRatio: number): void {
    const reached = this.#reached.get(sessionId)
    if (reached !== undefined && reached > usageRatio) this.#reached.set(sessionId, usageRatio)
  }

  forget(sessionId: string): void {
    this.#reached.delete(sessionId)
  }
}

/** What the hooks need of a store. */
type TurnPort = {
  /** The settings in force for a session. */
  readonly settings: (sessionId: string) => Promise<TurnSettings>
  readonly stats: (
    sessionId: string,
    provider: string | undefined,
    model: string | undefined,
    request: StatsOptions,
  ) => Promise<ContextStats | null>
  readonly compact: (sessionId: string, config: CompactOptions) => Promise<CompactionResult | null>
  readonly append: (sessionId: string, messages: readonly NewMessage[]) => Promise<AppendedTurn>
  /** Waits for a run in the background; returns what came of it, where this store made it. */
  readonly settle: (
    sessionId: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ) => Promise<CompactionResult | null>
  /** Lets the background know how full a session is. */
  readonly offer: (sessionId: string, stats: ContextStats) => void
}

/** What `append` answered of the messages handed in. */
export type AppendedTurn = {
  readonly messages: readonly AppendedMessage[]
  /** The session's last position. */
  readonly position: number
  /** What came of a compaction block in the answer. */
  readonly providerCompaction?: ProviderCompactionResult
}

/** How full the context is, against what it was held. */
export type TurnUsage = {
  /** Tokens of the request. */
  readonly tokens: number
  /** The available input, or the `contextWindowTarget`, when that is less. */
  readonly availableTokens: number
  readonly ratio: number
  /** Whole, at most 100. */
  readonly percent: number
}

type TurnOutcome = {
  readonly sessionId: string
  /** How full the context is now; `null` for a session without messages. */
  readonly usage: TurnUsage | null
  readonly stats: ContextStats | null
  /** Whether the history was compacted. */
  readonly compacted: boolean
  /** Tokens of the request before and after; the same when nothing was compacted. Source: checklist S0-U14. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** What the compaction did, when one was due. */
  readonly run: CompactionResult | null
  /** Present when the threshold alone would compact, and does not since a user undid an automatic compaction. */
  readonly heldBack?: true
}

/** What is to be known before a request. */
export type BeforeTurnResult = TurnOutcome & {
  /** The system prompt of this one request; absent when there is nothing to say. */
  readonly systemPrompt?: string
  /** The injector's texts in it. */
  readonly injected: readonly string[]
  /** The warning that was sent. */
  readonly warning: ContextWarningEvent | null
  /** The setting of that name as it is, for the request: what the provider is to compact itself. */
  readonly contextManagement?: JsonObject | readonly Json[]
}

/** What is to be known after an answer. */
export type AfterTurnResult = TurnOutcome & {
  /** What comes next: the same request again, the results of tools, or nothing. */
  readonly next: NextStep
  /** Whether the answer was final: a turn is complete. */
  readonly final: boolean
  /** What was appended, when messages were handed in. */
  readonly appended?: AppendedTurn
}

type Asked = CheckedBefore | CheckedAfter

/** Makes room for a request when that is due. `look` answers how full the context is by then, others' work included. */
type MakeRoom = (
  config: CompactOptions,
  look: () => Promise<ContextStats | null>,
) => Promise<CompactionResult | null>

/** The two moments around a request. Source: seed 004, checklist S4-24 to S4-31; conflict C-29. */
export class TurnHooks {
  readonly #port: TurnPort
  readonly #events: Events
  readonly #warnings = new Warnings()

  constructor(port: TurnPort, events: Events) {
    this.#port = port
    this.#events = events
  }

  /** Estimates, warns, decides, compacts: by `makeRoom`, where somebody else sees to that. */
  async before(sessionId: string, options: CheckedBefore, makeRoom?: MakeRoom): Promise<BeforeTurnResult> {
    const asked = {
      ...options,
      systemPrompt: joined([options.systemPrompt, options.persistentContext?.render()]),
    }
    const settings = await this.#port.settings(sessionId)
    let request = await this.#request(sessionId, asked)
    const first = usageOf(request.stats)
    if (request.stats === null || first === null)
      return { ...nothing(sessionId), ...said(request, settings), warning: null }
    const warning = this.warn(sessionId, request.stats, options.warningLevels ?? settings.warningLevels)
    const isAuto = options.auto ?? settings.auto
    const isDue = isAuto && request.stats.shouldCompact
    const { asked: full } = request
    const run = isDue ? await this.#makeRoom(sessionId, full, makeRoom) : null
    let usage = first
    if (isDue) {
      // What is injected is for the request that goes out, not for the one that was too long.
      request = await this.#request(sessionId, asked)
      usage = usageOf(request.stats) ?? first
      this.#warnings.fell(sessionId, usage.ratio)
    }
    // Who makes room himself knows what goes out, and offers that.
    if (isAuto && makeRoom === undefined && request.stats !== null) this.#port.offer(sessionId, request.stats)
    return {
      ...outcome(sessionId, request.stats, { run, first, usage }),
      ...said(request, settings),
      warning,
    }
  }

  /** Appends, decides, compacts. */
  async after(sessionId: string, options: CheckedAfter): Promise<AfterTurnResult> {
    const { messages, stopReason } = options
    const appended = messages && (await this.#port.append(sessionId, messages))
    const next = nextStep(stopReason)
    const final = next === 'final'
    const told = { next, final, ...(appended !== undefined && { appended }) }
    const settings = await this.#port.settings(sessionId)
    let stats = await this.#stats(sessionId, options)
    const first = usageOf(stats)
    if (stats === null || first === null) return { ...nothing(sessionId), ...told }
    if (!final) return { ...outcome(sessionId, stats, { run: null, first, usage: first }), ...told }
    const { storedMessages: position } = stats
    this.#events.emit('turnComplete', {
      sessionId,
      position,
      ...(stopReason !== undefined && { stopReason }),
    })
    const isAuto = options.auto ?? settings.auto
    const isDue = isAuto && stats.shouldCompact
    const run = isDue ? await this.#makeRoom(sessionId, options) : null
    let usage = first
    if (isDue) {
      stats = await this.#stats(sessionId, options)
      usage = usageOf(stats) ?? first
    }
    if (isAuto && stats !== null) this.#port.offer(sessionId, stats)
    return { ...outcome(sessionId, stats, { run, first, usage }), ...told }
  }

  /** A session that was removed has crossed nothing. */
  forget(sessionId: string): void {
    this.#warnings.forget(sessionId)
  }

  /** The request with what the injector says to it. */
  async #request(sessionId: string, asked: CheckedBefore): Promise<Request> {
    const bare = await this.#stats(sessionId, asked)
    const { injector, turnNumber = 0 } = asked
    const injected = injector?.check(turnNumber, bare?.estimatedInputTokens ?? 0) ?? []
    const systemPrompt = joined([asked.systemPrompt, ...injected])
    if (systemPrompt === asked.systemPrompt) return { asked, stats: bare, injected }
    const full = { ...asked, systemPrompt }
    return { asked: full, stats: bare === null ? null : await this.#stats(sessionId, full), injected }
  }

  #stats(sessionId: string, asked: Asked): Promise<ContextStats | null> {
    const { threshold } = asked
    const request = { ...pendingOf(asked), ...(threshold !== undefined && { threshold }) }
    return this.#port.stats(sessionId, asked.provider, asked.model, request)
  }

  /** Tells that usage has crossed a level, and answers what was told. */
  warn(sessionId: string, stats: ContextStats, levels: readonly number[]): ContextWarningEvent | null {
    const usage = usageOf(stats)
    const level = this.#warnings.crossed(sessionId, usage.ratio, levels)
    if (level === undefined) return null
    const { percent, tokens, availableTokens } = usage
    const warning = { sessionId, level, percent, tokens, availableTokens }
    this.#events.emit('contextWarning', warning)
    return warning
  }

  /** A run when it is still due after the one in the background that goes on: what that one did is what was wanted. */
  async #makeRoom(sessionId: string, asked: Asked, makeRoom?: MakeRoom): Promise<CompactionResult | null> {
    const look = (): Promise<ContextStats | null> => this.#stats(sessionId, asked)
    if (makeRoom !== undefined) return makeRoom(configOf(asked), look)
    const { waitMs = PREPARE_WAIT_MS, signal } = asked.compaction ?? {}
    const settled = await this.#port.settle(sessionId, waitMs, signal)
    const isDue = (await look())?.shouldCompact ?? false
    return isDue ? this.#port.compact(sessionId, configOf(asked)) : settled
  }
}

/** What a run is told that makes room for a request. */
function configOf(asked: Asked): CompactOptions {
  const { provider, model, compaction = {} } = asked
  return {
    trigger: 'auto',
    ...compaction,
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    ...pendingOf(asked),
  }
}

type Request = {
  readonly asked: CheckedBefore
  readonly stats: ContextStats | null
  readonly injected: readonly string[]
}

/** What the request says besides the history. */
function said(
  { asked, injected }: Request,
  { contextManagement }: TurnSettings,
): Pick<BeforeTurnResult, 'systemPrompt' | 'injected' | 'contextManagement'> {
  const { systemPrompt } = asked
  return {
    injected,
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(contextManagement !== undefined && { contextManagement }),
  }
}

/** What is about to be sent besides the history; only what was told. */
function pendingOf(asked: Asked): StatsOptions {
  const { maxTokens, systemPrompt, currentPrompt, toolDefinitions, fileAttachments, contextWindowTarget } =
    asked
  const { pendingTokens } = asked
  return {
    ...(contextWindowTarget !== undefined && { contextWindowTarget }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(currentPrompt !== undefined && { currentPrompt }),
    ...(toolDefinitions !== undefined && { toolDefinitions }),
    ...(fileAttachments !== undefined && { fileAttachments }),
    ...(pendingTokens !== undefined && { pendingTokens }),
  }
}

/** How full the context is, by its stats. */
export function usageOf(stats: ContextStats): TurnUsage
export function usageOf(stats: ContextStats | null): TurnUsage | null
export function usageOf(stats: ContextStats | null): TurnUsage | null {
  if (stats === null) return null
  const tokens = stats.estimatedInputTokens
  const availableTokens = stats.availableInputTokens
  const ratio = availableTokens > 0 ? tokens / availableTokens : 1
  return { tokens, availableTokens, ratio, percent: percentOf(tokens, availableTokens) }
}

function outcome(
  sessionId: string,
  stats: ContextStats | null,
  { run, first, usage }: { run: CompactionResult | null; first: TurnUsage; usage: TurnUsage },
): TurnOutcome {
  const compacted = run?.compacted ?? false
  const told = {
    sessionId,
    usage,
    stats,
    compacted,
    tokensBefore: first.tokens,
    tokensAfter: usage.tokens,
    run,
  }
  return stats?.heldBack === true ? { ...told, heldBack: true } : told
}

function nothing(sessionId: string): TurnOutcome {
  return { sessionId, usage: null, stats: null, compacted: false, tokensBefore: 0, tokensAfter: 0, run: null }
}

function joined(parts: readonly (string | undefined)[]): string | undefined {
  const said = parts.filter((part) => part !== undefined && part !== '')
  return said.length === 0 ? undefined : said.join('\n\n')
}

import { readable } from '../../core/messages/check.ts'
import { defined, type Json, type JsonObject } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { type NextStep, nextStep, withStopReason } from '../../core/messages/stop-reason.ts'
import { wellFormed } from '../../core/messages/well-formed.ts'
import type { AppendedMessage } from '../../storage/storage.ts'
import type { ProviderCompactionResult } from '../compaction/direct-compactions.ts'
import type { CompactionResult } from '../compaction/result.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { LeaseTaken, OTHERS_WAIT_MS, PREPARE_WAIT_MS } from '../compaction/waiting.ts'
import type { TurnSettings } from '../config/resolve.ts'
import type { CheckedStats, CompactOptions } from '../config/store-options.ts'
import { type ContextWarningEvent, type Events, percentOf } from '../events.ts'
import type { AddedTexts } from './draft.ts'
import { type CheckedAfter, type CheckedBefore, runOptions } from './options.ts'
import type { TurnUsage } from './prepared.ts'
import { Deadline } from './room.ts'

/** Sessions whose warning level is remembered; beyond that the least recently checked one is forgotten. */
const MOST_SESSIONS = 10_000

/**
 * The usage level each session was warned of last. Kept in memory by one store object: two processes warn independently, and a
 * store that was opened again warns again.
 */
export class Warnings {
  readonly #reached = new Map<string, number>()

  /**
   * The level to warn of now: the highest one at or below the usage, when it is higher than the level reached before. Levels that
   * were skipped are not reported. Usage below a level arms it again.
   */
  crossed(sessionId: string, usageRatio: number, levels: readonly number[]): number | undefined {
    const before = this.#reached.get(sessionId) ?? 0
    const level = levels.reduce((highest, one) => (usageRatio >= one && one > highest ? one : highest), 0)
    // A level that was reached stays so until usage is below it, whatever levels this call has.
    const reached = usageRatio >= before ? Math.max(before, level) : level
    this.#reached.delete(sessionId)
    if (reached > 0) this.#reached.set(sessionId, reached)
    if (this.#reached.size > MOST_SESSIONS) {
      const [oldest] = this.#reached.keys()
      this.#reached.delete(oldest!)
    }
    return level > before ? level : undefined
  }

  /** Arms the levels above a usage again; reaches none. */
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
    request: CheckedStats,
  ) => Promise<ContextStats | null>
  readonly compact: (sessionId: string, config: CompactOptions) => Promise<CompactionResult | null>
  readonly append: (sessionId: string, messages: readonly NewMessage[]) => Promise<AppendedTurn>
  /** Waits for a background run; returns its result where this store made it. */
  readonly settle: (
    sessionId: string,
    waitMs: number,
    signal: AbortSignal | undefined,
    othersMs: number,
  ) => Promise<CompactionResult | null>
  /** Notifies the background of how full a session is. */
  readonly offer: (sessionId: string, stats: ContextStats) => void
}

/** What `append` returned for the messages of a turn. */
export type AppendedTurn = {
  readonly messages: readonly AppendedMessage[]
  /** The session's last position. */
  readonly position: number
  /** The result for a compaction block in the answer. */
  readonly providerCompaction?: ProviderCompactionResult
}

type TurnOutcome = {
  readonly sessionId: string
  /** How full the context is now; `null` for a session without messages. */
  readonly usage: TurnUsage | null
  readonly stats: ContextStats | null
  /** Whether the history was compacted. */
  readonly compacted: boolean
  /** Tokens of the request before and after; the same when nothing was compacted. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** The compaction's result, when one was due. */
  readonly run: CompactionResult | null
  /** Present when the threshold is reached and no run follows, because a user undid an automatic compaction. */
  readonly heldBack?: true
}

/** What `beforeTurn` returns. */
export type BeforeTurnResult = TurnOutcome & {
  /** The system prompt of this one request; absent when it is empty. */
  readonly systemPrompt?: string
  /**
   * For a model that binds its reasoning to what precedes it, in place of texts in the system prompt: a message with the persistent context
   * and the injector's texts, as far as the history does not show them. Append it before the request, and send it.
   */
  readonly added?: NewMessage
  /** The injector's texts in the request. */
  readonly injected: readonly string[]
  /** The warning that was emitted. */
  readonly warning: ContextWarningEvent | null
  /** The setting of that name as it is, for the request: what the provider is to compact itself. */
  readonly contextManagement?: JsonObject | readonly Json[]
}

/** What `afterTurn` returns. */
export type AfterTurnResult = TurnOutcome & {
  /** What comes next: the same request again, the results of tools, or nothing. */
  readonly next: NextStep
  /** Whether the answer was final: a turn is complete. */
  readonly final: boolean
  /** The appended messages, when the call had some. */
  readonly appended?: AppendedTurn
}

/** The same, and the texts in the system prompt besides the caller's own. */
type Before = Omit<BeforeTurnResult, 'added'> & { readonly texts: AddedTexts }

type Turn = CheckedBefore | CheckedAfter

/** Makes room for a request when that is due. `look` returns the current stats, with the results of other runs. */
type MakeRoom = (
  config: CompactOptions,
  look: () => Promise<ContextStats | null>,
) => Promise<CompactionResult | null>

/** The calls before and after a request. */
export class TurnHooks {
  readonly #port: TurnPort
  readonly #events: Events
  readonly #warnings = new Warnings()

  constructor(port: TurnPort, events: Events) {
    this.#port = port
    this.#events = events
  }

  /** Estimates, warns, and compacts when that is due. A caller with a `makeRoom` of its own also notifies the background. */
  async before(sessionId: string, options: CheckedBefore, makeRoom?: MakeRoom): Promise<Before> {
    const context = options.persistentContext?.render() ?? ''
    const base = { ...options, system: joinTexts([options.system, context]) }
    const settings = await this.#port.settings(sessionId)
    let request = await this.#withInjected(sessionId, base)
    const { stats } = request
    const isAuto = options.auto ?? settings.auto
    const warning = stats && this.warn(sessionId, stats, options.warningLevels ?? settings.warningLevels)
    let run: CompactionResult | null = null
    if (isAuto && stats?.shouldCompact) {
      run = await this.#makeRoom(sessionId, request.turn, makeRoom)
      // The injector's texts are for the request that is sent, not for the one that was too long.
      request = await this.#withInjected(sessionId, base)
      this.#warnings.fell(sessionId, usageOf(request.stats ?? stats).ratio)
    }
    if (isAuto && makeRoom === undefined && request.stats !== null) this.#port.offer(sessionId, request.stats)
    return {
      ...outcomeOf(sessionId, stats, request.stats, run),
      injected: request.injected,
      texts: wellFormed({ context, injected: joinTexts(request.injected) ?? '', turn: options.turnNumber }),
      ...defined({
        systemPrompt: wellFormed(request.turn.system),
        contextManagement: settings.contextManagement,
      }),
      warning,
    }
  }

  /** Appends, and at the end of a turn compacts when that is due. */
  async after(sessionId: string, options: CheckedAfter): Promise<AfterTurnResult> {
    const { messages, stopReason } = options
    const answer = messages && readable('afterTurn: messages', () => withStopReason(messages, stopReason))
    const appended = answer && (await this.#port.append(sessionId, answer))
    const next = nextStep(stopReason)
    const final = next === 'final'
    const settings = await this.#port.settings(sessionId)
    const first = await this.#stats(sessionId, options)
    let stats = first
    let run: CompactionResult | null = null
    if (first !== null && final) {
      const { storedMessages: position } = first
      this.#events.emit('turnComplete', { sessionId, position, ...defined({ stopReason }) })
      const isAuto = options.auto ?? settings.auto
      if (isAuto && first.shouldCompact) {
        run = await this.#makeRoom(sessionId, options)
        stats = await this.#stats(sessionId, options)
      }
      if (isAuto && stats !== null) this.#port.offer(sessionId, stats)
    }
    return { ...outcomeOf(sessionId, first, stats, run), next, final, ...defined({ appended }) }
  }

  /** Forgets the level reached by a session that was removed. */
  forget(sessionId: string): void {
    this.#warnings.forget(sessionId)
  }

  /** The request with the injector's texts, and its stats. */
  async #withInjected(sessionId: string, turn: CheckedBefore) {
    const stats = await this.#stats(sessionId, turn)
    const { injector, turnNumber = 0 } = turn
    const injected = injector?.check(turnNumber, stats?.estimatedInputTokens ?? 0) ?? []
    const system = joinTexts([turn.system, ...injected])
    if (system === turn.system) return { turn, stats, injected }
    const full = { ...turn, system }
    return { turn: full, stats: stats && (await this.#stats(sessionId, full)), injected }
  }

  #stats(sessionId: string, turn: Turn): Promise<ContextStats | null> {
    const { provider, model, threshold } = turn
    return this.#port.stats(sessionId, provider, model, { ...pendingOf(turn), ...defined({ threshold }) })
  }

  /** Emits a warning when usage has crossed a level, and returns it. */
  warn(sessionId: string, stats: ContextStats, levels: readonly number[]): ContextWarningEvent | null {
    const usage = usageOf(stats)
    const level = this.#warnings.crossed(sessionId, usage.ratio, levels)
    if (level === undefined) return null
    const { percent, tokens, availableTokens } = usage
    const warning = { sessionId, level, percent, tokens, availableTokens }
    this.#events.emit('contextWarning', warning)
    return warning
  }

  /**
   * Waits for a background run, and makes one when it is still due afterwards. Another's run is not waited for long: a turn whose request
   * fits needs no room yet.
   */
  async #makeRoom(sessionId: string, turn: Turn, makeRoom?: MakeRoom): Promise<CompactionResult | null> {
    const look = (): Promise<ContextStats | null> => this.#stats(sessionId, turn)
    const config = runOptions(turn, pendingOf(turn))
    if (makeRoom !== undefined) return makeRoom(config, look)
    const { waitMs, whenBusy, signal } = turn.compaction ?? {}
    const others = new Deadline(sessionId, waitMs ?? OTHERS_WAIT_MS, signal)
    const settled = await this.#port.settle(sessionId, waitMs ?? PREPARE_WAIT_MS, signal, others.leftMs)
    if ((await look())?.shouldCompact !== true) return settled
    try {
      return await this.#port.compact(sessionId, { waitMs: others.leftMs, ...config })
    } catch (error) {
      const isBusy = error instanceof LeaseTaken && whenBusy === undefined
      if (isBusy && (await look())?.withinBudget === true) return settled
      throw error
    }
  }
}

/** The request besides the history. */
function pendingOf(turn: Turn): CheckedStats {
  const { contextWindowTarget, maxOutputTokens, system, prompt, tools, files } = turn
  const { pendingTokens, pendingMedia } = turn
  return defined({
    ...{ contextWindowTarget, maxOutputTokens, system, prompt, tools, files },
    ...{ pendingTokens, pendingMedia },
  })
}

/** How full the context is, by its stats. */
export function usageOf(stats: ContextStats): TurnUsage {
  const { estimatedInputTokens: tokens, availableInputTokens: availableTokens } = stats
  const ratio = availableTokens > 0 ? tokens / availableTokens : 1
  return { tokens, availableTokens, ratio, percent: percentOf(tokens, availableTokens) }
}

/** `first` are the stats before a run, `stats` those after it; a session without messages has none. */
function outcomeOf(
  sessionId: string,
  first: ContextStats | null,
  stats: ContextStats | null,
  run: CompactionResult | null,
): TurnOutcome {
  const last = stats ?? first
  const usage = last && usageOf(last)
  return {
    sessionId,
    usage,
    stats,
    compacted: run?.compacted ?? false,
    tokensBefore: first?.estimatedInputTokens ?? 0,
    tokensAfter: usage?.tokens ?? 0,
    run,
    ...(stats?.heldBack === true && { heldBack: true as const }),
  }
}

function joinTexts(texts: readonly (string | undefined)[]): string | undefined {
  const some = texts.filter((text) => text !== undefined && text !== '')
  return some.length === 0 ? undefined : some.join('\n\n')
}

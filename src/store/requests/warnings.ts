import type { ContextStats } from '../compaction/stats.ts'
import { type ContextWarningEvent, type Events, percentOf } from '../events.ts'
import type { TurnUsage } from './prepared.ts'

/** Maximum number of sessions whose warning level is remembered; beyond that, the least recently checked one is forgotten. */
const MAX_SESSIONS = 10_000

/**
 * The last usage level that each session was warned at. Kept in memory by one store object: two processes warn independently, and a
 * reopened store warns again.
 */
export class Warnings {
  readonly #events: Events
  readonly #reached = new Map<string, number>()

  constructor(events: Events) {
    this.#events = events
  }

  /** Emits a warning when usage has crossed a level, and returns it. */
  warn(sessionId: string, stats: ContextStats, levels: readonly number[]): ContextWarningEvent | null {
    const { percent, tokens, availableTokens, ratio } = usageOf(stats)
    const level = this.crossed(sessionId, ratio, levels)
    if (level === undefined) return null
    const warning = { sessionId, level, percent, tokens, availableTokens }
    this.#events.emit('contextWarning', warning)
    return warning
  }

  /**
   * Returns the level to warn at now: the highest one at or below the usage, if it is higher than the level reached before. Skipped levels
   * aren't reported. Usage below a level rearms it.
   */
  crossed(sessionId: string, usageRatio: number, levels: readonly number[]): number | undefined {
    const before = this.#reached.get(sessionId) ?? 0
    const level = levels.reduce((highest, one) => (usageRatio >= one && one > highest ? one : highest), 0)
    // A level that was reached stays reached until usage falls below it, whatever levels this call has.
    const reached = usageRatio >= before ? Math.max(before, level) : level
    this.#reached.delete(sessionId)
    if (reached > 0) this.#reached.set(sessionId, reached)
    if (this.#reached.size > MAX_SESSIONS) {
      const [oldest] = this.#reached.keys()
      this.#reached.delete(oldest!)
    }
    return level > before ? level : undefined
  }

  /** Rearms the levels above a usage; never reaches one. */
  fell(sessionId: string, usageRatio: number): void {
    const reached = this.#reached.get(sessionId)
    if (reached !== undefined && reached > usageRatio) this.#reached.set(sessionId, usageRatio)
  }

  forget(sessionId: string): void {
    this.#reached.delete(sessionId)
  }
}

/** Returns how full the context is, according to its stats. */
export function usageOf(stats: ContextStats): TurnUsage {
  const { estimatedInputTokens: tokens, availableInputTokens: availableTokens } = stats
  const ratio = availableTokens > 0 ? tokens / availableTokens : 1
  return { tokens, availableTokens, ratio, percent: percentOf(tokens, availableTokens) }
}

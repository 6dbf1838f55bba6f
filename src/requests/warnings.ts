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

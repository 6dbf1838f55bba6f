import { UndertextError } from '../errors.ts'
import { MAX_TIMER_MS } from '../messages/timer.ts'

/** How long one preparing may wait for models and other runs: all its waits share it. */
export class Patience {
  readonly #sessionId: string
  readonly #end: number
  readonly signal: AbortSignal | undefined

  constructor(sessionId: string, waitMs: number, signal: AbortSignal | undefined) {
    this.#sessionId = sessionId
    this.#end = Date.now() + waitMs
    this.signal = signal
    this.throwIfAborted()
  }

  /** Milliseconds that are left. */
  get leftMs(): number {
    return Math.max(0, Math.min(MAX_TIMER_MS, this.#end - Date.now()))
  }

  /** Throws `ABORTED` when the caller's signal has fired. */
  throwIfAborted(): void {
    if (this.signal?.aborted) throw new UndertextError('ABORTED', { sessionId: this.#sessionId })
  }

  /** Works with a signal that fires with the caller's, and when there is no time left. */
  async within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | typeof OUT_OF_TIME> {
    const end = new AbortController()
    const timer = setTimeout(() => end.abort(), this.leftMs)
    const signal = this.signal === undefined ? end.signal : AbortSignal.any([this.signal, end.signal])
    try {
      return await work(signal)
    } catch (error) {
      this.throwIfAborted()
      if (end.signal.aborted) return OUT_OF_TIME
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

/** What `Patience.within` answers when there was no time left. */
export const OUT_OF_TIME = Symbol('out of time')

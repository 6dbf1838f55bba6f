import { UndertextError } from '../errors.ts'
import { MAX_TIMER_MS } from '../messages/timer.ts'

/**
 * How long models and other runs are waited for before a request, milliseconds: as long as one summary may take. Source: checklist
 * S3-U04.
 */
export const PREPARE_WAIT_MS = 120_000

/** A promise, or the signal's end of it: a summarizer that hears no signal must not hold a run for ever. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new Error('aborted'))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** Waits for a promise, or throws `ABORTED` as soon as the caller's signal says so. */
export async function orAborted(
  sessionId: string,
  promise: Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal === undefined) return promise
  let stop = (): void => {}
  const aborted = new Promise<void>((resolve) => {
    stop = resolve
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    await Promise.race([promise, aborted])
  } finally {
    // Whoever polls comes here again and again with the same signal.
    signal.removeEventListener('abort', stop)
  }
  if (signal.aborted) throw new UndertextError('ABORTED', { sessionId })
}

/** Waits until a promise is over, whichever way: its own caller hears of its error. */
export async function settled(promise: Promise<unknown>): Promise<void> {
  try {
    await promise
  } catch {
    // Whoever waits only wants it over.
  }
}

/** Waits, milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** A promise that is kept, with `false`, when some time has passed, milliseconds; and what ends the wait for it. */
export function timeLimit(ms: number): { readonly passed: Promise<false>; readonly stop: () => void } {
  let timer: NodeJS.Timeout | undefined
  const passed = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.min(ms, MAX_TIMER_MS))
  })
  return { passed, stop: () => clearTimeout(timer) }
}

import type { Context } from './command.ts'

/** Resolves when the process is asked to end, or the program that reads its output has gone. */
export function untilEnded({ signal, readerLeft }: Pick<Context, 'signal' | 'readerLeft'>): Promise<void> {
  return new Promise((resolve) => {
    for (const one of [signal, readerLeft]) {
      if (one?.aborted) resolve()
      one?.addEventListener('abort', () => resolve(), { once: true })
    }
  })
}

import type { Store } from '../store/store.ts'
import { respond } from './security.ts'
import type { Watches } from './watch.ts'

/* Server-sent events for the page: the state that it watches, and the progress of compactions of this process. */

/** Milliseconds between comments, which show both sides that the connection is open. */
const COMMENT_MS = 15_000
/** Milliseconds after which the browser connects again. */
const RETRY_MS = 1_000
/** Events that a client hasn't read. One that stopped reading is disconnected, and reads the state when it comes back. */
const MAX_UNREAD = 1_000

/** Answers with events until the client leaves. */
export function serveEvents(
  store: Store,
  session: string | undefined,
  watches: Watches,
  signal: AbortSignal,
): Response {
  const encoder = new TextEncoder()
  let end = (): void => {}
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let isOpen = true
        const send = (text: string): void => {
          if (!isOpen) return
          controller.enqueue(encoder.encode(text))
          if ((controller.desiredSize ?? 0) < -MAX_UNREAD) end()
        }
        const sendEvent = (name: string, value: unknown): void =>
          send(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`)
        const comments = setInterval(() => send(':\n\n'), COMMENT_MS).unref()
        let leave = (): void => {}
        end = () => {
          if (!isOpen) return
          isOpen = false
          clearInterval(comments)
          signal.removeEventListener('abort', end)
          leave()
          try {
            controller.close()
          } catch {
            // The client has canceled it.
          }
        }
        send(`retry: ${RETRY_MS}\n\n`)
        leave = watches.add(store, session, {
          state: (state) => sendEvent('state', state),
          progress: (event) => sendEvent('progress', event),
          end: () => end(),
        })
        signal.addEventListener('abort', end, { once: true })
        if (signal.aborted) end()
      },
      cancel: () => end(),
    },
    { highWaterMark: 1 },
  )
  return respond(body, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
}

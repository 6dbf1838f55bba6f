import type { Inspector } from '../../src/inspect/index.ts'
import type { LiveState } from '../../src/inspect/verbs.ts'

/* Requests as the page sends them. */

export const ORIGIN = 'http://localhost:8080'

/** Sends a POST with JSON, and further headers. */
export function post(
  handle: Inspector,
  path: string,
  body: unknown,
  headers: { readonly [name: string]: string } = {},
): Promise<Response> {
  return handle(
    new Request(`${ORIGIN}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  )
}

export function get(
  handle: Inspector,
  path: string,
  headers: { readonly [name: string]: string } = {},
): Promise<Response> {
  return handle(new Request(`${ORIGIN}${path}`, { headers }))
}

type Answered = {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of any method
  readonly value?: any
  readonly error?: { readonly code: string; readonly message: string; readonly facts: object }
}

/** Calls a method of the store through the handler. */
export async function call(
  handle: Inspector,
  verb: string,
  args: readonly unknown[],
  more: object = {},
): Promise<Answered> {
  const response = await post(handle, '/call', { verb, args, ...more })
  return { status: response.status, ...((await response.json()) as object) }
}

/** Reads server-sent events one by one. */
export function eventsOf(response: Response): {
  next(name?: string): Promise<unknown>
  /** Reads until a state is as expected: what changes at once may be seen in two looks. */
  until(
    isExpected: (state: { readonly session: NonNullable<LiveState['session']> }) => boolean,
  ): Promise<unknown>
  readonly reader: ReadableStreamDefaultReader<string>
} {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async (name = 'state'): Promise<unknown> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end === -1) {
        const { value, done } = await reader.read()
        if (done) return undefined
        text += value
        continue
      }
      const event = text.slice(0, end)
      text = text.slice(end + 2)
      const [, found] = /^event: (\w+)$/m.exec(event) ?? []
      if (found === name) return JSON.parse(/^data: (.*)$/m.exec(event)![1]!)
    }
  }
  const until = async (isExpected: (state: never) => boolean): Promise<unknown> => {
    for (;;) {
      const state = await next()
      if (state === undefined || isExpected(state as never)) return state
    }
  }
  return { next, until, reader }
}

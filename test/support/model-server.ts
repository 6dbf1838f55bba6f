import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { bodyOf, errorBodyOf, eventsOf, type ModelReply, type WireFormat } from './model-answers.ts'

/*
 * A server on 127.0.0.1 that speaks as the providers' servers do and says what a test told it to: answers whole and streamed, and
 * everything that goes wrong. Point a provider at it:
 *
 *   const server = await startModelServer([{ status: 429, retryAfterMs: 20 }, { text: 'hello' }])
 *   createOpenAI({ baseURL: server.openaiUrl, apiKey: 'none' }).chat('any')     // POST …/chat/completions
 *   createOpenAI({ baseURL: server.openaiUrl, apiKey: 'none' })('any')          // POST …/responses
 *   createAnthropic({ baseURL: server.anthropicUrl, apiKey: 'none' })('any')    // POST …/messages
 *   …
 *   await server.close()
 */

type Waits = {
  /** Milliseconds before anything is answered. */
  readonly waitMs?: number
}

export type Scripted = Waits &
  (
    | (ModelReply & {
        /** Of a streamed answer: characters in a piece (default 8), milliseconds between events (default 0). */
        readonly pieceLength?: number
        readonly betweenMs?: number
        /** Cuts the connection: after so many events of a stream, or so many bytes of a whole body. */
        readonly cutAfter?: number
        /** After so many events of a stream, one that tells of an error, and the end. */
        readonly errorAfter?: number
        /** What that event tells of. Default: an overload. */
        readonly streamError?: { readonly type: string; readonly message: string }
      })
    | {
        /** An error status, with the body its interface gives it. */
        readonly status: number
        readonly type?: string
        readonly message?: string
        readonly code?: string
        /** Sent as `retry-after-ms`, as both providers do; `retryAfter` in seconds as `retry-after`. */
        readonly retryAfterMs?: number
        readonly retryAfter?: number
      }
    /** Takes the request and closes the connection without a word. */
    | { readonly cut: true }
    /** Takes the request and never answers, until the client goes. */
    | { readonly silent: true }
    /** Any body, with status 200. */
    | { readonly raw: string; readonly contentType?: string }
  )

export type ReceivedRequest = {
  readonly format: WireFormat
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: { readonly [name: string]: unknown }
  /** The body as it came, byte for byte. */
  readonly text: string
  readonly stream: boolean
  /** Whether the client went before the answer was complete. */
  readonly gone: () => boolean
}

export type Script = readonly Scripted[] | ((request: ReceivedRequest, count: number) => Scripted)

export type ModelServer = {
  readonly url: string
  /** For `createOpenAI({ baseURL })`. */
  readonly openaiUrl: string
  /** For `createAnthropic({ baseURL })`. */
  readonly anthropicUrl: string
  /** What came, in order. */
  readonly requests: readonly ReceivedRequest[]
  /** Replaces what is still to be said. */
  script(script: Script): void
  /** Forgets the requests. */
  forget(): void
  close(): Promise<void>
}

const FORMATS: readonly (readonly [string, WireFormat])[] = [
  ['/chat/completions', 'chat'],
  ['/responses', 'responses'],
  ['/messages', 'messages'],
]

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/**
 * Starts a server. A list is said in order, and its last entry from then on; a function is asked at each request, with how many came
 * before. Without any the answer is status 501.
 */
export async function startModelServer(script: Script = []): Promise<ModelServer> {
  let current = script
  let said = 0
  let requests: ReceivedRequest[] = []
  const sockets = new Set<Socket>()
  const stopped = new AbortController()

  const next = (request: ReceivedRequest): Scripted => {
    const count = said++
    if (typeof current === 'function') return current(request, count)
    return current[Math.min(count, current.length - 1)] ?? { status: 501, message: 'nothing is scripted' }
  }

  const server = createServer((request, response) => {
    const closed = new AbortController()
    response.on('close', () => closed.abort())
    const signal = AbortSignal.any([closed.signal, stopped.signal])
    void receive(request, response)
      .then(async (received) => {
        requests.push(received)
        await answer(next(received), received, response, signal)
      })
      .catch(() => response.destroy())
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    url,
    openaiUrl: `${url}/v1`,
    anthropicUrl: `${url}/v1`,
    get requests() {
      return requests
    },
    script(script) {
      current = script
      said = 0
    },
    forget() {
      requests = []
    },
    async close() {
      stopped.abort()
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<ReceivedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  const path = request.url ?? ''
  const [plain = ''] = path.split('?')
  const format = FORMATS.find(([ending]) => plain.endsWith(ending))?.[1] ?? 'chat'
  const body = (text === '' ? {} : JSON.parse(text)) as ReceivedRequest['body']
  const gone = (): boolean => response.destroyed && !response.writableFinished
  return { format, path, headers: request.headers, body, text, stream: body.stream === true, gone }
}

async function answer(
  scripted: Scripted,
  { format, stream }: ReceivedRequest,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const options = { signal, ref: false }
  if (scripted.waitMs !== undefined) await pause(scripted.waitMs, undefined, options)
  if ('cut' in scripted) {
    response.socket?.destroy()
  } else if ('silent' in scripted) {
    // Ends with the connection.
  } else if ('raw' in scripted) {
    response.writeHead(200, { 'content-type': scripted.contentType ?? 'application/json' })
    response.end(scripted.raw)
  } else if ('status' in scripted) {
    const { status, type = ERROR_TYPES[status] ?? 'api_error', code, retryAfterMs, retryAfter } = scripted
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(retryAfterMs !== undefined && { 'retry-after-ms': `${retryAfterMs}` }),
      ...(retryAfter !== undefined && { 'retry-after': `${retryAfter}` }),
    })
    response.end(JSON.stringify(errorBodyOf(format, type, scripted.message ?? `status ${status}`, code)))
  } else if (stream) {
    const { pieceLength = 8, betweenMs = 0, cutAfter, errorAfter } = scripted
    const { streamError = { type: 'overloaded_error', message: 'Overloaded' } } = scripted
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    let count = 0
    for (const { event, data } of eventsOf(format, scripted, pieceLength)) {
      if (count === cutAfter) {
        // What was written is let out first; then the connection goes in the middle of the stream.
        await pause(20, undefined, options)
        response.socket?.destroy()
        return
      }
      if (count === errorAfter) {
        const body = JSON.stringify(errorBodyOf(format, streamError.type, streamError.message))
        response.end(`event: error\ndata: ${body}\n\n`)
        return
      }
      response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`)
      count += 1
      if (betweenMs > 0) await pause(betweenMs, undefined, options)
    }
    response.end()
  } else {
    const body = Buffer.from(JSON.stringify(bodyOf(format, scripted)))
    const { cutAfter } = scripted
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    if (cutAfter === undefined) {
      response.end(body)
      return
    }
    response.write(body.subarray(0, cutAfter))
    await pause(20, undefined, options)
    response.socket?.destroy()
  }
}

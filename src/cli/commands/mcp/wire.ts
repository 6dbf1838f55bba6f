import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/server'
import { isJSONRPCRequest, parseJSONRPCMessage, serializeMessage } from '@modelcontextprotocol/server'
import { readFilledLines, readJson } from '../../../transfer/lines.ts'
import type { Context } from '../../command.ts'

/** The longest message that is read, in bytes: the SDK's limit. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024

/** Codes of JSON-RPC. */
const [PARSE_ERROR, INVALID_REQUEST] = [-32_700, -32_600] as const

/**
 * Exchanges messages with a client, one per line, over the standard input and output. Unlike the SDK's transport, it reports a line that
 * isn't a message to the client and reads on. At the end of the input, it closes once all received requests have their answers, so that a
 * script can write its requests into a pipe.
 */
export class Wire implements Transport {
  onmessage?: Transport['onmessage']
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #context: Context
  /** Requests without an answer. */
  readonly #open = new Set<RequestId>()
  #atEnd = false
  #written: Promise<void> = Promise.resolve()
  #isClosed = false
  /** Resolves when the connection is over. */
  readonly closed: Promise<void>
  #resolveClosed: () => void = () => {}

  constructor(context: Context) {
    this.#context = context
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
  }

  async start(): Promise<void> {
    this.#read()
      .catch((error: unknown) => {
        if (!this.#isClosed) this.onerror?.(error as Error)
      })
      .finally(() => {
        this.#atEnd = true
        this.#closeWhenDone()
      })
  }

  async #read(): Promise<void> {
    const input = this.#context.input as AsyncIterable<string | Uint8Array> & NodeJS.ReadableStream
    for await (const line of readFilledLines(bytesOf(input), MAX_MESSAGE_BYTES)) {
      if (this.#isClosed) return
      // An incomplete message at the end of the input is ignored; a complete one needs no line break.
      if (!line.ended && !('text' in line && isJson(line.text))) return
      if ('text' in line) await this.#receive(line.text)
      else await this.#reject(INVALID_REQUEST, `The message can't be read: ${line.problem}.`)
    }
  }

  async #receive(text: string): Promise<void> {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return this.#reject(PARSE_ERROR, "The message isn't JSON.")
    }
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(value)
    } catch {
      const { id } = (value ?? {}) as { readonly id?: unknown }
      const known = typeof id === 'string' || typeof id === 'number' ? id : null
      return this.#reject(
        INVALID_REQUEST,
        "The message isn't a request, notification or response of JSON-RPC 2.0.",
        known,
      )
    }
    // A subscription has no answer until it ends.
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') this.#open.add(message.id)
    if ('method' in message && message.method === 'notifications/cancelled') {
      const { requestId } = (message.params ?? {}) as { readonly requestId?: RequestId }
      if (requestId !== undefined) this.#open.delete(requestId)
    }
    this.onmessage?.(message)
  }

  async #reject(code: number, message: string, id: RequestId | null = null): Promise<void> {
    await this.#write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return
    await this.#write(serializeMessage(message))
    if (!('method' in message) && message.id !== undefined) this.#open.delete(message.id)
    this.#closeWhenDone()
  }

  /** Writes one message after the other, as the client takes them. */
  #write(text: string): Promise<void> {
    this.#written = this.#written.catch(() => {}).then(() => this.#context.pour(text))
    return this.#written
  }

  #closeWhenDone(): void {
    if (this.#atEnd && this.#open.size === 0)
      this.close().catch((error: unknown) => this.onerror?.(error as Error))
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // An input that is still open would keep the process alive.
    if (!this.#atEnd) (this.#context.input as NodeJS.ReadableStream & { destroy?(): void }).destroy?.()
    try {
      this.onclose?.()
    } finally {
      this.#resolveClosed()
    }
  }
}

async function* bytesOf(input: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
}

function isJson(text: string): boolean {
  return 'value' in readJson(text, false)
}

import { createParser } from 'eventsource-parser'
import { toOpenAI } from '../../../adapters/openai/to-openai.ts'
import { withoutTrailing } from '../../../core/messages/characters.ts'
import { isObject } from '../../../core/messages/json.ts'
import { type Backend, type Question, type Reply, type ReplyUsage, textReply } from './backend.ts'

type AddressOptions = {
  /** The address without `/chat/completions`. */
  readonly url: string
  readonly model: string
  /** The provider whose context window and rules apply. Default "openai". */
  readonly provider?: string | undefined
  readonly apiKey?: string | undefined
}

type Body = { readonly [name: string]: unknown }

/** Returns a backend for any server with OpenAI's Chat Completions, streamed with plain `fetch`. */
export function addressBackend({ url, model, provider = 'openai', apiKey }: AddressOptions): Backend {
  const endpoint = `${withoutTrailing(url, '/')}/chat/completions`
  return {
    kind: 'url',
    title: `${model} at ${url}`,
    provider,
    model,
    async ask(question) {
      const response = await post(endpoint, bodyOf(model, question), apiKey, question.signal)
      return readReply(response, question.onText, apiKey)
    },
  }
}

function bodyOf(model: string, { system, messages, maxOutputTokens, temperature }: Question): Body {
  const first = system === undefined ? [] : [{ role: 'system', content: system }]
  return {
    model,
    messages: [...first, ...toOpenAI(messages)],
    stream: true,
    stream_options: { include_usage: true },
    ...(maxOutputTokens !== undefined && { max_tokens: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
  }
}

/** Sends a body; if the server rejects a known field, sends it again without that field. Throws `ServerError`, and what `fetch` throws. */
async function post(
  endpoint: string,
  body: Body,
  apiKey: string | undefined,
  signal: AbortSignal,
): Promise<Response> {
  for (let current: Body | undefined = body; ; ) {
    const response: Response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream, application/json',
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(current),
      // A redirect must not carry the key to another server.
      redirect: 'manual',
      signal,
    })
    const { ok, status, headers } = response
    if (ok) return response
    if (status >= 300 && status < 400)
      throw new ServerError(
        `it redirects to ${headers.get('location') ?? 'another address'}, and redirects aren't followed; pass the final address with --url`,
        status,
      )
    const text = await response.text()
    current = status === 400 || status === 422 ? adapted(current, text) : undefined
    if (current === undefined) throw rejection(status, text, apiKey)
  }
}

/**
 * Returns the body without the field that a rejection names, if it is a known one: older servers have no `stream_options`; newer OpenAI
 * models take `max_completion_tokens` instead of `max_tokens`, and no temperature.
 */
function adapted(body: Body, rejection: string): Body | undefined {
  const { stream_options, max_tokens, temperature } = body
  if (stream_options !== undefined && rejection.includes('stream_options'))
    return { ...body, stream_options: undefined }
  if (max_tokens !== undefined && rejection.includes('max_completion_tokens'))
    return { ...body, max_tokens: undefined, max_completion_tokens: max_tokens }
  if (temperature !== undefined && /temperature/i.test(rejection)) return { ...body, temperature: undefined }
  return undefined
}

async function readReply(
  response: Response,
  onText: (text: string) => void,
  apiKey: string | undefined,
): Promise<Reply> {
  const answer = new Answer(onText, apiKey)
  if (response.headers.get('content-type')?.includes('json') === true) {
    answer.add(parsed(await response.text()), 'message')
    answer.isDone = true
    return answer.reply()
  }
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data.trim() === '[DONE]') answer.isDone = true
      else answer.add(parsed(data), 'delta')
    },
  })
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    // Some servers finish and keep the connection open.
    if (answer.isDone) return answer.reply()
  }
  parser.feed(decoder.decode())
  parser.reset({ consume: true })
  return answer.reply()
}

const NO_ANSWER = "The server didn't return a Chat Completions response."

/** An answer as its pieces arrive. */
class Answer {
  readonly #onText: (text: string) => void
  readonly #apiKey: string | undefined
  #text = ''
  #stopReason: string | undefined
  #usage: ReplyUsage | undefined
  #model: string | undefined
  #hasBegun = false
  readonly #tools = new Set<string>()
  isDone = false

  constructor(onText: (text: string) => void, apiKey: string | undefined) {
    this.#onText = onText
    this.#apiKey = apiKey
  }

  /** Throws `ServerError` if the connection ended before the answer did. */
  reply(): Reply {
    if (!this.isDone && this.#stopReason === undefined)
      throw new ServerError(
        this.#hasBegun
          ? 'The connection ended in the middle of the answer.'
          : `${NO_ANSWER} Check the address.`,
      )
    return textReply(this.#text, {
      stopReason: this.#stopReason,
      usage: this.#usage,
      model: this.#model,
      calledTools: [...this.#tools],
    })
  }

  /** Adds an event. Throws `ServerError` for an event that reports an error, or for a value that isn't an event. */
  add(event: unknown, field: 'delta' | 'message'): void {
    if (!isObject(event)) throw new ServerError(NO_ANSWER)
    this.#hasBegun = true
    if (event.error !== undefined && event.error !== null)
      throw rejection(undefined, JSON.stringify(event), this.#apiKey)
    if (typeof event.model === 'string' && event.model !== '') this.#model = event.model
    this.#usage = usageIn(event.usage) ?? this.#usage
    const [choice] = listIn(event.choices)
    if (!isObject(choice)) return
    if (typeof choice.finish_reason === 'string') this.#stopReason = choice.finish_reason
    const value = choice[field]
    if (!isObject(value)) return
    const text = textIn(value.content) + textIn(value.refusal)
    this.#text += text
    if (text !== '') this.#onText(text)
    for (const call of listIn(value.tool_calls)) {
      const name = isObject(call) && isObject(call.function) ? call.function.name : undefined
      if (typeof name === 'string' && name !== '') this.#tools.add(name)
    }
  }
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A text, or the texts of a list of parts, as some servers send it. */
function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  return listIn(content)
    .map((part) => (isObject(part) && part.type === 'text' && typeof part.text === 'string' ? part.text : ''))
    .join('')
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

function usageIn(usage: unknown): ReplyUsage | undefined {
  if (!isObject(usage)) return undefined
  const { prompt_tokens: input, completion_tokens: outputTokens, prompt_tokens_details: details } = usage
  if (!isCount(input)) return undefined
  const cached = isObject(details) && isCount(details.cached_tokens) ? details.cached_tokens : 0
  return {
    inputTokens: Math.max(0, input - cached),
    ...(cached > 0 && { cacheReadTokens: cached }),
    ...(isCount(outputTokens) && { outputTokens }),
  }
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0
}

/** Characters of a server's message that are shown. */
export const MAX_ERROR_LENGTH = 500

/** A rejection by a server, for the terminal only. `readOverflow` reads `status` and `message`. */
export class ServerError extends Error {
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.name = 'ServerError'
    this.status = status
  }
}

/** The rejection by a server with the message in its body, without the key, which some servers quote. */
function rejection(status: number | undefined, body: string, apiKey?: string): ServerError {
  const words = messageIn(body).trim().slice(0, MAX_ERROR_LENGTH) || 'no reason given'
  return new ServerError(withoutKey(words, apiKey), status)
}

/** Removes the key, and anything that begins like a key, because servers quote the ends of a wrong one. */
export function withoutKey(words: string, apiKey?: string): string {
  const hidden = apiKey ? words.replaceAll(apiKey, '[key]') : words
  return hidden.replace(/\b(?:sk|pk|key|gsk|xai)-[\w*.-]{8,}/g, '[key]')
}

function messageIn(body: string): string {
  const read = parsed(body)
  for (const value of isObject(read) ? [read.error, read] : []) {
    if (typeof value === 'string') return value
    if (isObject(value) && typeof value.message === 'string') return value.message
  }
  return body
}

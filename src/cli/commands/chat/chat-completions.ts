import { createParser } from 'eventsource-parser'
import { toOpenAI } from '../../../ecosystems/openai/to-openai.ts'
import { withoutTrailing } from '../../../messages/characters.ts'
import { isObject } from '../../../messages/json.ts'
import { type Backend, type Question, type Reply, type ReplyUsage, textReply } from './backend.ts'

/** Most characters of a server's words that are shown. */
export const MOST_WORDS = 500

/**
 * What a server said instead of an answer. `status` and `message` are what `isContextOverflowError` reads. The words are for the person
 * at the terminal and go nowhere else.
 */
export class ServerError extends Error {
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.name = 'ServerError'
    this.status = status
  }
}

/** The refusal of a server: the words in its body, without the key, which some servers quote. */
export function refusalOf(status: number | undefined, body: string, apiKey?: string): ServerError {
  const words = wordsIn(body).trim().slice(0, MOST_WORDS) || 'no reason given'
  return new ServerError(withoutKey(words, apiKey), status)
}

/** The key, and what begins like one: servers quote the ends of a wrong key. */
export function withoutKey(words: string, apiKey?: string): string {
  const hidden = apiKey ? words.replaceAll(apiKey, '[key]') : words
  return hidden.replace(/\b(?:sk|pk|key|gsk|xai)-[\w*.-]{8,}/g, '[key]')
}

function wordsIn(body: string): string {
  let read: unknown
  try {
    read = JSON.parse(body)
  } catch {
    return body
  }
  for (const value of isObject(read) ? [read.error, read] : []) {
    if (typeof value === 'string') return value
    if (isObject(value) && typeof value.message === 'string') return value.message
  }
  return body
}

export type AddressOptions = {
  /** Up to and without `/chat/completions`. */
  readonly url: string
  readonly model: string
  /** Whose figures and rules count. Default "openai". */
  readonly provider?: string | undefined
  readonly apiKey?: string | undefined
}

const NO_ANSWER = 'The server sent something that is no Chat Completions answer.'

type Body = { readonly [name: string]: unknown }

/** Any server that speaks OpenAI's Chat Completions, by plain `fetch`, streamed. */
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

/** Sends a body; again without what the server says it does not know. Throws `ServerError`, and what `fetch` throws. */
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
      // A key must not follow to where somebody else points.
      redirect: 'manual',
      signal,
    })
    if (response.ok) return response
    if (response.status >= 300 && response.status < 400) throw elsewhere(response)
    const said = await response.text()
    current = response.status === 400 || response.status === 422 ? adapted(current, said) : undefined
    if (current === undefined) throw refusalOf(response.status, said, apiKey)
  }
}

function elsewhere({ status, headers }: Response): ServerError {
  const where = headers.get('location') ?? 'another address'
  return new ServerError(
    `it points to ${where}, and is not followed; name the right address with --url`,
    status,
  )
}

/**
 * The body as a server wants it that refused it over a name: older ones know no `stream_options`, OpenAI's newer models take
 * `max_completion_tokens` for `max_tokens` and no temperature. `undefined` when that is not what it complains of.
 */
function adapted(body: Body, said: string): Body | undefined {
  if ('stream_options' in body && said.includes('stream_options')) {
    const { stream_options: _, ...rest } = body
    return rest
  }
  if ('max_tokens' in body && said.includes('max_completion_tokens')) {
    const { max_tokens, ...rest } = body
    return { ...rest, max_completion_tokens: max_tokens }
  }
  if ('temperature' in body && /temperature/i.test(said)) {
    const { temperature: _, ...rest } = body
    return rest
  }
  return undefined
}

async function readReply(
  response: Response,
  onText: (text: string) => void,
  apiKey: string | undefined,
): Promise<Reply> {
  const answer = new Answer(onText, apiKey)
  if (response.headers.get('content-type')?.includes('json') === true) {
    answer.takeWhole(parsed(await response.text()))
    return answer.reply()
  }
  const parser = createParser({ onEvent: ({ data }) => answer.take(data) })
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    // Some servers say that they are done and keep the connection.
    if (answer.isDone) return answer.reply()
  }
  parser.feed(decoder.decode())
  parser.reset({ consume: true })
  return answer.reply()
}

/** An answer as its pieces come. */
class Answer {
  readonly #onText: (text: string) => void
  readonly #apiKey: string | undefined
  #text = ''
  #stopReason: string | undefined
  #usage: ReplyUsage | undefined
  #model: string | undefined
  #isDone = false
  #isBegun = false
  readonly #tools = new Set<string>()

  constructor(onText: (text: string) => void, apiKey: string | undefined) {
    this.#onText = onText
    this.#apiKey = apiKey
  }

  get isDone(): boolean {
    return this.#isDone
  }

  take(data: string): void {
    if (data.trim() === '[DONE]') {
      this.#isDone = true
      return
    }
    this.#read(parsed(data), 'delta')
  }

  takeWhole(body: unknown): void {
    this.#isDone = true
    this.#read(body, 'message')
  }

  /** Throws `ServerError` when the connection ended before the answer did. */
  reply(): Reply {
    if (!this.#isDone && this.#stopReason === undefined)
      throw new ServerError(
        this.#isBegun
          ? 'The connection ended in the middle of the answer.'
          : `${NO_ANSWER} Is the address right?`,
      )
    return textReply(this.#text, {
      stopReason: this.#stopReason,
      usage: this.#usage,
      model: this.#model,
      calledTools: [...this.#tools],
    })
  }

  #read(event: unknown, field: 'delta' | 'message'): void {
    if (!isObject(event)) throw new ServerError(NO_ANSWER)
    this.#isBegun = true
    if (event.error !== undefined && event.error !== null)
      throw refusalOf(undefined, JSON.stringify(event), this.#apiKey)
    if (typeof event.model === 'string' && event.model !== '') this.#model = event.model
    this.#usage = usageIn(event.usage) ?? this.#usage
    const [choice] = Array.isArray(event.choices) ? (event.choices as readonly unknown[]) : []
    if (!isObject(choice)) return
    if (typeof choice.finish_reason === 'string') this.#stopReason = choice.finish_reason
    const said = choice[field]
    if (!isObject(said)) return
    for (const text of [...textsIn(said.content), ...textsIn(said.refusal)]) this.#say(text)
    for (const name of toolNames(said.tool_calls)) this.#tools.add(name)
  }

  #say(text: string): void {
    if (text === '') return
    this.#text += text
    this.#onText(text)
  }
}

/** A text, or the texts of a list of parts, as some servers send it. */
function textsIn(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return (content as readonly unknown[]).flatMap((part) =>
    isObject(part) && part.type === 'text' && typeof part.text === 'string' ? [part.text] : [],
  )
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

function toolNames(calls: unknown): string[] {
  if (!Array.isArray(calls)) return []
  return (calls as readonly unknown[]).flatMap((call) => {
    const name = isObject(call) && isObject(call.function) ? call.function.name : undefined
    return typeof name === 'string' && name !== '' ? [name] : []
  })
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

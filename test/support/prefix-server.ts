import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { randomFrom } from './random.ts'

/*
 * A server of the Messages API that binds reasoning to its prefix, written from Anthropic's pages "Preserved thinking", "Prefix checks on
 * thinking blocks" and "Compaction and preserved thinking" (November 2026), and from none of this package's code:
 *
 * - The prefix of a block is `system`, the `tools` that are not deferred, and all content before the block. `cache_control` is not
 *   compared, and neither are other fields of the request. Turns of one role that follow each other count as one.
 * - Earlier reasoning is not in the prefix, but each block records which block came before it. Those that come back must follow each
 *   other in the original order: the first may be missing, or the last, or all; a gap, or a block that returns before one that was produced
 *   without it, fails.
 * - A compaction block starts the prefix anew. One that the API wrote on demand, and that is first, counts as the messages it summarizes.
 * - Models before the check bind nothing: their reasoning may come back to any model, and their requests are not checked.
 * - A request whose blocks fail is refused with status 400, or the blocks are dropped, as `prefix_mismatch_behavior` says.
 *
 * It answers with reasoning, text and calls of the tools it receives, in random forms, and keeps a log of all reasoning that it produced.
 */

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json | undefined }
export type Block = { readonly type: string; readonly [name: string]: unknown }
export type WireMessage = { readonly role: string; readonly content: string | readonly Block[] }
export type MessagesBody = {
  readonly model?: string
  readonly system?: unknown
  readonly tools?: readonly { readonly name?: unknown; readonly defer_loading?: unknown }[]
  readonly messages: readonly WireMessage[]
  readonly stream?: unknown
  readonly thinking?: { readonly block_binding?: { readonly prefix_mismatch_behavior?: unknown } }
  readonly compaction?: unknown
}

/** Content of a request in order, without the borders of messages. */
type Entry = { readonly role: string; readonly block: Block; readonly path: string; readonly text: string }

/** Reasoning that the server produced. */
type Produced = {
  /** Its signature, or its data if it is redacted. */
  readonly mark: string
  readonly block: Block
  readonly fixed: string
  /** The content before it, without reasoning. */
  readonly before: readonly string[]
  /** The mark of the reasoning before it that the model saw, if any. */
  readonly follows: string | undefined
  /** The content of its answer that comes next, which names its place. */
  readonly next: string
  /** Made by a model without the check. */
  readonly isFree: boolean
}

/** What the server saw in a request. */
export type SeenRequest = {
  readonly body: MessagesBody
  /** The 400 of the check; `undefined` if every block that came back was valid. */
  readonly refusal: string | undefined
  /** Blocks of reasoning that came back, how many of them were valid, and how many could have been at most. */
  readonly returned: number
  readonly kept: number
  readonly most: number
}

export type Answer = { readonly content: readonly Block[]; readonly stopReason: string }

export type PrefixRuleOptions = {
  readonly seed?: number
  /** Whether a block that fails is dropped and only counted, so that a session goes on. Default: the request is refused. */
  readonly lenient?: boolean
  /** The share of answers without reasoning: models think adaptively. Default 1/6. */
  readonly silent?: number
  /** Calls of tools in a turn, at most. Default 3. */
  readonly calls?: number
  /** Characters of filler in texts. Default 40. */
  readonly words?: number
}

/** A refusal, as SDKs report it. */
export class PrefixRefusal extends Error {
  readonly status = 400
  readonly type = 'invalid_request_error'
}

/** The models with the check, as the page lists them, on all hosts. A body without a model is one of them. */
const CHECKING = /(?:opus|sonnet|haiku)-5[-.]5|(?:fable|mythos)-5[-.]1|^$/
const NOTHING_CHECKED = { valid: [], refusal: undefined }

const isReasoning = (block: Block): boolean => block.type === 'thinking' || block.type === 'redacted_thinking'
const markOf = (block: Block): string => String(block.type === 'thinking' ? block.signature : block.data)

/** The rule without HTTP. */
export class PrefixRule {
  readonly requests: SeenRequest[] = []
  /** Whether answers come without a usage; a stream, whose form requires one, says 0 tokens. */
  isUnbilled = false
  readonly #produced = new Map<string, Produced>()
  readonly #summaries = new Map<string, readonly string[]>()
  readonly #random: () => number
  readonly #options: Required<PrefixRuleOptions>
  #answers = 0

  constructor(options: PrefixRuleOptions = {}) {
    this.#options = { seed: 1, lenient: false, silent: 1 / 6, calls: 3, words: 40, ...options }
    this.#random = randomFrom(this.#options.seed)
  }

  get refused(): readonly SeenRequest[] {
    return this.requests.filter(({ refusal }) => refusal !== undefined)
  }

  /** Requests that sent less valid reasoning than they could. */
  get short(): readonly SeenRequest[] {
    return this.requests.filter(({ kept, most }) => kept < most)
  }

  /** Reasoning that came back, in all requests. */
  get kept(): number {
    return this.requests.reduce((sum, { kept }) => sum + kept, 0)
  }

  /** Answers a request, or throws a `PrefixRefusal`. */
  answer(body: MessagesBody): Answer {
    const form = formProblem(body)
    if (form !== undefined) throw new PrefixRefusal(form)
    const entries = entriesOf(body)
    const fixed = fixedOf(body)
    const isFree = !CHECKING.test(body.model ?? '')
    const { valid, refusal } = isFree ? NOTHING_CHECKED : this.#check(entries, fixed)
    const returned = entries.filter(({ block }) => isReasoning(block)).length
    const most = isFree ? 0 : this.#most(entries, fixed)
    this.requests.push({ body, refusal, returned, kept: valid.length, most })
    const drops =
      this.#options.lenient || body.thinking?.block_binding?.prefix_mismatch_behavior === 'drop_block'
    if (refusal !== undefined && !drops) throw new PrefixRefusal(refusal)
    const before = contentOf(entries)
    if (body.compaction !== undefined) return this.#summarize(before)
    return this.#reply(body, fixed, before, valid.at(-1))
  }

  /** The valid blocks that came back, in order, and the refusal that the first of the others gets. */
  #check(entries: readonly Entry[], fixed: string): { valid: string[]; refusal: string | undefined } {
    const valid: string[] = []
    const failed = new Set<string>()
    let refusal: string | undefined
    for (const [index, { block, path }] of entries.entries()) {
      if (!isReasoning(block)) continue
      const mark = markOf(block)
      const made = this.#produced.get(mark)
      if (made === undefined || !isDeepStrictEqual(withoutMarks(block), made.block)) {
        refusal ??= `${path}: Invalid \`signature\` in \`${block.type}\` block`
        continue
      }
      if (made.isFree) continue
      const previous = valid.at(-1)
      const isNext = previous === undefined ? !failed.has(made.follows ?? '') : made.follows === previous
      if (isNext && this.#hasPrefix(made, fixed, contentOf(entries.slice(0, index)))) valid.push(mark)
      else {
        failed.add(mark)
        refusal ??= boundElsewhere(path, block.type)
      }
    }
    return { valid, refusal }
  }

  #hasPrefix(made: Produced, fixed: string, before: readonly string[]): boolean {
    if (made.fixed !== fixed) return false
    // A summary that the API wrote counts as what it summarizes, and so does one within that.
    for (let content: readonly string[] | undefined = before; content !== undefined; ) {
      if (isDeepStrictEqual(made.before, content)) return true
      const summarized: readonly string[] | undefined = this.#summaries.get(content[0] ?? '')
      // Turns of one role would become one with the last that it summarizes.
      const joins: boolean = summarized?.at(-1)?.split(' ', 1)[0] === content[1]?.split(' ', 1)[0]
      content = summarized === undefined || joins ? undefined : [...summarized, ...content.slice(1)]
    }
    return false
  }

  /**
   * How many blocks the request could have sent: all reasoning of the answers that it shows is put back where it was produced; those whose
   * prefix is the same form trees by what they follow, and the longest path from a root can be sent.
   */
  #most(entries: readonly Entry[], fixed: string): number {
    const content = entries.filter(({ block }) => !isReasoning(block))
    const places = new Map<string, number>()
    for (const [index, { role, block }] of content.entries())
      if (role === 'assistant') places.set(placeOf(block), index)
    const lengths = new Map<string, number>()
    const candidates = [...this.#produced.values()]
      .flatMap((made) => {
        const place = places.get(made.next)
        return place === undefined || made.isFree ? [] : [{ made, place }]
      })
      .sort((one, other) => one.place - other.place)
    let most = 0
    for (const { made, place } of candidates) {
      if (!this.#hasPrefix(made, fixed, contentOf(content.slice(0, place)))) continue
      const length = 1 + (made.follows === undefined ? 0 : (lengths.get(made.follows) ?? 0))
      lengths.set(made.mark, length)
      most = Math.max(most, length)
    }
    return most
  }

  #reply(body: MessagesBody, fixed: string, before: readonly string[], last: string | undefined): Answer {
    const number = ++this.#answers
    const parts = this.#parts(body, number)
    const content: Block[] = []
    let said = [...before]
    let follows = last
    for (const [index, part] of parts.entries()) {
      if (!isReasoning(part)) {
        said = [...said, textOf('assistant', part)]
        content.push(part)
        continue
      }
      const mark = createHmac('sha256', 'prefix-server')
        .update(JSON.stringify([number, index, fixed, said, follows]))
        .digest('base64')
      const block: Block =
        part.type === 'thinking' ? { ...part, signature: mark } : { type: 'redacted_thinking', data: mark }
      const next = placeOf(parts.slice(index + 1).find((other) => !isReasoning(other))!)
      const isFree = !CHECKING.test(body.model ?? '')
      this.#produced.set(mark, { mark, block, fixed, before: said, follows, next, isFree })
      follows = mark
      content.push(block)
    }
    const calls = content.some(({ type }) => type === 'tool_use')
    return { content, stopReason: calls ? 'tool_use' : 'end_turn' }
  }

  /** The parts of an answer, its reasoning not yet signed. Each text has the answer's number, each call its own id. */
  #parts({ tools = [], messages }: MessagesBody, number: number): Block[] {
    const calls = tools.length > 0 && callsOfTurn(messages) < this.#options.calls && this.#random() < 0.6
    const parts: Block[] = []
    if (this.#random() >= this.#options.silent) parts.push(this.#thought(number))
    if (!calls || this.#random() < 0.5) parts.push({ type: 'text', text: this.#text(number, 'Answer') })
    if (!calls) return parts
    const count = 1 + Math.floor(this.#random() * 2)
    for (let call = 0; call < count; call++) {
      // Between calls a model may think again.
      if (parts.length > 0 && !isReasoning(parts.at(-1)!) && this.#random() < 0.2)
        parts.push(this.#thought(number))
      const name = String(tools[Math.floor(this.#random() * tools.length)]!.name)
      parts.push({
        type: 'tool_use',
        id: `toolu_${number}_${call}`,
        name,
        input: { query: `${number}.${call}` },
      })
    }
    return parts
  }

  #thought(number: number): Block {
    const kind = this.#random()
    if (kind < 0.15) return { type: 'redacted_thinking', data: '' }
    // The newest models return an empty text by default; the signature holds the reasoning.
    return { type: 'thinking', thinking: kind < 0.55 ? '' : this.#text(number, 'Thought'), signature: '' }
  }

  #text(number: number, what: string): string {
    return `${what} ${number}: ${'some words '.repeat(Math.ceil(this.#options.words / 11))}`.trim()
  }

  #summarize(before: readonly string[]): Answer {
    const number = ++this.#answers
    const text = `Summary ${number} of ${before.length} pieces.`
    const signature = createHmac('sha256', 'prefix-server').update(JSON.stringify(before)).digest('base64')
    const block: Block = { type: 'compaction', content: text, signature }
    this.#summaries.set(textOf('assistant', block), before)
    return { content: [block], stopReason: 'compaction' }
  }
}

function boundElsewhere(path: string, type: string): string {
  return (
    `${path}: Invalid \`signature\` in \`${type}\` block. The block is bound to a different conversation. ` +
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". ' +
    'That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.'
  )
}

function blocksOf({ content }: WireMessage): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** The content from the newest compaction block on. */
function entriesOf({ messages }: MessagesBody): Entry[] {
  const all = messages.flatMap((message, at) =>
    blocksOf(message).map((block, part): Entry => {
      const path = `messages.${at}.content.${part}`
      return { role: message.role, block, path, text: textOf(message.role, block) }
    }),
  )
  const start = all.findLastIndex(({ block }) => block.type === 'compaction')
  return start === -1 ? all : all.slice(start)
}

function contentOf(entries: readonly Entry[]): string[] {
  return entries.filter(({ block }) => !isReasoning(block)).map(({ text }) => text)
}

function textOf(role: string, block: Block): string {
  return `${block.type === 'compaction' ? '' : role} ${JSON.stringify(sorted(withoutMarks(block) as Json))}`
}

/** What of an answer stays recognizable when its text is shown differently: its number, or the id of a call. */
function placeOf(block: Block): string {
  if (block.type === 'tool_use') return String(block.id)
  return /^\w+ \d+:/.exec(String(block.text))?.[0] ?? ''
}

function fixedOf({ system, tools = [] }: MessagesBody): string {
  const known = tools.filter(({ defer_loading }) => defer_loading !== true)
  const prompt = typeof system === 'string' ? [{ type: 'text', text: system }] : (system ?? [])
  return JSON.stringify(sorted(withoutMarks([prompt, known]) as Json))
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name]) => name !== 'cache_control')
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutMarks(inner)]))
}

/** The order of keys does not matter. */
function sorted(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value ?? null
  const names = Object.keys(value).sort()
  return Object.fromEntries(names.map((name) => [name, sorted((value as { [name: string]: Json })[name])]))
}

/** How often the model called tools since the user spoke. */
function callsOfTurn(messages: readonly WireMessage[]): number {
  const isSpoken = (message: WireMessage): boolean =>
    message.role === 'user' && blocksOf(message).some(({ type }) => type === 'text')
  const start = messages.findLastIndex(isSpoken)
  return messages.slice(start + 1).filter(({ role }) => role === 'assistant').length
}

/** The few rules of form without which the rest has no meaning. */
function formProblem(body: MessagesBody): string | undefined {
  if (!Array.isArray(body.messages) || body.messages.length === 0)
    return 'messages: at least one message is required'
  const [first] = body.messages
  if (first!.role !== 'user' && blocksOf(first!)[0]?.type !== 'compaction')
    return 'messages: first message must use the "user" role'
  for (const [at, message] of body.messages.entries()) {
    const blocks = blocksOf(message)
    if (blocks.length === 0) return `messages.${at}: all messages must have non-empty content`
    const blank = blocks.findIndex((block) => block.type === 'text' && String(block.text).trim() === '')
    if (blank !== -1) return `messages.${at}.content.${blank}: text content blocks must be non-empty`
    if (message.role === 'assistant' && isReasoning(blocks.at(-1)!))
      return `messages.${at}: The final block in an assistant message cannot be \`thinking\`.`
    const results = new Set(
      blocksOf(body.messages[at + 1] ?? { role: 'user', content: [] }).map((block) => block.tool_use_id),
    )
    const open = blocks.find((block) => block.type === 'tool_use' && !results.has(block.id))
    if (open !== undefined)
      return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${String(open.id)}.`
  }
  return undefined
}

export type PrefixServer = {
  readonly rule: PrefixRule
  readonly url: string
  /** For `createAnthropic({ baseURL })`. */
  readonly anthropicUrl: string
  close(): Promise<void>
}

/** Starts the server on 127.0.0.1; whole and streamed answers. */
export async function startPrefixServer(options: PrefixRuleOptions = {}): Promise<PrefixServer> {
  const rule = new PrefixRule(options)
  const server = createServer((request, response) => {
    void receive(rule, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    rule,
    url,
    anthropicUrl: `${url}/v1`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function receive(rule: PrefixRule, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = ''
  request.setEncoding('utf8')
  for await (const piece of request) text += piece
  const body = JSON.parse(text) as MessagesBody
  let answer: Answer
  try {
    answer = rule.answer(body)
  } catch (error) {
    if (!(error instanceof PrefixRefusal)) throw error
    const { type, message } = error
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ type: 'error', error: { type, message } }))
    return
  }
  const { usage, ...rest } = messageOf(answer, rule.isUnbilled ? 0 : text.length, body.model)
  const message = { ...rest, usage: rule.isUnbilled ? { input_tokens: 0, output_tokens: 0 } : usage }
  if (body.stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of eventsOf(message))
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    response.end()
  } else {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(rule.isUnbilled ? rest : message))
  }
}

function messageOf({ content, stopReason }: Answer, length: number, model = 'claude-opus-5-5') {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: { input_tokens: Math.ceil(length / 4), output_tokens: 50 },
  }
}

/** The events of a streamed answer. Reasoning arrives as its text, if any, and a signature. */
function eventsOf(message: ReturnType<typeof messageOf>): Block[] {
  const { content, stop_reason, usage, ...rest } = message
  const events: Block[] = [
    { type: 'message_start', message: { ...rest, content: [], stop_reason: null, usage } },
  ]
  for (const [index, block] of content.entries()) {
    const add = (delta: object): void => void events.push({ type: 'content_block_delta', index, delta })
    const start = (content_block: object): void =>
      void events.push({ type: 'content_block_start', index, content_block })
    if (block.type === 'thinking') {
      start({ type: 'thinking', thinking: '', signature: '' })
      if (block.thinking !== '') add({ type: 'thinking_delta', thinking: block.thinking })
      add({ type: 'signature_delta', signature: block.signature })
    } else if (block.type === 'text') {
      start({ type: 'text', text: '' })
      add({ type: 'text_delta', text: block.text })
    } else if (block.type === 'tool_use') {
      start({ ...block, input: {} })
      add({ type: 'input_json_delta', partial_json: JSON.stringify(block.input) })
    } else start(block)
    events.push({ type: 'content_block_stop', index })
  }
  events.push({
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: usage.output_tokens },
  })
  events.push({ type: 'message_stop' })
  return events
}

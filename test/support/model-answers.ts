import { createHash } from 'node:crypto'
/*
 * What a model says, and the JSON bodies and server-sent events by which three interfaces say it: OpenAI chat completions,
 * OpenAI responses, Anthropic messages. Forms as their providers document them and as @ai-sdk/openai and @ai-sdk/anthropic read them.
 */

export type WireFormat = 'chat' | 'responses' | 'messages'

/** What the model says; a server turns it into the form asked for. */
export type ModelReply = {
  readonly text?: string
  /** What it thought aloud. Chat completions have no place for it. */
  readonly reasoning?: string
  /** A refusal in the field that OpenAI's interfaces have for it; Anthropic says it as text, with the stop reason. */
  readonly refusal?: string
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly input: unknown }[]
  /** Default: `tool-calls` when there are calls, else `stop`. */
  readonly finish?: 'stop' | 'length' | 'tool-calls' | 'content-filter'
  /** Default: 100 in, 20 out. `inputTokens` counts those read from and written to a cache too. */
  readonly usage?: {
    readonly inputTokens?: number
    readonly outputTokens?: number
    readonly cacheReadTokens?: number
    readonly cacheWriteTokens?: number
  }
  readonly model?: string
}

type Json = { readonly [name: string]: unknown }
/** One server-sent event. */
export type SentEvent = { readonly event?: string; readonly data: string }

const FINISH = {
  chat: { stop: 'stop', length: 'length', 'tool-calls': 'tool_calls', 'content-filter': 'content_filter' },
  messages: { stop: 'end_turn', length: 'max_tokens', 'tool-calls': 'tool_use', 'content-filter': 'refusal' },
} as const

const MODEL = 'scripted-model'
const CREATED = 1_700_000_000

/** The body of an answer that comes in one piece. */
export function bodyOf(format: WireFormat, reply: ModelReply): Json {
  if (format === 'chat') return chatBody(reply)
  return format === 'responses' ? responsesBody(reply) : messagesBody(reply)
}

/** The events of an answer that is streamed, its text in pieces of `pieceLength` characters. */
export function eventsOf(format: WireFormat, reply: ModelReply, pieceLength: number): SentEvent[] {
  if (format === 'chat') return chatEvents(reply, pieceLength)
  return format === 'responses' ? responsesEvents(reply, pieceLength) : messagesEvents(reply, pieceLength)
}

/** The body of an error, as the interface forms it. */
export function errorBodyOf(format: WireFormat, type: string, message: string, code?: string): Json {
  return format === 'messages'
    ? { type: 'error', error: { type, message }, request_id: 'req_1' }
    : { error: { message, type, param: null, code: code ?? null } }
}

function finishOf(reply: ModelReply): NonNullable<ModelReply['finish']> {
  return reply.finish ?? (reply.toolCalls?.length ? 'tool-calls' : 'stop')
}

function usageOf({ usage = {} }: ModelReply): Required<NonNullable<ModelReply['usage']>> {
  return { inputTokens: 100, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0, ...usage }
}

function piecesOf(text: string, length: number): string[] {
  const units = Array.from(text)
  const pieces: string[] = []
  for (let at = 0; at < units.length; at += length) pieces.push(units.slice(at, at + length).join(''))
  return pieces
}

function chatUsage(reply: ModelReply): Json {
  const { inputTokens, outputTokens, cacheReadTokens } = usageOf(reply)
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
  }
}

function chatCalls({ toolCalls = [] }: ModelReply): Json[] {
  return toolCalls.map(({ id, name, input }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
}

function chatBody(reply: ModelReply): Json {
  const calls = chatCalls(reply).map(({ index: _, ...call }) => call)
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: CREATED,
    model: reply.model ?? MODEL,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: reply.text ?? null,
          refusal: reply.refusal ?? null,
          ...(calls.length > 0 && { tool_calls: calls }),
        },
        finish_reason: FINISH.chat[finishOf(reply)],
      },
    ],
    usage: chatUsage(reply),
  }
}

function chatEvents(reply: ModelReply, pieceLength: number): SentEvent[] {
  const chunk = (choices: readonly Json[], rest: Json = {}): SentEvent => ({
    data: JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: CREATED,
      model: reply.model ?? MODEL,
      choices,
      ...rest,
    }),
  })
  const delta = (what: Json, finish: string | null = null): SentEvent =>
    chunk([{ index: 0, delta: what, finish_reason: finish }])
  return [
    delta({ role: 'assistant', content: '' }),
    ...piecesOf(reply.text ?? '', pieceLength).map((content) => delta({ content })),
    ...piecesOf(reply.refusal ?? '', pieceLength).map((refusal) => delta({ refusal })),
    ...chatCalls(reply).map((call) => delta({ tool_calls: [call] })),
    delta({}, FINISH.chat[finishOf(reply)]),
    chunk([], { usage: chatUsage(reply) }),
    { data: '[DONE]' },
  ]
}

function responsesUsage(reply: ModelReply): Json {
  const { inputTokens, outputTokens, cacheReadTokens } = usageOf(reply)
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  }
}

function incompleteOf(reply: ModelReply): Json | null {
  const finish = finishOf(reply)
  if (finish === 'length') return { reason: 'max_output_tokens' }
  return finish === 'content-filter' ? { reason: 'content_filter' } : null
}

/** The id of an item: another one for each answer, as from OpenAI. */
function itemId(kind: string, reply: ModelReply): string {
  return `${kind}_${createHash('sha256').update(JSON.stringify(reply)).digest('hex').slice(0, 16)}`
}

function responsesOutput(reply: ModelReply): Json[] {
  const { text, refusal, reasoning, toolCalls = [] } = reply
  const content = [
    ...(text === undefined ? [] : [{ type: 'output_text', text, annotations: [] }]),
    ...(refusal === undefined ? [] : [{ type: 'refusal', refusal }]),
  ]
  return [
    ...(reasoning === undefined
      ? []
      : [
          {
            type: 'reasoning',
            id: itemId('rs', reply),
            summary: [{ type: 'summary_text', text: reasoning }],
          },
        ]),
    ...(content.length === 0
      ? []
      : [{ type: 'message', id: itemId('msg', reply), role: 'assistant', status: 'completed', content }]),
    ...toolCalls.map(({ id, name, input }, index) => ({
      type: 'function_call',
      id: `${itemId('fc', reply)}_${index + 1}`,
      call_id: id,
      name,
      arguments: JSON.stringify(input),
      status: 'completed',
    })),
  ]
}

function responsesBody(reply: ModelReply): Json {
  const incomplete = incompleteOf(reply)
  return {
    id: 'resp_1',
    object: 'response',
    created_at: CREATED,
    status: incomplete === null ? 'completed' : 'incomplete',
    model: reply.model ?? MODEL,
    error: null,
    incomplete_details: incomplete,
    output: responsesOutput(reply),
    usage: responsesUsage(reply),
  }
}

function responsesEvents(reply: ModelReply, pieceLength: number): SentEvent[] {
  const whole = responsesBody(reply)
  const event = (type: string, fields: Json): SentEvent => ({
    event: type,
    data: JSON.stringify({ type, ...fields }),
  })
  const events = [event('response.created', { response: { ...whole, status: 'in_progress', output: [] } })]
  responsesOutput(reply).forEach((item, output_index) => {
    const deltas = (type: string, text: string, rest: Json): SentEvent[] =>
      piecesOf(text, pieceLength).map((delta) =>
        event(type, { item_id: item.id, output_index, ...rest, delta }),
      )
    const open = item.type === 'message' ? { ...item, content: [] } : { ...item, summary: [], arguments: '' }
    events.push(event('response.output_item.added', { output_index, item: open }))
    if (item.type === 'message') {
      events.push(...deltas('response.output_text.delta', reply.text ?? '', { content_index: 0 }))
      events.push(...deltas('response.refusal.delta', reply.refusal ?? '', { content_index: 0 }))
    } else if (item.type === 'reasoning') {
      const rest = { item_id: item.id, output_index, summary_index: 0 }
      events.push(event('response.reasoning_summary_part.added', rest))
      events.push(
        ...deltas('response.reasoning_summary_text.delta', reply.reasoning ?? '', { summary_index: 0 }),
      )
      events.push(event('response.reasoning_summary_part.done', rest))
    } else {
      events.push(...deltas('response.function_call_arguments.delta', String(item.arguments), {}))
    }
    events.push(event('response.output_item.done', { output_index, item }))
  })
  const type = whole.status === 'completed' ? 'response.completed' : 'response.incomplete'
  return [...events, event(type, { response: whole })]
}

function messagesContent({ text, refusal, reasoning, toolCalls = [] }: ModelReply): Json[] {
  return [
    ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: 'c2ln' }]),
    ...[text, refusal].flatMap((said) => (said === undefined ? [] : [{ type: 'text', text: said }])),
    ...toolCalls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
  ]
}

function messagesUsage(reply: ModelReply): Json {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usageOf(reply)
  return {
    input_tokens: inputTokens - cacheReadTokens - cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    output_tokens: outputTokens,
  }
}

function messagesBody(reply: ModelReply): Json {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: reply.model ?? MODEL,
    content: messagesContent(reply),
    stop_reason: FINISH.messages[finishOf(reply)],
    stop_sequence: null,
    usage: messagesUsage(reply),
  }
}

function messagesEvents(reply: ModelReply, pieceLength: number): SentEvent[] {
  const whole = messagesBody(reply)
  const event = (type: string, fields: Json): SentEvent => ({
    event: type,
    data: JSON.stringify({ type, ...fields }),
  })
  const events = [
    event('message_start', {
      message: {
        ...whole,
        content: [],
        stop_reason: null,
        usage: { ...messagesUsage(reply), output_tokens: 1 },
      },
    }),
    event('ping', {}),
  ]
  messagesContent(reply).forEach((block, index) => {
    const delta = (fields: Json): SentEvent => event('content_block_delta', { index, delta: fields })
    const pieces = (text: unknown, form: (piece: string) => Json): SentEvent[] =>
      piecesOf(String(text), pieceLength).map((piece) => delta(form(piece)))
    if (block.type === 'thinking') {
      events.push(
        event('content_block_start', { index, content_block: { ...block, thinking: '', signature: '' } }),
      )
      events.push(...pieces(block.thinking, (thinking) => ({ type: 'thinking_delta', thinking })))
      events.push(delta({ type: 'signature_delta', signature: block.signature }))
    } else if (block.type === 'text') {
      events.push(event('content_block_start', { index, content_block: { ...block, text: '' } }))
      events.push(...pieces(block.text, (text) => ({ type: 'text_delta', text })))
    } else {
      events.push(event('content_block_start', { index, content_block: { ...block, input: {} } }))
      const json = JSON.stringify(block.input)
      events.push(...pieces(json, (partial_json) => ({ type: 'input_json_delta', partial_json })))
    }
    events.push(event('content_block_stop', { index }))
  })
  const { stop_reason, stop_sequence, usage } = whole
  return [
    ...events,
    event('message_delta', { delta: { stop_reason, stop_sequence }, usage }),
    event('message_stop', {}),
  ]
}

import { invalid } from '../../core/errors.ts'
import { toolPartOf } from '../../core/messages/call-results.ts'
import { defined, fieldOf, listIn } from '../../core/messages/json.ts'
import { type ChatMessage, type PlainMessage, roleOf, toolOf } from '../../core/model/message-parts.ts'
import { isVisible } from './effective-history.ts'

const RESULT_UNAVAILABLE = '[Tool result unavailable - conversation was compacted]'

const CALL_BEGIN = '[Tool call for '
const CALL_END = ' - conversation was compacted]'

type Fields = { readonly [name: string]: unknown }

/** How a format writes the missing half of a pair. */
type Form = {
  /** The role of a message whose parts are results; absent if each result is a message. */
  readonly roleOfResults?: string
  /** Returns a part of the content, or the fields of the message with the call. */
  readonly call: (slot: ToolSlot, name: string) => Fields
  /** Returns a part of the content, or a message. */
  readonly result: (slot: ToolSlot) => Fields
}

const FORMS: { readonly [F in ToolForm]: Form } = {
  parts: {
    roleOfResults: 'tool',
    call: ({ id: toolCallId, inside }, toolName) => ({
      ...{ type: 'tool-call', toolCallId, toolName, input: {} },
      ...(inside && { providerExecuted: true }),
    }),
    result: ({ id: toolCallId, tool: toolName }) => ({
      ...{ type: 'tool-result', toolCallId, ...defined({ toolName }) },
      output: { type: 'text', value: RESULT_UNAVAILABLE },
    }),
  },
  blocks: {
    roleOfResults: 'user',
    call: ({ id }, name) => ({ type: 'tool_use', id, name, input: {} }),
    result: ({ id }) => ({ type: 'tool_result', tool_use_id: id, content: RESULT_UNAVAILABLE }),
  },
  openai: {
    call: ({ id }, name) => ({ tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }] }),
    result: ({ id, tool: name }) => ({ role: 'tool', tool_call_id: id, ...defined({ name }) }),
  },
  function: {
    call: (_, name) => ({ function_call: { name, arguments: '{}' } }),
    result: ({ tool: name }) => ({ role: 'function', ...defined({ name }) }),
  },
  flat: {
    call: (slot) => ({ role: 'tool_call', ...flatFields(slot) }),
    result: (slot) => ({ role: 'tool_result', ...flatFields(slot) }),
  },
}

function flatFields({ id, tool }: ToolSlot): Fields {
  return defined({ tool, toolCallId: id || undefined })
}

/** Returns a message that is marked as synthesized. */
export function synthesized(fields: Fields): PlainMessage {
  return { ...fields, metadata: { truncated: true } } as unknown as PlainMessage
}

/** Returns messages with results for the unanswered calls of one message, in the format of the calls. */
export function resultsFor(calls: readonly ToolSlot[]): PlainMessage[] {
  return byForm(calls).flatMap(([form, some]) => {
    const role = FORMS[form].roleOfResults
    const results = some.map(resultOf)
    if (role !== undefined) return [synthesized({ role, content: results })]
    return results.map((result) => synthesized({ content: RESULT_UNAVAILABLE, ...result }))
  })
}

/**
 * Returns messages with calls for the unmatched results of one message, in the format of the results. A message has several results only
 * as parts of its content.
 */
export function callsFor(results: readonly ToolSlot[]): PlainMessage[] {
  return byForm(results).map(([form, some]) => {
    const [text, call] = callOf(some[0]!)
    return FORMS[form].roleOfResults === undefined
      ? synthesized({ role: 'assistant', content: text.text, ...call })
      : synthesized({ role: 'assistant', content: some.flatMap(callOf) })
  })
}

/** Returns the result of a call. */
export function resultOf(slot: ToolSlot): Fields {
  return FORMS[slot.form].result(slot)
}

/** Returns the call of a result, preceded by a text. */
export function callOf(slot: ToolSlot): readonly [text: { readonly text: string }, call: Fields] {
  const name = slot.tool ?? 'unknown'
  const text = { type: 'text', text: `${CALL_BEGIN}${name}${CALL_END}` }
  return [text, FORMS[slot.form].call(slot, name)]
}

function byForm(slots: readonly ToolSlot[]): [ToolForm, ToolSlot[]][] {
  const forms = new Map<ToolForm, ToolSlot[]>()
  for (const slot of slots) listIn(forms, slot.form).push(slot)
  return [...forms]
}

/** The format of a call or a result: flat, OpenAI's, OpenAI's former `function_call`, Anthropic's blocks, or neutral parts. */
type ToolForm = 'flat' | 'openai' | 'function' | 'blocks' | 'parts'

/** One call or result within a message. */
export type ToolSlot = {
  readonly kind: 'call' | 'result'
  readonly form: ToolForm
  /** Whether it is a part of the content, one of the calls next to the content, or the whole message. */
  readonly place: 'content' | 'calls' | 'message'
  /** The index in its list; 0 if it is the message itself. */
  readonly at: number
  /** The id; an empty string if there is none. */
  readonly id: string
  readonly tool: string | undefined
  /** Whether it belongs in its partner's message, as with tools that a provider runs itself. */
  readonly inside: boolean
}

/** The calls and results of one message. */
export type ToolMessage = {
  readonly slots: readonly ToolSlot[]
  /** Whether the message has content besides calls and results. */
  readonly hasContent: boolean
  /** Whether the message consists only of results. */
  readonly isResults: boolean
  /** Whether the message is one call in the flat format. */
  readonly isFlatCall: boolean
}

/** Returns the visible messages of a list with their indexes. Throws the errors of `readToolMessage`. */
export function readVisible(
  messages: readonly PlainMessage[],
  what: string,
): readonly (ToolMessage & { readonly index: number })[] {
  return messages.flatMap((message, index) =>
    isVisible(message as ChatMessage)
      ? [{ ...readToolMessage(message, `${what}: messages[${index}]`), index }]
      : [],
  )
}

/**
 * Finds the calls and results of a message. Blocks of tools that a provider ran itself (`server_tool_use` and its results) are ignored.
 * Throws `INVALID_INPUT` for an unknown role, and for content that is present and neither a text nor a list; `where` describes the message.
 */
function readToolMessage(message: PlainMessage, where: string): ToolMessage {
  const { role, content } = message
  if (roleOf(role) === undefined) throw invalid(`${where}.role is unknown`)
  if (!Array.isArray(content) && typeof content !== 'string' && content !== null && content !== undefined)
    throw invalid(`${where}.content must be a string or an array of parts`)

  const parts: readonly unknown[] = Array.isArray(content) ? content : []
  const inContent = parts.flatMap((part, at) => slotOfPart(part, at, role))
  const whole = inContent.length > 0 ? undefined : wholeSlot(message, parts)
  if (whole !== undefined) {
    const isCall = whole.kind === 'call'
    return { slots: [whole], hasContent: false, isResults: !isCall, isFlatCall: isCall }
  }

  // Some frameworks list the calls in their blocks a second time.
  const listed = new Set(inContent.flatMap(({ kind, id }) => (kind === 'call' && id !== '' ? [id] : [])))
  const slots = [...inContent, ...callsApart(message).filter(({ id }) => !listed.has(id))]
  const taken = new Set(inContent.map(({ at }) => at))
  const others = parts.filter((_, at) => !taken.has(at))
  const hasContent = typeof content === 'string' ? isContentText(content) : others.some(isContent)
  const isAddition = (part: unknown): boolean => role === 'tool' && fieldOf(part, 'type') === 'provider'
  const isResults =
    slots.length > 0 && slots.every(({ kind }) => kind === 'result') && others.every(isAddition)
  return { slots, hasContent, isResults, isFlatCall: false }
}

/** Types of parts that aren't content by themselves. */
const CONTENTLESS = new Set<unknown>(['reasoning', 'thinking', 'redacted_thinking', 'provider'])

/** Whether a part that is neither call nor result is content: not reasoning, and not a blank or synthesized text. */
export function isContent(part: unknown): boolean {
  const text = fieldOf(part, 'text')
  if (fieldOf(part, 'type') === 'text' && typeof text === 'string') return isContentText(text)
  return !CONTENTLESS.has(fieldOf(part, 'type'))
}

/** Whether a text is neither blank nor that of a synthesized call. */
export function isContentText(text: string): boolean {
  return text.trim() !== '' && !(text.startsWith(CALL_BEGIN) && text.endsWith(CALL_END))
}

function slotOfPart(part: unknown, at: number, role: string): ToolSlot[] {
  const found = toolPartOf(part)
  if (found === undefined) return []
  const { kind, form, id, tool } = found
  const isHosted = form === 'parts' && fieldOf(part, 'providerExecuted') === true
  return [slot(kind, form, at, id, tool, kind === 'call' ? isHosted : role === 'assistant')]
}

/** Returns the call or result that a whole message represents. */
function wholeSlot(message: PlainMessage, parts: readonly unknown[]): ToolSlot | undefined {
  const { role, toolCallId, tool_call_id: openAIId, tool } = message as PlainMessage & Fields
  if (role !== 'tool_call' && roleOf(role) !== 'tool') return undefined
  const id = toolCallId ?? openAIId
  if (role === 'tool' && id === undefined && parts.some((part) => fieldOf(part, 'type') !== 'text'))
    return undefined
  const isFlat = role !== 'tool' || (openAIId === undefined && (id !== undefined || tool !== undefined))
  const form = role === 'function' ? role : isFlat ? 'flat' : 'openai'
  return slot(role === 'tool_call' ? 'call' : 'result', form, 0, id, toolOf(message as ChatMessage))
}

/** Returns the calls of a message outside its content. */
function callsApart(message: PlainMessage): ToolSlot[] {
  const { tool_calls: calls, function_call: legacy } = message as PlainMessage & Fields
  if (Array.isArray(calls)) {
    return calls.flatMap((call: unknown, at) => {
      if (typeof call !== 'object' || call === null) return []
      const called = fieldOf(call, 'function') ?? fieldOf(call, 'custom') ?? call
      return [slot('call', 'openai', at, fieldOf(call, 'id'), fieldOf(called, 'name'))]
    })
  }
  if (typeof legacy !== 'object' || legacy === null) return []
  return [slot('call', 'function', 0, undefined, fieldOf(legacy, 'name'))]
}

function slot(
  kind: ToolSlot['kind'],
  form: ToolForm,
  at: number,
  id: unknown,
  tool: unknown,
  inside = false,
): ToolSlot {
  const isNamed = typeof tool === 'string' && tool !== '' && tool !== 'unknown'
  const apart = form === 'flat' || kind === 'result' ? 'message' : 'calls'
  const place = FORMS[form].roleOfResults === undefined ? apart : 'content'
  return {
    kind,
    form,
    place,
    at,
    id: typeof id === 'string' ? id : '',
    tool: isNamed ? tool : undefined,
    inside,
  }
}

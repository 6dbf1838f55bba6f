import { invalid } from '../../core/errors.ts'
import { toolPartOf } from '../../core/messages/call-results.ts'
import { defined, fieldOf, listIn } from '../../core/messages/json.ts'
import { type ChatMessage, type PlainMessage, roleOf } from '../../core/model/message-parts.ts'
import { isVisible } from './effective-history.ts'

const RESULT_UNAVAILABLE = '[Tool result unavailable - conversation was compacted]'

const CALL_BEGIN = '[Tool call for '
const CALL_END = ' - conversation was compacted]'

type Fields = { readonly [name: string]: unknown }

/** Returns a message that is marked as synthesized. */
export function synthesized(fields: PlainMessage & Fields): PlainMessage {
  return { ...fields, metadata: { truncated: true } } as PlainMessage
}

/** Returns messages with results for the unanswered calls of one message, in the format of the calls. */
export function resultsFor(calls: readonly ToolSlot[]): PlainMessage[] {
  return byForm(calls).flatMap(([form, some]) => {
    if (form === 'parts' || form === 'blocks') {
      const role = form === 'parts' ? 'tool' : 'user'
      return [synthesized({ role, content: some.map(resultPart) })]
    }
    return some.map(({ id, tool: name }) => {
      const content = RESULT_UNAVAILABLE
      if (form === 'function') return synthesized({ role: 'function', ...defined({ name }), content })
      if (form === 'openai')
        return synthesized({ role: 'tool', tool_call_id: id, ...defined({ name }), content })
      return flatMessage('tool_result', content, name, id)
    })
  })
}

/** Returns messages with calls for the unmatched results of one message, in the format of the results. */
export function callsFor(results: readonly ToolSlot[]): PlainMessage[] {
  return byForm(results).map(([form, some]) => {
    const { id, tool } = some[0]!
    const role = 'assistant'
    const content = callText(tool)
    switch (form) {
      case 'parts':
      case 'blocks':
        return synthesized({ role, content: some.flatMap(callParts) })
      case 'openai':
        return synthesized({
          role,
          content,
          tool_calls: some.map((result) => ({
            id: result.id,
            type: 'function',
            function: functionOf(result),
          })),
        })
      case 'function':
        return synthesized({ role, content, function_call: functionOf(some[0]!) })
      default:
        return flatMessage('tool_call', content, tool, id)
    }
  })
}

/** Returns the result of a call, for a list of parts or blocks. */
export function resultPart({ form, id, tool: toolName }: ToolSlot): Fields {
  if (form === 'blocks') return { type: 'tool_result', tool_use_id: id, content: RESULT_UNAVAILABLE }
  const output = { type: 'text', value: RESULT_UNAVAILABLE }
  return { type: 'tool-result', toolCallId: id, ...defined({ toolName }), output }
}

/** Returns the call of a result, preceded by a text, for a list of parts or blocks. */
export function callParts({ form, id, tool, inside }: ToolSlot): Fields[] {
  const text = { type: 'text', text: callText(tool) }
  const name = tool ?? 'unknown'
  if (form === 'blocks') return [text, { type: 'tool_use', id, name, input: {} }]
  const ranByProvider = inside && { providerExecuted: true }
  return [text, { type: 'tool-call', toolCallId: id, toolName: name, input: {}, ...ranByProvider }]
}

function callText(tool: string | undefined): string {
  return `${CALL_BEGIN}${tool ?? 'unknown'}${CALL_END}`
}

function flatMessage(role: string, content: string, tool: string | undefined, id: string): PlainMessage {
  return synthesized({ role, content, ...defined({ tool }), ...(id !== '' && { toolCallId: id }) })
}

function functionOf({ tool = 'unknown' }: ToolSlot): Fields {
  return { name: tool, arguments: '{}' }
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
  readonly speaks: boolean
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
    return { slots: [whole], speaks: false, isResults: !isCall, isFlatCall: isCall }
  }

  // Some frameworks list the calls in their blocks a second time.
  const listed = new Set(inContent.flatMap(({ kind, id }) => (kind === 'call' && id !== '' ? [id] : [])))
  const slots = [...inContent, ...callsApart(message).filter(({ id }) => !listed.has(id))]
  const taken = new Set(inContent.map(({ at }) => at))
  const others = parts.filter((_, at) => !taken.has(at))
  const speaks = typeof content === 'string' ? isContentText(content) : others.some(isContent)
  const isAddition = (part: unknown): boolean => role === 'tool' && fieldOf(part, 'type') === 'provider'
  const isResults =
    slots.length > 0 && slots.every(({ kind }) => kind === 'result') && others.every(isAddition)
  return { slots, speaks, isResults, isFlatCall: false }
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
  const openAIId = fieldOf(message, 'tool_call_id')
  const id = fieldOf(message, 'toolCallId') ?? openAIId
  const named = fieldOf(message, 'tool') ?? fieldOf(message, 'name') ?? fieldOf(message, 'tool_name')
  switch (message.role) {
    case 'tool_call':
      return slot('call', 'flat', 0, id, named)
    case 'tool_result':
      return slot('result', 'flat', 0, id, named)
    case 'function':
      return slot('result', 'function', 0, id, named)
    case 'tool': {
      const isOther = id === undefined && parts.some((part) => fieldOf(part, 'type') !== 'text')
      const isFlat = openAIId === undefined && (id !== undefined || fieldOf(message, 'tool') !== undefined)
      return isOther ? undefined : slot('result', isFlat ? 'flat' : 'openai', 0, id, named)
    }
    default:
      return undefined
  }
}

/** Returns the calls of a message outside its content. */
function callsApart(message: PlainMessage): ToolSlot[] {
  const calls = fieldOf(message, 'tool_calls')
  if (Array.isArray(calls)) {
    return calls.flatMap((call: unknown, at) => {
      if (typeof call !== 'object' || call === null) return []
      const called = fieldOf(call, 'function') ?? fieldOf(call, 'custom') ?? call
      return [slot('call', 'openai', at, fieldOf(call, 'id'), fieldOf(called, 'name'))]
    })
  }
  const called = fieldOf(message, 'function_call')
  if (typeof called !== 'object' || called === null) return []
  return [slot('call', 'function', 0, undefined, fieldOf(called, 'name'))]
}

function slot(
  kind: ToolSlot['kind'],
  form: ToolForm,
  at: number,
  id: unknown,
  tool: unknown,
  inside = false,
): ToolSlot {
  const known = typeof tool === 'string' && tool !== '' && tool !== 'unknown'
  const place =
    form === 'parts' || form === 'blocks'
      ? 'content'
      : form === 'flat' || kind === 'result'
        ? 'message'
        : 'calls'
  const own = { id: typeof id === 'string' ? id : '', tool: known ? tool : undefined }
  return { kind, form, place, at, ...own, inside }
}

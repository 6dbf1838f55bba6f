import { invalid } from '../errors.ts'
import { listIn } from '../messages/lists.ts'
import { type PlainMessage, roleOf } from '../model/message-parts.ts'

/** What stands for a result that is not there any more. Source: seed 003, checklist S3-317. */
const TOOL_RESULT_UNAVAILABLE = '[Tool result unavailable - conversation was compacted]'

/** What stands for the words of a call that is not there any more. Source: seed 003, checklist S3-318. */
export function toolCallUnavailable(tool: string | undefined): string {
  return `${CALL_BEGIN}${tool ?? 'unknown'}${CALL_END}`
}

/** Whether a text is one of those. */
function isCallPlaceholder(text: string): boolean {
  return text.startsWith(CALL_BEGIN) && text.endsWith(CALL_END)
}

const CALL_BEGIN = '[Tool call for '
const CALL_END = ' - conversation was compacted]'

type Fields = { readonly [name: string]: unknown }

/** A message that says of itself that it was made up. Source: seed 003, checklist S3-319. */
export function madeUp(fields: PlainMessage & Fields): PlainMessage {
  return { ...fields, metadata: { truncated: true } } as PlainMessage
}

/** Messages with results for calls that have none, in the form of the calls; calls of one message. */
export function resultsFor(calls: readonly ToolSlot[]): PlainMessage[] {
  return byForm(calls).flatMap(([form, some]) => {
    switch (form) {
      case 'parts':
        return [madeUp({ role: 'tool', content: some.map(resultPart) })]
      case 'blocks':
        return [madeUp({ role: 'user', content: some.map(resultPart) })]
      default:
        return some.map((call) => resultMessage(form, call))
    }
  })
}

/** Messages with calls for results that have none, in the form of the results; results of one message. */
export function callsFor(results: readonly ToolSlot[]): PlainMessage[] {
  return byForm(results).map(([form, some]) => {
    const [first] = some
    const content = toolCallUnavailable(first?.tool)
    switch (form) {
      case 'parts':
      case 'blocks':
        return madeUp({
          role: 'assistant',
          content: some.flatMap((result) => [textPart(toolCallUnavailable(result.tool)), callPart(result)]),
        })
      case 'openai':
        return madeUp({ role: 'assistant', content, tool_calls: some.map(openAICall) })
      case 'function':
        return madeUp({ role: 'assistant', content, function_call: functionOf(first) })
      default:
        return madeUp({
          role: 'tool_call',
          content,
          ...(first?.tool !== undefined && { tool: first.tool }),
          ...(first !== undefined && first.id !== '' && { toolCallId: first.id }),
        })
    }
  })
}

/** The result of a call, to stand in a list of parts or blocks. */
export function resultPart({ form, id, tool }: ToolSlot): Fields {
  if (form === 'blocks') return { type: 'tool_result', tool_use_id: id, content: TOOL_RESULT_UNAVAILABLE }
  return {
    type: 'tool-result',
    toolCallId: id,
    ...(tool !== undefined && { toolName: tool }),
    output: { type: 'text', value: TOOL_RESULT_UNAVAILABLE },
  }
}

/** The call of a result, to stand in a list of parts or blocks. */
export function callPart({ form, id, tool = 'unknown', inside }: ToolSlot): Fields {
  if (form === 'blocks') return { type: 'tool_use', id, name: tool, input: {} }
  const ranByProvider = inside && { providerExecuted: true }
  return { type: 'tool-call', toolCallId: id, toolName: tool, input: {}, ...ranByProvider }
}

/** A text in a list of parts or blocks. */
export function textPart(text: string): Fields {
  return { type: 'text', text }
}

function resultMessage(form: ToolForm, { id, tool }: ToolSlot): PlainMessage {
  const content = TOOL_RESULT_UNAVAILABLE
  const name = tool !== undefined && { name: tool }
  if (form === 'function') return madeUp({ role: 'function', ...name, content })
  if (form === 'openai') return madeUp({ role: 'tool', tool_call_id: id, ...name, content })
  return madeUp({
    role: 'tool_result',
    content,
    ...(tool !== undefined && { tool }),
    ...(id !== '' && { toolCallId: id }),
  })
}

function openAICall(result: ToolSlot): Fields {
  return { id: result.id, type: 'function', function: functionOf(result) }
}

function functionOf(result: ToolSlot | undefined): Fields {
  return { name: result?.tool ?? 'unknown', arguments: '{}' }
}

function byForm(slots: readonly ToolSlot[]): (readonly [ToolForm, ToolSlot[]])[] {
  const forms = new Map<ToolForm, ToolSlot[]>()
  for (const slot of slots) listIn(forms, slot.form).push(slot)
  return [...forms]
}

/*
 * Where calls and results of tools stand in a message, in every form a plain array may have: the seed's flat one,
 * OpenAI's (today's and the old one with `function_call`), Anthropic's blocks, and the neutral parts.
 */

/** The form a call or a result has. */
type ToolForm = 'flat' | 'openai' | 'function' | 'blocks' | 'parts'

/** One call or result within a message. */
export type ToolSlot = {
  readonly kind: 'call' | 'result'
  readonly form: ToolForm
  /** Index within the list that holds it: `content`, or `tool_calls`; 0 where it is the message itself. */
  readonly at: number
  /** Empty where the message names none. */
  readonly id: string
  readonly tool: string | undefined
  /** It belongs into the message where its partner is, as with tools a provider runs itself. */
  readonly inside: boolean
}

/** What is known of one message. */
export type ToolMessage = {
  readonly slots: readonly ToolSlot[]
  /** Whether somebody says something in it besides; blank texts, made up ones and reasoning say nothing. */
  readonly says: boolean
  /** Whether it is results and nothing else. */
  readonly isResults: boolean
  /** Whether it is one call in the flat form. */
  readonly isFlatCall: boolean
}

/** A field of somebody else's object: its own, or none. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
}

/**
 * Finds the calls and results of a message. Blocks of tools a provider ran itself (`server_tool_use` and its
 * results) are its own business and are not looked at. Throws `INVALID_INPUT` for an unknown role, and for a
 * content that is neither a text, nor a list, nor absent; `where` names the message.
 */
export function readToolMessage(message: PlainMessage, where: string): ToolMessage {
  const { role, content } = message
  if (roleOf(role) === undefined) throw invalid(`${where}.role is unknown`)
  if (!Array.isArray(content) && typeof content !== 'string' && content !== null && content !== undefined)
    throw invalid(`${where}.content must be a text or a list of parts`)

  const parts: readonly unknown[] = Array.isArray(content) ? content : []
  const inContent = parts.flatMap((part, at) => slotOfPart(part, at, role))
  const whole = inContent.length > 0 ? undefined : wholeSlot(message, parts)
  if (whole !== undefined) {
    const isResults = whole.kind === 'result'
    return { slots: [whole], says: false, isResults, isFlatCall: whole.kind === 'call' }
  }

  // Some frameworks list the calls of their blocks a second time.
  const listed = new Set(inContent.flatMap(({ kind, id }) => (kind === 'call' && id !== '' ? [id] : [])))
  const slots = [...inContent, ...callsApart(message).filter(({ id }) => !listed.has(id))]
  const taken = new Set(inContent.map(({ at }) => at))
  const others = parts.filter((_, at) => !taken.has(at))
  const says = typeof content === 'string' ? isSpoken(content) : others.some(saysSomething)
  const goesAlong = (part: unknown): boolean => role === 'tool' && fieldOf(part, 'type') === 'provider'
  const isResults =
    slots.length > 0 && slots.every(({ kind }) => kind === 'result') && others.every(goesAlong)
  return { slots, says, isResults, isFlatCall: false }
}

/** Kinds of parts that say nothing of their own. */
const SILENT = new Set<unknown>(['reasoning', 'thinking', 'redacted_thinking', 'provider'])

/** Whether a part, neither call nor result, is more than reasoning and text nobody said. */
export function saysSomething(part: unknown): boolean {
  const text = fieldOf(part, 'text')
  if (fieldOf(part, 'type') === 'text' && typeof text === 'string') return isSpoken(text)
  return !SILENT.has(fieldOf(part, 'type'))
}

/** Whether a text is somebody's words: not blank, and not what a repair put beside a call it made up. */
export function isSpoken(text: string): boolean {
  return text.trim() !== '' && !isCallPlaceholder(text)
}

function slotOfPart(part: unknown, at: number, role: string): ToolSlot[] {
  const inside = role === 'assistant'
  switch (fieldOf(part, 'type')) {
    case 'tool-call': {
      const ranByProvider = fieldOf(part, 'providerExecuted') === true
      return [
        slot('call', 'parts', at, fieldOf(part, 'toolCallId'), fieldOf(part, 'toolName'), ranByProvider),
      ]
    }
    case 'tool-result':
      return [slot('result', 'parts', at, fieldOf(part, 'toolCallId'), fieldOf(part, 'toolName'), inside)]
    case 'tool_use':
      return [slot('call', 'blocks', at, fieldOf(part, 'id'), fieldOf(part, 'name'), false)]
    case 'tool_result':
      return [slot('result', 'blocks', at, fieldOf(part, 'tool_use_id'), fieldOf(part, 'name'), inside)]
    default:
      return []
  }
}

/** The call or result a message is as a whole. */
function wholeSlot(message: PlainMessage, parts: readonly unknown[]): ToolSlot | undefined {
  const openAIId = fieldOf(message, 'tool_call_id')
  const id = fieldOf(message, 'toolCallId') ?? openAIId
  const named = fieldOf(message, 'tool') ?? fieldOf(message, 'name') ?? fieldOf(message, 'tool_name')
  switch (message.role) {
    case 'tool_call':
      return slot('call', 'flat', 0, id, named, false)
    case 'tool_result':
      return slot('result', 'flat', 0, id, named, false)
    case 'function':
      return slot('result', 'function', 0, id, named, false)
    case 'tool': {
      const isOther = id === undefined && parts.some((part) => fieldOf(part, 'type') !== 'text')
      const isFlat = openAIId === undefined && (id !== undefined || fieldOf(message, 'tool') !== undefined)
      return isOther ? undefined : slot('result', isFlat ? 'flat' : 'openai', 0, id, named, false)
    }
    default:
      return undefined
  }
}

/** The calls a message keeps beside its content. */
function callsApart(message: PlainMessage): ToolSlot[] {
  const calls = fieldOf(message, 'tool_calls')
  if (Array.isArray(calls)) {
    return calls.flatMap((call: unknown, at) => {
      if (typeof call !== 'object' || call === null) return []
      const called = fieldOf(call, 'function') ?? fieldOf(call, 'custom') ?? call
      return [slot('call', 'openai', at, fieldOf(call, 'id'), fieldOf(called, 'name'), false)]
    })
  }
  const called = fieldOf(message, 'function_call')
  if (typeof called !== 'object' || called === null) return []
  return [slot('call', 'function', 0, undefined, fieldOf(called, 'name'), false)]
}

function slot(
  kind: ToolSlot['kind'],
  form: ToolForm,
  at: number,
  id: unknown,
  tool: unknown,
  inside: boolean,
): ToolSlot {
  const known = typeof tool === 'string' && tool !== '' && tool !== 'unknown'
  return { kind, form, at, id: typeof id === 'string' ? id : '', tool: known ? tool : undefined, inside }
}

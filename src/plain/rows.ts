import { invalid } from '../core/check.ts'
import { indexMessage } from '../core/index-message.ts'
import { type Json, jsonProblem } from '../core/json.ts'
import type { Part, Role, ToolCallPart, ToolResultPart } from '../core/message.ts'
import { messageProblem } from '../core/message-check.ts'
import { PRUNE_PLACEHOLDER } from '../core/stages/prune.ts'
import { addSizes, type Estimator, NO_SIZES, neurolinkEstimator, type Sizes } from '../core/tokens.ts'
import { type ShownReplacement, View, type ViewRow } from '../core/view.ts'
import { type ChatMessage, isMarker, isSummary, requireMessages } from './chat-message.ts'
import { isVisible } from './effective-history.ts'

/** What planning needs of an array: its visible messages as rows, and their contents by key. */
export type ArrayRows = {
  readonly view: View
  /** The parts of each visible message, by key. A row's key is its message's index + 1. */
  readonly parts: ReadonlyMap<number, readonly Part[]>
}

/**
 * Reads an array as the planner reads a session: one row per visible message, in order. Figures are of the
 * default estimator, for `provider` ("" for none).
 *
 * Throws `INVALID_INPUT` for a role or a content that is neither flat nor neutral; `what` names the caller.
 */
export function rowsOf(messages: readonly ChatMessage[], provider: string, what: string): ArrayRows {
  requireMessages(messages, what)
  const visible = messages.flatMap((message, index) => (isVisible(message) ? [{ message, index }] : []))
  const contents = joinByNeighbourhood(
    visible.map(({ message, index }) => partsOfMessage(message, `${what}: messages[${index}]`)),
  )
  const parts = new Map<number, readonly Part[]>()
  const rows = visible.map(({ message, index }, at) => {
    const content = contents[at]!
    parts.set(index + 1, content)
    return rowOf(message, index, content, neurolinkEstimator)
  })
  return { view: new View(rows, neurolinkEstimator, provider), parts }
}

function rowOf(
  message: ChatMessage,
  index: number,
  parts: readonly Part[],
  estimator: Estimator,
): ViewRow & { readonly sizes: Sizes } {
  const kind = isMarker(message) ? 'marker' : isSummary(message) ? 'summary' : 'message'
  const indexed = indexMessage({ content: parts }, estimator)
  return {
    ...indexed,
    key: index + 1,
    id: message.id ?? `#${index}`,
    kind,
    role: roleOf(message.role)!,
    position: kind === 'message' ? index + 1 : undefined,
    anchor: index + 1,
    ordinal: 0,
    sizes: sizesOf(message, indexed.sizes, estimator),
    pinned: message.pinned === true,
    shown: shownIn(message, parts),
  }
}

/** The sizes of its parts; of a flat call the text and the arguments, each of them only when it is there. */
function sizesOf(message: ChatMessage, ofParts: Sizes, estimator: Estimator): Sizes {
  if (!isFlatCall(message)) return ofParts
  const text = { ...NO_SIZES, toolCalls: estimator.measureText(textOf(message)) }
  return argumentsOf(message) === undefined ? text : addSizes(text, ofParts)
}

/** Parts that show a replacement already: as a store says, or by the very texts the stages put there. */
function shownIn(message: ChatMessage, parts: readonly Part[]): ShownReplacement[] {
  const { replacedParts } = message as { readonly replacedParts?: unknown }
  const replaced = new Set<unknown>(Array.isArray(replacedParts) ? replacedParts : [])
  return parts.flatMap((part, index) =>
    replaced.has(index) || isReplacement(part) ? [{ part: index, compaction: 0 }] : [],
  )
}

function isReplacement(part: Part): boolean {
  if (part.type !== 'tool-result' || part.output.type !== 'text') return false
  const { value } = part.output
  return value === PRUNE_PLACEHOLDER || /^\[File .{1,1000} - refer to latest read below\]$/.test(value)
}

/** The neutral role of any role that is known here. Calls are the assistant's. */
function roleOf(role: unknown): Role | undefined {
  switch (role) {
    case 'system':
    case 'user':
    case 'assistant':
    case 'tool':
      return role
    case 'developer':
      return 'system'
    case 'tool_call':
      return 'assistant'
    case 'tool_result':
    case 'function':
      return 'tool'
    default:
      return undefined
  }
}

/** Fields of the flat and of OpenAI's form, looked at with care: nobody checked them. */
type LooseFields = {
  readonly content: unknown
  readonly name?: unknown
  readonly tool_call_id?: unknown
  readonly tool_calls?: unknown
  readonly isError?: unknown
  readonly result?: unknown
}

function textOf(message: ChatMessage): string {
  return typeof message.content === 'string' ? message.content : ''
}

function isFlatCall(message: ChatMessage): boolean {
  return message.role === 'tool_call' && !Array.isArray(message.content)
}

/** A message as neutral parts. Ids of calls and results are empty where the message names none. */
function partsOfMessage(message: ChatMessage, where: string): readonly Part[] {
  const { content, tool_calls: calls } = message as LooseFields
  if (roleOf(message.role) === undefined) throw invalid(`${where}.role is unknown`)
  if (Array.isArray(content)) {
    const problem = messageProblem({ role: 'user', content })
    if (problem !== undefined)
      throw invalid(`${where}${problem} (fromOpenAI and fromAnthropic convert other forms)`)
    return content as readonly Part[]
  }
  if (typeof content !== 'string' && content !== null && content !== undefined) {
    throw invalid(`${where}.content must be a text or a list of parts`)
  }
  if (message.role === 'tool_call') return [flatCall(message)]
  if (roleOf(message.role) === 'tool') return [flatResult(message)]
  const text = textOf(message)
  const made = Array.isArray(calls) ? calls.flatMap((call) => openAICall(call)) : []
  if (made.length > 0) return text === '' ? made : [{ type: 'text', text }, ...made]
  if (typeof content !== 'string') throw invalid(`${where}.content must be a text or a list of parts`)
  return [{ type: 'text', text }]
}

function flatCall(message: ChatMessage): ToolCallPart {
  const given = argumentsOf(message)
  return {
    type: 'tool-call',
    toolCallId: idOf(message),
    toolName: toolOf(message) ?? 'unknown',
    input: given === undefined ? inputIn(textOf(message)) : asJson(given),
  }
}

function flatResult(message: ChatMessage): ToolResultPart {
  const { isError, result } = message as LooseFields
  const failed = isError === true || (result as { success?: unknown } | undefined | null)?.success === false
  const tool = toolOf(message)
  return {
    type: 'tool-result',
    toolCallId: idOf(message),
    ...(tool !== undefined && { toolName: tool }),
    output: { type: failed ? 'error-text' : 'text', value: textOf(message) },
  }
}

/** One entry of OpenAI's `tool_calls`. */
function openAICall(call: unknown): ToolCallPart[] {
  const { id, function: called } = (call ?? {}) as {
    id?: unknown
    function?: { name?: unknown; arguments?: unknown }
  }
  if (typeof called?.name !== 'string') return []
  const input = typeof called.arguments === 'string' ? inputIn(called.arguments) : {}
  return [{ type: 'tool-call', toolCallId: typeof id === 'string' ? id : '', toolName: called.name, input }]
}

function idOf(message: ChatMessage): string {
  const id = message.toolCallId ?? (message as LooseFields).tool_call_id
  return typeof id === 'string' ? id : ''
}

function toolOf(message: ChatMessage): string | undefined {
  const tool = message.tool ?? (message as LooseFields).name
  return typeof tool === 'string' && tool !== '' ? tool : undefined
}

function argumentsOf(message: ChatMessage): unknown {
  return message.args ?? message.input ?? undefined
}

/** Arguments written as a text: the object it spells, else the text itself. */
function inputIn(text: string): Json {
  if (!text.trimStart().startsWith('{')) return text
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}

/** Arguments as JSON has them; what JSON cannot hold is told as a text. */
function asJson(value: unknown): Json {
  if (jsonProblem(value) === undefined) return value as Json
  try {
    return (JSON.parse(JSON.stringify(value) ?? 'null') as Json) ?? null
  } catch (error) {
    if (error instanceof TypeError) return String(value)
    throw error
  }
}

type Open = { readonly id: string; readonly own: boolean; readonly tool: string }

/**
 * Gives calls and results without ids one each, so that the core can pair them. A result whose id some call has is
 * left to that; any other goes with a call before it that is not answered yet and from which only calls and
 * results separate it: with one of the same tool if there is one, else with the first. So parallel calls and the
 * results that follow them are whole pairs (checklist C-35).
 */
function joinByNeighbourhood(contents: readonly (readonly Part[])[]): (readonly Part[])[] {
  const known = new Set<string>()
  for (const part of contents.flat()) if (part.type === 'tool-call') known.add(part.toolCallId)
  known.delete('')
  let open: Open[] = []
  const take = (fits: (call: Open) => boolean): Open | undefined => {
    const at = open.findIndex(fits)
    return at < 0 ? undefined : open.splice(at, 1)[0]
  }
  const answered = (result: ToolResultPart): string | undefined => {
    const { toolCallId: id, toolName } = result
    if (known.has(id)) {
      take((call) => call.id === id)
      return id
    }
    const near = (call: Open): boolean => id === '' || !call.own
    return (take((call) => near(call) && call.tool === toolName) ?? take(near))?.id
  }
  return contents.map((parts, row) => {
    if (!parts.some(({ type }) => type === 'tool-call' || type === 'tool-result')) open = []
    return parts.map((part, at) => {
      if (part.type === 'tool-result')
        return withId(part, answered(part) ?? (part.toolCallId || `result ${row}.${at}`))
      if (part.type !== 'tool-call') return part
      const id = part.toolCallId || `call ${row}.${at}`
      open.push({ id, own: part.toolCallId !== '', tool: part.toolName })
      return withId(part, id)
    })
  })
}

function withId<P extends ToolCallPart | ToolResultPart>(part: P, id: string): P {
  return part.toolCallId === id ? part : { ...part, toolCallId: id }
}

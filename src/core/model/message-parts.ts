import { invalid } from '../errors.ts'
import { isUnreadable } from '../messages/compaction-block.ts'
import { type Json, jsonProblem, parsedJson } from '../messages/json.ts'
import {
  isFailed,
  isReasoning,
  isUnsentPart,
  type Message,
  type Part,
  type Role,
  type ToolCallPart,
  type ToolResultPart,
} from '../messages/message.ts'
import { messageProblem } from '../messages/message-check.ts'
import { isSpoken } from '../messages/user-answers.ts'
import { tombstonesIn } from '../retention/tombstone.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { addSizes, measurePart, NO_SIZES, type Sizes, SizesSum } from '../tokens/measure.ts'
import { type IndexedCall, readOf } from './line-range.ts'
import type { ResultEntry } from './view-row.ts'

/* Converts one message into neutral parts, from the neutral format, the flat format, or OpenAI's with `tool_calls` and `tool_call_id`. */

/** A message of any format. Only its role has been checked. */
export type PlainMessage = {
  readonly role: string
  readonly content?: unknown
}

/** Returns the neutral role of a known role. Calls have the role `assistant`. */
export function roleOf(role: unknown): Role | undefined {
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

/** Fields of the flat format and of OpenAI's, unchecked. */
type LooseFields = {
  readonly content: unknown
  readonly name?: unknown
  readonly tool_call_id?: unknown
  readonly tool_calls?: unknown
  readonly tool_name?: unknown
  readonly tool_input?: unknown
  readonly isError?: unknown
  readonly result?: unknown
}

function textOf(message: ChatMessage): string {
  return typeof message.content === 'string' ? message.content : ''
}

function isFlatCall(message: ChatMessage): boolean {
  return message.role === 'tool_call' && !Array.isArray(message.content)
}

/** Returns a message as neutral parts. Missing ids of calls and results are empty. */
export function partsOfMessage(message: ChatMessage, where: string): readonly Part[] {
  const { content, tool_calls: calls } = message as LooseFields
  if (roleOf(message.role) === undefined) throw invalid(`${where}.role is unknown`)
  if (Array.isArray(content)) {
    const problem = messageProblem({ role: 'user', content })
    if (problem !== undefined)
      throw invalid(`${where}${problem} (fromOpenAI and fromAnthropic convert other forms)`)
    return content as readonly Part[]
  }
  if (typeof content !== 'string' && content !== null && content !== undefined) {
    throw invalid(`${where}.content must be a string or an array of parts`)
  }
  if (message.role === 'tool_call') return [flatCall(message)]
  if (roleOf(message.role) === 'tool') return [...callBeside(message), flatResult(message)]
  const text = textOf(message)
  const made = Array.isArray(calls) ? calls.flatMap((call) => openAICall(call)) : []
  if (made.length > 0) return text === '' ? made : [{ type: 'text', text }, ...made]
  if (typeof content !== 'string') throw invalid(`${where}.content must be a string or an array of parts`)
  return [{ type: 'text', text }]
}

/** Returns the sizes of a message. For a flat call, these are the sizes of its own text and arguments. */
export function sizesOf(message: ChatMessage, ofParts: Sizes, estimator: Estimator): Sizes {
  if (!isFlatCall(message)) return ofParts
  const text = { ...NO_SIZES, toolCalls: estimator.measureText(textOf(message)) }
  return argumentsOf(message) === undefined ? text : addSizes(text, ofParts)
}

function flatCall(message: ChatMessage): ToolCallPart {
  const given = argumentsOf(message)
  return {
    type: 'tool-call',
    toolCallId: idOf(message),
    toolName: toolOf(message) ?? 'unknown',
    input: given === undefined ? argumentsIn(textOf(message)) : asJson(given),
  }
}

/** Returns the call inside a result that has `tool_name` and `tool_input` but no id. If it has an id, the call is a separate message. */
function callBeside(message: ChatMessage): ToolCallPart[] {
  const { tool_input: input } = message as LooseFields
  const toolName = toolOf(message)
  if (message.role !== 'tool' || idOf(message) !== '' || input === undefined || toolName === undefined)
    return []
  return [{ type: 'tool-call', toolCallId: '', toolName, input: asJson(input) }]
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

function openAICall(call: unknown): ToolCallPart[] {
  const { id, function: called } = (call ?? {}) as {
    id?: unknown
    function?: { name?: unknown; arguments?: unknown }
  }
  if (typeof called?.name !== 'string') return []
  const input = typeof called.arguments === 'string' ? argumentsIn(called.arguments) : {}
  return [{ type: 'tool-call', toolCallId: typeof id === 'string' ? id : '', toolName: called.name, input }]
}

function idOf(message: ChatMessage): string {
  const id = message.toolCallId ?? (message as LooseFields).tool_call_id
  return typeof id === 'string' ? id : ''
}

/** Returns the tool name of a flat message or of OpenAI's. */
export function toolOf(message: ChatMessage): string | undefined {
  const { name, tool_name: toolName } = message as LooseFields
  const tool = message.tool ?? name ?? toolName
  return typeof tool === 'string' && tool !== '' ? tool : undefined
}

function argumentsOf(message: ChatMessage): unknown {
  return message.args ?? message.input ?? undefined
}

/** Parses arguments in a text; returns the text itself if it isn't an object. */
export function argumentsIn(text: string): Json {
  return text.trimStart().startsWith('{') ? (parsedJson(text) ?? text) : text
}

/** Returns arguments as JSON; other values become texts. */
function asJson(value: unknown): Json {
  if (jsonProblem(value) === undefined) return value as Json
  try {
    return (JSON.parse(JSON.stringify(value) ?? 'null') as Json) ?? null
  } catch (error) {
    if (error instanceof TypeError) return String(value)
    throw error
  }
}

/** The planning index of a message. */
export type MessageIndex = {
  readonly sizes: Sizes
  readonly calls: readonly IndexedCall[]
  readonly results: readonly ResultEntry[]
  readonly hasReasoning: boolean
  /** Whether the message has content other than calls and results. */
  readonly speaks: boolean
  /** Whether the message has a block that only its provider can read. */
  readonly hasBlock: boolean
  /** Whether no part of the message is sent (`isSilent`). */
  readonly silent: boolean
  /** Whether retention removed something of it. */
  readonly isRetired: boolean
}

/**
 * Measures a message and indexes its calls and results. `inputJson` returns the JSON of a tool call's input, by part, if the caller
 * already has it.
 */
export function indexMessage(
  message: Pick<Message, 'content'>,
  estimator: Estimator,
  inputJson?: (part: number) => string | undefined,
): MessageIndex {
  const { content } = message
  if (typeof content === 'string') {
    const sizes = { ...NO_SIZES, text: estimator.measureText(content) }
    const nothing = {
      calls: [],
      results: [],
      hasReasoning: false,
      hasBlock: false,
      silent: false,
      isRetired: false,
    }
    return { sizes, speaks: true, ...nothing }
  }
  const sum = new SizesSum()
  const calls: IndexedCall[] = []
  const results: ResultEntry[] = []
  let hasReasoning = false
  let speaks = false
  let hasBlock = false
  let isRetired = false
  for (let part = 0; part < content.length; part++) {
    const entry = content[part] as Part
    const sizes = measurePart(entry, estimator, inputJson?.(part))
    sum.add(sizes)
    isRetired ||= tombstonesIn(entry).length > 0
    if (entry.type === 'tool-call') calls.push(indexCall(entry, part))
    else if (entry.type === 'tool-result') results.push(indexResult(entry, part, sizes))
    else if (isUnsentPart(entry)) continue
    else if (isReasoning(entry)) hasReasoning = true
    else if (isUnreadable(entry)) hasBlock = true
    else speaks = true
  }
  const silent = !speaks && !hasReasoning && !hasBlock && calls.length === 0 && results.length === 0
  return { sizes: sum.value, calls, results, hasReasoning, speaks, hasBlock, silent, isRetired }
}

function indexCall(call: Extract<Part, { type: 'tool-call' }>, part: number): IndexedCall {
  const { toolCallId: id, toolName: name } = call
  const read = readOf(call.input)
  if (read === undefined) return { part, id, name }
  const { path, range, variant } = read
  return variant === undefined ? { part, id, name, path, range } : { part, id, name, path, range, variant }
}

function indexResult(
  result: Extract<Part, { type: 'tool-result' }>,
  part: number,
  { toolResults, media, images, mediaBytes, largeImages }: Sizes,
): ResultEntry {
  const { toolCallId: id, toolName: name } = result
  const failed = isFailed(result.output)
  const entry = {
    part,
    id,
    units: toolResults,
    media,
    failed,
    ...(name !== undefined && { name }),
    ...(isSpoken(result) && { spoken: true as const }),
  }
  // An estimator may count no tokens for images.
  const hasMedia = media > 0 || images > 0 || mediaBytes > 0
  return hasMedia ? { ...entry, attached: { images, mediaBytes, largeImages } } : entry
}

/*
 * Messages as plain objects in an array, for callers that keep their own history. The tags that a store keeps in columns are fields of
 * these objects.
 */

/**
 * A message of a plain array. Other fields are preserved.
 *
 * Two formats may be mixed: the flat format (role `tool_call` or `tool_result`, a text, the tool's name in `tool`) and the neutral format
 * of this package (role `assistant`, `tool` …, a list of parts). Rows of a store (`getMessages`, `getEffectiveHistory`) are also such
 * messages.
 */
export type ChatMessage = {
  readonly id?: string | undefined
  /** `system`, `user`, `assistant`, `tool_call`, `tool_result`, or `tool`. */
  readonly role: string
  /** A text, or neutral parts. */
  readonly content: string | readonly Part[]
  /** The name of the tool, on flat calls and results. */
  readonly tool?: string | undefined
  /** Pairs a flat call with its result. Without ids they are paired by neighborhood. */
  readonly toolCallId?: string | undefined
  /** The arguments of a flat call; `input` is an alias. */
  readonly args?: unknown
  readonly input?: unknown
  /** `isSummary: true` marks a summary. */
  readonly metadata?: { readonly [name: string]: unknown } | undefined
  /** On a summary: the condensation that inserted it. */
  readonly condenseId?: string | undefined
  /** On a message that a summary replaces: that summary's `condenseId`. The message is hidden. */
  readonly condenseParent?: string | undefined
  /** On a marker: the truncation that inserted it. */
  readonly truncationId?: string | undefined
  /** On a message that a truncation hid: that truncation's id. */
  readonly truncationParent?: string | undefined
  /** True only on the message that a truncation inserted. */
  readonly isTruncationMarker?: boolean | undefined
  /** On rows of a store: never part of a summary, never hidden. */
  readonly pinned?: boolean | undefined
  /** On rows of a store: the row was inserted by a compaction that is not in force, so it is not visible. */
  readonly retiredBy?: string | undefined
}

/** Fields that only some sources of messages have. None is required. */
type ForeignFields = {
  readonly kind?: unknown
  readonly isSummary?: unknown
}

/** Returns whether a message is a summary: by `metadata.isSummary`, or by the fields of Roo Code or of a store. */
export function isSummary(message: ChatMessage): boolean {
  const { kind, isSummary: flag } = message as ForeignFields
  return message.metadata?.isSummary === true || flag === true || kind === 'summary'
}

/** Returns whether a message is the marker of a truncation. */
export function isMarker(message: ChatMessage): boolean {
  return message.isTruncationMarker === true
}

/** Returns whether a message has the tag of a condensation or truncation that hides it. An empty tag is ignored. */
export function hasParent(message: ChatMessage): boolean {
  return Boolean(message.condenseParent) || Boolean(message.truncationParent)
}

/** Checks that a value is a list of objects. Throws `INVALID_INPUT`; `what` is the name of the calling function. */
export function requireMessages(messages: unknown, what: string): void {
  if (!Array.isArray(messages)) throw invalid(`${what}: messages must be an array`)
  const wrong = messages.findIndex((message) => typeof message !== 'object' || message === null)
  if (wrong >= 0) throw invalid(`${what}: messages[${wrong}] must be an object`)
}

/** A compaction strategy over messages of any format, the caller's or this package's. */
export interface ContextStrategy<M = ChatMessage> {
  /** The strategy's name in results and in the audit. Default "custom". */
  readonly name?: string
  /** Returns the tokens of the messages, a whole number. */
  tokenEstimate(messages: readonly M[]): number
  /** Returns whether to call `compact` for messages with this number of tokens. */
  shouldCompact(messages: readonly M[], tokenCount: number): boolean
  /** Returns the shorter list. Its errors propagate to the caller. */
  compact(messages: readonly M[]): readonly M[] | Promise<readonly M[]>
}

import { invalid } from '../../core/errors.ts'
import { defined, isObject, type JsonObject, listIn, stringifyJson } from '../../core/messages/json.ts'
import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ProviderPart,
  ToolCallPart,
  ToolResultOutput,
  ToolResultPart,
} from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { mediaOf } from '../wire.ts'
import { AI_SDK, keptPartTo, ownOf, ownOfMessage, sdkJson, sentOptions } from './fields.ts'
import { partTo } from './prompt.ts'
import { itemTo } from './tool-output.ts'
import type { SdkPart, SdkUIMessage, UIMessageLike } from './types.ts'
import {
  type AnyRow,
  derivedState,
  type Group,
  type GroupRow,
  groupsOf,
  type Shown,
  type ShownTool,
} from './ui-rows.ts'

/** Options of `toUIMessages`. */
export type UIMessageOptions = ConversionOptions & {
  /**
   * The tools of the chat by name: calls of other origins become `tool-<name>` parts if the tool is known, and `dynamic-tool` otherwise.
   * `'all'`: every tool is known. Default: none.
   */
  readonly tools?: 'all' | { readonly [name: string]: unknown } | undefined
}

/**
 * Converts rows to messages of a chat (`UIMessage[]`). Rows of `fromUIMessages` become the messages that were read, with their ids,
 * metadata, states and order of parts. If rows come from elsewhere, an assistant's turn becomes one message with tool parts and the id of
 * its first row (`message-<index>` for messages without ids), and a summary becomes a `system` message.
 *
 * Pass one of two lists. `getMessages` returns the whole log, as people see a chat, including rewound rows, which `chatStore` leaves out;
 * summaries are left out if the rows they replace are in the list. `getEffectiveHistory` returns the view that a model is sent, with
 * summaries and placeholders.
 *
 * Parts that a chat does not have (of other providers, unread ones) are left out and noted. `toUIMessages<MyUIMessage>(rows)` only sets
 * the type: messages are not validated. Throws `INVALID_INPUT` for an invalid list or invalid options.
 */
export function toUIMessages<UI_MESSAGE extends UIMessageLike = SdkUIMessage>(
  messages: readonly Message[],
  options: UIMessageOptions = {},
): UI_MESSAGE[] {
  return readMessages(messages, 'toUIMessages', () => {
    const conversion = new Conversion('ai-sdk UIMessage', options)
    return uiMessagesOf(
      groupsOf(messages as readonly AnyRow[]),
      options,
      conversion,
    ) as unknown as UI_MESSAGE[]
  })
}

/** Converts each group to a message, in order, with a unique id. */
export function uiMessagesOf(
  groups: readonly Group[],
  { tools }: UIMessageOptions,
  conversion: Conversion,
): SdkUIMessage[] {
  if (tools !== undefined && tools !== 'all' && !isObject(tools))
    throw invalid('toUIMessages: options.tools must be an object or "all"')
  const isKnown = (name: string): boolean =>
    tools === 'all' || (tools !== undefined && Object.hasOwn(tools, name))
  const taken = new Set<string>()
  return groups.map((group) => {
    const id = idOf(group, taken)
    taken.add(id)
    const message = new MessageWriter(group, isKnown, conversion).write()
    return { id, ...message } as unknown as SdkUIMessage
  })
}

/** The message's own id. After an undone edit two messages may have the same id: the second gets the id of its row. */
function idOf({ uiId, rows }: Group, taken: ReadonlySet<string>): string {
  const { row, index } = rows[0]!
  const own = row.id ?? `message-${index}`
  if (uiId !== undefined && !taken.has(uiId)) return uiId
  return taken.has(own) ? `${own}-${index}` : own
}

/** The first matching call in the last step that has one, because ids may repeat in every step. */
function firstInLastStep(
  slots: readonly ToolSlot[] = [],
  fits: (slot: ToolSlot) => boolean,
): ToolSlot | undefined {
  const last = slots.findLast(fits)
  return slots.find((slot) => slot.row === last?.row && fits(slot))
}

class MessageWriter {
  readonly #group: Group
  readonly #isKnown: (toolName: string) => boolean
  readonly #conversion: Conversion
  /** Its parts in order; tool parts are written when all rows have been read. */
  readonly #parts: (SdkPart | (() => SdkPart))[] = []
  /** Calls by id, in order. */
  readonly #calls = new Map<unknown, ToolSlot[]>()
  /** Calls by the id of their approval request. */
  readonly #requested = new Map<unknown, ToolSlot[]>()

  constructor(group: Group, isKnown: (toolName: string) => boolean, conversion: Conversion) {
    this.#group = group
    this.#isKnown = isKnown
    this.#conversion = conversion
  }

  write(): { readonly role: string; readonly parts: readonly SdkPart[] } {
    const { role, rows } = this.#group
    for (const row of rows) {
      this.#conversion.at(row.index)
      const id = row.ui?.steering
      if (id !== undefined) this.#parts.push({ type: 'steering-message', id, parts: this.#shownParts(row) })
      else if (role !== 'assistant') this.#addAll(this.#shownParts(row))
      else if (row.row.role === 'assistant') this.#addStep(row)
      else this.#addAnswers(row)
    }
    const parts = this.#parts.map((part) => (typeof part === 'function' ? part() : part))
    const first = rows[0]!.ui?.first
    // The AI SDK rejects system and user messages without parts.
    if (parts.length === 0 && role !== 'assistant' && first === undefined)
      return { role, parts: [{ type: 'text', text: '' }] }
    return { ...first, role, parts }
  }

  /** The parts of a row as they were shown. */
  #shownParts(row: GroupRow): SdkPart[] {
    return layoutOf(row).flatMap((shown) => this.#partOf(row, shown))
  }

  #addStep(row: GroupRow): void {
    const { ui } = row
    if (ui === undefined) this.#parts.push({ type: 'step-start' })
    for (const shown of layoutOf(row)) {
      const [at, entry] = placeOf(shown)
      const call = at === undefined ? undefined : row.parts[at]
      if (call?.type !== 'tool-call') {
        this.#addAll(this.#partOf(row, shown))
        continue
      }
      const isNamed = ui === undefined ? this.#isKnown(call.toolName) : entry?.dynamic !== true
      const slot: ToolSlot = { row, call, shown: entry, isNamed }
      this.#parts.push(() => toolPartTo(slot))
      listIn(this.#calls, call.toolCallId).push(slot)
      if (ui !== undefined) takeBeside(slot, row.parts.slice(at! + 1, at! + 3))
      if (slot.request !== undefined) listIn(this.#requested, slot.request.approvalId).push(slot)
    }
    if (ui === undefined) this.#addAnswers(row)
    const { approvals, sources } = ownOfMessage(row.row.metadata)
    for (const request of listOf(approvals)) this.#request(request)
    for (const source of listOf(sources)) this.#addAll(sourceTo(source))
  }

  #addAll(parts: readonly SdkPart[]): void {
    for (const part of parts) this.#parts.push(part)
  }

  /** Adds results, approval requests and approval responses. */
  #addAnswers({ parts, row, index }: GroupRow): void {
    for (const [at, part] of parts.entries()) {
      const place = `[${index}].content[${at}]`
      if (part.type === 'tool-result') this.#result(part, place)
      else if (part.type === 'provider') this.#approval(part)
      else if (row.role !== 'assistant') this.#addAll(this.#partTo(part, place))
    }
  }

  /** Adds a result to its call. A call with a recorded state had no result. */
  #result(part: ToolResultPart, place: string): void {
    const awaits = ({ shown, result }: ToolSlot): boolean =>
      result === undefined && shown?.state === undefined
    const found = firstInLastStep(this.#calls.get(part.toolCallId), awaits)
    if (found !== undefined) {
      found.result = part
      return
    }
    this.#conversion.note('changed', place, 'its call is missing, so a call without arguments is added')
    const { toolCallId, toolName = 'unknown' } = part
    const call = { type: 'tool-call' as const, toolCallId, toolName, input: {} }
    this.#parts.push(toolPartTo({ call, isNamed: this.#isKnown(toolName), result: part }))
  }

  #approval(part: ProviderPart): void {
    const kept = keptPartTo(part)
    if (kept?.type === 'tool-approval-request') this.#request(kept)
    if (kept?.type !== 'tool-approval-response') return
    const found = firstInLastStep(
      this.#requested.get(kept.approvalId),
      ({ response }) => response === undefined,
    )
    if (found !== undefined) found.response = part
  }

  #request(request: SdkPart): void {
    const found = firstInLastStep(this.#calls.get(request.toolCallId), (slot) => slot.request === undefined)
    if (found === undefined) return
    found.request = request
    listIn(this.#requested, request.approvalId).push(found)
  }

  /** One part as it was shown. */
  #partOf(row: GroupRow, shown: Shown): readonly SdkPart[] {
    if (shown === 'step-start') return [{ type: shown }]
    if (typeof shown === 'object' && 'part' in shown) return [shown.part as SdkPart]
    const [at, entry] = placeOf(shown)
    const part = row.parts[at!]
    if (part === undefined) return []
    return this.#partTo(part, `[${row.index}].content[${at}]`).map((one) => ({ ...one, ...entry?.fields }))
  }

  #partTo(part: Part, place: string): readonly SdkPart[] {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return [{ type: part.type, text: part.text, ...metadataOf(part) }]
      case 'image':
      case 'file':
        return [fileTo(part)]
      case 'tool-call':
        this.#conversion.note('not-sent', place, 'only assistant messages can contain tool calls')
        return []
      case 'tool-result':
        return []
      case 'provider':
        return this.#providerPartTo(part, place)
    }
  }

  #providerPartTo(part: ProviderPart, place: string): readonly SdkPart[] {
    const kept = keptPartTo(part)
    // Approvals are shown with their call.
    if (kept?.type.startsWith('tool-approval-') === true) return []
    const [written] = kept === undefined ? partTo(part, { version: 'v3', provider: part.provider }) : []
    if (written !== undefined) {
      const { providerOptions: providerMetadata, ...rest } = written
      return [{ ...rest, ...defined({ providerMetadata }) } as SdkPart]
    }
    this.#conversion.note('not-sent', place, "a chat can't show this part")
    return []
  }
}

/** How the parts of a row were shown; all in order for a row of another origin. */
function layoutOf({ ui, parts }: GroupRow): readonly Shown[] {
  return ui?.parts ?? parts.map((_, index) => index)
}

/** The index of a shown part that models read, and its entry if it has one. */
function placeOf(shown: Shown): readonly [at?: number, entry?: ShownTool] {
  if (typeof shown === 'number') return [shown]
  return typeof shown === 'string' || 'part' in shown ? [] : [shown.at, shown]
}

/** Adds the parts directly after a call in a row of a chat: an approval request, and a result of a provider's own tool. */
function takeBeside(slot: ToolSlot, next: readonly Part[]): void {
  for (const part of next) {
    if (part.type === 'tool-call') return
    if (part.type === 'tool-result' && part.toolCallId === slot.call.toolCallId) slot.result ??= part
    const kept = part.type === 'provider' ? keptPartTo(part) : undefined
    if (kept?.type === 'tool-approval-request' && slot.result === undefined) slot.request ??= kept
  }
}

/** The options of a part, by the name they have in a chat. */
function metadataOf(part: Exclude<Part, ProviderPart>) {
  return defined({ providerMetadata: sentOptions(part.providerOptions).providerOptions })
}

/** An image or a file: its address, or its bytes as a data URL. */
function fileTo(part: ImagePart | FilePart): SdkPart {
  const data = part.type === 'image' ? part.image : part.data
  const fallback = part.type === 'image' ? 'image/*' : 'application/octet-stream'
  const media = mediaOf(data, part.mediaType)
  const found = 'url' in media ? undefined : media.mediaType
  const mediaType = part.mediaType ?? found ?? fallback
  const isAddress = 'url' in media || (typeof data === 'string' && data.startsWith('data:'))
  return {
    type: 'file',
    mediaType,
    url: isAddress ? (data as string) : `data:${mediaType};base64,${media.base64}`,
    ...(part.type === 'file' && defined({ filename: part.filename })),
    ...metadataOf(part),
  }
}

/** The parts in a value of unknown shape. */
function listOf(value: unknown): readonly SdkPart[] {
  return Array.isArray(value) ? value.filter((item) => isObject(item) && typeof item.type === 'string') : []
}

/** Converts a source that the middleware stored with an answer. Source: `LanguageModelV3Source` of `@ai-sdk/provider`. */
function sourceTo(source: SdkPart): readonly SdkPart[] {
  const { sourceType, id, url, title, mediaType, filename, providerMetadata } = source
  if (typeof id !== 'string') return []
  const titled = typeof title === 'string' ? { title } : {}
  const common = { ...titled, ...(isObject(providerMetadata) && { providerMetadata }) }
  if (sourceType === 'url' && typeof url === 'string')
    return [{ type: 'source-url', sourceId: id, url, ...common }]
  if (sourceType !== 'document' || typeof mediaType !== 'string' || typeof title !== 'string') return []
  const named = typeof filename === 'string' ? { filename } : {}
  return [{ type: 'source-document', sourceId: id, mediaType, ...named, ...common }]
}

/* A tool's part in a message of a chat holds a call, its approval and its result; for models these are parts of their own. */
/** A call, and the parts found for it so far. */
type ToolSlot = {
  readonly call: ToolCallPart
  readonly row?: GroupRow
  /** How it was shown; `undefined` for a call of another origin. */
  readonly shown?: ShownTool | undefined
  /** Whether the type of its part is `tool-<name>`. */
  readonly isNamed: boolean
  request?: SdkPart
  response?: ProviderPart
  result?: ToolResultPart
}

/** The part of a message that shows a call, its approval and its result. */
function toolPartTo(slot: ToolSlot): SdkPart {
  const { call, shown, request, response, result, isNamed } = slot
  const { toolCallId, toolName, input, providerExecuted } = call
  const state = shown?.state ?? derivedState({ hasRequest: request !== undefined, response, result })
  const { providerOptions: callProviderMetadata } = sentOptions(call.providerOptions)
  return {
    ...(!isNamed && { toolName }),
    type: isNamed ? `tool-${toolName}` : 'dynamic-tool',
    toolCallId,
    state,
    ...(shown?.noInput !== true && { input }),
    ...defined({ providerExecuted, callProviderMetadata, approval: approvalTo(slot, shown?.approval) }),
    ...(result !== undefined && resultTo(result, state)),
    ...shown?.fields,
  }
}

function approvalTo({ request, response }: ToolSlot, more: JsonObject | undefined): object | undefined {
  const answer = response && keptPartTo(response)
  const first = request ?? answer
  if (first === undefined) return undefined
  const { signature, inputSchemaInput, isAutomatic, reason: requestReason }: Partial<SdkPart> = request ?? {}
  const { approved, reason }: Partial<SdkPart> = answer ?? {}
  return {
    id: first.approvalId,
    ...defined({ signature, inputSchemaInput, isAutomatic, requestReason, approved, reason }),
    ...more,
  }
}

function resultTo({ output, ...part }: ToolResultPart, state: string): object {
  const { ui: kept } = ownOf(part)
  const { noOutput, ...ui } = isObject(kept) ? kept : {}
  if (state === 'output-denied') return ui
  if (state === 'output-error') return { errorText: errorTextOf(output), ...ui }
  if (noOutput === true && output.type === 'json' && output.value === null) return ui
  if (output.type !== 'content') return { output: output.value, ...ui }
  const value = output.value.flatMap((item) =>
    itemTo(item, 'v3', item.type === 'provider' ? item.provider : AI_SDK).map(sdkJson),
  )
  return { output: { type: 'content', value }, ...ui }
}

function errorTextOf(output: ToolResultOutput): string {
  if (output.type === 'content')
    return output.value.map((item) => (item.type === 'text' ? item.text : `[${item.type}]`)).join('')
  return typeof output.value === 'string' ? output.value : stringifyJson(output.value)
}

import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import {
  isFailed,
  type Message,
  outputText,
  type Part,
  type ProviderPart,
  type ReasoningPart,
  type Role,
  type ToolCallPart,
  type ToolResultContent,
  type ToolResultOutput,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import {
  Conversion,
  type ConversionNote,
  type ConversionOptions,
  omissionReason,
  unknownPart,
} from '../conversion.ts'
import { argumentsText, keptFor } from '../wire.ts'
import { kindOf, OPENAI } from './chat-types.ts'
import { type Draft, type Link, sdkItemOf, settledItems, toReasoning, toSdkReasoning } from './reasoning.ts'
import {
  CALLS,
  imagePart,
  keptPartOf,
  OUTPUTS,
  type Own,
  ownOf,
  RESPONSES,
  type ResponsesItem,
  toAnswer,
  toContentPart,
} from './responses-content.ts'
import { noteFailure } from './to-openai.ts'

/** A message item that is being written. */
type Open = {
  readonly fields: JsonObject | undefined
  readonly link: Link
  readonly place: string
  readonly parts: JsonObject[]
  /** Whether its first part was not read from an item. */
  readonly isForeign: boolean
}

/** Whether a part belongs into a message item. */
function isContent(part: Part): part is ToolResultContent {
  if (part.type === 'provider') return keptPartOf(part.provider, part.data) !== undefined
  return part.type === 'text' || part.type === 'image' || part.type === 'file'
}

function linkOf({ after }: Own): Link {
  return typeof after === 'string' ? { after } : {}
}

/** The fields kept with a part; a part that was kept whole has them in its data. */
function ownInside(part: ToolResultContent): Own | undefined {
  if (part.type !== 'provider') return ownOf(part.providerOptions)
  return isObject(part.data) ? part.data : undefined
}

/**
 * Converts neutral messages to items for the `input` of the OpenAI Responses API: `toOpenAIResponses(fromOpenAIResponses(items))` equals
 * `items`.
 *
 * For messages from elsewhere: each run of texts and media becomes a message, each call and each result an item, in their order. System
 * messages become `system` items, or `developer` items if they were read as such. Failures are sent as text. Not sent: parts of other
 * providers, reasoning that is not OpenAI's, images and files of the assistant or the system, audio, empty messages, and metadata of
 * others. `onNote` receives each of these.
 *
 * Items that the API requires together stay together: reasoning is not sent without the item after it, and an item without its reasoning is
 * sent without its id, or not at all where the API requires an id. Throws `INVALID_INPUT` for a part of an unknown type.
 */
export function toOpenAIResponses(
  messages: readonly Message[],
  options: ConversionOptions = {},
): ResponsesItem[] {
  return readMessages(messages, 'toOpenAIResponses', () => {
    // This only checks the options: notes are sent in the order of the messages, once all items are settled.
    new Conversion(RESPONSES, options)
    const notes: ConversionNote[] = []
    const writer = new Writer(RESPONSES, { onNote: (note) => notes.push(note) })
    for (const [index, message] of writer.sendable(messages).entries()) writer.add(message, index)
    const items = settledItems(writer.drafts, ({ messageIndex, place }, kind, why) =>
      notes.push({ kind, messageIndex, place, why }),
    )
    for (const note of notes.sort((a, b) => a.messageIndex - b.messageIndex)) options.onNote?.(note)
    // An item that was read may be of any type; it is written as it was.
    return items as ResponsesItem[]
  })
}

/** Converts messages to items, one after another. */
class Writer extends Conversion {
  readonly drafts: Draft[] = []
  /** Types of the calls written so far, by id. */
  readonly #callTypes = new Map<string, string>()
  #message!: Message
  #messageIndex = -1
  /** The message item for content between calls, results and reasoning. */
  #open: Open | undefined
  /** The last reasoning of the AI SDK in the message. */
  #sdkReasoning: string | undefined

  add(message: Message, messageIndex: number): void {
    this.at(messageIndex)
    this.#message = message
    this.#messageIndex = messageIndex
    this.#sdkReasoning = undefined
    const path = `[${messageIndex}]`
    const { role, content, metadata } = message
    const own = ownOf(metadata)
    if (typeof content === 'string') {
      this.#pushMessage(content, own?.item, path)
      return
    }
    // A message without parts is sent only if it was read so.
    if (content.length === 0 && own === undefined) this.omit(path, "messages without content aren't sent")
    else if (content.length === 0) this.#pushMessage([], own?.item, path, linkOf(own ?? {}))
    for (const [i, part] of content.entries()) {
      const place = `${path}.content[${i}]`
      const why = reasonToOmit(part, role)
      if (isContent(part)) {
        this.#addContent(part, place)
      } else if (why !== undefined) {
        this.omit(place, why)
      } else {
        this.#close()
        this.#addItem(part, place)
      }
    }
    this.#close()
  }

  #push(draft: Omit<Draft, 'messageIndex' | 'place'>, place: string): void {
    this.drafts.push({ ...draft, messageIndex: this.#messageIndex, place })
  }

  #pushMessage(content: Json, fields: Json | undefined, place: string, link: Link = {}): void {
    const { role, metadata } = this.#message
    // A system message read from Chat Completions may have been a developer message.
    const isDeveloper = role === 'system' && keptFor('openai', metadata)?.role === 'developer'
    const shown = isDeveloper ? 'developer' : role === 'tool' ? 'user' : role
    this.#push(
      { item: { role: shown, content, ...itemOf({ item: fields }) }, link, isIdOptional: true },
      place,
    )
  }

  /** A part of content. A part with item fields or an id begins an item. */
  #addContent(part: ToolResultContent, place: string): void {
    const own = ownInside(part)
    const sdk = this.#sdkLink(part)
    const fields = isObject(own?.item) ? own.item : undefined
    if (fields !== undefined || sdk.id !== undefined || this.#open === undefined) {
      this.#close()
      const sdkFields =
        sdk.id === undefined ? undefined : { type: 'message', id: sdk.id, status: 'completed' }
      this.#open = {
        fields: fields ?? sdkFields,
        link: fields === undefined ? sdk.link : linkOf(own ?? {}),
        place,
        parts: [],
        isForeign: own === undefined,
      }
    }
    const { role } = this.#message
    const sent = toContentPart(part, role === 'tool' ? 'user' : role, place, this)
    if (sent !== undefined) this.#open.parts.push(sent)
  }

  /** Ends the open item. */
  #close(): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined || (open.parts.length === 0 && open.fields === undefined)) return
    const { fields, parts, link, place, isForeign } = open
    const [first] = parts
    // A single assistant text from elsewhere is sent as a string, as the API accepts a message without an id.
    const isText = isForeign && fields === undefined && parts.length === 1 && first?.type === 'output_text'
    const content = isText && typeof first.text === 'string' ? first.text : parts
    this.#pushMessage(content, fields, place, link)
  }

  #addItem(part: Part, place: string): void {
    switch (part.type) {
      case 'reasoning':
        this.#addReasoning(part, place)
        break
      case 'tool-call':
        this.#addCall(part, place)
        break
      case 'tool-result':
        this.#addResult(part, place)
        break
      case 'provider':
        this.#addKept(part, place)
        break
      default:
        throw unknownPart(place)
    }
  }

  #addReasoning(part: ReasoningPart, place: string): void {
    const own = toReasoning(part)
    if (own !== undefined) {
      this.#push(own, place)
      return
    }
    const last = this.drafts.at(-1)
    const sdk = toSdkReasoning(part, last?.messageIndex === this.#messageIndex ? last : undefined)
    if (sdk === undefined) return
    if (sdk.isContinued) this.drafts.pop()
    this.#push(sdk.draft, place)
    this.#sdkReasoning = sdk.draft.reasoning
  }

  #addCall(part: ToolCallPart, place: string): void {
    const type = callTypeOf(part)
    this.#callTypes.set(part.toolCallId, type)
    const { after, item: kept } = ownOf(part.providerOptions) ?? {}
    const { id, link } = typeof after === 'string' ? { link: { after } } : this.#sdkLink(part)
    const { tool, needsId } = CALLS.get(type) ?? {}
    const draft = {
      item: { ...callItem(part), ...defined({ id: isObject(kept) ? undefined : id }) },
      link,
      callId: part.toolCallId,
      isIdOptional: needsId ? undefined : (true as const),
      asFunction: tool === undefined ? undefined : functionCall(part),
    }
    this.#push(defined(draft), place)
  }

  #addResult(part: ToolResultPart, place: string): void {
    const callType = this.#callTypes.get(part.toolCallId)
    const { item, asFunction, onlyAsFunction } = outputItem(part, callType, place, this)
    const isPlain = item.type === 'function_call_output' || item.type === 'custom_tool_call_output'
    const { toolCallId: callId } = part
    const as = { ...(!isPlain && { asFunction }), ...(onlyAsFunction && { onlyAsFunction: true as const }) }
    this.#push({ item, callId, ...as }, place)
  }

  #addKept({ data }: ProviderPart, place: string): void {
    const fields = isObject(data) ? data : {}
    const isItem = isObject(fields.item) && fields.type === undefined
    const item = { ...(isItem ? itemOf(fields) : fields) }
    this.#push({ item, link: linkOf(isItem ? fields : {}) }, place)
  }

  /** The id that the AI SDK keeps with a text or a call, and the reasoning before it. */
  #sdkLink(part: Part): { id?: string; link: { after?: string } } {
    if (part.type !== 'text' && part.type !== 'tool-call') return { link: {} }
    const { id } = sdkItemOf(part.providerOptions)
    if (id === undefined) return { link: {} }
    // A part that came with reasoning is marked; the empty id matches no reasoning, so its id is removed.
    const reasoned = keptFor('ai-sdk', part.providerOptions)?.reasoned === true
    const after = this.#sdkReasoning ?? (reasoned ? '' : undefined)
    return { id, link: defined({ after }) }
  }
}

/** Returns why a part outside message items is not sent, or `undefined` if it is. */
function reasonToOmit(part: Part, role: Role): string | undefined {
  switch (part.type) {
    case 'reasoning': {
      const { id, encrypted } = sdkItemOf(part.providerOptions)
      const isOpenAI =
        ownOf(part.providerOptions) !== undefined || id !== undefined || encrypted !== undefined
      return isOpenAI ? undefined : 'OpenAI accepts only its own reasoning'
    }
    case 'tool-call':
      return role === 'assistant' ? undefined : 'only assistant messages can contain tool calls'
    case 'provider': {
      const fields = part.provider === OPENAI && isObject(part.data) ? part.data : {}
      const isItem = fields.type === 'compaction' || (fields.type === undefined && isObject(fields.item))
      return isItem ? undefined : omissionReason(part.provider, OPENAI)
    }
    default:
      return undefined
  }
}

/** The type of the item a call becomes. */
function callTypeOf({ input, providerOptions }: ToolCallPart): string {
  const own = ownOf(providerOptions)
  const type =
    own?.type ?? (own === undefined && kindOf(providerOptions) === 'custom' ? 'custom_tool_call' : undefined)
  if (typeof type !== 'string' || !CALLS.has(type)) return 'function_call'
  return type === 'custom_tool_call' && typeof input !== 'string' ? 'function_call' : type
}

function callItem(part: ToolCallPart): JsonObject {
  const own = ownOf(part.providerOptions) ?? {}
  const type = callTypeOf(part)
  const { toolCallId: call_id, toolName: name, input } = part
  if (type === 'function_call') return { ...functionCall(part), ...itemOf(own) }
  if (type === 'custom_tool_call') return { type, call_id, name, input, ...itemOf(own) }
  const asked = typeof own.field === 'string' ? { [own.field]: input } : {}
  return { type, call_id, ...asked, ...itemOf(own) }
}

function functionCall({ toolCallId, toolName, input, providerOptions }: ToolCallPart): JsonObject {
  const raw = ownOf(providerOptions)?.arguments
  return { type: 'function_call', call_id: toolCallId, name: toolName, arguments: argumentsText(input, raw) }
}

function itemOf({ item }: Own): JsonObject {
  return isObject(item) ? item : {}
}

/** A result as an item. `callType` is the type of its call, if known. */
function outputItem(
  part: ToolResultPart,
  callType: string | undefined,
  place: string,
  conversion: Conversion,
): { item: JsonObject; asFunction: JsonObject; onlyAsFunction: boolean } {
  const own = ownOf(part.providerOptions) ?? {}
  const written = typeof own.type === 'string' && OUTPUTS.has(own.type) ? own.type : undefined
  const type = written ?? CALLS.get(callType)?.output ?? 'function_call_output'
  const call_id = part.toolCallId
  const answered = typeof own.id === 'string' ? { id: own.id } : { call_id }
  const shown = shownOutput(part, type, own, place, conversion)
  const text = outputText(part.output)
  return {
    item: { type, ...answered, ...shown, ...itemOf(own) },
    asFunction: { type: 'function_call_output', call_id, output: text },
    onlyAsFunction: shown === undefined,
  }
}

/** Returns the output fields of a result of this type, or `undefined` if the output has no place there. */
function shownOutput(
  { output }: ToolResultPart,
  type: string,
  own: Own,
  place: string,
  conversion: Conversion,
): JsonObject | undefined {
  const text = outputText(output)
  switch (type) {
    case 'computer_call_output': {
      const screenshot = screenshotOf(output)
      return screenshot && { output: screenshot }
    }
    case 'local_shell_call_output':
      return { output: text }
    case 'shell_call_output': {
      const runs = output.type === 'json' && Array.isArray(output.value) ? output.value : undefined
      return { output: runs ?? [{ stdout: text, stderr: '', outcome: outcomeOf(isFailed(output)) }] }
    }
    case 'apply_patch_call_output': {
      const status = isFailed(output) ? 'failed' : 'completed'
      if (text !== '' || own.output === undefined) return { output: text, status }
      return own.output === null ? { output: null, status } : { status }
    }
    default:
      if (isFailed(output)) noteFailure(place, conversion)
      return { output: toAnswer(output, own.content, place, conversion) }
  }
}

function screenshotOf(output: ToolResultOutput): JsonObject | undefined {
  const [first] = output.type === 'content' ? output.value : []
  if (first?.type === 'provider') return keptPartOf(first.provider, first.data)
  if (first?.type !== 'image') return undefined
  const own = ownOf(first.providerOptions)?.part
  return { image_url: imagePart(first).image_url, ...(isObject(own) ? own : { type: 'computer_screenshot' }) }
}

function outcomeOf(failed: boolean): JsonObject {
  return { type: 'exit', exit_code: failed ? 1 : 0 }
}

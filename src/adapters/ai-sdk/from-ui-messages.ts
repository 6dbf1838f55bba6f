import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../core/errors.ts'
import { readable } from '../../core/messages/check.ts'
import { defined, isObject, type JsonObject } from '../../core/messages/json.ts'
import type {
  NewMessage,
  Part,
  ProviderPart,
  Role,
  ToolCallPart,
  ToolResultPart,
} from '../../core/messages/message.ts'
import { unreadableText } from '../../core/rendering/media.ts'
import { COMMON_MEDIA } from '../../core/tokens/providers.ts'
import { Conversion, type ConversionOptions, fileDataAt } from '../conversion.ts'
import { fields, flag, object, oneOf, optional, type Shape, text } from '../shapes.ts'
import { hasScheme, listAt, withoutUndefined } from '../wire.ts'
import {
  AI_SDK,
  jsonAt,
  keptOptions,
  keptPart,
  nonEmpty,
  opaquePart,
  otherFields,
  partAt,
  sdkOptions,
  sentOptions,
} from './fields.ts'
import { textFrom } from './model-messages.ts'
import { contentOf, markReasoned } from './prompt.ts'
import { deniedOutput, providerResult, type ReadOutput } from './tool-output.ts'
import type { SdkPart, UIMessageLike } from './types.ts'
import { derivedState, isToolPart, type Shown, type ShownTool, type UiRow, uiMetadata } from './ui-rows.ts'

/* Fields of parts that are checked; others are kept as they are. */
const messageShape = fields({ id: text, role: oneOf('system', 'user', 'assistant') })
const spokenPart = fields({ providerMetadata: sdkOptions, state: optional(oneOf('streaming', 'done')) })
const filePart = fields({
  url: text,
  mediaType: text,
  filename: optional(text),
  providerMetadata: sdkOptions,
})
const customPart = fields({ providerMetadata: sdkOptions, kind: text })
const reasoningFilePart = fields({ providerMetadata: sdkOptions, mediaType: text, url: text })
const dataPart = fields({ id: optional(text) })

/** Parts that models do not read in this form or role. */
const KEPT_PARTS: { readonly [type: string]: Shape } = {
  'source-url': fields({ sourceId: text, url: text }),
  'source-document': fields({ sourceId: text, mediaType: text, title: text }),
  reasoning: fields({ text }),
  'step-start': object,
  'steering-message': object,
  file: object,
}

/**
 * Converts messages of a chat (`UIMessage` of ai 5, 6 and 7) to the neutral form, ready to append. A user's message becomes one row, and
 * each step of an assistant's message a row with its texts and calls and a row with the results, as `convertToModelMessages` of the AI SDK
 * splits them.
 *
 * `metadata['ai-sdk'].ui` of each row has the id of its message and how its parts were shown, so that `toUIMessages` restores the messages.
 * Fields that are `undefined` count as absent, and values that are not JSON come back as JSON. Rows get no ids, because both versions of an
 * edited message have the same id.
 *
 * Throws `INVALID_INPUT`, which names the place and never quotes the text, for an invalid `UIMessage`; with `lenient`, an invalid part is
 * kept unread.
 */
export function fromUIMessages(
  messages: readonly UIMessageLike[],
  options?: ConversionOptions,
): NewMessage[] {
  return readable('fromUIMessages', () => {
    const conversion = new Conversion('ai-sdk UIMessage', options)
    return listAt(messages, 'messages').flatMap((message, index) => {
      conversion.at(index)
      const place = `[${index}]`
      const read = conversion.reading(message, place, () => rowsOfUIMessage(message, place, conversion))
      return Array.isArray(read)
        ? (read as NewMessage[])
        : [{ role: 'user' as const, content: [read as Part] }]
    })
  })
}

/** The rows of one message. Throws `INVALID_INPUT`. */
export function rowsOfUIMessage(message: unknown, place: string, conversion: Conversion): NewMessage[] {
  const { id, role } = messageShape(message, place)
  const { parts, ...others } = message as { readonly [field: string]: unknown }
  const list = listAt(parts, `${place}.parts`)
  const first = otherFields(others, ['id', 'role'], place, conversion)
  const reader = new RowReader(role, conversion)
  for (const [index, part] of list.entries()) reader.add(part, `${place}.parts[${index}]`)
  return reader.finish().map(({ role: speaker, content, parts: shown, steering }, index) => {
    const isPlain = shown.length === content.length && shown.every((part, at) => part === at)
    const row: UiRow = {
      id,
      ...(index === 0 && { first }),
      ...defined({ steering }),
      ...(speaker !== 'tool' && !isPlain && { parts: shown }),
    }
    const marked = markReasoned(content, shown.some(isCut))
    return { role: speaker, content: contentOf(marked), metadata: uiMetadata(row) }
  })
}

/** Whether streaming stopped in the middle of a part. */
function isCut(shown: Shown): boolean {
  if (typeof shown !== 'object') return false
  const fields = 'part' in shown ? shown.part : shown.fields
  return fields?.state === 'streaming'
}

type ReadRow = {
  readonly role: Role
  readonly content: Part[]
  readonly parts: Shown[]
  readonly steering?: string
}

/** Converts the parts of a message to rows, in order. */
class RowReader {
  readonly #role: Role
  readonly #conversion: Conversion
  readonly #rows: ReadRow[] = []
  #row: ReadRow
  /** Results and approvals of this step's calls. */
  #answers: Part[] = []
  /** The calls of this step without a result, by id: the index of each in `parts`, and its state. */
  #waiting = new Map<string, { readonly index: number; readonly state: string }>()

  constructor(role: Role, conversion: Conversion) {
    this.#role = role
    this.#conversion = conversion
    this.#row = { role, content: [], parts: [] }
  }

  /** Reads one part; with `lenient`, an invalid part is kept unread. */
  add(given: unknown, place: string): void {
    const unread = this.#conversion.reading(given, place, () => {
      this.#read(partAt(given, place), place)
      return undefined
    })
    if (unread !== undefined) this.#show(unread)
  }

  finish(): readonly ReadRow[] {
    this.#closeStep()
    const { content, parts } = this.#row
    if (parts.length > 0 || content.length > 0 || this.#rows.length === 0) this.#rows.push(this.#row)
    return this.#rows
  }

  #read(part: SdkPart, place: string): void {
    const { type } = part
    const isAssistant = this.#role === 'assistant'
    if (type === 'text' || (type === 'reasoning' && isAssistant)) this.#readText(part, place)
    else if (type === 'file') this.#readFile(part, place)
    else if (isToolPart(part)) this.#readTool(part, place)
    else if (type === 'step-start' && isAssistant) this.#startStep(part, place)
    else if (type === 'steering-message' && isAssistant) this.#readSteering(part, place)
    else if (type === 'custom' || type === 'reasoning-file') this.#keepForModels(part, place)
    else this.#keep(part, place)
  }

  #readText(part: SdkPart, place: string): void {
    const { providerMetadata, state } = spokenPart(part, place)
    const { type } = part
    // Streaming stopped in the middle of it, so its signature or item isn't valid.
    if (type === 'reasoning' && state === 'streaming') {
      this.#keep(part, place)
      return
    }
    const given = { type, text: part.text, ...defined({ providerOptions: providerMetadata }) }
    const read = textFrom(given, place, this.#role, this.#conversion)
    this.#show(read, this.#besides(part, read, ['type', 'text'], 'providerMetadata', place))
  }

  #readFile(part: SdkPart, place: string): void {
    const { url, mediaType, filename, providerMetadata } = filePart(part, place)
    const { providerReference } = part
    const type = 'file' as const
    const named = { mediaType, ...defined({ filename }) }
    if (isObject(providerReference)) {
      const data = { type: 'reference', reference: providerReference }
      this.#replace({ type, data, ...named }, part, place)
    } else if (hasScheme(url)) {
      const data = fileDataAt(url, `${place}.url`)
      const read = { type, data, ...named, ...keptOptions(providerMetadata) }
      const known = ['type', 'url', 'mediaType', 'filename']
      this.#show(read, this.#besides(part, read, known, 'providerMetadata', place))
    } else {
      // Only the chat's page can load a relative address, so models receive a text that mentions the file.
      const text = unreadableText({ type, data: url, ...named }, COMMON_MEDIA)
      if (text === undefined) this.#keep(part, place)
      else {
        this.#conversion.note('kept', place, 'models receive a text that mentions it')
        this.#instead(text, part, place)
      }
    }
  }

  #readTool(part: SdkPart, place: string): void {
    const { toolCallId, state, providerExecuted, callProviderMetadata } = checkToolPart(part, place)
    // A call whose arguments are still streamed is not complete.
    if (state === 'input-streaming' || this.#role !== 'assistant') {
      this.#keep(part, place)
      return
    }
    const toolName =
      part.type === 'dynamic-tool' ? (part.toolName as string) : part.type.slice('tool-'.length)
    // Arguments that the tool rejected are in `rawInput`.
    const input = part.input === undefined && state === 'output-error' ? part.rawInput : part.input
    const call: ToolCallPart = {
      type: 'tool-call',
      toolCallId,
      toolName,
      input: input === undefined ? {} : jsonAt(input, `${place}.input`, this.#conversion),
      ...defined({ providerExecuted }),
      ...keptOptions(callProviderMetadata),
    }
    const { request, response, more } = this.#readApproval(part, place)
    // A denied call of a provider's own tool has no result.
    const hasResult =
      state === 'output-available' ||
      state === 'output-error' ||
      (state === 'output-denied' && providerExecuted !== true)
    const result = hasResult ? this.#readResult(part, { toolCallId, toolName }, place) : undefined
    const derived = derivedState({ hasRequest: request !== undefined, response, result })
    const known = hasResult ? [...CALL_FIELDS, ...RESULT_FIELDS] : CALL_FIELDS

    this.#keepState(toolCallId)
    this.#show(call, {
      ...this.#besides(part, call, known, 'callProviderMetadata', place),
      ...(part.type === 'dynamic-tool' && { dynamic: true }),
      ...(derived !== state && { state }),
      ...(part.input === undefined && { noInput: true }),
      ...nonEmpty({ approval: more }),
    })
    if (request !== undefined) this.#row.content.push(request)
    if (response !== undefined) this.#answers.push(response)
    if (result === undefined) this.#waiting.set(toolCallId, { index: this.#row.parts.length - 1, state })
    else (providerExecuted === true ? this.#row.content : this.#answers).push(result)
  }

  /** Reads an approval request and its response as models receive them. `more` has the fields without a place in them. */
  #readApproval(
    { approval, toolCallId, providerExecuted }: SdkPart,
    place: string,
  ): { readonly request?: ProviderPart; readonly response?: ProviderPart; readonly more: JsonObject } {
    if (!isObject(approval)) return { more: {} }
    const fields = otherFields(approval, ['id', 'approved'], `${place}.approval`, this.#conversion)
    const { signature, inputSchemaInput, isAutomatic, requestReason, reason, ...more } = fields
    const { id: approvalId, approved } = approval
    const asked = { approvalId, toolCallId, signature, inputSchemaInput, isAutomatic, reason: requestReason }
    const request = opaquePart({ type: 'tool-approval-request', ...defined(asked) }, AI_SDK)
    if (typeof approved !== 'boolean') return { request, more: { ...more, ...defined({ reason }) } }
    const answer = defined({ approvalId, approved, reason, providerExecuted })
    return { request, response: opaquePart({ type: 'tool-approval-response', ...answer }, AI_SDK), more }
  }

  /** Reads a result as a model receives it. Source: `convertToModelMessages` of ai 6, for a tool without `toModelOutput`. */
  #readResult(
    part: SdkPart,
    ids: { readonly toolCallId: string; readonly toolName: string },
    place: string,
  ): ToolResultPart {
    const { state, preliminary, resultProviderMetadata, callProviderMetadata } = part
    const ui: JsonObject = {
      ...otherFields({ preliminary, resultProviderMetadata }, [], place, this.#conversion),
      ...(state === 'output-available' && part.output === undefined && { noOutput: true }),
    }
    const { output, own } = this.#readOutput(part, place)
    const kept = keptOptions(resultProviderMetadata ?? callProviderMetadata, { ...own, ...nonEmpty({ ui }) })
    return { type: 'tool-result', ...ids, output, ...kept }
  }

  #readOutput(part: SdkPart, place: string): ReadOutput {
    const { state, approval, providerExecuted, errorText, output } = part
    if (state === 'output-denied') return deniedOutput((approval as { readonly reason?: unknown }).reason)
    if (state === 'output-error') {
      const type = providerExecuted === true ? 'error-json' : 'error-text'
      return { output: { type, value: errorText as string }, own: {} }
    }
    const value = output === undefined ? null : jsonAt(output, `${place}.output`, this.#conversion)
    return { output: providerResult(value, false), own: {} }
  }

  /** Records the state of an earlier call with this id, so that it does not get the result of the later one. */
  #keepState(id: string): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    const { index, state } = waiting
    const shown = this.#row.parts[index] as number | ShownTool
    this.#row.parts[index] = { ...(typeof shown === 'number' ? { at: shown } : shown), state }
  }

  #startStep(part: SdkPart, place: string): void {
    this.#closeStep()
    const json = jsonAt(part, place, this.#conversion) as JsonObject
    this.#row.parts.push(Object.keys(json).length === 1 ? 'step-start' : { part: json })
  }

  /** A user's message between two steps (ai 7). */
  #readSteering(part: SdkPart, place: string): void {
    this.#closeStep()
    if (this.#row.parts.length > 0) this.#rows.push(this.#row)
    const steering = text(part.id, `${place}.id`)
    const reader = new RowReader('user', this.#conversion)
    for (const [index, inner] of listAt(part.parts, `${place}.parts`).entries())
      reader.add(inner, `${place}.parts[${index}]`)
    const [row] = reader.finish()
    this.#rows.push({ ...row!, steering })
    this.#row = { role: 'assistant', content: [], parts: [] }
  }

  /** Keeps a part that models do not read in this form. */
  #keep(part: SdkPart, place: string): void {
    const shape = Object.hasOwn(KEPT_PARTS, part.type) ? KEPT_PARTS[part.type] : undefined
    if (shape !== undefined) shape(part, place)
    else if (part.type.startsWith('data-')) dataPart(part, place)
    else if (!isToolPart(part)) throw invalid(`${place}.type: must be the type of a UIMessage part`)
    this.#conversion.note('kept', place, "models don't receive it; it is kept in the metadata of its message")
    this.#row.parts.push({ part: jsonAt(part, place, this.#conversion) as JsonObject })
  }

  /** Parts of ai 7 that models receive as separate parts. */
  #keepForModels(part: SdkPart, place: string): void {
    const { type } = part
    if (type === 'custom') {
      this.#replace({ type, kind: customPart(part, place).kind }, part, place)
      return
    }
    const { mediaType, url } = reasoningFilePart(part, place)
    if (!URL.canParse(url)) throw invalid(`${place}.url: must be a URL`)
    this.#replace({ type, data: { type: 'url', url: new URL(url) }, mediaType }, part, place)
  }

  /** Keeps a part that only the AI SDK knows, with the part that models receive instead. */
  #replace(forModels: SdkPart, part: SdkPart, place: string): void {
    const sent = { ...forModels, ...defined({ providerOptions: part.providerMetadata }) }
    this.#instead(keptPart(sent, place, this.#conversion), part, place)
  }

  /** Keeps a part as it is shown, with the part that models receive instead. */
  #instead(forModels: Part, part: SdkPart, place: string): void {
    const at = this.#row.content.push(forModels) - 1
    this.#row.parts.push({ part: jsonAt(part, place, this.#conversion) as JsonObject, at })
  }

  /** Unknown fields of a part, and its options if the stored part would not restore them. */
  #besides(
    part: SdkPart,
    read: Part,
    known: readonly string[],
    options: 'providerMetadata' | 'callProviderMetadata',
    place: string,
  ): { readonly fields?: JsonObject } {
    const isExact =
      read.type === 'provider' ||
      isDeepStrictEqual(sentOptions(read.providerOptions).providerOptions, withoutUndefined(part[options]))
    const all = isExact ? [...known, options] : known
    return nonEmpty({ fields: otherFields(part, all, place, this.#conversion) })
  }

  #show(part: Part, besides: Omit<ShownTool, 'at'> = {}): void {
    const at = this.#row.content.push(part) - 1
    this.#row.parts.push(Object.keys(besides).length === 0 ? at : { ...besides, at })
  }

  /** Ends a step. A step without parts for models joins the row of the previous step, or of the next one. */
  #closeStep(): void {
    const { content, parts } = this.#row
    const before = this.#rows.findLast(({ role }) => role !== 'tool')
    if (content.length > 0) {
      this.#rows.push(this.#row)
      if (this.#answers.length > 0) this.#rows.push({ role: 'tool', content: this.#answers, parts: [] })
    } else if (before?.role === 'assistant') for (const part of parts) before.parts.push(part)
    else return
    this.#row = { role: this.#role, content: [], parts: [] }
    this.#answers = []
    this.#waiting = new Map()
  }
}

/** States of a tool's part, in the order a call goes through them. */
const STATES = [
  'input-streaming',
  'input-available',
  'approval-requested',
  'approval-responded',
  'output-available',
  'output-error',
  'output-denied',
]

/** Fields of a call, and fields of a result. If there is no result, its fields are kept as unknown fields. */
const CALL_FIELDS = ['type', 'toolName', 'toolCallId', 'state', 'input', 'providerExecuted', 'approval']
const RESULT_FIELDS = ['output', 'errorText', 'resultProviderMetadata', 'preliminary']

const toolPart = fields({
  toolCallId: text,
  state: oneOf(...STATES),
  providerExecuted: optional(flag),
  callProviderMetadata: sdkOptions,
})

/** Returns a tool's part after checking it. Throws `INVALID_INPUT`. */
function checkToolPart(part: SdkPart, place: string) {
  if (part.type === 'dynamic-tool') text(part.toolName, `${place}.toolName`)
  const checked = toolPart(part, place)
  const { state } = checked
  if (state === 'output-error') text(part.errorText, `${place}.errorText`)
  const mustHave = state === 'output-denied' || state.startsWith('approval-')
  if (part.approval === undefined && !mustHave) return checked
  const isAnswered = state === 'approval-responded' || state === 'output-denied'
  fields({ id: text, approved: isAnswered ? flag : optional(flag) })(part.approval, `${place}.approval`)
  return checked
}

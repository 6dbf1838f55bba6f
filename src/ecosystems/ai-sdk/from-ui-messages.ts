import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import { defined } from '../../messages/defined.ts'
import { isObject, type JsonObject } from '../../messages/json.ts'
import type {
  NewMessage,
  Part,
  ProviderPart,
  Role,
  ToolCallPart,
  ToolResultOutput,
  ToolResultPart,
} from '../../messages/message.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { listAt, stringAt, withoutUndefined } from '../wire.ts'
import {
  AI_SDK,
  addressOrBase64At,
  checkFields,
  checkOneOf,
  hasScheme,
  jsonAt,
  keptOptions,
  keptPart,
  nonEmpty,
  opaquePart,
  otherFields,
  partAt,
  type Rules,
  sentOptions,
} from './fields.ts'
import { textFrom } from './model-messages.ts'
import { contentOf, markReasoned } from './prompt.ts'
import { deniedOutput } from './tool-output.ts'
import type { SdkPart, UIMessageLike } from './types.ts'
import { derivedState, isToolPart, type Shown, type ShownTool, type UiRow, uiMetadata } from './ui-rows.ts'

/** Fields of parts that models do not read, or not in this form and role. */
const KEPT_PARTS: { readonly [type: string]: Rules } = {
  'source-url': { sourceId: 'string', url: 'string' },
  'source-document': { sourceId: 'string', mediaType: 'string', title: 'string' },
  reasoning: { text: 'string' },
  'step-start': {},
  'steering-message': {},
  file: {},
}

/**
 * Messages of a chat (`UIMessage` of ai 5, 6 and 7) in the neutral form, ready to be appended. A user's message is one row; an
 * assistant's is, for each step, a row with its texts and calls and a row with the results, as `convertToModelMessages` of the AI SDK
 * splits them: so models, pairing, pruning and figures see calls and results.
 *
 * All rows of a message name its id in `metadata['ai-sdk'].ui`, which also keeps how its parts were shown: order, states, titles, sources,
 * data, metadata. `toUIMessages` restores what was read. A field that is `undefined` counts as absent, and values that are not JSON come
 * back as JSON. Rows get no ids: an edited message keeps its own, and both versions are in the log.
 *
 * Throws `INVALID_INPUT`, with the place and without the text, for an invalid `UIMessage`; with `lenient` an invalid part is kept unread.
 */
export function fromUIMessages(
  messages: readonly UIMessageLike[],
  options?: ConversionOptions,
): NewMessage[] {
  const conversion = new Conversion('ai-sdk UIMessage', options)
  return listAt(messages, 'messages').flatMap((message, index) => {
    conversion.at(index)
    const place = `[${index}]`
    const read = conversion.reading(message, place, () => rowsOfUIMessage(message, place, conversion))
    return Array.isArray(read) ? (read as NewMessage[]) : [{ role: 'user' as const, content: [read as Part] }]
  })
}

/** The rows of one message. Throws `INVALID_INPUT`. */
export function rowsOfUIMessage(message: unknown, place: string, conversion: Conversion): NewMessage[] {
  if (!isObject(message)) throw invalid(`${place}: must be an object`)
  const id = stringAt(message.id, `${place}.id`)
  const { role } = message
  if (role !== 'system' && role !== 'user' && role !== 'assistant')
    throw invalid(`${place}.role: must be system, user or assistant`)
  const parts = listAt(message.parts, `${place}.parts`)
  const first = otherFields(message, ['id', 'role', 'parts'], place, conversion)
  const reader = new RowReader(role, conversion)
  for (const [index, part] of parts.entries()) reader.add(part, `${place}.parts[${index}]`)
  return reader.finish().map(({ role: speaker, content, parts: shown, steering }, index) => {
    const isPlain = shown.length === content.length && shown.every((part, at) => part === at)
    const row: UiRow = {
      id,
      ...(index === 0 && { first }),
      ...defined({ steering }),
      ...(speaker !== 'tool' && !isPlain && { parts: shown }),
    }
    return { role: speaker, content: contentOf(markReasoned(content)), metadata: uiMetadata(row) }
  })
}

/** A row in the making. */
type ReadRow = {
  readonly role: Role
  readonly content: Part[]
  readonly parts: Shown[]
  readonly steering?: string
}

/** Makes rows of the parts of a message, in order. */
class RowReader {
  readonly #role: Role
  readonly #conversion: Conversion
  readonly #rows: ReadRow[] = []
  #row: ReadRow
  /** Results and approvals of this step's calls. */
  #answers: Part[] = []
  /** The calls of this step without a result, by their ids: the index of each in `parts`, and its state. */
  #waiting = new Map<string, readonly [shown: number, state: string]>()

  constructor(role: Role, conversion: Conversion) {
    this.#role = role
    this.#conversion = conversion
    this.#row = { role, content: [], parts: [] }
  }

  /** Reads one part; with `lenient` an invalid one is kept unread. */
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
    checkFields(part, { providerMetadata: 'options?' }, place)
    if (part.state !== undefined) checkOneOf(part.state, ['streaming', 'done'], `${place}.state`)
    const { type, text, providerMetadata } = part
    const given = { type, text, ...defined({ providerOptions: providerMetadata }) }
    const read = textFrom(given, place, this.#role, this.#conversion)
    const kept = read.type === 'provider' ? providerMetadata : sentMetadata(read)
    this.#show(read, this.#besides(part, ['type', 'text'], kept, place))
  }

  #readFile(part: SdkPart, place: string): void {
    checkFields(
      part,
      { url: 'string', mediaType: 'string', filename: 'string?', providerMetadata: 'options?' },
      place,
    )
    const { url, mediaType, filename, providerMetadata } = part as {
      readonly url?: string
      readonly mediaType?: string
      readonly filename?: string
      readonly providerMetadata?: unknown
    }
    const { providerReference: reference } = part
    const named = defined({ filename })
    if (isObject(reference)) {
      const data = { type: 'reference', reference }
      this.#replace({ type: 'file', data, mediaType, ...named }, part, place)
    } else if (hasScheme(url!)) {
      const data = addressOrBase64At(url!, `${place}.url`)
      const type = 'file' as const
      const read = { type, data, mediaType: mediaType!, ...named, ...keptOptions(providerMetadata) }
      const known = ['type', 'url', 'mediaType', 'filename']
      this.#show(read, this.#besides(part, known, sentMetadata(read), place))
      // A relative address means nothing without its page.
    } else this.#keep(part, place)
  }

  #readTool(part: SdkPart, place: string): void {
    checkToolPart(part, place)
    // Arguments that are still streamed are no call yet.
    if (part.state === 'input-streaming' || this.#role !== 'assistant') {
      this.#keep(part, place)
      return
    }
    const { call, shown, request, response, result } = toolFrom(part, place, this.#conversion)
    this.#keepState(call.toolCallId)
    this.#show(call, shown)
    if (result === undefined)
      this.#waiting.set(call.toolCallId, [this.#row.parts.length - 1, part.state as string])
    if (request !== undefined) this.#row.content.push(request)
    if (response !== undefined) this.#answers.push(response)
    if (result !== undefined)
      (call.providerExecuted === true ? this.#row.content : this.#answers).push(result)
  }

  /** Keeps the state of an earlier call with this id, so that the result of the later one is not taken for its own. */
  #keepState(id: string): void {
    const [index, state] = this.#waiting.get(id) ?? []
    if (index === undefined || state === undefined) return
    const shown = this.#row.parts[index]!
    this.#row.parts[index] =
      typeof shown === 'number' ? { at: shown, state } : ({ ...(shown as ShownTool), state } as ShownTool)
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
    const steering = stringAt(part.id, `${place}.id`)
    const reader = new RowReader('user', this.#conversion)
    for (const [index, inner] of listAt(part.parts, `${place}.parts`).entries())
      reader.add(inner, `${place}.parts[${index}]`)
    const [row] = reader.finish()
    this.#rows.push({ ...row!, steering })
    this.#row = { role: 'assistant', content: [], parts: [] }
  }

  /** A part that models do not read, or not in this form. */
  #keep(part: SdkPart, place: string): void {
    const rules = Object.hasOwn(KEPT_PARTS, part.type) ? KEPT_PARTS[part.type] : undefined
    if (rules !== undefined) checkFields(part, rules, place)
    else if (part.type.startsWith('data-')) checkFields(part, { id: 'string?' }, place)
    else if (!isToolPart(part)) throw invalid(`${place}.type: must be that of a part of a UIMessage`)
    this.#conversion.note('kept', place, 'models do not read it; it is kept in the metadata of its message')
    this.#row.parts.push({ part: jsonAt(part, place, this.#conversion) as JsonObject })
  }

  /** Parts of ai 7 that models get as parts of their own. */
  #keepForModels(part: SdkPart, place: string): void {
    const { type, kind, mediaType, url } = part
    checkFields(part, { providerMetadata: 'options?' }, place)
    if (type === 'custom') {
      checkFields(part, { kind: 'string' }, place)
      this.#replace({ type, kind }, part, place)
      return
    }
    checkFields(part, { mediaType: 'string', url: 'string' }, place)
    if (!URL.canParse(url as string)) throw invalid(`${place}.url: must be an address`)
    this.#replace({ type, data: { type: 'url', url: new URL(url as string) }, mediaType }, part, place)
  }

  /** A part only the AI SDK knows, with the part that a model gets in its place. */
  #replace(forModels: SdkPart, part: SdkPart, place: string): void {
    const sent = { ...forModels, ...defined({ providerOptions: part.providerMetadata }) }
    const at = this.#row.content.push(keptPart(sent, place, this.#conversion)) - 1
    this.#row.parts.push({ part: jsonAt(part, place, this.#conversion) as JsonObject, at })
  }

  /** Unknown fields of a part, and options that do not come back as they were. */
  #besides(
    part: SdkPart,
    known: readonly string[],
    kept: unknown,
    place: string,
  ): { readonly fields?: JsonObject } {
    const isExact = isDeepStrictEqual(kept, withoutUndefined(part.providerMetadata))
    const read = isExact ? [...known, 'providerMetadata'] : known
    return nonEmpty({ fields: otherFields(part, read, place, this.#conversion) })
  }

  #show(part: Part, besides: Omit<ShownTool, 'at'> = {}): void {
    const at = this.#row.content.push(part) - 1
    this.#row.parts.push(Object.keys(besides).length === 0 ? at : { ...besides, at })
  }

  /** Ends a step. One without parts for models joins the row of the step before, or the next one. */
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

function sentMetadata(part: Exclude<Part, { readonly type: 'provider' }>): unknown {
  return sentOptions(part.providerOptions).providerOptions
}

/* A tool's part in a message of a chat holds a call, its approval and its result; for models these are parts of their own. */

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

function toolNameOf({ type, toolName }: SdkPart): string {
  return type === 'dynamic-tool' ? (toolName as string) : type.slice('tool-'.length)
}

/** A tool's part as models read it, and how it was shown. */
type ToolRead = {
  readonly call: ToolCallPart
  readonly shown: Omit<ShownTool, 'at'>
  readonly request?: ProviderPart
  readonly response?: ProviderPart
  readonly result?: ToolResultPart
}

/** Checks what every tool's part has, whatever its state. Throws `INVALID_INPUT`. */
export function checkToolPart(part: SdkPart, place: string): void {
  if (part.type === 'dynamic-tool') checkFields(part, { toolName: 'string' }, place)
  checkFields(part, { toolCallId: 'string' }, place)
  checkOneOf(part.state, STATES, `${place}.state`)
  checkFields(part, { providerExecuted: 'boolean?', callProviderMetadata: 'options?' }, place)
  const { state, approval } = part
  if (state === 'output-error') checkFields(part, { errorText: 'string' }, place)
  const mustHave = state === 'output-denied' || (state as string).startsWith('approval-')
  if (approval === undefined && !mustHave) return
  if (!isObject(approval)) throw invalid(`${place}.approval: must be an object`)
  const isAnswered = state === 'approval-responded' || state === 'output-denied'
  checkFields(approval, { id: 'string', approved: isAnswered ? 'boolean' : 'boolean?' }, `${place}.approval`)
}

/** A checked tool's part in the neutral form. */
export function toolFrom(part: SdkPart, place: string, conversion: Conversion): ToolRead {
  const { toolCallId, state, providerExecuted: ran, callProviderMetadata } = part
  // Arguments that a tool refused are the model's own.
  const input = part.input === undefined && state === 'output-error' ? part.rawInput : part.input
  const call: ToolCallPart = {
    type: 'tool-call',
    toolCallId: toolCallId as string,
    toolName: toolNameOf(part),
    input: input === undefined ? {} : jsonAt(input, `${place}.input`, conversion),
    ...(typeof ran === 'boolean' && { providerExecuted: ran }),
    ...keptOptions(callProviderMetadata),
  }
  const { request, response, more } = approvalFrom(part, place, conversion)
  const result = resultFrom(part, place, conversion)
  const derived = derivedState({ hasRequest: request !== undefined, response, result })
  return {
    call,
    ...defined({ request, response, result }),
    shown: {
      ...nonEmpty({ fields: fieldsOf(part, call, place, conversion) }),
      ...(part.type === 'dynamic-tool' && { dynamic: true }),
      ...(derived !== state && { state: state as string }),
      ...(part.input === undefined && { noInput: true }),
      ...nonEmpty({ approval: more }),
    },
  }
}

const CALL_FIELDS = [
  'type',
  'toolName',
  'toolCallId',
  'state',
  'input',
  'providerExecuted',
  'callProviderMetadata',
  'approval',
]

const RESULT_FIELDS = ['output', 'errorText', 'resultProviderMetadata', 'preliminary']

/** The fields besides the call; of a call without a result also those that only results have. */
function fieldsOf(part: SdkPart, call: ToolCallPart, place: string, conversion: Conversion): JsonObject {
  const { callProviderMetadata: given } = part
  const isExact = isDeepStrictEqual(
    sentOptions(call.providerOptions).providerOptions,
    withoutUndefined(given),
  )
  const known = hasResult(part) ? [...CALL_FIELDS, ...RESULT_FIELDS] : CALL_FIELDS
  const others = otherFields(part, known, place, conversion)
  if (isExact) return others
  return { ...others, callProviderMetadata: jsonAt(given, `${place}.callProviderMetadata`, conversion) }
}

function hasResult({ state, providerExecuted }: SdkPart): boolean {
  if (state === 'output-denied') return providerExecuted !== true
  return state === 'output-available' || state === 'output-error'
}

/** The request for approval and the answer to it, as messages for models have them, and `more` for what these have no place for. */
function approvalFrom(
  part: SdkPart,
  place: string,
  conversion: Conversion,
): { readonly request?: ProviderPart; readonly response?: ProviderPart; readonly more: JsonObject } {
  if (!isObject(part.approval)) return { more: {} }
  const { approval, toolCallId, providerExecuted } = part
  const fields = otherFields(approval, ['id', 'approved'], `${place}.approval`, conversion)
  const { signature, inputSchemaInput, isAutomatic, requestReason, reason, ...more } = fields
  const { id: approvalId, approved } = approval
  const asked = { signature, inputSchemaInput, isAutomatic, reason: requestReason }
  const request = approvalPart('tool-approval-request', { approvalId, toolCallId, ...asked })
  if (typeof approved !== 'boolean') return { request, more: { ...more, ...defined({ reason }) } }
  const ran = typeof providerExecuted === 'boolean' ? providerExecuted : undefined
  const answer = { approvalId, approved, reason, providerExecuted: ran }
  return { request, response: approvalPart('tool-approval-response', answer), more }
}

function approvalPart(type: string, fields: object): ProviderPart {
  return opaquePart({ type, ...defined(fields) }, AI_SDK)
}

function resultFrom(part: SdkPart, place: string, conversion: Conversion): ToolResultPart | undefined {
  if (!hasResult(part)) return undefined
  const { preliminary, resultProviderMetadata, callProviderMetadata, state } = part
  const { output, own } = outputFrom(part, place, conversion)
  const ui: JsonObject = {
    ...otherFields({ preliminary, resultProviderMetadata }, [], place, conversion),
    ...(state === 'output-available' && part.output === undefined && { noOutput: true }),
  }
  return {
    type: 'tool-result',
    toolCallId: part.toolCallId as string,
    toolName: toolNameOf(part),
    output,
    ...keptOptions(resultProviderMetadata ?? callProviderMetadata, { ...own, ...nonEmpty({ ui }) }),
  }
}

/** A result as a model reads it. Source: `convertToModelMessages` of ai 6, for a tool without `toModelOutput`. */
function outputFrom(
  part: SdkPart,
  place: string,
  conversion: Conversion,
): { readonly output: ToolResultOutput; readonly own: JsonObject } {
  if (part.state === 'output-error') {
    const value = part.errorText as string
    return { output: { type: part.providerExecuted === true ? 'error-json' : 'error-text', value }, own: {} }
  }
  if (part.state === 'output-denied') return deniedOutput((part.approval as { reason?: unknown }).reason)
  if (typeof part.output === 'string') return { output: { type: 'text', value: part.output }, own: {} }
  const value = part.output === undefined ? null : jsonAt(part.output, `${place}.output`, conversion)
  return { output: { type: 'json', value }, own: {} }
}

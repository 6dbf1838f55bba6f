import { isDeepStrictEqual } from 'node:util'
import { invalid } from '../../errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import type { NewMessage, Part, Role } from '../../messages/message.ts'
import { Conversion, type ConversionOptions } from '../conversion.ts'
import { isObject, listAt, stringAt, withoutUndefined } from '../wire.ts'
import {
  addressOrBase64At,
  hasScheme,
  jsonAt,
  keptOptions,
  oneOfAt,
  optionalStringAt,
  optionsAt,
  otherFields,
  partAt,
  sentOptions,
} from './fields.ts'
import { keptPart } from './media.ts'
import { saidFrom } from './model-messages.ts'
import { contentOf, markReasoned } from './parts.ts'
import type { SdkPart, UIMessageLike } from './types.ts'
import { type Shown, type UiRow, uiMetadata, worthKeeping } from './ui-rows.ts'
import { checkToolPart, isToolPart, toolFrom } from './ui-tools.ts'

/** A row as it is made of the parts of a message. */
type ReadRow = {
  readonly role: Role
  readonly content: Part[]
  readonly parts: Shown[]
  readonly steering?: string
}

/** Makes rows of the parts of a message, in order. */
export class RowReader {
  readonly #role: Role
  readonly #conversion: Conversion
  readonly #rows: ReadRow[] = []
  #row: ReadRow
  /** What came of the calls of this step. */
  #answers: Part[] = []
  /** The calls of this step without a result, by their ids: where each is shown, and its state. */
  #waiting = new Map<string, readonly [shown: number, state: string]>()

  constructor(role: Role, conversion: Conversion) {
    this.#role = role
    this.#conversion = conversion
    this.#row = { role, content: [], parts: [] }
  }

  /** Reads one part; one that cannot be is kept unread with `lenient`. */
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
    if (part.type === 'text' || (part.type === 'reasoning' && this.#role === 'assistant'))
      this.#readSaid(part, place)
    else if (part.type === 'file') this.#readFile(part, place)
    else if (isToolPart(part)) this.#readTool(part, place)
    else if (part.type === 'step-start' && this.#role === 'assistant') this.#startStep(part, place)
    else if (part.type === 'steering-message' && this.#role === 'assistant') this.#readSteering(part, place)
    else this.#keep(part, place)
  }

  #readSaid(part: SdkPart, place: string): void {
    optionsAt(part.providerMetadata, `${place}.providerMetadata`)
    if (part.state !== undefined) oneOfAt(part.state, ['streaming', 'done'], `${place}.state`)
    const { type, text, providerMetadata } = part
    const said = { type, text, ...(isObject(providerMetadata) && { providerOptions: providerMetadata }) }
    const read = saidFrom(said, place, this.#role, this.#conversion)
    const kept = read.type === 'provider' ? providerMetadata : sentMetadata(read)
    this.#show(read, this.#besides(part, ['type', 'text'], kept, place))
  }

  #readFile(part: SdkPart, place: string): void {
    const url = stringAt(part.url, `${place}.url`)
    const mediaType = stringAt(part.mediaType, `${place}.mediaType`)
    const filename = optionalStringAt(part.filename, `${place}.filename`)
    optionsAt(part.providerMetadata, `${place}.providerMetadata`)
    const { providerReference: reference, providerMetadata } = part
    const named = filename === undefined ? {} : { filename }
    if (isObject(reference)) {
      const data = { type: 'reference', reference }
      const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata }
      this.#stand({ type: 'file', data, mediaType, ...named, ...options }, part, place)
    } else if (hasScheme(url)) {
      const data = addressOrBase64At(url, `${place}.url`)
      const read = { type: 'file' as const, data, mediaType, ...named, ...keptOptions(providerMetadata) }
      const known = ['type', 'url', 'mediaType', 'filename']
      this.#show(read, this.#besides(part, known, sentMetadata(read), place))
      // Where it is cannot be said without the page it was shown on.
    } else this.#keep(part, place)
  }

  #readTool(part: SdkPart, place: string): void {
    checkToolPart(part, place)
    // Arguments that still come are no call yet.
    if (part.state === 'input-streaming' || this.#role !== 'assistant') {
      this.#keep(part, place)
      return
    }
    const { call, shown, request, response, result } = toolFrom(part, place, this.#conversion)
    this.#tellApart(call.toolCallId)
    this.#show(call, shown)
    if (result === undefined)
      this.#waiting.set(call.toolCallId, [this.#row.parts.length - 1, part.state as string])
    if (request !== undefined) this.#row.content.push(request)
    if (result !== undefined && call.providerExecuted === true) this.#row.content.push(result)
    if (response !== undefined) this.#answers.push(response)
    if (result !== undefined && call.providerExecuted !== true) this.#answers.push(result)
  }

  /** Of two calls with one id, a result must not go to the one that has none: its state says so. */
  #tellApart(id: string): void {
    const [index, state] = this.#waiting.get(id) ?? []
    if (index === undefined || state === undefined) return
    const shown = this.#row.parts[index]!
    this.#row.parts[index] =
      typeof shown === 'number' ? { at: shown, state } : ({ ...(shown as object), state } as Shown)
  }

  #startStep(part: SdkPart, place: string): void {
    this.#closeStep()
    const json = jsonAt(part, place, this.#conversion) as JsonObject
    this.#row.parts.push(Object.keys(json).length === 1 ? 'step-start' : { part: json })
  }

  /** What a user said between two steps: ai 7. */
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

  /** Something models do not read, or not in this form. */
  #keep(part: SdkPart, place: string): void {
    if (part.type === 'custom' || part.type === 'reasoning-file') this.#keepForModels(part, place)
    else {
      checkKept(part, place)
      this.#conversion.note('kept', place, 'models do not read it; it stands in the metadata of its message')
      this.#row.parts.push({ part: jsonAt(part, place, this.#conversion) as JsonObject })
    }
  }

  /** Parts of ai 7 that models get as parts of their own. */
  #keepForModels(part: SdkPart, place: string): void {
    optionsAt(part.providerMetadata, `${place}.providerMetadata`)
    const { providerMetadata } = part
    const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata }
    if (part.type === 'custom') {
      const kind = stringAt(part.kind, `${place}.kind`)
      this.#stand({ type: 'custom', kind, ...options }, part, place)
      return
    }
    const mediaType = stringAt(part.mediaType, `${place}.mediaType`)
    const url = stringAt(part.url, `${place}.url`)
    const data = URL.canParse(url) ? { type: 'url', url: new URL(url) } : undefined
    if (data === undefined) throw invalid(`${place}.url: must be an address`)
    this.#stand({ type: 'reasoning-file', data, mediaType, ...options }, part, place)
  }

  /** A part of which only the AI SDK knows, with what a model gets in its place. */
  #stand(forModels: SdkPart, part: SdkPart, place: string): void {
    const at = this.#row.content.push(keptPart(forModels, place, this.#conversion)) - 1
    this.#row.parts.push({ part: jsonAt(part, place, this.#conversion) as JsonObject, at })
  }

  /** What stands beside what was read: unknown fields, and options that do not come back as they were. */
  #besides(
    part: SdkPart,
    known: readonly string[],
    kept: unknown,
    place: string,
  ): { readonly fields?: JsonObject } {
    const { providerMetadata: given } = part
    const isExact = isDeepStrictEqual(kept, withoutUndefined(given))
    const fields = otherFields(
      part,
      isExact ? [...known, 'providerMetadata'] : known,
      place,
      this.#conversion,
    )
    return Object.keys(fields).length === 0 ? {} : { fields }
  }

  #show(part: Part, besides: Omit<Extract<Shown, { at: number; part?: never }>, 'at'> | object = {}): void {
    const at = this.#row.content.push(part) - 1
    this.#row.parts.push(Object.keys(besides).length === 0 ? at : { ...besides, at })
  }

  /** Ends a step. One that says nothing to models joins the row of the step before, or the one that comes. */
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

/** What must be there of parts that models do not read, and that there is such a part. */
function checkKept(part: SdkPart, place: string): void {
  switch (part.type) {
    case 'source-url':
      stringAt(part.sourceId, `${place}.sourceId`)
      stringAt(part.url, `${place}.url`)
      return
    case 'source-document':
      stringAt(part.sourceId, `${place}.sourceId`)
      stringAt(part.mediaType, `${place}.mediaType`)
      stringAt(part.title, `${place}.title`)
      return
    case 'reasoning':
      stringAt(part.text, `${place}.text`)
      return
    case 'step-start':
    case 'steering-message':
    case 'file':
      return
    default:
      if (part.type.startsWith('data-')) optionalStringAt(part.id, `${place}.id`)
      else if (!isToolPart(part)) throw invalid(`${place}.type: must be that of a part of a UIMessage`)
  }
}

/**
 * Messages of a chat (`UIMessage` of ai 5, 6 and 7) in the neutral form, ready to be appended. What a user says is one row; what an
 * assistant says is, for each step, a row with its texts and calls and a row with the results, as `convertToModelMessages` of the AI SDK
 * parts them: so models, pairing, pruning and figures see calls and results.
 *
 * All rows of a message name its id in `metadata['ai-sdk'].ui`, which also keeps how its parts were shown: order, states, titles, sources,
 * data, metadata. `toUIMessages` gives back what was read. A field that is `undefined` counts as absent, and values JSON cannot say come
 * back as JSON says them. Rows get no ids: a message that is edited keeps its own, and both versions stand in the log.
 *
 * Throws `INVALID_INPUT`, with the place and without the text, for what a `UIMessage` cannot be; with `lenient` such a part is kept unread.
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
export function rowsOfUIMessage(given: unknown, place: string, conversion: Conversion): NewMessage[] {
  if (!isObject(given)) throw invalid(`${place}: must be an object`)
  const message = given as { readonly [field: string]: unknown }
  const id = stringAt(message.id, `${place}.id`)
  const { role } = message
  if (role !== 'system' && role !== 'user' && role !== 'assistant')
    throw invalid(`${place}.role: must be system, user or assistant`)
  const parts = listAt(message.parts, `${place}.parts`)
  const first = otherFields(message, ['id', 'role', 'parts'], place, conversion)
  const reader = new RowReader(role, conversion)
  for (const [index, part] of parts.entries()) reader.add(part, `${place}.parts[${index}]`)
  return reader.finish().map(({ role: speaker, content, parts: shown, steering }, index) => {
    const row: UiRow = {
      id,
      ...(index === 0 && { first }),
      ...(steering !== undefined && { steering }),
      ...(speaker !== 'tool' && worthKeeping(shown, content.length)),
    }
    return { role: speaker, content: contentOf(markReasoned(content)), metadata: uiMetadata(row) }
  })
}

import { createHash } from 'node:crypto'
import { detectFormat } from '../../adapters/detect.ts'
import { canonicalJson, isObject, type JsonObject } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { messageProblem } from '../../core/messages/message-check.ts'
import type { FieldsEvent } from '../../store/history/import/import-types.ts'
import { readHead } from '../head.ts'
import { placeOf, readElements, type Unit, unitsIn } from '../json-elements.ts'
import type { Input, Place, Source, SourceEvent, SourceName } from '../source.ts'
import { fieldsBeside, momentOf, nameOf } from './fields.ts'
import {
  anthropicMessagesReader,
  anyMessageReader,
  chatCompletionsReader,
  type Given,
  type MessageReader,
  type ReadMessage,
  responsesItemsReader,
} from './message-reader.ts'
import { CONVERSATION_LIST, MESSAGE_LISTS, messagesOf, transcriptShape } from './transcript-shape.ts'

const ANY: TranscriptForm = {
  name: 'messages',
  reader: anyMessageReader,
  leading: ({ system }) => (typeof system === 'string' ? [{ role: 'system', content: system }] : []),
  leadingFields: ['system'],
}

/** Plain `{ role, content }`, neutral messages, flat calls and results, and files with mixed forms. */
export const messages: Source = {
  name: 'messages',
  title: 'plain messages',
  recognizes: (head) => {
    const shape = transcriptShape(head)
    return shape !== undefined && !shape.forms.has('gemini')
  },
  read: (input) => readTranscript(input, ANY),
}

/** The ids and keys of the messages of one conversation, which must be unique within a session. */
class OwnNames {
  readonly #ids = new Set<string>()
  readonly #bodies = new Map<string, string>()

  /**
   * Adds the ids of the next message. Returns why they are invalid, or `undefined`. The same body under the same key is the same message.
   */
  take(message: NewMessage): string | undefined {
    // The store reports other problems of a message, such as a list's `null`.
    if (!isObject(message)) return undefined
    const { id, idempotencyKey: key } = message
    if ((id === undefined && key === undefined) || messageProblem(message) !== undefined) return undefined
    const body = key === undefined ? undefined : bodyOf(message)
    const known = key === undefined ? undefined : this.#bodies.get(key)
    if (known !== undefined)
      return known === body ? undefined : 'message.idempotencyKey: an earlier message has this key'
    if (id !== undefined && this.#ids.has(id)) return 'message.id: an earlier message has this id'
    if (id !== undefined) this.#ids.add(id)
    if (key !== undefined) this.#bodies.set(key, body!)
    return undefined
  }
}

function bodyOf({ role, content, metadata = {} }: NewMessage): string {
  return createHash('sha256')
    .update(canonicalJson([role, content, metadata]))
    .digest('base64url')
}

/** The differences between the sources of transcripts. */
type TranscriptForm = {
  readonly name: SourceName
  /** The provider of the messages, if their form implies it. */
  readonly provider?: string
  /** Returns a reader for the messages of one conversation. `sample` shows its shape. */
  reader(sample: readonly unknown[]): MessageReader
  /** Returns the messages in other fields of the conversation, in the form that they would have in the list. */
  leading(fields: JsonObject): readonly unknown[]
  /** The names of those fields. */
  readonly leadingFields: readonly string[]
}

/** Reads a file of messages: one message or conversation per line or element, or one object with a list. */
export async function* readTranscript(
  input: Input,
  form: TranscriptForm,
): AsyncGenerator<SourceEvent, void, undefined> {
  const read = await readHead(input)
  const head = 'head' in read ? read.head : undefined
  const layout = head === undefined ? 'messages' : (transcriptShape(head)?.layout ?? 'messages')
  if (head?.shape === 'object') {
    if (layout === 'collection') yield* conversationsOf(unitsIn(input, 'object', [CONVERSATION_LIST]), form)
    else yield* objectOf(input, form)
    return
  }
  const units = unitsIn(input, head?.shape ?? 'lines')
  if (layout === 'conversations') yield* conversationsOf(units, form)
  else {
    yield { type: 'conversation', at: {} }
    if (form.provider !== undefined) yield { type: 'fields', provider: form.provider }
    yield* messagesIn(units, form, form.reader(head?.values ?? []), 0)
  }
}

/** Reads one object. Its fields are read first, because their messages precede the list. */
async function* objectOf(input: Input, form: TranscriptForm): AsyncGenerator<SourceEvent, void, undefined> {
  const fields: (readonly [key: string, value: unknown])[] = []
  const sample: unknown[] = []
  const bad: SourceEvent[] = []
  for await (const piece of readElements(input.bytes(), { lists: MESSAGE_LISTS })) {
    if (piece.type === 'field') fields.push([piece.key, piece.value])
    else if (piece.type === 'element' && sample.length < 100) sample.push(piece.value)
    else if (piece.type === 'problem' && piece.isField)
      bad.push({ type: 'problem', at: placeOf(piece), why: piece.why })
  }
  const first = yield* beginning(Object.fromEntries(fields), {}, form)
  yield* bad
  const reader = form.reader(sample)
  const count = yield* leadingOf(first, form, reader, {})
  yield* messagesIn(unitsIn(input, 'object', MESSAGE_LISTS), form, reader, count)
}

async function* conversationsOf(
  units: AsyncIterable<Unit>,
  form: TranscriptForm,
): AsyncGenerator<SourceEvent, void, undefined> {
  for await (const unit of units) {
    const { at } = unit
    const messages = 'value' in unit ? messagesOf(unit.value) : undefined
    if (!('value' in unit) || messages === undefined) {
      yield { type: 'conversation', at }
      const why = 'problem' in unit ? unit.problem : 'it is not a conversation: it has no list of messages'
      yield { type: 'problem', at, why }
      continue
    }
    const first = yield* beginning(isObject(unit.value) ? unit.value : {}, at, form)
    const reader = form.reader(messages)
    const count = yield* leadingOf(first, form, reader, at)
    const { line, element } = at
    const place = (i: number): Place => ({
      ...(line !== undefined ? { line } : { element: element! }),
      element: i + 1,
    })
    const listed = messages.map((value, i): Unit => ({ at: place(i), value }))
    yield* messagesIn(listed, form, reader, count)
  }
}

/** Yields the beginning of a conversation; returns its fields. */
function* beginning(
  given: { readonly [key: string]: unknown },
  at: Place,
  form: TranscriptForm,
): Generator<SourceEvent, JsonObject, undefined> {
  const { fields, problems } = fieldsBeside(
    given,
    MESSAGE_LISTS.filter((name) => Array.isArray(given[name])),
  )
  const id = [fields.id, fields.conversation_id, fields.session_id, fields.sessionId].find(
    (value) => typeof value === 'string' && value !== '',
  )
  yield { type: 'conversation', at, ...(typeof id === 'string' && { id }) }
  for (const why of problems) yield { type: 'problem', at, why }
  yield fieldsEvent(fields, form)
  return fields
}

function fieldsEvent(fields: JsonObject, form: TranscriptForm): FieldsEvent {
  const taken = new Set<string>([...MESSAGE_LISTS, ...form.leadingFields])
  const kept = Object.fromEntries(Object.entries(fields).filter(([name]) => !taken.has(name)))
  const createdAt = momentOf(fields)
  return {
    type: 'fields',
    ...(form.provider !== undefined && { provider: form.provider }),
    ...(typeof fields.title === 'string' && { title: fields.title }),
    ...(typeof fields.model === 'string' && fields.model !== '' && { model: fields.model }),
    ...(createdAt !== undefined && { createdAt }),
    ...(Object.keys(kept).length > 0 && { metadata: kept }),
  }
}

/** Reads the messages in other fields; returns their number. */
function* leadingOf(
  fields: JsonObject,
  form: TranscriptForm,
  reader: MessageReader,
  at: Place,
): Generator<SourceEvent, number, undefined> {
  const leading = form.leading(fields)
  for (const [i, value] of leading.entries()) yield* events(reader.push({ at, ordinal: i + 1, value }), form)
  return leading.length
}

async function* messagesIn(
  units: AsyncIterable<Unit> | Iterable<Unit>,
  form: TranscriptForm,
  reader: MessageReader,
  before: number,
): AsyncGenerator<SourceEvent, void, undefined> {
  const names = new OwnNames()
  let ordinal = before
  let model: string | undefined
  for await (const unit of units) {
    ordinal += 1
    if ('value' in unit) model = modelOf(unit.value) ?? model
    if ('value' in unit) yield* events(reader.push({ at: unit.at, ordinal, value: unit.value }), form, names)
    else {
      yield* events(reader.flush(), form, names)
      yield { type: 'problem', at: unit.at, why: unit.problem }
    }
  }
  yield* events(reader.flush(), form, names)
  // A model without its provider isn't enough.
  if (model !== undefined && form.provider !== undefined) yield { type: 'fields', model }
}

/** Returns the model that wrote a message, from an API's answer. */
function modelOf(value: unknown): string | undefined {
  return isObject(value) && value.role === 'assistant' ? nameOf(value.model) : undefined
}

function* events(
  items: readonly ReadMessage[],
  form: TranscriptForm,
  names: OwnNames = new OwnNames(),
): Generator<SourceEvent, void, undefined> {
  for (const each of items) {
    const { given } = each
    const why = 'why' in each ? each.why : names.take(each.message)
    if (why !== undefined) yield { type: 'problem', at: given.at, why }
    else if ('message' in each) {
      yield { type: 'message', at: given.at, message: stored(each.message, given, form) }
      yield* each.notes
    }
  }
}

function stored(message: NewMessage, { value, ordinal }: Given, form: TranscriptForm): NewMessage {
  const createdAt = isObject(message) ? (message.createdAt ?? momentOf(value)) : undefined
  if (!isObject(message)) return message
  return {
    idempotencyKey: `${form.name}:${ordinal}`,
    ...(createdAt !== undefined && { createdAt }),
    ...message,
  }
}

const OPENAI: TranscriptForm = {
  name: 'openai',
  reader: (sample) => (isResponses(sample) ? responsesItemsReader() : chatCompletionsReader()),
  leading: ({ instructions, input }) => [
    ...(typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : []),
    ...(Array.isArray(instructions) ? (instructions as readonly unknown[]) : []),
    ...(typeof input === 'string' ? [{ role: 'user', content: input }] : []),
  ],
  leadingFields: ['instructions'],
}

/** OpenAI transcripts: messages of Chat Completions, or items of the Responses API. */
export const openai: Source = {
  name: 'openai',
  title: 'an OpenAI transcript',
  recognizes: (head) => {
    const shape = transcriptShape(head)
    if (shape === undefined || shape.hasSystem) return false
    const [first] = head.values
    const hasInput =
      shape.layout === 'object' && typeof first === 'object' && first !== null && 'input' in first
    if (hasInput) return shape.forms.size === 0 || onlyOpenAI(shape.forms)
    return shape.forms.size > 0 && onlyOpenAI(shape.forms)
  },
  describeOther: ({ values }) => (isFromAgentsSdk(values) ? AGENTS_SDK_LOOK : undefined),
  read: (input) => readTranscript(input, OPENAI),
}

const AGENTS_SDK_LOOK = "items of OpenAI's Agents SDK, which fromAgentItems reads"

/**
 * Returns whether items are those of the Agents SDK. They differ from items of the Responses API only in field names; calls and results
 * identify them.
 */
function isFromAgentsSdk(values: readonly unknown[]): boolean {
  const calls = values
    .filter(isObject)
    .filter(({ type }) => typeof type === 'string' && /_call(?:_result|_output)?$/.test(type))
  return (
    calls.some(({ callId }) => typeof callId === 'string') &&
    calls.every(({ call_id }) => call_id === undefined)
  )
}

function onlyOpenAI(forms: ReadonlySet<string>): boolean {
  return [...forms].every((form) => form === 'openai' || form === 'openai-responses')
}

/** Returns whether some values are items of the Responses API. Each is tested alone, because an item may be the only one. */
function isResponses(sample: readonly unknown[]): boolean {
  return sample.some((item) => detectFormat([item]) === 'openai-responses')
}

const ANTHROPIC: TranscriptForm = {
  name: 'anthropic',
  provider: 'anthropic',
  reader: anthropicMessagesReader,
  leading: ({ system }) =>
    system === undefined || system === null ? [] : [{ role: 'system', content: system }],
  leadingFields: ['system'],
}

/** Transcripts of Anthropic's Messages API. A system prompt beside the messages becomes a leading system message. */
export const anthropic: Source = {
  name: 'anthropic',
  title: 'an Anthropic transcript',
  recognizes: (head) => {
    const shape = transcriptShape(head)
    if (shape === undefined) return false
    const isOnly = [...shape.forms].every((form) => form === 'anthropic')
    return isOnly && (shape.forms.size > 0 || shape.hasSystem)
  },
  read: (input) => readTranscript(input, ANTHROPIC),
}

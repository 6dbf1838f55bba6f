import { fromAnthropic } from '../../adapters/anthropic/from-anthropic.ts'
import { fromOpenAIResponses } from '../../adapters/openai/from-responses.ts'
import { keptUnder } from '../../adapters/wire.ts'
import { isUndertextError } from '../../core/errors.ts'
import { toolUseOf } from '../../core/messages/call-results.ts'
import {
  defined,
  filledText,
  isObject,
  type Json,
  type JsonObject,
  jsonProblem,
  parsedJson,
} from '../../core/messages/json.ts'
import type { Message, Part, UnsentSource } from '../../core/messages/message.ts'
import type { FieldsEvent } from '../../store/history/import/import-types.ts'
import type { ImportedUsage } from '../../store/history/import/imported-usage.ts'
import { type JsonElement, placeOf, readElements } from '../json-elements.ts'
import type { Head, Input, PlacedCompaction, Source, SourceEvent } from '../source.ts'
import { blockTexts, compactionEvent, DEPTH_KEPT, nameOf, timeOf } from './fields.ts'
import type { RooElement } from './roo-plan.ts'
import { planOfRoo, type RooCompaction, type RooPlan } from './roo-plan.ts'

/*
 * Elements of Roo Code's `api_conversation_history.json` as messages. Format: src/core/task-persistence/apiMessages.ts of
 * RooCodeInc/Roo-Code. They are messages of Anthropic's API with a time and tags, and include blocks and items for other providers.
 *
 * `metadata.roo` holds an element's other fields, except its tags, which change and are represented as compactions.
 */

/** The agents with this form of file. Roo Code is a fork of Cline. */
type Agent = Extract<UnsentSource, 'roo' | 'cline'>

type ToolNames = Map<string, string>

/** The blocks of Anthropic's API. Other blocks in such a file are for other providers, and must not be sent to Anthropic. */
const ANTHROPIC_BLOCKS = new Set([
  'text',
  'image',
  'document',
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
])

/** Returns an element as a message; `undefined` if it isn't a message. */
function messageOfElement(element: JsonObject, names: ToolNames, agent: Agent): Message | undefined {
  const { role, content, type } = element
  const metadata = metadataOf(element, agent)
  if (type === 'reasoning' && content === undefined) return { ...ofReasoning(element, agent), ...metadata }
  if (role === 'system') return { role, content: blockTexts(content), ...metadata }
  if (role !== 'user' && role !== 'assistant') return undefined
  if (typeof content === 'string') return { role, content, ...metadata }
  if (!Array.isArray(content)) return undefined
  const parts = content.map((block: Json) => partOf(block, role, names, agent))
  const answers = parts.length > 0 && parts.every((part) => part.type === 'tool-result')
  return { role: answers ? 'tool' : role, content: parts, ...metadata }
}

function metadataOf(element: JsonObject, agent: Agent): { readonly metadata?: JsonObject } {
  const { role: _, content: __, condenseParent: ___, truncationParent: ____, ...rest } = element
  return Object.keys(rest).length === 0 ? {} : { metadata: { [agent]: rest } }
}

/** Returns an item of reasoning, plain or from OpenAI's Responses. */
function ofReasoning({ type, id, summary, encrypted_content, text }: JsonObject, agent: Agent): Message {
  if (typeof text === 'string' && encrypted_content === undefined)
    return { role: 'assistant', content: [{ type: 'reasoning', text }] }
  const item = {
    type,
    ...(id !== undefined && { id }),
    summary: summary ?? [],
    ...(encrypted_content !== undefined && { encrypted_content }),
  } as JsonObject
  try {
    const [read] = fromOpenAIResponses([item])
    if (read !== undefined) return { role: 'assistant', content: read.content }
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
  }
  return { role: 'assistant', content: [{ type: 'provider', provider: agent, data: item }] }
}

function partOf(block: Json, role: 'user' | 'assistant', names: ToolNames, agent: Agent): Part {
  const unread: Part = { type: 'provider', provider: agent, data: block }
  if (!isObject(block)) return unread
  const { type, ...fields } = block as JsonObject
  if (type === 'reasoning' && typeof fields.text === 'string') {
    const { text, ...extra } = fields
    return { type: 'reasoning', text: text as string, ...keptUnder(agent, extra) }
  }
  if (!ANTHROPIC_BLOCKS.has(String(type))) return unread
  const [read] = fromAnthropic([{ role, content: [block] }], { lenient: true })
  const [part = unread] = typeof read?.content === 'string' ? [] : (read?.content ?? [])
  return named(part, names)
}

/** Returns a result with the name of its tool, taken from its call. */
function named(part: Part, names: ToolNames): Part {
  if (part.type === 'tool-call') names.set(part.toolCallId, part.toolName)
  if (part.type !== 'tool-result' || part.toolName !== undefined) return part
  const toolName = names.get(part.toolCallId)
  return toolName === undefined ? part : { ...part, toolName }
}

/** The files in a task's folder: the messages for the model under their current and earlier name, and the displayed messages. */
const HISTORY = 'api_conversation_history.json'
const FORMER_HISTORY = 'claude_messages.json'
const UI_MESSAGES = 'ui_messages.json'

const UI_MESSAGES_LOOK = `the displayed messages of Cline or Roo Code, not the conversation: import ${HISTORY} in the same folder`

const TAGS = [
  'condenseId',
  'condenseParent',
  'truncationId',
  'truncationParent',
  'isSummary',
  'isTruncationMarker',
]

/**
 * Task histories of Roo Code. A task is named after its folder. Summaries and markers aren't messages, because their compactions insert
 * them. `ui_messages.json` in the same folder is recognized and rejected.
 */
export const roo: Source = {
  name: 'roo',
  title: 'a task of Roo Code',
  recognizes,
  describeOther: ({ name, shape, values }) =>
    name === UI_MESSAGES || (shape === 'list' && isShownList(values)) ? UI_MESSAGES_LOOK : undefined,
  read: (input) => read(input, 'roo'),
}

/**
 * Task histories of Cline: the same file without Roo Code's tags. Cline's messages either have no time, or name their model (`modelInfo`).
 * Otherwise the model is in `task_metadata.json`, and the times are in `ui_messages.json`, both in the same folder. Format:
 * src/core/storage/disk.ts of cline/cline.
 */
export const cline: Source = {
  name: 'cline',
  title: 'a task of Cline',
  recognizes: ({ name, shape, values }) => isTaskFile(name) && shape === 'list' && isOfCline(values),
  read: (input) => read(input, 'cline'),
}

function isOfCline(values: readonly unknown[]): boolean {
  const messages = values.filter(isObject)
  if (messages.some(({ modelInfo }) => isObject(modelInfo))) return true
  return messages.length > 0 && !messages.some(isTagged)
}

function recognizes({ name, shape, values }: Head): boolean {
  if (isTaskFile(name)) return true
  return shape === 'list' && values.some((value) => isObject(value) && isTagged(value))
}

/** The file has the same name in every task, and the folder is its id. */
function isTaskFile(name: string): boolean {
  return name === HISTORY || name === FORMER_HISTORY
}

function isTagged(value: { readonly [field: string]: unknown }): boolean {
  const isMessage = value.role === 'user' || value.role === 'assistant'
  return isMessage && (typeof value.ts === 'number' || TAGS.some((tag) => value[tag] !== undefined))
}

function isShownList(values: readonly unknown[]): boolean {
  const isShown = (value: unknown): boolean =>
    isObject(value) && typeof value.ts === 'number' && (value.type === 'say' || value.type === 'ask')
  return values.length > 0 && values.every(isShown)
}

async function* read(input: Input, agent: Agent): AsyncGenerator<SourceEvent, void, undefined> {
  const file = await survey(input)
  if (typeof file === 'string') {
    yield { type: 'problem', at: {}, why: file }
    return
  }
  const { plan } = file
  const { times, requests } = await readShown(input, agent)
  const shown = file.timeless ? times : undefined
  const createdAt = shown?.began ?? file.createdAt
  const isNamed = isTaskFile(input.name) && input.folder !== ''
  yield { type: 'conversation', at: {}, ...(isNamed && { id: input.folder }) }
  if (createdAt !== undefined) yield { type: 'fields', createdAt }
  if (agent === 'cline') yield await fieldsOfCline(input, { ...file, createdAt })
  for (const { index, kind, why } of plan.notes)
    yield { type: 'note', at: { element: file.places[index]! }, kind, why }
  if (file.late > 0)
    yield {
      type: 'note',
      at: {},
      kind: 'kept',
      why: `${file.late} come after messages of a later time; the order of the file is kept`,
    }
  yield* events(input, plan, agent, { shown, usages: new ShownUsages(requests) })
}

/** The maximum number of bytes read of the displayed messages. */
const UI_MESSAGES_BYTES = 64 * 1024 * 1024

/** The times of the messages for the model, as far as the displayed messages show them. */
type ShownTimes = {
  /** The time of the first displayed message. */
  readonly began: number
  /** The times of the first and the last message displayed while the history had a given number of elements. */
  readonly at: ReadonlyMap<number, { readonly first: number; readonly last: number }>
}

/** A displayed request: its time, the number of elements before it, and its reported usage. */
type ShownRequest = {
  readonly time: number
  readonly elements: number
  readonly usage: ImportedUsage | undefined
}

type Shown = { readonly times: ShownTimes | undefined; readonly requests: readonly ShownRequest[] }

/**
 * Reads the times and the usage in `ui_messages.json`, because messages of earlier versions have no times of their own. Each displayed
 * message names the last element of the history at its time (`conversationHistoryIndex`). Older ones don't, but every request
 * (`api_req_started`) adds the user's message and the answer.
 */
async function readShown(input: Input, agent: Agent): Promise<Shown> {
  const text = isTaskFile(input.name) ? await input.readSibling?.(UI_MESSAGES, UI_MESSAGES_BYTES) : undefined
  const list = text === undefined ? undefined : parsedJson(text)
  if (!Array.isArray(list)) return { times: undefined, requests: [] }
  const shownRequests: ShownRequest[] = []
  const at = new Map<number, { first: number; last: number }>()
  let began: number | undefined
  let requests = 0
  for (const one of list) {
    const time = isObject(one) ? timeOf(one.ts) : undefined
    if (!isObject(one) || time === undefined) continue
    began ??= time
    const isRequest = one.say === 'api_req_started'
    if (isRequest) requests += 1
    const index = one.conversationHistoryIndex
    const last = Number.isSafeInteger(index) ? (index as number) : 2 * (requests - 1) - (isRequest ? 1 : 0)
    const elements = Math.max(0, last + 1)
    if (isRequest) shownRequests.push({ time, elements, usage: usageOfRequest(one, agent) })
    const known = at.get(elements)
    if (known === undefined) at.set(elements, { first: time, last: time })
    else known.last = time
  }
  return { times: began === undefined ? undefined : { began, at }, requests: shownRequests }
}

/** Returns the usage of a displayed request, which is JSON in its text. */
function usageOfRequest(
  shown: { readonly [field: string]: unknown },
  agent: Agent,
): ImportedUsage | undefined {
  const report = typeof shown.text === 'string' ? parsedJson(shown.text) : undefined
  if (!isObject(report) || countIn(report.tokensIn) === undefined) return undefined
  const [input = 0, output = 0] = [countIn(report.tokensIn), countIn(report.tokensOut)]
  const [read = 0, written = 0] = [countIn(report.cacheReads), countIn(report.cacheWrites)]
  // Roo Code counts cached tokens as input, except in earlier versions with Anthropic's models.
  const isTotal = agent === 'roo' && input >= read + written
  const info = isObject(shown.modelInfo) ? shown.modelInfo : {}
  const [provider, model] = [nameOf(info.providerId), nameOf(info.modelId)]
  return {
    inputTokens: isTotal ? input - read - written : input,
    ...(read > 0 && { cacheReadTokens: read }),
    ...(written > 0 && { cacheCreationTokens: written }),
    outputTokens: output,
    ...defined({ provider, model }),
  }
}

function countIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** The usage of answers in order. Each has the usage of the last request displayed before it. */
class ShownUsages {
  readonly #requests: readonly ShownRequest[]
  #next = 0

  constructor(requests: readonly ShownRequest[]) {
    this.#requests = requests
  }

  /** After a request is displayed, the user's message is added, then the answer. */
  next({ ts, role }: JsonObject, elementsBefore: number): ImportedUsage | undefined {
    if (role !== 'assistant') return undefined
    const own = timeOf(ts)
    let last: ShownRequest | undefined
    for (; this.#next < this.#requests.length; this.#next++) {
      const request = this.#requests[this.#next]!
      const isBefore = own === undefined ? request.elements < elementsBefore : request.time <= own
      if (!isBefore) break
      last = request
    }
    return last?.usage
  }
}

/**
 * The times of elements in order. An element without a time has that of a displayed message, but never a time before the previous
 * element's.
 */
class ElementTimes {
  readonly #shown: ShownTimes | undefined
  #latest: number

  constructor(shown: ShownTimes | undefined) {
    this.#shown = shown
    this.#latest = shown?.began ?? 0
  }

  /** A user's message is added right after its request is displayed, an answer after its first words are. */
  next({ ts, role }: JsonObject, elementsBefore: number): number | undefined {
    const own = timeOf(ts)
    if (this.#shown === undefined) return own
    const shown = this.#shown.at.get(elementsBefore)
    const found = own ?? (role === 'assistant' ? shown?.first : shown?.last) ?? 0
    this.#latest = Math.max(this.#latest, found)
    return own ?? this.#latest
  }
}

/** The file in a task's folder that names the models, and the maximum number of its bytes that are read. */
const [CLINE_METADATA, CLINE_METADATA_BYTES] = ['task_metadata.json', 16 * 1024 * 1024]

/** Returns the fields of a task of Cline. Its folder is named after the time at which it began. */
async function fieldsOfCline(
  input: Input,
  { createdAt, modelInfo }: Pick<Survey, 'createdAt' | 'modelInfo'>,
): Promise<FieldsEvent> {
  const began = createdAt ?? (/^\d{13}$/.test(input.folder) ? Number(input.folder) : undefined)
  const given = modelInfo ?? (await lastModel(input))
  const model = nameOf(given?.modelId ?? given?.model_id)
  const provider = nameOf(given?.providerId ?? given?.model_provider_id)
  return {
    type: 'fields',
    ...defined({ createdAt: began, model, provider }),
  }
}

type ModelInfo = { readonly [field: string]: unknown }

async function lastModel(input: Input): Promise<ModelInfo | undefined> {
  const text = await input.readSibling?.(CLINE_METADATA, CLINE_METADATA_BYTES)
  const metadata = text === undefined ? undefined : parsedJson(text)
  const used = isObject(metadata) ? metadata.model_usage : undefined
  const last = Array.isArray(used) ? used.at(-1) : undefined
  return isObject(last) ? last : undefined
}

type Survey = {
  /** The model of the last message that names its model. */
  readonly modelInfo: ModelInfo | undefined
  readonly plan: RooPlan
  /** The index in the file of each element of the plan. */
  readonly places: readonly number[]
  readonly createdAt: number | undefined
  /** Whether an element has no time. */
  readonly timeless: boolean
  /** The number of elements that follow an element with a later time. */
  readonly late: number
}

/** Returns the history, or the reason why it can't be read. */
async function survey(input: Input): Promise<Survey | string> {
  const elements: RooElement[] = []
  const places: number[] = []
  let createdAt: number | undefined
  let modelInfo: ModelInfo | undefined
  let timeless = false
  let latest = 0
  let late = 0
  for await (const read of readElements(input.bytes(), { lists: ['messages'] })) {
    if (read.type === 'field' || (read.type === 'element' && read.list !== undefined))
      return 'a Roo Code history must be one list of messages; this form cannot be read'
    if (read.type === 'problem' || problemOf(read.value) !== undefined) continue
    const value = read.value as JsonObject
    elements.push(elementOf(value))
    places.push(read.element)
    if (isObject(value.modelInfo)) modelInfo = value.modelInfo
    const time = timeOf(value.ts)
    if (time === undefined) timeless = true
    if (time === undefined) continue
    createdAt ??= time
    if (time < latest) late += 1
    latest = Math.max(latest, time)
  }
  if (input.name === UI_MESSAGES || (elements.length === 0 && (await isShown(input))))
    return `this is ${UI_MESSAGES_LOOK}`
  return { plan: planOfRoo(elements), places, createdAt, timeless, late, modelInfo }
}

async function isShown(input: Input): Promise<boolean> {
  for await (const read of readElements(input.bytes()))
    return read.type === 'element' && isShownList([read.value])
  return false
}

function problemOf(value: unknown): string | undefined {
  if (!isObject(value)) return 'a message must be an object'
  const problem = jsonProblem(value, DEPTH_KEPT)
  if (problem !== undefined) return `it contains ${problem}`
  return messageOfElement(value as JsonObject, new Map(), 'roo') === undefined
    ? 'a message must have a role and a content'
    : undefined
}

function elementOf(value: JsonObject): RooElement {
  const kind =
    value.isSummary === true ? 'summary' : value.isTruncationMarker === true ? 'marker' : ('message' as const)
  const use = toolUseOf(value.content, 'blocks')
  return {
    kind,
    id: filledText(
      kind === 'summary' ? value.condenseId : kind === 'marker' ? value.truncationId : undefined,
    ),
    condenseParent: filledText(value.condenseParent),
    truncationParent: filledText(value.truncationParent),
    use,
    onlyResults: use !== undefined && use.results.length === (value.content as readonly unknown[]).length,
  }
}

/**
 * The second reading. Yields the messages in order, then the compactions, because a call that was open when Roo Code hid it may have its
 * result later in the file.
 */
async function* events(
  input: Input,
  plan: RooPlan,
  agent: Agent,
  { shown, usages }: { readonly shown: ShownTimes | undefined; readonly usages: ShownUsages },
): AsyncGenerator<SourceEvent, void, undefined> {
  const times = new ElementTimes(shown)
  const owners = new Map(plan.compactions.map((one) => [one.owner, one] as const))
  const known = new Map<RooCompaction, PlacedCompaction>()
  const names: ToolNames = new Map()
  const keys = new Keys()
  const ids = new Set<string>()
  let index = -1
  for await (const read of readElements(input.bytes(), { lists: ['messages'] })) {
    const problem =
      read.type === 'element' ? problemOf(read.value) : read.type === 'problem' ? read.why : undefined
    if (problem !== undefined) yield { type: 'problem', at: placeOf(read), why: problem }
    if (read.type !== 'element' || problem !== undefined) continue
    index += 1
    const value = read.value as JsonObject
    const createdAt = times.next(value, read.element - 1)
    const usage = usages.next(value, read.element - 1)
    const ordinal = plan.ordinals.get(index)
    if (ordinal !== undefined)
      yield messageEvent(
        value,
        read,
        names,
        { idempotencyKey: keys.next(value.ts, ordinal), createdAt, usage },
        agent,
      )
    const compaction = owners.get(index)
    if (compaction !== undefined) known.set(compaction, compactionOf(value, read, compaction, ids))
  }
  const ordinals = [...plan.ordinals]
  let madeAfter = 0
  for (const compaction of plan.compactions) {
    while (madeAfter < ordinals.length && ordinals[madeAfter]![0] <= compaction.after) madeAfter += 1
    yield { ...known.get(compaction)!, madeAfter }
  }
}

type Element = Extract<JsonElement, { type: 'element' }>

function messageEvent(
  value: JsonObject,
  read: Element,
  names: ToolNames,
  {
    idempotencyKey,
    createdAt,
    usage,
  }: {
    readonly idempotencyKey: string
    readonly createdAt: number | undefined
    readonly usage: ImportedUsage | undefined
  },
  agent: Agent,
): SourceEvent {
  const message = messageOfElement(value, names, agent)!
  return {
    type: 'message',
    at: placeOf(read),
    message: { ...message, idempotencyKey, ...(createdAt !== undefined && { createdAt }) },
    ...(usage !== undefined && { usage }),
  }
}

function compactionOf(
  value: JsonObject,
  read: Element,
  { kind, covers }: RooCompaction,
  ids: Set<string>,
): PlacedCompaction {
  const text = blockTexts(value.content)
  const createdAt = timeOf(value.ts)
  const given = filledText(kind === 'condense' ? value.condenseId : value.truncationId)
  const name = given ?? `${kind}-${createdAt ?? covers.at(-1)![1]}`
  const id = ids.has(name) ? `${name}-${covers.at(-1)![1]}` : name
  ids.add(id)
  return compactionEvent(placeOf(read), { id, kind, covers, text, createdAt })
}

/** Idempotency keys: the time by which Roo Code identifies a message, and the index among messages with the same time. */
class Keys {
  readonly #seen = new Map<number, number>()

  next(ts: unknown, ordinal: number): string {
    const time = timeOf(ts)
    if (time === undefined) return `%message-${ordinal}`
    const nth = (this.#seen.get(time) ?? 0) + 1
    this.#seen.set(time, nth)
    return nth === 1 ? `%time-${time}` : `%time-${time}-${nth}`
  }
}

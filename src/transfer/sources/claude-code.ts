import { createHash } from 'node:crypto'
import { messagesOf, silentMessageOf } from '../../adapters/claude-agent-sdk/entry.ts'
import { typedText } from '../../core/messages/client-markup.ts'
import { isObject, type JsonObject } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { titleFrom } from '../../core/messages/title.ts'
import type { FieldsEvent } from '../../store/history/import/import-types.ts'
import { type JsonLine, placeOfLine, readJsonLines, type Unread, unreadEvent } from '../lines.ts'
import {
  fieldNames,
  type Head,
  type Input,
  type NoteEvent,
  type Place,
  type Source,
  type SourceEvent,
  UNKNOWN_FORM,
} from '../source.ts'
import { Branches, type Made, type Step } from './claude-code-branches.ts'
import { type Facts, factsOf } from './claude-code-tree.ts'
import { blockTexts, compactionEvent, entryOn, nameOf, textsOf, timeOf, titleOf } from './fields.ts'

/**
 * Sessions of Claude Code. Every entry becomes a row, in the form of the Claude Agent SDK's adapter; most rows are never sent to a model.
 * Rewound entries are hidden by compactions of kind `manual`, compacted entries by summaries.
 */
export const claudeCode: Source = {
  name: 'claude-code',
  title: 'a session of Claude Code',
  recognizes,
  read,
}

function recognizes({ shape, values }: Head): boolean {
  return shape === 'lines' && values.some((value) => isObject(value) && isEntry(value))
}

function isEntry({
  type,
  uuid,
  parentUuid,
  sessionId,
  isSidechain,
  leafUuid,
  messageId,
}: {
  readonly [field: string]: unknown
}): boolean {
  if (typeof type !== 'string') return false
  // Only the beginning of a long line may be known, and its ids can be at its end.
  if (typeof isSidechain === 'boolean' && parentUuid !== undefined) return true
  if (typeof uuid === 'string') return parentUuid !== undefined || typeof sessionId === 'string'
  if (type === 'summary') return typeof leafUuid === 'string'
  if (type === 'file-history-snapshot') return typeof messageId === 'string'
  return typeof sessionId === 'string'
}

async function* read(input: Input): AsyncGenerator<SourceEvent, void, undefined> {
  // Whether rewound entries were restored is only known at the end.
  const undone = new Set<string>()
  const first = new EntryReader(undone, undefined)
  for await (const line of entriesOf(input)) if ('entry' in line) first.place(line)
  first.settle()
  for (const made of first.branches.made) if (made.undone) undone.add(made.id)

  yield { type: 'conversation', at: { line: 1 }, ...namesOf(input.name, first) }
  // Before the messages, because their usage belongs to its models.
  yield { type: 'fields', provider: 'anthropic' }
  const reader = new EntryReader(undone, first.createdAt)
  for await (const line of entriesOf(input)) {
    if ('entry' in line) yield* reader.read(line)
    else yield unreadEvent(line)
  }
  yield* reader.end()
}

/** A file is named after its session or subagent, which its entries confirm. Ids of subagents are too short to be unique. */
function namesOf(
  fileName: string,
  { ofSession, ofAgent }: EntryReader,
): { readonly id?: string; readonly otherwise?: string } {
  const id = fileName === '' ? (ofAgent ?? ofSession) : fileName.replace(/\.jsonl$/i, '')
  if (id === undefined) return {}
  const otherwise = ofAgent === id && ofSession !== undefined ? `${ofSession}/${id}` : undefined
  return { id, ...(otherwise !== undefined && { otherwise }) }
}

type Entry = { readonly at: Place; readonly entry: JsonObject; readonly hash: string }
type Placed = { readonly facts?: Facts; readonly step?: Step }

async function* entriesOf(input: Input): AsyncGenerator<Entry | (JsonLine & Unread), void, undefined> {
  for await (const read of readJsonLines(input.bytes())) {
    const line = entryOn(read)
    if ('problem' in line) yield line
    else if ('text' in read) yield { at: placeOfLine(read), entry: line.entry, hash: hashOf(read.text) }
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/** Returns the fields of a message without content, as other agents write them to files that otherwise look like Claude Code's. */
function unreadIn({ type, message }: JsonObject): string[] | undefined {
  if (type !== 'user' && type !== 'assistant') return undefined
  return isObject(message) && message.content !== undefined ? undefined : fieldNames(message)
}

/** Changes to requests that Claude Code made and that the file doesn't fully describe, by type or subtype of the entry. */
const INCOMPLETE: { readonly [type: string]: string } = {
  microcompact_boundary: 'tool outputs that Claude Code had cleared are shown in full',
  'content-replacement': 'outputs that Claude Code had replaced are shown in full',
  'marble-origami-commit': 'messages that Claude Code had collapsed are shown in full',
}

class EntryReader {
  readonly branches = new Branches()
  readonly #undone: ReadonlySet<string>
  readonly #fields = new SessionFields()
  readonly #hashes = new Map<string, string>()
  readonly #times = new Map<string, number>()
  readonly #counts = new Map<
    string,
    { readonly at: Place; readonly kind: NoteEvent['kind']; count: number }
  >()
  /** Whether this is a session's own transcript rather than a subagent's. The first message decides. */
  #isMain: boolean | undefined
  #ordinal = 0
  #at: Place = { line: 1 }
  /** The last known time of an entry. */
  #time: number | undefined

  /** `createdAt`: the beginning of the conversation, used for lines before the first time. */
  constructor(undone: ReadonlySet<string>, createdAt: number | undefined) {
    this.#undone = undone
    this.#time = createdAt
  }

  /** Returns the place of an entry; `undefined` for a repeated entry. */
  place({ at, entry, hash }: Entry): Placed | undefined {
    if (entry.type === 'user' || entry.type === 'assistant') this.#isMain ??= entry.isSidechain !== true
    const facts = factsOf(entry, this.#isMain ?? true)
    const known = facts && this.#hashes.get(facts.uuid)
    if (known !== undefined && known === hash) {
      this.#count(at, 'left-out', 'a repeated entry counts once')
      return undefined
    }
    this.#ordinal += 1
    this.#fields.see(entry, this.#isMain !== true || entry.isSidechain !== true)
    if (facts === undefined) return {}
    if (known !== undefined) {
      this.#count(
        at,
        'kept',
        'an entry whose uuid another entry already has is stored, but not sent to a model',
      )
      return {}
    }
    this.#hashes.set(facts.uuid, hash)
    return { facts, step: this.branches.add(facts, this.#ordinal) }
  }

  get createdAt(): number | undefined {
    return this.#fields.createdAt
  }

  /** The session; for a subagent, the session that it belongs to. */
  get ofSession(): string | undefined {
    return this.#fields.of('sessionId')
  }

  /** The name of a subagent's file; `undefined` for a session's own transcript. */
  get ofAgent(): string | undefined {
    const agent = this.#isMain === false ? this.#fields.of('agentId') : undefined
    return agent && `agent-${agent}`
  }

  /** Returns the entries that remain to be rewound at the end. */
  settle(): Made | undefined {
    return this.branches.end(this.#ordinal)
  }

  *read(given: Entry): Generator<SourceEvent, void, undefined> {
    const placed = this.place(given)
    if (placed === undefined) return
    const { at, entry, hash } = given
    const { facts, step } = placed
    this.#at = at
    this.#time = timeOf(entry.timestamp) ?? this.#time
    this.#noteMissing(entry, at)
    for (const why of step?.repairs ?? []) this.#count(at, 'mended', why)
    if (step?.leaves !== undefined) yield this.#compaction(step.leaves, entry, at)
    const found = this.#messageOf(entry, facts, hash)
    const createdAt = found.createdAt ?? this.#time
    const message = createdAt === undefined ? found : { ...found, createdAt }
    const unread = unreadIn(entry)
    if (unread !== undefined) this.#count(at, 'kept', UNKNOWN_FORM)
    yield { type: 'message', at, message, ...(unread !== undefined && { unread }) }
    if (step?.condenses !== undefined) yield this.#compaction(step.condenses, entry, at)
  }

  #messageOf(entry: JsonObject, facts: Facts | undefined, hash: string): NewMessage {
    if (facts === undefined) return { ...silentMessageOf(entry), ...this.#keyOf(entry, hash) }
    const [message] = messagesOf([entry], this.#isMain ?? true)
    // A summary is sent as the row that its compaction inserts.
    return facts.compaction === undefined ? message! : { ...message!, ...silentMessageOf(entry) }
  }

  /** Yields the events at the end: fields of the session, and the number of repairs. */
  *end(): Generator<SourceEvent, void, undefined> {
    const left = this.settle()
    if (left !== undefined) yield this.#compaction(left, {}, this.#at)
    yield this.#fields.event((uuid) => this.branches.has(uuid))
    for (const [why, { at, kind, count }] of this.#counts)
      yield {
        type: 'note',
        at,
        kind,
        why: count === 1 ? why : `${why} (${count} times, first here)`,
      }
  }

  /** Returns the key of an entry without a uuid: its bytes, and its index among equal entries, because earlier lines may be removed. */
  #keyOf({ timestamp }: JsonObject, hash: string): Pick<NewMessage, 'createdAt' | 'idempotencyKey'> {
    const nth = (this.#times.get(hash) ?? 0) + 1
    this.#times.set(hash, nth)
    const createdAt = timeOf(timestamp)
    const idempotencyKey = `%line-${hash}${nth === 1 ? '' : `-${nth}`}`
    return { idempotencyKey, ...(createdAt !== undefined && { createdAt }) }
  }

  #compaction({ id, kind, covers }: Made, entry: JsonObject, at: Place): SourceEvent {
    return compactionEvent(at, {
      ...{ id, kind, covers },
      text: kind === 'condense' ? blockTexts((entry.message as JsonObject | undefined)?.content) : '',
      createdAt: timeOf(entry.timestamp),
      reason: kind === 'manual' ? 'rewind' : undefined,
      undone: this.#undone.has(id) || undefined,
    })
  }

  #noteMissing({ type, subtype, snipMetadata }: JsonObject, at: Place): void {
    const why = INCOMPLETE[String(type === 'system' ? subtype : type)]
    if (why !== undefined) this.#count(at, 'kept', why)
    if (snipMetadata !== undefined) this.#count(at, 'kept', 'messages that Claude Code had cut out are shown')
  }

  #count(at: Place, kind: NoteEvent['kind'], why: string): void {
    const known = this.#counts.get(why)
    if (known === undefined) this.#counts.set(why, { at, kind, count: 1 })
    else known.count += 1
  }
}

/** Returns a title for a session that begins with this entry; `undefined` if the entry wasn't typed. */
function titleOfPrompt(entry: JsonObject): string | undefined {
  const { type, message, isMeta, isCompactSummary, isVisibleInTranscriptOnly } = entry
  if (type !== 'user' || !isObject(message) || message.role !== 'user') return undefined
  if (isMeta === true || isCompactSummary === true || isVisibleInTranscriptOnly === true) return undefined
  const typed = textsOf(message.content)
    .map(typedText)
    .find((text) => text !== '')
  return typed === undefined ? undefined : titleOf(titleFrom(typed))
}

/** The types of entries with a title, and their field, most important first. */
const TITLES = { 'custom-title': 'customTitle', 'ai-title': 'aiTitle' } as const

/** Fields of entries that describe the session. The last value counts. */
const METADATA_FIELDS = ['cwd', 'gitBranch', 'version', 'sessionId', 'agentId'] as const

const MAX_TITLES = 1_000

class SessionFields {
  readonly #titles = new Map<string, string>()
  /** Titles by the uuid of their entry. Earlier versions of Claude Code also wrote those of other sessions. */
  readonly #summaries = new Map<string, string>()
  readonly #metadata = new Map<string, string>()
  /** The last custom and generated titles. */
  readonly #seenTitles = new Set<string>()
  #createdAt: number | undefined
  #prompted: string | undefined
  #model: string | undefined

  /** Reads the fields of an entry. `isOwn`: it belongs to this conversation, not to another one in the same file. */
  see(entry: JsonObject, isOwn: boolean): void {
    const { type, message, timestamp, summary, leafUuid } = entry
    this.#createdAt ??= timeOf(timestamp)
    for (const [name, field] of Object.entries(TITLES)) {
      const title = type === name ? titleOf(entry[field]) : undefined
      if (title !== undefined) this.#titles.set(name, this.#seen(title))
    }
    const title = type === 'summary' ? titleOf(summary) : undefined
    if (title !== undefined && typeof leafUuid === 'string') this.#summaries.set(leafUuid, title)
    if (isOwn) this.#prompted ??= titleOfPrompt(entry)
    if (!this.#metadata.has('project')) {
      const project = nameOf(entry.cwd)
      if (project !== undefined) this.#metadata.set('project', project)
    }
    for (const field of METADATA_FIELDS) {
      const value = nameOf(entry[field])
      if (value !== undefined) this.#metadata.set(field, value)
    }
    const model = type === 'assistant' && isObject(message) ? nameOf(message.model) : undefined
    // Claude Code's name for the author of a synthetic answer.
    if (model !== undefined && model !== '<synthetic>') this.#model = model
  }

  #seen(title: string): string {
    this.#seenTitles.add(title)
    if (this.#seenTitles.size > MAX_TITLES) this.#seenTitles.delete(this.#seenTitles.values().next().value!)
    return title
  }

  /** The first known time of an entry. */
  get createdAt(): number | undefined {
    return this.#createdAt
  }

  of(field: (typeof METADATA_FIELDS)[number]): string | undefined {
    return this.#metadata.get(field)
  }

  /** Returns the fields so far. `isKnown` returns whether an entry is in the file. */
  event(isKnown: (uuid: string) => boolean): FieldsEvent {
    const summaries = [...this.#summaries].filter(([uuid]) => isKnown(uuid)).map(([, summary]) => summary)
    const title =
      Object.keys(TITLES)
        .map((name) => this.#titles.get(name))
        .find((found) => found !== undefined) ??
      summaries.at(-1) ??
      this.#prompted
    const prompted = this.#prompted === undefined ? [] : [this.#prompted]
    const formerTitles = [...prompted, ...summaries, ...this.#seenTitles].filter((one) => one !== title)
    return {
      type: 'fields',
      ...(title !== undefined && { title }),
      ...(formerTitles.length > 0 && { formerTitles }),
      ...(this.#model !== undefined && { model: this.#model }),
      ...(this.#createdAt !== undefined && { createdAt: this.#createdAt }),
      ...(this.#metadata.size > 0 && { metadata: Object.fromEntries(this.#metadata) }),
    }
  }
}

import { createHash } from 'node:crypto'
import { messagesOf, silentMessageOf } from '../../adapters/claude-agent-sdk/entry.ts'
import { isObject, type JsonObject } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
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
import { entryOf, SessionFields, timeOf } from './claude-code-fields.ts'
import { type Facts, factsOf } from './claude-code-tree.ts'
import { blockTexts } from './transcript.ts'

/**
 * Sessions of Claude Code. Every entry is a row, in the form of the Claude Agent SDK's adapter; most are never sent to a model. Rewound entries are
 * hidden by compactions of kind `manual`, compacted ones by summaries.
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
  // Only the beginning of a long line may be known; its ids can be at its end.
  if (typeof isSidechain === 'boolean' && parentUuid !== undefined) return true
  if (typeof uuid === 'string') return parentUuid !== undefined || typeof sessionId === 'string'
  if (type === 'summary') return typeof leafUuid === 'string'
  if (type === 'file-history-snapshot') return typeof messageId === 'string'
  return typeof sessionId === 'string'
}

async function* read(input: Input): AsyncGenerator<SourceEvent, void, undefined> {
  // Whether rewound entries were restored is known only at the end.
  const undone = new Set<string>()
  const first = new Telling(undone, undefined)
  for await (const line of entriesOf(input)) if ('entry' in line) first.place(line)
  first.settle()
  for (const made of first.branches.made) if (made.undone) undone.add(made.id)

  yield { type: 'conversation', at: { line: 1 }, ...namesOf(input.name, first) }
  // Before the messages: their usage is of its models.
  yield { type: 'fields', provider: 'anthropic' }
  const telling = new Telling(undone, first.createdAt)
  for await (const line of entriesOf(input)) {
    if ('entry' in line) yield* telling.tell(line)
    else yield unreadEvent(line)
  }
  yield* telling.end()
}

/** A file is named after its session or subagent, as its entries confirm. Ids of subagents are too short to be unique. */
function namesOf(
  fileName: string,
  { ofSession, ofAgent }: Telling,
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
    if ('problem' in read) {
      yield read
      continue
    }
    const made = entryOf(read.value)
    if ('problem' in made) yield { ...read, problem: made.problem, isTorn: false }
    else yield { at: placeOfLine(read), entry: made.entry, hash: hashOf(read.text) }
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/** The fields of a message without a content, as other agents write them to files that are otherwise of Claude Code's form. */
function unreadIn({ type, message }: JsonObject): string[] | undefined {
  if (type !== 'user' && type !== 'assistant') return undefined
  return isObject(message) && message.content !== undefined ? undefined : fieldNames(message)
}

/** Changes that Claude Code made to its requests and that the file does not fully describe, by type or subtype of the entry. */
const INCOMPLETE: { readonly [type: string]: string } = {
  microcompact_boundary: 'tool outputs that Claude Code had cleared are shown in full',
  'content-replacement': 'outputs that Claude Code had replaced are shown in full',
  'marble-origami-commit': 'messages that Claude Code had collapsed are shown in full',
}

/** Yields the events of entries, one after the other. */
class Telling {
  readonly branches = new Branches()
  readonly #undone: ReadonlySet<string>
  readonly #fields = new SessionFields()
  readonly #hashes = new Map<string, string>()
  readonly #times = new Map<string, number>()
  readonly #counts = new Map<
    string,
    { readonly at: Place; readonly kind: NoteEvent['kind']; count: number }
  >()
  /** Whether this is a session's own transcript, not a subagent's; the first message decides. */
  #isMain: boolean | undefined
  #ordinal = 0
  #at: Place = { line: 1 }
  /** The time of the last entry that has one. */
  #time: number | undefined

  /** `createdAt`: the beginning of the conversation, for lines before the first time. */
  constructor(undone: ReadonlySet<string>, createdAt: number | undefined) {
    this.#undone = undone
    this.#time = createdAt
  }

  /** Finds the place of an entry; `undefined` for a repeated one. */
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

  /** Its session, or the session of the subagent. */
  get ofSession(): string | undefined {
    return this.#fields.of('sessionId')
  }

  /** The name of a subagent's file; `undefined` for a session's own transcript. */
  get ofAgent(): string | undefined {
    const agent = this.#isMain === false ? this.#fields.of('agentId') : undefined
    return agent && `agent-${agent}`
  }

  /** The entries that remain to be rewound at the end. */
  settle(): Made | undefined {
    return this.branches.end(this.#ordinal)
  }

  *tell(given: Entry): Generator<SourceEvent, void, undefined> {
    const placed = this.place(given)
    if (placed === undefined) return
    const { at, entry, hash } = given
    const { facts, step } = placed
    this.#at = at
    this.#time = timeOf(entry.timestamp) ?? this.#time
    this.#noteMissing(entry, at)
    for (const why of step?.mended ?? []) this.#count(at, 'mended', why)
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

  /** The result at the end: fields of the session, and the number of repairs. */
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

  /** The key of an entry without a uuid: its bytes, and its index among equal ones, because earlier lines may be removed. */
  #keyOf({ timestamp }: JsonObject, hash: string): Pick<NewMessage, 'createdAt' | 'idempotencyKey'> {
    const nth = (this.#times.get(hash) ?? 0) + 1
    this.#times.set(hash, nth)
    const createdAt = timeOf(timestamp)
    const idempotencyKey = `%line-${hash}${nth === 1 ? '' : `-${nth}`}`
    return { idempotencyKey, ...(createdAt !== undefined && { createdAt }) }
  }

  #compaction({ id, kind, covers }: Made, entry: JsonObject, at: Place): SourceEvent {
    const createdAt = timeOf(entry.timestamp)
    const text = kind === 'condense' ? blockTexts((entry.message as JsonObject | undefined)?.content) : ''
    return {
      type: 'compaction',
      at,
      compaction: {
        id,
        // Without text there is no summary; its messages are hidden nevertheless.
        kind: kind === 'condense' && text === '' ? 'truncate' : kind,
        covers,
        ...(text !== '' && { text }),
        ...(createdAt !== undefined && { createdAt }),
        ...(kind === 'manual' && { reason: 'rewind' }),
        ...(this.#undone.has(id) && { undone: true }),
      },
    }
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

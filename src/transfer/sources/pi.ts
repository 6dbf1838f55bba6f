import { keyOfUuid } from '../../adapters/claude-agent-sdk/entry.ts'
import { type Pairing, pairToolUse, type ToolUse } from '../../core/messages/call-results.ts'
import { defined, isObject, type JsonObject } from '../../core/messages/json.ts'
import type { FieldsEvent, MessageEvent } from '../../store/history/import/import-types.ts'
import { type JsonLine, placeOfLine, readJsonLines, type Unread, unreadEvent } from '../lines.ts'
import {
  fieldNames,
  type Input,
  type Place,
  type ReadOptions,
  type Source,
  type SourceEvent,
  UNKNOWN_FORM,
} from '../source.ts'
import { branchNote, compactionEvent, entryOn, nameOf, timeOf, titleOf } from './fields.ts'
import { messageOfEntry, PI, silentEntry } from './pi-message.ts'

/*
 * The tree in one of pi's session files: its entries in short form, and the entries of each conversation. pi sends a path from the root to
 * a leaf, as compacted by the last compaction on it.
 */

/** An entry in short form, without content. */
type PiEntry = {
  readonly at: Place
  readonly type: string
  readonly id: string | undefined
  /** The index of the entry that it follows. */
  readonly parent: number | undefined
  readonly use: ToolUse | undefined
  /** For a compaction, the index of the first entry that it keeps; absent if that entry isn't in the file before it. */
  readonly firstKept: number | undefined
  readonly hasSummary: boolean
}

/** A conversation of the file. The header is its first row; the entries of the path follow. */
type PiBranch = {
  /** The first entry of a branch after it left another one; absent for the current branch. */
  readonly from: number | undefined
  /** The index of its last entry; absent for a file without entries. */
  readonly leaf: number | undefined
}

/** The coverage of a compaction: the rows from 1 to `to`. */
type PiCompaction = {
  readonly to: number
  readonly undone: boolean
  /** Whether it covers fewer rows than in pi, because otherwise it would have separated a call from its result. */
  readonly isShortened: boolean
}

/** The types of conversation entries. Other entries alone don't make a branch. */
const SPEAKING = new Set(['message', 'custom_message', 'branch_summary', 'compaction'])

const TYPES = new Set([
  ...SPEAKING,
  'model_change',
  'thinking_level_change',
  'custom',
  'label',
  'session_info',
])

class PiTree {
  readonly entries: PiEntry[] = []
  /** The indexes of entries whose parent doesn't precede them in the file. */
  readonly orphans = new Set<number>()
  readonly #byId = new Map<string, number>()
  /** Whether the file has version 1, which has no ids: each entry follows the one before it. */
  readonly #isLine: boolean

  constructor(version: unknown) {
    this.#isLine = typeof version !== 'number' || version < 2
  }

  /** Adds the next entry. Returns the reason why it is unreadable, or `undefined`. */
  add(entry: JsonObject, at: Place): string | undefined {
    const index = this.entries.length
    const { id, parentId, type } = entry
    if (!this.#isLine && (typeof id !== 'string' || id === '')) return 'an entry must have an id'
    const known = typeof parentId === 'string' ? this.#byId.get(parentId) : undefined
    const before = index === 0 ? undefined : index - 1
    if (!this.#isLine && typeof parentId === 'string' && known === undefined) this.orphans.add(index)
    this.entries.push({
      at,
      type: type as string,
      id: this.#isLine ? undefined : (id as string),
      parent: this.#isLine ? before : known,
      use: useOf(entry),
      firstKept: this.#firstKept(entry),
      hasSummary: typeof entry.summary === 'string' && entry.summary !== '',
    })
    if (!this.#isLine) this.#byId.set(id as string, index)
    return undefined
  }

  #firstKept({ firstKeptEntryId, firstKeptEntryIndex }: JsonObject): number | undefined {
    if (typeof firstKeptEntryId === 'string') return this.#byId.get(firstKeptEntryId)
    // Version 1 counts the header too.
    if (!this.#isLine || typeof firstKeptEntryIndex !== 'number') return undefined
    const index = firstKeptEntryIndex - 1
    return index >= 0 && index < this.entries.length ? index : undefined
  }

  /** Returns the current branch, which ends with the last entry, then the others in the order of their leaves. */
  branches(): PiBranch[] {
    const { entries } = this
    const parents = new Set(entries.map(({ parent }) => parent))
    const last = entries.length === 0 ? undefined : entries.length - 1
    const seen = new Set(this.pathTo(last))
    const branches: PiBranch[] = [{ from: undefined, leaf: last }]
    for (let leaf = 0; leaf < entries.length; leaf++) {
      if (parents.has(leaf) || seen.has(leaf)) continue
      let from = leaf
      let isSpoken = false
      // Each entry is visited once, because the entries before a seen entry have also been seen.
      for (let at: number | undefined = leaf; at !== undefined && !seen.has(at); at = entries[at]!.parent) {
        seen.add(at)
        from = at
        isSpoken ||= SPEAKING.has(entries[at]!.type)
      }
      if (isSpoken) branches.push({ from, leaf })
    }
    return branches
  }

  /** Returns the indexes of the entries from the root to a leaf. */
  pathTo(leaf: number | undefined): number[] {
    const path: number[] = []
    for (let at = leaf; at !== undefined; at = this.entries[at]!.parent) path.push(at)
    return path.reverse()
  }

  /** Returns the compactions of a path, by the index of their entry. */
  compactionsOf(path: readonly number[]): Map<number, PiCompaction> {
    const ordinals = new Map(path.map((index, at) => [index, at + 2] as const))
    const uses = [undefined, ...path.map((index) => this.entries[index]!.use)]
    const wholeCuts = wholeCutsOf(pairToolUse(uses).pairs, uses.length)
    const cuts = path.flatMap((index): (readonly [number, number, number])[] => {
      const { type, firstKept } = this.entries[index]!
      if (type !== 'compaction') return []
      const own = ordinals.get(index)!
      const kept = firstKept === undefined ? undefined : ordinals.get(firstKept)
      const wanted = (kept !== undefined && kept < own ? kept : own) - 1
      return [[index, wholeCuts[wanted]!, wanted]]
    })
    const compactions = new Map<number, PiCompaction>()
    let lowest = Number.POSITIVE_INFINITY
    for (const [index, to, wanted] of cuts.toReversed()) {
      // Only the last one counts, even if it keeps entries that an earlier one hid.
      compactions.set(index, { to, undone: lowest < to, isShortened: to !== wanted })
      lowest = Math.min(lowest, to)
    }
    return compactions
  }
}

/** Returns, for each number of rows, the largest number up to it after which a cut separates no call from its result. */
function wholeCutsOf(pairs: Pairing['pairs'], rows: number): number[] {
  const changes = new Array<number>(rows + 2).fill(0)
  for (const { call, result } of pairs) {
    changes[call.row + 1]! += 1
    changes[result.row + 1]! -= 1
  }
  let open = 0
  let whole = 0
  return changes.map((change, cut) => {
    open += change
    if (open === 0) whole = cut
    return whole
  })
}

function useOf({ type, message }: JsonObject): ToolUse | undefined {
  if (type !== 'message' || !isObject(message)) return undefined
  if (message.role === 'toolResult' && typeof message.toolCallId === 'string')
    return { calls: [], results: [{ part: 0, id: message.toolCallId }] }
  if (message.role !== 'assistant' || !Array.isArray(message.content)) return undefined
  const calls = message.content.flatMap((block: unknown, part) =>
    isObject(block) && block.type === 'toolCall' && typeof block.id === 'string'
      ? [{ part, id: block.id }]
      : [],
  )
  return calls.length === 0 ? undefined : { calls, results: [] }
}

/**
 * Sessions of pi, the coding agent. The branch with the last entry becomes the session; the other branches become separate conversations,
 * or are counted in a note. Every entry of a branch becomes a row, including bookkeeping.
 */
export const pi: Source = {
  name: PI,
  title: 'a session of pi',
  recognizes: ({ shape, values: [first] }) =>
    shape === 'lines' && isObject(first) && first.type === 'session' && typeof first.id === 'string',
  read,
}

async function* read(input: Input, options: ReadOptions): AsyncGenerator<SourceEvent, void, undefined> {
  const file = await survey(input)
  if (file === undefined) {
    yield { type: 'problem', at: { line: 1 }, why: 'the first line must be the header of a session' }
    return
  }
  const [current, ...others] = file.tree.branches()
  yield* branchEvents(input, file, current!, file.id)
  if (others.length > 0 && !options.branches) yield branchNote(file.at, others.length)
  if (!options.branches) return
  const ids = new Map(file.tree.pathTo(current!.leaf).map((index) => [index, file.id] as const))
  for (const branch of others) {
    const id = `${file.id}/${nameOfEntry(file, branch.from!)}`
    yield* branchEvents(input, file, branch, id, ids)
    for (const index of file.tree.pathTo(branch.leaf)) if (!ids.has(index)) ids.set(index, id)
  }
}

type Survey = {
  readonly id: string
  readonly header: JsonObject
  readonly at: Place
  readonly tree: PiTree
  readonly title: string | undefined
  /** By the number of the value in the file. */
  readonly problems: ReadonlyMap<number, JsonLine & Unread>
}

async function survey(input: Input): Promise<Survey | undefined> {
  let head: { readonly header: JsonObject; readonly at: Place; readonly tree: PiTree } | undefined
  let title: string | undefined
  const problems = new Map<number, JsonLine & Unread>()
  let nth = 0
  for await (const read of readJsonLines(input.bytes())) {
    nth += 1
    const line = entryOn(read)
    if ('problem' in line) {
      if (head === undefined && !line.isTorn) return undefined
      problems.set(nth, line)
      continue
    }
    const { entry } = line
    const at = placeOfLine(read)
    if (head === undefined) {
      if (entry.type !== 'session' || typeof entry.id !== 'string') return undefined
      head = { header: entry, at, tree: new PiTree(entry.version) }
      continue
    }
    const problem = head.tree.add(entry, at)
    if (problem !== undefined) problems.set(nth, { ...read, problem, isTorn: false })
    else if (entry.type === 'session_info') title = titleOf(entry.name)
  }
  return head && { ...head, id: head.header.id as string, title, problems }
}

async function* branchEvents(
  input: Input,
  file: Survey,
  branch: PiBranch,
  id: string,
  owners?: ReadonlyMap<number, string>,
): AsyncGenerator<SourceEvent, void, undefined> {
  const { tree, header, at } = file
  const path = tree.pathTo(branch.leaf)
  const parting = owners && path.findLast((index) => owners.has(index))
  const branchOf = owners && (owners.get(parting ?? -1) ?? file.id)
  yield { type: 'conversation', at, id, ...(branchOf !== undefined && { branchOf }) }
  yield headFields(file)
  const { version: _, ...kept } = header
  yield {
    type: 'message',
    at,
    message: { ...silentEntry(kept), idempotencyKey: '%session', ...created(header) },
  }
  const onPath = new Set(path)
  const compactions = tree.compactionsOf(path)
  let index = -1
  let model: FieldsEvent | undefined
  let ordinal = 1
  let nth = 0
  let hasBegun = false
  for await (const read of readJsonLines(input.bytes())) {
    nth += 1
    const problem = file.problems.get(nth)
    if (problem !== undefined) {
      if (owners === undefined) yield unreadEvent(problem)
      continue
    }
    // The header is the first entry.
    if (!hasBegun) {
      hasBegun = true
      continue
    }
    index += 1
    if (!onPath.has(index)) continue
    const { entry } = entryOn(read) as { readonly entry: JsonObject }
    const place = placeOfLine(read)
    ordinal += 1
    if (tree.orphans.has(index)) yield orphanNote(place)
    yield* entryEvents(entry, place, owners?.has(index) === true)
    const compaction = compactions.get(index)
    if (compaction !== undefined) yield* compactionEvents(entry, place, compaction, ordinal)
    model = modelOf(entry) ?? model
  }
  if (model !== undefined) yield model
}

/** Returns a name for an entry without an id (version 1), from its place, because files are only appended to. */
function nameOfPlace({ line, column = 1 }: Place): string {
  return `line-${line}${column === 1 ? '' : `:${column}`}`
}

/** `isShared`: the entry is also on the branch that this one left, where its usage counts. */
function* entryEvents(
  entry: JsonObject,
  at: Place,
  isShared: boolean,
): Generator<SourceEvent, void, undefined> {
  const message = messageOfEntry(entry)
  if (message === undefined) yield { type: 'note', at, kind: 'kept', why: UNKNOWN_FORM }
  const isUnread = message === undefined || !TYPES.has(entry.type as string)
  const idempotencyKey = keyOfUuid(entry.id) ?? `%${nameOfPlace(at)}`
  const found: MessageEvent['message'] = {
    ...(message ?? silentEntry(entry)),
    idempotencyKey,
    ...created(entry),
  }
  const isAdded = !isObject(entry.message) || entry.message.role !== 'user'
  const unread = fieldNames(isObject(entry.message) ? entry.message : entry)
  yield {
    type: 'message',
    at,
    message: found,
    ...(isShared && { usage: null }),
    ...(isUnread && { unread }),
    ...(isAdded && { added: true }),
  }
}

function* compactionEvents(
  entry: JsonObject,
  at: Place,
  { to, undone, isShortened }: PiCompaction,
  ordinal: number,
): Generator<SourceEvent, void, undefined> {
  const note = (why: string): SourceEvent => ({ type: 'note', at, kind: 'mended', why })
  if (isShortened) yield note('a compaction that separated a call from its result covers fewer messages')
  const { summary } = entry
  const hasText = typeof summary === 'string' && summary !== ''
  if (!hasText) yield note('a compaction without a summary hides what it covered')
  yield compactionEvent(at, {
    id: typeof entry.id === 'string' ? entry.id : nameOfPlace(at),
    kind: 'condense',
    covers: [[1, Math.min(to, ordinal - 1)]],
    text: hasText ? summary : '',
    createdAt: created(entry).createdAt,
    undone: undone || undefined,
  })
}

function headFields({ header, title }: Survey): FieldsEvent {
  const { type: _, id: __, timestamp: ___, ...metadata } = header
  return {
    type: 'fields',
    ...(title !== undefined && { title }),
    ...created(header),
    metadata,
    ...modelFields(header.provider, header.modelId),
  }
}

/** Returns the model in an entry, as a field of the session. */
function modelOf({ type, provider, modelId, message }: JsonObject): FieldsEvent | undefined {
  if (type === 'model_change') return { type: 'fields', ...modelFields(provider, modelId) }
  if (type !== 'message' || !isObject(message) || message.role !== 'assistant') return undefined
  return { type: 'fields', ...modelFields(message.provider, message.model) }
}

function modelFields(givenProvider: unknown, givenModel: unknown): Pick<FieldsEvent, 'provider' | 'model'> {
  return defined({ provider: nameOf(givenProvider), model: nameOf(givenModel) })
}

/** Returns the time of an entry; if its message has a time, that of the message. */
function created({ timestamp, message }: JsonObject): { readonly createdAt?: number } {
  const createdAt = (isObject(message) ? timeOf(message.timestamp) : undefined) ?? timeOf(timestamp)
  return createdAt === undefined ? {} : { createdAt }
}

function nameOfEntry({ tree }: Survey, index: number): string {
  const { id, at } = tree.entries[index]!
  return id ?? nameOfPlace(at)
}

function orphanNote(at: Place): SourceEvent {
  const why = 'the entry that it follows is not before it in the file, so the conversation begins here'
  return { type: 'note', at, kind: 'mended', why }
}

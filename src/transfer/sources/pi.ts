import { keyOfUuid } from '../../ecosystems/claude-agent-sdk/entry.ts'
import type { FieldsEvent, MessageEvent } from '../../history/import/import-event.ts'
import { isObject, type JsonObject } from '../../messages/json.ts'
import { type JsonLine, readJsonLines, UNFINISHED } from '../lines.ts'
import type { Input, ReadOptions, Source, SourceEvent } from '../source.ts'
import { entryOf, nameOf, timeOf, titleOf } from './entry-fields.ts'
import { messageOfEntry, PI, silentEntry } from './pi-message.ts'
import { type PiBranch, type PiCompaction, PiTree } from './pi-tree.ts'

/**
 * Sessions of pi, the coding agent. The branch that the last entry ends is the session; the other branches are conversations of their own,
 * or counted in a note. Every entry of a branch is a row, also those that say nothing.
 */
export const pi: Source = {
  name: PI,
  title: 'a session of pi',
  recognises: ({ shape, values: [first] }) =>
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
  yield* tellBranch(input, file, current!, file.id)
  if (others.length > 0 && !options.branches) yield branchNote(file, others)
  if (!options.branches) return
  const ids = new Map(current!.path.map((index) => [index, file.id] as const))
  for (const branch of others) {
    const id = `${file.id}/${nameOfEntry(file, branch.from!)}`
    yield* tellBranch(input, file, branch, id, ids)
    for (const index of branch.path) if (!ids.has(index)) ids.set(index, id)
  }
}

/** What a first reading finds. */
type Survey = {
  readonly id: string
  readonly header: JsonObject
  readonly line: number
  readonly tree: PiTree
  readonly title: string | undefined
  readonly problems: ReadonlyMap<number, string>
}

async function survey(input: Input): Promise<Survey | undefined> {
  let head: { readonly header: JsonObject; readonly line: number; readonly tree: PiTree } | undefined
  let title: string | undefined
  const problems = new Map<number, string>()
  for await (const read of readJsonLines(input.bytes())) {
    const entry = entryOn(read)
    if (head === undefined) {
      if (typeof entry === 'string' || entry.type !== 'session' || typeof entry.id !== 'string')
        return undefined
      head = { header: entry, line: read.line, tree: new PiTree(entry.version) }
      continue
    }
    const problem = typeof entry === 'string' ? entry : head.tree.add(entry, read.line)
    if (problem !== undefined) problems.set(read.line, problem)
    else if (typeof entry !== 'string' && entry.type === 'session_info') title = titleOf(entry.name)
  }
  return head && { ...head, id: head.header.id as string, title, problems }
}

/** The entry on a line, or why there is none. */
function entryOn(line: JsonLine): JsonObject | string {
  const read = 'problem' in line ? line : entryOf(line.value)
  return 'problem' in read ? read.problem : read.entry
}

async function* tellBranch(
  input: Input,
  file: Survey,
  branch: PiBranch,
  id: string,
  owners?: ReadonlyMap<number, string>,
): AsyncGenerator<SourceEvent, void, undefined> {
  const { tree, header, line } = file
  const at = { line }
  const parting = owners && branch.path.findLast((index) => owners.has(index))
  const branchOf = owners && (owners.get(parting ?? -1) ?? file.id)
  yield { type: 'conversation', at, id, ...(branchOf !== undefined && { branchOf }) }
  yield headFields(file)
  const { version: _, ...kept } = header
  yield {
    type: 'message',
    at,
    message: { ...silentEntry(kept), idempotencyKey: '%session', ...created(header) },
  }
  const onPath = new Set(branch.path)
  const compactions = tree.compactionsOf(branch.path)
  let index = -1
  let model: FieldsEvent | undefined
  let ordinal = 1
  for await (const read of readJsonLines(input.bytes())) {
    if (read.line <= line) continue
    const problem = file.problems.get(read.line)
    if (problem !== undefined) {
      if (owners !== undefined) continue
      yield 'problem' in read && !read.ended
        ? { type: 'note', at: { line: read.line }, kind: 'left-out', why: UNFINISHED }
        : { type: 'problem', at: { line: read.line }, why: problem }
      continue
    }
    index += 1
    if (!onPath.has(index)) continue
    const entry = entryOn(read) as JsonObject
    ordinal += 1
    if (tree.orphans.has(index)) yield orphanNote(read.line)
    yield* tellEntry(entry, read.line)
    const compaction = compactions.get(index)
    if (compaction !== undefined) yield* tellCompaction(entry, read.line, compaction, ordinal)
    model = modelOf(entry) ?? model
  }
  if (model !== undefined) yield model
}

function* tellEntry(entry: JsonObject, line: number): Generator<SourceEvent, void, undefined> {
  const message = messageOfEntry(entry)
  if (message === undefined)
    yield { type: 'note', at: { line }, kind: 'kept', why: 'a message of a form that is not known here' }
  // Version 1 has no ids; nothing is ever written between its lines.
  const idempotencyKey = keyOfUuid(entry.id) ?? `%line-${line}`
  const told: MessageEvent['message'] = {
    ...(message ?? silentEntry(entry)),
    idempotencyKey,
    ...created(entry),
  }
  yield { type: 'message', at: { line }, message: told }
}

function* tellCompaction(
  entry: JsonObject,
  line: number,
  { to, undone, mended }: PiCompaction,
  ordinal: number,
): Generator<SourceEvent, void, undefined> {
  const at = { line }
  const note = (why: string): SourceEvent => ({ type: 'note', at, kind: 'mended', why })
  if (mended) yield note('a compaction that parted a call from its result covers less')
  const { summary } = entry
  const hasText = typeof summary === 'string' && summary !== ''
  if (!hasText) yield note('a compaction without a summary hides what it covered')
  const { createdAt } = created(entry)
  yield {
    type: 'compaction',
    at,
    compaction: {
      id: typeof entry.id === 'string' ? entry.id : `line-${line}`,
      kind: hasText ? 'condense' : 'truncate',
      covers: [[1, Math.min(to, ordinal - 1)]],
      ...(hasText && { text: summary }),
      ...(createdAt !== undefined && { createdAt }),
      ...(undone && { undone }),
    },
  }
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

/** What an entry says of the model in use, as a field of the session. */
function modelOf({ type, provider, modelId, message }: JsonObject): FieldsEvent | undefined {
  if (type === 'model_change') return { type: 'fields', ...modelFields(provider, modelId) }
  if (type !== 'message' || !isObject(message) || message.role !== 'assistant') return undefined
  return { type: 'fields', ...modelFields(message.provider, message.model) }
}

function modelFields(givenProvider: unknown, givenModel: unknown): Pick<FieldsEvent, 'provider' | 'model'> {
  const [provider, model] = [nameOf(givenProvider), nameOf(givenModel)]
  return { ...(provider !== undefined && { provider }), ...(model !== undefined && { model }) }
}

/** When an entry was made: its message knows it best. */
function created({ timestamp, message }: JsonObject): { readonly createdAt?: number } {
  const createdAt = (isObject(message) ? timeOf(message.timestamp) : undefined) ?? timeOf(timestamp)
  return createdAt === undefined ? {} : { createdAt }
}

function nameOfEntry({ tree }: Survey, index: number): string {
  const { id, line } = tree.entries[index]!
  return id ?? `line-${line}`
}

function branchNote({ line }: Survey, { length }: readonly PiBranch[]): SourceEvent {
  const what = length === 1 ? 'a branch that is' : `${length} branches that are`
  return { type: 'note', at: { line }, kind: 'branch', why: `${what} not the current one: left out` }
}

function orphanNote(line: number): SourceEvent {
  const why = 'the entry it follows is not before it in the file: the conversation begins here'
  return { type: 'note', at: { line }, kind: 'mended', why }
}

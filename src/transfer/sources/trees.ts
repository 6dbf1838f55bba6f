import { isObject, type JsonObject } from '../../core/messages/json.ts'
import type { FieldsEvent } from '../../store/history/import/import-types.ts'
import { readHead } from '../head.ts'
import { placeOf, readElements, unitsIn } from '../json-elements.ts'
import type { Input, Place, ReadOptions, SourceEvent } from '../source.ts'
import { branchNote, fieldsBeside } from './fields.ts'

/*
 * Files of conversations whose messages form a tree: a list of conversations, a single one, or one per line. The current branch of a
 * conversation becomes a session; with `branches`, so do the others, each from the root.
 */

type Fields = { readonly [field: string]: unknown }

/** Reads the messages of one branch in order. */
export type BranchReader = {
  read(id: string, message: unknown): Iterable<SourceEvent>
  /** The number of messages without content, which are omitted. */
  readonly blank: number
}

/** The messages of a conversation, with the notes for any branch. */
export type TreeRead = { readonly tree: MessageTree; readonly notes?: readonly SourceEvent[] }

/** The format of a system's conversations. */
export type TreeForm = {
  /** The fields with the id of a conversation; the first one present counts. */
  readonly idFields: readonly string[]
  /** The field with the messages. */
  readonly messages: string
  /** The problem reported for a value without messages. */
  readonly missing: string
  treeOf(given: Fields, at: Place): TreeRead | undefined
  fieldsOf(fields: JsonObject): FieldsEvent
  readerAt(at: Place): BranchReader
}

/** Yields the events of a file, holding one conversation in memory at a time. */
export async function* readTrees(
  input: Input,
  options: ReadOptions,
  form: TreeForm,
): AsyncGenerator<SourceEvent, void, undefined> {
  const head = await readHead(input)
  const shape = 'head' in head ? head.head.shape : 'list'
  if (shape === 'object') return yield* conversation(await objectIn(input), { line: 1 }, options, form)
  for await (const { at, ...read } of unitsIn(input, shape)) {
    if ('value' in read) yield* conversation(read, at, options, form)
    else {
      yield { type: 'conversation', at }
      yield { type: 'problem', at, why: read.problem }
    }
  }
}

/** A conversation of the file, with other problems at the same place. */
type Given = { readonly value: unknown; readonly bad?: readonly SourceEvent[] }

async function objectIn(input: Input): Promise<Given> {
  const fields: (readonly [key: string, value: unknown])[] = []
  const bad: SourceEvent[] = []
  for await (const piece of readElements(input.bytes())) {
    if (piece.type === 'field') fields.push([piece.key, piece.value])
    else if (piece.type === 'problem') bad.push({ type: 'problem', at: placeOf(piece), why: piece.why })
  }
  return { value: Object.fromEntries(fields), bad }
}

function* conversation(
  { value, bad = [] }: Given,
  at: Place,
  { branches }: ReadOptions,
  form: TreeForm,
): Generator<SourceEvent, void, undefined> {
  const given = isObject(value) ? value : undefined
  const named = form.idFields.map((name) => given?.[name]).find(isName)
  const read = given === undefined ? undefined : form.treeOf(given, at)
  yield { type: 'conversation', at, ...(named !== undefined && { id: named }) }
  yield* bad
  if (given === undefined || read === undefined) {
    yield { type: 'problem', at, why: form.missing }
    return
  }
  const { tree, notes: items = [] } = read
  yield* items
  const others = tree.otherBranches
  if (!branches && others.length > 0) yield branchNote(at, others.length)
  yield* session(given, tree, tree.current, at, form)
  if (!branches) return
  for (const leaf of others) {
    const branch = named === undefined ? {} : { id: `${named}/${leaf}`, branchOf: named }
    yield { type: 'conversation', at, ...branch }
    yield* session(given, tree, leaf, at, form)
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function* session(
  given: Fields,
  tree: MessageTree,
  leaf: string | undefined,
  at: Place,
  form: TreeForm,
): Generator<SourceEvent, void, undefined> {
  const reader = form.readerAt(at)
  const { fields, problems } = fieldsBeside(given, [form.messages])
  for (const why of problems) yield { type: 'problem', at, why }
  yield form.fieldsOf(fields)
  if (leaf !== undefined && tree.isCut(leaf))
    yield {
      type: 'note',
      at,
      kind: 'mended',
      why: 'its first message follows a missing one, or itself, so the conversation begins there',
    }
  for (const node of leaf === undefined ? [] : tree.pathTo(leaf)) yield* reader.read(node.id, node.message)
  if (reader.blank === 0) return
  const count = reader.blank === 1 ? 'one message' : `${reader.blank} messages`
  yield { type: 'note', at, kind: 'left-out', why: `${count} without any content` }
}

/** A node of a conversation: a message, or the root, which has none. */
type MessageNode = { readonly id: string; readonly message: unknown }

/** Nodes by id, in file order, with their parent and message. */
type NodesById = ReadonlyMap<string, JsonObject>

/** The messages of a conversation as a tree. */
export type MessageTree = {
  /** The end of the current branch; `undefined` for a conversation without nodes. */
  readonly current: string | undefined
  /** The ends of the other branches, in the order of the file. */
  readonly otherBranches: readonly string[]
  /** Returns the path from the root to a node. It starts after a missing parent or a circle. */
  pathTo(id: string): readonly MessageNode[]
  /** Returns whether the path to a node starts after a missing parent or a circle. */
  isCut(id: string): boolean
}

/** Returns the tree of nodes. `current` is the end of the current branch if the file has one; otherwise the newest leaf. */
export function messageTree(
  nodes: NodesById,
  current: unknown,
  timeOf: (message: JsonObject) => number | undefined,
): MessageTree {
  const parents = new Set([...nodes.values()].map(({ parent }) => parent))
  const leaves = [...nodes.keys()].filter((id) => !parents.has(id))
  const isNamed = typeof current === 'string' && nodes.has(current)
  // If all nodes are in circles, there are no leaves.
  const ends = leaves.length > 0 ? leaves : [...nodes.keys()]
  const end = isNamed ? current : newest(ends, nodes, timeOf)
  const pathTo = (id: string): readonly MessageNode[] => path(id, nodes)
  const isCut = (id: string): boolean => typeof nodes.get(path(id, nodes)[0]?.id ?? '')?.parent === 'string'
  const onCurrent = new Set(end === undefined ? [] : pathTo(end).map((node) => node.id))
  const otherBranches = leaves.filter(hasOwnMessage(nodes, onCurrent))
  return { current: end, otherBranches, pathTo, isCut }
}

/**
 * Returns a function that returns whether the path to a node contains a message that isn't on another path. Results are cached for the
 * visited nodes, because branches share most of their path.
 */
function hasOwnMessage(nodes: NodesById, other: ReadonlySet<string>): (from: string) => boolean {
  const known = new Map<unknown, boolean>([...other].map((id) => [id, false]))
  return (from) => {
    const passed: string[] = []
    let id: unknown = from
    let isMore = false
    while (typeof id === 'string' && nodes.has(id) && !known.has(id) && !isMore) {
      const node: JsonObject = nodes.get(id)!
      passed.push(id)
      known.set(id, false)
      isMore = isObject(node.message)
      id = node.parent
    }
    isMore ||= known.get(id) === true
    for (const each of passed) known.set(each, isMore)
    return isMore
  }
}

function path(from: string, nodes: NodesById): MessageNode[] {
  const path: MessageNode[] = []
  const seen = new Set<string>()
  let id: unknown = from
  while (typeof id === 'string' && !seen.has(id)) {
    const node = nodes.get(id)
    if (node === undefined) break
    seen.add(id)
    path.push({ id, message: node.message ?? null })
    id = node.parent
  }
  return path.reverse()
}

/** Returns the newest leaf; the last one if there are no times. */
function newest(
  leaves: readonly string[],
  nodes: NodesById,
  timeOf: (message: JsonObject) => number | undefined,
): string | undefined {
  let best: string | undefined
  let bestTime = Number.NEGATIVE_INFINITY
  for (const leaf of leaves) {
    const message = nodes.get(leaf)?.message
    const time = (isObject(message) ? timeOf(message as JsonObject) : undefined) ?? 0
    if (time >= bestTime) {
      best = leaf
      bestTime = time
    }
  }
  return best
}

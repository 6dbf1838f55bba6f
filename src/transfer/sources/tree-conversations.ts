import { isObject, type JsonObject } from '../../core/messages/json.ts'
import type { FieldsEvent } from '../../store/history/import/import-types.ts'
import { readHead } from '../head.ts'
import { placeOf, readElements } from '../json-elements.ts'
import { placeOfLine, readJsonLines } from '../lines.ts'
import type { Input, Place, ReadOptions, SourceEvent } from '../source.ts'
import { fieldsBeside } from './claude-code-fields.ts'
import type { MessageTree } from './message-tree.ts'

/*
 * Files of conversations whose messages are a tree: a list of them, a single one, or one per line. The current branch of a conversation becomes a
 * session; with `branches` so do the others, each from the root.
 */

type Fields = { readonly [field: string]: unknown }

/** Reads the messages of one branch, in order. */
export type BranchReader = {
  read(id: string, message: unknown): Iterable<SourceEvent>
  /** The number of omitted messages without content. */
  readonly blank: number
}

/** The messages of a conversation, with the notes for any branch. */
export type TreeRead = { readonly tree: MessageTree; readonly notes?: readonly SourceEvent[] }

/** The format of a system's conversations. */
export type TreeForm = {
  /** Fields with the id of a conversation; the first one present counts. */
  readonly idFields: readonly string[]
  /** The field with the messages. */
  readonly messages: string
  /** The problem of a value without them. */
  readonly missing: string
  treeOf(given: Fields, at: Place): TreeRead | undefined
  fieldsOf(fields: JsonObject): FieldsEvent
  readerAt(at: Place): BranchReader
}

/** The events of a file, one conversation in memory at a time. */
export async function* readTrees(
  input: Input,
  options: ReadOptions,
  form: TreeForm,
): AsyncGenerator<SourceEvent, void, undefined> {
  for await (const { at, ...read } of conversationsIn(input)) {
    if ('value' in read) yield* conversation(read, at, options, form)
    else {
      yield { type: 'conversation', at }
      yield { type: 'problem', at, why: read.problem }
    }
  }
}

/** A conversation of the file, with other problems at its place; or why it is unreadable. */
type Unit = { readonly at: Place } & (Given | { readonly problem: string })
type Given = { readonly value: unknown; readonly bad?: readonly SourceEvent[] }

async function* conversationsIn(input: Input): AsyncGenerator<Unit, void, undefined> {
  const read = await readHead(input)
  const shape = 'head' in read ? read.head.shape : 'list'
  if (shape === 'lines') {
    for await (const each of readJsonLines(input.bytes())) yield { ...each, at: placeOfLine(each) }
    return
  }
  const fields: (readonly [key: string, value: unknown])[] = []
  const bad: SourceEvent[] = []
  for await (const piece of readElements(input.bytes())) {
    const at = placeOf(piece)
    if (piece.type === 'element') yield { at, value: piece.value }
    else if (piece.type === 'field') fields.push([piece.key, piece.value])
    else if (shape === 'object') bad.push({ type: 'problem', at, why: piece.why })
    else yield { at, problem: piece.why }
  }
  if (shape === 'object') yield { at: { line: 1 }, value: Object.fromEntries(fields), bad }
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
  if (!branches && others.length > 0) {
    const count = others.length === 1 ? 'one other branch was' : `${others.length} other branches were`
    yield { type: 'note', at, kind: 'branch', why: `${count} not imported` }
  }
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

/** The fields and the messages of one branch. */
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
      why: 'its first message follows one that is not in the file, or itself: it begins there',
    }
  for (const node of leaf === undefined ? [] : tree.pathTo(leaf)) yield* reader.read(node.id, node.message)
  if (reader.blank === 0) return
  const count = reader.blank === 1 ? 'one message' : `${reader.blank} messages`
  yield { type: 'note', at, kind: 'left-out', why: `${count} without any content` }
}

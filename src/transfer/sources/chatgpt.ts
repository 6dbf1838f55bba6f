import { isObject, type JsonObject } from '../../core/json.ts'
import { placeOf, readElements } from '../elements.ts'
import { readHead } from '../head.ts'
import { readJsonLines } from '../lines.ts'
import type { Input, Place, ReadOptions, Source, SourceEvent } from '../source.ts'
import { ChatgptMessages } from './chatgpt-messages.ts'
import { type ChatgptTree, treeOf } from './chatgpt-tree.ts'
import { fieldsBeside } from './entry-fields.ts'
import { moment } from './moment.ts'

/**
 * The export of ChatGPT, `conversations.json`: conversations as trees of messages. The branch a conversation stands on becomes a session; the
 * others are told with `branches`, each as the whole way from the root. What the neutral form has no place for stays in metadata.
 */
export const chatgpt: Source = {
  name: 'chatgpt',
  title: 'an export of ChatGPT',
  recognises: ({ values }) => {
    const trees = values.filter((value) => isObject(value) && isObject(value.mapping)).length
    return trees > 0 && trees * 2 >= values.length
  },
  read: readChatgpt,
}

async function* readChatgpt(
  input: Input,
  options: ReadOptions,
): AsyncGenerator<SourceEvent, void, undefined> {
  for await (const { at, ...read } of conversationsIn(input)) {
    if ('value' in read) yield* conversation(read, at, options)
    else {
      yield { type: 'conversation', at }
      yield { type: 'problem', at, why: read.problem }
    }
  }
}

/** A conversation of the file, with what else is wrong where it stands; or why there is none. */
type Unit = { readonly at: Place } & (Given | { readonly problem: string })
type Given = { readonly value: unknown; readonly bad?: readonly SourceEvent[] }

async function* conversationsIn(input: Input): AsyncGenerator<Unit, void, undefined> {
  const read = await readHead(input)
  const shape = 'head' in read ? read.head.shape : 'list'
  if (shape === 'lines') {
    for await (const { line, ...rest } of readJsonLines(input.bytes())) yield { at: { line }, ...rest }
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
): Generator<SourceEvent, void, undefined> {
  const given = isObject(value) ? value : undefined
  const id = [given?.conversation_id, given?.id].find((each) => typeof each === 'string' && each !== '')
  const named = typeof id === 'string' ? id : undefined
  const tree = given === undefined ? undefined : treeOf(given)
  yield { type: 'conversation', at, ...(named !== undefined && { id: named }) }
  if (given === undefined || tree === undefined) {
    yield* bad
    yield { type: 'problem', at, why: 'it is no conversation: it has no mapping of messages' }
    return
  }
  yield* bad
  const others = tree.otherBranches
  if (!branches && others.length > 0) {
    const count = others.length === 1 ? 'one other branch was' : `${others.length} other branches were`
    yield { type: 'note', at, kind: 'branch', why: `${count} not imported` }
  }
  yield* session(given, tree, tree.current, at)
  if (!branches) return
  for (const leaf of others) {
    const branch = named === undefined ? {} : { id: `${named}/${leaf}`, branchOf: named }
    yield { type: 'conversation', at, ...branch }
    yield* session(given, tree, leaf, at)
  }
}

/** The fields and the messages of one branch. */
function* session(
  given: { readonly [field: string]: unknown },
  tree: ChatgptTree,
  leaf: string | undefined,
  at: Place,
): Generator<SourceEvent, void, undefined> {
  const reader = new ChatgptMessages(at)
  const { fields, problems } = fieldsBeside(given, ['mapping'])
  for (const why of problems) yield { type: 'problem', at, why }
  yield fieldsOf(fields)
  if (leaf !== undefined && tree.isCut(leaf))
    yield {
      type: 'note',
      at,
      kind: 'mended',
      why: 'its first message follows one that is not in the file, or itself: it begins there',
    }
  for (const node of leaf === undefined ? [] : tree.pathTo(leaf)) yield* reader.read(node.id, node.message)
  yield* reader.end()
}

function fieldsOf({ title, create_time, default_model_slug, ...rest }: JsonObject): SourceEvent {
  const createdAt = moment(create_time)
  const model = default_model_slug
  return {
    type: 'fields',
    provider: 'openai',
    ...(typeof title === 'string' && title !== '' && { title }),
    ...(typeof model === 'string' && model !== '' && { model }),
    ...(createdAt !== undefined && { createdAt }),
    metadata: { ...rest, ...(create_time !== undefined && { create_time }) },
  }
}

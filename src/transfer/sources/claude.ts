import { isDeepStrictEqual } from 'node:util'
import { keptUnder } from '../../adapters/wire.ts'
import { indexOfText } from '../../core/messages/characters.ts'
import {
  defined,
  filledText,
  isObject,
  type Json,
  type JsonObject,
  jsonProblem,
} from '../../core/messages/json.ts'
import type { Part, Role, ToolCallPart, ToolResultPart } from '../../core/messages/message.ts'
import type { FieldsEvent } from '../../store/history/import/import-types.ts'
import type { Head, NoteEvent, Place, Source, SourceEvent } from '../source.ts'
import {
  CLAUDE,
  fileWord,
  type OnNote,
  outputOf,
  partOfBlock,
  unread,
  without,
  word,
} from './claude-blocks.ts'
import { DEPTH_KEPT, messageAt, moment } from './fields.ts'
import { type BranchReader, messageTree, readTrees, type TreeForm, type TreeRead } from './trees.ts'

const FORM: TreeForm = {
  idFields: ['uuid'],
  messages: 'chat_messages',
  missing: 'it is not a conversation: it has no list chat_messages',
  treeOf,
  fieldsOf: fieldsEvent,
  readerAt: (at) => new ClaudeMessages(at),
}

/**
 * The export of Claude's web page and apps, `conversations.json`, and single conversations in the form that the page receives, which also
 * contain their model and current branch. Fields without a place in the neutral form go into metadata.
 */
export const claude: Source = {
  name: 'claude',
  title: 'an export of Claude',
  recognizes: ({ values }) => {
    const talks = values.filter((value) => isObject(value) && Array.isArray(value.chat_messages)).length
    return talks > 0 && talks * 2 >= values.length
  },
  describeOther,
  read: (input, options) => readTrees(input, options, FORM),
}

function fieldsEvent({ name, created_at, model, ...rest }: JsonObject): FieldsEvent {
  return {
    type: 'fields',
    provider: 'anthropic',
    ...defined({ title: filledText(name), model: filledText(model), createdAt: moment(created_at) }),
    metadata: { ...rest, ...defined({ created_at }) },
  }
}

/** The other files of an export, by the fields of their values. */
const OTHER_FILES: readonly (readonly [fields: readonly string[], what: string])[] = [
  [['uuid', 'prompt_template', 'docs'], 'projects'],
  [['uuid', 'full_name', 'email_address'], 'users'],
  [['account_uuid', 'conversations_memory'], 'memories'],
]

function describeOther({ values }: Head): string | undefined {
  const [first] = values
  if (!isObject(first)) return undefined
  const what = OTHER_FILES.find(([fields]) => fields.every((name) => first[name] !== undefined))?.[1]
  return what && `the ${what} of a Claude export, without conversations (conversations.json contains them)`
}

/** The parent of a first message. */
const NO_PARENT = /^0{8}-0{4}-[04]000-[08]000-0{12}$/

/**
 * Reads the `chat_messages` of a conversation; `undefined` if there are none. Messages with parents form a tree; otherwise they are a
 * sequence. An export doesn't mark the current branch (the page does, in `current_leaf_message_uuid`), so the branch with the newest
 * message counts.
 */
export function treeOf(given: { readonly [field: string]: unknown }, at: Place): TreeRead | undefined {
  const list = given.chat_messages
  if (!Array.isArray(list)) return undefined
  const isTree = list.some((each) => isObject(each) && typeof each.parent_message_uuid === 'string')
  const nodes = new Map<string, JsonObject>()
  const items: SourceEvent[] = []
  let before: string | undefined
  for (const [i, value] of (list as readonly unknown[]).entries()) {
    const place = messageAt(at, i + 1)
    if (!isObject(value)) {
      items.push({ type: 'problem', at: place, why: 'message: must be an object' })
      continue
    }
    const id = idOf(value.uuid, i + 1)
    const known = nodes.get(id)
    if (known !== undefined) {
      items.push(repeatEvent(place, isDeepStrictEqual(placedOf(known.message).given, value)))
      continue
    }
    const parent = isTree ? parentOf(value) : before
    const message = { element: i + 1, given: value as JsonObject }
    nodes.set(id, { message, ...(parent !== undefined && { parent }) })
    before = id
  }
  return { tree: messageTree(nodes, given.current_leaf_message_uuid, timeOf), notes: items }
}

type PlacedGiven = { readonly element: number; readonly given: JsonObject }

function placedOf(message: unknown): PlacedGiven {
  return message as PlacedGiven
}

function idOf(uuid: unknown, element: number): string {
  return typeof uuid === 'string' && uuid !== '' ? uuid : `#${element}`
}

function parentOf({
  parent_message_uuid: parent,
}: {
  readonly [field: string]: unknown
}): string | undefined {
  return typeof parent === 'string' && parent !== '' && !NO_PARENT.test(parent) ? parent : undefined
}

function repeatEvent(at: Place, isSame: boolean): SourceEvent {
  if (isSame) return { type: 'note', at, kind: 'left-out', why: 'it repeats an earlier message' }
  return { type: 'problem', at, why: 'message.uuid: an earlier message has this uuid' }
}

function timeOf(message: JsonObject): number | undefined {
  return moment(placedOf(message).given.created_at)
}

/** An open call. `isOwn`: its id is from the export. `batch` identifies calls that were made together. */
type OpenCall = {
  readonly id: string
  readonly name: string
  readonly isOwn: boolean
  readonly batch: number
}

/**
 * Assigns results to their calls: by id if the export has ids; otherwise in order, by the name of the tool, among the last calls that were
 * made together.
 */
class ClaudeCalls {
  #open: OpenCall[] = []
  #batch = 0
  #isCalling = false

  /** Reads a `tool_use` block; `undefined` for a block without a name. `place` is unique within the conversation. */
  call(block: JsonObject, place: string): ToolCallPart | undefined {
    const name = filledText(block.name)
    if (name === undefined) return undefined
    if (!this.#isCalling) this.#batch += 1
    this.#isCalling = true
    const own = ownId(block)
    const id = own ?? place
    this.#open.push({ id, name, isOwn: own !== undefined, batch: this.#batch })
    const rest = without(block, ['type', 'name', 'input', ...(block.id === id ? ['id'] : [])])
    return {
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      input: block.input ?? null,
      ...keptUnder(CLAUDE, rest),
    }
  }

  /** Reads a `tool_result` block. A result without a call becomes a separate message. */
  result(block: JsonObject, place: string, path: string, onNote: OnNote): ToolResultPart {
    this.#isCalling = false
    const wanted = filledText(block.tool_use_id)
    const name = filledText(block.name)
    const call = this.#answered(wanted, name, () =>
      onNote(
        `${path}: the file does not say which of several calls it answers, so it is assigned to the first`,
        'mended',
      ),
    )
    const toolCallId = call?.id ?? wanted ?? place
    const toolName = call?.name ?? name
    const { output, rest } = outputOf(block, path, onNote)
    const names = ['type', 'content', 'is_error']
    if (toolCallId === wanted) names.push('tool_use_id')
    if (toolName === name) names.push('name')
    return {
      type: 'tool-result',
      toolCallId,
      ...(toolName !== undefined && { toolName }),
      output,
      ...keptUnder(CLAUDE, { ...without(block, names), ...rest }),
    }
  }

  /** Called for any other block: later calls aren't part of the same batch. */
  say(): void {
    this.#isCalling = false
  }

  /** Called for a user's message: open calls get no result. */
  forget(): void {
    this.#isCalling = false
    this.#open = []
  }

  #answered(wanted: string | undefined, name: string | undefined, onDoubt: () => void): OpenCall | undefined {
    const isFit = (call: OpenCall): boolean =>
      call.batch === this.#batch &&
      (wanted === undefined || !call.isOwn) &&
      (name === undefined || call.name === name)
    const byId = this.#open.find(({ id, isOwn }) => isOwn && id === wanted)
    const fit = byId === undefined ? this.#open.filter(isFit) : [byId]
    if (fit.length > 1) onDoubt()
    const [found] = fit
    if (found !== undefined) this.#open.splice(this.#open.indexOf(found), 1)
    return found
  }
}

/** Returns the id of a call: its own field, or a field in its input. */
function ownId({ id, input }: JsonObject): string | undefined {
  return filledText(id) ?? (isObject(input) ? filledText(input._tool_call_id) : undefined)
}

/** The text that Claude's page writes for blocks that an old reader can't show. */
const PLACEHOLDER =
  /```\s*(?:This block is not supported on your current device yet\.[^\S\n]*|Viewing artifacts created via [^\n`]*)(?:\n\s*)?```/g

/**
 * Returns the part of a message's field `text` that isn't in its blocks: an export repeats the texts of the blocks there, with placeholders
 * for calls and results. `words` are the texts of the blocks in order. Returns `undefined` if nothing is left.
 */
export function missingTextOf(text: string, words: readonly string[]): string | undefined {
  const shown = text.replace(PLACEHOLDER, '')
  let at = 0
  let rest = ''
  for (const each of words) {
    const written = each.trim()
    const found = indexOfText(shown, written, at)
    if (found < 0) continue
    rest += shown.slice(at, found)
    at = found + written.length
  }
  rest += shown.slice(at)
  return rest.trim() === '' ? undefined : rest
}

const SPEAKERS: ReadonlyMap<unknown, Role> = new Map<unknown, Role>([
  ['human', 'user'],
  ['assistant', 'assistant'],
])

/** Blocks that contain only times, possibly between results. They are stored in the metadata. */
const BUDGET = 'token_budget'

/** Messages made from one message of the export, because results must be in separate messages. */
type Piece = { readonly role: Role; readonly parts: Part[] }

class ClaudeMessages implements BranchReader {
  readonly #at: Place
  readonly #calls = new ClaudeCalls()
  blank = 0

  constructor(at: Place) {
    this.#at = at
  }

  *read(id: string, node: unknown): Generator<SourceEvent, void, undefined> {
    const { element, given } = placedOf(node)
    const at = messageAt(this.#at, element)
    const why = problemOf(given)
    if (why !== undefined) yield { type: 'problem', at, why }
    else yield* this.#readMessage(id, given, at)
  }

  *#readMessage(id: string, given: JsonObject, at: Place): Generator<SourceEvent, void, undefined> {
    const notes: NoteEvent[] = []
    const { pieces, isMore } = this.#piecesOf(id, given, (why, kind = 'kept') => {
      notes.push({ type: 'note', at, kind, why })
    })
    if (pieces.length === 0) this.blank += 1
    const createdAt = moment(given.created_at)
    for (const [i, { role, parts }] of pieces.entries()) {
      const message = {
        role,
        content: parts,
        idempotencyKey: i === 0 ? `${CLAUDE}:${id}` : `${CLAUDE}:${id}/${i + 1}`,
        ...(createdAt !== undefined && { createdAt }),
        metadata: { [CLAUDE]: i === 0 ? about(id, given, isMore) : { uuid: id, piece: i + 1 } },
      }
      yield { type: 'message', at, message }
    }
    yield* notes
  }

  /**
   * Returns the pieces of a message. If no block has text, its field `text` is one of them. `isMore`: the field contains more than the
   * blocks.
   */
  #piecesOf(id: string, given: JsonObject, onNote: OnNote): { pieces: readonly Piece[]; isMore: boolean } {
    const role = SPEAKERS.get(given.sender)!
    const pieces = this.#piecesOfBlocks(id, blocksOf(given), role, onNote)
    if (role === 'user' && pieces.every((piece) => piece.role !== 'tool')) this.#calls.forget()
    const words = pieces.flatMap(({ parts }) => parts.flatMap(wordsOf))
    const shown = typeof given.text === 'string' ? missingTextOf(given.text, words) : undefined
    const isSpoken = pieces.some(({ parts }) => parts.some(({ type }) => type === 'text'))
    if (shown !== undefined && !isSpoken) put(pieces, role, { type: 'text', text: shown })
    for (const part of filesOf(given, onNote)) put(pieces, role, part)
    return { pieces, isMore: shown !== undefined && isSpoken }
  }

  #piecesOfBlocks(id: string, blocks: readonly Json[], role: Role, onNote: OnNote): Piece[] {
    const pieces: Piece[] = []
    for (const [i, block] of blocks.entries()) {
      const path = `content[${i}]`
      const place = `${id}-${i + 1}`
      const type = isObject(block) ? block.type : undefined
      if (type === 'tool_result')
        put(pieces, 'tool', this.#calls.result(block as JsonObject, place, path, onNote))
      else if (type === 'tool_use') {
        const call = role === 'assistant' ? this.#calls.call(block as JsonObject, place) : undefined
        put(pieces, role, call ?? unread(block, path, onNote))
      } else if (type !== BUDGET) {
        const part = partOfBlock(block, path, onNote)
        if (part !== undefined) this.#calls.say()
        put(pieces, role, part)
      }
    }
    return pieces
  }
}

function problemOf(given: JsonObject): string | undefined {
  if (!SPEAKERS.has(given.sender)) return 'message.sender: must be human or assistant'
  const { content } = given
  const isContent = content === undefined || content === null || typeof content === 'string'
  if (!isContent && !Array.isArray(content)) return 'message.content: must be an array'
  const problem = jsonProblem(given, DEPTH_KEPT)
  return problem === undefined ? undefined : `message: contains ${problem}`
}

function blocksOf({ content }: JsonObject): readonly Json[] {
  if (typeof content === 'string') return [content]
  return Array.isArray(content) ? content : []
}

/** Appends a part to the last piece if the role is the same; otherwise as a new piece. */
function put(pieces: Piece[], role: Role, part: Part | undefined): void {
  if (part === undefined) return
  const last = pieces.at(-1)
  if (last?.role === role) last.parts.push(part)
  else pieces.push({ role, parts: [part] })
}

function wordsOf(part: Part): string[] {
  return part.type === 'text' || part.type === 'reasoning' ? [part.text] : []
}

/** Returns a user's attachments: extracted texts of files, and words for files that aren't in the export. */
function filesOf(given: JsonObject, onNote: OnNote): Part[] {
  const attached = objectsIn(given.attachments).map((attachment, i): Part => {
    const { extracted_content: text, ...rest } = attachment
    if (typeof text !== 'string' || text.trim() === '')
      return word(false, rest.file_name, { attachment }, `attachments[${i}]`, onNote)
    const providerOptions = { [CLAUDE]: { attachment: rest } }
    return { type: 'text', text: `${fileWord(false, rest.file_name)}\n${text}`, providerOptions }
  })
  const files = objectsIn(given.files).map((file, i) =>
    word(file.file_kind === 'image', file.file_name, { file }, `files[${i}]`, onNote),
  )
  return [...attached, ...files]
}

/** Returns a list of objects; empty if the list contains anything else, in which case the field stays in the metadata. */
function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) && value.every(isObject) ? (value as readonly JsonObject[]) : []
}

function about(id: string, given: JsonObject, isMore: boolean): JsonObject {
  const names = ['content', 'sender']
  if (!isMore) names.push('text')
  if (given.uuid === id) names.push('uuid')
  for (const name of ['attachments', 'files']) if (objectsIn(given[name]).length > 0) names.push(name)
  const budgets = blocksOf(given).flatMap((block, i): JsonObject[] =>
    isObject(block) && block.type === BUDGET ? [{ block: i, ...without(block as JsonObject, ['type']) }] : [],
  )
  return {
    ...without(given, names),
    ...(budgets.length > 0 && { [BUDGET]: budgets }),
  }
}

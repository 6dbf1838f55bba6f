import { isObject, type Json, type JsonObject, jsonProblem } from '../../messages/json.ts'
import type { Part, Role } from '../../messages/message.ts'
import type { NoteEvent, Place, SourceEvent } from '../source.ts'
import { CLAUDE, fileWord, type OnNote, partOfBlock, unread, without, word } from './claude-blocks.ts'
import { ClaudeCalls } from './claude-calls.ts'
import { messageAt, placedOf } from './claude-tree.ts'
import { unsaidOf } from './claude-unsaid.ts'
import { DEPTH_KEPT } from './entry-fields.ts'
import { moment } from './moment.ts'
import type { BranchReader } from './tree-conversations.ts'

const SPEAKERS: ReadonlyMap<unknown, Role> = new Map<unknown, Role>([
  ['human', 'user'],
  ['assistant', 'assistant'],
])

/** Blocks that say no more than when they came, and stand between results too: they are kept in the metadata. */
const BUDGET = 'token_budget'

/** What one message of the export becomes: calls and results stand in messages of their own. */
type Piece = { readonly role: Role; readonly parts: Part[] }

/** Reads the messages of one branch, in order. */
export class ClaudeMessages implements BranchReader {
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

  /** The pieces of a message. Its field `text` is one of them where no block says a text; `isMore` where blocks do, and it says more. */
  #piecesOf(id: string, given: JsonObject, onNote: OnNote): { pieces: readonly Piece[]; isMore: boolean } {
    const role = SPEAKERS.get(given.sender)!
    const pieces = this.#piecesOfBlocks(id, blocksOf(given), role, onNote)
    if (role === 'user' && pieces.every((piece) => piece.role !== 'tool')) this.#calls.forget()
    const words = pieces.flatMap(({ parts }) => parts.flatMap(wordsOf))
    const unsaid = typeof given.text === 'string' ? unsaidOf(given.text, words) : undefined
    const isSpoken = pieces.some(({ parts }) => parts.some(({ type }) => type === 'text'))
    if (unsaid !== undefined && !isSpoken) put(pieces, role, { type: 'text', text: unsaid })
    for (const part of filesOf(given, onNote)) put(pieces, role, part)
    return { pieces, isMore: unsaid !== undefined && isSpoken }
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
  if (!isContent && !Array.isArray(content)) return 'message.content: must be a list'
  const problem = jsonProblem(given, DEPTH_KEPT)
  return problem === undefined ? undefined : `message: holds ${problem}`
}

function blocksOf({ content }: JsonObject): readonly Json[] {
  if (typeof content === 'string') return [content]
  return Array.isArray(content) ? content : []
}

/** Puts a part behind the others: to the last piece where the same one speaks. */
function put(pieces: Piece[], role: Role, part: Part | undefined): void {
  if (part === undefined) return
  const last = pieces.at(-1)
  if (last?.role === role) last.parts.push(part)
  else pieces.push({ role, parts: [part] })
}

function wordsOf(part: Part): string[] {
  return part.type === 'text' || part.type === 'reasoning' ? [part.text] : []
}

/** What a person gave along: texts as they were taken out of files, and words for what is not in the export. */
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

/** A list of objects; none where anything else is in it, which then stays in the metadata. */
function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) && value.every(isObject) ? (value as readonly JsonObject[]) : []
}

/** Everything of a message that has no place elsewhere. */
function about(id: string, given: JsonObject, isMore: boolean): JsonObject {
  const told = ['content', 'sender']
  if (!isMore) told.push('text')
  if (given.uuid === id) told.push('uuid')
  for (const name of ['attachments', 'files']) if (objectsIn(given[name]).length > 0) told.push(name)
  const budgets = blocksOf(given).flatMap((block, i): JsonObject[] =>
    isObject(block) && block.type === BUDGET ? [{ block: i, ...without(block as JsonObject, ['type']) }] : [],
  )
  return {
    ...without(given, told),
    ...(budgets.length > 0 && { [BUDGET]: budgets }),
  }
}

import { keptUnder } from '../../adapters/wire.ts'
import { indexOfText } from '../../core/messages/characters.ts'
import { filledText, isObject, type Json, type JsonObject, jsonProblem } from '../../core/messages/json.ts'
import type { Part, Role, ToolCallPart, ToolResultPart } from '../../core/messages/message.ts'
import type { NoteEvent, Place, SourceEvent } from '../source.ts'
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
import { DEPTH_KEPT, moment } from './claude-code-fields.ts'
import { messageAt, placedOf } from './claude-tree.ts'
import type { BranchReader } from './tree-conversations.ts'

/** An open call. `isOwn`: its id is from the export. `batch` identifies calls that were made together. */
type OpenCall = {
  readonly id: string
  readonly name: string
  readonly isOwn: boolean
  readonly batch: number
}

/**
 * Assigns results to their calls: by id if the export has them, else by the name of the tool, in order, among the last calls that were made
 * together.
 */
class ClaudeCalls {
  #open: OpenCall[] = []
  #batch = 0
  #isCalling = false

  /** A block `tool_use`; `undefined` for one without a name. `place` is unique within the conversation. */
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

  /** A block `tool_result`. One without a call is a message of its own. */
  result(block: JsonObject, place: string, path: string, onNote: OnNote): ToolResultPart {
    this.#isCalling = false
    const wanted = filledText(block.tool_use_id)
    const name = filledText(block.name)
    const call = this.#answered(wanted, name, () =>
      onNote(
        `${path}: the file does not say which of several calls it answers: it is put to the first`,
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

  /** Another block: later calls are not part of the same batch. */
  say(): void {
    this.#isCalling = false
  }

  /** A user's message: open calls get no result. */
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

/** The id of a call: its own field, or one in its input. */
function ownId({ id, input }: JsonObject): string | undefined {
  return filledText(id) ?? (isObject(input) ? filledText(input._tool_call_id) : undefined)
}

/** The text that Claude's page writes for blocks that an old reader cannot show. */
const STAND_IN =
  /```\s*(?:This block is not supported on your current device yet\.[^\S\n]*|Viewing artifacts created via [^\n`]*)(?:\n\s*)?```/g

/**
 * The part of a message's field `text` that its blocks do not contain: an export repeats the texts of the blocks there, with placeholders for
 * calls and results. `words` are the texts of the blocks in order. Returns `undefined` when nothing is left.
 */
export function missingTextOf(text: string, words: readonly string[]): string | undefined {
  const shown = text.replace(STAND_IN, '')
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

/** Blocks with times only, also between results: they are stored in the metadata. */
const BUDGET = 'token_budget'

/** The messages of one message of the export: results are in messages of their own. */
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

  /** The pieces of a message. Its field `text` is one of them if no block has text; `isMore` if it contains more than the blocks. */
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
  if (!isContent && !Array.isArray(content)) return 'message.content: must be a list'
  const problem = jsonProblem(given, DEPTH_KEPT)
  return problem === undefined ? undefined : `message: holds ${problem}`
}

function blocksOf({ content }: JsonObject): readonly Json[] {
  if (typeof content === 'string') return [content]
  return Array.isArray(content) ? content : []
}

/** Appends a part: to the last piece if it has the same role. */
function put(pieces: Piece[], role: Role, part: Part | undefined): void {
  if (part === undefined) return
  const last = pieces.at(-1)
  if (last?.role === role) last.parts.push(part)
  else pieces.push({ role, parts: [part] })
}

function wordsOf(part: Part): string[] {
  return part.type === 'text' || part.type === 'reasoning' ? [part.text] : []
}

/** A user's attachments: extracted texts of files, and words for files that are not in the export. */
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

/** A list of objects; empty if it contains anything else, and the field then stays in the metadata. */
function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) && value.every(isObject) ? (value as readonly JsonObject[]) : []
}

/** The remaining fields of a message. */
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

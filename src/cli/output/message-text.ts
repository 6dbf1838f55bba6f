import { withoutTrailing } from '../../core/messages/characters.ts'
import { stringifyJson } from '../../core/messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  isFailed,
  isReasoning,
  outputText,
  type Part,
  type StoredMessage,
  type ToolResultOutput,
} from '../../core/messages/message.ts'
import { withReplacements } from '../../core/messages/overlay.ts'
import type { Style } from '../command.ts'
import { bytes, counted } from './figures.ts'
import { safeLine, safeText } from './safe-text.ts'

/** A piece of a message for people. */
export type Piece = {
  readonly kind: 'text' | 'reasoning' | 'call' | 'result' | 'failure' | 'media'
  /** One line above the text; absent for plain text. */
  readonly head?: string
  /** Stored text, made safe. */
  readonly text: string
}

/** The content of a row in the view, if it was read with `shown`; the original of a hidden row. */
export function viewContent({ content, hidden, shown }: StoredMessage): StoredMessage['content'] {
  if (hidden || shown === undefined) return content
  const texts = new Map(shown.map(({ part, text }) => [part, text] as const))
  return withReplacements(content, (part) => texts.get(part))
}

/** The style of a row: by its role, or that of an inserted row. */
export function rowStyle(
  { kind, role }: Pick<StoredMessage, 'kind' | 'role'>,
  style: Style,
): Style[keyof Style] {
  const byRole = { user: style.cyan, assistant: style.green, tool: style.blue, system: style.yellow }
  return kind === 'message' ? byRole[role] : style.magenta
}

/** Characters of a message that one line may show. */
const MAX_LINE_LENGTH = 400

/** The beginning of a message, on one line. */
export function beginningOf(parts: readonly Part[]): string {
  const pieces = shownPieces(parts, false)
  const text = pieces
    .map((piece) => (piece.head === undefined ? piece.text : `${piece.head}: ${piece.text}`))
    .join(' ')
  const line = safeLine(text.slice(0, MAX_LINE_LENGTH).replace(/\s+/g, ' ').trim())
  return text.length > MAX_LINE_LENGTH ? `${line}…` : line || '(empty)'
}

/** The pieces of a message, in order. With `fold` only the beginnings of tool outputs. */
export function shownPieces(parts: readonly Part[], fold: boolean): Piece[] {
  return parts.flatMap((part) => pieceOf(part, fold))
}

function pieceOf(part: Part, fold: boolean): Piece | readonly Piece[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : { kind: 'text', text: withoutTrailing(safeText(part.text), '\n') }
    case 'reasoning':
      return part.text === '' ? [] : { kind: 'reasoning', head: 'reasoning', text: safeText(part.text) }
    case 'tool-call':
      return { kind: 'call', text: safeText(`→ ${part.toolName} ${stringifyJson(part.input)}`) }
    case 'tool-result':
      return resultPiece(part.toolName, part.output, fold)
    case 'image':
    case 'file':
      return { kind: 'media', text: mediaLine(part) }
    case 'provider':
      return { kind: 'media', text: opaque(isReasoning(part) ? 'reasoning' : 'a part', part.provider) }
  }
}

function resultPiece(tool: string | undefined, output: ToolResultOutput, fold: boolean): Piece {
  const whole = [outputText(output), ...mediaOf(output)].filter((text) => text !== '').join('\n')
  const failed = isFailed(output)
  // Results of Claude Code don't name the tool; their calls do.
  const words = `${tool === undefined ? '' : ` ${tool}`}${failed ? ' failed' : ''}`
  const size = bytes(Buffer.byteLength(whole))
  return {
    kind: failed ? 'failure' : 'result',
    head: safeText(`←${words}${words === '' ? '' : ','} ${size}`),
    text: fold ? folded(safeText(whole)) : withoutTrailing(safeText(whole), '\n'),
  }
}

const FOLDED_LINES = 8
const FOLDED_CHARACTERS = 2_000

/** The beginning of a long text, how much is left out, and the option that shows all of it. */
export function folded(text: string, option = '--no-fold'): string {
  const lines = withoutTrailing(text, '\n').split('\n')
  const few = lines.slice(0, FOLDED_LINES).join('\n')
  const kept = few.length > FOLDED_CHARACTERS ? `${few.slice(0, FOLDED_CHARACTERS)}…` : few
  if (kept === lines.join('\n')) return kept
  const more = lines.length - FOLDED_LINES
  const rest = more > 0 ? counted(more, 'more line') : 'the rest of a long line'
  return `${kept}\n… ${rest}; ${option} shows all`
}

function mediaOf(output: ToolResultOutput): string[] {
  if (output.type !== 'content') return []
  return output.value.flatMap((item) => {
    if (item.type === 'image' || item.type === 'file') return [mediaLine(item)]
    return item.type === 'provider' ? [opaque('a part', item.provider)] : []
  })
}

/** The line for a part whose content can't be shown. */
function opaque(what: string, provider: string): string {
  return safeText(`[${what} that only ${provider} can read]`)
}

/** `[image image/png, 12.3 KB]`, `[file report.pdf application/pdf, 1.2 MB]`, or its address instead of its size. */
function mediaLine(part: ImagePart | FilePart): string {
  const data = part.type === 'image' ? part.image : part.data
  const name = part.type === 'file' && part.filename !== undefined ? ` ${part.filename}` : ''
  const type = part.mediaType === undefined ? '' : ` ${part.mediaType}`
  return safeText(`[${part.type}${name}${type}, ${sizeOf(data)}]`).replaceAll('\n', '␊')
}

function sizeOf(data: string | Uint8Array): string {
  if (typeof data !== 'string') return bytes(data.byteLength)
  if (/^https?:/i.test(data)) return data
  const base64 = data.startsWith('data:') ? data.slice(data.indexOf(',') + 1) : data
  return bytes(Math.floor((withoutTrailing(base64, '=').length * 3) / 4))
}

import { withoutTrailing } from '../../messages/characters.ts'
import { stringifyJson } from '../../messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  isFailed,
  isReasoning,
  outputText,
  type Part,
  type ToolResultContent,
  type ToolResultOutput,
} from '../../messages/message.ts'
import { bytes, counted } from '../output/figures.ts'
import { safeText } from '../output/safe-text.ts'

/** A piece of a message for people: lines of text, and what they are. */
export type Piece = {
  readonly kind: 'text' | 'reasoning' | 'call' | 'result' | 'failure' | 'media'
  /** One line above the text, absent for plain text. */
  readonly head?: string
  /** Stored text, made safe. */
  readonly text: string
}

/** Lines of a result that are shown before it is folded. */
const FOLDED_LINES = 8
/** Letters of them. */
const FOLDED_LETTERS = 2_000

/** What a message says, in order. With `fold` the outputs of tools are shown by their beginning, with what is left out. */
export function piecesOf(parts: readonly Part[], fold: boolean): Piece[] {
  return parts.flatMap((part) => pieceOf(part, fold))
}

function pieceOf(part: Part, fold: boolean): Piece | readonly Piece[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : { kind: 'text', text: withoutEnd(safeText(part.text)) }
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
      return {
        kind: 'media',
        text: safeText(`[${isReasoning(part) ? 'reasoning' : 'a part'} only ${part.provider} can read]`),
      }
  }
}

function resultPiece(tool: string | undefined, output: ToolResultOutput, fold: boolean): Piece {
  const whole = [outputText(output), ...mediaOf(output)].filter((text) => text !== '').join('\n')
  const failed = isFailed(output)
  // Results of Claude Code name no tool; their calls do.
  const said = `${tool === undefined ? '' : ` ${tool}`}${failed ? ' failed' : ''}`
  const size = bytes(Buffer.byteLength(whole))
  return {
    kind: failed ? 'failure' : 'result',
    head: safeText(`←${said}${said === '' ? '' : ','} ${size}`),
    text: fold ? folded(safeText(whole)) : withoutEnd(safeText(whole)),
  }
}

/** Line breaks at an end say nothing to people. */
function withoutEnd(text: string): string {
  return withoutTrailing(text, '\n')
}

/** The beginning of a long text, and how much is left out. */
export function folded(text: string, option = '--no-fold'): string {
  const lines = withoutEnd(text).split('\n')
  const few = lines.slice(0, FOLDED_LINES).join('\n')
  const kept = few.length > FOLDED_LETTERS ? `${few.slice(0, FOLDED_LETTERS)}…` : few
  if (kept === lines.join('\n')) return kept
  const more = lines.length - FOLDED_LINES
  const rest = more > 0 ? counted(more, 'more line') : 'the rest of a long line'
  return `${kept}\n… ${rest}; ${option} shows all`
}

function mediaOf(output: ToolResultOutput): string[] {
  if (output.type !== 'content') return []
  return output.value.flatMap((item: ToolResultContent) => {
    if (item.type === 'image' || item.type === 'file') return [mediaLine(item)]
    return item.type === 'provider' ? [safeText(`[a part only ${item.provider} can read]`)] : []
  })
}

/** `[image image/png, 12.3 KB]`, `[file report.pdf application/pdf, 1.2 MB]`, or where it is. */
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

import { markupPieces } from '../../core/messages/client-markup.ts'
import { compactionBlock } from '../../core/messages/compaction-block.ts'
import { stringifyJson } from '../../core/messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  isFailed,
  type Part,
  partsOf,
  type ShownText,
  type StoredMessage,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import { BROKEN_OFF, brokenOff } from '../../core/messages/stop-reason.ts'
import type { DocumentSettings } from './options.ts'
import { counted, figure, size } from './options.ts'

/* The content of a message in a document, the same for Markdown and HTML. Texts are unchanged; the writers escape them. */

/** The text of a message. */
type Prose = { readonly type: 'prose'; readonly text: string }

/** Verbatim text: arguments, outputs. */
export type Code = {
  readonly type: 'code'
  readonly text: string
  readonly language: 'json' | ''
  /** The size of the omitted rest, if the text was cut. */
  readonly left: string | undefined
}

export type Block =
  | Prose
  | Code
  | { readonly type: 'reasoning'; readonly text: string }
  /** Text that a client added to a user's message. */
  | { readonly type: 'added'; readonly text: string }
  | { readonly type: 'picture'; readonly picture: Picture; readonly words: string }
  /** An image or a file that is only named, with its URL if it has one; or a note that an answer was interrupted. */
  | { readonly type: 'media'; readonly words: string; readonly address?: string | undefined }
  | { readonly type: 'call'; readonly name: string; readonly id: string; readonly input: Code }
  | {
      readonly type: 'result'
      readonly name: string | undefined
      readonly id: string
      readonly failed: boolean
      readonly output: readonly Block[]
    }
  | { readonly type: 'provider'; readonly provider: string; readonly data: Code }
  /** A replaced part: the shown text, and the original unless it is omitted. */
  | {
      readonly type: 'replacement'
      readonly compactionId: string
      /** The tool of a replaced output. */
      readonly tool: { readonly name: string | undefined; readonly id: string } | undefined
      readonly shown: string
      readonly size: string
      readonly original: readonly Block[]
    }

/** Returns the blocks of a message, in order. */
export function blocksOf(row: StoredMessage, settings: DocumentSettings): Block[] {
  const why = brokenOff(row)
  const isUsers = row.role === 'user' && row.kind === 'message'
  const blocks = partsOf(row).flatMap((part, index): Block[] => {
    const blocks = isUsers && part.type === 'text' ? writtenBlocks(part.text) : blocksOfPart(part, settings)
    const shown = row.shown?.find((one) => one.part === index)
    return shown === undefined ? blocks : [replacementOf(shown, part, blocks, settings)]
  })
  return why === undefined ? blocks : [...blocks, { type: 'media', words: BROKEN_OFF[why] }]
}

/** Returns the text that a user typed, and the text that the client added; adjacent blocks of the same kind are joined. */
function writtenBlocks(text: string): Block[] {
  const blocks: (Prose | { readonly type: 'added'; readonly text: string })[] = []
  for (const piece of markupPieces(text)) {
    if (piece.text.trim() === '') continue
    const type = piece.by === 'user' ? 'prose' : 'added'
    const last = blocks.at(-1)
    if (last?.type === type) blocks.splice(-1, 1, { type, text: `${last.text}\n${piece.text}` })
    else blocks.push({ type, text: piece.text })
  }
  return blocks.length === 0 ? [{ type: 'prose', text }] : blocks
}

function replacementOf(
  { compactionId, text }: ShownText,
  part: Part,
  blocks: readonly Block[],
  settings: DocumentSettings,
): Block {
  const original = settings.hidden === 'show' ? blocks : []
  const tool = part.type === 'tool-result' ? { name: part.toolName, id: part.toolCallId } : undefined
  return { type: 'replacement', compactionId, tool, shown: text, size: sizeOf(part), original }
}

function sizeOf(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return counted(part.text.length, 'character')
    case 'tool-result':
      return counted(characters(part), 'character')
    default:
      return 'a part'
  }
}

function characters({ output }: ToolResultPart): number {
  if (typeof output.value === 'string') return output.value.length
  if (output.type !== 'content') return stringifyJson(output.value).length
  return output.value.reduce((sum, item) => sum + (item.type === 'text' ? item.text.length : 0), 0)
}

function blocksOfPart(part: Part, settings: DocumentSettings): Block[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'prose', text: part.text }]
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text }]
    case 'image':
    case 'file':
      return [mediaBlock(part, settings)]
    case 'tool-call':
      return [{ type: 'call', name: part.toolName, id: part.toolCallId, input: json(part.input) }]
    case 'tool-result':
      return [resultBlock(part, settings)]
    case 'provider': {
      const text = compactionBlock(part)?.text
      if (text !== undefined) return [{ type: 'prose', text }]
      return [{ type: 'provider', provider: part.provider, data: json(part.data) }]
    }
  }
}

function resultBlock(part: ToolResultPart, settings: DocumentSettings): Block {
  const { output, toolCallId: id, toolName: name } = part
  return { type: 'result', name, id, failed: isFailed(output), output: outputBlocks(output, settings) }
}

function outputBlocks(output: ToolResultPart['output'], settings: DocumentSettings): Block[] {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return [cut(output.value, '', settings)]
    case 'json':
    case 'error-json':
      return [cut(jsonText(output.value), 'json', settings)]
    case 'content':
      return output.value.flatMap((item): Block[] =>
        item.type === 'text' ? [cut(item.text, '', settings)] : blocksOfPart(item, settings),
      )
  }
}

function json(value: unknown): Code {
  return { type: 'code', text: jsonText(value), language: 'json', left: undefined }
}

function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'null'
}

function cut(text: string, language: Code['language'], { cutOutputs }: DocumentSettings): Code {
  const more = text.length - (cutOutputs ?? text.length)
  const left =
    more > 0 ? `${figure(more)} more characters are in the store and not in this document` : undefined
  return { type: 'code', text: more > 0 ? text.slice(0, cutOutputs) : text, language, left }
}

function mediaBlock(part: ImagePart | FilePart, { images }: DocumentSettings): Block {
  const { picture, bytes, address } = mediaOf(part)
  const facts = [part.mediaType, bytes === undefined ? undefined : size(bytes)].filter(
    (fact) => fact !== undefined,
  )
  const name = part.type === 'file' && part.filename !== undefined ? ` ${part.filename}` : ''
  const words = `${part.type}${name}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`
  return picture !== undefined && images === 'inline'
    ? { type: 'picture', picture, words }
    : { type: 'media', words, address }
}

/** The maximum numbers of lines and characters of an output that isn't folded. */
const OPEN_LINES = 12
const OPEN_CHARACTERS = 1_000

/** Returns whether an output is long enough to be folded. */
export function isLong(blocks: readonly Block[]): boolean {
  let lines = 0
  let length = 0
  for (const block of blocks) {
    if (block.type !== 'code') continue
    length += block.text.length
    if (length > OPEN_CHARACTERS) return true
    lines += lineCount(block.text)
  }
  return lines > OPEN_LINES
}

/** Returns the length of an output: `120 lines`. */
export function lengthOf(blocks: readonly Block[]): string {
  const lines = blocks.reduce((sum, block) => sum + (block.type === 'code' ? lineCount(block.text) : 0), 0)
  return counted(lines, 'line')
}

function lineCount(text: string): number {
  let lines = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++
  return text.endsWith('\n') ? lines - 1 : lines
}

/** A picture for a document: a raster image that is recognized by its bytes. */
export type Picture = { readonly mediaType: string; readonly base64: string }

/** An image or a file: its picture, the number of its stored bytes, or its web address. */
type Media = {
  readonly picture?: Picture
  readonly bytes?: number
  readonly address?: string
}

/**
 * Reads an image or a file. Only PNG, JPEG, GIF and WebP become pictures. They are recognized by their first bytes, not by their declared
 * type. SVG never becomes one, because it is a document with scripts.
 */
export function mediaOf(part: ImagePart | FilePart): Media {
  const data = part.type === 'image' ? part.image : part.data
  if (typeof data === 'string' && /^https?:\/\//i.test(data)) return { address: data }
  const bytes = bytesOf(data)
  if (bytes === undefined) return {}
  const mediaType = rasterType(bytes)
  return {
    ...(mediaType !== undefined && { picture: { mediaType, base64: bytes.toString('base64') } }),
    bytes: bytes.byteLength,
  }
}

function bytesOf(data: string | Uint8Array): Buffer | undefined {
  if (typeof data !== 'string') return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const head = /^data:[^,]*;base64,/i.exec(data.slice(0, 1_000))
  if (head !== null) return Buffer.from(data.slice(head[0].length), 'base64')
  // Other URLs contain no bytes.
  if (/^[a-z][a-z0-9+.-]*:/i.test(data)) return undefined
  return Buffer.from(data, 'base64')
}

/** Source: the PNG specification 5.2, JFIF (T.871), GIF89a section 17, RFC 9649 for WebP. */
function rasterType(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 12).toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif'
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'image/webp'
  return undefined
}

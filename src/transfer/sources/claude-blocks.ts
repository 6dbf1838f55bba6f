import { fromAnthropic } from '../../adapters/anthropic/from-anthropic.ts'
import { keptUnder } from '../../adapters/wire.ts'
import { isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  mediaWord,
  type ProviderPart,
  type ReasoningPart,
  type TextPart,
  type ToolResultContent,
  type ToolResultOutput,
  type UnsentSource,
} from '../../core/messages/message.ts'

/** The name of the metadata for Claude's web page. */
export const CLAUDE = 'claude' satisfies UnsentSource

/** A block, except calls and results. */
type BlockPart = TextPart | ReasoningPart | ImagePart | FilePart | ProviderPart

/**
 * Receives the reason for each block that was stored without being interpreted or replaced with a word, or that was `mended` (repaired).
 */
export type OnNote = (why: string, kind?: 'kept' | 'mended') => void

/** Reads a block; `undefined` for an empty one. An unknown type without text is stored in full. */
export function partOfBlock(block: Json, path: string, onNote: OnNote): BlockPart | undefined {
  if (typeof block === 'string') return filledPart(block, {})
  if (!isObject(block)) return unread(block, path, onNote)
  const { type, ...fields } = block as JsonObject
  switch (type) {
    case 'text':
      if (typeof fields.text === 'string') return filledPart(fields.text, without(fields, ['text']))
      break
    case 'thinking':
      return thought(fields)
    case 'knowledge':
      return filledPart(textsOf(fields, ['title', 'url', 'text']), without(block as JsonObject, ['text']))
    case 'image':
    case 'document':
      if (isObject(fields.source)) return media(block)
      return word(type === 'image', fields.file_name, { block: block as JsonObject }, path, onNote)
    case 'local_resource':
      return word(false, fields.name, { block: block as JsonObject }, path, onNote)
  }
  const { text } = fields
  const isText = typeof text === 'string' && text.trim() !== ''
  return isText ? filledPart(text, without(block as JsonObject, ['text'])) : unread(block, path, onNote)
}

/** Returns a block or a file that has no place in the neutral form, stored in full. */
export function unread(block: Json, path: string, onNote: OnNote): ProviderPart {
  onNote(`${path}: the neutral form has no part for it`)
  return { type: 'provider', provider: CLAUDE, data: block }
}

/** Returns a word for a file that the export only refers to, with the reference in its metadata. */
export function word(
  isImage: boolean,
  name: unknown,
  pointer: JsonObject,
  path: string,
  onNote: OnNote,
): TextPart {
  onNote(`${path}: the file has only a reference to it, so a word replaces it`)
  return { type: 'text', text: fileWord(isImage, name), providerOptions: { [CLAUDE]: pointer } }
}

/** Returns the word for a file. */
export function fileWord(isImage: boolean, name: unknown): string {
  const filename = typeof name === 'string' && name.trim() !== '' ? { filename: name } : {}
  return mediaWord({ type: 'file', data: '', mediaType: isImage ? 'image/*' : '', ...filename })
}

/** Returns the fields that aren't empty and aren't stored elsewhere. */
export function without(fields: JsonObject, names: readonly string[]): JsonObject {
  const isTelling = (value: Json | undefined): boolean =>
    value !== null && !(Array.isArray(value) && value.length === 0)
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !names.includes(name) && isTelling(value)),
  )
}

/** Returns a tool's output, and the fields of its texts that have no place in an output. */
export function outputOf(
  { content, is_error }: JsonObject,
  path: string,
  onNote: OnNote,
): { readonly output: ToolResultOutput; readonly rest: JsonObject } {
  const isError = is_error === true
  const type = isError ? 'error-text' : 'text'
  if (content === undefined || content === null) return { output: { type, value: '' }, rest: {} }
  if (typeof content === 'string') return { output: { type, value: content }, rest: {} }
  if (!Array.isArray(content)) {
    return { output: { type: isError ? 'error-json' : 'json', value: content }, rest: {} }
  }
  const blocks: readonly Json[] = content
  if (blocks.every(isText)) {
    const value = blocks.map(({ text }) => text).join('\n')
    const fields = blocks.map((block) => without(block, ['type', 'text']))
    const isMore = fields.some((each) => Object.keys(each).length > 0)
    return { output: { type, value }, rest: isMore ? { content: fields } : {} }
  }
  const value = blocks.flatMap((block, i): ToolResultContent[] => {
    const part = partOfBlock(block, `${path}.content[${i}]`, onNote)
    if (part === undefined) return []
    return [part.type === 'reasoning' ? { ...part, type: 'text' } : part]
  })
  return { output: { type: 'content', value, ...(isError && { isError }) }, rest: {} }
}

function isText(block: Json): block is JsonObject & { readonly text: string } {
  return isObject(block) && block.type === 'text' && typeof block.text === 'string'
}

function filledPart(text: string, rest: JsonObject): TextPart | undefined {
  return text.trim() === '' ? undefined : { type: 'text', text, ...keptUnder(CLAUDE, rest) }
}

/** Returns the summaries of thoughts, if the thoughts are missing. */
function thought(fields: JsonObject): ReasoningPart | undefined {
  const { thinking, summaries } = fields
  const list: readonly Json[] = Array.isArray(summaries) ? summaries : []
  const hasThinking = typeof thinking === 'string' && thinking.trim() !== ''
  const names = list.map((each) => (isObject(each) ? textsOf(each as JsonObject, ['summary']) : ''))
  const text = hasThinking ? thinking : names.filter((each) => each !== '').join('\n\n')
  if (text === '') return undefined
  return { type: 'reasoning', text, ...keptUnder(CLAUDE, without(fields, ['thinking'])) }
}

function textsOf(fields: JsonObject, names: readonly string[]): string {
  const texts = names.map((name) => fields[name])
  return texts.filter((text) => typeof text === 'string' && text.trim() !== '').join('\n\n')
}

/** Returns an image or a document with its bytes or its URL, as in Anthropic's API. */
function media(block: Json): BlockPart {
  const [read] = fromAnthropic([{ role: 'user', content: [block] }], { lenient: true })
  const [part] = typeof read?.content === 'string' ? [] : (read?.content ?? [])
  const isMedia = part?.type === 'image' || part?.type === 'file' || part?.type === 'provider'
  return isMedia ? part : { type: 'provider', provider: CLAUDE, data: block }
}

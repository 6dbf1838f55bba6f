import { headOf } from '../../core/messages/characters.ts'
import { isUnreadable } from '../../core/messages/compaction-block.ts'
import { isObject, parsedJson, stringifyJson } from '../../core/messages/json.ts'
import {
  type FilePart,
  type ImagePart,
  isCall,
  isFailed,
  isReasoning,
  mediaWord,
  outputText,
  type Part,
  type ToolCallPart,
  type ToolResultPart,
} from '../../core/messages/message.ts'
import type { RefusalKind } from '../../core/overflow/wordings.ts'

/*
 * Replacements for parts that a provider rejected. A replacement keeps what every provider reads; fields of a single provider, such as
 * marks, signatures and item ids, are dropped.
 */

/** The longest text shown in full, in UTF-16 units; longer ones are cut to this length. */
const MAX_TEXT_LENGTH = 1_000_000
const CUT_LENGTH = 200_000
/** The longest input shown in the text of a call, in UTF-16 units. */
const INPUT_LENGTH = 2_000

/** The repairs for one kind of refusal: first the smallest change, then ones that remove more. */
export type RepairForms = {
  /** Whether a part may be the cause, wherever it is. */
  readonly isSuspect: (part: Part) => boolean
  /** Like `isSuspect`, for when no suspect part was the cause. Default: `isSuspect`. */
  readonly mayBe?: (part: Part) => boolean
  /** The texts to show, one for each step; `undefined` if the step changes nothing. */
  readonly forms: readonly ((part: Part) => string | undefined)[]
}

/** The repairs of each kind of refusal; `undefined` if repairing a part can't help. */
export const REPAIRS: { readonly [K in RefusalKind]: RepairForms | undefined } = {
  characters: {
    isSuspect: hasInvalidCharacters,
    mayBe: hasRareCharacters,
    forms: [tidied, plainest, withoutContent],
  },
  reasoning: { isSuspect: hasSignature, mayBe: isEncrypted, forms: [withoutReasoning, withoutContent] },
  'reasoning-missing': { isSuspect: isCall, forms: [callAsText] },
  item: { isSuspect: hasOwnFields, forms: [withoutFields, withoutContent] },
  'call-without-result': { isSuspect: isCall, forms: [callAsText] },
  'result-without-call': { isSuspect: isCall, forms: [callAsText] },
  call: { isSuspect: isCall, forms: [callAsText] },
  input: { isSuspect: isCall, forms: [withObject, callAsText] },
  media: { isSuspect: holdsMedia, forms: [withoutMedia] },
  empty: { isSuspect: endsBlank, forms: [trimmed, withoutContent] },
  'cache-mark': { isSuspect: hasMark, forms: [withoutFields, withoutContent] },
  'unknown-field': { isSuspect: hasOwnFields, forms: [withoutFields, withoutContent] },
  role: undefined,
  part: { isSuspect: () => false, forms: [simplest, withoutContent] },
}

// ── Characters ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Unpaired surrogates, control characters except tab and line ends, and noncharacters. */
const INVALID_CHARACTERS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: These are what is searched.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufdd0-\ufdef\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g
/** All characters that aren't letters, digits, punctuation or symbols of the Basic Multilingual Plane. */
const RARE_CHARACTERS = /[^\p{L}\p{M}\p{N}\p{P}\p{S} \t\r\n]|[\u{10000}-\u{10ffff}]/gu

function replaceInvalid(text: string): string {
  return text.replace(INVALID_CHARACTERS, '\ufffd')
}

function replaceRare(text: string): string {
  return replaceInvalid(text).replace(RARE_CHARACTERS, '\ufffd')
}

function hasInvalidCharacters(part: Part): boolean {
  return texts(part).some((text) => text.search(INVALID_CHARACTERS) !== -1)
}

function hasRareCharacters(part: Part): boolean {
  return texts(part).some(
    (text) => text.search(INVALID_CHARACTERS) !== -1 || text.search(RARE_CHARACTERS) !== -1,
  )
}

/** Returns every text in a value, including keys. Iterative, because inputs may be deeply nested. */
function texts(value: unknown): string[] {
  const found: string[] = []
  const waiting: unknown[] = [value]
  while (waiting.length > 0) {
    const one = waiting.pop()
    if (typeof one === 'string') found.push(one)
    else if (Array.isArray(one)) for (const item of one) waiting.push(item)
    else if (typeof one === 'object' && one !== null && !(one instanceof Uint8Array))
      for (const [key, inner] of Object.entries(one)) waiting.push(key, inner)
  }
  return found
}

function tidied(part: Part): string | undefined {
  return mapTexts(part, replaceInvalid)
}

function plainest(part: Part): string | undefined {
  return mapTexts(part, replaceRare)
}

/** Returns the part with changed texts and without a provider's fields. */
function mapTexts(part: Part, change: (text: string) => string): string | undefined {
  switch (part.type) {
    case 'text':
      return change(shortened(part.text))
    case 'tool-result':
      return change(shortened(resultText(part)))
    case 'tool-call':
      return isPlainName(part) ? inputJson(part, change) : callText(part, change)
    default:
      return withoutContent(part)
  }
}

/** Whether the name and id of a call have no odd characters, so that it may stay a call. */
function isPlainName({ toolName, toolCallId }: ToolCallPart): boolean {
  return /^[\w.:-]{1,128}$/.test(toolName) && /^[\w.:|-]{1,256}$/.test(toolCallId)
}

// ── Reasoning ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

function hasSignature(part: Part): boolean {
  if (isReasoning(part)) return true
  return part.type !== 'provider' && /signature/i.test(Object.keys(optionFields(part)).join(' '))
}

/** Whether a part has a signature, or is a summary that only its provider can read. */
function isEncrypted(part: Part): boolean {
  return hasSignature(part) || isUnreadable(part)
}

function withoutReasoning(part: Part): string | undefined {
  return isReasoning(part) ? '' : withoutFields(part)
}

// ── Calls ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns a call as text. Its result then becomes text too, because its call isn't sent. */
function callAsText(part: Part): string | undefined {
  return isCall(part) ? callText(part, replaceInvalid) : undefined
}

function callText({ toolName, input }: ToolCallPart, change: (text: string) => string): string {
  return change(`[Call of tool ${toolName}] ${ended(stringifyJson(input), INPUT_LENGTH)}`)
}

function withObject(part: Part): string | undefined {
  return isCall(part) ? inputJson(part, replaceInvalid) : undefined
}

/** Returns the input of a call as the JSON of an object: the object itself, one parsed from a text, or one that wraps the raw text. */
function inputJson({ input }: ToolCallPart, change: (text: string) => string): string {
  const json = stringifyJson(input)
  const read = typeof input === 'string' ? parsedJson(input) : input
  if (json.length > MAX_TEXT_LENGTH) return JSON.stringify({ shortened: change(headOf(json, CUT_LENGTH)) })
  if (isObject(read)) return changedJson(stringifyJson(read), change)
  const isNothing = read === null || read === '' || (Array.isArray(read) && read.length === 0)
  return isNothing ? '{}' : changedJson(stringifyJson({ arguments: input }), change)
}

function changedJson(json: string, change: (text: string) => string): string {
  const value = JSON.parse(json, (_, inner: unknown) => {
    if (typeof inner === 'string') return change(inner)
    if (!isObject(inner)) return inner
    return Object.fromEntries(Object.entries(inner).map(([key, one]) => [change(key), one]))
  }) as unknown
  return JSON.stringify(value)
}

// ── Media ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function isMedia(part: { readonly type: string }): part is ImagePart | FilePart {
  return part.type === 'image' || part.type === 'file'
}

function holdsMedia(part: Part): boolean {
  return isMedia(part) || mediaIn(part).length > 0
}

function mediaIn(part: Part): readonly (ImagePart | FilePart)[] {
  if (part.type !== 'tool-result' || part.output.type !== 'content') return []
  return part.output.value.filter(isMedia)
}

function withoutMedia(part: Part): string | undefined {
  if (isMedia(part)) return mediaText(part)
  return mediaIn(part).length > 0 ? resultText(part as ToolResultPart) : undefined
}

function mediaText(part: ImagePart | FilePart): string {
  return replaceInvalid(`${mediaWord(part).slice(0, -1)}: the provider rejected it]`)
}

/** The base64 beginnings of the formats that providers read. */
const BEGINNINGS = /^(?:iVBORw0K|\/9j\/|R0lGOD|UklGR|JVBER)/

/** Whether a medium is likely unreadable for any provider: an unsupported format, or no valid address. */
export function isMalformed(part: Part): boolean {
  return [...(isMedia(part) ? [part] : []), ...mediaIn(part)].some((one) => {
    const data = one.type === 'image' ? one.image : one.data
    const type = one.mediaType ?? ''
    if (type.startsWith('text/') || type.startsWith('audio/') || type.startsWith('video/')) return false
    const head =
      typeof data === 'string' ? data.slice(0, 2_048) : Buffer.from(data.subarray(0, 16)).toString('base64')
    if (/^(?:https?|gs|s3):\/\/[^/\s]/i.test(head)) return false
    return !BEGINNINGS.test(head.replace(/^data:[^,]{0,200},/, ''))
  })
}

// ── Texts and fields ──────────────────────────────────────────────────────────────────────────────────────────────────────

const BLANK = /[\s\u00ad\u180e\u200b-\u200f\u2028-\u202f\u2060-\u2064\ufeff\u2800\u3164]/

function endsBlank(part: Part): boolean {
  if (part.type === 'tool-result') return isInvisible(outputText(part.output)) && mediaIn(part).length === 0
  return (
    part.type === 'text' && (part.text === '' || BLANK.test(part.text.slice(-1)) || isInvisible(part.text))
  )
}

function isInvisible(text: string): boolean {
  return visibleEnd(text) === 0
}

function visibleEnd(text: string): number {
  let end = text.length
  while (end > 0 && BLANK.test(text[end - 1]!)) end -= 1
  return end
}

function trimmed(part: Part): string | undefined {
  if (part.type === 'text') return part.text.slice(0, visibleEnd(part.text))
  if (part.type === 'tool-result') {
    const text = resultText(part)
    return isInvisible(text) ? '[No output]' : text.slice(0, visibleEnd(text))
  }
  return undefined
}

function optionFields(part: Part): { readonly [name: string]: unknown } {
  const own = 'providerOptions' in part ? (part.providerOptions ?? {}) : {}
  return Object.fromEntries(Object.values(own).flatMap((fields) => Object.entries(fields)))
}

function hasOwnFields(part: Part): boolean {
  return part.type === 'provider' || Object.keys(optionFields(part)).length > 0
}

function hasMark(part: Part): boolean {
  return Object.keys(optionFields(part)).some((name) => /^cache_?(?:control|point)$/i.test(name))
}

/** Returns the part without its provider's fields. A medium, which no text replaces, and a result keep theirs. */
function withoutFields(part: Part): string | undefined {
  if (part.type === 'text') return part.text
  if (isCall(part)) return inputJson(part, (text) => text)
  return isReasoning(part) || part.type === 'provider' ? '' : undefined
}

/** Returns the fields of a part that every provider reads. */
function simplest(part: Part): string | undefined {
  return isMedia(part) ? mediaText(part) : mapTexts(part, replaceInvalid)
}

/** Returns a note in place of a part: it states that something was here, not what it was. */
function withoutContent(part: Part): string | undefined {
  switch (part.type) {
    case 'text':
      return part.text === '' ? '' : `[A text of ${part.text.length} characters: the provider rejected it]`
    case 'tool-result':
      return `[A result of ${outputText(part.output).length} characters: the provider rejected it]`
    case 'tool-call':
      return `[A tool call: the provider rejected it]`
    case 'image':
    case 'file':
      return `[${part.type}: the provider rejected it]`
    default:
      return ''
  }
}

/** Returns the text of a result, with words in place of its media. */
function resultText(part: ToolResultPart): string {
  const words = mediaIn(part).map(mediaText)
  const text = outputText(part.output)
  const whole = [...(text === '' ? [] : [text]), ...words].join('\n')
  return whole === '' ? (isFailed(part.output) ? '[The tool failed]' : '[No output]') : replaceInvalid(whole)
}

function shortened(text: string): string {
  return text.length > MAX_TEXT_LENGTH ? ended(text, CUT_LENGTH) : text
}

function ended(text: string, length: number): string {
  return text.length > length ? `${headOf(text, length)}… [${text.length - length} characters more]` : text
}

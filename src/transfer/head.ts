import { isObject } from '../core/messages/json.ts'
import { readElements } from './json-elements.ts'
import { readFilledLines, valuesInLine } from './lines.ts'
import type { Head, Input } from './source.ts'
import { CONVERSATION_LIST, MESSAGE_LISTS } from './sources/transcript-shape.ts'

/** The number of a file's first bytes that are used for detection. */
const HEAD_BYTES = 256 * 1024

/** The number of bytes that are searched for an object's messages, because its system prompt and tools may precede them. */
const LISTS_WITHIN_BYTES = 64 * 1024 * 1024

const HEAD_VALUES = 200

/** The head of a file; for a file without JSON, a description without its text. */
type HeadRead = { readonly head: Head } | { readonly looks: string; readonly isText: boolean }

/** Reads the beginning of a file. */
export async function readHead(input: Input): Promise<HeadRead> {
  const bytes = await firstBytes(input)
  const binary = looksBinary(bytes)
  if (binary !== undefined) return { looks: binary, isText: false }
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  if (text.trim() === '')
    return { looks: input.size > bytes.length ? 'only white space' : 'an empty file', isText: false }
  const isCut = input.size > bytes.length
  const lines = await valuesOfLines(bytes, isCut, input.name)
  if (lines !== undefined) {
    const [only, second] = lines
    const isPart = isCut && second === undefined && isObject(only)
    const values = isPart ? [await withMessages(only, input)] : lines
    return { head: { name: input.name, shape: 'lines', values } }
  }
  const first = text.trimStart()[0]
  if (first === '{') {
    const partial = partialJson(text)
    const value = isCut && isObject(partial) ? await withMessages(partial, input) : partial
    return { head: { name: input.name, shape: 'object', values: value === undefined ? [] : [value] } }
  }
  if (first === '[') {
    const values = await elementsOf(bytes, text)
    return { head: { name: input.name, shape: 'list', values } }
  }
  return { looks: 'text that is not JSON', isText: true }
}

const LISTS = [...MESSAGE_LISTS, CONVERSATION_LIST, 'chat_messages']

/** Returns the first object of a file together with the beginning of its messages, if they begin after the first bytes. */
async function withMessages(
  value: { readonly [field: string]: unknown },
  input: Input,
): Promise<{ readonly [field: string]: unknown }> {
  if (LISTS.some((name) => value[name] !== undefined)) return value
  let until = LISTS_WITHIN_BYTES
  let at = 0
  async function* bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of input.bytes()) {
      yield chunk
      at += chunk.length
      if (at >= until) return
    }
  }
  const lists: { [name: string]: unknown[] } = {}
  for await (const piece of readElements(bytes(), { lists: LISTS, fields: () => false })) {
    // The position after the first line's object.
    if (piece.type === 'problem' && piece.element === undefined) break
    if (piece.type !== 'element' || piece.list === undefined) continue
    const list = lists[piece.list] ?? []
    lists[piece.list] = list
    list.push(piece.value)
    if (list.length === HEAD_VALUES) break
    until = Math.min(until, at + HEAD_BYTES)
  }
  return { ...value, ...lists }
}

async function firstBytes(input: Input): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of input.bytes()) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= HEAD_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, HEAD_BYTES)
}

/** The first bytes of files that aren't text. */
const SIGNATURES: readonly (readonly [signature: string, looks: string])[] = [
  ['SQLite format 3\0', 'a SQLite database (open a store with --db)'],
  ['\x1f\x8b', 'a gzip file (unpack it first)'],
  ['PK\x03\x04', 'a zip archive (unpack it first; a ChatGPT or Claude export contains a conversations.json)'],
  ['\x28\xb5\x2f\xfd', 'a zstd file (unpack it first)'],
  ['\xff\xfe', 'text in UTF-16 (save it as UTF-8 first)'],
  ['\xfe\xff', 'text in UTF-16 (save it as UTF-8 first)'],
]

/** If a machine crashes, it may leave zeros in a file that was being written. They are bad lines of an otherwise readable file. */
const BEGINS_AS_JSON = /^(?:\xef\xbb\xbf)?[ \t\r\n]*[[{][^\0]/

function looksBinary(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 16)
  const known = SIGNATURES.find(([signature]) => start.startsWith(signature))
  if (known !== undefined) return known[1]
  return bytes.includes(0) && !BEGINS_AS_JSON.test(start) ? 'a binary file' : undefined
}

const JSONL_NAME = /\.(?:jsonl|ndjson|jsonlines)$/i

/** Returns the values of a head whose lines are JSON values; `undefined` for one value over several lines, or if there is no JSON. */
async function valuesOfLines(bytes: Buffer, isCut: boolean, name: string): Promise<unknown[] | undefined> {
  const values: unknown[] = []
  let lines = 0
  let wholeLines = 0
  let isFirstWhole = false
  let first: string | undefined
  for await (const line of readFilledLines(onceOf(bytes))) {
    const text = 'text' in line ? line.text : ''
    if (text.trim() === '' && 'text' in line) continue
    first ??= text
    if (!line.ended && isCut) continue
    lines += 1
    const pieces = valuesInLine(text, true)
    const found = pieces.flatMap((piece) => ('value' in piece ? [piece.value] : []))
    // If JSON is printed over several lines, a line can hold a value and half of another one.
    if (found.length < pieces.length || found.some((value) => typeof value !== 'object' || value === null))
      continue
    if (lines === 1) isFirstWhole = true
    wholeLines += 1
    for (const value of found) if (values.length < HEAD_VALUES) values.push(value)
  }
  const isNamed = JSONL_NAME.test(name)
  if (lines === 0 || values.length === 0) {
    // One line longer than the head, or no complete line.
    const value = isNamed && first !== undefined ? partialJson(first) : undefined
    return value === undefined ? undefined : [value]
  }
  if (lines === 1 && values.length === 1 && !isCut)
    return isNamed || (name === '' && isEntry(values[0])) ? values : undefined
  return isNamed || isFirstWhole || wholeLines * 2 >= lines ? values : undefined
}

/** Returns whether the only line of input without a file name is a line of a JSONL file: a message, or an entry of an agent. */
function isEntry(value: unknown): boolean {
  return isObject(value) && (typeof value.role === 'string' || typeof value.type === 'string')
}

/** Returns the first elements of a list. If the first one is longer than the head, its available beginning is returned. */
async function elementsOf(bytes: Buffer, text: string): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const piece of readElements(onceOf(bytes))) {
    if (piece.type === 'element') values.push(piece.value)
    if (values.length === HEAD_VALUES) break
  }
  if (values.length > 0) return values
  const partial = partialJson(text)
  return Array.isArray(partial) ? (partial as unknown[]) : []
}

async function* onceOf(bytes: Buffer): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes
}

/**
 * Returns the value of a truncated JSON text, up to the last place where it can be closed. A truncated string is kept up to its end.
 * Returns `undefined` if no part of the text is JSON.
 */
export function partialJson(text: string): unknown {
  const { closers, isString, safeEnd } = scan(text)
  const whole = isString ? `${text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, '')}"` : text
  for (const candidate of [whole, text.slice(0, safeEnd)]) {
    try {
      return JSON.parse(candidate + closers) as unknown
    } catch {
      // the next one
    }
  }
  return undefined
}

/**
 * Returns the brackets that would close a text, and the end of the last complete value. Every bracket is such an end, so both ends have the
 * same closers.
 */
function scan(text: string): { closers: string; isString: boolean; safeEnd: number } {
  const open: string[] = []
  let isString = false
  let safeEnd = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (isString) {
      if (char === '\\') at += 1
      else if (char === '"') isString = false
    } else if (char === '"') isString = true
    else if (char === ',') safeEnd = at
    else if (char === '{' || char === '[') {
      open.push(char === '{' ? '}' : ']')
      safeEnd = at + 1
    } else if (char === '}' || char === ']') {
      open.pop()
      safeEnd = at + 1
    }
  }
  return { closers: open.reverse().join(''), isString, safeEnd }
}

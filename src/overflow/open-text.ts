import { isList, MAX_ENTRIES, read } from './safe-read.ts'

/** Longest text that is read as JSON, UTF-16 units; longer ones are searched as they stand. */
export const MAX_JSON_LENGTH = 2_000_000

/** The JSON a text is or holds, from its first bracket to its last, and the text around it. */
export function openJson(text: string): { value: unknown; around: string } | undefined {
  const first = text.trimStart()[0]
  if (first === '"') {
    const value = parse(text)
    return typeof value === 'string' ? { value, around: '' } : undefined
  }
  const brace = text.indexOf('{')
  const from = brace === -1 ? -1 : bracketBefore(text, brace)
  const to = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  if (from === -1 || to <= from) return undefined
  const value =
    parse(text.slice(from, to + 1)) ??
    (from < brace ? parse(text.slice(brace, text.lastIndexOf('}') + 1)) : undefined)
  if (typeof value !== 'object' || value === null) return undefined
  return { value, around: `${text.slice(0, from)} ${text.slice(to + 1)}` }
}

/** Where a list that begins just before an object begins, else the object itself. */
function bracketBefore(text: string, brace: number): number {
  let at = brace - 1
  while (at >= 0 && /\s/.test(text[at]!)) at--
  return at >= 0 && text[at] === '[' ? at : brace
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The payloads of a stream of server-sent events, or `undefined` when the text is none. */
export function eventsOf(text: string): readonly string[] | undefined {
  if (!/^\s{0,20}(?:event|data|id|retry):/.test(text)) return undefined
  const payloads = text
    .split(/\r?\n|\r/)
    .filter((line) => line.startsWith('data:'))
    // Every prefix at once: a payload that was opened as a stream again would be read once for each of its prefixes.
    .map((line) => line.replace(/^(?:data:\s*)+/, '').trimEnd())
  if (payloads.length === 0) return undefined
  return payloads.length <= 2 * MAX_ENTRIES
    ? payloads
    : [...payloads.slice(0, MAX_ENTRIES), ...payloads.slice(-MAX_ENTRIES)]
}

/** The text of bytes: a view, a buffer, or a Buffer that went through JSON. `undefined` when it is none. */
export function textOfBytes(value: object): string | undefined {
  try {
    if (ArrayBuffer.isView(value))
      return decode(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
    if (value instanceof ArrayBuffer) return decode(new Uint8Array(value))
    // A Buffer that went through JSON.
    if (read(value, 'type') !== 'Buffer') return undefined
    const data = read(value, 'data')
    if (!isList(data) || data.length > MAX_JSON_LENGTH) return undefined
    return decode(Uint8Array.from(data as number[]))
  } catch {
    return undefined
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

import { ROLES, ROW_KINDS, type Role, type RowKind } from '../../core/messages/message.ts'
import type { IndexedCall } from '../../core/model/line-range.ts'
import type { MessageIndex } from '../../core/model/message-parts.ts'
import type { CallEntry, LineRange, ResultEntry, ShownReplacement } from '../../core/model/view-row.ts'
import { damaged, parseStoredLists } from './content-codec.ts'

/*
 * The `tools` column: the calls and results of a row, as a JSON array without its brackets, so that the columns of many rows can be
 * joined and parsed as one flat array. First the number of entries, then each entry:
 * a call: -1 - part, id, name, 0 or [path, from?, to?, variant?] (the variant is last, and the only text after the path);
 * a result: part, id, units, 0 or [tokens, images, bytes, large images] of its media, 1 when it failed plus 2 when it has words of a person, name or 0.
 */

const CALL_FIELDS = 4
const RESULT_FIELDS = 6

type EncodedFile = readonly [path: string, ...more: (number | string)[]]

/** Returns `null` for a row without calls and results. */
export function encodeTools({ calls, results }: Pick<MessageIndex, 'calls' | 'results'>): string | null {
  if (calls.length === 0 && results.length === 0) return null
  const values: unknown[] = [calls.length + results.length]
  for (const call of calls) values.push(-1 - call.part, call.id, call.name, encodeFile(call))
  for (const { part, id, units, media, attached, failed, spoken, name } of results) {
    const bits = (failed ? FAILED : 0) | (spoken === true ? SPOKEN : 0)
    values.push(part, id, units, encodeMedia(media, attached), bits, name ?? 0)
  }
  return JSON.stringify(values).slice(1, -1)
}

/** Media as stored: only the tokens if there are no images and files; the number of large images is omitted if 0. */
type EncodedMedia =
  | number
  | readonly [media: number, images: number, mediaBytes: number, largeImages?: number]

function encodeMedia(media: number, attached: ResultEntry['attached']): EncodedMedia {
  if (attached === undefined) return media
  const { images, mediaBytes, largeImages } = attached
  return largeImages === 0 ? [media, images, mediaBytes] : [media, images, mediaBytes, largeImages]
}

function encodeFile({ path, range, variant }: IndexedCall): EncodedFile | 0 {
  if (path === undefined) return 0
  const file: [string, ...(number | string)[]] = [path]
  if (range !== undefined && range.to !== undefined) file.push(range.from, range.to)
  else if (range !== undefined && range.from !== 1) file.push(range.from)
  if (variant !== undefined) file.push(variant)
  return file
}

/**
 * Returns the index of the next row's values; `undefined` for values that `encodeTools` doesn't produce. If they were read as "no calls", a
 * call might be separated from its result.
 */
export function skipTools(values: readonly unknown[], start: number): number | undefined {
  const entries = values[start]
  if (!Number.isInteger(entries) || (entries as number) < 0) return undefined
  let at = start + 1
  for (let left = entries as number; left > 0; left--) {
    const isSound = isCall(values, at) ? isSoundCall(values, at) : isSoundResult(values, at)
    if (!isSound) return undefined
    at += fieldsAt(values, at)
  }
  return at
}

function isSoundCall(values: readonly unknown[], at: number): boolean {
  const file = values[at + 3]
  return (
    Number.isInteger(values[at]) &&
    typeof values[at + 1] === 'string' &&
    typeof values[at + 2] === 'string' &&
    (file === 0 || (Array.isArray(file) && typeof file[0] === 'string'))
  )
}

function isSoundResult(values: readonly unknown[], at: number): boolean {
  const name = values[at + 5]
  return (
    Number.isInteger(values[at]) &&
    typeof values[at + 1] === 'string' &&
    typeof values[at + 2] === 'number' &&
    isSoundMedia(values[at + 3]) &&
    typeof values[at + 4] === 'number' &&
    (name === 0 || typeof name === 'string')
  )
}

function isSoundMedia(media: unknown): boolean {
  if (typeof media === 'number') return true
  return (
    Array.isArray(media) &&
    (media.length === 3 || media.length === 4) &&
    media.every((one) => typeof one === 'number')
  )
}

/** Returns the calls among the values, starting at `start`. Most rows have one entry, which needs no loop. */
export function decodeCalls(values: readonly unknown[], start: number): readonly CallEntry[] {
  const entries = values[start] as number
  if (entries === 1) return isCall(values, start + 1) ? [decodeCall(values, start + 1)] : NOTHING
  const calls: CallEntry[] = []
  let at = start + 1
  for (let left = entries; left > 0; left--) {
    if (isCall(values, at)) calls.push(decodeCall(values, at))
    at += fieldsAt(values, at)
  }
  return calls
}

/** Returns the results among the values, starting at `start`. */
export function decodeResults(values: readonly unknown[], start: number): readonly ResultEntry[] {
  const entries = values[start] as number
  if (entries === 1) return isCall(values, start + 1) ? NOTHING : [decodeResult(values, start + 1)]
  const results: ResultEntry[] = []
  let at = start + 1
  for (let left = entries; left > 0; left--) {
    if (!isCall(values, at)) results.push(decodeResult(values, at))
    at += fieldsAt(values, at)
  }
  return results
}

const NOTHING: readonly never[] = []

function isCall(values: readonly unknown[], at: number): boolean {
  return (values[at] as number) < 0
}

function fieldsAt(values: readonly unknown[], at: number): number {
  return isCall(values, at) ? CALL_FIELDS : RESULT_FIELDS
}

function decodeCall(values: readonly unknown[], at: number): IndexedCall {
  const part = -1 - (values[at] as number)
  const id = values[at + 1] as string
  const name = values[at + 2] as string
  const file = values[at + 3] as EncodedFile | 0
  if (file === 0) return { part, id, name }
  const path = file[0]
  if (file.length === 1) return { part, id, name, path, range: WHOLE_FILE }
  const more = file.slice(1)
  const last = more.at(-1)
  const variant = typeof last === 'string' ? last : undefined
  const [from = 1, to] = more.filter((item) => typeof item === 'number')
  const range: LineRange = to === undefined ? { from } : { from, to }
  return variant === undefined ? { part, id, name, path, range } : { part, id, name, path, range, variant }
}

const WHOLE_FILE: LineRange = { from: 1 }

/** The bits of a result. */
const FAILED = 1
const SPOKEN = 2

function decodeResult(values: readonly unknown[], at: number): ResultEntry {
  const part = values[at] as number
  const id = values[at + 1] as string
  const units = values[at + 2] as number
  const encoded = values[at + 3] as EncodedMedia
  const bits = values[at + 4] as number
  const failed = (bits & FAILED) !== 0
  const name = values[at + 5]
  const media = typeof encoded === 'number' ? encoded : encoded[0]
  return {
    ...{ part, id, units, media, failed },
    ...(name !== 0 && { name: name as string }),
    ...((bits & SPOKEN) !== 0 && { spoken: true as const }),
    ...(typeof encoded !== 'number' && {
      attached: { images: encoded[1], mediaBytes: encoded[2], largeImages: encoded[3] ?? 0 },
    }),
  }
}

/** The bits of `flags`. */
export const REASONING = 1
export const SPEAKS = 2
const BLOCK = 4
/** Whether retention removed something of the row, so that undo needn't read contents. The highest bit, so that a comparison finds it. */
export const RETIRED = 8

export function encodeFlags(
  index: Pick<MessageIndex, 'hasReasoning' | 'speaks' | 'hasBlock' | 'isRetired'>,
): number {
  const { hasReasoning, speaks, hasBlock, isRetired } = index
  return (
    (hasReasoning ? REASONING : 0) |
    (speaks ? SPEAKS : 0) |
    (hasBlock ? BLOCK : 0) |
    (isRetired ? RETIRED : 0)
  )
}

/** SQL: whether a row is silent (`isSilent`), that is, a message of the log without calls, results, and flags other than `RETIRED`. */
export const SILENT = `kind = ${encodeKind('message')} and flags in (0, ${RETIRED}) and tools is null`

/** SQL: the number of rows that aren't silent. */
export const COUNT_SENT = `count(*) filter (where not (${SILENT}))`

/** SQL: the number of rows of which retention removed something. */
export const COUNT_RETIRED = `count(*) filter (where flags >= ${RETIRED})`

export function encodeRole(role: Role): number {
  return ROLES.indexOf(role)
}

export function encodeKind(kind: RowKind): number {
  return ROW_KINDS.indexOf(kind)
}

/** The units of values packed into one number. They are far apart, so that a damaged value can't be read as another one. */
const KIND_UNIT = 2 ** 40
const ROLE_UNIT = 2 ** 20
const FLAGS_UNIT = 2

/** SQL: kind and role in one number, because fewer columns are faster (docs/internals/decisions.md, "Rows come by columns"). */
export const PACKED_KIND = `m.kind * ${KIND_UNIT} + m.role * ${ROLE_UNIT}`
/** SQL: kind, role, flags and pin in one number. */
export const PACKED_ROW = `${PACKED_KIND} + m.flags * ${FLAGS_UNIT} + m.pinned`

/** Throws `STORE_CORRUPT` for an unknown value. */
export function unpackKind(packed: number): RowKind {
  return decodeKind(Math.floor(packed / KIND_UNIT))
}

export function unpackRole(packed: number): Role {
  return decodeRole(Math.floor((packed % KIND_UNIT) / ROLE_UNIT))
}

/** Returns flags in the form of `encodeFlags`. Throws `STORE_CORRUPT` for an unknown value. */
export function unpackFlags(packed: number): number {
  const flags = Math.floor((packed % ROLE_UNIT) / FLAGS_UNIT)
  return flags <= (REASONING | SPEAKS | BLOCK | RETIRED) ? flags : unreadable('index')
}

export function unpackPinned(packed: number): boolean {
  return packed % FLAGS_UNIT === 1
}

/** Throws `STORE_CORRUPT` for an unknown code. */
export function decodeRole(code: unknown): Role {
  return ROLES[code as number] ?? unreadable('role')
}

/** Throws `STORE_CORRUPT` for an unknown code. */
export function decodeKind(code: unknown): RowKind {
  return ROW_KINDS[code as number] ?? unreadable('kind')
}

function unreadable(what: string): never {
  throw damaged(what, 'a row')
}

/** Returns the replacements that a row shows. Throws `STORE_CORRUPT`, naming the row; `sessions.verify` can repair it. */
export function decodeShown(text: unknown, row: string | number = 'a row'): readonly ShownReplacement[] {
  if (text === null) return []
  const places = parseStoredLists(text, 'list of replacements', row) as [number, number][]
  return places.map(([part, compaction]) => ({ part, compaction }))
}

export function encodeShown(shown: readonly ShownReplacement[]): string | null {
  return shown.length === 0 ? null : JSON.stringify(shown.map(({ part, compaction }) => [part, compaction]))
}

/** Returns the id of a row: the caller's, or an id generated from the session's incarnation and the row's place. */
export function rowId(incarnation: string, id: unknown, position: unknown, ordinal: unknown): string {
  if (id !== null) return id as string
  return position === null ? `${incarnation}:s${ordinal}` : `${incarnation}:${position}`
}

/** Returns the id of a request, which isn't stored: the incarnation of its session and its number. */
export function requestId(incarnation: string, no: number): string {
  return `${incarnation}:r${no}`
}

/** Returns the number in a request's id; `undefined` for an id of another session. */
export function requestNo(incarnation: string, id: string): number | undefined {
  const prefix = `${incarnation}:r`
  const digits = id.startsWith(prefix) ? id.slice(prefix.length) : ''
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined
}

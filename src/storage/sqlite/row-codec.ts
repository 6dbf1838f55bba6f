import type { MessageIndex } from '../../core/index-message.ts'
import type { IndexedCall } from '../../core/line-range.ts'
import { ROLES, ROW_KINDS, type Role, type RowKind } from '../../core/message.ts'
import type { Sizes } from '../../core/tokens.ts'
import type { CallEntry, LineRange, ResultEntry, ShownReplacement, ViewRow } from '../../core/view.ts'
import { UndertextError } from '../../errors.ts'
import type { Row } from './connection.ts'
import { parseStoredLists } from './content-codec.ts'

/** Bits of `flags`; two, as `INDEX_COLUMNS` packs them. */
const REASONING = 1
const SPEAKS = 2

export function encodeFlags(index: Pick<MessageIndex, 'hasReasoning' | 'speaks'>): number {
  return (index.hasReasoning ? REASONING : 0) | (index.speaks ? SPEAKS : 0)
}

export function encodeRole(role: Role): number {
  return ROLES.indexOf(role)
}

export function encodeKind(kind: RowKind): number {
  return ROW_KINDS.indexOf(kind)
}

/** Throws `STORE_CORRUPT` for a code that is none. */
export function decodeRole(code: unknown): Role {
  return ROLES[code as number] ?? unreadable('role')
}

/** Throws `STORE_CORRUPT` for a code that is none. */
export function decodeKind(code: unknown): RowKind {
  return ROW_KINDS[code as number] ?? unreadable('kind')
}

function unreadable(what: string): never {
  throw new UndertextError('STORE_CORRUPT', { detail: `the ${what} of a row cannot be read` })
}

/*
 * The `tools` column: [calls, results] as arrays, which take a quarter of the room objects do.
 * A call: [part, id, name, path?, from?, to?, variant?]; the variant, known by being a text, stands behind as many
 * of the others as there are. A result: [part, id, units, media, failed, name?].
 */
type EncodedCall = [number, string, string, string?, ...(number | string)[]]
type EncodedResult = [number, string, number, number, 0 | 1, string?]

export function encodeTools({ calls, results }: Pick<MessageIndex, 'calls' | 'results'>): string | null {
  if (calls.length === 0 && results.length === 0) return null
  return JSON.stringify([calls.map(encodeCall), results.map(encodeResult)])
}

function encodeCall({ part, id, name, path, range, variant }: IndexedCall): EncodedCall {
  if (path === undefined) return [part, id, name]
  const encoded: EncodedCall = [part, id, name, path]
  if (range !== undefined && range.to !== undefined) encoded.push(range.from, range.to)
  else if (range !== undefined && range.from !== 1) encoded.push(range.from)
  if (variant !== undefined) encoded.push(variant)
  return encoded
}

function encodeResult({ part, id, units, media, failed, name }: ResultEntry): EncodedResult {
  return name === undefined
    ? [part, id, units, media, failed ? 1 : 0]
    : [part, id, units, media, failed ? 1 : 0, name]
}

function decodeCall([part, id, name, path, ...more]: EncodedCall): IndexedCall {
  if (path === undefined) return { part, id, name }
  const last = more.at(-1)
  const variant = typeof last === 'string' ? last : undefined
  const [from = 1, to] = more.filter((item) => typeof item === 'number')
  const range: LineRange = to === undefined ? { from } : { from, to }
  const call = { part, id, name, path, range }
  return variant === undefined ? call : { ...call, variant }
}

function decodeResult([part, id, units, media, failed, name]: EncodedResult): ResultEntry {
  const entry = { part, id, units, media, failed: failed === 1 }
  return name === undefined ? entry : { ...entry, name }
}

/** The replacements a row shows. Throws `STORE_CORRUPT`, naming `row`; `verifySession` can mend it. */
export function decodeShown(text: unknown, row: string | number = 'a row'): readonly ShownReplacement[] {
  if (text === null) return NOTHING
  return (parseStoredLists(text, 'list of replacements', row) as [number, number][]).map(
    ([part, compaction]) => ({
      part,
      compaction,
    }),
  )
}

export function encodeShown(shown: readonly ShownReplacement[]): string | null {
  return shown.length === 0 ? null : JSON.stringify(shown.map(({ part, compaction }) => [part, compaction]))
}

/** The id of a row: the caller's own, or one made of the session's incarnation and the row's place. */
export function rowId(incarnation: string, id: unknown, position: unknown, ordinal: unknown): string {
  if (id !== null) return id as string
  return position === null ? `${incarnation}:s${ordinal}` : `${incarnation}:${position}`
}

/**
 * Columns of a row of the view as planning wants it, in the order `IndexedRow` reads them. What is small goes
 * into one number: the driver's time for a row is the number of its columns (10,000 rows: 16 columns 11 ms, 12
 * columns 8 ms). A message's position is its anchor.
 */
export const INDEX_COLUMNS = `m.key, m.anchor, m.ordinal, m.kind | (m.role << 2) | (m.flags << 4) | (m.pinned << 6),
  m.size_text, m.size_reasoning, m.size_calls, m.size_results, m.size_media, m.tools, m.shown, m.id`

const NOTHING: readonly never[] = []

/** A row of the view. Calls, results and replacements are decoded when asked for: most rows have none. */
export class IndexedRow implements ViewRow {
  readonly key: number
  readonly kind: RowKind
  readonly role: Role
  readonly position: number | undefined
  readonly anchor: number
  readonly ordinal: number
  readonly sizes: Sizes
  readonly pinned: boolean
  readonly hasReasoning: boolean
  readonly speaks: boolean
  readonly #incarnation: string
  readonly #ownId: unknown
  #tools: string | null
  #calls: readonly CallEntry[] = NOTHING
  #results: readonly ResultEntry[] = NOTHING
  #shownText: string | null
  #shown: readonly ShownReplacement[] = NOTHING

  constructor(row: Row, incarnation: string) {
    this.key = row[0] as number
    this.anchor = row[1] as number
    this.ordinal = row[2] as number
    const packed = row[3] as number
    this.kind = decodeKind(packed & 3)
    this.role = decodeRole((packed >> 2) & 3)
    const flags = packed >> 4
    this.hasReasoning = (flags & REASONING) !== 0
    this.speaks = (flags & SPEAKS) !== 0
    this.pinned = packed >> 6 === 1
    this.position = this.kind === 'message' ? this.anchor : undefined
    this.sizes = {
      text: row[4] as number,
      reasoning: row[5] as number,
      toolCalls: row[6] as number,
      toolResults: row[7] as number,
      media: row[8] as number,
    }
    this.#tools = row[9] as string | null
    this.#shownText = row[10] as string | null
    this.#ownId = row[11]
    this.#incarnation = incarnation
  }

  get id(): string {
    return rowId(this.#incarnation, this.#ownId, this.position ?? null, this.ordinal)
  }

  get calls(): readonly CallEntry[] {
    this.#decodeTools()
    return this.#calls
  }

  get results(): readonly ResultEntry[] {
    this.#decodeTools()
    return this.#results
  }

  get shown(): readonly ShownReplacement[] {
    if (this.#shownText !== null) {
      this.#shown = decodeShown(this.#shownText, this.key)
      this.#shownText = null
    }
    return this.#shown
  }

  #decodeTools(): void {
    if (this.#tools === null) return
    const [calls = [], results = []] = parseStoredLists(
      this.#tools,
      'index of calls and results',
      this.key,
    ) as [EncodedCall[], EncodedResult[]]
    this.#calls = calls.map(decodeCall)
    this.#results = results.map(decodeResult)
    this.#tools = null
  }
}

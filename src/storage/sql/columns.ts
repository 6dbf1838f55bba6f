import { z } from 'zod'
import { defined, type JsonObject, stringifyJson } from '../../core/messages/json.ts'
import type { Sizes } from '../../core/tokens/measure.ts'
import type { CircuitRecord, JobRecord } from '../jobs.ts'
import { type CompactionRecord, type HistoryRecord, RECORD_SCHEMAS } from '../records/records.ts'
import {
  damaged,
  parseStored,
  parseStoredObject,
  parseStoredText,
  storedNumber,
  storedOptional,
  storedText,
} from './content-codec.ts'
import type { Row } from './sql.ts'

/** The columns of sizes, without their prefix, in the order of `sizeColumns`. */
export const SIZES = ['text', 'reasoning', 'calls', 'results', 'media', 'images', 'bytes', 'large'] as const
export const SIZE_COLUMNS = SIZES.map((size) => `size_${size}`)
/** The sizes that a replacement changes: all but calls, which are never replaced. */
export const SAVED_SIZES = SIZES.filter((size) => size !== 'calls')
export const SAVED_COLUMNS = SAVED_SIZES.map((size) => `saved_${size}`)

/** Returns sizes from the values of `SIZE_COLUMNS`, starting at an index. */
export function sizesOf(values: readonly unknown[], from = 0): Sizes {
  const at = (index: number): number => values[from + index] as number
  return {
    text: at(0),
    reasoning: at(1),
    toolCalls: at(2),
    toolResults: at(3),
    media: at(4),
    images: at(5),
    mediaBytes: at(6),
    largeImages: at(7),
  }
}

/** Returns the values of `SIZE_COLUMNS`. */
export function sizeColumns(sizes: Sizes): number[] {
  const { text, reasoning, toolCalls, toolResults, media, images, mediaBytes, largeImages } = sizes
  return [text, reasoning, toolCalls, toolResults, media, images, mediaBytes, largeImages]
}

/** Returns sizes from the values of `SAVED_COLUMNS`, starting at an index. */
export function savedSizes(values: readonly unknown[], from = 0): Sizes {
  const [text, reasoning, ...rest] = values.slice(from, from + SAVED_COLUMNS.length)
  return sizesOf([text, reasoning, 0, ...rest])
}

/** Returns the values of `SAVED_COLUMNS`. */
export function savedColumns(saved: Sizes): number[] {
  const { text, reasoning, toolResults, media, images, mediaBytes, largeImages } = saved
  return [text, reasoning, toolResults, media, images, mediaBytes, largeImages]
}

/** SQL: the saved sizes of the replacement `r`. */
export const SAVED_OF_R = SAVED_COLUMNS.map((name) => `r.${name}`).join(', ')

/** SQL that adds given sizes to the counters of a session. */
export const ADD_SIZES = SIZE_COLUMNS.map((name) => `${name} = ${name} + ?`).join(', ')

/** How a field is stored in its column. `read` throws `STORE_CORRUPT`, naming the row. */
type Codec<T> = {
  read(value: unknown, row: string, references: References): T
  write(value: T, references: References): unknown
}

/** How compactions are referred to: by numbers in the database, by ids in a file. */
export type References = {
  readonly ids: ReadonlyMap<number, string>
  readonly numbers: ReadonlyMap<string, number>
}

const NO_REFERENCES: References = { ids: new Map(), numbers: new Map() }

const plain = (value: unknown): unknown => value ?? null

const text: Codec<string> = {
  read: (value, row) => {
    const found = storedText(value, row)
    if (found === undefined) throw damaged('record', row)
    return found
  },
  write: plain,
}
const number: Codec<number> = { read: storedNumber, write: plain }
const optionalText: Codec<string | undefined> = { read: storedText, write: plain }
const optionalNumber: Codec<number | undefined> = { read: storedOptional, write: plain }
const json: Codec<JsonObject | undefined> = {
  read: (value, row) => (value === null ? undefined : parseStoredObject(value, 'record', row)),
  write: (value) => (value === undefined ? null : stringifyJson(value)),
}
const jsonText: Codec<string> = {
  read: (value, row) => parseStoredText(value, 'record', row),
  write: (value) => stringifyJson(value),
}
const positions: Codec<number[]> = {
  read: (value, row) => parseStored(value, 'positions', row) as number[],
  write: (value) => JSON.stringify(value),
}
const compaction: Codec<string | undefined> = {
  read: (value, _row, { ids }) => ids.get(value as number),
  write: (value, { numbers }) => (value === undefined ? null : numbers.get(value)!),
}

type Fields = { readonly [name: string]: Codec<unknown> }

type All<R> = { readonly [K in keyof Required<R>]: R[K] }

/** The fields of a record in order, each stored in the column with its name (`inputTokens` in `input_tokens`). */
export class Columns<R extends object> {
  readonly names: readonly string[]
  readonly #fields: readonly (readonly [string, Codec<unknown>])[]

  constructor(fields: Fields) {
    this.#fields = Object.entries(fields)
    this.names = this.#fields.map(([name]) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
  }

  /** Returns the columns of an alias. */
  of(alias: string): string {
    return columnsOfAlias(alias, this.names)
  }

  /** Returns the fields in the columns of a row, starting at an index. Throws `STORE_CORRUPT`, naming the row. */
  all(row: Row, from: number, name: string, references = NO_REFERENCES): All<R> {
    const values = this.#fields.map(([field, codec], at) => [
      field,
      codec.read(row[from + at], name, references),
    ])
    return Object.fromEntries(values) as All<R>
  }

  /** Like `all`, without absent fields. */
  read(row: Row, from: number, name: string, references = NO_REFERENCES): R {
    return defined(this.all(row, from, name, references)) as object as R
  }

  /** Returns the values of the columns. */
  write(record: object, references = NO_REFERENCES): unknown[] {
    const values = record as { readonly [field: string]: unknown }
    return this.#fields.map(([field, codec]) => codec.write(values[field], references))
  }
}

type Stored<T extends HistoryRecord['type']> = Omit<Extract<HistoryRecord, { type: T }>, 'type'>

/** Returns the columns of a kind of record. Each field is stored according to its schema, unless it has its own codec. */
function columnsOf<T extends HistoryRecord['type'], Without extends string = never>(
  type: T,
  own: Fields = {},
  without: readonly Without[] = [],
): Columns<Omit<Stored<T>, Without>> {
  const { type: _, ...shape } = RECORD_SCHEMAS[type].shape
  const fields = Object.entries(shape)
    .filter(([name]) => !(without as readonly string[]).includes(name))
    .map(([name, schema]) => [name, own[name] ?? codecOf(schema)])
  return new Columns(Object.fromEntries(fields))
}

function codecOf(schema: z.core.$ZodType): Codec<unknown> {
  const isOptional = schema instanceof z.ZodOptional
  const inner = isOptional ? schema.unwrap() : schema
  if (inner instanceof z.ZodNumber) return isOptional ? optionalNumber : number
  if (inner instanceof z.ZodString || inner instanceof z.ZodEnum) return isOptional ? optionalText : text
  return json
}

export const AUDIT = columnsOf('audit', { compaction })
export const USAGE = columnsOf('usage')
export const MEASUREMENT = columnsOf('measurement')
/** The columns of a measurement without its key. */
export const MEASURED = columnsOf('measurement', {}, ['provider', 'model'])
export const OPERATION = columnsOf('operation', { compaction, positions })
export const NOTE = columnsOf('note', { text: jsonText })
/** All columns of a note. */
export const NOTE_COLUMNS = ['session', 'owner', ...NOTE.names]

export const JOB = new Columns<JobRecord>({
  id: text,
  state: text,
  request: optionalText,
  position: number,
  viewEpoch: number,
  run: optionalText,
  attempts: number,
  notBefore: number,
  error: optionalText,
  createdAt: number,
  changedAt: number,
})

export const CIRCUIT = new Columns<CircuitRecord>({
  failures: number,
  viewEpoch: number,
  model: text,
  error: text,
  openUntil: optionalNumber,
  changedAt: number,
})

type OriginOfCompaction = Pick<
  CompactionRecord,
  'id' | 'run' | 'kind' | 'status' | 'trigger' | 'actor' | 'reason' | 'params'
>
type FiguresOfCompaction = Pick<
  CompactionRecord,
  | ('rowsHidden' | 'partsReplaced' | 'tokensBefore' | 'tokensAfter' | 'summarizer' | 'model')
  | ('promptVersion' | 'usage' | 'cost' | 'error' | 'createdAt' | 'changedAt' | 'rank')
>

/** The fields of a compaction before its coverage. */
export const COMPACTION_ORIGIN = new Columns<OriginOfCompaction>({
  id: text,
  run: text,
  kind: text,
  status: text,
  trigger: text,
  actor: optionalText,
  reason: optionalText,
  params: json,
})

/** The fields of a compaction after its coverage. */
export const COMPACTION_FIGURES = new Columns<FiguresOfCompaction>({
  rowsHidden: number,
  partsReplaced: number,
  tokensBefore: number,
  tokensAfter: number,
  summarizer: optionalText,
  model: optionalText,
  promptVersion: optionalText,
  usage: json,
  cost: optionalNumber,
  error: optionalText,
  createdAt: number,
  changedAt: number,
  rank: number,
})

/** Tables whose rows belong to no family. */
const OF_NONE: ReadonlySet<string> = new Set(['undertext_calibrations', 'undertext_limits'])

/** Returns the SQL that inserts rows with values for some columns. */
export function insertInto(table: string, columns: readonly string[], rows = 1): string {
  const [family, ofFamily] = OF_NONE.has(table) ? ['', ''] : ['{family,} ', '{?,} ']
  const values = `(${ofFamily}${columns.map(() => '?').join(', ')})`
  return `insert into ${table} (${family}${columns.join(', ')}) values ${Array(rows).fill(values).join(', ')}`
}

/** Returns the SQL that inserts a row, or updates the other columns of the row with its key. */
export function upsertInto(table: string, key: readonly string[], columns: readonly string[]): string {
  const family = OF_NONE.has(table) ? '' : '{family,} '
  return `${insertInto(table, [...key, ...columns])} on conflict (${family}${key.join(', ')}) do update set ${setExcluded(columns)}`
}

/** Returns SQL that sets columns to the values of the row that wasn't inserted. */
export function setExcluded(columns: readonly string[]): string {
  return columns.map((name) => `${name} = excluded.${name}`).join(', ')
}

/** Returns SQL that sets columns to given values. */
export function setColumns(columns: readonly string[]): string {
  return columns.map((name) => `${name} = ?`).join(', ')
}

/** Returns SQL: columns of an alias. */
export function columnsOfAlias(alias: string, names: readonly string[]): string {
  return names.map((name) => `${alias}.${name}`).join(', ')
}

export const CONTENT_COLUMNS = ['key', 'content', 'metadata', 'blobs'] as const
export const INSERT_CONTENT = insertInto('undertext_contents', CONTENT_COLUMNS)

import { z } from 'zod'
import { isStorableText, jsonObjectSchema, labelSchema, nameSchema, problemOf } from '../../messages/check.ts'
import { type Part, ROLES, type ToolResultContent } from '../../messages/message.ts'
import { COMPACTION_STATUSES } from '../../model/nesting.ts'
import { COMPACTION_KINDS, isCondensing } from '../../model/plan.ts'
import {
  type BytesPlace,
  type CompactionRecord,
  HISTORY_FORMAT,
  HISTORY_VERSION,
  type HistoryRecord,
  type MessageRecord,
  type RowRecord,
} from './records.ts'

/** The tags a row carries: indexes into the list of compactions. */
export type RowTags = {
  readonly condenseParent?: number
  readonly truncationParent?: number
  readonly retiredBy?: number
}

/** A range of positions that a compaction in force hides. */
type HiddenRange = { readonly from: number; readonly to: number; readonly by: number }

/**
 * What coverage and statuses say of the tags of any row, by its place. What is in force hides every row at most once, so the ranges
 * are disjoint and a row is found by halving.
 */
export class Hiding {
  readonly #compactions: readonly CompactionRecord[]
  readonly #ranges: readonly HiddenRange[]
  readonly #byOrdinal = new Map<number, number>()
  readonly #inserters = new Map<number, number>()

  constructor(compactions: readonly CompactionRecord[]) {
    this.#compactions = compactions
    const ranges: HiddenRange[] = []
    for (const [index, { status, hides, inserts }] of compactions.entries()) {
      if (inserts !== undefined) this.#inserters.set(inserts[1], index)
      if (status !== 'active') continue
      for (const [from, to] of hides?.positions ?? []) ranges.push({ from, to, by: index })
      for (const [, ordinal] of hides?.inserted ?? []) this.#byOrdinal.set(ordinal, index)
    }
    this.#ranges = ranges.sort((a, b) => a.from - b.from)
  }

  /** Whether two ranges that hide at the same time overlap; then no tag can be right. */
  get isTwice(): boolean {
    return this.#ranges.some(({ from }, index) => index > 0 && this.#ranges[index - 1]!.to >= from)
  }

  /** The compaction that inserted the row of an ordinal: its index. */
  inserterOf(ordinal: number): number | undefined {
    return this.#inserters.get(ordinal)
  }

  tagsOf(row: Pick<MessageRecord, 'type' | 'position'> | Pick<InsertedPlace, 'type' | 'ordinal'>): RowTags {
    if (row.type === 'message') return this.#parent(this.#hiderAt(row.position))
    const inserter = this.#inserters.get(row.ordinal)
    const isRetired = inserter !== undefined && this.#compactions[inserter]!.status !== 'active'
    return { ...this.#parent(this.#byOrdinal.get(row.ordinal)), ...(isRetired && { retiredBy: inserter }) }
  }

  #parent(by: number | undefined): RowTags {
    if (by === undefined) return {}
    return isCondensing(this.#compactions[by]!.kind) ? { condenseParent: by } : { truncationParent: by }
  }

  #hiderAt(position: number): number | undefined {
    let [low, high] = [0, this.#ranges.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#ranges[middle]!.to < position) low = middle + 1
      else high = middle
    }
    const found = this.#ranges[low]
    return found !== undefined && found.from <= position ? found.by : undefined
  }
}

type InsertedPlace = Exclude<RowRecord, MessageRecord>

/** The tags of a record as its row has them: ids of compactions. */
export function namedTags(
  { condenseParent, truncationParent, retiredBy }: RowTags,
  compactions: readonly CompactionRecord[],
): { condenseParent?: string; truncationParent?: string; retired?: true } {
  return {
    ...(condenseParent !== undefined && { condenseParent: compactions[condenseParent]!.id }),
    ...(truncationParent !== undefined && { truncationParent: compactions[truncationParent]!.id }),
    ...(retiredBy !== undefined && { retired: true as const }),
  }
}

/*
 * What each record must look like by itself. Only looked at, never copied from: zod's copies would drop a `__proto__` key of what
 * somebody said.
 */

/** No count or sum is larger, so that adding to it stays exact. */
const MAX_COUNT = 1_000_000_000_000_000
const count = z.int().nonnegative().max(MAX_COUNT)
const ordinal = z.int().positive()
const time = z.int()
const flag = z.literal(true).optional()
/** Longest text of a column that no message is in, in UTF-16 units: an error, a model's name. */
const MAX_NOTE_LENGTH = 10_000
const note = z.string().max(MAX_NOTE_LENGTH).refine(isStorableText, 'must not contain NUL or lone surrogates')
/** What is somebody's own and checked apart, part by part. */
const anything = z.unknown()

/** Of an incarnation: 96 random bits in base64url, as ids of messages begin with it. */
const incarnation = z.string().regex(/^[\w-]{16}$/, 'must be 16 characters of base64url')

const range = z.tuple([ordinal, ordinal]).refine(([from, to]) => from <= to, 'must not end before it begins')
const place = z.tuple([count, ordinal])

const rowSet = z
  .strictObject({ positions: z.array(range).optional(), inserted: z.array(place).optional() })
  .refine(({ positions = [] }) => isAscending(positions), 'must be ranges in order that do not overlap')
  .refine(
    ({ inserted = [] }) => new Set(inserted.map(([, at]) => at)).size === inserted.length,
    'must not name a row twice',
  )

function isAscending(ranges: readonly (readonly number[])[]): boolean {
  return ranges.every(([from], index) => index === 0 || ranges[index - 1]![1]! < from!)
}

const header = z.strictObject({
  type: z.literal('header'),
  format: z.literal(HISTORY_FORMAT),
  version: z.literal(HISTORY_VERSION),
  package: labelSchema,
  exportedAt: time,
})

const session = z.strictObject({
  type: z.literal('session'),
  id: nameSchema,
  incarnation,
  owner: nameSchema.optional(),
  title: labelSchema.optional(),
  provider: nameSchema.optional(),
  model: nameSchema.optional(),
  config: jsonObjectSchema.optional(),
  metadata: jsonObjectSchema.optional(),
  estimator: nameSchema,
  createdAt: time,
  updatedAt: time,
  archivedAt: time.optional(),
  messages: count,
  inserted: count,
  version: count,
  viewEpoch: count,
  undoneAutomatic: count.optional(),
})

const compaction = z.strictObject({
  type: z.literal('compaction'),
  id: nameSchema,
  run: nameSchema,
  kind: z.enum(COMPACTION_KINDS),
  status: z.enum(COMPACTION_STATUSES),
  trigger: z.enum(['manual', 'auto', 'overflow', 'import', 'provider']),
  actor: note.optional(),
  reason: note.optional(),
  params: jsonObjectSchema.optional(),
  hides: rowSet.optional(),
  beside: rowSet.optional(),
  inserts: place.optional(),
  openCalls: flag,
  rewinds: flag,
  lifts: z.array(nameSchema).optional(),
  restores: z.array(nameSchema).optional(),
  turned: z.strictObject({ lifted: z.array(nameSchema), restored: z.array(nameSchema) }).optional(),
  requires: z
    .array(z.strictObject({ message: nameSchema, part: count, by: z.array(nameSchema).optional() }))
    .optional(),
  rowsHidden: count,
  partsReplaced: count,
  tokensBefore: count,
  tokensAfter: count,
  summarizer: note.optional(),
  model: note.optional(),
  promptVersion: note.optional(),
  usage: jsonObjectSchema.optional(),
  cost: z.number().optional(),
  error: note.optional(),
  createdAt: time,
  changedAt: time,
  rank: count,
  undoneWithRun: ordinal.optional(),
})

const audit = z.strictObject({
  type: z.literal('audit'),
  event: labelSchema,
  compaction: nameSchema.optional(),
  run: nameSchema.optional(),
  at: time,
  actor: note.optional(),
  detail: jsonObjectSchema.optional(),
  position: count.optional(),
})

const usage = z.strictObject({
  type: z.literal('usage'),
  provider: nameSchema,
  model: labelSchema,
  requests: count,
  inputTokens: count,
  cacheReadTokens: count,
  cacheCreationTokens: count,
  outputTokens: count,
  lastCacheReadTokens: count.optional(),
  lastCacheCreationTokens: count.optional(),
  at: time,
})

const measurement = z.strictObject({
  type: z.literal('measurement'),
  provider: nameSchema,
  model: labelSchema,
  estimator: nameSchema,
  viewEpoch: count,
  tokens: count,
  held: count,
  history: count,
  standing: count,
  pending: count,
  firstTokens: count.optional(),
  firstEstimate: count,
  at: time,
})

const operation = z.strictObject({
  type: z.literal('operation'),
  id: nameSchema,
  digest: nameSchema,
  compaction: nameSchema.optional(),
  positions: z.array(ordinal),
})

const rowFields = {
  role: z.enum(ROLES),
  content: anything,
  bytes: z.array(z.tuple([count, z.int().min(-1)])).optional(),
  metadata: anything.optional(),
  createdAt: time,
  pinned: flag,
  condenseParent: nameSchema.optional(),
  truncationParent: nameSchema.optional(),
}

const message = z.strictObject({
  type: z.literal('message'),
  position: ordinal,
  id: nameSchema.optional(),
  idempotencyKey: nameSchema.optional(),
  ...rowFields,
})

const insertedFields = {
  anchor: count,
  ordinal,
  compaction: nameSchema,
  retired: flag,
  ...rowFields,
}
const summary = z.strictObject({ type: z.literal('summary'), ...insertedFields })
const marker = z.strictObject({ type: z.literal('marker'), ...insertedFields })

const replacement = z.strictObject({
  type: z.literal('replacement'),
  compaction: nameSchema,
  message: nameSchema,
  part: count,
  text: z.string().nullable(),
})

const end = z.strictObject({
  type: z.literal('end'),
  compactions: count,
  audit: count,
  messages: count,
  inserted: count,
  replacements: count,
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .optional(),
})

/** The schema of each type of record. */
export const RECORD_SCHEMAS: { readonly [T in HistoryRecord['type']]: z.ZodObject } = {
  header,
  session,
  compaction,
  audit,
  usage,
  measurement,
  operation,
  message,
  summary,
  marker,
  replacement,
  end,
}

/** What is wrong with the form of a record, or `undefined` when it has one. Names fields, never what stands in them. */
export function formProblem(record: unknown): string | undefined {
  if (typeof record !== 'object' || record === null) return 'a record must be an object'
  const { type } = record as { readonly type?: unknown }
  const known = typeof type === 'string' && Object.hasOwn(RECORD_SCHEMAS, type)
  if (!known) return 'its type is none that a history has'
  return problemOf(RECORD_SCHEMAS[type as HistoryRecord['type']], record)
}

/*
 * Bytes in a content, as JSON has none: base64 in their place, and beside the content a list of the places, so that nothing somebody said
 * can be taken for it.
 */

type Media = Part | ToolResultContent

/** A content without bytes, and where base64 stands for them now. */
export function withoutBytes(content: string | readonly Part[]): {
  readonly content: string | readonly Part[]
  readonly bytes: readonly BytesPlace[]
} {
  const bytes: BytesPlace[] = []
  if (typeof content === 'string') return { content, bytes }
  const plain = mapMedia(content, (data, place) => {
    if (typeof data === 'string') return data
    bytes.push(place)
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
  })
  return { content: bytes.length === 0 ? content : plain, bytes }
}

/** The content as it was, or `undefined` when one of the places holds no base64 or is none. */
export function withBytes(
  content: string | readonly Part[],
  bytes: readonly BytesPlace[],
): string | readonly Part[] | undefined {
  if (bytes.length === 0) return content
  if (typeof content === 'string') return undefined
  const wanted = new Set(bytes.map(String))
  let isRight = wanted.size === bytes.length
  const restored = mapMedia(content, (data, place) => {
    if (!wanted.delete(String(place))) return data
    const decoded = typeof data === 'string' ? Buffer.from(data, 'base64') : undefined
    if (decoded === undefined || decoded.toString('base64') !== data) isRight = false
    return decoded === undefined ? data : new Uint8Array(decoded)
  })
  return isRight && wanted.size === 0 ? restored : undefined
}

/** Parts with other data in their images and files, those within tool results included. */
function mapMedia(
  content: readonly Part[],
  change: (data: string | Uint8Array, place: BytesPlace) => string | Uint8Array,
): Part[] {
  return content.map((part, index) => {
    if (part.type !== 'tool-result' || part.output.type !== 'content')
      return withData(part, (data) => change(data, [index, -1]))
    const value = part.output.value.map((entry, at) => withData(entry, (data) => change(data, [index, at])))
    return { ...part, output: { ...part.output, value } }
  })
}

function withData<M extends Media>(part: M, change: (data: string | Uint8Array) => string | Uint8Array): M {
  if (part.type === 'image') return { ...part, image: change(part.image) }
  return part.type === 'file' ? { ...part, data: change(part.data) } : part
}

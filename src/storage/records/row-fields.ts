import { countBefore } from '../../core/messages/json.ts'
import type { Part, ToolResultContent } from '../../core/messages/message.ts'
import { isCondensing } from '../../core/model/plan.ts'
import type { BytesPlace, CompactionRecord, MessageRecord, RowRecord } from './records.ts'

/** The tags of a row, as indexes into the list of compactions. */
export type RowTags = {
  readonly condenseParent?: number
  readonly truncationParent?: number
  readonly retiredBy?: number
}

/** A range of positions that an active compaction hides. */
type HiddenRange = { readonly from: number; readonly to: number; readonly by: number }

/**
 * Computes the tags of a row by its place, from coverage and statuses. Active compactions hide every row at most once, so their ranges are
 * disjoint and a bisection finds the row.
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

  /** Whether two active ranges overlap, in which case the tags can't be right. */
  get isTwice(): boolean {
    return this.#ranges.some(({ from }, index) => index > 0 && this.#ranges[index - 1]!.to >= from)
  }

  /** Returns the index of the compaction that inserted the row with an ordinal. */
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
    const found = this.#ranges[countBefore(this.#ranges, ({ to }) => to < position)]
    return found !== undefined && found.from <= position ? found.by : undefined
  }
}

type InsertedPlace = Exclude<RowRecord, MessageRecord>

/** Returns the tags of a record as ids of compactions, as they are stored with its row. */
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
 * JSON has no bytes. A content has base64 in their place, and a list of these places beside it, so that no text can be mistaken for bytes.
 */

type Media = Part | ToolResultContent

/** Returns a content with base64 in place of bytes, and the places. */
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

/** Returns the original content; `undefined` if a place is invalid or isn't base64. */
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

/** Returns parts with other data in their images and files, including those within tool results. */
export function mapMedia(
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

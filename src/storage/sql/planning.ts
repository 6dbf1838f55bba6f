import type { Role, RowKind } from '../../core/messages/message.ts'
import { compareRows, View } from '../../core/model/view.ts'
import type { CallEntry, ResultEntry, ShownReplacement, ViewRow } from '../../core/model/view-row.ts'
import type { Sizes } from '../../core/tokens/measure.ts'
import type { Snapshot } from '../storage.ts'
import { loadPointerTargets, loadPreviews } from './compactions.ts'
import { damaged, parseStored } from './content-codec.ts'
import {
  decodeCalls,
  decodeResults,
  decodeShown,
  PACKED_ROW,
  REASONING,
  RETIRED,
  rowId,
  SPEAKS,
  skipTools,
  unpackFlags,
  unpackKind,
  unpackPinned,
  unpackRole,
} from './row-codec.ts'
import { estimatorOf, readSession, type StoredSession } from './sessions.ts'
import { reading, type Sql } from './sql.ts'
import { M_VISIBLE } from './view.ts'
import type { Work } from './work.ts'

/*
 * The index of a view, which planning uses. The driver takes a fixed time per row and per column, so each column is read as the text of a
 * single JSON array (figures in docs/internals/decisions.md).
 */

/** The approximate number of rows per page, because the length of texts in SQLite and strings in JavaScript is limited. */
const PAGE = 20_000

const COLUMNS = [
  'm.key',
  'm.anchor',
  PACKED_ROW,
  'm.size_text',
  'm.size_calls',
  'm.size_results',
  "coalesce(m.tools, '0')",
]
const COUNT = COLUMNS.length + 1
const TOOLS_NAME = 'index of calls and results'

/** The columns that few rows have, by the key of the row. */
const RARE_ROWS =
  'm.ordinal > 0 or m.id is not null or m.shown is not null or m.size_reasoning <> 0 or m.size_media <> 0 or m.size_images <> 0 or m.size_bytes <> 0'
const RARE_COLUMNS =
  'm.key, m.ordinal, m.id, cast(m.shown as text), m.size_reasoning, m.size_media, m.size_images, m.size_bytes, m.size_large'

/**
 * Reads one page of the index, between two anchors; exported for the test of its plan. Reads no content. The rows come in the order of the
 * named index, which is the view's; `appendPage` checks it.
 */
export const PLANNING_QUERY = planningQuery(
  (column) => `group_concat(${column})`,
  `{array}(${RARE_COLUMNS})`,
  (rows) => `undertext_messages m {index undertext_visible} ${rows}`,
)
/** The same query for PostgreSQL, which guarantees an order only with a sort. */
export const POSTGRES_QUERY = planningQuery(
  (column) => `string_agg(cast(${column} as text), ',')`,
  `{array}(${RARE_COLUMNS})`,
  (rows) => `(select m.* from undertext_messages m ${rows} order by m.anchor, m.ordinal) m`,
)

function planningQuery(
  joined: (column: string) => string,
  rare: string,
  from: (rows: string) => string,
): string {
  const lists = [...COLUMNS.map(joined), `coalesce(${joined(rare)} filter (where ${RARE_ROWS}), '')`]
  const rows = `where {family m} m.session = ? and m.anchor > ? and m.anchor <= ? and ${M_VISIBLE}`
  return `select ${lists.map((list) => `'[' || ${list} || ']'`).join(', ')}, count(*) from ${from(rows)}`
}

const PAGE_END = `select m.anchor from undertext_messages m {index undertext_visible}
  where {family m} m.session = ? and m.anchor > ? and ${M_VISIBLE} order by m.anchor, m.ordinal limit 1 offset ?`

/** Returns the rows of a view in order, without contents, within the caller's transaction. */
function* readIndex(sql: Sql, session: StoredSession): Work<IndexedRow[]> {
  for (let pageRows = PAGE; ; pageRows = Math.ceil(pageRows / 16)) {
    try {
      return yield* readPages(sql, session, pageRows)
    } catch (error) {
      // The names and ids of calls can be long; then smaller pages are tried.
      if (pageRows === 1 || !isTooLong(error)) throw error
    }
  }
}

/** Returns whether a text was longer than SQLite or JavaScript supports. */
function isTooLong(error: unknown): boolean {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return code === 'SQLITE_TOOBIG' || code === 'ERR_STRING_TOO_LONG' || error instanceof RangeError
}

function* readPages(
  sql: Sql,
  { no, incarnation, messageCount, inserted }: StoredSession,
  pageRows: number,
): Work<IndexedRow[]> {
  const rows: IndexedRow[] = []
  for (let from = -1; ; ) {
    const end =
      messageCount + inserted > pageRows ? (yield* sql.get(PAGE_END, no, from, pageRows))?.[0] : undefined
    const to = (end as number | undefined) ?? Number.MAX_SAFE_INTEGER
    const found = (yield* sql.get(sql.planning, no, from, to))!
    const count = found[COUNT] as number
    if (count > 0) appendPage(rows, found, count, incarnation)
    if (end === undefined) return rows
    from = to
  }
}

/** The columns of a page, each as an array with one entry per row, except the tools, which are one flat array. */
type Page = {
  readonly incarnation: string
  readonly anchors: readonly number[]
  readonly packed: readonly number[]
  readonly tools: readonly unknown[]
  /** The index of each row's first entry in the tools. */
  readonly toolsAt: Uint32Array
}

type Rare = readonly [
  key: number,
  ordinal: number,
  id: string | null,
  shown: string | null,
  reasoning: number,
  media: number,
  images: number,
  mediaBytes: number,
  largeImages: number,
]

function appendPage(
  rows: IndexedRow[],
  columns: readonly unknown[],
  count: number,
  incarnation: string,
): void {
  const array = (at: number): unknown[] => parseStored(columns[at], TOOLS_NAME, 'some row') as unknown[]
  const column = (at: number): unknown[] => {
    const values = array(at)
    // A missing value would shift all values after it.
    if (values.length !== count) throw damaged('index of the view', 'some row')
    return values
  }
  const keys = column(0) as number[]
  const anchors = column(1) as number[]
  const packed = column(2) as number[]
  const texts = column(3) as number[]
  const calls = column(4) as number[]
  const results = column(5) as number[]
  const tools = array(6)
  const rareRows = new Map((array(7) as Rare[]).map((rare) => [rare[0], rare] as const))
  const page = { incarnation, anchors, packed, tools, toolsAt: new Uint32Array(count) }
  let toolsAt = 0
  for (let index = 0; index < count; index++) {
    const key = keys[index]!
    const next = skipTools(tools, toolsAt)
    if (next === undefined) throw damaged(TOOLS_NAME, key)
    page.toolsAt[index] = toolsAt
    toolsAt = next
    const rare = rareRows.size === 0 ? undefined : rareRows.get(key)
    const sizes = {
      text: texts[index]!,
      reasoning: rare === undefined ? 0 : rare[4],
      toolCalls: calls[index]!,
      toolResults: results[index]!,
      media: rare === undefined ? 0 : rare[5],
      images: rare === undefined ? 0 : rare[6],
      mediaBytes: rare === undefined ? 0 : rare[7],
      largeImages: rare === undefined ? 0 : rare[8],
    }
    const row = new IndexedRow(key, sizes, rare, page, index)
    const before = rows.at(-1)
    if (before !== undefined && compareRows(before, row) >= 0) throw damaged('order of the view', key)
    rows.push(row)
  }
  if (toolsAt !== tools.length) throw damaged(TOOLS_NAME, 'some row')
}

const NOTHING: readonly never[] = []

/** A row of the view. Calls, results and replacements are decoded on demand, because most rows have none. */
class IndexedRow implements ViewRow {
  readonly key: number
  readonly sizes: Sizes
  readonly #rare: Rare | undefined
  readonly #page: Page
  readonly #at: number
  #calls: readonly CallEntry[] | undefined
  #results: readonly ResultEntry[] | undefined
  #shown: readonly ShownReplacement[] | undefined

  constructor(key: number, sizes: Sizes, rare: Rare | undefined, page: Page, at: number) {
    this.key = key
    this.sizes = sizes
    this.#rare = rare
    this.#page = page
    this.#at = at
  }

  get #packed(): number {
    return this.#page.packed[this.#at]!
  }

  get kind(): RowKind {
    return unpackKind(this.#packed)
  }

  get role(): Role {
    return unpackRole(this.#packed)
  }

  get hasReasoning(): boolean {
    return (unpackFlags(this.#packed) & REASONING) !== 0
  }

  get speaks(): boolean {
    return (unpackFlags(this.#packed) & SPEAKS) !== 0
  }

  get silent(): boolean {
    const { tools, toolsAt } = this.#page
    return (
      tools[toolsAt[this.#at]!] === 0 &&
      (unpackFlags(this.#packed) & ~RETIRED) === 0 &&
      this.kind === 'message'
    )
  }

  get pinned(): boolean {
    return unpackPinned(this.#packed)
  }

  get anchor(): number {
    return this.#page.anchors[this.#at]!
  }

  get ordinal(): number {
    return this.#rare === undefined ? 0 : this.#rare[1]
  }

  /** The position of a message is its anchor. */
  get position(): number | undefined {
    return this.kind === 'message' ? this.anchor : undefined
  }

  get id(): string {
    const ownId = this.#rare === undefined ? null : this.#rare[2]
    return rowId(this.#page.incarnation, ownId, this.position ?? null, this.ordinal)
  }

  get calls(): readonly CallEntry[] {
    this.#calls ??= this.#decode(decodeCalls)
    return this.#calls
  }

  get results(): readonly ResultEntry[] {
    this.#results ??= this.#decode(decodeResults)
    return this.#results
  }

  get shown(): readonly ShownReplacement[] {
    if (this.#shown === undefined) {
      const text = this.#rare === undefined ? null : this.#rare[3]
      this.#shown = text === null ? NOTHING : decodeShown(text, this.key)
    }
    return this.#shown
  }

  #decode<T>(decode: (values: readonly unknown[], start: number) => readonly T[]): readonly T[] {
    const { tools, toolsAt } = this.#page
    const start = toolsAt[this.#at]!
    return tools[start] === 0 ? NOTHING : decode(tools, start)
  }
}

/** Returns the input of planning as of one moment; `undefined` for an unknown session. Throws `ESTIMATOR_UNKNOWN`. */
export const readSnapshot = reading(
  'compactSession',
  function* (
    sql: Sql,
    id: string,
    provider: string,
  ): Work<(Snapshot & { readonly session: StoredSession }) | undefined> {
    const session = yield* readSession(sql, id)
    return (
      session && {
        session,
        view: yield* viewIndex(sql, session, provider),
        nextOrdinal: session.inserted + 1,
      }
    )
  },
)

/** Returns the index of the view, within the caller's transaction. */
export function* viewIndex(sql: Sql, session: StoredSession, provider: string): Work<View> {
  return new View(
    yield* readIndex(sql, session),
    estimatorOf(sql, session),
    provider,
    session.visibleSizes,
    undefined,
    yield* loadPointerTargets(sql, session.no),
    yield* loadPreviews(sql, session.no),
    session.visibleCount,
  )
}

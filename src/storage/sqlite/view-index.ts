import type { Role, RowKind } from '../../core/message.ts'
import type { Sizes } from '../../core/tokens.ts'
import type { CallEntry, ResultEntry, ShownReplacement, ViewRow } from '../../core/view.ts'
import type { Connection } from './connection.ts'
import { damaged, parseStored } from './content-codec.ts'
import { M_VISIBLE } from './history.ts'
import { decodeShown, PACKED_KIND, REASONING, rowId, SPEAKS, unpackKind, unpackRole } from './row-codec.ts'
import { decodeCalls, decodeResults, skipTools } from './tools-codec.ts'

/*
 * The index of a view: what planning works on. The driver's time for a row is a fixed part and one for each of
 * its columns, so the columns come instead, each as the text of one JSON array: 10,000 rows of twelve columns take
 * 12.5 ms to fetch and 5 more to parse their calls and results, eight arrays 5 and 4 (docs/decisions.md).
 */

/** Rows fetched at once. A text of SQLite's and a string of JavaScript's both have an end. */
const PAGE = 20_000

/** What most rows have; the last says what few have, as `Rare` names it. */
const COLUMNS = [
  'key',
  'anchor',
  'packed',
  'size_text',
  'size_calls',
  'size_results',
  'ifnull(tools, 0)',
  `iif(ordinal = 0 and id is null and shown is null and size_reasoning = 0 and size_media = 0, 0,
     json_array(ordinal, id, cast(shown as text), size_reasoning, size_media))`,
]
const COUNT = COLUMNS.length
const TOOLS_NAME = 'index of calls and results'

/** One page of the index behind a place, exported for the test of its plan. Reads no content. */
export const PLANNING_QUERY = `select ${COLUMNS.map((column) => `'[' || group_concat(${column}) || ']'`).join(', ')}, count(*)
  from (select m.key, m.anchor, m.ordinal, (${PACKED_KIND}) * 8 + m.flags * 2 + m.pinned as packed, m.size_text,
      m.size_reasoning, m.size_calls, m.size_results, m.size_media, m.tools, m.id, m.shown
    from undertext_messages m indexed by undertext_visible
    where m.session = ? and m.anchor >= ? and (m.anchor, m.ordinal) > (?, ?) and ${M_VISIBLE}
    order by m.anchor, m.ordinal limit ${PAGE})`

/** The rows of a view, in order, without their content. Within the caller's transaction. */
export function readIndex(connection: Connection, session: number, incarnation: string): IndexedRow[] {
  const rows: IndexedRow[] = []
  for (let last: IndexedRow | undefined; ; last = rows.at(-1)!) {
    const [anchor, ordinal] = last === undefined ? [0, -1] : [last.anchor, last.ordinal]
    const found = connection.get(PLANNING_QUERY, session, anchor, anchor, ordinal)!
    const count = found[COUNT] as number
    if (count > 0) appendPage(rows, found, count, incarnation)
    if (count < PAGE) return rows
  }
}

/** The columns of a page, each an array with one entry a row, but for the tools, which are one flat array. */
type Page = {
  readonly incarnation: string
  readonly anchors: readonly number[]
  readonly packed: readonly number[]
  readonly tools: readonly unknown[]
  /** Where the tools of each row begin. */
  readonly toolsAt: Uint32Array
  readonly rare: readonly (Rare | 0)[]
}
type Rare = readonly [
  ordinal: number,
  id: string | null,
  shown: string | null,
  reasoning: number,
  media: number,
]

/** Throws `STORE_CORRUPT`. */
function appendPage(
  rows: IndexedRow[],
  columns: readonly unknown[],
  count: number,
  incarnation: string,
): void {
  const column = (at: number): unknown[] => parseStored(columns[at], TOOLS_NAME, 'some row') as unknown[]
  const keys = column(0) as number[]
  const anchors = column(1) as number[]
  const packed = column(2) as number[]
  const texts = column(3) as number[]
  const calls = column(4) as number[]
  const results = column(5) as number[]
  const tools = column(6)
  const rare = column(7) as (Rare | 0)[]
  const page = { incarnation, anchors, packed, tools, toolsAt: new Uint32Array(count), rare }
  let toolsAt = 0
  for (let index = 0; index < count; index++) {
    page.toolsAt[index] = toolsAt
    toolsAt = skipTools(tools, toolsAt)
    const few = rare[index]!
    const sizes = {
      text: texts[index]!,
      reasoning: few === 0 ? 0 : few[3],
      toolCalls: calls[index]!,
      toolResults: results[index]!,
      media: few === 0 ? 0 : few[4],
    }
    rows.push(new IndexedRow(keys[index]!, sizes, page, index))
  }
  if (toolsAt !== tools.length) throw damaged(TOOLS_NAME, 'some row')
}

const NOTHING: readonly never[] = []

/** A row of the view. Calls, results and replacements are decoded when asked for: most rows have none. */
export class IndexedRow implements ViewRow {
  readonly key: number
  readonly sizes: Sizes
  readonly #page: Page
  readonly #at: number
  #calls: readonly CallEntry[] | undefined
  #results: readonly ResultEntry[] | undefined
  #shown: readonly ShownReplacement[] | undefined

  constructor(key: number, sizes: Sizes, page: Page, at: number) {
    this.key = key
    this.sizes = sizes
    this.#page = page
    this.#at = at
  }

  get #packed(): number {
    return this.#page.packed[this.#at]!
  }

  get #rare(): Rare | 0 {
    return this.#page.rare[this.#at]!
  }

  get kind(): RowKind {
    return unpackKind(Math.floor(this.#packed / 8))
  }

  get role(): Role {
    return unpackRole(Math.floor(this.#packed / 8))
  }

  get hasReasoning(): boolean {
    return ((this.#packed >> 1) & REASONING) !== 0
  }

  get speaks(): boolean {
    return ((this.#packed >> 1) & SPEAKS) !== 0
  }

  get pinned(): boolean {
    return (this.#packed & 1) === 1
  }

  get anchor(): number {
    return this.#page.anchors[this.#at]!
  }

  get ordinal(): number {
    const rare = this.#rare
    return rare === 0 ? 0 : rare[0]
  }

  /** A message's position is its anchor. */
  get position(): number | undefined {
    return this.kind === 'message' ? this.anchor : undefined
  }

  get id(): string {
    const rare = this.#rare
    return rowId(this.#page.incarnation, rare === 0 ? null : rare[1], this.position ?? null, this.ordinal)
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
      const rare = this.#rare
      this.#shown = rare === 0 || rare[2] === null ? NOTHING : decodeShown(rare[2], this.key)
    }
    return this.#shown
  }

  #decode<T>(decode: (values: readonly unknown[], start: number) => readonly T[]): readonly T[] {
    const { tools, toolsAt } = this.#page
    const start = toolsAt[this.#at]!
    if (tools[start] === 0) return NOTHING
    try {
      return decode(tools, start)
    } catch {
      throw damaged(TOOLS_NAME, this.key)
    }
  }
}

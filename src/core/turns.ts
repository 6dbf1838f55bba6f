import { type Pairing, pairToolUse } from './pairing.ts'
import type { CallEntry, ViewRow } from './view.ts'

/*
 * What must not be parted. A call, its parallel calls and their results are one group; a tool loop whose
 * reasoning signs it is one group from the reasoning on. A cut is legal between rows i-1 and i when no group
 * stands on both sides of it.
 */

/** The structure of a list of rows: groups, legal cuts, starts of turns, pending rows. */
export class Turns {
  readonly #groups: readonly number[]
  readonly #members: ReadonlyMap<number, readonly number[]>
  readonly #illegal: readonly boolean[]
  readonly #pairs: ReadonlyMap<string, CallPlace>
  readonly #calls = new Map<number, ReadonlyMap<number, CallEntry>>()
  /** Indexes of rows with a call that still waits for its result, and all that goes with them. */
  readonly pending: ReadonlySet<number>
  /** Indexes of rows with a call nobody answered, wherever they stand. */
  readonly unansweredRows: readonly number[]
  readonly rows: readonly ViewRow[]

  constructor(rows: readonly ViewRow[]) {
    this.rows = rows
    const union = new Union(rows.length)
    const { pairs, unanswered } = pairRows(rows)
    for (const { call, result } of pairs) union.unite(call.row, result.row)
    this.#pairs = new Map(pairs.map(({ call, result }) => [`${result.row}:${result.part}`, call] as const))
    loopGroups(rows, union)
    this.#groups = rows.map((_, index) => union.find(index))
    const members = new Map<number, number[]>()
    this.#groups.forEach((group, index) => {
      const list = members.get(group)
      if (list === undefined) members.set(group, [index])
      else list.push(index)
    })
    this.#members = members
    this.#illegal = illegalCuts(rows.length, members)
    this.unansweredRows = [...new Set(unanswered.map((call) => call.row))]
    this.pending = pendingRows(rows, new Set(this.unansweredRows), this)
  }

  /** The call that the result in part `part` of row `index` answers, if it answers one. */
  callOf(index: number, part: number): (CallEntry & { readonly row: number }) | undefined {
    const place = this.#pairs.get(`${index}:${part}`)
    if (place === undefined) return undefined
    const call = this.#callsOf(place.row).get(place.part)
    return call && { ...call, row: place.row }
  }

  /** The calls of a row by part: a row may hold thousands, each asked for. */
  #callsOf(index: number): ReadonlyMap<number, CallEntry> {
    let calls = this.#calls.get(index)
    if (calls === undefined) {
      calls = new Map(this.rows[index]!.calls.map((call) => [call.part, call] as const))
      this.#calls.set(index, calls)
    }
    return calls
  }

  /** The rows that go with a row, itself included, in order; the same array for every row of a group. */
  groupOf(index: number): readonly number[] {
    return this.#members.get(this.#groups[index]!)!
  }

  /** Whether a cut may fall before row `index` (0 and the length are legal). */
  isLegalCut(index: number): boolean {
    return index <= 0 || index >= this.rows.length || !this.#illegal[index]
  }

  /** All legal cuts, from 0 to the length, ascending. */
  legalCuts(): number[] {
    const cuts: number[] = []
    for (let index = 0; index <= this.rows.length; index++) if (this.isLegalCut(index)) cuts.push(index)
    return cuts
  }

  /** Whether a turn starts at row `index`: a person speaks, after somebody else did, and a cut may fall here. */
  isTurnStart(index: number): boolean {
    const row = this.rows[index]
    if (row === undefined || !isRequest(row) || !this.isLegalCut(index)) return false
    const before = this.rows[index - 1]
    return before === undefined || !isRequest(before)
  }

  /** The starts of all turns, ascending. */
  turnStarts(): number[] {
    const starts: number[] = []
    for (let index = 0; index < this.rows.length; index++) if (this.isTurnStart(index)) starts.push(index)
    return starts
  }
}

/** Whether a person speaks in this row: a message of the log, by the user, that says more than results. */
export function isRequest(row: ViewRow): boolean {
  return row.kind === 'message' && row.role === 'user' && row.speaks
}

type CallPlace = { readonly row: number; readonly part: number }

function pairRows(rows: readonly ViewRow[]): Pairing {
  return pairToolUse(
    rows.map((row) => (row.calls.length === 0 && row.results.length === 0 ? undefined : row)),
  )
}

/** Unites the rows of a tool loop from its first reasoning on. */
function loopGroups(rows: readonly ViewRow[], union: Union): void {
  let start = -1
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!
    const calls = row.role === 'assistant' && row.calls.length > 0
    const answers = row.results.length > 0 && !row.speaks
    if (!calls && !answers) start = -1
    else if (start >= 0) union.unite(start, index)
    else if (calls && row.hasReasoning) start = index
  }
}

function illegalCuts(length: number, members: ReadonlyMap<number, readonly number[]>): boolean[] {
  const depth = new Array<number>(length + 1).fill(0)
  for (const group of members.values()) {
    if (group.length < 2) continue
    depth[group[0]! + 1]! += 1
    depth[group[group.length - 1]! + 1]! -= 1
  }
  let open = 0
  return depth.map((change) => {
    open += change
    return open > 0
  })
}

/**
 * Rows of calls that still wait, with everything that goes with them: nobody answered, and behind them stands no
 * request and no assistant row without calls. Further calls and their results are no reason to stop waiting: a
 * batch may come as several messages, and be answered in any order.
 */
function pendingRows(
  rows: readonly ViewRow[],
  unanswered: ReadonlySet<number>,
  turns: Turns,
): ReadonlySet<number> {
  const pending = new Set<number>()
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index]!
    // Groups go in whole, so each is gone through once.
    if (unanswered.has(index) && !pending.has(index))
      for (const member of turns.groupOf(index)) pending.add(member)
    if (isRequest(row) || isAnswer(row)) break
  }
  return pending
}

/** Whether the model goes on without calling. A row of results only (of tools the provider runs) is none. */
function isAnswer({ role, calls, results, speaks }: ViewRow): boolean {
  return role === 'assistant' && calls.length === 0 && (speaks || results.length === 0)
}

/** Disjoint sets of indexes; the smallest index stands for its set. */
class Union {
  readonly #parents: number[]

  constructor(length: number) {
    this.#parents = Array.from({ length }, (_, index) => index)
  }

  find(index: number): number {
    let root = index
    while (this.#parents[root] !== root) root = this.#parents[root]!
    for (let at = index; at !== root; ) {
      const next = this.#parents[at]!
      this.#parents[at] = root
      at = next
    }
    return root
  }

  unite(a: number, b: number): void {
    const [low, high] = [this.find(a), this.find(b)].sort((x, y) => x - y)
    if (low !== high) this.#parents[high!] = low!
  }
}

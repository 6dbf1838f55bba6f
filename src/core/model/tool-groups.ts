/* Keeps calls and results together when a history is cut: the groups of rows that must stay together, and the legal cuts between them. */

import { type Pairing, pairToolUse } from '../messages/call-results.ts'
import type { CallEntry, ViewRow } from './view-row.ts'

/*
 * Groups of rows that stay together. A call, its parallel calls and their results form one group; a tool loop with signed reasoning forms
 * one group from the reasoning on. A cut between rows i-1 and i is legal if no group is on both sides of it.
 */

/** The structure of a list of rows: groups, legal cuts, starts of turns, and pending rows. */
export class Turns {
  readonly #groups: Groups
  readonly #depths: Int32Array
  readonly #pairs: Pairing<CallEntry>['pairs']
  #waitingBatches: ReadonlySet<number> | undefined
  /** Indexes of rows with an open call, that is, a call without a result, whatever follows it. */
  readonly openRows: readonly number[]
  /** The open rows that must stay visible: those with calls that aren't abandoned. */
  readonly #waitingRows: readonly number[]
  /** Indexes of the rows with an open call that isn't abandoned, and of the rows in their groups. */
  readonly pending: ReadonlySet<number>
  readonly rows: readonly ViewRow[]

  constructor(rows: readonly ViewRow[]) {
    this.rows = rows
    const union = new Union(rows.length)
    const { pairs, unanswered } = pairToolUse(rows)
    for (const { call, result } of pairs) union.unite(call.row, result.row)
    this.#pairs = pairs
    this.openRows = [...new Set(unanswered.map((call) => call.row))]
    loopGroups(rows, union, this.#withResults(this.openRows))
    this.#groups = new Groups(union, rows.length)
    this.#depths = this.#groups.depths()
    const abandoned = this.openRows.length === 0 ? 0 : abandonedBefore(rows)
    this.#waitingRows = this.openRows.filter((index) => index >= abandoned)
    this.pending = this.#withGroups(this.#waitingRows)
  }

  /** Like `pending`, but with the results that the call's batch already has only, without the earlier rows of the loop. */
  get waiting(): ReadonlySet<number> {
    if (this.#waitingBatches === undefined) {
      const batches = new Set(this.#waitingRows)
      this.withPartners(batches)
      this.#waitingBatches = batches
    }
    return this.#waitingBatches
  }

  /** Returns these rows, and the rows with results of their calls. */
  #withResults(indexes: readonly number[]): ReadonlySet<number> {
    const all = new Set(indexes)
    if (all.size === 0) return all
    const calling = new Set(indexes)
    for (const { call, result } of this.#pairs) if (calling.has(call.row)) all.add(result.row)
    return all
  }

  #withGroups(indexes: readonly number[]): ReadonlySet<number> {
    const all = new Set<number>()
    // Groups are added whole, so each is read once.
    for (const index of indexes)
      if (!all.has(index)) for (const member of this.groupOf(index)) all.add(member)
    return all
  }

  /** Returns the call of the result in part `part` of row `index`, if there is one. */
  callOf(index: number, part: number): (CallEntry & { readonly row: number }) | undefined {
    const call = this.#pairOf(index, part)?.call
    return call && { ...call.entry, row: call.row }
  }

  /** Binary search: pairs are in the order of the results. */
  #pairOf(index: number, part: number): Pairing<CallEntry>['pairs'][number] | undefined {
    let from = 0
    let to = this.#pairs.length
    while (from < to) {
      const middle = (from + to) >> 1
      const { result } = this.#pairs[middle]!
      if (result.row < index || (result.row === index && result.part < part)) from = middle + 1
      else to = middle
    }
    const pair = this.#pairs[from]
    return pair?.result.row === index && pair.result.part === part ? pair : undefined
  }

  /** Returns the rows of a row's group, in order; the same array for every row of the group. */
  groupOf(index: number): readonly number[] {
    return this.#groups.membersOf(index)
  }

  /** Returns the other rows of the groups of these rows, ascending. */
  partedBy(indexes: Iterable<number>): number[] {
    return this.#groups.partedBy(indexes)
  }

  /** Adds the rows with the calls and results of the rows in a set, transitively. Reasoning is ignored here. */
  withPartners(indexes: Set<number>): void {
    const union = new Union(this.rows.length)
    for (const { call, result } of this.#pairs) union.unite(call.row, result.row)
    const sets = new Set<number>()
    for (const index of indexes) sets.add(union.find(index))
    for (let index = 0; index < this.rows.length; index++) if (sets.has(union.find(index))) indexes.add(index)
  }

  /** Returns the other rows with calls or results of these rows, ascending. */
  partnersMissing(indexes: Iterable<number>): number[] {
    const given = new Set(indexes)
    const missing = this.#pairs.flatMap(({ call, result }) =>
      given.has(call.row) === given.has(result.row) ? [] : given.has(call.row) ? result.row : call.row,
    )
    return [...new Set(missing)].sort((a, b) => a - b)
  }

  /** Returns the other rows with results of calls in these rows, ascending. */
  answersMissing(indexes: Iterable<number>): number[] {
    const given = new Set(indexes)
    const missing = this.#pairs.filter(({ call, result }) => given.has(call.row) && !given.has(result.row))
    return [...new Set(missing.map(({ result }) => result.row))].sort((a, b) => a - b)
  }

  /** Returns whether a cut may fall before row `index` (0 and the length are legal). */
  isLegalCut(index: number): boolean {
    return index <= 0 || index >= this.rows.length || this.#depths[index] === 0
  }

  /** Returns the tool loop of a row: its first row, and the row after its last. A row outside a loop is returned alone. */
  loopOf(index: number): readonly [from: number, to: number] {
    let from = index
    let to = index + 1
    if (!isInLoop(this.rows[index]!)) return [from, to]
    while (from > 0 && isInLoop(this.rows[from - 1]!)) from -= 1
    while (to < this.rows.length && isInLoop(this.rows[to]!)) to += 1
    return [from, to]
  }

  /** The start of the open tool loop, which neither an answer nor a request follows; the length if there is none. */
  get openLoop(): number {
    return openLoopBefore(this.rows, this.rows.length)
  }

  /** Returns all legal cuts, from 0 to the length, ascending. */
  legalCuts(): number[] {
    const cuts: number[] = []
    for (let index = 0; index <= this.rows.length; index++) if (this.isLegalCut(index)) cuts.push(index)
    return cuts
  }

  /** Returns whether a turn starts at row `index`: the user speaks after another speaker, and a cut before the row is legal. */
  isTurnStart(index: number): boolean {
    const row = this.rows[index]
    if (row === undefined || !isRequest(row) || !this.isLegalCut(index)) return false
    const before = this.rows[index - 1]
    return before === undefined || !isRequest(before)
  }

  /** Returns the starts of all turns, ascending. */
  turnStarts(): number[] {
    const starts: number[] = []
    for (let index = 0; index < this.rows.length; index++) if (this.isTurnStart(index)) starts.push(index)
    return starts
  }
}

/** Returns the start of the tool loop that would be open if the rows ended before `end`; `end` if there is none. */
export function openLoopBefore(rows: readonly ViewRow[], end: number): number {
  let from = end
  while (from > 0 && isInLoop(rows[from - 1]!)) from -= 1
  return from
}

/** Returns whether the user speaks in this row: a message of the log with content other than results. */
export function isRequest(row: ViewRow): boolean {
  return row.kind === 'message' && row.role === 'user' && row.speaks
}

/**
 * Returns the index before which open calls are abandoned: the last request of the user that the assistant has answered. Providers want a
 * result before the next request, so the model went on without it. A row that a compaction inserted counts as a request, because it may
 * stand for one: otherwise hiding the request would make the call wait again.
 *
 * A request alone abandons nothing: the user may speak while a tool runs or before answering an approval.
 */
function abandonedBefore(rows: readonly ViewRow[]): number {
  const answer = rows.findLastIndex((row) => row.kind === 'message' && isAnswer(row))
  for (let index = answer - 1; index > 0; index--)
    if (isRequest(rows[index]!) || rows[index]!.kind !== 'message') return index
  return 0
}

function isAnswer(row: ViewRow): boolean {
  return isCalling(row) || (row.role === 'assistant' && row.speaks)
}

/**
 * Unites the rows of a tool loop from its first reasoning on. Reasoning in its own row belongs to the assistant's next row: to the calls
 * that it led to, and so to their loop, or to the text.
 *
 * Rows with open calls may have to stay. In a finished loop, whose reasoning is no longer needed as a whole, they are not united with
 * the rows around them: otherwise a single call without a result would keep the whole loop.
 */
function loopGroups(rows: readonly ViewRow[], union: Union, open: ReadonlySet<number>): void {
  const finished = open.size === 0 ? 0 : openLoopBefore(rows, rows.length)
  let start = -1
  let thoughts: number[] = []
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!
    if (isEmptyRow(row)) continue
    if (isThought(row)) {
      thoughts.push(index)
      continue
    }
    if (!isInLoop(row)) {
      start = -1
      if (row.role === 'assistant') for (const thought of thoughts) union.unite(thought, index)
    } else if (index < finished && open.has(index)) {
      start = -1
      for (const thought of thoughts) union.unite(thought, index)
    } else {
      if (start < 0 && isCalling(row)) start = thoughts[0] ?? (row.hasReasoning ? index : -1)
      if (start >= 0) for (const member of [...thoughts, index]) union.unite(start, member)
    }
    thoughts = []
  }
}

/** Returns whether a row contains only reasoning: some formats give reasoning its own message. */
export function isThought({ role, hasReasoning, speaks, calls, results }: ViewRow): boolean {
  return role === 'assistant' && hasReasoning && !speaks && calls.length === 0 && results.length === 0
}

/**
 * Returns whether a message contains nothing that is sent to a model; such rows separate nothing. A block that only its provider can read
 * is sent.
 */
function isEmptyRow({ kind, hasReasoning, speaks, calls, results }: ViewRow): boolean {
  return kind === 'message' && !speaks && !hasReasoning && calls.length === 0 && results.length === 0
}

function isCalling({ role, calls }: ViewRow): boolean {
  return role === 'assistant' && calls.length > 0
}

/**
 * Returns whether a row belongs to a tool loop: it calls tools, contains only their results or the reasoning between them, or is empty.
 */
function isInLoop(row: ViewRow): boolean {
  return isCalling(row) || (row.results.length > 0 && !row.speaks) || isThought(row) || isEmptyRow(row)
}

/** Disjoint sets of indexes; the smallest index represents its set. */
class Union {
  readonly #parents: Int32Array

  constructor(length: number) {
    this.#parents = new Int32Array(length)
    for (let index = 0; index < length; index++) this.#parents[index] = index
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
    const [first, second] = [this.find(a), this.find(b)]
    if (first < second) this.#parents[second] = first
    else this.#parents[first] = second
  }
}

/** The sets of a union, with their members in order. */
class Groups {
  /** The first member of the set of each index. */
  readonly #first: Int32Array
  /** The members of each set, by its first member. Sets with one member are added on demand. */
  readonly #members = new Map<number, number[]>()

  constructor(union: Union, length: number) {
    this.#first = new Int32Array(length)
    for (let index = 0; index < length; index++) {
      const first = union.find(index)
      this.#first[index] = first
      if (first !== index) this.membersOf(first).push(index)
    }
  }

  membersOf(index: number): number[] {
    const first = this.#first[index]!
    const known = this.#members.get(first)
    if (known !== undefined) return known
    const members = [first]
    this.#members.set(first, members)
    return members
  }

  /** Returns, for each index, the number of sets on both sides of a cut before it. */
  depths(): Int32Array {
    const depths = new Int32Array(this.#first.length + 1)
    for (const members of this.#members.values()) {
      depths[members[0]! + 1]! += 1
      depths[members.at(-1)! + 1]! -= 1
    }
    for (let index = 1; index < depths.length; index++) depths[index]! += depths[index - 1]!
    return depths
  }

  partedBy(indexes: Iterable<number>): number[] {
    const given = new Set(indexes)
    const sets = new Set(Array.from(given, (index) => this.membersOf(index)))
    const parted = [...sets].flatMap((members) => members.filter((member) => !given.has(member)))
    return parted.sort((a, b) => a - b)
  }
}

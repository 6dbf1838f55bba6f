/*
 * Roo Code's tags as compactions. Roo shows what stands from the last summary on, less what a marker among that hides; earlier
 * summaries hide what carries their tag. So the last summary covers all before it, an earlier one what is tagged as its, a marker what is
 * tagged as its and still visible. What the tags of a file cannot mean is mended, and noted.
 */
import type { PositionRange } from '../../core/message.ts'
import { pairToolUse } from '../../core/pairing.ts'
import { rangesOf } from './ranges.ts'
import type { RooElement, RooNote } from './roo-element.ts'
import { tagNotes } from './roo-tags.ts'

export type RooCompaction = {
  /** Index of the summary or the marker. */
  readonly owner: number
  /** Index of the last element it covers or its own: compactions are in the order of these. */
  readonly after: number
  readonly kind: 'condense' | 'truncate'
  readonly covers: readonly PositionRange[]
}

export type RooPlan = {
  /** The place among the messages of each element that is one. */
  readonly ordinals: ReadonlyMap<number, number>
  readonly compactions: readonly RooCompaction[]
  readonly notes: readonly RooNote[]
}

/** What the elements of a file become. */
export function planOfRoo(elements: readonly RooElement[]): RooPlan {
  return new Planner(elements).plan()
}

class Planner {
  readonly #elements: readonly RooElement[]
  readonly #partners: ReadonlyMap<number, readonly number[]>
  readonly #lastSummary: number
  readonly #ordinals = new Map<number, number>()
  /** Where each element stands in the view's order: its ordinal, or the last one its row stands for. */
  readonly #anchors = new Map<number, number>()
  readonly #visible = new Set<number>()
  readonly #compactions: RooCompaction[] = []
  readonly #notes: RooNote[] = []

  constructor(elements: readonly RooElement[]) {
    this.#elements = elements
    this.#partners = partnersOf(elements)
    this.#lastSummary = elements.findLastIndex(({ kind }) => kind === 'summary')
  }

  plan(): RooPlan {
    const markersDue = new Map<number, number[]>()
    for (const [index, { kind }] of this.#elements.entries()) {
      if (kind === 'message') this.#message(index)
      else if (kind === 'summary') this.#summary(index)
      else {
        const due = this.#markerDue(index)
        markersDue.set(due, [...(markersDue.get(due) ?? []), index])
      }
      for (const marker of markersDue.get(index) ?? []) this.#marker(marker)
    }
    for (const note of tagNotes(this.#elements)) this.#notes.push(note)
    const compactions = this.#compactions.toSorted((a, b) => a.after - b.after)
    return { ordinals: this.#ordinals, compactions, notes: this.#notes }
  }

  #message(index: number): void {
    const ordinal = this.#ordinals.size + 1
    this.#ordinals.set(index, ordinal)
    this.#anchors.set(index, ordinal)
    // A result that the last summary took along with its call.
    if (!this.#compactions.some(({ after, owner }) => owner < index && index <= after))
      this.#visible.add(index)
  }

  #summary(index: number): void {
    const { id } = this.#elements[index]!
    const isLast = index === this.#lastSummary
    const before = [...this.#visible]
    const own = isLast || id === undefined ? before : this.#span(before, id)
    if (isLast && own.some((at) => this.#elements[at]!.condenseParent !== id))
      this.#note(
        index,
        'mended',
        'messages before the last summary that carry no tag of it: Roo Code does not send them, so it covers them',
      )
    const after = isLast ? this.#answersBehind(index) : index
    const covered = this.#wholeRun(own, after)
    if (covered.length < own.length)
      this.#note(index, 'mended', 'a summary that parted calls of tools from their results covers less')
    if (covered.length > 0) this.#make(index, 'condense', covered, after)
    else this.#coversNothing(index, (other) => id !== undefined && other.condenseParent === id)
  }

  /** What carries a summary's tag, and what stands between: a summary stands for messages that follow each other. */
  #span(before: readonly number[], id: string): number[] {
    const ordered = before.toSorted((a, b) => this.#anchors.get(a)! - this.#anchors.get(b)! || a - b)
    const isTagged = (at: number): boolean => this.#elements[at]!.condenseParent === id
    return ordered.slice(ordered.findIndex(isTagged), ordered.findLastIndex(isTagged) + 1)
  }

  /**
   * Behind the last summary, Roo leaves out results whose calls stand before it. A message of nothing else goes with its calls, where it
   * follows the summary at once. Answers the index of the last such message, or that of the summary.
   */
  #answersBehind(summary: number): number {
    let last = summary
    for (let at = summary + 1; at < this.#elements.length; at++) {
      const { onlyResults, use } = this.#elements[at]!
      const calls = this.#partners.get(at) ?? []
      if (!onlyResults || calls.length < (use?.results.length ?? 0) || calls.some((call) => call > summary))
        break
      last = at
    }
    return last
  }

  /** Of rows that a summary is to cover those up to where no call is parted from a result behind it. */
  #wholeRun(rows: readonly number[], after: number): number[] {
    let covered = rows.toSorted((a, b) => this.#anchors.get(a)! - this.#anchors.get(b)! || a - b)
    for (;;) {
      const given = new Set(covered)
      const isParted = (at: number): boolean =>
        (this.#partners.get(at) ?? []).some(
          (other) => !given.has(other) && (other > after ? true : this.#visible.has(other)),
        )
      const first = covered.findIndex(isParted)
      if (first === -1) return covered
      // A result whose call stands before all that is covered is left out at the beginning, a call at the end.
      const start = this.#anchors.get(covered[0]!)!
      const answersEarlier = (this.#partners.get(covered[first]!) ?? []).some(
        (other) => (this.#anchors.get(other) ?? start) < start,
      )
      covered = answersEarlier ? covered.slice(first + 1) : covered.slice(0, first)
    }
  }

  /** Behind which element a marker's messages have all been told. */
  #markerDue(index: number): number {
    const { id } = this.#elements[index]!
    const behind = this.#elements.findLastIndex(
      ({ truncationParent }) => id !== undefined && truncationParent === id,
    )
    return index < this.#lastSummary ? index : Math.max(index, behind)
  }

  #marker(index: number): void {
    const { id, condenseParent } = this.#elements[index]!
    const isOwn = ({ truncationParent }: RooElement): boolean => id !== undefined && truncationParent === id
    const isKnown = this.#elements.some((other) => other.kind === 'summary' && other.id === condenseParent)
    if (
      index < this.#lastSummary &&
      !(condenseParent !== undefined && isKnown) &&
      this.#elements.some(isOwn)
    ) {
      this.#note(
        index,
        'mended',
        'a marker that was put before a summary and hides only what that had hidden: dropped',
      )
      return
    }
    const tagged = [...this.#visible].filter((at) => isOwn(this.#elements[at]!))
    const lawful = tagged.filter((at) => this.#elements[at]!.kind !== 'summary')
    if (lawful.length < tagged.length)
      this.#note(index, 'mended', 'a truncation that hid a summary leaves it visible')
    const covered = this.#withoutHalves(lawful)
    if (covered.length < lawful.length)
      this.#note(index, 'mended', 'a truncation that parted calls of tools from their results covers less')
    if (covered.length > 0) this.#make(index, 'truncate', covered, this.#markerDue(index))
    else this.#coversNothing(index, isOwn)
  }

  #withoutHalves(rows: readonly number[]): number[] {
    const covered = new Set(rows)
    const isHalf = (at: number): boolean =>
      (this.#partners.get(at) ?? []).some(
        (other) => !covered.has(other) && (this.#visible.has(other) || !this.#ordinals.has(other)),
      )
    for (let halves = rows.filter(isHalf); halves.length > 0; halves = [...covered].filter(isHalf))
      for (const half of halves) covered.delete(half)
    return [...covered]
  }

  #make(owner: number, kind: RooCompaction['kind'], covered: readonly number[], after: number): void {
    for (const index of covered) this.#visible.delete(index)
    const ordinals = covered.flatMap((index) => this.#ordinals.get(index) ?? [])
    // Inserted rows are named by the place they stand at.
    const anchors = covered.map((index) => this.#anchors.get(index)!)
    const told = this.#ordinals.size
    const behind = Array.from(
      { length: after > owner && kind === 'condense' ? after - owner : 0 },
      (_, at) => told + 1 + at,
    )
    const covers = rangesOf([...ordinals, ...anchors, ...behind])
    this.#anchors.set(owner, covers.at(-1)![1])
    this.#visible.add(owner)
    this.#compactions.push({ owner, after, kind, covers })
  }

  /** A summary or a marker that has nothing to hide: a message, but for a marker whose messages are in the file, which is dropped. */
  #coversNothing(index: number, isOwn: (other: RooElement) => boolean): void {
    const { kind } = this.#elements[index]!
    const isThere = this.#elements.some((other, at) => at !== index && isOwn(other))
    if (isThere && kind === 'marker') {
      this.#note(index, 'mended', 'a marker that could hide nothing: dropped')
      return
    }
    const why = isThere ? 'that could hide nothing' : 'of messages that are not in the file'
    this.#note(index, 'kept', `a ${kind} ${why}: kept as a message`)
    this.#message(index)
  }

  #note(index: number, kind: RooNote['kind'], why: string): void {
    this.#notes.push({ index, kind, why })
  }
}

/** The elements that hold the calls and results of each element's results and calls. */
function partnersOf(elements: readonly RooElement[]): Map<number, number[]> {
  const partners = new Map<number, number[]>()
  const add = (of: number, partner: number): void => {
    partners.set(of, [...(partners.get(of) ?? []), partner])
  }
  const { pairs } = pairToolUse(elements.map(({ kind, use }) => (kind === 'message' ? use : undefined)))
  for (const { call, result } of pairs) {
    add(call.row, result.row)
    add(result.row, call.row)
  }
  return partners
}

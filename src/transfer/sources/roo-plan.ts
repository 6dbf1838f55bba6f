import { pairToolUse, type ToolUse } from '../../core/messages/call-results.ts'
import { listIn } from '../../core/messages/json.ts'
import type { PositionRange } from '../../core/messages/message.ts'
import { rangesOf } from './fields.ts'

/*
 * Represents Roo Code's tags as compactions. Roo shows the messages from the last summary on, except those that a later marker hides;
 * earlier summaries hide the messages with their tag. So the last summary covers everything before it, an earlier one covers the messages
 * with its tag, and a marker covers the visible messages with its tag. Inconsistent tags are repaired and noted.
 */

export type RooCompaction = {
  /** The index of the summary or marker. */
  readonly owner: number
  /** The index of the last element that it covers, or its own. Compactions are in this order. */
  readonly after: number
  readonly kind: 'condense' | 'truncate'
  readonly covers: readonly PositionRange[]
}

export type RooPlan = {
  /** The message number of each element that is a message. */
  readonly ordinals: ReadonlyMap<number, number>
  readonly compactions: readonly RooCompaction[]
  readonly notes: readonly RooNote[]
}

/** Returns the plan for the elements of a file. */
export function planOfRoo(elements: readonly RooElement[]): RooPlan {
  return new Planner(elements).plan()
}

class Planner {
  readonly #elements: readonly RooElement[]
  readonly #partners: ReadonlyMap<number, readonly number[]>
  readonly #lastSummary: number
  /** The elements with the tag of a summary or a marker, by its id. */
  readonly #condensed = new Map<string, number[]>()
  readonly #truncated = new Map<string, number[]>()
  readonly #summaries = new Set<string | undefined>()
  /** The last element that the compactions so far cover. */
  #coveredTo = -1
  readonly #ordinals = new Map<number, number>()
  /** The place of each element in view order: its ordinal, or the last ordinal that its row replaces. */
  readonly #anchors = new Map<number, number>()
  readonly #visible = new Set<number>()
  readonly #compactions: RooCompaction[] = []
  readonly #notes: RooNote[] = []

  constructor(elements: readonly RooElement[]) {
    this.#elements = elements
    this.#partners = partnersOf(elements)
    this.#lastSummary = elements.findLastIndex(({ kind }) => kind === 'summary')
    for (const [index, { kind, id, condenseParent, truncationParent }] of elements.entries()) {
      if (kind === 'summary') this.#summaries.add(id)
      if (condenseParent !== undefined) listIn(this.#condensed, condenseParent).push(index)
      if (truncationParent !== undefined) listIn(this.#truncated, truncationParent).push(index)
    }
  }

  plan(): RooPlan {
    const markersDue = new Map<number, number[]>()
    for (const [index, { kind }] of this.#elements.entries()) {
      if (kind === 'message') this.#message(index)
      else if (kind === 'summary') this.#summary(index)
      else {
        const due = this.#markerDue(index)
        listIn(markersDue, due).push(index)
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
    // A result that the last summary covers together with its call.
    if (index > this.#coveredTo) this.#visible.add(index)
  }

  #summary(index: number): void {
    const { id } = this.#elements[index]!
    const isLast = index === this.#lastSummary
    const tagged = taggedIn(this.#condensed, id)
    const own = isLast || id === undefined ? [...this.#visible] : this.#span(tagged)
    if (isLast && own.some((at) => this.#elements[at]!.condenseParent !== id))
      this.#note(
        index,
        'mended',
        'messages before the last summary lack its tag; Roo Code does not send them, so the summary covers them',
      )
    const after = isLast ? this.#answersAfter(index) : index
    const covered = this.#wholeRun(own, after)
    if (covered.length < own.length)
      this.#note(
        index,
        'mended',
        'a summary that separated tool calls from their results covers fewer messages',
      )
    if (covered.length > 0) this.#make(index, 'condense', covered, after)
    else this.#coversNothing(index, tagged)
  }

  /** Returns the elements with a summary's tag, and those between them, because a summary replaces adjacent messages. */
  #span(tagged: readonly number[]): number[] {
    const own = new Set(tagged.filter((at) => this.#visible.has(at)))
    if (own.size === 0) return []
    const ordered = this.#inOrder(this.#visible)
    const isTagged = (at: number): boolean => own.has(at)
    return ordered.slice(ordered.findIndex(isTagged), ordered.findLastIndex(isTagged) + 1)
  }

  #inOrder(rows: Iterable<number>): number[] {
    return [...rows].sort((a, b) => this.#anchors.get(a)! - this.#anchors.get(b)! || a - b)
  }

  /**
   * After the last summary, Roo omits results whose calls precede it. A message that contains nothing else is covered together with its
   * calls if it directly follows the summary. Returns the index of the last such message, or the summary's.
   */
  #answersAfter(summary: number): number {
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

  /** Returns the rows for a summary, up to the last place where no call is separated from a later result. */
  #wholeRun(rows: readonly number[], after: number): number[] {
    let covered = this.#inOrder(rows)
    for (;;) {
      const given = new Set(covered)
      const isParted = (at: number): boolean =>
        (this.#partners.get(at) ?? []).some(
          (other) => !given.has(other) && (other > after ? true : this.#visible.has(other)),
        )
      const first = covered.findIndex(isParted)
      if (first === -1) return covered
      // A result whose call precedes the covered rows is excluded at the beginning, and a call without its result at the end.
      const start = this.#anchors.get(covered[0]!)!
      const answersEarlier = (this.#partners.get(covered[first]!) ?? []).some(
        (other) => (this.#anchors.get(other) ?? start) < start,
      )
      covered = answersEarlier ? covered.slice(first + 1) : covered.slice(0, first)
    }
  }

  /** Returns the element after which all messages of a marker are known. */
  #markerDue(index: number): number {
    const end = taggedIn(this.#truncated, this.#elements[index]!.id).at(-1) ?? -1
    return index < this.#lastSummary ? index : Math.max(index, end)
  }

  #marker(index: number): void {
    const { id, condenseParent } = this.#elements[index]!
    const own = taggedIn(this.#truncated, id)
    const isKnown = condenseParent !== undefined && this.#summaries.has(condenseParent)
    if (index < this.#lastSummary && !isKnown && own.length > 0) {
      this.#note(
        index,
        'mended',
        'a marker before a summary that had already hidden its messages was dropped',
      )
      return
    }
    const tagged = own.filter((at) => this.#visible.has(at))
    const lawful = tagged.filter((at) => this.#elements[at]!.kind !== 'summary')
    if (lawful.length < tagged.length)
      this.#note(index, 'mended', 'a truncation that hid a summary leaves it visible')
    const covered = this.#withoutHalves(lawful)
    if (covered.length < lawful.length)
      this.#note(
        index,
        'mended',
        'a truncation that separated tool calls from their results covers fewer messages',
      )
    if (covered.length > 0) this.#make(index, 'truncate', covered, this.#markerDue(index))
    else this.#coversNothing(index, own)
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
    // Inserted rows are identified by their place.
    const anchors = covered.map((index) => this.#anchors.get(index)!)
    const done = this.#ordinals.size
    const end = Array.from(
      { length: after > owner && kind === 'condense' ? after - owner : 0 },
      (_, at) => done + 1 + at,
    )
    const covers = rangesOf([...ordinals, ...anchors, ...end])
    this.#anchors.set(owner, covers.at(-1)![1])
    this.#visible.add(owner)
    this.#compactions.push({ owner, after, kind, covers })
    this.#coveredTo = Math.max(this.#coveredTo, after)
  }

  /** A summary or marker that has no messages to hide becomes a message; a marker whose messages are in the file is dropped. */
  #coversNothing(index: number, tagged: readonly number[]): void {
    const { kind } = this.#elements[index]!
    const isThere = tagged.some((at) => at !== index)
    if (isThere && kind === 'marker') {
      this.#note(index, 'mended', 'a marker without any messages to hide was dropped')
      return
    }
    const why = isThere ? 'without any messages to hide' : 'of messages that are not in the file'
    this.#note(index, 'kept', `a ${kind} ${why} was kept as a message`)
    this.#message(index)
  }

  #note(index: number, kind: RooNote['kind'], why: string): void {
    this.#notes.push({ index, kind, why })
  }
}

function taggedIn(tags: ReadonlyMap<string, readonly number[]>, id: string | undefined): readonly number[] {
  return (id === undefined ? undefined : tags.get(id)) ?? []
}

/** Returns, for each element, the elements with the other halves of its calls and results. */
function partnersOf(elements: readonly RooElement[]): Map<number, number[]> {
  const partners = new Map<number, number[]>()
  const { pairs } = pairToolUse(elements.map(({ kind, use }) => (kind === 'message' ? use : undefined)))
  for (const { call, result } of pairs) {
    listIn(partners, call.row).push(result.row)
    listIn(partners, result.row).push(call.row)
  }
  return partners
}

/** Returns notes about inconsistent tags: missing owners, and two tags on one message. */
function tagNotes(elements: readonly RooElement[]): RooNote[] {
  const notes: RooNote[] = []
  const note = (index: number, why: string): void => {
    notes.push({ index, kind: 'mended', why })
  }
  const owners = { condenseParent: new Set<string>(), truncationParent: new Set<string>() }
  for (const { kind, id } of elements) {
    if (id === undefined) continue
    if (kind === 'summary') owners.condenseParent.add(id)
    if (kind === 'marker') owners.truncationParent.add(id)
  }
  const missing = new Map<string, { index: number; count: number }>()
  let both: { index: number; count: number } | undefined
  for (const [index, element] of elements.entries()) {
    for (const tag of ['condenseParent', 'truncationParent'] as const) {
      const parent = element[tag]
      if (parent === undefined || owners[tag].has(parent)) continue
      const key = `${tag} ${parent}`
      missing.set(key, { index, ...missing.get(key), count: (missing.get(key)?.count ?? 0) + 1 })
    }
    if (element.condenseParent !== undefined && element.truncationParent !== undefined)
      both = { index, ...both, count: (both?.count ?? 0) + 1 }
  }
  for (const { index, count } of missing.values())
    note(index, `tags of a missing summary or marker were dropped (${count})`)
  if (both !== undefined)
    note(
      both.index,
      `messages have the tags of both a summary and a marker; the first one counts (${both.count})`,
    )
  return notes
}

/** An element in short form, without content. */
export type RooElement = {
  readonly kind: 'message' | 'summary' | 'marker'
  /** The id that tags refer to, for a summary or marker. */
  readonly id: string | undefined
  readonly condenseParent: string | undefined
  readonly truncationParent: string | undefined
  readonly use: ToolUse | undefined
  /** Whether it contains nothing but tool results. */
  readonly onlyResults: boolean
}

/** A repair or note about the element with this index. */
type RooNote = { readonly index: number; readonly kind: 'mended' | 'kept'; readonly why: string }

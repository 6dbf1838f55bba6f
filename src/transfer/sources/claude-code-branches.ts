import type { PositionRange } from '../../messages/message.ts'
import { rangesOf } from './claude-code-fields.ts'
import type { Facts } from './claude-code-way.ts'
import { type Node, Way } from './claude-code-way.ts'

/* What a compaction of Claude Code's can cover: a piece of what is visible that parts nothing. */

type Spoken = { readonly ordinal: number; readonly facts: Pick<Facts, 'results'> }

/** Of what is not kept the longest piece that follows each other. */
function longestRun<T>(before: readonly T[], kept: ReadonlySet<T>): T[] {
  let longest: T[] = []
  let run: T[] = []
  for (const node of before) {
    if (kept.has(node)) run = []
    else run.push(node)
    if (run.length > longest.length) longest = run
  }
  return longest
}

/** A piece cut down until no call is parted from its result. */
function wholeRun<T extends Spoken>(
  run: readonly T[],
  before: readonly T[],
  callerOf: (callId: string) => T | undefined,
): T[] {
  const at = new Map(before.map((node, index) => [node, index]))
  const pairs = before.flatMap((node, result) =>
    node.facts.results.flatMap((id) => {
      const caller = at.get(callerOf(id)!)
      return caller === undefined ? [] : [[caller, result] as const]
    }),
  )
  // The run follows each other, so it is from a place in `before` up to one.
  let from = run.length === 0 ? 0 : at.get(run[0]!)!
  let to = from + run.length
  const isIn = (index: number): boolean => from <= index && index < to
  for (let cuts = 0; cuts < MOST_CUTS && from < to; cuts++) {
    const parted = pairs.find(([caller, result]) => isIn(caller) !== isIn(result))
    if (parted === undefined) return before.slice(from, to)
    const [caller, result] = parted
    // A call loses what follows it, a result what goes before.
    if (isIn(caller)) to = caller
    else from = result + 1
  }
  return []
}

/** A compaction that parts more calls from their results than this covers nothing. */
const MOST_CUTS = 100

/**
 * The rows a summary stands for, given the ordinals of its boundary and its own entry: what is covered, and between what stays rows that say
 * nothing and earlier summaries. Where all that is said is kept, what stands before it, if anything is seen of that (`isSeen`), else the
 * compaction's own entries.
 */
function coversOf(
  covered: readonly Spoken[],
  before: readonly Spoken[],
  { boundary, summary, isSeen }: { boundary: number; summary: number; isSeen: (to: number) => boolean },
): PositionRange {
  const [first, last] = [covered[0], covered.at(-1)]
  if (first === undefined || last === undefined) {
    const to = (before[0]?.ordinal ?? boundary) - 1
    return to > 0 && isSeen(to) ? [1, to] : [boundary, summary]
  }
  const previous = before[before.indexOf(first) - 1]
  const next = before[before.indexOf(last) + 1]
  return [(previous?.ordinal ?? 0) + 1, (next?.ordinal ?? boundary) - 1]
}

/*
 * Whoever rewinds or edits in Claude Code goes on from an earlier entry (src/transfer/sources/claude-code-way.ts); what lies behind that one
 * is taken back from then on. A compaction begins anew at its boundary.
 *
 * `Branches` goes along with the entries and says when which of them are taken back, come back, or are covered by a summary. It knows nothing
 * of what they say.
 *
 * Each of these costs as much as there is to be gone through, so a file could be made that costs the square of its length. `Effort` sees to it
 * that none does: from some entry on rewinds are not told one by one but once, at the end. The entry depends on those before it alone, so a
 * file that has grown is read alike.
 */

export type Made = {
  readonly id: string
  readonly kind: 'condense' | 'manual'
  readonly covers: readonly PositionRange[]
  /** Whether what it hides came back later. */
  undone: boolean
}

/** What an entry brings along. */
export type Step = {
  /** What it takes back, as a compaction that is told before it. */
  readonly leaves?: Made
  /** The compaction whose summary it is, told behind it. */
  readonly condenses?: Made
  /** What is wrong with its place. */
  readonly mended: readonly string[]
}

/** Entries that may be gone through, for the file and for each entry of it; and what a compaction costs where it is stored. */
const EFFORT = 4_000_000
const EFFORT_PER_ENTRY = 32
const EFFORT_PER_COMPACTION = 4_000

const TOO_MANY = 'so many rewinds and compactions that from here on'
const REWINDS_AT_END = `${TOO_MANY} rewinds are told as one, at the end of the file`
const NOT_CONDENSED = `${TOO_MANY} what a compaction covered stays visible`

type Hiding = { readonly made: Made; readonly nodes: readonly Node[]; readonly boundary: Node | undefined }

export class Branches {
  /** All compactions so far. What became of one is known at the end. */
  readonly made: Made[] = []
  readonly #way = new Way()
  /** What is said and neither taken back nor covered, in order. */
  #visible: Node[] = []
  readonly #callers = new Map<string, Node>()
  readonly #condensed: Hiding[] = []
  readonly #hiddenBy = new Map<Node, Hiding>()
  #boundary: Node | undefined
  /** Whether ordinals on the way no longer ascend. */
  #isRelinked = false
  /** Entries that were gone through, other than once each. */
  #effort = 0
  #isSpent = false

  /** Entries that were gone through beyond the entries themselves: what an import costs. */
  get effort(): number {
    return this.#effort
  }

  /** Whether there is an entry of this uuid. */
  has(uuid: string): boolean {
    return this.#way.knows(uuid)
  }

  /** Takes the next entry, which is message number `ordinal`. Its uuid is new. */
  add(facts: Facts, ordinal: number): Step {
    const mended: string[] = []
    const node = this.#way.add(facts, ordinal, mended)
    if (facts.isBeside) return { mended }
    for (const call of facts.calls) this.#callers.set(call, node)
    if (this.#isSpent) return { mended: [...mended, ...this.#defer(node)] }
    this.#isSpent = this.#effort > EFFORT + EFFORT_PER_ENTRY * ordinal
    if (this.#isSpent) mended.push(REWINDS_AT_END)
    const leaves = this.#follow(node)
    if (facts.compaction === 'boundary') this.#boundary = node
    if (facts.compaction === 'summary') return { ...leaves, condenses: this.#condense(node, mended), mended }
    if (!facts.isSpoken) return { ...leaves, mended }
    if (this.#boundary !== undefined && this.#way.isOn(this.#boundary)) {
      mended.push('a compaction whose summary is not in the file: what it covered stays visible')
      this.#boundary = undefined
    }
    this.#visible.push(node)
    return { ...leaves, mended }
  }

  /** Takes an entry without following it, and says what of it is lost. */
  #defer(node: Node): string[] {
    this.#way.defer(node)
    if (node.facts.isSpoken) this.#visible.push(node)
    return node.facts.compaction === 'summary' ? [NOT_CONDENSED] : []
  }

  /** What is taken back at the end, where entries were not followed one by one. */
  end(ordinal: number): Made | undefined {
    const { leaf } = this.#way
    if (!this.#isSpent || leaf === undefined) return undefined
    return this.#turnTo(leaf, ordinal + 1)
  }

  /** Goes on from where an entry stands. What is only shown beside the way does not lead anywhere. */
  #follow(node: Node): { readonly leaves?: Made } {
    if (this.#way.goesOnTo(node)) return {}
    if (!node.facts.isSpoken && node.facts.compaction === undefined) return {}
    const leaves = this.#turnTo(node, node.ordinal)
    return leaves === undefined ? {} : { leaves }
  }

  /** Makes the way lead to a node, before the entry with the ordinal `next`; what it leaves is taken back. */
  #turnTo(node: Node, next: number): Made | undefined {
    const { fork, fresh, left: gone } = this.#way.turnTo(node)
    this.#effort += fresh.size + gone + this.#condensed.length
    this.#bringBack(fresh)
    const left = this.#notKept(this.#isRelinked ? 0 : (fork?.ordinal ?? 0))
    if (left.length === 0) return undefined
    const made: Made = {
      id: `rewind-${node.facts.uuid}`,
      kind: 'manual',
      covers: this.#coversOf(left, next),
      undone: false,
    }
    this.#hide({ made, nodes: left, boundary: undefined })
    return made
  }

  /** Takes out of force what no longer holds: compactions whose boundary was left, and what hides entries of the new way. */
  #bringBack(fresh: ReadonlySet<Node>): void {
    for (const hiding of this.#condensed) {
      const isLeft = !this.#way.isOn(hiding.boundary!)
      if (isLeft && !hiding.made.undone) this.#lift(hiding)
      else if (!isLeft && hiding.made.undone) this.#putBack(hiding)
    }
    for (const node of fresh) {
      const hiding = this.#hiddenBy.get(node)
      if (hiding?.made.kind === 'manual') this.#lift(hiding)
    }
  }

  #lift(hiding: Hiding): void {
    hiding.made.undone = true
    this.#effort += EFFORT_PER_COMPACTION + this.#visible.length + hiding.nodes.length
    const back = hiding.nodes.filter((node) => this.#hiddenBy.get(node) === hiding)
    for (const node of back) this.#hiddenBy.delete(node)
    this.#visible = [...this.#visible, ...back].sort((a, b) => a.ordinal - b.ordinal)
    this.#isRelinked = true
  }

  #putBack(hiding: Hiding): void {
    hiding.made.undone = false
    this.#conceal(hiding)
  }

  #hide(hiding: Hiding): void {
    this.made.push(hiding.made)
    this.#conceal(hiding)
  }

  #conceal(hiding: Hiding): void {
    this.#effort += EFFORT_PER_COMPACTION + this.#visible.length + hiding.nodes.length
    const nodes = new Set(hiding.nodes.filter((node) => !this.#hiddenBy.has(node)))
    for (const node of nodes) this.#hiddenBy.set(node, hiding)
    this.#visible = this.#visible.filter((node) => !nodes.has(node))
  }

  /** What is visible behind a place and is neither on the way nor goes with what is. */
  #notKept(behind: number): Node[] {
    const left: Node[] = []
    for (let at = this.#visible.length - 1; at >= 0; at--) {
      const node = this.#visible[at]!
      if (node.ordinal <= behind) break
      this.#effort += 1
      if (!this.#isKept(node)) left.push(node)
    }
    return left.reverse()
  }

  /** Where all that was ever said is left from some place on, what says nothing goes along. */
  #coversOf(left: readonly Node[], next: number): PositionRange[] {
    const first = left[0]!.ordinal
    const isBehind = (node: Node): boolean => node.ordinal >= first
    this.#effort += this.#hiddenBy.size >> 3
    const isEnd =
      this.#visible.filter(isBehind).length === left.length && ![...this.#hiddenBy.keys()].some(isBehind)
    return isEnd ? [[first, next - 1]] : rangesOf(left.map(({ ordinal }) => ordinal))
  }

  /** On the way, of one answer with what is, or a result of one of its calls: parallel calls stand beside each other. */
  #isKept(node: Node): boolean {
    if (this.#way.isOn(node) || this.#isOfAnswerOnWay(node)) return true
    const { results } = node.facts
    if (results.length === 0) return false
    const askers = [node.parent, ...results.map((id) => this.#callers.get(id))]
    return askers.some((asker) => asker !== undefined && this.#isOfAnswerOnWay(asker))
  }

  #isOfAnswerOnWay(node: Node): boolean {
    const { messageId, calls } = node.facts
    if (messageId === undefined) return calls.length > 0 && this.#way.isOn(node)
    return this.#way.isAnswerOn(messageId)
  }

  /** A summary stands for all that is visible before its boundary, save what the compaction kept. */
  #condense(summary: Node, mended: string[]): Made {
    const boundary = this.#boundary ?? summary
    this.#boundary = undefined
    const kept = this.#way.keptBy(boundary.facts.preserved)
    const before = this.#visible.filter(({ ordinal }) => ordinal < boundary.ordinal)
    this.#effort += kept.length + before.length
    const covered = wholeRun(longestRun(before, new Set(kept)), before, (id) => {
      this.#effort += 1
      return this.#callers.get(id)
    })
    if (covered.length + kept.length < before.length)
      mended.push('a compaction that kept what stands apart, or parted calls from their results, covers less')
    const covers = coversOf(covered, before, {
      boundary: boundary.ordinal,
      summary: summary.ordinal,
      isSeen: (to) => this.#isSeen(to),
    })
    const made: Made = { id: summary.facts.uuid, kind: 'condense', covers: [covers], undone: false }
    const hiding = { made, nodes: covered, boundary }
    this.#condensed.push(hiding)
    this.#hide(hiding)
    if (this.#way.relink(boundary, summary, kept)) this.#isRelinked = true
    return made
  }

  /** Whether a row up to this one is surely seen: a summary, or rows that nothing hid. */
  #isSeen(to: number): boolean {
    this.#effort += this.made.length
    const inForce = this.made.filter(({ undone, covers }) => !undone && covers[0]![0] <= to)
    return (
      inForce.length === 0 ||
      inForce.some(({ kind, covers }) => kind === 'condense' && covers.at(-1)![1] <= to)
    )
  }
}

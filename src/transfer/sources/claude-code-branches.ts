import type { PositionRange } from '../../core/messages/message.ts'
import type { Facts } from './claude-code-tree.ts'
import { EntryTree, type Node } from './claude-code-tree.ts'
import { rangesOf } from './fields.ts'

/* The rows that a compaction of Claude Code can cover: adjacent visible rows that contain a call if and only if they contain its result. */

type Spoken = { readonly ordinal: number; readonly facts: Pick<Facts, 'results'> }

/** Returns the longest run of adjacent rows that aren't kept. */
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

/** Returns a run, shortened until it separates no call from its result. */
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
  // The rows are adjacent, so they form a range of `before`.
  let from = run.length === 0 ? 0 : at.get(run[0]!)!
  let to = from + run.length
  const isIn = (index: number): boolean => from <= index && index < to
  for (let cuts = 0; cuts < MAX_CUTS && from < to; cuts++) {
    const parted = pairs.find(([caller, result]) => isIn(caller) !== isIn(result))
    if (parted === undefined) return before.slice(from, to)
    const [caller, result] = parted
    // A call excludes the rows after it, a result the rows before it.
    if (isIn(caller)) to = caller
    else from = result + 1
  }
  return []
}

/** If a compaction separates more calls from their results than this, it covers nothing. */
const MAX_CUTS = 100

/**
 * Returns the rows that a summary replaces, given the ordinals of its boundary and of its own entry: the covered rows, and bookkeeping rows
 * and earlier summaries between kept rows. If all messages are kept, returns the rows before them if any of these is visible (`isSeen`);
 * otherwise the compaction's own entries.
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
 * A rewind or an edit in Claude Code continues from an earlier entry (src/transfer/sources/claude-code-tree.ts), and the entries after that
 * one are rewound. A compaction starts a new path at its boundary.
 *
 * `Branches` follows the entries and reports which of them are rewound, restored, or covered by a summary. It doesn't read their contents.
 *
 * Each of these steps visits all affected entries, so the cost of a malicious file could grow with the square of its length. `Effort`
 * limits this: from some entry on, rewinds aren't reported one by one, but once at the end. Which entry depends only on the entries before
 * it, so a file that has grown is read in the same way.
 */

export type Made = {
  readonly id: string
  readonly kind: 'condense' | 'manual'
  readonly covers: readonly PositionRange[]
  /** Whether its hidden entries were restored later. */
  undone: boolean
}

/** The effects of an entry. */
export type Step = {
  /** The entries that it rewinds, as a compaction before it. */
  readonly leaves?: Made
  /** The compaction whose summary it is, after it. */
  readonly condenses?: Made
  /** The repairs of its place. */
  readonly repairs: readonly string[]
}

/** The maximum number of visits of entries, for the file and per entry; and the cost of storing a compaction. */
const EFFORT = 4_000_000
const EFFORT_PER_ENTRY = 32
const EFFORT_PER_COMPACTION = 4_000

const TOO_MANY = 'too many rewinds and compactions: from here on,'
const REWINDS_AT_END = `${TOO_MANY} rewinds are combined at the end of the file`
const NOT_CONDENSED = `${TOO_MANY} messages that a compaction covered stay visible`

type Hiding = { readonly made: Made; readonly nodes: readonly Node[]; readonly boundary: Node | undefined }

export class Branches {
  /** All compactions so far. Their final state is only known at the end. */
  readonly made: Made[] = []
  readonly #tree = new EntryTree()
  /** The messages that are neither rewound nor covered, in order. */
  #visible: Node[] = []
  readonly #callers = new Map<string, Node>()
  readonly #condensed: Hiding[] = []
  readonly #hiddenBy = new Map<Node, Hiding>()
  #boundary: Node | undefined
  /** Whether the ordinals on the path are no longer ascending. */
  #isRelinked = false
  /** The number of repeated visits of entries. */
  #effort = 0
  #isSpent = false

  /** The number of visits beyond one per entry, which is the cost of an import. */
  get effort(): number {
    return this.#effort
  }

  /** Returns whether there is an entry with this uuid. */
  has(uuid: string): boolean {
    return this.#tree.has(uuid)
  }

  /** Adds the next entry, message number `ordinal`. Its uuid must be new. */
  add(facts: Facts, ordinal: number): Step {
    const repairs: string[] = []
    const node = this.#tree.add(facts, ordinal, repairs)
    if (facts.isSidechain) return { repairs }
    for (const call of facts.calls) this.#callers.set(call, node)
    if (this.#isSpent) return { repairs: [...repairs, ...this.#defer(node)] }
    this.#isSpent = this.#effort > EFFORT + EFFORT_PER_ENTRY * ordinal
    if (this.#isSpent) repairs.push(REWINDS_AT_END)
    const leaves = this.#follow(node)
    if (facts.compaction === 'boundary') this.#boundary = node
    if (facts.compaction === 'summary')
      return { ...leaves, condenses: this.#condense(node, repairs), repairs }
    if (!facts.isSpoken) return { ...leaves, repairs }
    if (this.#boundary !== undefined && this.#tree.isOnPath(this.#boundary)) {
      repairs.push('a compaction without its summary: the messages that it covered stay visible')
      this.#boundary = undefined
    }
    this.#visible.push(node)
    return { ...leaves, repairs }
  }

  /** Adds an entry without following it; returns the notes about what is lost. */
  #defer(node: Node): string[] {
    this.#tree.defer(node)
    if (node.facts.isSpoken) this.#visible.push(node)
    return node.facts.compaction === 'summary' ? [NOT_CONDENSED] : []
  }

  /** Returns the entries that are rewound at the end, if entries weren't followed one by one. */
  end(ordinal: number): Made | undefined {
    const { leaf } = this.#tree
    if (!this.#isSpent || leaf === undefined) return undefined
    return this.#moveTo(leaf, ordinal + 1)
  }

  /** Continues the path at an entry, unless the entry is only displayed. */
  #follow(node: Node): { readonly leaves?: Made } {
    if (this.#tree.extendTo(node)) return {}
    if (!node.facts.isSpoken && node.facts.compaction === undefined) return {}
    const leaves = this.#moveTo(node, node.ordinal)
    return leaves === undefined ? {} : { leaves }
  }

  /** Moves the path to a node, before the entry with the ordinal `next`. The abandoned entries are rewound. */
  #moveTo(node: Node, next: number): Made | undefined {
    const { fork, fresh, left: gone } = this.#tree.moveTo(node)
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

  /** Undoes compactions that no longer apply: those whose boundary was abandoned, and those that hide entries of the new path. */
  #bringBack(fresh: ReadonlySet<Node>): void {
    for (const hiding of this.#condensed) {
      const isLeft = !this.#tree.isOnPath(hiding.boundary!)
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

  /** Returns the visible entries after a place that are neither on the path nor belong to an entry of it. */
  #notKept(end: number): Node[] {
    const left: Node[] = []
    for (let at = this.#visible.length - 1; at >= 0; at--) {
      const node = this.#visible[at]!
      if (node.ordinal <= end) break
      this.#effort += 1
      if (!this.#isKept(node)) left.push(node)
    }
    return left.reverse()
  }

  /** If all messages after some place are abandoned, the bookkeeping rows are rewound too. */
  #coversOf(left: readonly Node[], next: number): PositionRange[] {
    const first = left[0]!.ordinal
    const isAfter = (node: Node): boolean => node.ordinal >= first
    this.#effort += this.#hiddenBy.size >> 3
    const isEnd =
      this.#visible.filter(isAfter).length === left.length && ![...this.#hiddenBy.keys()].some(isAfter)
    return isEnd ? [[first, next - 1]] : rangesOf(left.map(({ ordinal }) => ordinal))
  }

  /**
   * Returns whether an entry is on the path, belongs to an answer on it, or is a result of its calls, because parallel calls are siblings.
   */
  #isKept(node: Node): boolean {
    if (this.#tree.isOnPath(node) || this.#isOfAnswerOnPath(node)) return true
    const { results } = node.facts
    if (results.length === 0) return false
    const askers = [node.parent, ...results.map((id) => this.#callers.get(id))]
    return askers.some((asker) => asker !== undefined && this.#isOfAnswerOnPath(asker))
  }

  #isOfAnswerOnPath(node: Node): boolean {
    const { messageId, calls } = node.facts
    if (messageId === undefined) return calls.length > 0 && this.#tree.isOnPath(node)
    return this.#tree.hasAnswer(messageId)
  }

  /** A summary replaces all visible entries before its boundary, except those kept by the compaction. */
  #condense(summary: Node, repairs: string[]): Made {
    const boundary = this.#boundary ?? summary
    this.#boundary = undefined
    const kept = this.#tree.keptBy(boundary.facts.preserved)
    const before = this.#visible.filter(({ ordinal }) => ordinal < boundary.ordinal)
    this.#effort += kept.length + before.length
    const covered = wholeRun(longestRun(before, new Set(kept)), before, (id) => {
      this.#effort += 1
      return this.#callers.get(id)
    })
    if (covered.length + kept.length < before.length)
      repairs.push(
        'a compaction that kept messages apart from each other, or separated calls from their results, covers fewer messages',
      )
    const covers = coversOf(covered, before, {
      boundary: boundary.ordinal,
      summary: summary.ordinal,
      isSeen: (to) => this.#isSeen(to),
    })
    const made: Made = { id: summary.facts.uuid, kind: 'condense', covers: [covers], undone: false }
    const hiding = { made, nodes: covered, boundary }
    this.#condensed.push(hiding)
    this.#hide(hiding)
    if (this.#tree.relink(boundary, summary, kept)) this.#isRelinked = true
    return made
  }

  /** Returns whether some row up to this one is certainly visible: a summary, or a row that isn't hidden. */
  #isSeen(to: number): boolean {
    this.#effort += this.made.length
    const inForce = this.made.filter(({ undone, covers }) => !undone && covers[0]![0] <= to)
    return (
      inForce.length === 0 ||
      inForce.some(({ kind, covers }) => kind === 'condense' && covers.at(-1)![1] <= to)
    )
  }
}

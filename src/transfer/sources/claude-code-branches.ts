/*
 * Claude Code only ever adds entries. Each names the one it follows, so a file is a tree, and what is sent is the way from the last entry
 * to the root. Whoever rewinds or edits goes on from an earlier entry; what lies behind that one is taken back from then on. A
 * compaction begins anew at its boundary.
 *
 * `Branches` goes along with the entries and says when which of them are taken back, come back, or are covered by a summary. It knows nothing
 * of what they say.
 */
import type { PositionRange } from '../../core/message.ts'
import { coversOf, longestRun, wholeRun } from './claude-code-cover.ts'
import type { Facts, Preserved } from './claude-code-facts.ts'
import { rangesOf } from './ranges.ts'

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

type Node = {
  parent: Node | undefined
  readonly ordinal: number
  readonly facts: Facts
  /** The compaction that hides it. */
  hiddenBy: Hiding | undefined
}
type Hiding = { readonly made: Made; readonly nodes: readonly Node[]; readonly boundary: Node | undefined }

export class Branches {
  /** All compactions so far. What became of one is known at the end. */
  readonly made: Made[] = []
  readonly #nodes = new Map<string, Node>()
  /** The way from the last entry to the root. */
  readonly #way = new Set<Node>()
  #leaf: Node | undefined
  /** What is said and neither taken back nor covered, in order. */
  #visible: Node[] = []
  readonly #answers = new Map<string, Node[]>()
  readonly #callers = new Map<string, Node>()
  readonly #condensed: Hiding[] = []
  readonly #instead = new Map<Node, Node>()
  #boundary: Node | undefined
  /** Whether ordinals on the way no longer ascend. */
  #isRelinked = false

  /** Whether there is an entry of this uuid. */
  has(uuid: string): boolean {
    return this.#nodes.has(uuid)
  }

  /** Takes the next entry, which is message number `ordinal`. Its uuid is new. */
  add(facts: Facts, ordinal: number): Step {
    const mended: string[] = []
    const node: Node = { parent: this.#parentOf(facts, mended), ordinal, facts, hiddenBy: undefined }
    this.#nodes.set(facts.uuid, node)
    if (facts.isBeside) return { mended }
    if (facts.messageId !== undefined)
      this.#answers.set(facts.messageId, [...(this.#answers.get(facts.messageId) ?? []), node])
    for (const call of facts.calls) this.#callers.set(call, node)
    const leaves = this.#follow(node)
    if (facts.compaction === 'boundary') this.#boundary = node
    if (facts.compaction === 'summary') return { ...leaves, condenses: this.#condense(node, mended), mended }
    if (!facts.isSpoken) return { ...leaves, mended }
    if (this.#boundary !== undefined && this.#way.has(this.#boundary)) {
      mended.push('a compaction whose summary is not in the file: what it covered stays visible')
      this.#boundary = undefined
    }
    this.#visible.push(node)
    return { ...leaves, mended }
  }

  #parentOf({ parent, logicalParent, compaction, isBeside }: Facts, mended: string[]): Node | undefined {
    if (parent === undefined) return this.#leaf
    if (parent !== null) {
      const known = this.#nodes.get(parent)
      if (known !== undefined) return this.#instead.get(known) ?? known
      if (this.#leaf !== undefined && !isBeside)
        mended.push('the entry it follows is not in the file: taken to follow the one before it')
      return this.#leaf
    }
    // A compaction begins anew, and what it covered is still there.
    if (compaction === undefined) return undefined
    const before = logicalParent === undefined ? undefined : this.#nodes.get(logicalParent)
    return before ?? this.#leaf
  }

  /** Goes on from where an entry stands. What is only shown beside the way does not lead anywhere. */
  #follow(node: Node): { readonly leaves?: Made } {
    if (this.#leaf === node.parent && (this.#leaf !== undefined || this.#way.size === 0)) {
      this.#way.add(node)
      this.#leaf = node
      return {}
    }
    if (!node.facts.isSpoken && node.facts.compaction === undefined) return {}
    const { fork, fresh } = this.#turnTo(node)
    this.#bringBack(fresh)
    const left = this.#notKept(this.#isRelinked ? 0 : (fork?.ordinal ?? 0))
    if (left.length === 0) return {}
    const made: Made = {
      id: `rewind-${node.facts.uuid}`,
      kind: 'manual',
      covers: this.#coversOf(left, node.ordinal),
      undone: false,
    }
    this.#hide({ made, nodes: left, boundary: undefined })
    return { leaves: made }
  }

  /** Makes the way lead to a node. Answers where it leaves the old one, and what is new on it. */
  #turnTo(node: Node): { readonly fork: Node | undefined; readonly fresh: ReadonlySet<Node> } {
    const fresh = new Set<Node>()
    let fork: Node | undefined = node
    while (fork !== undefined && !this.#way.has(fork) && !fresh.has(fork)) {
      fresh.add(fork)
      fork = fork.parent
    }
    if (fork !== undefined && !this.#way.has(fork)) fork = undefined
    for (let at = this.#leaf; at !== undefined && at !== fork && this.#way.delete(at); ) at = at.parent
    for (const one of fresh) this.#way.add(one)
    this.#leaf = node
    return { fork, fresh }
  }

  /** Takes out of force what no longer holds: compactions whose boundary was left, and what hides entries of the new way. */
  #bringBack(fresh: ReadonlySet<Node>): void {
    for (const hiding of this.#condensed) {
      const isLeft = !this.#way.has(hiding.boundary!)
      if (isLeft && !hiding.made.undone) this.#lift(hiding)
      else if (!isLeft && hiding.made.undone) this.#putBack(hiding)
    }
    for (const { hiddenBy } of fresh) if (hiddenBy?.made.kind === 'manual') this.#lift(hiddenBy)
  }

  #lift(hiding: Hiding): void {
    hiding.made.undone = true
    const back = hiding.nodes.filter((node) => node.hiddenBy === hiding)
    for (const node of back) node.hiddenBy = undefined
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
    const nodes = new Set(hiding.nodes.filter(({ hiddenBy }) => hiddenBy === undefined))
    for (const node of nodes) node.hiddenBy = hiding
    this.#visible = this.#visible.filter((node) => !nodes.has(node))
  }

  /** What is visible behind a place and is neither on the way nor goes with what is. */
  #notKept(behind: number): Node[] {
    const left: Node[] = []
    for (let at = this.#visible.length - 1; at >= 0; at--) {
      const node = this.#visible[at]!
      if (node.ordinal <= behind) break
      if (!this.#isKept(node)) left.push(node)
    }
    return left.reverse()
  }

  /** Where all that is said is left from some place on, what says nothing goes along. */
  #coversOf(left: readonly Node[], next: number): PositionRange[] {
    const first = left[0]!.ordinal
    const isEnd =
      this.#visible.findLastIndex(({ ordinal }) => ordinal < first) + left.length + 1 === this.#visible.length
    return isEnd ? [[first, next - 1]] : rangesOf(left.map(({ ordinal }) => ordinal))
  }

  /** On the way, of one answer with what is, or a result of one of its calls: parallel calls stand beside each other. */
  #isKept(node: Node): boolean {
    if (this.#way.has(node) || this.#isOfAnswerOnWay(node)) return true
    const { results } = node.facts
    if (results.length === 0) return false
    const askers = [node.parent, ...results.map((id) => this.#callers.get(id))]
    return askers.some((asker) => asker !== undefined && this.#isOfAnswerOnWay(asker))
  }

  #isOfAnswerOnWay(node: Node): boolean {
    const { messageId, calls } = node.facts
    if (messageId === undefined) return calls.length > 0 && this.#way.has(node)
    return (this.#answers.get(messageId) ?? []).some((other) => this.#way.has(other))
  }

  /** A summary stands for all that is visible before its boundary, save what the compaction kept. */
  #condense(summary: Node, mended: string[]): Made {
    const boundary = this.#boundary ?? summary
    this.#boundary = undefined
    const kept = this.#keptBy(boundary.facts.preserved)
    const before = this.#visible.filter(({ ordinal }) => ordinal < boundary.ordinal)
    const covered = wholeRun(longestRun(before, new Set(kept)), before, (id) => this.#callers.get(id))
    if (covered.length + kept.length < before.length)
      mended.push('a compaction that kept what stands apart, or parted calls from their results, covers less')
    const covers = coversOf(covered, before, boundary.ordinal, summary.ordinal)
    const made: Made = { id: summary.facts.uuid, kind: 'condense', covers, undone: false }
    const hiding = { made, nodes: covered, boundary }
    this.#condensed.push(hiding)
    this.#hide(hiding)
    this.#relink(boundary, summary, kept)
    return made
  }

  #keptBy(preserved: Preserved | undefined): Node[] {
    if (preserved === undefined) return []
    const nodes = preserved.uuids.map((uuid) => this.#nodes.get(uuid))
    if (nodes.some((node) => node === undefined || !this.#way.has(node))) return []
    if (!preserved.isSegment) return nodes as Node[]
    const [head, tail] = nodes as [Node, Node]
    const kept: Node[] = []
    for (let at: Node | undefined = tail; at !== undefined; at = at.parent) {
      kept.unshift(at)
      if (at === head) return kept
    }
    return []
  }

  /** What was kept stands behind the summary from now on, or between boundary and summary, as the compaction says. */
  #relink(boundary: Node, summary: Node, kept: readonly Node[]): void {
    const [head] = kept
    const tail = kept.at(-1)
    if (head === undefined || tail === undefined) return
    this.#isRelinked = true
    const isBehindSummary = boundary.facts.preserved!.anchor !== boundary.facts.uuid
    boundary.parent = head.parent
    for (const [at, node] of kept.entries())
      node.parent = kept[at - 1] ?? (isBehindSummary ? summary : boundary)
    if (isBehindSummary) {
      this.#instead.set(summary, tail)
      this.#leaf = tail
    } else summary.parent = tail
  }
}

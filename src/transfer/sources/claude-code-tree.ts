import { isSpoken } from '../../adapters/claude-agent-sdk/entry.ts'
import { toolUseOf } from '../../core/messages/call-results.ts'
import { filledText, isObject, type JsonObject } from '../../core/messages/json.ts'

/*
 * Claude Code only appends entries. Each names the entry it follows, so a file is a tree, and the conversation is the path from the last
 * entry to the root.
 */

/** An entry in the tree. */
export type Node = {
  parent: Node | undefined
  readonly ordinal: number
  readonly facts: Facts
}

/** The tree, and the current path as entries are added. */
export class EntryTree {
  readonly #nodes = new Map<string, Node>()
  /** From the last entry to the root. */
  readonly #path = new Set<Node>()
  /** The entry that the next one may follow. After `defer` it isn't the end of the path. */
  #leaf: Node | undefined
  #tip: Node | undefined
  /** The number of entries of an answer on the path. */
  readonly #answers = new Map<string, number>()
  /** The entry that stands in for a summary as the parent of later entries. */
  readonly #substitutes = new Map<Node, Node>()

  /** Returns whether there is an entry with this uuid, on the path or not. */
  has(uuid: string): boolean {
    return this.#nodes.has(uuid)
  }

  isOnPath(node: Node): boolean {
    return this.#path.has(node)
  }

  /** Adds an entry to the tree, but not yet to the path. Repairs of its place are added to `repairs`. */
  add(facts: Facts, ordinal: number, repairs: string[]): Node {
    const node: Node = { parent: this.#parentOf(facts, repairs), ordinal, facts }
    this.#nodes.set(facts.uuid, node)
    return node
  }

  /** Extends the path to a node that follows its end; returns `false` if it doesn't follow. */
  extendTo(node: Node): boolean {
    if (this.#leaf !== node.parent || (this.#leaf === undefined && this.#path.size > 0)) return false
    this.#addToPath(node)
    this.#leaf = node
    this.#tip = node
    return true
  }

  /** Continues at a node without moving the path, which `moveTo` can do later. */
  defer(node: Node): void {
    if (this.#leaf === node.parent || node.facts.isSpoken || node.facts.compaction !== undefined)
      this.#leaf = node
  }

  /** The entry that the next one may follow. */
  get leaf(): Node | undefined {
    return this.#leaf
  }

  hasAnswer(messageId: string): boolean {
    return (this.#answers.get(messageId) ?? 0) > 0
  }

  #addToPath(node: Node): void {
    if (this.#path.has(node)) return
    this.#path.add(node)
    this.#countAnswer(node, 1)
  }

  #countAnswer({ facts }: Node, by: number): void {
    const { messageId, isSidechain } = facts
    if (messageId === undefined || isSidechain) return
    this.#answers.set(messageId, (this.#answers.get(messageId) ?? 0) + by)
  }

  /** Moves the path to a node. Returns where it leaves the old path, its new entries, and the number of abandoned entries. */
  moveTo(node: Node): {
    readonly fork: Node | undefined
    readonly fresh: ReadonlySet<Node>
    readonly left: number
  } {
    const fresh = new Set<Node>()
    let fork: Node | undefined = node
    while (fork !== undefined && !this.#path.has(fork) && !fresh.has(fork)) {
      fresh.add(fork)
      fork = fork.parent
    }
    if (fork !== undefined && !this.#path.has(fork)) fork = undefined
    let left = 0
    for (let at = this.#tip; at !== undefined && at !== fork && this.#path.delete(at); at = at.parent) {
      this.#countAnswer(at, -1)
      left += 1
    }
    for (const one of fresh) this.#addToPath(one)
    this.#leaf = node
    this.#tip = node
    return { fork, fresh, left }
  }

  /** Returns the kept entries of a compaction in order; none if any of them isn't on the path. */
  keptBy(preserved: Preserved | undefined): Node[] {
    if (preserved === undefined) return []
    const nodes = preserved.uuids.map((uuid) => this.#nodes.get(uuid))
    if (nodes.some((node) => node === undefined || !this.#path.has(node))) return []
    if (!preserved.isSegment) return nodes as Node[]
    const [head, tail] = nodes as [Node, Node]
    const kept: Node[] = []
    // The kept entries of a compaction can form a circle of parents.
    for (let at: Node | undefined = tail; at !== undefined && kept.length < this.#path.size; at = at.parent) {
      kept.push(at)
      if (at === head) return kept.reverse()
    }
    return []
  }

  /**
   * Moves the kept entries after the summary, or between boundary and summary, as specified by the compaction. Returns whether there were
   * any.
   */
  relink(boundary: Node, summary: Node, kept: readonly Node[]): boolean {
    const [head] = kept
    const tail = kept.at(-1)
    if (head === undefined || tail === undefined) return false
    const isAfterSummary = boundary.facts.preserved!.anchor !== boundary.facts.uuid
    boundary.parent = head.parent
    for (const [at, node] of kept.entries())
      node.parent = kept[at - 1] ?? (isAfterSummary ? summary : boundary)
    if (isAfterSummary) {
      this.#substitutes.set(summary, tail)
      this.#leaf = tail
      this.#tip = tail
    } else summary.parent = tail
    return true
  }

  #parentOf({ parent, logicalParent, compaction, isSidechain }: Facts, repairs: string[]): Node | undefined {
    if (parent === undefined) return this.#leaf
    if (parent !== null) {
      const known = this.#nodes.get(parent)
      if (known !== undefined) return this.#substitutes.get(known) ?? known
      if (this.#leaf !== undefined && !isSidechain)
        repairs.push('the entry that it follows is missing, so it is placed after the one before it')
      return this.#leaf
    }
    // A compaction starts a new path, and its covered entries stay in the tree.
    if (compaction === undefined) return undefined
    const before = logicalParent === undefined ? undefined : this.#nodes.get(logicalParent)
    return before ?? this.#leaf
  }
}

/*
 * The fields of a Claude Code entry that determine its place in the conversation. Format: from actual files, and from the way the Claude
 * Agent SDK reads them (`getSessionMessages`).
 */

export type Facts = {
  readonly uuid: string
  /** The entry that it follows; `null` if there is none. */
  readonly parent: string | null | undefined
  /** Whether it belongs to a subagent's conversation. */
  readonly isSidechain: boolean
  readonly isSpoken: boolean
  readonly compaction: 'boundary' | 'summary' | undefined
  readonly logicalParent: string | undefined
  /** The kept entries of a compaction in order, and the entry that they follow. */
  readonly preserved: Preserved | undefined
  /** Shared by the lines of one answer. */
  readonly messageId: string | undefined
  readonly calls: readonly string[]
  readonly results: readonly string[]
}

export type Preserved = {
  readonly anchor: string
  readonly uuids: readonly string[]
  /** Whether `uuids` contains only the first and the last entry, and those in between are found through their parents. */
  readonly isSegment: boolean
}

/** Returns the fields of an entry; `undefined` for an entry without a uuid, which isn't in the tree. */
export function factsOf(entry: JsonObject, isMain: boolean): Facts | undefined {
  const { uuid, parentUuid, logicalParentUuid, type, subtype, message, isSidechain } = entry
  if (typeof uuid !== 'string' || uuid === '') return undefined
  const { id, content } = isObject(message) ? message : { id: undefined, content: undefined }
  const isBoundary = type === 'system' && subtype === 'compact_boundary'
  const isSummary = type === 'user' && entry.isCompactSummary === true
  const use = toolUseOf(content, 'blocks')
  return {
    uuid,
    parent: parentUuid === null ? null : filledText(parentUuid),
    isSidechain: isMain && isSidechain === true,
    isSpoken: !isSummary && isSpoken(entry, isMain),
    compaction: isBoundary ? 'boundary' : isSummary ? 'summary' : undefined,
    logicalParent: filledText(logicalParentUuid),
    preserved: isBoundary ? preservedOf(entry.compactMetadata) : undefined,
    messageId: type === 'assistant' ? filledText(id) : undefined,
    calls: use?.calls.map((call) => call.id) ?? [],
    results: use?.results.map((result) => result.id) ?? [],
  }
}

function preservedOf(metadata: unknown): Preserved | undefined {
  if (!isObject(metadata)) return undefined
  const { preservedMessages: messages, preservedSegment: segment } = metadata
  if (isObject(messages) && typeof messages.anchorUuid === 'string' && Array.isArray(messages.uuids)) {
    const uuids = messages.uuids.filter((uuid) => typeof uuid === 'string')
    return uuids.length === 0 ? undefined : { anchor: messages.anchorUuid, uuids, isSegment: false }
  }
  if (!isObject(segment)) return undefined
  const { anchorUuid, headUuid, tailUuid } = segment
  if (typeof anchorUuid !== 'string' || typeof headUuid !== 'string' || typeof tailUuid !== 'string')
    return undefined
  return { anchor: anchorUuid, uuids: [headUuid, tailUuid], isSegment: true }
}

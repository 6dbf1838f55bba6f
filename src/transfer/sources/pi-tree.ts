/*
 * The tree in one of pi's session files: which entries there are, in a few words each, and which of them a conversation is made of.
 * What pi sends is a path from a leaf to the root, seen through the last compaction on it.
 */
import { isObject, type JsonObject } from '../../messages/json.ts'
import { type Pairing, pairToolUse, type ToolUse } from '../../messages/pairing.ts'

/** What is kept of an entry: nothing of what it says. */
export type PiEntry = {
  readonly line: number
  readonly type: string
  readonly id: string | undefined
  /** Index of the entry it follows. */
  readonly parent: number | undefined
  readonly use: ToolUse | undefined
  /** Of a compaction: index of the first entry it keeps; absent when the file has none such before it. */
  readonly firstKept: number | undefined
  readonly hasSummary: boolean
}

/** A conversation of the file. The header is its first row, then the entries of the path follow. */
export type PiBranch = {
  /** The entry the branch begins with, where it parted from another; absent for the current one. */
  readonly from: number | undefined
  /** Indexes of entries, root first. */
  readonly path: readonly number[]
}

/** What a compaction covers: the rows from 1 to `to`. */
export type PiCompaction = {
  readonly to: number
  readonly undone: boolean
  /** Whether it would have parted a call from its result, and covers less. */
  readonly mended: boolean
}

/** Types that are a conversation's; the others alone are no branch. */
const SPEAKING = new Set(['message', 'custom_message', 'branch_summary', 'compaction'])

export class PiTree {
  readonly entries: PiEntry[] = []
  /** Indexes of entries whose parent is not before them in the file. */
  readonly orphans = new Set<number>()
  readonly #byId = new Map<string, number>()
  /** Version 1 has no ids: each entry follows the one before it. */
  readonly #isLine: boolean

  constructor(version: unknown) {
    this.#isLine = typeof version !== 'number' || version < 2
  }

  /** Takes the next entry. Answers why it cannot be read, or `undefined`. */
  add(entry: JsonObject, line: number): string | undefined {
    const index = this.entries.length
    const { id, parentId, type } = entry
    if (!this.#isLine && (typeof id !== 'string' || id === '')) return 'an entry must have an id'
    const known = typeof parentId === 'string' ? this.#byId.get(parentId) : undefined
    const before = index === 0 ? undefined : index - 1
    if (!this.#isLine && typeof parentId === 'string' && known === undefined) this.orphans.add(index)
    this.entries.push({
      line,
      type: type as string,
      id: this.#isLine ? undefined : (id as string),
      parent: this.#isLine ? before : known,
      use: useOf(entry),
      firstKept: this.#firstKept(entry),
      hasSummary: typeof entry.summary === 'string' && entry.summary !== '',
    })
    if (!this.#isLine) this.#byId.set(id as string, index)
    return undefined
  }

  #firstKept({ firstKeptEntryId, firstKeptEntryIndex }: JsonObject): number | undefined {
    if (typeof firstKeptEntryId === 'string') return this.#byId.get(firstKeptEntryId)
    // Version 1 counts the header as well.
    if (!this.#isLine || typeof firstKeptEntryIndex !== 'number') return undefined
    const index = firstKeptEntryIndex - 1
    return index >= 0 && index < this.entries.length ? index : undefined
  }

  /** The current branch, which the last entry ends, and behind it the others, in the order of their leaves. */
  branches(): PiBranch[] {
    const { entries } = this
    if (entries.length === 0) return [{ from: undefined, path: [] }]
    const parents = new Set(entries.flatMap(({ parent }) => parent ?? []))
    const current = this.#pathTo(entries.length - 1)
    const seen = new Set(current)
    const branches: PiBranch[] = [{ from: undefined, path: current }]
    for (let leaf = 0; leaf < entries.length; leaf++) {
      if (parents.has(leaf) || seen.has(leaf)) continue
      const path = this.#pathTo(leaf)
      const own = path.filter((index) => !seen.has(index))
      for (const index of own) seen.add(index)
      if (own.some((index) => SPEAKING.has(entries[index]!.type))) branches.push({ from: own[0], path })
    }
    return branches
  }

  #pathTo(leaf: number): number[] {
    const path: number[] = []
    for (let at: number | undefined = leaf; at !== undefined; at = this.entries[at]!.parent) path.push(at)
    return path.reverse()
  }

  /** The compactions of a path, by the index of their entry. */
  compactionsOf(path: readonly number[]): Map<number, PiCompaction> {
    const ordinals = new Map(path.map((index, at) => [index, at + 2] as const))
    const uses = [undefined, ...path.map((index) => this.entries[index]!.use)]
    const { pairs } = pairToolUse(uses)
    const cuts = path.flatMap((index): (readonly [number, number, number])[] => {
      const { type, firstKept } = this.entries[index]!
      if (type !== 'compaction') return []
      const own = ordinals.get(index)!
      const kept = firstKept === undefined ? undefined : ordinals.get(firstKept)
      const wanted = (kept !== undefined && kept < own ? kept : own) - 1
      return [[index, wholeCut(pairs, wanted), wanted]]
    })
    return new Map(
      cuts.map(([index, to, wanted], at) => {
        // Of several only the last counts, also where it keeps what an earlier one had hidden.
        const undone = cuts.slice(at + 1).some(([, later]) => later < to)
        return [index, { to, undone, mended: to !== wanted }] as const
      }),
    )
  }
}

/** The last row at or before `to` behind which a cut parts no call from its result. The header, row 1, has neither. */
function wholeCut(pairs: Pairing['pairs'], to: number): number {
  let cut = to
  // From the last call on: a cut that moves before one of them can part only calls before it.
  for (const { call, result } of pairs.toSorted((a, b) => b.call.row - a.call.row))
    if (call.row < cut && result.row >= cut) cut = call.row
  return cut
}

function useOf({ type, message }: JsonObject): ToolUse | undefined {
  if (type !== 'message' || !isObject(message)) return undefined
  if (message.role === 'toolResult' && typeof message.toolCallId === 'string')
    return { calls: [], results: [{ part: 0, id: message.toolCallId }] }
  if (message.role !== 'assistant' || !Array.isArray(message.content)) return undefined
  const calls = message.content.flatMap((block: unknown, part) =>
    isObject(block) && block.type === 'toolCall' && typeof block.id === 'string'
      ? [{ part, id: block.id }]
      : [],
  )
  return calls.length === 0 ? undefined : { calls, results: [] }
}

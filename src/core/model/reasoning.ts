import { isObject, listIn } from '../messages/json.ts'
import { isReasoning, type Part } from '../messages/message.ts'
import { measurePart } from '../tokens/measure.ts'
import { readsPartsOf } from '../tokens/providers.ts'
import type { View } from './view.ts'
import type { ViewRow } from './view-row.ts'

/*
 * Reasoning that is bound to its prefix. Newer Claude models accept a block of reasoning only after exactly the request that it answered:
 * system prompt, tools, and every message before it (platform.claude.com, "Prefix checks on thinking blocks", November 2026). The
 * compactions that were in force when a block was made, and the record of its request, determine whether it is valid.
 */

/** A change of a compaction's state: it came into force or ceased to be in force. */
export type Turning = {
  readonly compaction: number
  readonly inForce: boolean
  /** The last position of the log at that time. */
  readonly position: number
}

/** The compactions of a session whose state changed, in the order of the audit. */
export type Turnings = {
  readonly turnings: readonly Turning[]
  /** The first place that each compaction touches: it is in the prefix of every row at a later position. */
  readonly touches: ReadonlyMap<number, number>
  /** Compactions that only leave out the reasoning of finished turns. Earlier reasoning is not part of a prefix. */
  readonly onlyReasoning: ReadonlySet<number>
  /** Messages up to this position came from elsewhere, so the prefixes of their requests are unknown. */
  readonly unknownTo: number
}

/** The place of an answer in the log. `since`: the last position before the append that stored it. */
export type AnswerPlace = { readonly position: number; readonly since: number }

/**
 * Returns the rule for blocks without a recorded request: a block is valid if the compactions that touch rows before it are the same as
 * when it was made. If a compaction's state changed between the message before the answer and the answer, it is unknown whether it was in
 * force in the request, so its states before and after must both equal its current state.
 */
export function prefixLaw({
  turnings,
  touches,
  onlyReasoning,
  unknownTo,
}: Turnings): (answer: AnswerPlace) => boolean {
  const histories = new Map<number, Turning[]>()
  for (const turning of turnings) listIn(histories, turning.compaction).push(turning)
  return ({ position, since }) => {
    if (position <= unknownTo) return false
    for (const [compaction, history] of histories) {
      if ((touches.get(compaction) ?? 0) >= position) continue
      // An undo would bring back blocks before a block that was made without them.
      if (onlyReasoning.has(compaction) && history.at(-1)!.inForce) continue
      if (!isUnchanged(history, since, position)) return false
    }
    return true
  }
}

/**
 * Returns whether a compaction was in its current state at every moment from the position `since` until a message was appended at
 * `position`.
 */
function isUnchanged(history: readonly Turning[], since: number, position: number): boolean {
  const now = history.at(-1)!.inForce
  // Before its first change it was in the opposite state.
  let state = !history[0]!.inForce
  for (const turning of history) {
    if (turning.position >= position) break
    if (turning.position >= since && state !== now) return false
    state = turning.inForce
  }
  return state === now
}

/*
 * The cost of a run in reasoning. Some models compare the content before a block of reasoning with the content sent when it was made
 * (`reasoningBinding`): an earlier change invalidates the block, so that it is no longer sent, although its message stays.
 */

/** Reasoning that stays in the view but can no longer be sent. */
export type InvalidatedReasoning = {
  readonly blocks: number
  /** Tokens by the session's estimator, which reads the stored text: thinking without a readable text counts 0. */
  readonly tokens: number
}

/** Returns the index of the first row that differs; -1 if no row of `before` differs. */
export function firstChange(before: View, after: View): number {
  return before.rows.findIndex((row, at) => after.rows[at] !== row)
}

type RowToRead = { readonly row: ViewRow; readonly index: number }

/** A block of reasoning that could be sent before the change. */
type Block = {
  readonly units: number
  /** Whether the block was emptied before the change, and after it. */
  readonly wasEmptied: boolean
  readonly isEmptied: boolean
  /** Whether content before the block, other than reasoning, has changed. */
  readonly isChanged: boolean
}

/**
 * Counts the reasoning that a change of the view invalidates. Earlier reasoning is not compared, but if there are gaps between blocks,
 * only the longest part without a gap is sent.
 */
export class ReasoningLoss {
  readonly #before: View
  readonly #after: View
  /** The index from which the rows before every block, or their content other than reasoning, differ. */
  readonly #changedFrom: number
  readonly #canInvalidate: (position: number) => boolean
  #isChanged = false
  readonly #blocks: Block[] = []

  /** The rows with reasoning that must be read, in order. Pass each to `add`. */
  readonly rows: readonly RowToRead[]

  /**
   * `canInvalidate`: returns whether reasoning at a position of the log can be sent before the change and is bound to the content before
   * it.
   */
  constructor(before: View, after: View, canInvalidate: (position: number) => boolean = () => true) {
    this.#canInvalidate = canInvalidate
    this.#before = before
    this.#after = after
    const first = firstChange(before, after)
    const others = before.rows.findIndex((row, at) => at >= first && isOtherRow(row, after.rows[at]))
    this.#changedFrom = others < 0 ? after.rows.length : others
    // A changed row with reasoning may have changed in its reasoning; then the reasoning that is kept before it matters.
    const from = first < 0 ? after.rows.length : first < this.#changedFrom ? 0 : first
    const rows: RowToRead[] = []
    for (let index = from; index < after.rows.length; index++) {
      const row = after.rows[index]!
      if (row.hasReasoning && row.kind === 'message') rows.push({ row, index })
    }
    this.rows = rows
  }

  /** `parts`: the stored parts of the row. */
  add({ row, index }: RowToRead, parts: readonly Part[]): void {
    if (index >= this.#changedFrom) this.#isChanged = true
    const { estimator, provider } = this.#after
    const before = this.#before.indexOf(row.key)
    const was = before === undefined ? row : this.#before.rows[before]!
    const canBeSent = this.#canInvalidate(row.position ?? 0)
    for (const [at, part] of parts.entries()) {
      const [wasShown, shown] = [shownIn(was, at), shownIn(row, at)]
      if (shown !== wasShown && !isReasoning(part)) this.#isChanged = true
      if (!canBeSent || !isSigned(part, provider)) continue
      const { reasoning, text } = measurePart(part, estimator)
      this.#blocks.push({
        units: reasoning + text,
        wasEmptied: wasShown !== undefined,
        isEmptied: shown !== undefined,
        isChanged: this.#isChanged,
      })
    }
  }

  get value(): InvalidatedReasoning {
    const { estimator, provider } = this.#after
    const wasSent = longestPart(this.#blocks, ({ wasEmptied }) => !wasEmptied)
    const isSent = new Set(longestPart(this.#blocks, ({ isEmptied, isChanged }) => !isEmptied && !isChanged))
    const lost = wasSent.filter((block) => !block.isEmptied && !isSent.has(block))
    const units = lost.reduce((sum, block) => sum + block.units, 0)
    return { blocks: lost.length, tokens: units === 0 ? 0 : estimator.toTokens(units, provider) }
  }
}

/** Returns the longest part of a list in which every entry counts; of two equally long parts, the later one. */
function longestPart<T>(list: readonly T[], counts: (one: T) => boolean): readonly T[] {
  let [longest, part]: [T[], T[]] = [[], []]
  for (const one of list) {
    if (counts(one)) part.push(one)
    else part = []
    if (part.length >= longest.length) longest = part
  }
  return [...longest]
}

/** Returns whether a place of the view has another row, or other content besides reasoning. */
function isOtherRow(row: ViewRow, after: ViewRow | undefined): boolean {
  return after !== row && (after?.key !== row.key || !row.hasReasoning)
}

function shownIn({ shown }: ViewRow, part: number): number | undefined {
  return shown.length === 0 ? undefined : shown.find((one) => one.part === part)?.compaction
}

/** Returns whether a part is reasoning that can come back: readable with a signature, or redacted. */
function isSigned(part: Part, provider: string): boolean {
  if (!isReasoning(part)) return false
  if (part.type === 'provider') return readsPartsOf(provider, part.provider)
  if (part.type !== 'reasoning') return false
  return Object.values(part.providerOptions ?? {}).some(
    (options) =>
      isObject(options) &&
      (typeof options.signature === 'string' || typeof options.redactedData === 'string'),
  )
}

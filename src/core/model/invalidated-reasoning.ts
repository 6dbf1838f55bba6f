import { isObject } from '../messages/json.ts'
import { isReasoning, type Part } from '../messages/message.ts'
import { measurePart } from '../tokens/measure.ts'
import { readsPartsOf } from '../tokens/providers.ts'
import type { View } from './view.ts'
import type { ViewRow } from './view-row.ts'

/*
 * The cost of a run in reasoning. Some models compare what precedes a block of reasoning with what was sent when it was written
 * (`reasoningBinding`): a change before it makes the block invalid, so that it is not sent again, although its message stays.
 */

/** Reasoning that stays in the view and can no longer be sent. */
export type InvalidatedReasoning = {
  readonly blocks: number
  /** By the session's estimator, which reads what is stored: thinking without a readable text counts 0. */
  readonly tokens: number
}

/** The index of the first row that differs; -1 when no row of `before` does. */
export function firstChange(before: View, after: View): number {
  return before.rows.findIndex((row, at) => after.rows[at] !== row)
}

type RowToRead = { readonly row: ViewRow; readonly index: number }

/** A block of reasoning that could be sent before the change. */
type Block = {
  readonly units: number
  /** Whether it was emptied before the change, and after it. */
  readonly wasEmptied: boolean
  readonly isEmptied: boolean
  /** Whether something before it has changed, other than reasoning. */
  readonly isChanged: boolean
}

/**
 * Counts the reasoning that the change from one view to another makes invalid. Earlier reasoning is no part of what is compared, but of blocks
 * with a gap between them only the longest part is sent.
 */
export class ReasoningLoss {
  readonly #before: View
  readonly #after: View
  /** The index from which on other rows, or other contents than reasoning, are before every block. */
  readonly #changedFrom: number
  readonly #canInvalidate: (position: number) => boolean
  #isChanged = false
  readonly #blocks: Block[] = []

  /** What has to be read: rows with reasoning, in order. Each is passed to `add`. */
  readonly rows: readonly RowToRead[]

  /** `canInvalidate`: whether reasoning at a position of the log can be sent before the change, and is bound to what precedes it. */
  constructor(before: View, after: View, canInvalidate: (position: number) => boolean = () => true) {
    this.#canInvalidate = canInvalidate
    this.#before = before
    this.#after = after
    const first = firstChange(before, after)
    const others = before.rows.findIndex((row, at) => at >= first && isOtherRow(row, after.rows[at]))
    this.#changedFrom = others < 0 ? after.rows.length : others
    // Where a row with reasoning shows something else, that may be the reasoning itself: then what is kept before it matters.
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

/** The longest part of a list without one that does not count; of two, the later one. */
function longestPart<T>(list: readonly T[], counts: (one: T) => boolean): readonly T[] {
  let [longest, part]: [T[], T[]] = [[], []]
  for (const one of list) {
    if (counts(one)) part.push(one)
    else part = []
    if (part.length >= longest.length) longest = part
  }
  return [...longest]
}

/** Whether another row is in a place of the view, or its content other than reasoning is another. */
function isOtherRow(row: ViewRow, after: ViewRow | undefined): boolean {
  return after !== row && (after?.key !== row.key || !row.hasReasoning)
}

/** The compaction whose replacement a part shows. */
function shownIn({ shown }: ViewRow, part: number): number | undefined {
  return shown.length === 0 ? undefined : shown.find((one) => one.part === part)?.compaction
}

/** Whether a part is reasoning that can come back: readable with a signature, or redacted. */
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

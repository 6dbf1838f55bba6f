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

type RowToRead = {
  readonly row: ViewRow
  readonly index: number
  /** Whether it is the first place of the view that differs. */
  readonly isFirst: boolean
}

/**
 * Counts the reasoning that the change from one view to another makes invalid: that which stays after the first row or part that differs. A
 * rendering compares what rows show, so reasoning that a stage leaves out is such a difference too.
 */
export class ReasoningLoss {
  readonly #before: View
  readonly #after: View
  readonly #canInvalidate: (position: number) => boolean
  #isChanged = false
  #blocks = 0
  #units = 0

  /** What has to be read: rows with reasoning, in order. Each is passed to `add`. */
  readonly rows: readonly RowToRead[]

  /** `canInvalidate`: whether reasoning at a position of the log can be sent before the change, and is bound to what precedes it. */
  constructor(before: View, after: View, canInvalidate: (position: number) => boolean = () => true) {
    this.#canInvalidate = canInvalidate
    this.#before = before
    this.#after = after
    const first = firstChange(before, after)
    const rows: RowToRead[] = []
    for (let index = first < 0 ? after.rows.length : first; index < after.rows.length; index++) {
      const row = after.rows[index]!
      if (row.hasReasoning && row.kind === 'message') rows.push({ row, index, isFirst: index === first })
    }
    this.rows = rows
  }

  /** `parts`: the stored parts of the row. */
  add({ row, index, isFirst }: RowToRead, parts: readonly Part[]): void {
    const { estimator, provider } = this.#after
    const was = this.#before.rows[index]
    // Only of the first row that differs, what precedes the difference is as it was.
    if (!isFirst || was?.key !== row.key) this.#isChanged = true
    const canBeSent = this.#canInvalidate(row.position ?? 0)
    for (const [at, part] of parts.entries()) {
      const shown = shownIn(row, at)
      if (!this.#isChanged && shown !== shownIn(was!, at)) this.#isChanged = true
      if (!this.#isChanged || !canBeSent || shown !== undefined || !isSigned(part, provider)) continue
      const { reasoning, text } = measurePart(part, estimator)
      this.#blocks += 1
      this.#units += reasoning + text
    }
  }

  get value(): InvalidatedReasoning {
    const { estimator, provider } = this.#after
    return {
      blocks: this.#blocks,
      tokens: this.#units === 0 ? 0 : estimator.toTokens(this.#units, provider),
    }
  }
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

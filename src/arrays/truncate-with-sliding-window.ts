import { z } from 'zod'
import { check, shareSchema } from '../messages/check.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import { truncate } from '../stages/truncate.ts'
import { applySteps } from './applied.ts'
import { getEffectiveHistory } from './effective-history.ts'
import { rowsOf } from './rows.ts'
import { runStage } from './run-stage.ts'

const truncationConfigSchema = z.strictObject({
  /** Share, 0 to 1, of the messages after the first pair that goes. Default 0.5 (seed 003). */
  fraction: shareSchema.optional(),
  /** The marker's text. Default: the seed's. */
  marker: z.string().min(1).optional(),
})
export type TruncationConfig = z.input<typeof truncationConfigSchema>

export type TruncationResult = {
  readonly truncated: boolean
  /** What is left: [first pair…, marker, …kept messages]. */
  readonly messages: ChatMessage[]
  /** How many messages were taken out; always even. An earlier truncation's marker is not counted. */
  readonly messagesRemoved: number
  /** The array given with `truncationParent` on what was taken out and the marker in its place; nothing is lost. */
  readonly tagged: ChatMessage[]
  /** Undoes it: `removeTruncationTags(tagged, truncationId)`. Absent when nothing was done. */
  readonly truncationId?: string
}

/**
 * Takes the oldest messages out of the middle of a plain array: stage 4 of seed 003.
 *
 * The first two messages stay, with the results of calls among them; of what follows them `fraction` goes, oldest
 * first, an even number. Where that would part a call from its result, the next smaller even number that parts
 * nothing goes. System and pinned messages and summaries stay and are not counted. Four visible messages or fewer
 * are left alone. What is hidden already stays hidden and is not counted.
 *
 * The array given and its objects are not changed. Throws `INVALID_INPUT`.
 */
export function truncateWithSlidingWindow(
  messages: readonly ChatMessage[],
  config: TruncationConfig = {},
): TruncationResult {
  const { fraction, marker } = check(truncationConfigSchema, config, 'truncateWithSlidingWindow')
  const step = runStage(truncate, rowsOf(messages, '', 'truncateWithSlidingWindow'), {
    truncationFraction: fraction,
    truncationMarker: marker,
  })
  if (step === undefined) {
    return {
      truncated: false,
      messages: getEffectiveHistory(messages),
      messagesRemoved: 0,
      tagged: [...messages],
    }
  }
  return {
    truncated: true,
    ...applySteps(messages, [step]),
    messagesRemoved: step.plan.hide.filter(({ kind }) => kind === 'message').length,
    truncationId: step.id,
  }
}

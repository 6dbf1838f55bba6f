import { z } from 'zod'
import { check } from '../messages/check.ts'
import { cutByCount } from './cut.ts'
import { summaryTasks } from './sliding-window.ts'
import type { SummarizingStage } from './stage.ts'

export const summarizeOlderShape = {
  /** How many of the newest messages stay word for word; system messages are not counted. Source: seeds 000 and 004. */
  keepLast: z.int().nonnegative(),
}

const optionsSchema = z.strictObject(summarizeOlderShape)

export type SummarizeOlderStageOptions = z.input<typeof optionsSchema>

/**
 * A summary in place of all but the newest `keepLast` messages. System and pinned messages and waiting calls stay where
 * they are; a call and its results stay or go together; an earlier summary goes into the new one. With nothing older
 * there is nothing to ask for (checklist S0-U11). Throws `INVALID_INPUT`.
 */
export function summarizeOlderStage(
  options: SummarizeOlderStageOptions,
  what = 'summarizeOlder',
): SummarizingStage {
  const { keepLast } = check(optionsSchema, options, what)
  return {
    name: 'summarize_older',
    summaries: (view, context) => summaryTasks(view, context, cutByCount(view, keepLast)),
  }
}

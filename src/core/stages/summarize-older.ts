import { z } from 'zod'
import { check } from '../messages/check.ts'
import { cutByCount } from './cut-points.ts'
import { summaryTasks } from './sliding-window.ts'
import type { SummarizingStage } from './stage.ts'

export const summarizeOlderShape = {
  /** The number of newest messages that stay, not counting system messages. */
  keepLast: z.int().nonnegative(),
}

const optionsSchema = z.strictObject(summarizeOlderShape)

export type SummarizeOlderStageOptions = z.input<typeof optionsSchema>

/**
 * A summary in place of all but the newest `keepLast` messages. System and pinned messages and pending calls stay; a call and its
 * results stay or go together; an earlier summary becomes part of the new one. Without older messages no summary is requested. Throws
 * `INVALID_INPUT`.
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

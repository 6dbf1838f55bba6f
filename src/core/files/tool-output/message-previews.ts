import { type Message, outputText } from '../../messages/message.ts'
import { answerIn } from '../../messages/user-answers.ts'
import { type PlannedReplacement, savedBy } from '../../model/plan.ts'
import type { ResultEntry } from '../../model/view-row.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import { measureOutput, NO_SIZES } from '../../tokens/measure.ts'
import { byteLength, endOfLines } from './cut-output.ts'
import { bareNotice, type Notice, PREVIEW_SHARES, previewWithin } from './preview.ts'

/*
 * Previews of large tool outputs: from the start, the view shows the head and the tail with a notice between them. The whole output is
 * stored; a preview is a replacement like any other.
 */

/**
 * Limits up to which a tool output is shown in full, in bytes of UTF-8 and in lines. Outputs of `userTools` are a person's answers and
 * have no limit.
 */
export type ToolOutputLimits = {
  readonly maxBytes: number
  readonly maxLines: number
  /** Default: the usual names. */
  readonly userTools?: readonly string[] | undefined
}

/** A text in place of one tool result. */
export type PartPreview = Pick<PlannedReplacement, 'part' | 'text' | 'saved'>

/** Shorter outputs are never previewed, because a notice would hardly be shorter. UTF-16 units. */
export const MIN_PREVIEWED_LENGTH = 200

/**
 * The minimum share of an output that a preview must save, by the session's estimator. An output that a tool already cut to the same
 * limits, with a notice, slightly exceeds them; it is not cut again.
 */
const PREVIEW_MINIMUM_SAVINGS = 0.1

/**
 * Returns the previews of a message's results, in order; usually an empty list. Only results in messages of a user or a tool are
 * previewed: results in an assistant's message come from its provider, which may need them unchanged. JSON is measured as its text. An
 * output with images or files stays whole, because a text cannot show them. A failed result stays marked as failed. A preview that would
 * save less than a tenth is not made.
 */
export function previewsOf(
  { role, content }: Pick<Message, 'role' | 'content'>,
  results: readonly Pick<ResultEntry, 'part'>[],
  { userTools, ...limits }: ToolOutputLimits,
  estimator: Estimator,
): PartPreview[] {
  if (typeof content === 'string' || role === 'assistant' || role === 'system') return []
  const previews: PartPreview[] = []
  for (const { part } of results) {
    const result = content[part]
    if (result?.type !== 'tool-result') continue
    const { type, value } = result.output
    if (type === 'content' && value.some((item) => item.type !== 'text')) continue
    const output = outputText(result.output)
    // A person's answer is shown whole, like a user's message.
    if (!isLarge(output, limits) || answerIn(result, result.toolName, userTools) !== undefined) continue
    const { preview: text } = previewWithin(
      output,
      { ...limits, ...PREVIEW_SHARES },
      noticesFor(result.toolCallId),
    )
    if (text === '' || text.length >= output.length) continue
    const original = measureOutput(result.output, estimator)
    const units = estimator.measureText(text, 'toolResult')
    const savings = original.toolResults - units
    if (savings <= 0 || savings < PREVIEW_MINIMUM_SAVINGS * original.toolResults) continue
    previews.push({ part, text, saved: savedBy({ ...NO_SIZES, ...original }, 'toolResults', units) })
  }
  return previews
}

/** Returns whether an output exceeds a limit; counts only as far as necessary. */
function isLarge(
  output: string,
  { maxBytes, maxLines }: Pick<ToolOutputLimits, 'maxBytes' | 'maxLines'>,
): boolean {
  if (output.length <= MIN_PREVIEWED_LENGTH) return false
  // Each UTF-16 unit takes one to three bytes.
  if (output.length > maxBytes || (output.length * 3 > maxBytes && byteLength(output) > maxBytes)) return true
  return output.length >= maxLines && (maxLines === 0 || endOfLines(output, maxLines) < output.length)
}

/** Ids of calls that are safe in a sentence, because they cannot contain words. */
const PLAIN_ID = /^[\w.:-]{1,100}$/

function noticesFor(callId: string): readonly Notice[] {
  const call = PLAIN_ID.test(callId) ? ` of call ${callId}` : ''
  const whole = `Stored in full: getToolOutput${call}`
  return [
    (bytes, lines, allBytes, allLines) =>
      `[... ${bytes} of ${allBytes} bytes omitted (${lines} of ${allLines} lines). ${whole} ...]`,
    (bytes, _lines, allBytes) => `[... ${bytes} of ${allBytes} bytes omitted. ${whole} ...]`,
    bareNotice,
  ]
}

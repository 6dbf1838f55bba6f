import { type Message, outputText } from '../../messages/message.ts'
import { answerIn } from '../../messages/user-answers.ts'
import { type PlannedReplacement, savedBy } from '../../model/plan.ts'
import type { ResultEntry } from '../../model/view-row.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import { measureOutput, NO_SIZES } from '../../tokens/measure.ts'
import { byteLength, endOfLines } from './cut-output.ts'
import { bareNotice, type Notice, PREVIEW_SHARES, previewWithin } from './preview.ts'

/*
 * Previews of large tool outputs: the view shows head and tail with a notice between them from the start. The whole output is
 * stored; a preview is a replacement like any other.
 */

/**
 * The limits of a tool output that is shown in full: bytes of UTF-8, lines. Outputs of `userTools` are answers of a person, which have no
 * limit.
 */
export type ToolOutputLimits = {
  readonly maxBytes: number
  readonly maxLines: number
  /** Default: the usual names. */
  readonly userTools?: readonly string[] | undefined
}

/** A text in place of one tool result. */
export type PartPreview = Pick<PlannedReplacement, 'part' | 'text' | 'saved'>

/** A shorter output is never previewed, because a notice would hardly be shorter. UTF-16 units. */
export const SHORTEST_PREVIEWED = 200

/**
 * The minimum share of an output that a preview saves, by the session's estimator. A tool with the same limits that adds a notice is
 * slightly above them; its output is not cut again.
 */
const PREVIEW_MINIMUM_SAVINGS = 0.1

/**
 * Returns the previews of a message's results, in order; an empty list for most messages. Only results in messages of a user or a tool
 * are previewed: results in an assistant's message come from its provider, which may need them unchanged. JSON counts as its text. An
 * output with images or files stays whole, because a text cannot show them. A failed result stays marked as failed. A preview that
 * would save less than a tenth is not made.
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
    // The answer of a person is shown whole, as a message of the user is.
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

/** Whether an output exceeds a limit; counts no further than necessary. */
function isLarge(
  output: string,
  { maxBytes, maxLines }: Pick<ToolOutputLimits, 'maxBytes' | 'maxLines'>,
): boolean {
  if (output.length <= SHORTEST_PREVIEWED) return false
  // One unit takes one to three bytes.
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

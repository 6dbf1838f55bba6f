import { type Message, outputText, type ToolResultOutput } from '../../messages/message.ts'
import { type PlannedReplacement, savedBy } from '../../model/plan.ts'
import type { ResultEntry } from '../../model/view-row.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import { measureOutput, NO_SIZES } from '../../tokens/tokens.ts'
import { byteLength, endOfLines } from './cut-output.ts'
import { bareNotice, type Notice, PREVIEW_SHARES, previewWithin } from './preview.ts'

/*
 * What the large tool outputs of a message are shown as from the start: head and tail, with a notice between. The
 * whole output is stored all the same; a preview is a replacement like any other. Source: seed 002, checklist S2-044.
 */

/** Most of a tool output that is shown as it is: bytes of UTF-8, lines. */
export type ToolOutputLimits = { readonly maxBytes: number; readonly maxLines: number }

/** A text in place of one tool result. */
export type PartPreview = Pick<PlannedReplacement, 'part' | 'text' | 'saved'>

/** No output whose text is so short is previewed, whatever the limits: a notice would hardly be shorter. In UTF-16 units. */
export const SHORTEST_PREVIEWED = 200

/**
 * Least share of an output, by the session's estimator, that a preview saves. A tool that keeps to the same limits and says
 * so in a line of its own is a little over them: that is no reason to cut again.
 */
const PREVIEW_MINIMUM_SAVINGS = 0.1

/**
 * The previews of a message's results, in order; none for most messages. What a message of a user or a tool holds
 * counts: results in an assistant's message were made by its provider, which may want them as they are. JSON counts
 * as its text. An output with images or files is left whole, for they would not be seen in a text. A failed one stays
 * marked as failed. A preview that would save less than a tenth is none.
 */
export function previewsOf(
  { role, content }: Pick<Message, 'role' | 'content'>,
  results: readonly Pick<ResultEntry, 'part'>[],
  limits: ToolOutputLimits,
  estimator: Estimator,
): PartPreview[] {
  if (typeof content === 'string' || role === 'assistant' || role === 'system') return []
  const previews: PartPreview[] = []
  for (const { part } of results) {
    const result = content[part]
    if (result?.type !== 'tool-result' || !isTextAlone(result.output)) continue
    const output = outputText(result.output)
    if (!isLarge(output, limits)) continue
    const { preview: text } = previewWithin(
      output,
      { ...limits, ...PREVIEW_SHARES },
      noticesFor(result.toolCallId),
    )
    if (text === '' || text.length >= output.length) continue
    const original = measureOutput(result.output, estimator)
    const units = estimator.measureText(text, 'toolResult')
    if (!isWorthwhile(units, original.toolResults)) continue
    previews.push({ part, text, saved: savedBy({ ...NO_SIZES, ...original }, 'toolResults', units) })
  }
  return previews
}

function isWorthwhile(units: number, originalUnits: number): boolean {
  const saved = originalUnits - units
  return saved > 0 && saved >= PREVIEW_MINIMUM_SAVINGS * originalUnits
}

function isTextAlone(output: ToolResultOutput): boolean {
  return output.type !== 'content' || output.value.every(({ type }) => type === 'text')
}

/** Counted as far as it must be: most outputs are neither. */
function isLarge(output: string, { maxBytes, maxLines }: ToolOutputLimits): boolean {
  if (output.length <= SHORTEST_PREVIEWED) return false
  // One unit takes one to three bytes.
  if (output.length > maxBytes || (output.length * 3 > maxBytes && byteLength(output) > maxBytes)) return true
  return output.length >= maxLines && (maxLines === 0 || endOfLines(output, maxLines) < output.length)
}

/** Ids of calls that can be repeated in a sentence: nobody can put words into it by an id. */
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

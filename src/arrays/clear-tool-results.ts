import { z } from 'zod'
import { check } from '../messages/check.ts'
import { isFailed, outputText, type Part } from '../messages/message.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import { clearToolResultsShape, clearToolResultsStage } from '../stages/prune.ts'
import { shapeKeys, split } from './options.ts'
import { type Passing, type Strategy, stagePassing, strategyOf, strategyShape } from './strategy.ts'

const optionsSchema = z.strictObject({ ...clearToolResultsShape, ...strategyShape })
export type ClearToolResultsOptions = z.input<typeof optionsSchema>

/**
 * Shows "[tool result cleared]" in place of all tool results but the newest `keep` (seed 000). Calls, ids, order and
 * everything else stay as they are. Over an array a cleared result is no failed one any more (golden NTR-08); in a store
 * it stays marked as failed, for what is laid over it is a text.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function clearToolResults(options: ClearToolResultsOptions): Strategy {
  const checked = check(optionsSchema, options, 'clearToolResults')
  const [own, face] = split(checked, shapeKeys(clearToolResultsShape))
  const stage = clearToolResultsStage(own)
  return strategyOf(stage, face, { passing: clearing(stagePassing(stage)) })
}

/** The stage's passing, and after it the marks of failure taken off what was cleared. */
function clearing(passing: Passing): Passing {
  return async (items, run, options) => {
    const { items: after, steps } = await passing(items, run, options)
    const cleared = after.map((item, at) => {
      const before = items[at]!.message
      return item.message === before ? item : { ...item, message: withoutFailure(item.message, before) }
    })
    return { items: cleared, steps }
  }
}

function withoutFailure(message: ChatMessage, before: ChatMessage): ChatMessage {
  const { content } = message
  if (typeof content !== 'string' && Array.isArray(content)) {
    const parts = before.content as readonly Part[]
    return {
      ...message,
      content: content.map((part: Part, at) => (part === parts[at] ? part : clearedPart(part))),
    }
  }
  const { isError, result } = message as { readonly isError?: unknown; readonly result?: unknown }
  const failed =
    typeof result === 'object' && result !== null && (result as { success?: unknown }).success === false
  return {
    ...message,
    ...(isError === true && { isError: false }),
    ...(failed && { result: { ...result, success: true } }),
  }
}

/** A part that was laid over: only what was laid over is another object than before. */
function clearedPart(part: Part): Part {
  if (part.type !== 'tool-result' || !isFailed(part.output)) return part
  return { ...part, output: { type: 'text', value: outputText(part.output) } }
}

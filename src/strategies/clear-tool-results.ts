import { z } from 'zod'
import { check } from '../core/check.ts'
import { isFailed, type Part } from '../core/message.ts'
import {
  CLEARED_PLACEHOLDER,
  clearToolResultsShape,
  clearToolResultsStage,
} from '../core/stages/clear-tool-results.ts'
import type { ChatMessage } from '../plain/chat-message.ts'
import { type Passing, type Strategy, stagePassing, strategyOf, strategyShape } from '../plain/strategy.ts'
import { shapeKeys, split } from './options.ts'

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
  return strategyOf(stage, face, {
    passing: clearing(stagePassing(stage), own.placeholder ?? CLEARED_PLACEHOLDER),
  })
}

/** The stage's passing, and after it the marks of failure taken off what was cleared. */
function clearing(passing: Passing, placeholder: string): Passing {
  return async (items, run, options) => {
    const { items: after, steps } = await passing(items, run, options)
    const cleared = after.map((item, at) =>
      item.message === items[at]!.message
        ? item
        : { ...item, message: withoutFailure(item.message, placeholder) },
    )
    return { items: cleared, steps }
  }
}

function withoutFailure(message: ChatMessage, placeholder: string): ChatMessage {
  const { content } = message
  if (typeof content !== 'string' && Array.isArray(content))
    return { ...message, content: content.map((part: Part) => clearedPart(part, placeholder)) }
  const { isError, result } = message as { readonly isError?: unknown; readonly result?: unknown }
  const failed =
    typeof result === 'object' && result !== null && (result as { success?: unknown }).success === false
  return {
    ...message,
    ...(isError === true && { isError: false }),
    ...(failed && { result: { ...result, success: true } }),
  }
}

function clearedPart(part: Part, placeholder: string): Part {
  if (part.type !== 'tool-result' || !isFailed(part.output)) return part
  const { output } = part
  return output.value === placeholder ? { ...part, output: { type: 'text', value: placeholder } } : part
}

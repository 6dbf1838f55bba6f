import { z } from 'zod'
import { check } from '../core/check.ts'
import type { Part } from '../core/message.ts'
import { dropReasoningShape, dropReasoningStage } from '../core/stages/drop-reasoning.ts'
import type { ChatMessage } from '../plain/chat-message.ts'
import { type Passing, type Strategy, stagePassing, strategyOf, strategyShape } from '../plain/strategy.ts'
import { shapeKeys, split } from './options.ts'

const optionsSchema = z.strictObject({ ...dropReasoningShape, ...strategyShape })
export type DropReasoningOptions = z.input<typeof optionsSchema>

/**
 * Leaves out the reasoning of turns before the newest `keepTurns` (1), signatures and redacted forms with it. Only finished
 * tool loops lose it, each as a whole.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function dropReasoning(options: DropReasoningOptions = {}): Strategy {
  const checked = check(optionsSchema, options, 'dropReasoning')
  const [own, face] = split(checked, shapeKeys(dropReasoningShape))
  const stage = dropReasoningStage(own)
  return strategyOf(stage, face, { passing: emptying(stagePassing(stage)) })
}

/** The stage's passing, and after it the parts taken out that show nothing: an array has no indexes to keep. */
function emptying(passing: Passing): Passing {
  return async (items, run, options) => {
    const { items: after, steps } = await passing(items, run, options)
    const left = after.map((item, at) =>
      item.message === items[at]?.message ? item : { ...item, message: withoutEmptied(item.message) },
    )
    return { items: left.filter(({ message }) => message.content.length > 0), steps }
  }
}

function withoutEmptied(message: ChatMessage): ChatMessage {
  const { content } = message
  if (typeof content === 'string') return message
  const isEmptied = (part: Part): boolean =>
    (part.type === 'reasoning' || part.type === 'text') && part.text === ''
  return { ...message, content: content.filter((part) => !isEmptied(part)) }
}

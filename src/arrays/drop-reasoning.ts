import { z } from 'zod'
import { check } from '../messages/check.ts'
import { isReasoning, type Part } from '../messages/message.ts'
import type { ChatMessage } from '../model/message-parts.ts'
import { dropReasoningShape, dropReasoningStage } from '../stages/drop-reasoning.ts'
import { shapeKeys, split } from './options.ts'
import { type Passing, type Strategy, stagePassing, strategyOf, strategyShape } from './strategy.ts'

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
    const left = after.flatMap((item, at) => {
      const before = items[at]!.message
      if (item.message === before) return [item]
      const message = withoutEmptied(before, item.message)
      return message === undefined ? [] : [{ ...item, message }]
    })
    return { items: left, steps }
  }
}

/** A message without the parts that were emptied, each where it was; `undefined` when nothing else was in it. */
function withoutEmptied(before: ChatMessage, after: ChatMessage): ChatMessage | undefined {
  const [was, is] = [before.content, after.content]
  if (!Array.isArray(was) || !Array.isArray(is)) return after
  const content = (is as readonly Part[]).filter(
    (part, at) => !(isReasoning(was[at]) && 'text' in part && part.text === ''),
  )
  return content.length === 0 && is.length > 0 ? undefined : { ...after, content }
}

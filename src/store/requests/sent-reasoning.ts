import { isObject } from '../../core/messages/json.ts'
import { isReasoning, type Message, type Part, partsOf } from '../../core/messages/message.ts'
import type { InvalidatedReasoning } from '../../core/model/reasoning.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { measurePart } from '../../core/tokens/measure.ts'

/** What a change of a view, or of what precedes it, does to reasoning that stays stored. Absent for models that do not check what precedes it. */
export type ReasoningChange = {
  /** Reasoning that stays in the view and is no longer sent. */
  readonly invalidatedReasoning?: InvalidatedReasoning
  /** Reasoning that is sent again, because what precedes it is again what it was made after. */
  readonly restoredReasoning?: InvalidatedReasoning
}

/** A number of equal blocks, and the units of each. */
type Blocks = { count: number; readonly units: number }

/** The reasoning of some messages by what tells it from other reasoning. */
export type ReasoningIn = ReadonlyMap<string, Blocks>

export function reasoningIn(
  messages: readonly Pick<Message, 'content'>[],
  estimator: Estimator,
): ReasoningIn {
  const found = new Map<string, Blocks>()
  for (const message of messages)
    for (const part of partsOf(message)) {
      if (!isReasoning(part)) continue
      const key = keyOf(part)
      const known = found.get(key)
      if (known === undefined) found.set(key, { count: 1, units: unitsOf(part, estimator) })
      else known.count += 1
    }
  return found
}

/** The blocks of a list that are sent in one state and not in another; `counts`: how many of each kind to consider. */
export function missingReasoning(
  sent: ReasoningIn,
  other: ReasoningIn,
  { estimator, provider }: { readonly estimator: Estimator; readonly provider: string },
  counts: ReasoningIn = sent,
): InvalidatedReasoning {
  let blocks = 0
  let units = 0
  for (const [key, { count, units: each }] of sent) {
    const missing = Math.min(count, counts.get(key)?.count ?? 0) - (other.get(key)?.count ?? 0)
    if (missing <= 0) continue
    blocks += missing
    units += missing * each
  }
  return { blocks, tokens: units === 0 ? 0 : estimator.toTokens(units, provider) }
}

/** The signature tells blocks apart; without one, the text. A rendering may change other fields, as marks of the cache. */
function keyOf(part: Part): string {
  if (part.type !== 'reasoning') return JSON.stringify(part)
  const signatures = Object.values(part.providerOptions ?? {}).flatMap((options) =>
    isObject(options)
      ? [options.signature, options.redactedData].filter((one) => typeof one === 'string')
      : [],
  )
  return JSON.stringify([part.text, signatures])
}

function unitsOf(part: Part, estimator: Estimator): number {
  const { reasoning, text } = measurePart(part, estimator)
  return reasoning + text
}

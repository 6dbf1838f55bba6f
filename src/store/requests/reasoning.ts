import { isObject, parsedJson } from '../../core/messages/json.ts'
import { prefixLaw } from '../../core/model/reasoning.ts'
import type {
  BlockPlace,
  BoundPrefix,
  LeftOut,
  ReasoningFacts,
} from '../../core/rendering/bound-reasoning.ts'
import { bindsReasoning } from '../../core/tokens/reasoning-bindings.ts'
import type { ReasoningRecord, StoredRequest } from '../../storage/storage.ts'

/** What a rendering needs to know of the reasoning of a session with a last position. `frame`: that of the request, where it is known. */
export function reasoningFacts(
  record: ReasoningRecord,
  last: number,
  frame: string | undefined,
): ReasoningFacts {
  const { answers, open, isWhole } = record
  const law = prefixLaw(record)
  return {
    answers: answers.map(({ first, last, provider, model, rendering }) => ({
      ...{ first, last },
      bound: boundPrefixOf(rendering),
      isFree: !bindsReasoning(provider, model),
    })),
    open: open.flatMap(({ rendering }) => boundPrefixOf(rendering) ?? []),
    isWhole,
    last,
    frame,
    // An answer that may be that of another request follows it, and only the record of that request decides.
    law: (answer) => !open.some(({ position }) => position < answer.position) && law(answer),
  }
}

/** The prefix in the stored rendering of a request; `undefined` for none. */
export function boundPrefixOf(rendering: StoredRequest['rendering']): BoundPrefix | undefined {
  const settings = rendering === undefined ? undefined : parsedJson(rendering)
  const bound = isObject(settings) ? settings.bound : undefined
  if (!isObject(bound) || typeof bound.prefix !== 'string') return undefined
  return {
    prefix: bound.prefix,
    ...(typeof bound.frame === 'string' && { frame: bound.frame }),
    ...(Array.isArray(bound.follows) && { follows: bound.follows as unknown as BlockPlace }),
    ...(typeof bound.emptied === 'string' && { emptied: bound.emptied }),
    ...(Array.isArray(bound.prompt) && {
      prompt: bound.prompt as unknown as NonNullable<BoundPrefix['prompt']>,
    }),
    ...(Array.isArray(bound.leftOut) && { leftOut: bound.leftOut as unknown as LeftOut[] }),
  }
}

import { isObject, parsedJson } from '../../core/messages/json.ts'
import {
  isReasoning,
  type Message,
  type Part,
  partsOf,
  type ViewMessage,
} from '../../core/messages/message.ts'
import type { InvalidatedReasoning } from '../../core/model/reasoning.ts'
import { prefixLaw } from '../../core/model/reasoning.ts'
import {
  type BlockPlace,
  type BoundPrefix,
  frameChange,
  type LeftOut,
  type ReasoningFacts,
} from '../../core/rendering/bound-reasoning.ts'
import { type RenderOptions, renderBoundView } from '../../core/rendering/render.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { measurePart } from '../../core/tokens/measure.ts'
import { bindsReasoning } from '../../core/tokens/reasoning-bindings.ts'
import type { ReasoningRecord, StoredRequest } from '../../storage/storage.ts'
import type { ResizedImages } from './resized-images.ts'

/* Reasoning that is bound to what precedes it: what was sent with a request, and what a change invalidates. */

/**
 * Returns the facts about the reasoning of a session that a rendering needs, for a last position. `frame`: that of the request, if known.
 */
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
    // An answer after an open request may belong to that request, and only the request's record decides.
    law: (answer) => !open.some(({ position }) => position < answer.position) && law(answer),
  }
}

/** Returns the prefix in the stored rendering of a request; `undefined` if there is none. */
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

/**
 * The effect of a change to the view, or to what precedes it, on reasoning that stays stored. Absent for models that don't check what
 * precedes their reasoning.
 */
export type ReasoningChange = {
  /** Reasoning that stays in the view but is no longer sent. */
  readonly invalidatedReasoning?: InvalidatedReasoning
  /** Reasoning that is sent again, because what precedes it is the same as when it was made. */
  readonly restoredReasoning?: InvalidatedReasoning
}

/** A number of equal blocks, and the units of each. */
type Blocks = { count: number; readonly units: number }

/** The reasoning of some messages, by the key that identifies it. */
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

/** Returns the blocks of a list that are sent in one state and not in another; `counts`: how many of each kind to consider. */
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

/** The signature identifies a block; without one, the text does. A rendering may change other fields, such as cache marks. */
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

/** What differs from the last recorded request, for a model that checks what precedes its reasoning. */
export type ChangedFrame = {
  readonly system: boolean
  readonly tools: boolean
  /** The reasoning that is left out because of the difference. */
  readonly invalidatedReasoning: InvalidatedReasoning
}

type RenderedDraft = {
  readonly snapshot: {
    readonly position: number
    readonly view: readonly ViewMessage[]
    readonly estimator: Estimator
    readonly chosen: { readonly key: string }
    readonly reasoning: ReasoningRecord | undefined
    readonly images: ResizedImages | undefined
  }
  readonly bound: BoundPrefix | undefined
  readonly rendering: RenderOptions
  readonly messages: readonly Message[]
}

/** Compares the system prompt and tools with those of the last recorded request; `undefined` if they are the same or unknown. */
export function changedFrame({
  snapshot,
  bound,
  rendering,
  messages,
}: RenderedDraft): ChangedFrame | undefined {
  const { reasoning, view, estimator, chosen, images } = snapshot
  const last = reasoning?.answers.findLast((answer) => boundPrefixOf(answer.rendering)?.frame !== undefined)
  const frame = boundPrefixOf(last?.rendering)?.frame
  if (reasoning === undefined || frame === undefined) return undefined
  if (bound?.frame === undefined || bound.frame === frame) return undefined
  const rendered = renderBoundView(
    view,
    { ...rendering, resizeImage: images?.lookup },
    reasoningFacts(reasoning, snapshot.position, frame),
  )
  const invalidatedReasoning = missingReasoning(
    reasoningIn(rendered?.messages ?? [], estimator),
    reasoningIn(messages, estimator),
    { estimator, provider: chosen.key },
  )
  return { ...frameChange(frame, bound.frame), invalidatedReasoning }
}

/** Returns the changes noted in the stored rendering of a request; `undefined` if there are none. */
export function changedFrameIn(rendering: StoredRequest['rendering']): ChangedFrame | undefined {
  const settings = rendering === undefined ? undefined : parsedJson(rendering)
  const changed = isObject(settings) ? settings.changed : undefined
  const invalidated = isObject(changed) ? changed.invalidatedReasoning : undefined
  if (!isObject(changed) || !isObject(invalidated)) return undefined
  const { blocks, tokens } = invalidated
  if (typeof blocks !== 'number' || typeof tokens !== 'number') return undefined
  return {
    system: changed.system === true,
    tools: changed.tools === true,
    invalidatedReasoning: { blocks, tokens },
  }
}

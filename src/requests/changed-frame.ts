import { isReasoning, type Message, partsOf, type ViewMessage } from '../messages/message.ts'
import type { InvalidatedReasoning } from '../model/invalidated-reasoning.ts'
import { type BoundPrefix, frameChange } from '../rendering/bound-reasoning.ts'
import { type RenderOptions, renderBoundView } from '../rendering/render.ts'
import type { ReasoningRecord } from '../storage/storage.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { measurePart } from '../tokens/measure.ts'
import { boundPrefixOf, reasoningFacts } from './reasoning.ts'
import type { ResizedImages } from './resized-images.ts'

/** What differs from the last recorded request, for a model that checks what precedes its reasoning. */
export type ChangedFrame = {
  readonly system: boolean
  readonly tools: boolean
  /** The reasoning that is left out for that. */
  readonly invalidatedReasoning: InvalidatedReasoning
}

/** A rendered request, and the session that it was rendered from. */
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

/** Compares system prompt and tools with those of the last recorded request; `undefined` when they are the same or not known. */
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
  const facts = reasoningFacts(reasoning, snapshot.position, frame)
  const whole = renderBoundView(view, { ...rendering, resizeImage: images?.lookup }, facts)
  const before = sizeOf(whole?.messages ?? [], estimator)
  const now = sizeOf(messages, estimator)
  const units = Math.max(0, before.units - now.units)
  return {
    ...frameChange(frame, bound.frame),
    invalidatedReasoning: {
      blocks: Math.max(0, before.blocks - now.blocks),
      tokens: units === 0 ? 0 : estimator.toTokens(units, chosen.key),
    },
  }
}

function sizeOf(messages: readonly Message[], estimator: Estimator): { blocks: number; units: number } {
  const parts = messages.flatMap((message) => partsOf(message).filter(isReasoning))
  const units = parts.reduce((sum, part) => {
    const { reasoning, text } = measurePart(part, estimator)
    return sum + reasoning + text
  }, 0)
  return { blocks: parts.length, units }
}

import { isObject, parsedJson } from '../../core/messages/json.ts'
import type { Message, ViewMessage } from '../../core/messages/message.ts'
import type { InvalidatedReasoning } from '../../core/model/reasoning.ts'
import { type BoundPrefix, frameChange } from '../../core/rendering/bound-reasoning.ts'
import { type RenderOptions, renderBoundView } from '../../core/rendering/render.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import type { ReasoningRecord, StoredRequest } from '../../storage/storage.ts'
import { boundPrefixOf, reasoningFacts } from './reasoning.ts'
import type { ResizedImages } from './resized-images.ts'
import { missingReasoning, reasoningIn } from './sent-reasoning.ts'

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

/** What the stored rendering of a request says of its changes; `undefined` for nothing. */
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

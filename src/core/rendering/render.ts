import { invalid } from '../errors.ts'
import type { Message, ViewMessage } from '../messages/message.ts'
import { readMessages } from '../messages/message-check.ts'
import { providerProfile } from '../tokens/providers.ts'
import {
  type BoundPrefix,
  type ReasoningFacts,
  repeatLeftOut,
  settleBoundReasoning,
} from './bound-reasoning.ts'
import { arrangeTurns, cleanContents, toolUseAsText } from './contents.ts'
import type { Draft, Mend } from './draft.ts'
import { SUMMARY_PLACES, withoutForeignParts } from './draft.ts'
import type { ResizeImage } from './media.ts'
import { markableRows, mendParts } from './parts.ts'
import { responsesOf, settleEnds, settleReasoning } from './reasoning.ts'
import { arrangeToolUse, withDividedCalls, withoutPartedUse } from './repair-tool-use.ts'
import { presentRows } from './rows.ts'
import { withJoinedCalls } from './streamed-calls.ts'
import type { InsertedRowOptions } from './summary-heading.ts'

export type { Mend, MendKind, SummaryPlace } from './draft.ts'
export type { ImageToResize, ResizedImage, ResizeImage } from './media.ts'
export type { InsertedRole, SummaryPreset } from './summary-heading.ts'

/**
 * The version of the renderer. It is incremented whenever the rendering of a view changes, so that recorded requests show why they
 * differ.
 */
export const RENDERER_VERSION = 2

/** The provider for which a view is rendered, and how summaries and markers are shown. */
export type RenderOptions = InsertedRowOptions & {
  /** Any name; a provider that is not known is assumed to accept most forms. */
  readonly provider: string
  /**
   * What to do with calls at the very end that have no result yet: `answer` (default) adds a result that states this, so that the
   * rendering is valid; `keep` leaves them unchanged.
   */
  readonly pendingCalls?: 'answer' | 'keep'
  /**
   * How to show calls and results: unchanged (`parts`, default), or as texts (`text`), for a request without tools to a provider that
   * then refuses calls and results (Bedrock). `prepareRequest` chooses `text` for such a request.
   */
  readonly toolUse?: 'parts' | 'text'
  /**
   * Further names whose parts are kept, for a library that reads its own stored parts (`ai-sdk` for `toModelMessages`, `langchain` for
   * `toLangChain`). Default: none.
   */
  readonly alsoReads?: readonly string[]
}

/** The same options, and those that cannot be stored with a request. */
export type ViewRenderOptions = RenderOptions & {
  /**
   * Returns a smaller version of an image that has more pixels or bytes than the provider accepts. Without it, a text replaces such an
   * image.
   */
  readonly resizeImage?: ResizeImage | undefined
}

/** A view rendered for a provider, and the changes that were made. */
export type Rendering = { readonly messages: Message[]; readonly mends: Mend[] }

/**
 * Renders a view for one provider: role and content of every message, changed where the provider's rules require it, and the list of
 * changes. Pure: the view is not modified, and the same view gives the same bytes.
 *
 * - `validateHistory` finds no problem in the result (with `pendingCalls: 'keep'`, only the kept calls).
 * - A valid view is returned unchanged, including metadata, with no mends. There are two exceptions: a compaction block after messages
 *   that it could replace is dropped, because its provider would ignore those messages, and parts that only another provider reads are
 *   dropped. Messages that were moved, merged or added have no metadata.
 * - Every part has a place in the provider's own form, so that the request is as valid as the rendering. Vertex serves two families of
 *   models, so parts of both are kept for it: if a conversation mixes them, pass `anthropic` or `google-ai`.
 * - No text is lost except second results, reasoning that providers refuse, dropped compaction blocks, and the middle of inputs that are
 *   longer than the provider accepts. A text names each image or file that the provider cannot read. After a summary or a marker, a
 *   second result with other content is shown as text: its own call may be hidden.
 * - A summary may be shown at another place than in the view (`summaryPlace`), joined with others into one text; no row is changed.
 * - A longer view begins with the same messages: if appended rows answer no earlier call, every message except the last stays unchanged,
 *   and for a provider that doesn't merge messages the last one too. If they answer an earlier call, this holds for the messages before
 *   that call's message. A call that was kept pending counts as answered by the next row. One exception: Anthropic accepts smaller images
 *   only when there are more than 20, so the 21st may change those before it.
 *
 * Takes linear time. Throws `INVALID_INPUT` for an invalid view or invalid options.
 */
export function renderView(view: readonly ViewMessage[], options: ViewRenderOptions): Rendering {
  const { drafts, mends } = renderedDrafts(view, options, false)
  return { messages: drafts.map(({ message }) => message), mends }
}

/** A rendering for a model that binds its reasoning to the content before it. */
export type BoundRendering = Rendering & {
  readonly bound: BoundPrefix
  /** The prefixes that these messages form for later reasoning. */
  readonly prefixes: readonly string[]
}

/**
 * Renders a view for a model that binds its reasoning: like `renderView`, but without the blocks that the model would refuse. The same
 * view and the same facts give the same bytes. Returns `undefined` if the facts of the newest answer are not enough.
 */
export function renderBoundView(
  view: readonly ViewMessage[],
  options: ViewRenderOptions,
  facts: ReasoningFacts,
): BoundRendering | undefined {
  const { drafts, mends } = renderedDrafts(view, options, true)
  const settled = settleBoundReasoning(drafts, view, facts, RENDERER_VERSION, (mend) => mends.push(mend))
  if (settled === undefined) return undefined
  const { bound, prefixes } = settled
  return { messages: settled.drafts.map(({ message }) => message), mends, bound, prefixes }
}

/**
 * Renders a view as a recorded request did, without the reasoning that it left out. `last`: the last position of the log at that time.
 */
export function renderRecorded(
  view: readonly ViewMessage[],
  options: ViewRenderOptions,
  last: number,
  bound?: BoundPrefix,
): Rendering {
  const { drafts, mends } = renderedDrafts(view, options, bound !== undefined)
  const leftOut = bound?.leftOut ?? []
  const sent =
    leftOut.length === 0 ? drafts : repeatLeftOut(drafts, view, last, leftOut, (mend) => mends.push(mend))
  return { messages: sent.map(({ message }) => message), mends }
}

/** `isBound`: reasoning keeps its place in an answer, because it is bound to the content before it. */
function renderedDrafts(
  view: readonly ViewMessage[],
  options: ViewRenderOptions,
  isBound: boolean,
): { readonly drafts: readonly Draft[]; readonly mends: Mend[] } {
  return readMessages(view, 'renderView', () => {
    if (typeof options !== 'object' || options === null)
      throw invalid('renderView: options must be an object')
    if (typeof options.provider !== 'string') throw invalid('renderView: options.provider must be a string')
    if (options.summaryPlace !== undefined && !SUMMARY_PLACES.includes(options.summaryPlace))
      throw invalid(`renderView: options.summaryPlace must be one of ${SUMMARY_PLACES.join(', ')}`)
    const { alsoReads = [], resizeImage } = options
    if (!Array.isArray(alsoReads) || alsoReads.some((name) => typeof name !== 'string'))
      throw invalid('renderView: options.alsoReads must be an array of strings')
    if (resizeImage !== undefined && typeof resizeImage !== 'function')
      throw invalid('renderView: options.resizeImage must be a function')
    const profile = providerProfile(options.provider)
    const mends: Mend[] = []
    const note = (mend: Mend): void => {
      mends.push(mend)
    }
    const rules = {
      callIds: profile.callIds,
      keepWaiting: options.pendingCalls === 'keep',
      afterHidden: afterHidden(view),
    }

    const readable = withoutForeignParts(withJoinedCalls(view, note), options, note)
    const presented = presentRows(readable, profile, options, note)
    const { provider } = options
    const partRules = { provider, profile, alsoReads, markable: markableRows(view), resizeImage }
    const whole = mendParts(presented, partRules, note)
    const answered = withoutPartedUse(whole, note)
    const cleaned = cleanContents(answered, profile, note)
    const arranged = arrangeToolUse(cleaned, rules, note)
    const paired =
      options.toolUse === 'text'
        ? toolUseAsText(arranged, note)
        : withDividedCalls(arranged, profile.maxCalls, note)
    const responses = responsesOf(view)
    const spoken = view.findLast(({ role, kind }) => role !== 'system' || kind !== 'message')?.id
    const settled = settleReasoning(paired, profile, responses, note)
    const turns = arrangeTurns(settled, profile, responses, spoken, note)
    return { drafts: settleEnds(turns, profile, isBound, note), mends }
  })
}

/** Returns the ids of the rows after the first summary or marker. */
function afterHidden(view: readonly ViewMessage[]): ReadonlySet<string> {
  const first = view.findIndex(({ kind }) => kind !== 'message')
  return new Set(first === -1 ? [] : view.slice(first + 1).map(({ id }) => id))
}

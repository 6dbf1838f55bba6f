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

/** The version of the renderer. It changes with every change of what a view is rendered to, so that recorded requests tell why they differ. */
export const RENDERER_VERSION = 2

/** The provider that a view is rendered for, and how summaries and markers are shown. */
export type RenderOptions = InsertedRowOptions & {
  /** Any name; an unknown provider is assumed to accept most forms. */
  readonly provider: string
  /**
   * What happens to calls at the very end that have no result yet: `answer` (default) adds a result that says
   * there is none, so that the rendering is valid; `keep` leaves them as they are.
   */
  readonly pendingCalls?: 'answer' | 'keep'
  /**
   * How calls and results are shown: as they are (`parts`, default), or as texts (`text`), for a request without tools to a provider that
   * refuses calls and results then (Bedrock). `prepareRequest` chooses `text` for such a request.
   */
  readonly toolUse?: 'parts' | 'text'
  /**
   * Further names whose parts are kept, for a library that reads what it stored itself (`ai-sdk` for
   * `toModelMessages`, `langchain` for `toLangChain`). Default: none.
   */
  readonly alsoReads?: readonly string[]
}

/** The same, and what cannot be stored with a request. */
export type ViewRenderOptions = RenderOptions & {
  /** Makes an image smaller that has more pixels or bytes than the provider accepts. Without it a text replaces such an image. */
  readonly resizeImage?: ResizeImage | undefined
}

/** A view rendered for a provider, and what was changed. */
export type Rendering = { readonly messages: Message[]; readonly mends: Mend[] }

/**
 * Renders a view for one provider: role and content of every message, changed where the provider's rules
 * require it, and the list of changes. Pure: the view is not modified, and the same view gives the same bytes.
 *
 * - `validateHistory` finds no problem in the result (with `pendingCalls: 'keep'`, only the calls kept).
 * - A valid view is returned as it is, metadata included, with no mends. Two exceptions: a compaction block
 *   after messages that it could replace is dropped, since its provider would ignore those messages, and so are
 *   parts that only another provider reads. Messages that were moved, merged or added have no metadata.
 * - Every part has a place in the provider's own form, so that the request is as valid as the rendering. Vertex
 *   serves two families, and parts of both are kept for it: pass `anthropic` or `google-ai` where a
 *   conversation mixes them.
 * - No text is lost except that of second results, of reasoning that providers refuse, of such blocks, and of the middle of inputs that
 *   are longer than the provider accepts. A text names an image or a file that it cannot read.
 *   After a summary or a marker, a second result with other content is shown as text: its own call may be
 *   hidden.
 * - A summary may be shown elsewhere than in the view (`summaryPlace`), joined with others into one text; no
 *   row is changed.
 * - A longer view begins with the same messages: when rows are appended that answer no earlier call, every
 *   message but the last stays as it was, and the last one too for a provider that does not merge messages.
 *   When appended rows answer such a call, this holds for the messages before the one with that call. A call
 *   that was kept pending counts as answered by the next row. One exception: Anthropic accepts smaller images only when there are more
 *   than 20, so the 21st may change those before it.
 *
 * Takes linear time. Throws `INVALID_INPUT` for a view or options of another form.
 */
export function renderView(view: readonly ViewMessage[], options: ViewRenderOptions): Rendering {
  const { drafts, mends } = renderedDrafts(view, options, false)
  return { messages: drafts.map(({ message }) => message), mends }
}

/** A rendering for a model that binds its reasoning to what precedes it. */
export type BoundRendering = Rendering & {
  readonly bound: BoundPrefix
  /** The prefixes that these messages are for reasoning after them. */
  readonly prefixes: readonly string[]
}

/**
 * Renders a view for a model that binds its reasoning: as `renderView` does, without the blocks that the model would refuse. The same view
 * and the same facts give the same bytes. Returns `undefined` when the facts of the newest answer are not enough.
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

/** Renders a view as a recorded request was: without what it left out. `last`: the last position of the log then. */
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

/** `isBound`: reasoning stays where it is in an answer, because it is bound to what precedes it. */
function renderedDrafts(
  view: readonly ViewMessage[],
  options: ViewRenderOptions,
  isBound: boolean,
): { readonly drafts: readonly Draft[]; readonly mends: Mend[] } {
  return readMessages(view, 'renderView', () => {
    if (typeof options !== 'object' || options === null)
      throw invalid('renderView: options must be an object')
    if (typeof options.provider !== 'string') throw invalid('renderView: options.provider must be a text')
    if (options.summaryPlace !== undefined && !SUMMARY_PLACES.includes(options.summaryPlace))
      throw invalid(`renderView: options.summaryPlace must be one of ${SUMMARY_PLACES.join(', ')}`)
    const { alsoReads = [], resizeImage } = options
    if (!Array.isArray(alsoReads) || alsoReads.some((name) => typeof name !== 'string'))
      throw invalid('renderView: options.alsoReads must be a list of texts')
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
        : withDividedCalls(arranged, profile.mostCalls, note)
    const responses = responsesOf(view)
    const spoken = view.findLast(({ role, kind }) => role !== 'system' || kind !== 'message')?.id
    const settled = settleReasoning(paired, profile, responses, note)
    const turns = arrangeTurns(settled, profile, responses, spoken, note)
    return { drafts: settleEnds(turns, profile, isBound, note), mends }
  })
}

/** Ids of the rows after the first summary or marker. */
function afterHidden(view: readonly ViewMessage[]): ReadonlySet<string> {
  const first = view.findIndex(({ kind }) => kind !== 'message')
  return new Set(first === -1 ? [] : view.slice(first + 1).map(({ id }) => id))
}

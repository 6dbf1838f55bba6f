import { invalid } from '../errors.ts'
import type { Message, ViewMessage } from '../messages/message.ts'
import { checkMessageList } from '../messages/message-check.ts'
import { providerProfile } from '../tokens/providers.ts'
import { arrangeTurns, cleanContents, settleReasoning } from './contents.ts'
import type { Mend } from './draft.ts'
import { SUMMARY_PLACES, withoutForeignParts } from './draft.ts'
import { type InsertedRowOptions, presentRows } from './rows.ts'
import { arrangeToolUse } from './tool-use.ts'

export type { Mend, MendKind, SummaryPlace } from './draft.ts'
export type { InsertedRole, SummaryPreset } from './rows.ts'

/** For whom a view is rendered, and how summaries and markers are shown. */
export type RenderOptions = InsertedRowOptions & {
  /** Any name; an unknown provider is taken to accept most. */
  readonly provider: string
  /**
   * What becomes of calls at the very end that wait for their results: `answer` (default) gives each a result
   * that says there is none, so that the rendering is valid; `keep` leaves them as they are.
   */
  readonly pendingCalls?: 'answer' | 'keep'
  /**
   * Further names whose parts are kept: of a library that reads what it stored itself (`ai-sdk` for `toModelMessages`,
   * `langchain` for `toLangChain`). Default: none.
   */
  readonly alsoReads?: readonly string[]
}

/** A view made ready for a provider, and what was changed for it. */
export type Rendering = { readonly messages: Message[]; readonly mends: Mend[] }

/**
 * Makes a view ready for one provider: role and content of every message, mended where the provider's rules ask
 * for it, with the list of mends. Pure: the view is not changed, and the same view gives the same bytes.
 *
 * - `validateHistory` finds nothing in the result (with `pendingCalls: 'keep'`, only the calls kept).
 * - A valid view comes out as it is, metadata included, with no mends; save for a provider's compaction block behind
 *   messages it could stand for, which is left out, since its provider would ignore them, and for parts that only
 *   another provider reads. Messages that had to be changed, merged or made up carry no metadata.
 * - Every part it holds has a place in the provider's own form, so what is sent is as valid as the rendering. Vertex serves two
 *   families, whose parts are both kept for it: name `anthropic` or `google-ai` where a conversation mixes them.
 * - No text is lost save that of second results, of reasoning with nothing behind it, and of such blocks. Behind a
 *   summary or a marker a second result that says something else is told as text: its own call may be among what is hidden.
 * - A summary may stand elsewhere than in the view (`summaryPlace`), and then in one text with others; no row is changed.
 * - A longer view begins with the same messages: when rows are appended that answer no call before them, every
 *   message but the last stays as it was, and the last as well for a provider that does not merge messages. When
 *   appended rows do answer such a call, that holds for the messages before the one with that call. A call that
 *   was kept waiting counts as answered by whatever comes next.
 *
 * Takes linear time.
 */
export function renderView(view: readonly ViewMessage[], options: RenderOptions): Rendering {
  checkMessageList(view, 'renderView')
  if (typeof options !== 'object' || options === null) throw invalid('renderView: options must be an object')
  if (typeof options.provider !== 'string') throw invalid('renderView: options.provider must be a text')
  if (options.summaryPlace !== undefined && !SUMMARY_PLACES.includes(options.summaryPlace))
    throw invalid(`renderView: options.summaryPlace must be one of ${SUMMARY_PLACES.join(', ')}`)
  const { alsoReads = [] } = options
  if (!Array.isArray(alsoReads) || alsoReads.some((name) => typeof name !== 'string'))
    throw invalid('renderView: options.alsoReads must be a list of texts')
  const profile = providerProfile(options.provider)
  const mends: Mend[] = []
  const note = (mend: Mend): void => {
    mends.push(mend)
  }
  const rules = {
    callIds: profile.callIds,
    keepWaiting: options.pendingCalls === 'keep',
    behindHidden: behindHidden(view),
  }

  const readable = withoutForeignParts(view, options, note)
  const presented = presentRows(readable, profile, options, note)
  const cleaned = cleanContents(presented, profile, note)
  const paired = arrangeToolUse(cleaned, rules, note)
  const settled = settleReasoning(paired, profile, note)
  const turns = arrangeTurns(settled, profile, note)
  return { messages: turns.map(({ message }) => message), mends }
}

/** Ids of the rows behind the first one that stands for hidden messages. */
function behindHidden(view: readonly ViewMessage[]): ReadonlySet<string> {
  const first = view.findIndex(({ kind }) => kind !== 'message')
  return new Set(first === -1 ? [] : view.slice(first + 1).map(({ id }) => id))
}

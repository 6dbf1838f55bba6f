import { lastBlockOf } from '../messages/compaction-block.ts'
import { endsInResult, type Part } from '../messages/message.ts'
import type { ProviderProfile } from '../tokens/providers.ts'
import { type Draft, draftOf, type Note, redraft } from './draft.ts'

/** Said by the user when the first message left is the assistant's. */
export const CONTINUATION_TEXT = '[Conversation continues]'
/** Said by the assistant between tool results and the user's next words, where a provider wants that. */
const RESULTS_READ_TEXT = '[Tool results received]'

/**
 * Makes user and assistant take turns where the provider wants it: the first turn is the user's, and messages of
 * one side that follow each other become one, with its results first. System messages stay as they are.
 */
export function arrangeTurns(
  drafts: readonly Draft[],
  profile: ProviderProfile,
  note: Note,
): readonly Draft[] {
  const opened = profile.firstMustBeUser ? openWithUser(drafts, note) : drafts
  if (!profile.strictAlternation) return opened
  if (profile.userAfterResults)
    return mergeRuns(opened, ({ message }) => (message.role === 'assistant' ? 'assistant' : 'user'), note)
  return answerResults(mergeRuns(opened.flatMap(splitResults), sideWithResults, note), note)
}

function openWithUser(drafts: readonly Draft[], note: Note): readonly Draft[] {
  const first = drafts.findIndex(({ message }) => message.role !== 'system')
  const opening = drafts[first]
  if (opening?.message.role !== 'assistant') return drafts
  // The provider of a block takes it for the beginning; no other is shown one.
  if (lastBlockOf(opening.parts) !== undefined) return drafts
  note({ kind: 'user-added', messageId: opening.id })
  return drafts.toSpliced(first, 0, draftOf(opening.id, { role: 'user', content: CONTINUATION_TEXT }))
}

/** Whose turn a message is; results are a side of their own, a message each, where the user cannot speak right behind them. */
type Side = 'assistant' | 'user' | 'results'

function sideWithResults({ message, parts }: Draft): Side {
  if (message.role === 'assistant') return 'assistant'
  return message.role === 'tool' || parts.every(isResult) ? 'results' : 'user'
}

function mergeRuns(drafts: readonly Draft[], sideOf: (draft: Draft) => Side, note: Note): Draft[] {
  const merged: Draft[] = []
  let run: Draft[] = []
  const closeRun = (): void => {
    const [first] = run
    if (first !== undefined) merged.push(run.length === 1 ? first : mergeAll(first, run))
    run = []
  }
  for (const draft of drafts) {
    const [first] = run
    const joins =
      first !== undefined &&
      ![first, draft].some(isSystem) &&
      sideOf(first) === sideOf(draft) &&
      sideOf(first) !== 'results'
    if (joins) note({ kind: 'merged', messageId: draft.id })
    else closeRun()
    run.push(draft)
  }
  closeRun()
  return merged
}

function isSystem({ message }: Draft): boolean {
  return message.role === 'system'
}

function mergeAll(first: Draft, run: readonly Draft[]): Draft {
  const { role } = first.message
  const parts = run.flatMap((draft) => draft.parts)
  if (run.every(({ message }) => message.role === role)) return draftOf(first.id, { role, content: parts })
  return draftOf(first.id, { role: 'user', content: resultsFirst(parts) })
}

function resultsFirst(parts: readonly Part[]): readonly Part[] {
  return [...parts.filter(isResult), ...parts.filter((part) => !isResult(part))]
}

function isResult({ type }: Part): boolean {
  return type === 'tool-result'
}

/** A user's message that holds results and more, as two. */
function splitResults(draft: Draft): readonly Draft[] {
  if (draft.message.role !== 'user') return [draft]
  const results = draft.parts.filter(isResult)
  if (results.length === 0 || results.length === draft.parts.length) return [draft]
  const words = draft.parts.filter((part) => !isResult(part))
  return [
    draftOf(draft.id, { role: 'tool', content: results }),
    draftOf(draft.id, { role: 'user', content: words }),
  ]
}

/** Lets the assistant speak between results and the user's words: in the message of a tool its provider ran, else in one of its own. */
function answerResults(drafts: readonly Draft[], note: Note): Draft[] {
  const answered: Draft[] = []
  for (const draft of drafts) {
    const before = answered.at(-1)
    const speaks =
      before !== undefined && ![before, draft].some(isSystem) && sideWithResults(draft) === 'user'
    if (speaks && sideWithResults(before) === 'results') {
      note({ kind: 'assistant-added', messageId: draft.id })
      answered.push(draftOf(draft.id, { role: 'assistant', content: RESULTS_READ_TEXT }))
    } else if (speaks && endsInResult(before.parts)) {
      note({ kind: 'assistant-added', messageId: draft.id })
      const said: Part = { type: 'text', text: RESULTS_READ_TEXT }
      answered[answered.length - 1] = redraft(before, 'assistant', [...before.parts, said])
    }
    answered.push(draft)
  }
  return answered
}

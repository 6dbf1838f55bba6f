import type {
  CompactionConfig,
  CompactionPreview,
  CompactionResult,
  IdleReason,
  Store,
} from '../../src/index.ts'
import type { Handover } from './handover.ts'
import { claim, heading, say, tell } from './screen.ts'
import { showStages } from './stages.ts'
import { hashOf, type Standing, standingOf } from './standing.ts'
import { showFill } from './stats-chapter.ts'
import { counted, figure, milliseconds } from './text.ts'

const IDLE: { readonly [R in IdleReason]: string } = {
  NOTHING_TO_COMPACT: 'the history is already within the target',
  NO_PROGRESS: 'no stage found anything it may take',
  SUMMARY_FAILED: 'the summary was not accepted, and nothing else was to be done',
  SAVES_TOO_LITTLE: 'it would save too few tokens',
  VETOED: 'the application said no',
}

/** What a compaction would do, with nothing written. `undefined` when it would do nothing. */
export async function showPreview(
  store: Store,
  { sessionId, compaction, because, reason }: Handover,
  before: Standing,
): Promise<CompactionPreview | undefined> {
  heading(3, 'Preview: what a compaction would do')
  const config: CompactionConfig = { ...compaction, actor: 'demo', reason }
  const start = performance.now()
  const preview = await store.previewCompaction(sessionId, config)
  const tookMs = performance.now() - start
  if (preview === null) throw new Error('The session is empty.')
  tell(because)
  say()
  if (!preview.compacted) {
    tell(`Nothing would be done: ${preview.reason === undefined ? 'no reason given' : IDLE[preview.reason]}.`)
    return undefined
  }
  showStages(preview, 'would')
  say()
  tell(`${cacheText(preview, before)} Planned in ${milliseconds(tookMs)}.`)
  const now = await standingOf(store, sessionId)
  claim(
    now.version === before.version && now.hash === before.hash,
    `Nothing was written: the session is still at version ${now.version}, its view the same.`,
  )
  return preview
}

function cacheText({ firstChanged }: CompactionPreview, { messages }: Standing): string {
  if (firstChanged === undefined || firstChanged.index === 0)
    return 'The view would change from its first message on.'
  const { index, tokensBefore: keptTokens } = firstChanged
  return (
    `The first message to change is number ${figure(index + 1)} of ${figure(messages)}; ` +
    `the ${counted(keptTokens, 'token')} before it stay cached at the provider.`
  )
}

/** The preview applied, and what came of it. */
export async function compact(
  store: Store,
  preview: CompactionPreview,
  before: Standing,
): Promise<CompactionResult> {
  heading(4, 'The compaction')
  const start = performance.now()
  const result = await store.compactSession(preview.sessionId, preview)
  const tookMs = performance.now() - start
  if (result === null) throw new Error('The session is empty.')
  tell(
    `The preview, applied: ${counted(result.compactions.length, 'compaction')} in one run and one transaction, ` +
      `${milliseconds(tookMs)}.`,
  )
  say()
  showStages(result, 'did')
  say()
  const stats = await store.getContextStats(preview.sessionId)
  if (stats !== null) showFill(stats)
  say()
  const now = await standingOf(store, preview.sessionId)
  claim(
    hashOf(result.messages) === hashOf(preview.messages) && now.hash === hashOf(preview.messages),
    'Preview and commit gave the same view, byte for byte, and the same figures.',
  )
  claim(
    JSON.stringify(preview.compactions.map(figuresOf)) ===
      JSON.stringify(result.compactions.map(figuresOf)) &&
      stats?.breakdown.conversationHistory === preview.tokensAfter,
    `The counters of the session agree: ${figure(preview.tokensAfter)} tokens in ${counted(now.messages, 'message')}.`,
  )
  claim(
    now.storedHash === before.storedHash,
    `Nothing was deleted: all ${counted(stats?.storedMessages ?? 0, 'message')} are stored as they were written.`,
  )
  const target = `the target of ${figure(result.targetTokens)} tokens`
  tell(
    `${result.reachedTarget ? 'Within' : 'Still over'} ${target}; the request ${result.fits ? 'fits' : 'does not fit'} the window.`,
  )
  return result
}

function figuresOf({
  id,
  kind,
  rowsHidden,
  partsReplaced,
  rowsInserted,
  tokensBefore,
  tokensAfter,
}: CompactionResult['compactions'][number]): object {
  return { id, kind, rowsHidden, partsReplaced, rowsInserted, tokensBefore, tokensAfter }
}

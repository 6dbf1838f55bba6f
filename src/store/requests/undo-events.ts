import { defined } from '../../core/messages/json.ts'
import type { UndoOutcome } from '../../storage/storage.ts'
import type { ContextStats } from '../compaction/stats.ts'
import { type Events, percentOf } from '../events.ts'
import type { ReasoningChange } from './sent-reasoning.ts'

/**
 * Makes an undo or a redo and emits it as a `compaction` event with the tokens before and after. Without a listener the stats are not
 * read. Stats that cannot be read do not make the verb fail: then nothing is emitted.
 */
export async function withUndoEvent<T extends UndoOutcome & ReasoningChange>(
  events: Events,
  event: { readonly phase: 'undone' | 'redone'; readonly sessionId: string; readonly targetId: string },
  stats: () => Promise<ContextStats | null>,
  work: () => Promise<T>,
): Promise<T> {
  if (!events.hasListener('compaction')) return work()
  const statsIfReadable = (): Promise<ContextStats | null> => stats().catch(() => null)
  const before = await statsIfReadable()
  const outcome = await work()
  if (!outcome.changed) return outcome
  const after = await statsIfReadable()
  if (before === null || after === null) return outcome
  events.emit('compaction', {
    ...event,
    compactionIds: [...outcome.compactionIds],
    ...defined({
      invalidatedReasoning: outcome.invalidatedReasoning,
      restoredReasoning: outcome.restoredReasoning,
    }),
    tokensBefore: before.estimated,
    tokensAfter: after.estimated,
    percent: percentOf(after.estimatedInputTokens, after.availableInputTokens),
  })
  return outcome
}

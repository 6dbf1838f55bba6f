import type { ContextStats } from '../compaction/stats.ts'
import { type Events, percentOf } from '../events.ts'
import type { UndoOutcome } from '../storage/storage.ts'

/**
 * An undo or a redo, told to those who listen with the tokens before and after. Where nobody listens, nothing is read.
 * Figures that cannot be read are no reason for the verb to fail: then nothing is told.
 */
export async function toldTurned<T extends UndoOutcome>(
  events: Events,
  told: { readonly phase: 'undone' | 'redone'; readonly sessionId: string; readonly targetId: string },
  stats: () => Promise<ContextStats | null>,
  work: () => Promise<T>,
): Promise<T> {
  if (!events.hasListener('compaction')) return work()
  const before = await statsOrNone(stats)
  const outcome = await work()
  if (!outcome.changed) return outcome
  const after = await statsOrNone(stats)
  if (before === undefined || after === undefined) return outcome
  events.emit('compaction', {
    ...told,
    compactionIds: [...outcome.compactionIds],
    tokensBefore: before.estimated,
    tokensAfter: after.estimated,
    percent: percentOf(after.estimatedInputTokens, after.availableInputTokens),
  })
  return outcome
}

async function statsOrNone(stats: () => Promise<ContextStats | null>): Promise<ContextStats | undefined> {
  try {
    return (await stats()) ?? undefined
  } catch {
    return undefined
  }
}

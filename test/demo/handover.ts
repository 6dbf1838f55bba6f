import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CompactionConfig, Store } from '../../src/index.ts'
import { standingOf } from './standing.ts'
import { usageText } from './stats-chapter.ts'

/** How to compact, and a sentence that says why so. */
export type Settings = {
  readonly compaction: Pick<
    CompactionConfig,
    'target' | 'targetTokens' | 'pruneProtectTokens' | 'pruneMinimumSavings' | 'summaryMaxTokens'
  >
  readonly because: string
}

/** What the process that recorded a conversation tells the one that opens it: all else is in the database. */
export type Handover = Settings & {
  readonly sessionId: string
  readonly processId: number
  /** The view as the first process last saw it. */
  readonly hash: string
  /** What the audit is to say of the reason. */
  readonly reason: string
}

export function databaseIn(folder: string): string {
  return join(folder, 'conversation.db')
}

export async function handOver(
  store: Store,
  folder: string,
  sessionId: string,
  settings: Settings,
): Promise<void> {
  const { hash } = await standingOf(store, sessionId)
  const stats = await store.getContextStats(sessionId)
  const reason = `${usageText(stats?.usageRatio ?? 0)} full`
  const handover: Handover = { sessionId, processId: process.pid, hash, reason, ...settings }
  writeFileSync(join(folder, 'handover.json'), JSON.stringify(handover))
}

export function readHandover(folder: string): Handover {
  return JSON.parse(readFileSync(join(folder, 'handover.json'), 'utf8')) as Handover
}

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CompactionConfig } from '../../src/index.ts'

/** What the process that recorded a conversation tells the one that opens it: all else is in the database. */
export type Handover = {
  readonly sessionId: string
  readonly processId: number
  /** The view as the first process last saw it. */
  readonly hash: string
  readonly compaction: Pick<
    CompactionConfig,
    'target' | 'targetTokens' | 'pruneProtectTokens' | 'pruneMinimumSavings' | 'summaryMaxTokens'
  >
  /** Why these settings. */
  readonly because: string
  /** What the audit is to say of the reason. */
  readonly reason: string
}

export function databaseIn(folder: string): string {
  return join(folder, 'conversation.db')
}

export function writeHandover(folder: string, handover: Handover): void {
  writeFileSync(join(folder, 'handover.json'), JSON.stringify(handover))
}

export function readHandover(folder: string): Handover {
  return JSON.parse(readFileSync(join(folder, 'handover.json'), 'utf8')) as Handover
}

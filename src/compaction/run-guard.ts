import type { CheckedConfig } from '../config/compaction.ts'
import type { Session } from '../storage/storage.ts'
import type { CompactionResult } from './result.ts'

/** How a run of `compactSession` ended. */
export type RunEnd = {
  /** Whether a model was asked. */
  readonly hasAsked: boolean
  readonly result?: CompactionResult
  readonly error?: unknown
}

/** Whoever says whether nobody's own wish may cost money, and hears what came of it. */
export type RunGuard = {
  /** Whether an unasked run may ask its model now. */
  readonly admits: (session: Session, config: CheckedConfig) => Promise<boolean>
  /** Hears of each run that might have asked a model. Never throws. */
  readonly ended: (session: Session, config: CheckedConfig, end: RunEnd) => Promise<void>
}

/** Whether nobody called for a run by itself. */
export function isUnasked({ trigger }: CheckedConfig): boolean {
  return trigger === 'auto' || trigger === 'overflow'
}

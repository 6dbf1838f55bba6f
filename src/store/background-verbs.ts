import type { ContextStats } from '../stats.ts'
import type { Storage } from '../storage/storage.ts'
import { LogVerbs } from './log-verbs.ts'

/** Compaction behind the conversation's back. */
export class BackgroundVerbs<S extends Storage> extends LogVerbs<S> {
  /** Lets the background know how full a session is: above the soft threshold it goes to work. Never waits, never throws. */
  protected offerBackground(_sessionId: string, _stats: ContextStats): void {}

  /** Waits for a background run of the session that goes on, so many milliseconds at most. Answers whether none goes on any more. */
  protected async settleBackground(
    _sessionId: string,
    _waitMs: number,
    _signal?: AbortSignal,
  ): Promise<boolean> {
    return true
  }
}

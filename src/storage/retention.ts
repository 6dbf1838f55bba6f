import type { JsonObject } from '../core/messages/json.ts'
import type { ResolvedRetention } from '../core/retention/rules.ts'
import type { ContentClass } from '../core/retention/tombstone.ts'
import type { Awaitable } from './jobs.ts'
import type { Authorship } from './sessions.ts'

/** The parts of a scan of a session, in order: its log, the rows that compactions inserted, its requests, its audit. */
export const RETENTION_PHASES = ['messages', 'inserted', 'requests', 'audit'] as const
/** The place after which a scan of a session continues. */
export type RetentionPlace = {
  readonly phase: (typeof RETENTION_PHASES)[number]
  /** A position, an ordinal, or the number of a request or of an entry; 0 for the first. */
  readonly after: number
}

/** One step of a scan. */
export type RetentionRequest = Authorship & {
  /** Returns the rules of a session by its config. A fork may share content with the scanned session. */
  readonly rulesOf: (config: JsonObject | undefined) => ResolvedRetention
  readonly from: RetentionPlace
  readonly now: number
  /** Whether nothing is written. */
  readonly dryRun: boolean
}

/** What a step removed, or would remove, of a class of parts. */
export type RetiredContent = { readonly rows: number; readonly parts: number; readonly bytes: number }

export type RetentionStep = {
  readonly content: { readonly [C in ContentClass]?: RetiredContent }
  readonly requests: number
  readonly audit: number
  /** Absent at the end of the session. */
  readonly next?: RetentionPlace
}

/** A session to remove as a whole. */
export type SessionRetirement = Authorship & {
  /** The class of the rule, for the receipt. */
  readonly rule: 'subagents' | 'archived'
  /** Whether it is removed even if one of its messages is pinned. */
  readonly pinned: boolean
  readonly incarnation: string
  readonly version: number
  readonly dryRun: boolean
  /** The name and the lease under which its rows are then removed. */
  readonly staged: { readonly id: string; readonly holder: string; readonly expiresAt: number }
}

/** Why a session stays, or the number of its messages. */
export type SessionVerdict =
  | { readonly stays: 'forks' | 'pinned' | 'changed' }
  | { readonly messages: number }

/** Removal by age and size. Each method is one short transaction, except where it says otherwise. */
export interface Retention {
  /**
   * Removes content in a few rows of a session and leaves tombstones, or removes some of its requests or entries of its audit. Returns the
   * place at which the next step begins. Throws `SESSION_NOT_FOUND`.
   */
  step(id: string, request: RetentionRequest): Awaitable<RetentionStep>
  /**
   * Takes a session out of every list under another name, with a receipt in the audit; `discardImport` then removes its rows in steps. A
   * session with forks stays, because they need its messages. Throws `SESSION_NOT_FOUND`.
   */
  retire(id: string, request: SessionRetirement): Awaitable<SessionVerdict>
  /** Removes some rows of a retired session, like `Storage.discardImport`, and leaves clearing the files to others. */
  discard(id: string, rows: number): Awaitable<boolean>
  /** Returns free pages of a file to the file system, a few at a time; returns whether there are more. */
  release(): Awaitable<boolean>
}

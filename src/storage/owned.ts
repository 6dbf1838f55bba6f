import type { Awaitable } from './jobs.ts'

/* The part of the storage interface for everything of one owner. */

/** What belongs to an owner, as numbers. */
export type OwnedCounts = {
  /** Sessions, archived ones included. */
  readonly sessions: number
  readonly messages: number
  readonly compactions: number
  readonly requests: number
  readonly jobs: number
  /** Notes of the owner; those of sessions are removed with them. */
  readonly notes: number
  /** Entries of the audit, of any session, that name the owner as the actor. */
  readonly auditEntries: number
  /** Forks that other owners made of the owner's sessions. They keep their contents. */
  readonly keptForks: number
}

/** What is recorded of an erasure. `mark`: a keyed hash in place of the owner's name. */
export type Receipt = {
  readonly mark: string
  readonly actor: string | undefined
  readonly counts: { readonly sessions: number; readonly messages: number; readonly compactions: number }
}

/** What was removed or changed in addition to the sessions. */
export type Erasure = Pick<OwnedCounts, 'notes' | 'auditEntries'> & { readonly filesCleared?: false }

/** The owner of a storage that was returned by `seenBy`. */
export interface Owned {
  count(): Awaitable<OwnedCounts>
  /** Returns the key of the marks, which is stored at the first call. */
  key(fresh: string): Awaitable<string>
  /** Removes the notes of the owner, replaces the owner's name as an actor, and writes the receipt. The sessions are purged before. */
  erase(receipt: Receipt): Awaitable<Erasure>
}

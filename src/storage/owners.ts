import { UndertextError } from '../core/errors.ts'
import type { Awaitable } from './jobs.ts'
import type { Storage } from './storage.ts'

/*
 * What a store may see. A session is named by its id and its owner, so two owners may use the same id. Each statement that finds sessions
 * contains `{named}` or `{seen}` (sql/sql.ts), to which the engine adds the owner; there is no other way to a session.
 */

/** Whose sessions a store sees: those of an owner, with `null` those without an owner, with `undefined` all. */
export type Seen = string | null | undefined

/** The name of a session. Without `owner`, it is one that the store sees. */
export type SessionName = { readonly id: string; readonly owner?: string | null | undefined }

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
  /** Removes the notes of the owner, replaces the owner's name as an actor, and writes the receipt. The sessions are purged before. */
  erase(receipt: Receipt): Awaitable<Erasure>
}

/** Returns whether a store sees a session. */
export function isSeen(seen: Seen, { owner }: { readonly owner?: string | null | undefined }): boolean {
  return seen === undefined || (owner ?? null) === seen
}

/** Returns a storage whose verbs throw `OWNER_REQUIRED`; only that of an owner can be used. */
export function ownedStorageOnly<S extends Storage>(storage: S): S {
  const refuse = (): never => {
    throw new UndertextError('OWNER_REQUIRED', {})
  }
  const refusing = (verbs: object): object =>
    Object.fromEntries(
      Object.entries(verbs).map(([name, verb]) => [
        name,
        typeof verb === 'function' ? refuse : refusing(verb as object),
      ]),
    )
  const { seenBy, close } = storage
  return { ...refusing(storage), seenBy, close } as S
}

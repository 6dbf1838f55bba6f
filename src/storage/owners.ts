/*
 * What a store may see. A session is named by its id and its owner, so two owners may use the same id. Each statement that finds sessions
 * contains `{named}` or `{seen}` (sql/sql.ts), to which the engine adds the owner; there is no other way to a session.
 */

/** Whose sessions a store sees: those of an owner, with `null` those without an owner, with `undefined` all. */
export type Seen = string | null | undefined

/** The name of a session. Without `owner`, it is one that the store sees. */
export type SessionName = { readonly id: string; readonly owner?: string | null | undefined }

/** Returns whether a store sees a session. */
export function isSeen(seen: Seen, { owner }: { readonly owner?: string | null | undefined }): boolean {
  return seen === undefined || (owner ?? null) === seen
}

import type { Session } from './sessions.ts'

/*
 * What an owner may see. A session without an owner may be used by every owner who names it (`isOpenTo`), and belongs to the first for whom
 * something is written to it. Lists, searches and the recall of other sessions show an owner only the sessions of that owner: these are
 * conditions of their queries (`sql/sessions.ts`, `sql/search.ts`), and `mayRead` of the recall tools.
 */

/** Whether a session may be used for an owner: it has this owner, or none yet. */
export function isOpenTo({ owner }: Pick<Session, 'owner'>, asked: string | undefined): boolean {
  return asked === undefined || owner === undefined || owner === asked
}

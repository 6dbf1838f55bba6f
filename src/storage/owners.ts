import type { Session } from './sessions.ts'

/** Returns whether a session may be used for an owner: it belongs to this owner, or to none yet. */
export function isOpenTo({ owner }: Pick<Session, 'owner'>, asked: string | undefined): boolean {
  return asked === undefined || owner === undefined || owner === asked
}

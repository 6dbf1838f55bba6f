import type { Session } from './sessions.ts'

/** Whether a session may be used for an owner: it has this owner, or none yet. */
export function isOpenTo({ owner }: Pick<Session, 'owner'>, asked: string | undefined): boolean {
  return asked === undefined || owner === undefined || owner === asked
}

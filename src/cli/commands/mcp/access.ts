import { invalid, UndertextError } from '../../../core/errors.ts'
import type { Session } from '../../../storage/storage.ts'
import type { Store } from '../../../store/store.ts'

/** The part of a store that a server shows: all of it, or the sessions of one owner. Every tool and resource finds sessions here. */
export class Access {
  readonly store: Store
  /** The only owner whose sessions and notes exist for the client; `undefined` for no restriction. */
  readonly owner: string | undefined

  constructor(store: Store, owner: string | undefined) {
    this.store = store
    this.owner = owner
  }

  /** A session. Throws `SESSION_NOT_FOUND`, for a session of another owner exactly as for an unknown one. */
  async session(id: string): Promise<Session> {
    const session = await this.store.sessions.get(id)
    if (!this.sees(session)) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
    return session
  }

  /** The owner that an argument names; without one that of the restriction. Throws `INVALID_INPUT` for any other than that. */
  ownerNamed(owner: string | undefined): string | undefined {
    if (this.owner !== undefined && owner !== undefined && owner !== this.owner)
      throw invalid('this server shows one owner only; omit owner')
    return owner ?? this.owner
  }

  sees({ owner }: Pick<Session, 'owner'>): boolean {
    return this.owner === undefined || owner === this.owner
  }
}

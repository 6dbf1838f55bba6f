import { UndertextError } from '../core/errors.ts'
import { unlessUnknown } from './arguments.ts'
import type { Store } from './store.ts'

/*
 * One rule for all adapters: for an owner, a session of another owner is unknown. A session without an owner is open to every owner, and
 * belongs to the first for whom something is written to it.
 */

/** Verbs whose first argument is no session, or a session to be created. All others are checked, new ones too. */
const WITHOUT_SESSION: ReadonlySet<PropertyKey> = new Set<keyof Store>([
  ...(['createSession', 'restoreSession', 'importSession'] as const),
  ...(['listSessions', 'newestSession', 'search', 'remember', 'recall', 'forget'] as const),
  ...(['on', 'once', 'off', 'onBeforeCompaction', 'close'] as const),
])

/** The verbs that the check itself calls. */
type Checking = Pick<Store, 'getSession'>

/** The owners of stores that `ownedStore` returned. */
const ownerOf = new WeakMap<object, string>()

/**
 * A store for one owner: verbs throw `SESSION_NOT_FOUND` for a session of another owner. `append` creates an unknown session, as always.
 * Without an owner it is the store itself.
 */
export function ownedStore<S extends Checking>(store: S, owner: string | undefined): S {
  if (owner === undefined || ownerOf.get(store) === owner) return store
  const refuseOthers = async (sessionId: string): Promise<void> => {
    const { owner: other = owner } = (await unlessUnknown(store.getSession(sessionId))) ?? {}
    if (other !== owner) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
  }
  const owned = new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      const verb = value.bind(target) as (...given: unknown[]) => unknown
      if (WITHOUT_SESSION.has(key)) return verb
      return async (sessionId: unknown, ...rest: unknown[]) => {
        // The verb itself refuses what is not an id.
        if (typeof sessionId === 'string') await refuseOthers(sessionId)
        return verb(sessionId, ...rest)
      }
    },
  })
  ownerOf.set(owned, owner)
  return owned
}

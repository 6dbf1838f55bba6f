import { UndertextError } from '../core/errors.ts'
import { isOpenTo } from '../storage/owners.ts'
import { unlessUnknown } from '../store/arguments.ts'
import type { Store } from '../store/store.ts'

/*
 * One rule for all adapters: for an owner, a session of another owner is unknown. A session without an owner is open to every owner, and
 * belongs to the first for whom something is written to it.
 */

/** Methods whose first argument is no session, or a session to be created. All others are checked, new ones too. */
const WITHOUT_SESSION: ReadonlySet<string> = new Set([
  ...[
    'sessions.create',
    'sessions.import',
    'sessions.list',
    'search',
    'notes.add',
    'notes.list',
    'notes.forget',
  ],
  ...['jobs.get', 'jobs.cancel', 'limits.set', 'limits.list', 'limits.forget', 'compactions.onBefore'],
  ...['on', 'once', 'off', 'close'],
])

/** What the check itself calls. */
type Checking = Pick<Store, 'sessions'>

/** The owners of stores that `ownedStore` returned. */
const ownerOf = new WeakMap<object, string>()

/**
 * A store for one owner: methods throw `SESSION_NOT_FOUND` for a session of another owner. `append` creates an unknown session, as always.
 * Without an owner it is the store itself.
 */
export function ownedStore<S extends Checking>(store: S, owner: string | undefined): S {
  if (owner === undefined || ownerOf.get(store) === owner) return store
  const refuseOthers = async (sessionId: string): Promise<void> => {
    const { owner: other } = (await unlessUnknown(store.sessions.get(sessionId))) ?? {}
    if (!isOpenTo({ owner: other }, owner)) throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
  }
  /** A store or one of its topics, whose methods check the owner first. */
  const checked = <T extends object>(target: T, topic: string): T =>
    new Proxy(target, {
      get(_, key) {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value === 'object' && value !== null && topic === '')
          return checked(value, `${String(key)}.`)
        if (typeof value !== 'function') return value
        const method = value.bind(target) as (...given: unknown[]) => unknown
        if (WITHOUT_SESSION.has(`${topic}${String(key)}`)) return method
        return async (sessionId: unknown, ...rest: unknown[]) => {
          // The method itself refuses what is not an id.
          if (typeof sessionId === 'string') await refuseOthers(sessionId)
          return method(sessionId, ...rest)
        }
      },
    })
  const owned = checked(store, '')
  ownerOf.set(owned, owner)
  return owned
}

import { UndertextError } from '../core/errors.ts'
import { isOpenTo } from '../storage/owners.ts'
import { unlessUnknown } from '../store/arguments.ts'
import type { Store } from '../store/store.ts'

/*
 * One rule for all adapters: another owner's session counts as not found. A session without an owner is open to every owner, and is
 * assigned to the first owner for whom something is written to it.
 */

/** Methods whose first argument isn't a session, or is a session to create. All others are checked, including future ones. */
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

/** The store methods that the check calls. */
type Checking = Pick<Store, 'sessions'>

/** The owners of stores that `ownedStore` returned. */
const ownerOf = new WeakMap<object, string>()

/**
 * Returns a store for one owner, whose methods throw `SESSION_NOT_FOUND` for another owner's session. `append` still creates an unknown
 * session. Without an owner, the store itself is returned.
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
          // The method itself rejects a value that isn't an id.
          if (typeof sessionId === 'string') await refuseOthers(sessionId)
          return method(sessionId, ...rest)
        }
      },
    })
  const owned = checked(store, '')
  ownerOf.set(owned, owner)
  return owned
}

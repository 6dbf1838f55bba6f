import type { Store } from '../store/store.ts'

/** Returns the store of an owner; without an owner, the store itself. */
export function ownedStore<S extends object>(store: S, owner: string | undefined): S {
  return owner === undefined
    ? store
    : ((store as unknown as Pick<Store, 'forOwner'>).forOwner(owner) as unknown as S)
}

import type { Store } from '../store/store.ts'

/** Returns the store of an owner that the page names; an owner's own store knows no other. */
export function ownedBy(store: Store, owner: string | undefined): Store {
  return owner === undefined ? store : store.forOwner(owner)
}

import type { Session } from '../../storage/storage.ts'

/** Where a session stood when its history was read. */
type Standing = Pick<Session, 'messageCount' | 'viewEpoch'>

/**
 * Receipts of reading a history: whoever read it last, and saw no other change of it since, may compact it. They live in this
 * process alone.
 */
export class CompactionOwnership {
  readonly #standings = new WeakMap<object, Standing>()

  /** A receipt for the history of a session that stood like this, or of one that is not there yet. */
  receiptFor(session: Session | undefined): object {
    const receipt = {}
    this.#standings.set(receipt, standingOf(session))
    return receipt
  }

  /** Whether nobody changed the session since the receipt was given. */
  holds(receipt: object | null, session: Session | undefined): boolean {
    const standing = receipt === null ? undefined : this.#standings.get(receipt)
    const now = standingOf(session)
    return standing?.messageCount === now.messageCount && standing.viewEpoch === now.viewEpoch
  }

  /** Goes on owning what was appended by the owner: `count` messages, up to this position, with nothing in between. */
  extend(receipt: object | null, count: number, position: number): void {
    const standing = receipt === null ? undefined : this.#standings.get(receipt)
    if (receipt === null || standing === undefined) return
    if (standing.messageCount + count === position)
      this.#standings.set(receipt, { ...standing, messageCount: position })
    else this.#standings.delete(receipt)
  }
}

function standingOf(session: Session | undefined): Standing {
  return { messageCount: session?.messageCount ?? 0, viewEpoch: session?.viewEpoch ?? 0 }
}

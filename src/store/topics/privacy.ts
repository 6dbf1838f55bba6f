import { check, newOwnerOption } from '../../core/messages/check.ts'
import { type ErasedOwner, type EraseOwnerOptions, eraseOwner, eraseOwnerSchema } from '../erase-owner.ts'
import type { Services } from '../services.ts'

/** What is removed or hidden for people: an owner's data, secrets, old contents. */
export class Privacy {
  readonly #services: Services

  /** @internal */
  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Removes everything of an owner: sessions, archived or not, with their forks, notes, requests, usage and jobs; the notes of the owner;
   * and the owner's name in the audit of other sessions, where a keyed hash replaces it. Nothing of it can be read from the files
   * afterwards, as after `sessions.purge`. A receipt of numbers with the hash stays. Forks that other owners made keep their contents.
   *
   * Each session is one transaction, so an interrupted call is continued by the next one. With `dryRun`, only counts. Throws
   * `INVALID_INPUT`, and `ABORTED` if the signal fires.
   */
  async eraseOwner(owner: string, options: EraseOwnerOptions = {}): Promise<ErasedOwner> {
    const name = check(newOwnerOption.unwrap(), owner, 'privacy.eraseOwner: owner')
    return eraseOwner(this.#services, name, check(eraseOwnerSchema, options, 'privacy.eraseOwner'))
  }
}

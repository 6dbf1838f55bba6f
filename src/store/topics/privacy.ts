import { type ScannedText, type ScanOptions, scan } from '../scan.ts'
import type { Services } from '../services.ts'

/** What people wrote and shouldn't be stored. */
export class Privacy {
  readonly #services: Services

  /** @internal */
  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Yields the places of stored texts that the redaction of the store would replace, without it those with credentials: kinds, numbers and
   * ids, never the texts. Covers messages, summaries and replacements, hidden and undone ones too, notes, recorded requests, and the fields,
   * compactions and audit of sessions. Changes nothing: `privacy.purgeText` removes what it finds. Throws `SESSION_NOT_FOUND`.
   */
  scan(options: ScanOptions = {}): AsyncGenerator<ScannedText, void, undefined> {
    return scan(this.#services.context.storage, options)
  }
}

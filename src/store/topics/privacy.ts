import { check, newOwnerOption } from '../../core/messages/check.ts'
import { type ErasedOwner, type EraseOwnerOptions, eraseOwner, eraseOwnerSchema } from '../erase-owner.ts'
import { type PurgedText, type PurgeTextOptions, purgeText, type TextScope } from '../purge-text.ts'
import { applyRetention, type RetentionOptions, type RetentionReport } from '../retention.ts'
import { type ScannedText, type ScanOptions, scan } from '../scan.ts'
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

  /**
   * Removes a text, such as a secret, from everything that is stored, and returns how often it was found and where, never the text itself.
   * The scope is a session with its forks, an owner with all sessions and notes, or `'all'`. The pattern is a text, which is also found in
   * JSON, or a regular expression. With `dryRun`, nothing is written.
   *
   * Changes messages and summaries, hidden or not, texts shown in place of parts, notes, recorded requests, the search index, titles,
   * metadata, and reasons and errors of compactions, jobs and the audit. Messages keep their ids and places, and `metadata.undertext.edited`
   * marks them; undo and redo work as before. A part with a signature becomes a text, because the signature no longer holds. Messages that
   * forks share are changed in all of them. Ids and names that contain the text stay and are reported as `kept`.
   *
   * Each session is one transaction. If the call is interrupted, repeat it: it continues with what is left. Afterwards the text can't be read
   * from the files, unless the result has `filesCleared: false` (docs/removal.md). Throws `SESSION_NOT_FOUND`, and `INVALID_INPUT` for a
   * pattern that matches an empty text, the replacement, the actor or the reason, or that takes too long.
   */
  async purgeText(
    scope: TextScope,
    pattern: string | RegExp,
    options: PurgeTextOptions = {},
  ): Promise<PurgedText> {
    return purgeText(this.#services.context, scope, pattern, options)
  }

  /**
   * Removes content for good by the rules of retention (docs/retention.md): of the store and of each session (the setting `retention`), and
   * of this call. Applies them to all sessions, those of an `owner`, or the given ones. What is visible, pinned or required by something
   * visible stays unless a rule says otherwise. With `dryRun`, nothing is written.
   *
   * A removed part leaves a tombstone, with its size, the rule and, unless it was short, its hash. Undo, redo and rewind throw
   * `CONTENT_RETIRED` if they would show it again. Works in short transactions with pauses, so writers continue. After `budgetMs`, or when
   * `signal` aborts, returns with `isComplete: false` and a `cursor`. A call that was interrupted in any other way is simply repeated: what
   * is done isn't done twice. Throws `SESSION_NOT_FOUND` for an unknown one of `sessions`, and `ABORTED` if `signal` is aborted at the start.
   */
  async applyRetention(options: RetentionOptions = {}): Promise<RetentionReport> {
    return applyRetention(this.#services.context, options)
  }

  /**
   * Yields the places of stored texts that the redaction of the store would replace, without it those with credentials: kinds, numbers and
   * ids, never the texts. Covers messages, summaries and replacements, hidden and undone ones too, notes, recorded requests, and the fields,
   * compactions and audit of sessions. Changes nothing: `privacy.purgeText` removes what it finds. Throws `SESSION_NOT_FOUND`.
   */
  scan(options: ScanOptions = {}): AsyncGenerator<ScannedText, void, undefined> {
    return scan(this.#services.context, options)
  }
}

import { createSchema } from '../config/store-options.ts'
import { invalid } from '../errors.ts'
import type { HistoryRecords } from '../history/checked-records.ts'
import type { ImportEvents, ImportOptions, SessionImport } from '../history/import/import-types.ts'
import type { RestoreOptions, SessionRestore } from '../history/restore-session.ts'
import { check, isIterable, taken } from '../messages/check.ts'
import type { HistoryRecord } from '../storage/records/records.ts'
import type { Storage } from '../storage/storage.ts'
import { checkId } from './check-arguments.ts'
import { SessionVerbs } from './session-verbs.ts'

/** Conversations that come from elsewhere, and sessions as a whole. What does it is loaded when it is needed: most stores never do. */
class TransferVerbs<S extends Storage> extends SessionVerbs<S> {
  /**
   * Brings in a conversation from elsewhere: its messages, what is known of it, and the compactions its own system had made, which can be
   * undone and redone like ours. `importFile` of `undertext/transfer` reads files into such events.
   *
   * A new session is written in batches of one short transaction each, seen by nobody and in no list until it is whole; when something
   * fails nothing of it is left. For a session that was imported before, messages are known by their `idempotencyKey`, also when
   * they were hidden since: only what is new is appended behind, batch by batch, and the same again writes nothing. Compactions cover
   * what the laws let them; each has an outcome, and one that cannot be is no failure.
   *
   * Throws `INVALID_INPUT`, `SESSION_EXISTS` when the id belongs to another conversation or to another owner than is given, `IMPORT_DIVERGED` when the session is not the
   * beginning of what is imported, `IDEMPOTENCY_CONFLICT`, `MESSAGE_ID_TAKEN`, `POSITION_CONFLICT` when somebody appends meanwhile,
   * `ABORTED`, and what `events` and `beforePublish` throw.
   */
  async importSession(
    sessionId: string,
    events: ImportEvents,
    options: ImportOptions,
  ): Promise<SessionImport> {
    // What the caller does with them while the code is loaded is not part of the import.
    const given = { events: Array.isArray(events) ? taken(events) : events, options: taken(options) }
    const { importSession } = await import('../history/import/import-session.ts')
    const host = {
      storage: this.storage,
      estimator: this.estimators.standard.name,
      recordAppended: this.recordAppended.bind(this),
    }
    return importSession(host, checkId(sessionId), given.events, given.options)
  }

  /**
   * The whole of a session as records: everything that is stored of it, tags, compactions and audit included, but nothing that belongs to
   * this machine. `restoreSession` makes the very same session of them; docs/history-format.md says what each is, and `historyLines` of
   * `undertext/transfer` writes them as lines.
   *
   * It is of one moment: what others append, compact or undo while the records are taken is not in it. They come in pages of some
   * megabytes, so a session of any size can be exported, and no transaction is open between two of them.
   *
   * Throws `SESSION_NOT_FOUND`, also when the session is purged meanwhile, and `STORE_CORRUPT` for what cannot be read.
   */
  async *exportSession(sessionId: string): AsyncGenerator<HistoryRecord, void, undefined> {
    const id = checkId(sessionId)
    const { exportSession } = await import('../history/export-session.ts')
    yield* exportSession(this.storage, id)
  }

  /**
   * Makes the session that records are of: the same messages with the same ids, the same view, and every compaction to be undone and
   * redone. Every record is checked, so they may come from anybody. It is written in batches, seen by nobody and in no list until all of it
   * is there and `verifySession` finds nothing; when something fails nothing of it is left.
   *
   * With `id` it becomes a session of that name, with `owner` one of that owner, whatever the history says. Messages, compactions and runs
   * have one name in the whole store: under another id, and when theirs are taken, they get others, always the same for the same session;
   * ids and keys that callers gave to messages stay. An attempt at a summary that was running when it was exported has expired.
   * When the session is there as this very history, nothing is written and the answer says `existing`.
   *
   * Throws `HISTORY_REFUSED` with the number of the record and why, `SESSION_EXISTS` for a session that is another one, or the same at
   * another moment, `ESTIMATOR_UNKNOWN`, `INVALID_INPUT`, `ABORTED`, and what the records throw.
   */
  async restoreSession(records: HistoryRecords, options: RestoreOptions = {}): Promise<SessionRestore> {
    const given = { records: Array.isArray(records) ? taken(records) : records, options: taken(options) }
    const { restoreSchema, restoreSession } = await import('../history/restore-session.ts')
    const checked = check(restoreSchema, given.options, 'restoreSession')
    if (!isIterable(given.records)) throw invalid('restoreSession: records must be iterable')
    const host = {
      storage: this.storage,
      admit: ({ estimator, config }: { estimator: string; config?: unknown }, sessionId: string) => {
        check(createSchema.shape.config, config, 'config')
        this.estimatorNamed(estimator, sessionId)
      },
    }
    return restoreSession(host, given.records, checked)
  }
}

/**
 * A store of conversations. Made by `openStore`.
 *
 * Every verb but `getContextStats`, `needsCompaction`, `compactSession` and `whenIdle` throws `SESSION_NOT_FOUND` for an
 * unknown session; all throw `INVALID_INPUT` for arguments that cannot be, `STORE_CLOSED`, `STORE_BUSY`,
 * `STORE_CORRUPT`, `STORE_UNAVAILABLE`, `IN_TRANSACTION` (a connection handed in), and writing ones
 * `STORE_READONLY` and `STORE_FULL`. After any error nothing is written and the store is usable. One exception:
 * `compactSession` and `hideMessages` read what they answer behind their commit; when only that fails, the work is done.
 */
export class Store<S extends Storage = Storage> extends TransferVerbs<S> {}

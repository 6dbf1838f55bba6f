import { importSession } from '../import/import-session.ts'
import type { ImportEvents, ImportOptions, SessionImport } from '../import/import-types.ts'
import type { Storage } from '../storage/storage.ts'
import { checkId } from './check-arguments.ts'
import { SessionVerbs } from './session-verbs.ts'

/** Conversations that come from elsewhere. */
export class TransferVerbs<S extends Storage> extends SessionVerbs<S> {
  /**
   * Brings in a conversation from elsewhere: its messages, what is known of it, and the compactions its own system had made, which can be
   * undone and redone like ours. `importFile` of `undertext/transfer` reads files into such events.
   *
   * A new session is written in batches of one short transaction each, seen by nobody and in no list until it is whole; when something
   * fails nothing of it is left. For a session that was imported before, messages are known by their `idempotencyKey`, also when
   * they were hidden since: only what is new is appended behind, batch by batch, and the same again writes nothing. Compactions cover
   * what the laws let them; each has an outcome, and one that cannot be is no failure.
   *
   * Throws `INVALID_INPUT`, `SESSION_EXISTS` when the id belongs to another conversation, `IMPORT_DIVERGED` when the session is not the
   * beginning of what is imported, `IDEMPOTENCY_CONFLICT`, `MESSAGE_ID_TAKEN`, `POSITION_CONFLICT` when somebody appends meanwhile,
   * `ABORTED`, and what `events` and `beforePublish` throw.
   */
  async importSession(
    sessionId: string,
    events: ImportEvents,
    options: ImportOptions,
  ): Promise<SessionImport> {
    const host = {
      storage: this.storage,
      estimator: this.estimators.standard.name,
      recordAppended: this.recordAppended.bind(this),
    }
    return importSession(host, checkId(sessionId), events, options)
  }
}

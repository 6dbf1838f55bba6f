import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { check } from '../core/messages/check.ts'
import { type MovedSession, type MoveReport, moveStorage } from '../store/history/move-store.ts'
import { Store, storageOf } from '../store/store.ts'

const callback = <T>() =>
  z.custom<(value: T) => void>((value) => typeof value === 'function', 'must be a function').optional()

const moveSchema = z.strictObject({
  signal: z.instanceof(AbortSignal).optional(),
  /** Called with the number of messages, each time that some were copied. */
  onMessages: callback<number>(),
  /** Called after each session. */
  onSession: callback<MovedSession>(),
})
/** Options of `moveStore`. */
export type MoveOptions = z.input<typeof moveSchema>

/**
 * Copies a store to another one, of SQLite or PostgreSQL: all sessions with everything that is stored of them, their jobs, what was
 * learned of models, and the receipts of purges. `from` is only read, so it may be open for reading only, and its readers and writers go
 * on meanwhile. Each session is copied as it is at one moment, is read again and compared, and appears complete or not at all.
 *
 * The same call again continues one that ended early: it copies what is missing, and replaces copies whose original has changed. A session
 * that would have to be overwritten otherwise is not copied: another one of the same id, or a copy that was changed or purged. The report
 * names those, and the ones that cannot be copied, such as those of an unknown estimator.
 *
 * A queued or running job becomes a queued one of the copy. Throws `ABORTED`, and what the two stores throw when they cannot be used.
 */
export async function moveStore(from: Store, to: Store, options: MoveOptions = {}): Promise<MoveReport> {
  if (!(from instanceof Store && to instanceof Store)) throw invalid('moveStore: from and to must be stores')
  return moveStorage(storageOf(from), storageOf(to), check(moveSchema, options, 'moveStore'))
}

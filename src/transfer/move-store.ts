import { createHash, type Hash } from 'node:crypto'
import { z } from 'zod'
import { type ErrorCode, invalid, isUndertextError, UndertextError } from '../core/errors.ts'
import { check } from '../core/messages/check.ts'
import { canonicalJson } from '../core/messages/json.ts'
import type { HistoryHead } from '../storage/records/records.ts'
import type { ExportedHead, SessionPage, Storage, StoreTable } from '../storage/storage.ts'
import { exportedRecords, exportedRows } from '../store/history/export-session.ts'
import { discard, discardAbandoned, newLease, staged, stagedName } from '../store/history/import/staging.ts'
import { ownNames, Renaming } from '../store/history/renamed.ts'
import {
  findingsOf,
  isBody,
  type NumberedRecord,
  sessionFields,
  writeHistory,
} from '../store/history/restore-session.ts'
import { Store, storageOf } from '../store/store.ts'

const callback = <T>() =>
  z.custom<(value: T) => void>((value) => typeof value === 'function', 'must be a function').optional()

const moveSchema = z.strictObject({
  signal: z.instanceof(AbortSignal).optional(),
  /** Called with a number of messages each time they have been copied. */
  onMessages: callback<number>(),
  /** Called after each session. */
  onSession: callback<MovedSession>(),
})
/** Options of `moveStore`. */
export type MoveOptions = z.input<typeof moveSchema>

/**
 * Copies a store to another one, in SQLite or PostgreSQL: all sessions with all of their data and jobs, the calibrations and limits of
 * models, notes of owners, and receipts of purges. `from` is only read, so it may be open read-only, and it can be used meanwhile. Each
 * session is copied as of one moment, read again and compared, and it becomes visible only when it is complete.
 *
 * The same call continues a move that ended early: it copies missing sessions, and replaces copies whose original has changed. Nothing else
 * is overwritten: if the target has another session with the same id, or the copy was changed or purged there, the session isn't copied.
 * The report names these sessions, and those that can't be copied, for example because their estimator is unknown.
 *
 * A queued or running job is queued in the copy. Throws `ABORTED`, and the errors of the two stores if they can't be used.
 */
export async function moveStore(from: Store, to: Store, options: MoveOptions = {}): Promise<MoveReport> {
  if (!(from instanceof Store && to instanceof Store)) throw invalid('moveStore: from and to must be stores')
  if (storageOf(to).redaction !== undefined)
    throw invalid('moveStore: to must be opened without redact, because a move compares its exact copies')
  return moveStorage(storageOf(from), storageOf(to), check(moveSchema, options, 'moveStore'))
}

/*
 * A copy of a whole store. Each session is copied by export and restore, with its id, the ids of its rows and its jobs. A mark in the
 * target stores the digest of the copied data, so that a later move can see whether the copy has changed.
 */

/** Why a session wasn't copied, apart from error codes. */
const MOVE_PROBLEMS = [
  /** Another conversation has the session's id. */
  'OTHER_SESSION',
  /** The copy was changed, or wasn't made by a move. */
  'CHANGED_THERE',
  /** The copy was purged. */
  'PURGED_THERE',
  /** `sessions.verify` reports a problem in the session. */
  'UNSOUND',
  /** The copy differs from the original. */
  'MISMATCH',
] as const

/** Why a session wasn't copied. */
export type MoveCode = (typeof MOVE_PROBLEMS)[number] | ErrorCode

/** A session that wasn't copied, with a `detail` for people that contains no text of the conversation. */
export type MoveProblem = { readonly sessionId: string; readonly code: MoveCode; readonly detail: string }

/** The result for a session. */
export type MovedSession = {
  readonly sessionId: string
  /** `replaced`: an older copy was replaced. `unchanged`: an equal copy was there. `gone`: the session was purged meanwhile. */
  readonly outcome: 'copied' | 'replaced' | 'unchanged' | 'gone' | 'refused'
  readonly messages: number
}

/** The result of a move. */
export type MoveReport = {
  /** The numbers of sessions that were copied, that replaced older copies, and that were already there. */
  readonly copied: number
  readonly replaced: number
  readonly unchanged: number
  /** The number of sessions that weren't copied, and the first of them with the reason. */
  readonly refused: number
  readonly problems: readonly MoveProblem[]
  /** The number of messages in the copied sessions. */
  readonly messages: number
  /** The numbers of rows written: calibrations and limits of models, and receipts of purges. */
  readonly calibrations: number
  readonly limits: number
  readonly receipts: number
  /** The number of owners' notes written. Notes of sessions are copied with their sessions. */
  readonly notes: number
}

const MAX_PROBLEMS = 1_000
const PAGE = 500

/** See `moveStore` of undertext/transfer. */
export async function moveStorage(from: Storage, to: Storage, hooks: MoveOptions = {}): Promise<MoveReport> {
  await discardAbandoned(to)
  const counts = { copied: 0, replaced: 0, unchanged: 0, refused: 0, gone: 0, messages: 0 }
  const problems: MoveProblem[] = []
  for await (const { id, owner, messages } of sessionsOf(from)) {
    throwIfAborted(hooks, id)
    const outcome = await moved(id, from.seenBy(owner), to.seenBy(owner))
    counts[outcome] += 1
    if (outcome === 'copied' || outcome === 'replaced') counts.messages += messages
    hooks.onSession?.({ sessionId: id, outcome, messages })
  }
  const calibrations = await copyRecords(from, to, 'calibrations')
  const limits = await copyRecords(from, to, 'limits')
  const receipts = await copyRecords(from, to, 'receipts')
  const notes = await copyRecords(from, to, 'notes')
  const { gone: _, ...rest } = counts
  return { ...rest, problems, calibrations, limits, receipts, notes }

  async function moved(id: string, ours: Storage, theirs: Storage): Promise<MovedSession['outcome']> {
    try {
      return await moveSession(ours, theirs, id, hooks)
    } catch (error) {
      if (isUndertextError(error, 'SESSION_NOT_FOUND') && (await ours.session(id)) === undefined)
        return 'gone'
      const problem = problemOf(error)
      if (problem === undefined) throw error
      if (problems.length < MAX_PROBLEMS) problems.push({ sessionId: id, ...problem })
      return 'refused'
    }
  }
}

/** Yields the sessions of a store, oldest first, so that lists show the copies in the same order. */
async function* sessionsOf({ histories }: Storage): AsyncGenerator<SessionPage['sessions'][number]> {
  let after: SessionPage['next']
  do {
    const { sessions, next } = await histories.sessions(after, PAGE)
    yield* sessions
    after = next
  } while (after !== undefined)
}

class MoveError extends Error {
  readonly code: (typeof MOVE_PROBLEMS)[number]

  constructor(code: (typeof MOVE_PROBLEMS)[number], detail: string) {
    super(detail)
    this.code = code
  }
}

/** Errors that concern one session; after any other error, the next session would fail too. */
const SESSION_ERRORS = new Set([
  ...['ESTIMATOR_UNKNOWN', 'HISTORY_REFUSED', 'INVALID_INPUT', 'MESSAGE_ID_TAKEN'],
  ...['SESSION_EXISTS', 'SESSION_NOT_FOUND', 'STORE_CORRUPT'],
])

function problemOf(error: unknown): Omit<MoveProblem, 'sessionId'> | undefined {
  if (error instanceof MoveError) return { code: error.code, detail: error.message }
  if (!isUndertextError(error) || !SESSION_ERRORS.has(error.code)) return undefined
  return { code: error.code, detail: error.message }
}

function throwIfAborted({ signal }: MoveOptions, sessionId: string): void {
  if (signal?.aborted === true) throw new UndertextError('ABORTED', { sessionId })
}

/** A session as of one moment, and the digest of everything except its rows. */
type Standing = ExportedHead & { readonly digest: string }

async function standingOf({ histories }: Storage, id: string): Promise<Standing> {
  const exported = await histories.head(id)
  return { ...exported, digest: digestOf(exported) }
}

function digestOf(exported: ExportedHead): string {
  const { background } = exported
  return createHash('sha256')
    .update(canonicalJson({ head: headOfCopy(exported), background }))
    .digest('base64url')
}

/** Returns the head of a copy, in which running attempts are ended, because their processes belong to another store. */
function headOfCopy({ head }: ExportedHead): HistoryHead {
  return new Renaming(head, ownNames(head)).head(head, head.session.id)
}

/** Returns the key of the mark of a copy. It doesn't contain the session's id, because the mark stays when the copy is purged. */
function markOf({ head: { session } }: Standing): string {
  const name = createHash('sha256').update(session.id).digest('base64url').slice(0, 22)
  return `copied/${session.incarnation}/${name}`
}

async function moveSession(
  from: Storage,
  to: Storage,
  id: string,
  hooks: MoveOptions,
): Promise<MovedSession['outcome']> {
  const ours = await standingOf(from, id)
  const mark = await to.histories.mark(markOf(ours))
  const there = await to.session(id)
  if (there === undefined) {
    if (mark !== undefined) throw new MoveError('PURGED_THERE', 'its copy was purged')
    await copySession(from, to, ours, undefined, hooks)
    return 'copied'
  }
  if (there.incarnation !== ours.head.session.incarnation)
    throw new MoveError('OTHER_SESSION', 'another conversation has its id')
  const { digest } = await standingOf(to, id)
  if (digest === ours.digest) return 'unchanged'
  if (digest !== mark) throw changedThere()
  await copySession(from, to, ours, digest, hooks)
  return 'replaced'
}

function changedThere(): MoveError {
  return new MoveError('CHANGED_THERE', 'its copy was changed since, or was not made by a move')
}

/**
 * Copies a session, and compares the copy before it becomes visible. `former` is the digest of an older copy, which is replaced in one
 * transaction and then removed.
 */
async function copySession(
  from: Storage,
  to: Storage,
  ours: Standing,
  former: string | undefined,
  { signal, onMessages }: MoveOptions,
): Promise<void> {
  const head = headOfCopy(ours)
  const { id, incarnation, estimator } = head.session
  await requireSound(from, head, id)
  const aside = { id: stagedName(), ...newLease() }
  const isUnchanged = (found: ExportedHead): boolean => digestOf(found) === former
  const copied = {
    background: ours.background,
    mark: { key: markOf(ours), value: ours.digest },
    ...(former !== undefined && { replaced: { aside, isUnchanged } }),
  }
  await staged(to, id, { fields: sessionFields(head), estimator, incarnation }, async ({ id: importId }) => {
    const [sent, stored] = [createHash('sha256'), createHash('sha256')]
    const restoring = await writeHistory(to, importId, head, numberedRecords(from, ours, sent), {
      signal,
      onRows: (rows) => onMessages?.(rows.filter(({ row }) => row.type === 'message').length),
    })
    const copy = await to.histories.head(importId)
    for await (const record of exportedRows(to, copy)) stored.update(canonicalJson(record))
    if (!isSameHead(copy.head, head) || sent.digest('hex') !== stored.digest('hex'))
      throw new MoveError('MISMATCH', 'the copy is not equal to the original')
    await requireSound(to, head, importId)
    if (!(await to.histories.publish(restoring, copied))) throw changedThere()
  })
  if (former !== undefined) await discard(to, aside.id)
}

/** Yields the rows in the form that a restore writes, and adds each to the hash by which the copy is compared. */
async function* numberedRecords(
  from: Storage,
  exported: ExportedHead,
  sent: Hash,
): AsyncGenerator<NumberedRecord> {
  for await (const record of exportedRecords(from, exported)) {
    if (!isBody(record)) continue
    sent.update(canonicalJson(record))
    yield { line: 0, record }
  }
}

/** An import receives its id and its times together with its name. */
function isSameHead(copy: HistoryHead, { session, ...rest }: HistoryHead): boolean {
  const { id, createdAt, updatedAt } = session
  return (
    canonicalJson({ ...copy, session: { ...copy.session, id, createdAt, updatedAt } }) ===
    canonicalJson({ ...rest, session })
  )
}

/**
 * The maximum number of messages of a session that is verified, which takes 1.5 KB of memory per message. A larger session is only
 * compared.
 */
const MAX_VERIFIED = 200_000

async function requireSound(storage: Storage, { session }: HistoryHead, id: string): Promise<void> {
  if (session.messages > MAX_VERIFIED) return
  const codes = await findingsOf(storage, id)
  if (codes.length > 0)
    throw new MoveError('UNSOUND', `sessions.verify reports ${codes.join(', ')}; repair it first`)
}

/** Copies the rows of a table that belong to no session; returns the number of rows written. */
async function copyRecords(from: Storage, to: Storage, table: StoreTable): Promise<number> {
  let written = 0
  let after: readonly number[] | undefined
  do {
    const { records, next } = await from.histories.storeRecords(table, after)
    if (records.length > 0) written += await to.histories.writeStoreRecords(table, records)
    after = next
  } while (after !== undefined)
  return written
}

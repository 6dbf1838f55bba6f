import { UndertextError } from '../../core/errors.ts'
import type { FinishedImport, ImportInProgress, NewImport, Session } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { addReferences, blobsOf, dropReferences } from './content-codec.ts'
import { dropSession, transferToForks } from './purge.ts'
import { requestBlobs } from './requests.ts'
import {
  insertSession,
  requireFreeId,
  requireSession,
  resetNewest,
  type StoredSession,
  updateFields,
} from './sessions.ts'
import { outside, type Sql, writing } from './sql.ts'
import type { Work } from './work.ts'

/*
 * An import in progress is a session under a temporary name that no list shows. It is written in batches, so that no writer waits long for
 * the lock. A finished import receives its own name; one that is never finished is removed without a receipt.
 */

/** Creates a session that no list shows. Throws `SESSION_EXISTS`, also if all candidates for its incarnation are taken. */
export const beginImport = writing(
  'beginImport',
  function* (sql: Sql, request: NewImport): Work<StoredSession> {
    const { id, fields, estimator, holder, expiresAt, incarnations } = request
    yield* requireFreeId(sql, id, sql.seen)
    const incarnation = request.incarnation ?? (incarnations && (yield* firstFree(sql, incarnations)))
    if (incarnations !== undefined && incarnation === undefined)
      throw new UndertextError('SESSION_EXISTS', { sessionId: id })
    const { no } = yield* insertSession(sql, id, fields, estimator)
    yield* sql.run(
      `update undertext_sessions set staged_by = ?, lease_run = id, lease_holder = ?, lease_expires = ?,
         incarnation = coalesce(?, incarnation) where {family} no = ?`,
      ...[holder, holder, expiresAt, incarnation ?? null, no],
    )
    return yield* requireSession(sql, id)
  },
)

function* firstFree(sql: Sql, incarnations: readonly string[]): Work<string | undefined> {
  for (const one of incarnations) {
    const taken = yield* sql.get('select 1 from undertext_sessions where incarnation = ?', one)
    if (taken === undefined) return one
  }
  return undefined
}

/**
 * Gives an imported session its own name and lists it. Throws `SESSION_EXISTS`, and `SESSION_NOT_FOUND` if the import isn't in progress.
 */
export const finishImport = writing('finishImport', publish)

/** Like `finishImport`, within the caller's transaction. */
export function* publish(
  sql: Sql,
  importId: string,
  id: string,
  { fields, createdAt, updatedAt, audit }: FinishedImport,
): Work<Session> {
  const { no } = yield* requireImport(sql, importId)
  if (fields !== undefined) yield* updateFields(sql, yield* requireSession(sql, importId), fields)
  const { owner } = yield* requireSession(sql, importId)
  yield* requireFreeId(sql, id, owner ?? sql.seen)
  yield* sql.rename(id, owner ?? null)
  yield* sql.run(
    `update undertext_sessions set id = ?, staged_by = null, lease_run = null, lease_holder = null, lease_expires = null,
       created_at = coalesce(?, created_at), updated_at = coalesce(?, updated_at) where {family} no = ?`,
    ...[id, createdAt ?? null, updatedAt ?? null, no],
  )
  yield* resetNewest(sql, no)
  if (audit !== undefined) yield* writeAudit(sql, no, audit)
  return yield* requireSession(sql, id)
}

/** Turns a session into an import in progress that can only be removed, within the caller's transaction. */
export function* setAside(
  sql: Sql,
  id: string,
  { id: name, holder, expiresAt }: ImportInProgress,
): Work<void> {
  yield* sql.enterAlone(id)
  const session = yield* requireSession(sql, id)
  const { no } = session
  // Ids of compactions and jobs are unique in a file, and the session's successor uses the same ids.
  yield* sql.unguarded(String(no), function* () {
    yield* transferToForks(sql, session)
    for (const table of ['compactions', 'jobs'])
      yield* sql.run(`delete from undertext_${table} where {family} session = ?`, no)
  })
  yield* sql.enter(id)
  yield* sql.rename(name, session.owner ?? null)
  yield* sql.run(
    `update undertext_sessions set id = ?, staged_by = ?, lease_run = ?, lease_holder = ?, lease_expires = ? where {family} no = ?`,
    ...[name, holder, name, holder, expiresAt, no],
  )
}

/** Throws `SESSION_NOT_FOUND`. */
export function* requireImport(sql: Sql, id: string): Work<{ readonly no: number }> {
  const no = yield* importNo(sql, id)
  if (no === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
  return { no }
}

function* importNo(sql: Sql, id: string): Work<number | undefined> {
  yield* sql.enter(id)
  const row = yield* sql.get(
    'select no from undertext_sessions where {family} {named} id = ? and staged_by is not null',
    id,
  )
  return row?.[0] as number | undefined
}

/** Removes some rows of an import, newest first; returns whether nothing is left. Has no effect on a finished import. */
export function* discardImport(sql: Sql, id: string, rows: number): Work<boolean> {
  const isGone = yield* discardSome(sql, id, rows)
  if (isGone) yield* sql.clearFiles('often')
  return isGone
}

/** Like `discardImport`, without clearing the files. `isLater`: they are cleared on request only. */
export function* discardSome(sql: Sql, id: string, rows: number, isLater = false): Work<boolean> {
  // If there are no rows to remove, nothing has to be erased from the files.
  if ((yield* sql.outside('discardImport', () => importNo(sql, id))) === undefined) return true
  const discarding = function* (): Work<boolean> {
    yield* sql.enterAlone(id)
    const no = yield* importNo(sql, id)
    if (no === undefined) return true
    return yield* sql.unguarded(String(no), function* () {
      const keys = (yield* sql.all(
        'select key from undertext_messages where {family} session = ? order by key desc limit ?',
        no,
        rows,
      )).map(([key]) => key as number)
      const references = yield* discardRows(sql, keys)
      yield* sql.words.remove(sql, no)
      const isEmpty = keys.length < rows
      if (isEmpty) {
        addReferences(references, yield* requestBlobs(sql, no))
        yield* dropSession(sql, no, references)
      } else yield* dropReferences(sql, references)
      return isEmpty
    })
  }
  return yield* sql.erase('discardImport', discarding, isLater)
}

/** Removes rows; returns their references to blobs. */
function* discardRows(sql: Sql, keys: readonly number[]): Work<Map<string, number>> {
  const list = JSON.stringify(keys)
  const among = 'in (select value from {list ?} k)'
  const references = yield* blobsOf(sql, keys)
  yield* sql.run(`delete from undertext_replacements where {family} message ${among}`, list)
  yield* sql.run(`delete from undertext_contents where {family} key ${among}`, list)
  yield* sql.run(`delete from undertext_messages where {family} key ${among}`, list)
  return references
}

export const importsInProgress = outside('importsInProgress', function* (sql: Sql): Work<ImportInProgress[]> {
  const statement = `select id, staged_by, coalesce(lease_expires, updated_at) from undertext_sessions where {seen} staged_by is not null`
  const rows = (yield* sql.all(statement)) as unknown as [string, string, number][]
  return rows.map(([id, holder, expiresAt]) => ({ id, holder, expiresAt }))
})

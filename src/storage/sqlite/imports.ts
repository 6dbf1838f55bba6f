import { UndertextError } from '../../errors.ts'
import type { FinishedImport, ImportInProgress, NewImport, Session } from '../storage.ts'
import { writeAudit } from './audit.ts'
import type { Connection } from './connection.ts'
import { dropBlobsOf } from './content-codec.ts'
import { clearFilesInTurn, dropSession, erase, unguarded } from './residue.ts'
import { insertSession, readSession, requireSession, type StoredSession, updateFields } from './sessions.ts'

/*
 * Imports in progress: sessions that are written in batches, so that no writer waits long for the lock, under a temporary name and in
 * no list. A finished import gets its own name. One that is never finished is removed without a receipt.
 */

/** Creates a session that no list shows. Throws `SESSION_EXISTS`, also when all of its possible incarnations are taken. */
export function beginImport(connection: Connection, request: NewImport): StoredSession {
  return connection.write('beginImport', () => {
    const { id, fields, estimator, holder, expiresAt, incarnations } = request
    refuseTaken(connection, id)
    const incarnation = incarnations?.find((one) => !isIncarnation(connection, one))
    if (incarnations !== undefined && incarnation === undefined)
      throw new UndertextError('SESSION_EXISTS', { sessionId: id })
    const { no } = insertSession(connection, id, fields, estimator)
    connection.run(
      `update undertext_sessions set staged_by = ?, lease_run = id, lease_holder = ?, lease_expires = ?,
         incarnation = ifnull(?, incarnation) where no = ?`,
      ...[holder, holder, expiresAt, incarnation ?? null, no],
    )
    return requireSession(connection, id)
  })
}

function isIncarnation(connection: Connection, incarnation: string): boolean {
  return connection.get('select 1 from undertext_sessions where incarnation = ?', incarnation) !== undefined
}

/** Gives an imported session its own name and lists it. Throws `SESSION_EXISTS`, and `SESSION_NOT_FOUND` when it is not in progress. */
export function finishImport(
  connection: Connection,
  importId: string,
  id: string,
  { fields, createdAt, updatedAt, audit }: FinishedImport,
): Session {
  return connection.write('finishImport', () => {
    const { no } = requireImport(connection, importId)
    refuseTaken(connection, id)
    if (fields !== undefined) updateFields(connection, requireSession(connection, importId), fields)
    connection.run(
      `update undertext_sessions set id = ?, staged_by = null, lease_run = null, lease_holder = null, lease_expires = null,
         created_at = ifnull(?, created_at), updated_at = ifnull(?, updated_at) where no = ?`,
      ...[id, createdAt ?? null, updatedAt ?? null, no],
    )
    if (audit !== undefined) writeAudit(connection, no, audit)
    return requireSession(connection, id)
  })
}

/** Throws `SESSION_NOT_FOUND`. */
export function requireImport(connection: Connection, id: string): { readonly no: number } {
  const no = importNo(connection, id)
  if (no === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
  return { no }
}

function importNo(connection: Connection, id: string): number | undefined {
  const row = connection.get('select no from undertext_sessions where id = ? and staged_by is not null', id)
  return row?.[0] as number | undefined
}

function refuseTaken(connection: Connection, id: string): void {
  if (readSession(connection, id) !== undefined) throw new UndertextError('SESSION_EXISTS', { sessionId: id })
}

/** Removes some rows of an import, newest first; returns whether nothing is left. Does nothing to a finished import. */
export function discardImport(connection: Connection, id: string, rows: number): boolean {
  // Without rows to remove there is nothing to erase from the files.
  if (connection.outside('discardImport', () => importNo(connection, id)) === undefined) return true
  const isGone = erase(connection, 'discardImport', () => {
    const no = importNo(connection, id)
    if (no === undefined) return true
    return unguarded(connection, String(no), () => {
      const keys = connection
        .all('select key from undertext_messages where session = ? order by key desc limit ?', no, rows)
        .map(([key]) => key as number)
      discardRows(connection, keys)
      const isEmpty = keys.length < rows
      if (isEmpty) dropSession(connection, no)
      return isEmpty
    })
  })
  if (isGone) clearFilesInTurn(connection)
  return isGone
}

function discardRows(connection: Connection, keys: readonly number[]): void {
  const list = JSON.stringify(keys)
  const among = 'in (select value from json_each(?))'
  dropBlobsOf(connection, keys)
  connection.run(`delete from undertext_replacements where message ${among}`, list)
  connection.run(`delete from undertext_contents where key ${among}`, list)
  connection.run(`delete from undertext_messages where key ${among}`, list)
}

export function importsInProgress(connection: Connection): ImportInProgress[] {
  return connection.outside('importsInProgress', () => {
    const sql = `select id, staged_by, ifnull(lease_expires, updated_at) from undertext_sessions where staged_by is not null`
    const rows = connection.all(sql) as unknown as [string, string, number][]
    return rows.map(([id, holder, expiresAt]) => ({ id, holder, expiresAt }))
  })
}

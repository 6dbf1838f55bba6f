import { UndertextError } from '../../errors.ts'
import type { Session, Staged, StagedSession, StagedWith } from '../storage.ts'
import { writeAudit } from './audit.ts'
import type { Connection } from './connection.ts'
import { dropBlobsOf } from './content-codec.ts'
import { clearFilesInTurn, dropSession, erase, unguarded } from './residue.ts'
import { insertSession, readSession, requireSession, type StoredSession, updateFields } from './sessions.ts'

/*
 * Sessions on their way into the store. They are written in batches, so that nobody waits long for the write lock, under a name that
 * nobody knows; publishing gives them their own. What is never published was never there: it is taken out without a receipt.
 */

/** Makes a session that no list shows. Throws `SESSION_EXISTS`, also when no incarnation that it may have is free. */
export function stageSession(connection: Connection, staged: StagedSession): StoredSession {
  return connection.write('stageSession', () => {
    const { id, fields, estimator, holder, expiresAt, incarnations } = staged
    refuseTaken(connection, id)
    const incarnation = incarnations?.find((one) => !isIncarnation(connection, one))
    if (incarnations !== undefined && incarnation === undefined)
      throw new UndertextError('SESSION_EXISTS', { sessionId: id })
    const { no } = insertSession(connection, id, fields, estimator)
    connection.run(
      `update undertext_sessions set staged_by = ?, lease_run = id, lease_holder = ?, lease_expires = ?,
         incarnation = ifnull(?, incarnation) where no = ?`,
      holder,
      holder,
      expiresAt,
      incarnation ?? null,
      no,
    )
    return requireSession(connection, id)
  })
}

function isIncarnation(connection: Connection, incarnation: string): boolean {
  return connection.get('select 1 from undertext_sessions where incarnation = ?', incarnation) !== undefined
}

/** Gives a staged session its own name and lists it. Throws `SESSION_EXISTS`, `SESSION_NOT_FOUND` when it is staged no more. */
export function publishSession(
  connection: Connection,
  stagedId: string,
  id: string,
  published: StagedWith,
): Session {
  return connection.write('publishSession', () => {
    const { no } = requireStaged(connection, stagedId)
    refuseTaken(connection, id)
    const { fields, createdAt, updatedAt, audit } = published
    if (fields !== undefined) updateFields(connection, requireSession(connection, stagedId), fields)
    connection.run(
      `update undertext_sessions set id = ?, staged_by = null, lease_run = null, lease_holder = null,
         lease_expires = null, created_at = ifnull(?, created_at),
         updated_at = ifnull(?, updated_at) where no = ?`,
      id,
      createdAt ?? null,
      updatedAt ?? null,
      no,
    )
    if (audit !== undefined) writeAudit(connection, no, audit)
    return requireSession(connection, id)
  })
}

/** Throws `SESSION_NOT_FOUND`. */
export function requireStaged(connection: Connection, id: string): { readonly no: number } {
  const no = stagedNo(connection, id)
  if (no === undefined) throw new UndertextError('SESSION_NOT_FOUND', { sessionId: id })
  return { no }
}

function stagedNo(connection: Connection, id: string): number | undefined {
  const row = connection.get('select no from undertext_sessions where id = ? and staged_by is not null', id)
  return row?.[0] as number | undefined
}

function refuseTaken(connection: Connection, id: string): void {
  if (readSession(connection, id) !== undefined) throw new UndertextError('SESSION_EXISTS', { sessionId: id })
}

/** Takes out some rows of a staged session, newest first; answers whether nothing of it is left. Does nothing for one that is published. */
export function discardStaged(connection: Connection, id: string, rows: number): boolean {
  // Without rows to remove there is nothing to clear from the files.
  if (connection.outside('discardStaged', () => stagedNo(connection, id)) === undefined) return true
  const isGone = erase(connection, 'discardStaged', () => {
    const no = stagedNo(connection, id)
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

/** The sessions that are on their way. */
export function stagedSessions(connection: Connection): Staged[] {
  return connection.outside('stagedSessions', () =>
    connection
      .all(
        'select id, staged_by, ifnull(lease_expires, updated_at) from undertext_sessions where staged_by is not null',
      )
      .map(([id, holder, expiresAt]) => ({
        id: id as string,
        holder: holder as string,
        expiresAt: expiresAt as number,
      })),
  )
}

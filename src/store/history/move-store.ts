import { createHash, type Hash } from 'node:crypto'
import { type ErrorCode, isUndertextError, UndertextError } from '../../core/errors.ts'
import { canonicalJson } from '../../core/messages/json.ts'
import { type HistoryHead, headRecords, isRow } from '../../storage/records/records.ts'
import type {
  Background,
  CopiedSession,
  ExportedHead,
  LongNames,
  Restoring,
  SessionPage,
  Storage,
  StoreRecord,
  StoreTable,
} from '../../storage/storage.ts'
import type { NumberedRecord } from './checked-records.ts'
import { exportedRecords } from './export-session.ts'
import {
  Batch,
  discard,
  discardDead,
  newLease,
  othersFirst,
  staged,
  stagedName,
  underName,
} from './import/staging.ts'
import { ownNames, Renaming } from './renamed.ts'
import { findingsOf, rowsOf, sessionFields, writeAudit, writeCompactions } from './restore-session.ts'

/*
 * A copy of a whole store: each session as export and restore copy it, under its own id and ids, with its jobs. A mark in the copy's store
 * has the digest of what was copied, so that a later run knows whether the copy has changed since.
 */

/** Why a session was not copied, besides the codes of errors. */
export const MOVE_PROBLEMS = [
  /** Another conversation has its id. */
  'OTHER_SESSION',
  /** The copy was changed since, or another program made it. */
  'CHANGED_THERE',
  /** The copy was purged. */
  'PURGED_THERE',
  /** A name is too long for the indexes of PostgreSQL. */
  'NAME_TOO_LONG',
  /** `sessions.verify` finds something in it. */
  'UNSOUND',
  /** The copy is not equal. */
  'MISMATCH',
] as const

/** Why a session was not copied. */
export type MoveCode = (typeof MOVE_PROBLEMS)[number] | ErrorCode

/** A session that was not copied: `code` is one of `MOVE_PROBLEMS` or of an error. Without text of the conversation. */
export type MoveProblem = { readonly sessionId: string; readonly code: MoveCode; readonly detail: string }

/** What became of a session. */
export type MovedSession = {
  readonly sessionId: string
  /** `copied`; `replaced`: an older copy; `unchanged`: it was there; `gone`: it was purged meanwhile. */
  readonly outcome: 'copied' | 'replaced' | 'unchanged' | 'gone' | 'refused'
  readonly messages: number
}

/** What a move did. */
export type MoveReport = {
  /** Sessions that were copied, that replaced older copies, and that were there already. */
  readonly copied: number
  readonly replaced: number
  readonly unchanged: number
  /** Sessions that were not copied, and the first of them with the reason. */
  readonly refused: number
  readonly problems: readonly MoveProblem[]
  /** Messages in the sessions that were copied. */
  readonly messages: number
  /** Rows that were written: calibrations and limits of models, receipts of purges. */
  readonly calibrations: number
  readonly limits: number
  readonly receipts: number
  /** Notes of owners that were written; those of sessions are copied with them. */
  readonly notes: number
}

export type MoveHooks = {
  readonly signal?: AbortSignal | undefined
  /** Called before the first session, with the names that are too long. Their sessions are not copied. */
  readonly onLongNames?: ((names: readonly LongNames[]) => void) | undefined
  /** Called after some messages of a session were copied. */
  readonly onMessages?: ((copied: number) => void) | undefined
  readonly onSession?: ((session: MovedSession) => void) | undefined
}

/** Problems that a report names. */
const MOST_PROBLEMS = 1_000
/** Sessions that are listed together. */
const PAGE = 500

/** See `moveStore` of undertext/transfer. */
export async function moveStorage(from: Storage, to: Storage, hooks: MoveHooks = {}): Promise<MoveReport> {
  await discardDead(to)
  const tooLong = await namesTooLong(from, to)
  hooks.onLongNames?.(tooLong)
  // The first field of each session.
  const refusedNames = new Map(
    tooLong.toReversed().map(({ sessionId, field }) => [sessionId, field] as const),
  )
  const counts = { copied: 0, replaced: 0, unchanged: 0, refused: 0, gone: 0, messages: 0 }
  const problems: MoveProblem[] = []
  for await (const { id, messages } of sessionsOf(from)) {
    refuseAborted(hooks, id)
    const outcome = await moved(id)
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

  async function moved(id: string): Promise<MovedSession['outcome']> {
    try {
      const field = refusedNames.get(id)
      if (field !== undefined) throw new Unmovable('NAME_TOO_LONG', `its ${field} is too long for an index`)
      return await moveSession(from, to, id, hooks)
    } catch (error) {
      if (isUndertextError(error, 'SESSION_NOT_FOUND') && (await from.session(id)) === undefined)
        return 'gone'
      const problem = problemOf(error)
      if (problem === undefined) throw error
      if (problems.length < MOST_PROBLEMS) problems.push({ sessionId: id, ...problem })
      return 'refused'
    }
  }
}

/** The sessions of a store, oldest first: lists show the copies in the same order. */
async function* sessionsOf({ histories }: Storage): AsyncGenerator<SessionPage['sessions'][number]> {
  let after: SessionPage['next']
  do {
    const { sessions, next } = await histories.sessions(after, PAGE)
    yield* sessions
    after = next
  } while (after !== undefined)
}

async function namesTooLong(from: Storage, to: Storage): Promise<LongNames[]> {
  const bytes = await to.histories.mostNameBytes()
  const isAnyPossible = bytes !== undefined && (await from.histories.mostNameBytes()) === undefined
  return isAnyPossible ? from.histories.longNames(bytes) : []
}

/** A session that is not copied. */
class Unmovable extends Error {
  readonly code: (typeof MOVE_PROBLEMS)[number]

  constructor(code: (typeof MOVE_PROBLEMS)[number], detail: string) {
    super(detail)
    this.code = code
  }
}

/** Errors that concern one session; after any other the next would fail too. */
const OF_ONE_SESSION = new Set([
  ...['ESTIMATOR_UNKNOWN', 'HISTORY_REFUSED', 'INVALID_INPUT', 'MESSAGE_ID_TAKEN'],
  ...['SESSION_EXISTS', 'SESSION_NOT_FOUND', 'STORE_CORRUPT'],
])

function problemOf(error: unknown): Omit<MoveProblem, 'sessionId'> | undefined {
  if (error instanceof Unmovable) return { code: error.code, detail: error.message }
  if (!isUndertextError(error) || !OF_ONE_SESSION.has(error.code)) return undefined
  return { code: error.code, detail: error.message }
}

function refuseAborted({ signal }: MoveHooks, sessionId: string): void {
  if (signal?.aborted === true) throw new UndertextError('ABORTED', { sessionId })
}

/** A session at one moment, and the digest of everything but its rows. */
type Standing = {
  readonly exported: ExportedHead
  /** As a copy has it: attempts that run here have no process there. */
  readonly head: HistoryHead
  readonly background: Background
  readonly digest: string
}

async function standingOf({ histories }: Storage, id: string): Promise<Standing> {
  const { exported, background } = await histories.moment(id)
  const head = new Renaming(exported.head, ownNames(exported.head)).head(exported.head, id)
  return { exported, head, background, digest: digestOf(head, background) }
}

function digestOf(head: HistoryHead, background: Background): string {
  const hash = createHash('sha256')
  for (const record of headRecords(head)) add(hash, record)
  add(hash, background)
  return hash.digest('base64url')
}

function add(hash: Hash, record: unknown): void {
  hash.update(canonicalJson(record)).update('\n')
}

/** The mark of a copy. It names no session, because it stays when the copy is purged. */
function markOf({ head: { session } }: Standing): string {
  const name = createHash('sha256').update(session.id).digest('base64url').slice(0, 22)
  return `copied/${session.incarnation}/${name}`
}

async function moveSession(
  from: Storage,
  to: Storage,
  id: string,
  hooks: MoveHooks,
): Promise<MovedSession['outcome']> {
  const ours = await standingOf(from, id)
  const stored = await to.histories.mark(markOf(ours))
  const mark = stored?.replace(NOT_COMPARED, '')
  const there = await to.session(id)
  if (there === undefined) {
    if (mark !== undefined) throw new Unmovable('PURGED_THERE', 'its copy was purged')
    await copySession(from, to, ours, undefined, hooks)
    return 'copied'
  }
  if (there.incarnation !== ours.head.session.incarnation)
    throw new Unmovable('OTHER_SESSION', 'another conversation has its id')
  const theirs = await standingOf(to, id)
  if (theirs.digest === ours.digest) {
    if (stored !== mark) await compareReplaced(from, to, ours, hooks)
    return 'unchanged'
  }
  if (theirs.digest !== mark) throw changedThere()
  await copySession(from, to, ours, theirs.digest, hooks)
  return 'replaced'
}

/** Before the digest in the mark of a copy that replaced another and was not compared yet. */
const NOT_COMPARED = '?'

/** Compares a copy that replaced another, and was not compared or not equal then. */
async function compareReplaced(from: Storage, to: Storage, ours: Standing, hooks: MoveHooks): Promise<void> {
  const { id } = ours.head.session
  await compare(to, id, ours, await digestOfRows(from, ours.exported, hooks), hooks)
  await to.histories.writeMark(markOf(ours), ours.digest)
}

function changedThere(): Unmovable {
  return new Unmovable('CHANGED_THERE', 'its copy was changed since, or was not made by a move')
}

/** Copies a session, and compares the copy. `former` is the digest of the copy that it replaces. */
async function copySession(
  from: Storage,
  to: Storage,
  ours: Standing,
  former: string | undefined,
  hooks: MoveHooks,
): Promise<void> {
  const { head, background } = ours
  const { id, incarnation, estimator } = head.session
  await requireSound(from, head)
  try {
    await staged(to, { fields: sessionFields(head), estimator, incarnation }, async ({ id: importId }) => {
      const firstNo = await to.histories.reserve(importId, head.compactions.length)
      const restoring = { importId, head, firstNo }
      const rows = await copyRows(from, to, ours, restoring, hooks)
      const undoneWith = await writeAudit(to, restoring)
      const mark = { key: markOf(ours), value: ours.digest }
      if (former !== undefined) {
        const unproved = { ...mark, value: NOT_COMPARED + mark.value }
        await replace(to, restoring, { background, mark: unproved, former, undoneWith })
        await compare(to, id, ours, rows, hooks)
        return to.histories.writeMark(mark.key, mark.value)
      }
      // A new one is compared before it can be seen.
      await writeCompactions(to, restoring, undoneWith)
      await compare(to, importId, ours, rows, hooks)
      await to.histories.finishCopy(restoring, { background, mark })
    })
  } catch (error) {
    throw underName(error, id)
  }
}

/** Puts a copy in the place of an older one, which can be seen until then, and removes that. */
async function replace(
  to: Storage,
  restoring: Restoring,
  {
    former,
    undoneWith,
    ...copied
  }: CopiedSession & { readonly former: string; readonly undoneWith: readonly number[] },
): Promise<void> {
  const aside = { id: stagedName(), ...newLease() }
  const isUnchanged = (head: HistoryHead, background: Background): boolean =>
    digestOf(head, background) === former
  const isDone = await to.histories.finishCopy(restoring, {
    ...copied,
    replaced: { aside, isUnchanged, undoneWith },
  })
  if (!isDone) throw changedThere()
  await discard(to, aside.id)
}

/** The most messages of a session that is verified, which takes 1.5 KB of memory for each. A larger one is compared only. */
const MOST_VERIFIED = 200_000

async function requireSound(
  storage: Storage,
  { session }: HistoryHead,
  id: string = session.id,
): Promise<void> {
  if (session.messages > MOST_VERIFIED) return
  const codes = await findingsOf(storage, id)
  if (codes.length > 0)
    throw new Unmovable('UNSOUND', `verifySession finds ${codes.join(', ')} in it; repair it first`)
}

function mismatch(): Unmovable {
  return new Unmovable('MISMATCH', 'the copy is not equal to the original')
}

/** Copies the rows with their replacements; returns their digest. */
async function copyRows(
  from: Storage,
  to: Storage,
  { exported }: Standing,
  restoring: Restoring,
  hooks: MoveHooks,
): Promise<string> {
  const hash = createHash('sha256')
  const batch = new Batch<NumberedRecord>()
  const flush = async (): Promise<void> => {
    refuseAborted(hooks, restoring.head.session.id)
    const rows = rowsOf(batch.take())
    if (rows.length === 0) return
    await to.histories.writeRows(restoring, rows)
    hooks.onMessages?.(rows.filter(({ row }) => row.type === 'message').length)
    await othersFirst()
  }
  for await (const record of exportedRecords(from, exported)) {
    if (!isRow(record) && record.type !== 'replacement') continue
    if (record.type !== 'replacement' && batch.isFull) await flush()
    add(hash, record)
    batch.add({ line: 0, record })
  }
  await flush()
  return hash.digest('base64url')
}

async function digestOfRows(storage: Storage, exported: ExportedHead, hooks: MoveHooks): Promise<string> {
  const hash = createHash('sha256')
  for await (const record of exportedRecords(storage, exported)) {
    refuseAborted(hooks, exported.head.session.id)
    if (isRow(record) || record.type === 'replacement') add(hash, record)
  }
  return hash.digest('base64url')
}

/**
 * Reads a copy again and compares it with the digest of its rows and with the head. Throws `MISMATCH`, `UNSOUND`, and `CHANGED_THERE` for
 * one that others have changed meanwhile.
 */
async function compare(
  to: Storage,
  name: string,
  { head }: Standing,
  rows: string,
  hooks: MoveHooks,
): Promise<void> {
  const exported = await to.histories.head(name)
  if (name === head.session.id && exported.head.session.version !== head.session.version) throw changedThere()
  const found = await digestOfRows(to, exported, hooks)
  const { id, createdAt, updatedAt } = head.session
  // An import gets these with its name.
  const session = { ...exported.head.session, id, createdAt, updatedAt }
  const copy = canonicalJson({ ...exported.head, session })
  if (found !== rows || copy !== canonicalJson(head)) throw mismatch()
  await requireSound(to, head, name)
}

/** Copies the rows of a table that belong to no session; returns how many were written. */
async function copyRecords(from: Storage, to: Storage, table: StoreTable): Promise<number> {
  let written = 0
  let after: readonly number[] | undefined
  const most = (await to.histories.mostNameBytes()) ?? Number.POSITIVE_INFINITY
  do {
    const { records, next } = await from.histories.storeRecords(table, after)
    // What was learned of a model with a longer name than an index holds is learned again.
    const isLearned = table === 'calibrations' || table === 'limits'
    const fitting = isLearned ? records.filter((record) => bytesOf(record) <= most) : records
    if (fitting.length > 0) written += await to.histories.writeStoreRecords(table, fitting)
    after = next
  } while (after !== undefined)
  return written
}

/** The bytes of the texts of a record, which are its key. */
function bytesOf(record: StoreRecord): number {
  return Buffer.byteLength(
    Object.values(record)
      .filter((value) => typeof value === 'string')
      .join(''),
  )
}

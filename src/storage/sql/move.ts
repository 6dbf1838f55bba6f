import { MAX_NAME_BYTES } from '../../core/messages/check.ts'
import type { CopiedSession, SessionPage, StoreRecord, StoreRecords, StoreTable } from '../storage.ts'
import { insertInto, NOTE } from './columns.ts'
import { purgedNotes } from './notes.ts'
import type { Sql } from './sql.ts'
import type { Work } from './work.ts'

/* Parts of a copy of a whole store, in addition to export and restore: the sessions in order, marks, and rows that belong to no session. */

/** Returns the sessions after a place, including archived ones, oldest first. */
export function* readSessions(
  sql: Sql,
  after: readonly number[] | undefined,
  limit: number,
): Work<SessionPage> {
  return yield* sql.outside('moveStore', function* () {
    const isLater = after === undefined ? '' : `and {age} > (${after.map(() => '?').join(', ')})`
    const rows = yield* sql.all(
      `select id, messages, owner, {ages} from undertext_sessions where {seen} staged_by is null ${isLater} order by {ages} limit ?`,
      ...(after ?? []),
      limit,
    )
    const sessions = rows.map(([id, messages, owner]) => ({
      ...{ id: id as string, messages: messages as number, owner: owner as string | null },
    }))
    return { sessions, next: rows.length < limit ? undefined : (rows.at(-1)!.slice(3) as number[]) }
  })
}

const WRITE_MARK =
  'insert into undertext_meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value'

export function* readMark(sql: Sql, key: string): Work<string | undefined> {
  return yield* sql.outside('moveStore', function* () {
    const row = yield* sql.get('select value from undertext_meta where key = ?', key)
    return row?.[0] as string | undefined
  })
}

export function* writeMark(sql: Sql, key: string, value: string): Work<void> {
  yield* sql.write('moveStore', () => setMark(sql, { key, value }))
}

/** Like `writeMark`, within the caller's transaction. */
export function* setMark(sql: Sql, { key, value }: CopiedSession['mark']): Work<void> {
  yield* sql.run(WRITE_MARK, key, value)
}

/** The calibrations and limits of models, by key. The later value is kept. */
const LEARNED = {
  calibrations: {
    key: ['provider', 'model', 'estimator'],
    values: [
      ...['grown_samples', 'grown_measured', 'grown_estimated', 'whole_samples', 'whole_measured'],
      ...['whole_estimated', 'at'],
    ],
  },
  limits: { key: ['provider', 'model', 'kind'], values: ['tokens', 'at'] },
} as const
const RECEIPT = ['event', 'run', 'at', 'actor', 'detail'] as const
const MAX_RECEIPTS = 500

export function* readStoreRecords(
  sql: Sql,
  table: StoreTable,
  after: readonly number[] | undefined,
): Work<StoreRecords> {
  return yield* sql.outside('moveStore', function* (): Work<StoreRecords> {
    if (table === 'notes') return yield* readOwnersNotes(sql, after?.[0] ?? 0)
    // What was learned of models, and receipts, belong to no owner.
    if (sql.seen !== undefined) return { records: [], next: undefined }
    if (table !== 'receipts') {
      const { key, values } = LEARNED[table]
      const names = [...key, ...values]
      const rows = yield* sql.all(
        `select ${names.join(', ')} from undertext_${table} order by ${key.join(', ')}`,
      )
      return { records: rows.map((row) => recordOf(names, row)), next: undefined }
    }
    const isLater = after === undefined ? '' : 'and (at, no) > (?, ?)'
    const rows = yield* sql.all(
      `select ${RECEIPT.join(', ')}, no from undertext_audit where session = 0 ${isLater} order by at, no limit ?`,
      ...(after ?? []),
      MAX_RECEIPTS,
    )
    const records = rows.map((row) => recordOf(RECEIPT, row))
    const last = rows.length < MAX_RECEIPTS ? undefined : rows.at(-1)!
    return { records, next: last && [last[2] as number, last[5] as number] }
  })
}

/** The place of a page is the number of notes before it, which is fast enough because there are few notes. */
function* readOwnersNotes(sql: Sql, from: number): Work<StoreRecords> {
  const names = ['owner', ...NOTE.names]
  const rows = yield* sql.all(
    `select ${names.join(', ')} from undertext_notes where session = 0 ${sql.seen === undefined ? '' : 'and owner = ?'}
     order by owner, no limit ? offset ?`,
    ...(sql.seen === undefined ? [] : [sql.seen]),
    MAX_RECEIPTS,
    from,
  )
  const next = rows.length < MAX_RECEIPTS ? undefined : [from + rows.length]
  return { records: rows.map((row) => recordOf(names, row)), next }
}

const INSERT_NOTE = insertInto('undertext_notes', ['session', 'owner', ...NOTE.names])

/**
 * Adds notes that are missing and weren't purged in the target, and updates the state of the others. If the owner already has notes there,
 * the added ones follow them, and the existing ones remain current.
 */
function* addNotes(sql: Sql, records: readonly StoreRecord[]): Work<number> {
  const purged = yield* purgedNotes(sql)
  let written = 0
  for (const record of records) {
    if (purged.has(record.id as string)) continue
    const { owner, id, key, replaced_by: replacedBy, forgotten_at: forgottenAt } = record
    const ofOwner = '{family} session = 0 and owner = ?'
    yield* sql.enterOwner(owner as string)
    const changed = yield* sql.change(
      `update undertext_notes set replaced_by = coalesce(replaced_by, ?), forgotten_at = coalesce(forgotten_at, ?)
       where ${ofOwner} and id = ? and (coalesce(replaced_by, 0) <> coalesce(?, replaced_by, 0)
         or coalesce(forgotten_at, 0) <> coalesce(?, forgotten_at, 0))`,
      ...[replacedBy, forgottenAt, owner, id, replacedBy, forgottenAt],
    )
    written += changed
    const known = yield* sql.get(`select 1 from undertext_notes where ${ofOwner} and id = ?`, owner, id)
    if (known !== undefined) continue
    const last = (yield* sql.get(
      `select coalesce(max(no), 0) from undertext_notes where ${ofOwner}`,
      owner,
    ))![0] as number
    const no = Math.max(last + 1, record.no as number)
    const rival =
      key === null
        ? undefined
        : yield* sql.get(
            `select no from undertext_notes where ${ofOwner} and key = ? and replaced_by is null and forgotten_at is null`,
            ...[owner, key],
          )
    const copy = { ...record, no, replaced_by: replacedBy ?? rival?.[0] ?? null }
    yield* sql.run(INSERT_NOTE, 0, owner, ...NOTE.names.map((name) => copy[name as keyof typeof copy]))
    written += 1
  }
  return written
}

function recordOf(names: readonly string[], row: readonly unknown[]): StoreRecord {
  return Object.fromEntries(names.map((name, at) => [name, row[at] as string | number | null]))
}

export function* writeStoreRecords(
  sql: Sql,
  table: StoreTable,
  records: readonly StoreRecord[],
): Work<number> {
  return yield* sql.write('moveStore', function* () {
    if (table === 'notes') return yield* addNotes(sql, records)
    return table === 'receipts' ? yield* addReceipts(sql, records) : yield* keepLater(sql, table, records)
  })
}

function* keepLater(sql: Sql, table: keyof typeof LEARNED, records: readonly StoreRecord[]): Work<number> {
  const { key, values } = LEARNED[table]
  const names = [...key, ...values]
  // If the name of a model is too long for an index of PostgreSQL, its calibration and limits are learned again.
  const fits = (record: StoreRecord): boolean =>
    !sql.isShared || Buffer.byteLength(key.map((name) => record[name]).join('')) <= MAX_NAME_BYTES
  let written = 0
  for (const record of records.filter(fits))
    written += yield* sql.change(
      `insert into undertext_${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})
       on conflict (${key.join(', ')}) do update set ${values.map((name) => `${name} = excluded.${name}`).join(', ')}
       where excluded.at > undertext_${table}.at`,
      ...names.map((name) => record[name]),
    )
  return written
}

/** A receipt has no key that two stores share, so it is recognized by its fields. */
function* addReceipts(sql: Sql, records: readonly StoreRecord[]): Work<number> {
  const nameOf = (record: StoreRecord): string => JSON.stringify(RECEIPT.map((name) => record[name]))
  const times = JSON.stringify([...new Set(records.map(({ at }) => at))])
  const there = yield* sql.all(
    `select ${RECEIPT.join(', ')} from undertext_audit where session = 0 and at in (select value from {list ?} k)`,
    times,
  )
  const known = new Set(there.map((row) => nameOf(recordOf(RECEIPT, row))))
  const missing = records.filter((record) => !known.has(nameOf(record)))
  // A receipt belongs to no session, so in PostgreSQL it has its own family.
  const isAlone = sql.isShared
  const columns = [...(isAlone ? ['family'] : []), 'no', 'session', ...RECEIPT]
  const insert = `insert into undertext_audit (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
  for (const record of missing) {
    const no = yield* sql.nextNo('undertext_audit', 0)
    const family = isAlone ? [Math.abs(no as number)] : []
    yield* sql.run(insert, ...family, no, 0, ...RECEIPT.map((name) => record[name]))
  }
  return missing.length
}

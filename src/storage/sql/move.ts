import { MAX_NAME_BYTES } from '../../core/messages/check.ts'
import type {
  Background,
  CircuitRecord,
  CopiedSession,
  ExportedHead,
  JobRecord,
  LongNames,
  Restoring,
  SessionPage,
  StoreRecord,
  StoreRecords,
  StoreTable,
} from '../storage.ts'
import { CIRCUIT, insertInto, JOB, NOTE, type References } from './columns.ts'
import { readHead } from './export.ts'
import { publish, requireImport, setAside } from './imports.ts'
import { purgedNotes } from './notes.ts'
import { countImport, insertCompactions, writeSettled } from './restore.ts'
import { requireHead } from './sessions.ts'
import type { Sql } from './sql.ts'
import { Done, type Work } from './work.ts'

/* What a copy of a whole store needs beside export and restore: the sessions in order, their background, and rows of no session. */

/** The sessions after a place, archived ones too, oldest first. */
export function* readSessions(
  sql: Sql,
  after: readonly number[] | undefined,
  limit: number,
): Work<SessionPage> {
  return yield* sql.outside('moveStore', function* () {
    const isLater = after === undefined ? '' : `and {age} > (${after.map(() => '?').join(', ')})`
    const rows = yield* sql.all(
      `select id, estimator, messages, {ages} from undertext_sessions where staged_by is null ${isLater} order by {ages} limit ?`,
      ...(after ?? []),
      limit,
    )
    const sessions = rows.map(([id, estimator, messages]) => ({
      id: id as string,
      estimator: estimator as string,
      messages: messages as number,
    }))
    return { sessions, next: rows.length < limit ? undefined : (rows.at(-1)!.slice(3) as number[]) }
  })
}

const NO_REFERENCES: References = { ids: new Map(), numbers: new Map() }

/** A session with its jobs and its circuit. Throws `SESSION_NOT_FOUND`. */
export function* readMoment(
  sql: Sql,
  id: string,
): Work<{ readonly exported: ExportedHead; readonly background: Background }> {
  return yield* sql.read('moveStore', function* () {
    return { exported: yield* readHead(sql, id), background: yield* backgroundOf(sql, id) }
  })
}

function* backgroundOf(sql: Sql, id: string): Work<Background> {
  const { no } = yield* requireHead(sql, id)
  const jobs = yield* sql.all(
    `select ${JOB.names.join(', ')} from undertext_jobs where {family} session = ? order by no`,
    no,
  )
  const circuit = yield* sql.get(
    `select ${CIRCUIT.names.join(', ')} from undertext_circuits where {family} session = ?`,
    no,
  )
  return {
    jobs: jobs.map((row) => {
      const job = JOB.read(row, 0, 'job', NO_REFERENCES) as JobRecord
      return job.state === 'running' ? { ...job, state: 'queued' } : job
    }),
    circuit: circuit && (CIRCUIT.read(circuit, 0, 'circuit', NO_REFERENCES) as CircuitRecord),
  }
}

const INSERT_JOB = insertInto('undertext_jobs', ['no', 'session', ...JOB.names])
const INSERT_CIRCUIT = insertInto('undertext_circuits', ['session', ...CIRCUIT.names])
const WRITE_MARK =
  'insert into undertext_meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value'

/** Names a copied session and lists it; with `replaced` in place of its predecessor, unless that has changed. */
export function* finishCopy(sql: Sql, restoring: Restoring, copied: CopiedSession): Work<boolean> {
  const { background, mark, replaced } = copied
  const { importId, head } = restoring
  const { id, createdAt, updatedAt } = head.session
  const finish = function* (): Work<boolean> {
    if (replaced !== undefined) {
      const { head: found } = yield* readHead(sql, id)
      if (!replaced.isUnchanged(found, yield* backgroundOf(sql, id))) return false
      yield* setAside(sql, id, replaced.aside)
      yield* insertCompactions(sql, restoring, 0, head.compactions, replaced.undoneWith)
      yield* writeSettled(sql, restoring, yield* countImport(sql, restoring))
    }
    const { no } = yield* requireImport(sql, importId)
    for (const job of background.jobs) {
      const key = yield* sql.nextNo('undertext_jobs', no)
      yield* sql.insert(INSERT_JOB, key, no, ...JOB.write(job, NO_REFERENCES))
    }
    if (background.circuit !== undefined)
      yield* sql.run(INSERT_CIRCUIT, no, ...CIRCUIT.write(background.circuit, NO_REFERENCES))
    yield* publish(sql, importId, id, { createdAt, updatedAt })
    yield* sql.run(WRITE_MARK, mark.key, mark.value)
    return true
  }
  return yield* replaced === undefined ? sql.write('moveStore', finish) : sql.erase('moveStore', finish)
}

export function* readMark(sql: Sql, key: string): Work<string | undefined> {
  return yield* sql.outside('moveStore', function* () {
    const row = yield* sql.get('select value from undertext_meta where key = ?', key)
    return row?.[0] as string | undefined
  })
}

export function* writeMark(sql: Sql, key: string, value: string): Work<void> {
  yield* sql.write('moveStore', function* () {
    yield* sql.run(WRITE_MARK, key, value)
  })
}

export function* mostNameBytes(sql: Sql): Work<number | undefined> {
  return yield* new Done(sql.isShared ? MAX_NAME_BYTES : undefined)
}

/** The columns with names: what they are called, their table, and the texts that an index holds together. */
const NAMES: readonly (readonly [field: string, table: string, columns: readonly string[]])[] = [
  ['message id', 'messages', ['id']],
  ['idempotency key', 'messages', ['idempotency_key']],
  ['compaction id', 'compactions', ['id']],
  ['run id', 'compactions', ['run']],
  ['operation id', 'operations', ['id']],
  ['note key', 'notes', ['key']],
  ['provider and model', 'usage', ['provider', 'model']],
  ['provider and model', 'measurements', ['provider', 'model']],
]

const MOST_NAMED = 1_000

/** Names with more bytes, by session and field. */
export function* readLongNames(sql: Sql, bytes: number): Work<LongNames[]> {
  return yield* sql.read('moveStore', function* () {
    const found: LongNames[] = []
    const add = (rows: readonly (readonly unknown[])[], field: string): void => {
      for (const [id, count] of rows)
        found.push({ sessionId: id as string, field, count: (count ?? 1) as number })
    }
    for (const [field, column] of [
      ['session id', 'id'],
      ['owner', 'owner'],
    ] as const) {
      const where = `staged_by is null and octet_length(${column}) > ?`
      add(
        yield* sql.all(
          `select id from undertext_sessions where ${where} order by {ages} limit ${MOST_NAMED}`,
          bytes,
        ),
        field,
      )
    }
    for (const [field, table, columns] of NAMES) {
      const size = columns.map((column) => `octet_length(n.${column})`).join(' + ')
      const rows = yield* sql.all(
        `select s.id, count(*) from undertext_${table} n join undertext_sessions s on {same s n} s.no = n.session
         where ${size} > ? and s.staged_by is null group by s.id order by s.id limit ${MOST_NAMED}`,
        bytes,
      )
      add(rows, field)
    }
    return found
  })
}

/** What was learned of a model, by its key; the later one is right. */
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
/** The most receipts that are read together. */
const MOST_RECEIPTS = 500

export function* readStoreRecords(
  sql: Sql,
  table: StoreTable,
  after: readonly number[] | undefined,
): Work<StoreRecords> {
  return yield* sql.outside('moveStore', function* (): Work<StoreRecords> {
    if (table === 'notes') return yield* readOwnersNotes(sql, after?.[0] ?? 0)
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
      MOST_RECEIPTS,
    )
    const records = rows.map((row) => recordOf(RECEIPT, row))
    const last = rows.length < MOST_RECEIPTS ? undefined : rows.at(-1)!
    return { records, next: last && [last[2] as number, last[5] as number] }
  })
}

/** Notes are few: the place of a page is the number of those before it. */
function* readOwnersNotes(sql: Sql, from: number): Work<StoreRecords> {
  const names = ['owner', ...NOTE.names]
  const rows = yield* sql.all(
    `select ${names.join(', ')} from undertext_notes where session = 0 order by owner, no limit ? offset ?`,
    MOST_RECEIPTS,
    from,
  )
  const next = rows.length < MOST_RECEIPTS ? undefined : [from + rows.length]
  return { records: rows.map((row) => recordOf(names, row)), next }
}

const INSERT_NOTE = insertInto('undertext_notes', ['session', 'owner', ...NOTE.names])

/**
 * Adds notes that are not there and were not purged there, and what became of the others. Where the owner has notes of its own already, they follow those, and the
 * own ones stay the current ones of their keys.
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
  let written = 0
  for (const record of records)
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
  // It belongs to no session, so in PostgreSQL it is a family of its own.
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

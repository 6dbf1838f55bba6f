import type { Erasure, OwnedCounts, Receipt } from '../storage.ts'
import { AUDIT_COLUMNS, writeAudit } from './audit.ts'
import { NOTE_COLUMNS } from './columns.ts'
import { erasing, outside, type Sql } from './sql.ts'
import type { Work } from './work.ts'

/* What is left of an owner after the sessions are purged: notes, and the owner's name in what was done to sessions of others. */

/** Counts what belongs to the owner of this store. */
export const countOwned = outside('privacy.eraseOwner', function* (sql: Sql): Work<OwnedCounts> {
  const count = function* (text: string, ...values: unknown[]): Work<number> {
    return Number((yield* sql.get(text, ...values))![0])
  }
  const inSessions = (table: string): string =>
    `select count(*) from undertext_${table} t join undertext_sessions s on {same s t} s.no = t.session where {seen s} true`
  const [sessions, messages] = (yield* sql.get(
    'select count(*), cast(coalesce(sum(messages), 0) as bigint) from undertext_sessions where {seen} true',
  )) as unknown as [number, number]
  return {
    ...{ sessions: Number(sessions), messages: Number(messages) },
    compactions: yield* count(inSessions('compactions')),
    requests: yield* count(inSessions('requests')),
    jobs: yield* count(inSessions('jobs')),
    notes: yield* count('select count(*) from undertext_notes where session = 0 and owner = ?', sql.seen),
    auditEntries: yield* count('select count(*) from undertext_audit where actor = ?', sql.seen),
    keptForks: yield* count(
      `select count(*) from undertext_sessions f join undertext_sessions s on {same s f} s.no = f.forked_from
       where {seen s} f.owner is distinct from s.owner`,
    ),
  }
})

/** Without this key, which stays in the store, nobody can find out whether a mark is that of a name. */
export function* keepKey(sql: Sql, fresh: string): Work<string> {
  return yield* sql.write('privacy.eraseOwner', function* () {
    // Not an upsert: on PostgreSQL, the role of an application may insert only.
    yield* sql.change(
      "insert into undertext_meta (key, value) values ('owner-key', ?) on conflict (key) do nothing",
      fresh,
    )
    const row = yield* sql.get("select value from undertext_meta where key = 'owner-key'")
    return row![0] as string
  })
}

/** Removes the owner's notes, replaces the owner's name elsewhere with a mark, writes the receipt, and clears the files. */
export function* eraseRest(sql: Sql, receipt: Receipt): Work<Erasure> {
  const erased = yield* eraseNames(sql, receipt)
  const isCleared = yield* sql.clearFiles()
  return { ...erased, ...(!isCleared && { filesCleared: false as const }) }
}

const eraseNames = erasing('privacy.eraseOwner', function* (sql: Sql, receipt: Receipt): Work<Erasure> {
  const { mark, actor, counts } = receipt
  const owner = sql.seen as string
  return yield* sql.unguarded('owner', function* () {
    yield* sql.enterOwner(owner)
    const notes = yield* sql.change(
      'delete from undertext_notes where {family} session = 0 and owner = ?',
      owner,
    )
    const auditEntries = yield* renameActor(sql, 'audit', AUDIT_COLUMNS, ['no'], owner, mark)
    yield* renameActor(sql, 'notes', NOTE_COLUMNS, ['session', 'owner', 'no'], owner, mark)
    yield* sql.change('update undertext_compactions set actor = ? where actor = ?', mark, owner)
    const detail = { owner: mark, ...counts, notes, auditEntries }
    yield* writeAudit(sql, 0, { event: 'owner erased', actor: actor === owner ? mark : actor, detail })
    return { notes, auditEntries }
  })
})

/** Rows that are written once are removed and inserted again, within `unguarded`; returns their number. */
function* renameActor(
  sql: Sql,
  table: 'audit' | 'notes',
  columns: readonly string[],
  key: readonly string[],
  owner: string,
  mark: string,
): Work<number> {
  const family = sql.isShared ? ['family'] : []
  const names = [...family, ...columns]
  const rows = yield* sql.all(`select ${names.join(', ')} from undertext_${table} where actor = ?`, owner)
  const those = [...family, ...key]
  for (const row of rows) {
    const fieldOf = (name: string): unknown => row[names.indexOf(name)]
    yield* sql.run(
      `delete from undertext_${table} where ${those.map((name) => `${name} = ?`).join(' and ')}`,
      ...those.map(fieldOf),
    )
    yield* sql.run(
      `insert into undertext_${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
      ...names.map((name) => (name === 'actor' ? mark : fieldOf(name))),
    )
  }
  return rows.length
}

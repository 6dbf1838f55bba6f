import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'

/*
 * The cost of undo, redo and one compaction's record does not grow with the compactions a session ever had: no statement goes
 * through all compactions of a session, all its rows, or all its audit.
 */

/** Ways to look at a table that grow with a session, or with the store. */
const GROWING: readonly RegExp[] = [
  /SCAN \S*(?<!k|json_each)$/,
  /undertext_compactions_session \(session=\?\)/,
  /undertext_audit_session \(session=\?\)/,
  /USING (?:COVERING )?INDEX undertext_log \(session=\?\)$/,
]

it('asks the indexes of spans, ids and inserted rows', async () => {
  const database = new Database(':memory:')
  database.pragma('foreign_keys = on')
  const store = await openStore(database)
  const said = Array.from({ length: 40 }, (_, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `message ${at} `.repeat(40),
  }))
  await store.append('s', said)
  const inner = await store.compactSession('s', { range: { from: 1, to: 6 }, summary: 'inner' })
  await store.compactSession('s', { range: { from: 1, to: 10 }, summary: 'outer' })
  const statements = new Set<string>()
  const prepare = database.prepare.bind(database)
  // A store of its own, so that every statement is prepared again.
  database.prepare = ((sql: string) => {
    statements.add(sql)
    return prepare(sql)
  }) as typeof database.prepare
  const other = await openStore(database)
  const begin = statements.size
  const runId = inner!.runId!
  const { id } = inner!.compactions[0]!
  await other.undoCompaction('s', runId, { cascade: true })
  await other.redoCompaction('s', runId)
  await other.undoCompaction('s', id, { cascade: true })
  await other.redoCompaction('s', id)
  await other.compactions.get('s', id)
  const verbs = [...statements].slice(begin).filter((sql) => /^\s*(?:select|update|insert|with)/i.test(sql))
  expect(verbs.length).toBeGreaterThan(8)
  for (const sql of verbs) {
    const plan = prepare(`explain query plan ${sql}`).all(
      ...Array.from({ length: sql.split('?').length - 1 }, () => 1),
    ) as { readonly detail: string }[]
    const growing = plan.filter(({ detail }) => GROWING.some((pattern) => pattern.test(detail)))
    expect({ sql, growing }).toEqual({ sql, growing: [] })
  }
})

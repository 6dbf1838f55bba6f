import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { CANARY, expectFailure, failureOf } from '../support/failures.ts'
import { newFolder } from '../support/temporary.ts'
import { CODES } from './damage.ts'
import { outcomeOf } from './fill.ts'
import { type Furnished, furnish, READS, WRITES } from './verbs.ts'

/* What random damage found, one case each: rows and tables that are there, and not as they must be. */

let database: Database
let store: Store
let furnished: Furnished
beforeEach(async () => {
  database = new BetterSqlite3(':memory:')
  store = await openStore(database)
  furnished = await furnish(store)
})
afterEach(() => database.close())

/** Runs SQL with the guards out of the way, as a failing disk does. */
function damage(sql: string): void {
  const triggers = database.prepare("select name, sql from sqlite_master where type = 'trigger'").all()
  for (const { name } of triggers as { name: string }[]) database.exec(`drop trigger ${name}`)
  database.exec(sql)
  for (const { sql: trigger } of triggers as { sql: string }[]) database.exec(trigger)
}

describe('a part that lacks what its type needs', () => {
  const PARTS: Record<string, unknown> = {
    'a text': { type: 'text', texu: CANARY },
    'a reasoning': { type: 'reasoning', text: 5 },
    'an image': { type: 'image' },
    'a file': { type: 'file', data: CANARY },
    'a call': { type: 'tool-call', toolCallId: 'c', toolName: CANARY },
    'a result': { type: 'tool-result', toolCallId: 'c', output: CANARY },
    'a result of texts': {
      type: 'tool-result',
      toolCallId: 'c',
      output: { type: 'content', value: [{ type: 'text' }] },
    },
    'a type nobody knows': { type: 'texu', text: CANARY },
  }
  for (const [name, part] of Object.entries(PARTS)) {
    test(`${name}: readers receive an error, and sessions.verify finds it`, async () => {
      const content = JSON.stringify([part]).replaceAll("'", "''")
      damage(`update undertext_contents set content = '${content}'
        where key = (select max(key) from undertext_messages where session = 1 and position is not null)`)
      for (const verb of ['getMessages', 'getEffectiveHistory', 'renderHistory'])
        expectFailure(await failureOf(() => READS[verb]!(store, furnished)), 'STORE_CORRUPT', verb)
      const { findings } = await store.sessions.verify('s')
      expect(findings.map(({ code }) => code)).toContain('CONTENT_DAMAGED')
      expect(JSON.stringify(findings)).not.toContain(CANARY)
    })
  }
})

describe('a row of no role or kind', () => {
  for (const column of ['role', 'kind']) {
    test(`${column}: is not shown as if it had one`, async () => {
      damage(`update undertext_messages set ${column} = 9 where key = 1`)
      for (const verb of ['getMessages', 'getEffectiveHistory', 'renderHistory'])
        expectFailure(await failureOf(() => READS[verb]!(store, furnished)), 'STORE_CORRUPT', verb)
    })
  }
})

describe('a value of another kind', () => {
  const VALUES: Record<string, { sql: string; verb: string }> = {
    'a name that is bytes': {
      sql: "update undertext_sessions set owner = x'41' where no = 1",
      verb: 'getSession',
    },
    'a counter that is text': {
      sql: "update undertext_sessions set visible = 'x' where no = 1",
      verb: 'getContextStats',
    },
    'a trigger that is bytes': {
      sql: "update undertext_compactions set trigger = x'41'",
      verb: 'listCompactions',
    },
    'a list of required parts that is a number': {
      sql: "update undertext_compactions set requires = '5'",
      verb: 'listCompactions',
    },
    'a list of replacements that is a number': {
      sql: "update undertext_messages set shown = '5' where shown is not null",
      verb: 'getEffectiveHistory',
    },
    'an index of calls that is a number': {
      sql: "update undertext_messages set tools = '5' where tools is not null",
      verb: 'previewCompaction',
    },
    'an image that is text': { sql: "update undertext_blobs set bytes = 'x'", verb: 'getMessages' },
  }
  for (const [name, { sql, verb }] of Object.entries(VALUES)) {
    test(name, async () => {
      damage(sql)
      expectFailure(await failureOf(() => READS[verb]!(store, furnished)), 'STORE_CORRUPT')
    })
  }

  test('an image that is text is found as one that is gone', async () => {
    damage("update undertext_blobs set bytes = 'x'")
    const { findings } = await store.sessions.verify('s')
    expect(new Set(findings.map(({ code }) => code))).toEqual(new Set(['BLOB_MISSING']))
  })
})

test('a table whose name was overwritten by conversation text is not named', async () => {
  const file = join(newFolder(), 'chats.db')
  const own = await openStore(file)
  await furnish(own)
  await own.close()
  const bytes = readFileSync(file)
  // The name alone, once: SQLite finds its schema malformed and says whose entry it is.
  const name = 'undertext_replacements_message'
  const at = bytes.indexOf(name)
  bytes.write(`${CANARY}-and-more-of-it`.slice(0, name.length), at)
  writeFileSync(file, bytes)
  expectFailure(await failureOf(() => openStore(file)), 'STORE_CORRUPT')
})

describe('a table that is not as it was made', () => {
  // A missing column looks like a mistake in a statement; a missing table or index of ours does not.
  const CHANGES = [
    ['alter table undertext_messages rename column tools to toolt', 'INTERNAL_ERROR'],
    ['alter table undertext_sessions rename column visible to visibld', 'INTERNAL_ERROR'],
    ['alter table undertext_contents rename to undertext_contentt', 'STORE_CORRUPT'],
    ['drop index undertext_visible', 'STORE_CORRUPT'],
    ['drop table undertext_audit', 'STORE_CORRUPT'],
  ] as const
  for (const [sql, code] of CHANGES) {
    test(`${sql}: every method reports it`, async () => {
      for (const trigger of database
        .prepare("select name from sqlite_master where type = 'trigger'")
        .pluck()
        .all())
        database.exec(`drop trigger ${trigger}`)
      database.exec(sql)
      store = await openStore(database).catch(() => store)
      const outcomes: string[] = []
      for (const act of [...Object.values(READS), ...Object.values(WRITES)])
        outcomes.push(await outcomeOf(() => act(store, furnished)))
      expect(outcomes.filter((outcome) => outcome !== 'done' && !CODES.includes(outcome))).toEqual([])
      expect(outcomes).toContain(code)
    })
  }
})

import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'
import { beforeEach, describe, expect, it } from 'vitest'
import { neurolinkEstimator } from '../../src/core/tokens/index.ts'
import { isUndertextError, openStore, type Store } from '../../src/index.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'

/** The triggers that keep the history: a store without one of them is refused. */
const GUARDS = [
  'undertext_messages_are_written_once',
  'undertext_messages_are_not_replaced',
  'undertext_messages_are_kept',
  'undertext_contents_are_written_once',
  'undertext_contents_are_not_replaced',
  'undertext_contents_are_kept',
  'undertext_compactions_cover_what_they_cover',
  'undertext_compactions_are_kept',
  'undertext_replacements_are_written_once',
  'undertext_replacements_are_not_replaced',
  'undertext_replacements_are_kept',
  'undertext_blobs_are_written_once',
  'undertext_blobs_are_not_replaced',
  'undertext_blobs_are_kept',
  'undertext_audit_is_not_replaced',
  'undertext_audit_is_append_only',
  'undertext_audit_is_kept',
  'undertext_sources_are_written_once',
  'undertext_notes_are_written_once',
  'undertext_notes_are_not_replaced',
  'undertext_notes_are_kept',
  'undertext_requests_are_written_once',
  'undertext_requests_are_not_replaced',
  'undertext_requests_are_kept',
]

const Database = createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite3
const SECRET = 'my sister is called Ada'

let database: BetterSqlite3.Database
let store: Store

beforeEach(async () => {
  // A connection handed in: recursive_triggers is off there.
  database = new Database(':memory:')
  store = await openStore(database)
  await store.append('s', [
    { ...say('user', SECRET), metadata: { secret: SECRET } },
    call('a', 'run'),
    result('a', units(200)),
    { role: 'user', content: [{ type: 'image', image: 'A'.repeat(8_192) }] },
    ...chat(4),
  ])
  await store.compactSession('s', {
    enableDeduplicate: false,
    enableSummarize: false,
    enableTruncate: false,
    targetTokens: 0,
    pruneProtectTokens: 0,
    pruneMinimumSavings: 0,
  })
})

/** Runs SQL with a guard out of the way, as a failing disk does. */
function damage(sql: string): void {
  const triggers = database.prepare("select name, sql from sqlite_master where type = 'trigger'").all()
  for (const { name } of triggers as { name: string }[]) database.exec(`drop trigger ${name}`)
  database.exec(sql)
  for (const { sql: trigger } of triggers as { sql: string }[]) database.exec(trigger)
}

async function failureOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => new Error('works'),
    (error: Error) => error,
  )
}

describe('damaged rows', () => {
  const broken = `'{"${SECRET}'`
  const DAMAGES: readonly (readonly [string, string])[] = [
    ['content', `update undertext_contents set content = ${broken} where key = 1`],
    ['content of another shape', `update undertext_contents set content = '[null]' where key = 1`],
    ['metadata', `update undertext_contents set metadata = ${broken} where key = 1`],
    ['metadata of another shape', `update undertext_contents set metadata = '7' where key = 1`],
    ['list of blobs', `update undertext_contents set blobs = ${broken} where key = 4`],
    ['replacement', `update undertext_replacements set text = ${broken}`],
  ]
  for (const [name, sql] of DAMAGES) {
    it(`are found and quote nothing: ${name}`, async () => {
      damage(sql)
      const error = await failureOf(store.getEffectiveHistory('s'))
      expect(isUndertextError(error, 'STORE_CORRUPT'), String(error)).toBe(true)
      expect(String(error)).not.toContain('sister')
      expect(error.cause).toBeUndefined()
      if (name !== 'replacement')
        expect(await failureOf(store.getMessages('s'))).toMatchObject({ code: 'STORE_CORRUPT' })

      for (const repair of [false, true]) {
        const { findings } = await store.sessions.verify('s', { repair })
        expect(findings).toMatchObject([{ code: 'CONTENT_DAMAGED', repairable: false }])
        expect(JSON.stringify(findings)).not.toContain('sister')
      }
    })
  }

  it('are no way to append a second body under a key', async () => {
    const message = { ...say('user', SECRET), idempotencyKey: 'k' }
    await store.append('t', [message])
    damage(
      `update undertext_contents set content = ${broken} where key = (select max(key) from undertext_messages)`,
    )
    const error = await failureOf(store.append('t', [message]))
    expect(error).toMatchObject({ code: 'STORE_CORRUPT' })
    expect(String(error)).not.toContain('sister')
  })

  it('that index something else are mended', async () => {
    const before = JSON.stringify(await store.getEffectiveHistory('s'))
    database.exec(`update undertext_messages set shown = '[[' where shown is not null`)
    expect(await failureOf(store.getEffectiveHistory('s'))).toMatchObject({ code: 'STORE_CORRUPT' })
    expect((await store.sessions.verify('s', { repair: true })).findings).toMatchObject([
      { code: 'TAG_WRONG' },
    ])
    expect(JSON.stringify(await store.getEffectiveHistory('s'))).toBe(before)
  })

  it('of compactions are named', async () => {
    damage(`update undertext_compactions set coverage = ${broken}`)
    const error = await failureOf(store.listCompactions('s'))
    expect(error).toMatchObject({ code: 'STORE_CORRUPT' })
    expect(String(error)).not.toContain('sister')
  })

  it('of compactions are found: what they record is not what is there', async () => {
    const [pruned] = await store.listCompactions('s')
    damage('delete from undertext_replacements')
    const codes = async () =>
      (await store.sessions.verify('s', { repair: true })).findings.filter(
        ({ compactionId }) => compactionId === pruned!.id,
      )
    expect(await codes()).toEqual([
      {
        code: 'COMPACTION_DAMAGED',
        compactionId: pruned!.id,
        detail: 'it replaces 1 parts, but 0 texts are stored',
        repairable: false,
      },
    ])
    // What was repaired otherwise is right now, and this is still said.
    expect((await store.sessions.verify('s')).findings).toEqual(await codes())
    damage("update undertext_compactions set status = 'weird'")
    expect(await codes()).toMatchObject([{ code: 'COMPACTION_DAMAGED', detail: 'its status is unknown' }])
  })

  it('of what a rewind turned are found: its undo would turn something else', async () => {
    await store.append('t', chat(6))
    const ids = (await store.getMessages('t')).map(({ id }) => id)
    const hidden = await store.compactions.hide('t', [ids[4]!])
    const { compactionId } = await store.rewind('t', { from: { beforeMessage: ids[2]! } })
    const codes = async () =>
      (await store.sessions.verify('t')).findings.map((one) => [one.code, one.compactionId])
    expect(await codes()).toEqual([])
    for (const [id, turned] of [
      [compactionId!, '[[999999],[]]'],
      [hidden.id, '[[],[1]]'],
    ] as const) {
      damage(`update undertext_compactions set turned = '${turned}' where id = '${id}'`)
      expect(await codes()).toContainEqual(['COMPACTION_DAMAGED', id])
    }
  })

  it('of rows that are gone are no session that is not there', async () => {
    await store.append('t', chat(6))
    damage(`delete from undertext_messages where session = (select no from undertext_sessions where id = 't') and position = 3;
      update undertext_sessions set messages = messages - 1 where id = 't'`)
    const read = async (): Promise<void> => {
      for await (const record of store.sessions.export('t')) expect(record).toBeDefined()
    }
    expect(await failureOf(read())).toMatchObject({ code: 'STORE_CORRUPT' })
  })

  it('count: a compaction that inserted two', async () => {
    const { runId } = (await store.compactSession('s', { range: { from: 5, to: 8 }, summary: 'x' }))!
    const [condensed] = await store.listCompactions('s', { runId })
    damage(`insert into undertext_messages (session, anchor, ordinal, kind, role, size_text, size_reasoning, size_calls,
        size_results, size_media, created_at, inserted_by, condense_parent)
      select session, anchor, 99, kind, role, 0, 0, 0, 0, 0, created_at, inserted_by, null
      from undertext_messages where inserted_by is not null;
      insert into undertext_contents (key, content) select max(key), '""' from undertext_messages`)
    const { findings } = await store.sessions.verify('s')
    expect(findings).toContainEqual(
      expect.objectContaining({ code: 'INSERTED_TWICE', compactionId: condensed!.id, repairable: false }),
    )
  })
})

describe('blobs', () => {
  it('that are gone are no empty images', async () => {
    damage('delete from undertext_blobs')
    expect(await failureOf(store.getEffectiveHistory('s'))).toMatchObject({ code: 'STORE_CORRUPT' })
    const { findings } = await store.sessions.verify('s', { repair: true })
    expect(findings).toMatchObject([{ code: 'BLOB_MISSING', repairable: false }])
  })

  it('with other bytes are found', async () => {
    damage("update undertext_blobs set bytes = x'00'")
    const { findings } = await store.sessions.verify('s', { repair: true })
    expect(findings).toMatchObject([{ code: 'BLOB_DAMAGED', repairable: false }])
  })

  it('are counted, kept while they are referred to, and go with the last session', async () => {
    const image = { role: 'user', content: [{ type: 'image', image: 'A'.repeat(8_192) }] } as const
    await store.append('t', [image])
    const references = database.prepare('select reference_count from undertext_blobs').pluck()
    expect(references.all()).toEqual([2])
    expect((await store.sessions.purge('t')).blobs).toBe(0)
    expect(references.all()).toEqual([1])
    expect((await store.sessions.purge('s')).blobs).toBe(1)
    expect(references.all()).toEqual([])
  })
})

describe('the guards', () => {
  const ATTEMPTS = [
    `insert or replace into undertext_contents (key, content) values (1, '"no"')`,
    'insert or replace into undertext_messages select * from undertext_messages where key = 1',
    'insert or replace into undertext_replacements select * from undertext_replacements',
    `update undertext_replacements set text = '"no"'`,
    'update undertext_replacements set part = part + 1',
    'update or replace undertext_replacements set message = 1',
    'delete from undertext_replacements',
    "update undertext_blobs set bytes = x'00'",
    "update undertext_blobs set hash = x'00'",
    'insert or replace into undertext_blobs select hash, 0, bytes from undertext_blobs',
    'delete from undertext_blobs',
    "insert or replace into undertext_audit (no, session, event, at) values (1, 1, 'no', 0)",
  ]
  for (const sql of ATTEMPTS) {
    it(`refuse, also on a connection handed in: ${sql.slice(0, 80)}`, async () => {
      expect(() => database.exec(sql)).toThrow('undertext:')
      expect((await store.sessions.verify('s')).findings).toEqual([])
    })
  }

  it('are all looked at when a store is opened, and by sessions.verify', async () => {
    const present = database.prepare("select name from sqlite_master where type = 'trigger'").pluck().all()
    expect([...GUARDS].sort()).toEqual(present.sort())
    for (const name of GUARDS) {
      const { sql } = database.prepare('select sql from sqlite_master where name = ?').get(name) as {
        sql: string
      }
      database.exec(`drop trigger ${name}`)
      expect(await failureOf(openStore(database)), name).toMatchObject({ code: 'NOT_A_STORE' })
      expect((await store.sessions.verify('s')).findings).toMatchObject([{ code: 'GUARD_MISSING' }])
      database.exec(sql)
    }
  })

  it('let a session be recounted, and report which id is taken', async () => {
    await store.sessions.reestimate('s', neurolinkEstimator.name)
    await store.append('s', [{ ...say('user', 'x'), id: 'mine' }])
    expect(await failureOf(store.append('s', [{ ...say('user', 'y'), id: 'mine' }]))).toMatchObject({
      code: 'MESSAGE_ID_TAKEN',
    })
    database.exec('update undertext_sessions set messages = 3')
    expect(await failureOf(store.append('s', [say('user', 'z')]))).toMatchObject({ code: 'STORE_CORRUPT' })
  })
})

describe('contents that are gone', () => {
  const openedAfter = async (row: string): Promise<Error> => {
    const run = await store.compactSession('s', { range: { from: 5, to: 8 }, summary: 'They talked.' })
    const { insertedIds } = (await store.compactions.get('s', run!.compactions[0]!.id))!
    damage(`delete from undertext_contents where key in (select key from undertext_messages where ${row})`)
    return failureOf(store.messages.expand('s', insertedIds[0]!))
  }

  it('of a summary: opening it reports so', async () => {
    expect(isUndertextError(await openedAfter('position is null'), 'STORE_CORRUPT')).toBe(true)
  })

  it('of a message beneath: the rest is not returned as if it were all', async () => {
    expect(isUndertextError(await openedAfter('position = 6'), 'STORE_CORRUPT')).toBe(true)
  })
})

import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { PAST_VIEW } from '../../src/storage/sql/moments.ts'
import { PLANNING_QUERY } from '../../src/storage/sql/planning.ts'
import { VIEW_QUERY } from '../../src/storage/sql/view.ts'
import { toSqlite } from '../../src/storage/sqlite/connection.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'
import { dumpOf, failureOf } from '../support/failures.ts'
import { newFolder } from '../support/temporary.ts'
import { standing } from './contract/support.ts'

/* What another connection can and cannot do to a store, and what sessions.verify makes of it. */

let folder: string
let store: Store
let other: Database

beforeEach(async () => {
  folder = newFolder()
  store = await openStore(join(folder, 'chats.db'), { durability: 'normal' })
  await store.append('s', [
    say('user', 'go'),
    call('a', 'run'),
    result('a', units(200)),
    say('assistant', 'look'),
    { role: 'user', content: [{ type: 'image', image: 'A'.repeat(8_192) }] },
    ...chat(6),
  ])
  await store.compactSession('s', {
    enableDeduplicate: false,
    enableSummarize: false,
    enableTruncate: false,
    targetTokens: 0,
    pruneProtectTokens: 0,
    pruneMinimumSavings: 0,
  })
  await store.compactSession('s', { range: { from: 6, to: 9 }, summary: 'Two turns.' })
  await store.compactions.hide('s', [(await store.getMessages('s'))[0]!.id])
  await store.notes.add('A note.', { session: 's', key: 'k' })
  const request = await store.prepareRequest('asked', { prompt: 'Why?', system: 'Be brief.' })
  await store.recordResponse('asked', { request, messages: [say('assistant', 'So.')] })
  other = new BetterSqlite3(join(folder, 'chats.db'))
  other.pragma('recursive_triggers = on')
})
afterEach(async () => {
  other.close()
  await store.close()
})

describe('the guards refuse', () => {
  const ATTEMPTS: Record<string, string> = {
    'another content': 'update undertext_contents set content = \'"x"\'',
    'other metadata': "update undertext_contents set metadata = '{}'",
    'no content': 'delete from undertext_contents',
    'a replaced content': `insert or replace into undertext_contents (key, content) values (1, '"x"')`,
    'another role': 'update undertext_messages set role = 1',
    'another position': 'update undertext_messages set position = position + 100',
    'another anchor': 'update undertext_messages set anchor = 1 where ordinal = 1',
    'another time': 'update undertext_messages set created_at = 0',
    'another id': "update undertext_messages set id = 'x' where key = 1",
    'another session': 'update undertext_messages set session = 2',
    'no message': 'delete from undertext_messages where key = 3',
    'a replaced message': `insert or replace into undertext_messages (key, session, anchor, position, role, size_text, size_reasoning,
      size_calls, size_results, size_media, created_at) values (1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0)`,
    'other coverage': "update undertext_compactions set coverage = '{}'",
    'another kind': "update undertext_compactions set kind = 'truncate'",
    'no compaction': 'delete from undertext_compactions',
    'no replacement': 'delete from undertext_replacements',
    'another replacement': 'update undertext_replacements set text = \'"x"\'',
    'another note': 'update undertext_notes set text = \'"x"\'',
    'another owner of a note': "update undertext_notes set owner = 'x'",
    'no note': 'delete from undertext_notes',
    'a replaced note': `insert or replace into undertext_notes (id, session, owner, no, text, created_at) values ('x', 1, '', 1, '"x"', 0)`,
    'another request': "update undertext_requests set hash = x'00'",
    'another usage of a request': 'update undertext_requests set input_tokens = 1',
    'another moment of a request': 'update undertext_requests set position = 5',
    'no request': 'delete from undertext_requests',
    'a replaced request': `insert or replace into undertext_requests (session, no, position, audit, provider, model, renderer, hash, at)
      values (2, 1, 0, 0, 'p', 'm', 1, x'00', 0)`,
    'another audit': "update undertext_audit set event = 'x'",
    'no audit': 'delete from undertext_audit',
  }
  for (const [name, sql] of Object.entries(ATTEMPTS)) {
    test(name, () => {
      const before = dumpOf(other)
      expect(() => other.exec(sql)).toThrow(/undertext/)
      expect(dumpOf(other)).toBe(before)
    })
  }
})

describe('sessions.verify', () => {
  test('finds nothing in an untouched store', async () => {
    expect(await store.sessions.verify('s')).toEqual({ findings: [], repaired: false })
    expect(await store.sessions.verify('s', { repair: true })).toEqual({ findings: [], repaired: false })
  })

  const TAMPERED: Record<string, { sql: string; code: string }> = {
    'a tag taken off': {
      sql: 'update undertext_messages set condense_parent = null where position = 7',
      code: 'TAG_MISSING',
    },
    'a tag put on': {
      sql: 'update undertext_messages set truncation_parent = 3 where position = 12',
      code: 'TAG_WRONG',
    },
    'a tag of nothing': {
      sql: 'update undertext_messages set condense_parent = 99 where position = 12',
      code: 'ORPHAN_TAG',
    },
    'a summary that hides itself': {
      sql: 'update undertext_messages set condense_parent = inserted_by where ordinal = 1',
      code: 'TAG_CYCLE',
    },
    'a summary retired': {
      sql: 'update undertext_messages set retired_by = inserted_by where ordinal = 1',
      code: 'TAG_WRONG',
    },
    'a replacement not shown': {
      sql: 'update undertext_messages set shown = null where position = 3',
      code: 'TAG_WRONG',
    },
    'a replacement shown twice': {
      sql: "update undertext_messages set shown = '[[0,1],[0,1]]' where position = 3",
      code: 'TAG_WRONG',
    },
    'a size': { sql: 'update undertext_messages set size_text = 7 where position = 12', code: 'SIZE_DRIFT' },
    'the index of calls': {
      sql: 'update undertext_messages set tools = null where position = 2',
      code: 'INDEX_DRIFT',
    },
    'the number of visible rows': {
      sql: 'update undertext_sessions set visible = visible + 1',
      code: 'COUNTER_DRIFT',
    },
    'the sum of sizes': { sql: 'update undertext_sessions set size_text = 0', code: 'COUNTER_DRIFT' },
    'the number in force': {
      sql: 'update undertext_sessions set active_compactions = 0',
      code: 'COUNTER_DRIFT',
    },
    'the last position': { sql: 'update undertext_sessions set messages = 3', code: 'COUNTER_DRIFT' },
    'the last ordinal': { sql: 'update undertext_sessions set inserted = 0', code: 'COUNTER_DRIFT' },
    'everything at once': {
      sql: `update undertext_messages set condense_parent = null, truncation_parent = 2, retired_by = 1, shown = null, size_text = 1;
        update undertext_sessions set visible = 0, messages = 0, hidden_manual = 50`,
      code: 'TAG_WRONG',
    },
    'what a row says of itself': {
      sql: 'update undertext_replacements set saved_results = 1',
      code: 'SIZE_DRIFT',
    },
  }
  for (const [name, { sql, code }] of Object.entries(TAMPERED)) {
    test(`finds and mends ${name}`, async () => {
      const sound = await standing(store)
      other.exec(sql)
      const found = await store.sessions.verify('s')
      expect(found.repaired).toBe(false)
      expect(found.findings.map((finding) => finding.code)).toContain(code)
      expect(await store.sessions.verify('s')).toEqual(found)
      expect(await store.sessions.verify('s', { repair: true })).toEqual({ ...found, repaired: true })
      expect(await store.sessions.verify('s')).toEqual({ findings: [], repaired: false })
      expect(await standing(store)).toEqual(sound)
      expect((await store.sessions.audit('s')).at(-1)!.event).toBe('repaired')
      // And undo works on what was mended.
      for (const { id } of (await store.listCompactions('s')).reverse()) await store.undoCompaction('s', id)
      expect(await store.getEffectiveHistory('s')).toHaveLength(17)
      expect((await store.sessions.verify('s')).findings).toEqual([])
    })
  }

  test('finds a tag of another session', async () => {
    await store.append('t', chat(3))
    const hidden = await store.compactions.hide('t', [(await store.getMessages('t'))[0]!.id])
    const no = other.prepare('select no from undertext_compactions where id = ?').pluck().get(hidden.id)
    other
      .prepare('update undertext_messages set truncation_parent = ? where session = 1 and position = 12')
      .run(no)
    const { findings } = await store.sessions.verify('s')
    expect(findings).toContainEqual(expect.objectContaining({ code: 'FOREIGN_TAG', compactionId: hidden.id }))
    await store.sessions.verify('s', { repair: true })
    expect((await store.sessions.verify('s')).findings).toEqual([])
    expect((await store.sessions.verify('t')).findings).toEqual([])
  })

  test('finds blobs that are gone, which nothing can mend', async () => {
    expect(() => other.exec('delete from undertext_blobs')).toThrow('undertext:')
    other.exec("insert into undertext_meta (key, value) values ('purging', '1')")
    other.exec('delete from undertext_blobs')
    other.exec("delete from undertext_meta where key = 'purging'")
    const { findings } = await store.sessions.verify('s', { repair: true })
    expect(findings).toContainEqual(expect.objectContaining({ code: 'BLOB_MISSING', repairable: false }))
    await expect(store.getEffectiveHistory('s')).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  })

  test('finds a guard that is gone', async () => {
    other.exec('drop trigger undertext_contents_are_written_once')
    expect((await store.sessions.verify('s')).findings).toMatchObject([{ code: 'GUARD_MISSING' }])
  })

  test('finds a guard with another text, with which no store opens', async () => {
    other.exec(`drop trigger undertext_contents_are_kept;
      create trigger undertext_contents_are_kept before delete on undertext_contents when 0
      begin select raise(abort, 'undertext: contents are kept'); end`)
    expect((await store.sessions.verify('s', { repair: true })).findings).toMatchObject([
      { code: 'GUARD_CHANGED', repairable: false },
    ])
    expect(await failureOf(() => openStore(other))).toMatchObject({ code: 'NOT_A_STORE' })
    expect(await failureOf(() => openStore(join(folder, 'chats.db')))).toMatchObject({ code: 'NOT_A_STORE' })
  })

  test('finds triggers of others on our tables, which opening reports', async () => {
    other.exec(`create table seen (a);
      create trigger watch after insert on undertext_contents begin insert into seen values (new.content); end;
      create trigger their_own after insert on seen begin select 1; end`)
    expect((await store.sessions.verify('s')).findings).toMatchObject([
      { code: 'FOREIGN_TRIGGER', detail: expect.stringContaining('watch') },
    ])
    const warnings: Error[] = []
    const listen = (warning: Error): unknown => warnings.push(warning)
    process.on('warning', listen)
    await (await openStore(join(folder, 'chats.db'))).close()
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', listen)
    expect(warnings).toMatchObject([
      { code: 'UNDERTEXT_TRIGGER', message: expect.stringContaining('"watch"') },
    ])
  })

  test('finds a trigger of the connection alone', async () => {
    const handedIn = await openStore(other)
    other.exec('create temp trigger quiet before insert on undertext_audit begin select raise(ignore); end')
    expect((await handedIn.sessions.verify('s')).findings).toMatchObject([{ code: 'FOREIGN_TRIGGER' }])
  })

  test('undo refuses tags that are not as they were laid', async () => {
    other.exec('update undertext_messages set condense_parent = null where position = 7')
    const before = dumpOf(other)
    const [, condensed] = await store.listCompactions('s')
    await expect(store.undoCompaction('s', condensed!.id)).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
    expect(dumpOf(other)).toBe(before)
  })
})

describe('query plans', () => {
  const planOf = (sql: string, parameters: (number | string)[]): string[] =>
    (other.prepare(`explain query plan ${toSqlite(sql)}`).all(...parameters) as { detail: string }[]).map(
      ({ detail }) => detail,
    )

  const queries = { view: [VIEW_QUERY, ['s']], planning: [PLANNING_QUERY, [1, 0, 9]] } as const
  for (const [name, [sql, parameters]] of Object.entries(queries)) {
    test(`the ${name} reads the index of visible rows in its order`, () => {
      const plan = planOf(sql, [...parameters]).join('\n')
      expect(plan).toMatch(/SEARCH m USING INDEX undertext_visible \(session=\?/)
      expect(plan).not.toMatch(/TEMP B-TREE|SCAN m|SCAN c/)
    })
  }

  test('the view at a moment reads the ranges that were visible, by the index of the log', () => {
    const plan = planOf(PAST_VIEW, ['[[1, 3], [7, 9]]', 1]).join('\n')
    expect(plan).toMatch(/SEARCH m USING INDEX undertext_log \(session=\? AND position>\? AND position<\?\)/)
    expect(plan).not.toMatch(/TEMP B-TREE|SCAN m|SCAN c/)
  })
})

import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Part } from '../../src/core/messages/message.ts'
import { BUILT_IN_ESTIMATORS } from '../../src/core/tokens/measure.ts'
import { openStore, type Store } from '../../src/index.ts'
import {
  lockSharing,
  type NewContent,
  type NewText,
  ROW_COLUMNS,
  rewriteRows,
} from '../../src/storage/sql/rewrite.ts'
import { requireSession } from '../../src/storage/sql/sessions.ts'
import { erasing } from '../../src/storage/sql/sql.ts'
import { complete } from '../../src/storage/sql/work.ts'
import { SqliteSql } from '../../src/storage/sqlite/storage.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

/* A stored content that is replaced for good: everything derived from it is as if it had been stored so. */

let file: string
let store: Store
let database: BetterSqlite3.Database
beforeEach(async () => {
  file = newFile()
  store = await openStore(file, { durability: 'normal' })
  database = new BetterSqlite3(file)
})
afterEach(async () => {
  database.close()
  await store.close()
})

function connection(): SqliteSql {
  const sql = new SqliteSql(database, { location: file, readonly: false, owned: false, busyTimeoutMs: 5_000 })
  sql.estimators = {
    standard: BUILT_IN_ESTIMATORS[0]!,
    byName: new Map(BUILT_IN_ESTIMATORS.map((one) => [one.name, one] as const)),
  }
  return sql
}

/** Replaces the contents of messages at positions, and their copies. */
function rewrite(
  id: string,
  contents: Readonly<Record<number, NewContent['content']>>,
  texts: readonly NewText[] = [],
): void {
  const work = erasing('purgeText', function* (sql) {
    yield* sql.enterAlone(id)
    const session = yield* requireSession(sql, id)
    const keys = new Map<number, number>()
    for (const position of Object.keys(contents)) {
      const [key] = (yield* sql.get(
        'select key from undertext_messages where {family} session = ? and position = ?',
        ...[session.no, Number(position)],
      ))!
      keys.set(key as number, Number(position))
    }
    const rows = yield* lockSharing(sql, session, [...keys.keys()])
    const stored = new Map<number, NewContent>()
    for (const { key, content } of rows) {
      const position = keys.get(key)
      if (position !== undefined)
        stored.set(content, { content: contents[position]!, metadata: { changed: true } })
    }
    yield* sql.unguarded('a test', () => rewriteRows(sql, rows, { contents: stored, texts }))
  })
  complete(work(connection()))
}

async function sound(...ids: string[]): Promise<void> {
  for (const id of ids) expect((await store.sessions.verify(id)).findings, id).toEqual([])
}

const parts = (content: NewContent['content']): readonly Part[] => content as readonly Part[]

describe('a content that is replaced', () => {
  test('has the sizes, calls and words of the new one, in the session and its forks', async () => {
    await store.append('a', [
      say('user', `the heron ${units(500)}`),
      call('c1', 'read', { path: 'heron.ts' }),
      result('c1', `heron ${units(2_000)}`),
      say('assistant', 'done'),
    ])
    await store.sessions.fork('a', { id: 'b' })
    await store.append('b', [say('user', 'only here')])
    const hits = async (word: string): Promise<number[]> => {
      const found = ['a', 'b'].map((session) => store.search(word, { session }))
      return (await Promise.all(found)).map((one) => one.hits.length)
    }
    expect(await hits('heron')).toEqual([3, 3])
    rewrite('b', {
      1: 'the ibis',
      2: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: { path: 'ibis.ts' } }],
      3: [{ type: 'tool-result', toolCallId: 'c1', output: { type: 'text', value: 'ibis' } }],
    })
    await sound('a', 'b')
    for (const id of ['a', 'b']) {
      const [first, second] = await store.getMessages(id)
      expect(first).toMatchObject({ content: 'the ibis', metadata: { changed: true } })
      expect(parts(second!.content)[0]).toMatchObject({ input: { path: 'ibis.ts' } })
    }
    expect(await hits('heron')).toEqual([0, 0])
    expect(await hits('ibis')).toEqual([3, 3])
    const [a, b] = [await store.sessions.get('a'), await store.sessions.get('b')]
    expect(a.visibleCount).toBe(4)
    expect(b.visibleCount).toBe(5)
  })

  test('may change the kind of a part: the row is then silent, or speaks again', async () => {
    const thought: Part = { type: 'reasoning', text: 'hm' }
    await store.append('a', [
      { role: 'assistant', content: [thought] },
      { role: 'assistant', content: [{ type: 'provider', provider: 'undertext-unread', data: 1 }] },
    ])
    expect((await store.sessions.get('a')).visibleCount).toBe(1)
    rewrite('a', {
      1: [{ type: 'provider', provider: 'undertext-unread', data: 2 }],
      2: [{ type: 'text', text: 'a text' }],
    })
    await sound('a')
    expect(await store.sessions.get('a', { counts: true })).toMatchObject({
      counts: { messages: 1, bookkeeping: 1, visible: 1 },
    })
  })

  test('keeps the blobs that it still has, and removes the others', async () => {
    const [kept, gone] = ['A'.repeat(8_192), 'B'.repeat(8_192)]
    const image = (data: string): Part => ({ type: 'image', image: data })
    await store.append('a', [
      { role: 'user', content: [image(kept), image(gone), image(kept)] },
      { role: 'user', content: [image(kept)] },
    ])
    rewrite('a', { 1: [image(kept), { type: 'text', text: 'removed' }, image('C'.repeat(8_192))] })
    await sound('a')
    const blobs = database.prepare('select reference_count from undertext_blobs order by 1').pluck().all()
    expect(blobs).toEqual([1, 2])
    expect(parts((await store.getMessages('a'))[0]!.content)[0]).toEqual(image(kept))
  })
})

test('undo and redo work over a replaced content: the savings are those of the new one', async () => {
  await store.append('a', [
    say('user', 'go'),
    call('c1', 'read'),
    result('c1', units(3_000)),
    say('assistant', 'so'),
    say('user', 'on'),
  ])
  const cleared = await store.compactSession('a', {
    ...{ enableDeduplicate: false, enableSummarize: false, enableTruncate: false, targetTokens: 0 },
    ...{ pruneProtectTokens: 0, pruneMinimumSavings: 0 },
  })
  const summed = await store.compactSession('a', { range: { from: 1, to: 4 }, summary: 'All of it.' })
  const shown = await store.getEffectiveHistory('a')
  rewrite('a', { 3: [{ type: 'tool-result', toolCallId: 'c1', output: { type: 'text', value: units(20) } }] })
  await sound('a')
  expect(await store.getEffectiveHistory('a')).toEqual(shown)
  await store.undoCompaction('a', summed!.runId)
  await sound('a')
  await store.undoCompaction('a', cleared!.runId)
  await sound('a')
  expect(parts((await store.getEffectiveHistory('a'))[2]!.content)[0]).toMatchObject({
    output: { value: units(20) },
  })
  await store.redoCompaction('a', cleared!.runId)
  await store.redoCompaction('a', summed!.runId)
  await sound('a')
  expect(await store.getEffectiveHistory('a')).toEqual(shown)
})

test('a row is inserted again with all of its columns', () => {
  const columns = database.prepare("select name from pragma_table_info('undertext_messages')").pluck().all()
  expect([...ROW_COLUMNS].sort()).toEqual([...columns].sort())
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterEach, expect, it } from 'vitest'
import { type NewMessage, openStore, type Store } from '../../src/index.ts'
import type { HistoryRecord } from '../../src/storage/records/records.ts'
import { storageOf } from '../support/apply-stage.ts'
import { bundle } from '../support/bundled.ts'
import { chat, say } from '../support/conversation.ts'
import { everythingOf, linesFrom, linesOf, recordsOf, restoreLines } from './support.ts'

const open: Store[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

async function openAt(location = ':memory:'): Promise<Store> {
  const store = await openStore(location)
  open.push(store)
  return store
}

/** Records of a session while something else is done, once, behind the first record of a type. */
async function recordsWhile(
  store: Store,
  behind: HistoryRecord['type'],
  act: () => Promise<unknown>,
): Promise<HistoryRecord[]> {
  const records: HistoryRecord[] = []
  let isDone = false
  for await (const record of store.sessions.export('s')) {
    records.push(record)
    if (isDone || record.type !== behind) continue
    isDone = true
    await act()
  }
  expect(isDone).toBe(true)
  return records
}

it('an export is of one moment, whatever is done while it is taken', async () => {
  const [store, before, other] = [await openAt(), await openAt(), await openAt()]
  // More than a page of rows, and a summary in the last one.
  await store.append('s', chat(600))
  const run = (await store.compactSession('s', { range: { from: 1_101, to: 1_110 }, summary: 'early' }))!
  await restoreLines(before, await linesOf(store, 's'))
  const records = await recordsWhile(store, 'message', async () => {
    const [message] = await store.getMessages('s', { after: 1_150, limit: 1 })
    await store.messages.pin('s', [message!.id])
    await store.append('s', [say('user', 'later')])
    await store.undoCompaction('s', run.runId)
    await store.compactSession('s', { range: { from: 1_001, to: 1_020 }, summary: 'later' })
    await store.compactSession('s', { target: 0, maxOutputTokens: 4_000 })
    await store.rewind('s', { from: { beforeMessage: message!.id }, append: chat(1) })
    await store.sessions.update('s', { title: 'later' })
  })
  await other.sessions.import(records)
  expect(await everythingOf(other, 's')).toEqual(await everythingOf(before, 's'))
})

it('an export of a session that is purged meanwhile ends with an error', async () => {
  const store = await openAt()
  await store.append('s', chat(600))
  const purged = recordsWhile(store, 'message', () => store.sessions.purge('s'))
  await expect(purged).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  await store.append('s', chat(600))
  const another = recordsWhile(store, 'message', async () => {
    await store.sessions.purge('s')
    await store.append('s', chat(600))
  })
  await expect(another).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
})

it('large messages come in pages of few, and all of them come', async () => {
  const [store, other] = [await openAt(), await openAt()]
  const big: NewMessage[] = Array.from({ length: 9 }, (_, at) => [
    say('user', String(at).repeat(1_500_000)),
    {
      role: 'user' as const,
      content: [{ type: 'image' as const, image: new Uint8Array(1_500_000).fill(at) }],
    },
  ]).flat()
  await store.append('s', big)
  const { histories } = storageOf(store)
  const exported = await histories.head('s')
  const pages: number[] = []
  for (let after: number | undefined = 0; after !== undefined; ) {
    const { records, next } = await histories.rows(exported, after)
    pages.push(records.length)
    after = next
  }
  // 1.5 MB each: two of them are less than 4 MB, three are more.
  expect(pages).toEqual(Array.from({ length: 9 }, () => 2))
  await other.sessions.import(await recordsOf(store, 's'))
  // Not toEqual, which takes minutes over so many bytes.
  expect(isDeepStrictEqual(await other.getMessages('s'), await store.getMessages('s'))).toBe(true)
})

it('a restore is invisible before it is complete, and does not block writers', async () => {
  const [store, other] = [await openAt(), await openAt()]
  await store.append('s', chat(900))
  const seen = new Set<string>()
  async function* records(): AsyncGenerator<HistoryRecord> {
    for (const record of await recordsOf(store, 's')) {
      if (record.type === 'message' && record.position % 400 === 0) {
        for (const { id } of await other.sessions.list()) seen.add(id)
        await other.append('mine', [say('user', 'written meanwhile')])
        await other.rewind('mine', { from: 'start', append: chat(1) })
      }
      yield record
    }
  }
  await other.sessions.import(records())
  expect([...seen]).toEqual(['mine'])
  expect((await other.sessions.get('mine')).messageCount).toBe(4 * 3)
  expect((await other.sessions.verify('mine')).findings).toEqual([])
  expect(await everythingOf(other, 's')).toEqual(await everythingOf(store, 's'))
})

it('of two restores of one history at the same time one is the session', async () => {
  const [store, other] = [await openAt(), await openAt()]
  await store.append('s', chat(700))
  await store.compactSession('s', { range: { from: 1, to: 20 }, summary: 'early' })
  const records = await recordsOf(store, 's')
  const both = await Promise.allSettled([other.sessions.import(records), other.sessions.import(records)])
  const done = both.filter(({ status }) => status === 'fulfilled')
  expect(done).toHaveLength(1)
  expect(both.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'SESSION_EXISTS' },
  })
  expect(await everythingOf(other, 's')).toEqual(await everythingOf(store, 's'))
  expect(await storageOf(other).importsInProgress()).toEqual([])
})

it('a process killed in the middle of a restore leaves nothing that is seen, and the next restore takes it out', async () => {
  const { script, folder, remove } = await bundle('test/history/restore-in-process.ts')
  try {
    const store = await openAt()
    await store.append('s', chat(1_000))
    await store.compactSession('s', { range: { from: 1, to: 20 }, summary: 'early' })
    const lines = await linesFrom(await recordsOf(store, 's'))
    const [file, source] = [join(folder, 'chats.db'), join(folder, 'history.jsonl')]
    writeFileSync(source, `${lines.join('\n')}\n`)
    const child = spawn(process.execPath, [script, file, source, '1800'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'close')

    const other = await openAt(file)
    const [left] = await storageOf(other).importsInProgress()
    expect(left).toBeDefined()
    expect(await other.sessions.list()).toEqual([])
    expect(await restoreLines(other, lines)).toMatchObject([{ restored: { existing: false } }])
    expect(await storageOf(other).importsInProgress()).toEqual([])
    expect(await everythingOf(other, 's')).toEqual(await everythingOf(store, 's'))
  } finally {
    for (const store of open.splice(0)) await store.close()
    remove()
  }
}, 60_000)

import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { type Bundled, bundle } from '../support/bundled.ts'
import { importInProcess, writeTranscript } from './support/large-file.ts'

const MEGABYTE = 1024 * 1024

let bundled: Bundled
beforeAll(async () => {
  bundled = await bundle('test/transfer/import-in-process.ts')
})
afterAll(() => bundled.remove())

it('imports more than its memory holds, unseen until it is whole, while others write', async () => {
  const file = join(bundled.folder, 'large.jsonl')
  const location = join(bundled.folder, 'chats.db')
  const messages = writeTranscript(file, 60 * MEGABYTE)
  await using store = await openStore(location)

  let isOver = false
  const work = importInProcess(bundled.script, location, file, 48).finally(() => {
    isOver = true
  })
  // Appends throw when they are refused.
  let appended = 0
  const seen = new Set<number>()
  while (!isOver) {
    await store.append('other', [{ role: 'user', content: `${++appended}` }])
    const large = (await store.sessions.list()).find(({ id }) => id === 'large')
    seen.add(large?.messageCount ?? 0)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  const { totals, heap } = await work
  expect(totals).toMatchObject({ imported: 1, messages, problems: 0 })
  expect(heap).toBeLessThan(48 * MEGABYTE)
  expect((await store.sessions.get('other')).messageCount).toBe(appended)
  expect(appended).toBeGreaterThan(10)
  // Nobody saw a part of it.
  expect([...seen].filter((count) => count !== 0 && count !== messages)).toEqual([])
  expect((await store.sessions.get('large')).messageCount).toBe(messages)
})

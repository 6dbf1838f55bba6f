import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Bundled, bundle } from '../support/bundled.ts'
import { importInProcess, writeTranscript } from './support/large-file.ts'

const MEGABYTE = 1024 * 1024

let bundled: Bundled
beforeAll(async () => {
  bundled = await bundle('test/transfer/import-in-process.ts')
})
afterAll(() => bundled.remove())

it('imports 2 GB with 128 MB of heap, and again without adding anything', async () => {
  const file = join(bundled.folder, 'large.jsonl')
  const store = join(bundled.folder, 'chats.db')
  const messages = writeTranscript(file, 2048 * MEGABYTE)
  const first = await importInProcess(bundled.script, store, file, 128)
  expect(first.totals).toMatchObject({ imported: 1, messages })
  const again = await importInProcess(bundled.script, store, file, 128)
  expect(again.totals).toMatchObject({ unchanged: 1, messages: 0, existing: messages })
})

import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { importStream } from '../../src/transfer/import-file.ts'

const LINES = '{"role":"user","content":"Hello."}\n{"role":"assistant","content":"Hi."}\n'

function stream(text = LINES): Readable {
  // In the middle of a line, as streams come.
  return Readable.from([Buffer.from(text.slice(0, 20)), Buffer.from(text.slice(20))])
}

const left = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('undertext-import-'))

it('imports a stream under a name, and the same again adds nothing', async () => {
  const store = await openStore(':memory:')
  const before = left()
  const heard: number[] = []
  const report = await importStream(store, stream(), { name: 'talk', onBytes: (bytes) => heard.push(bytes) })
  expect(report).toMatchObject({ size: LINES.length, conversations: [{ sessionId: 'talk', messages: 2 }] })
  expect(heard).toEqual([20, LINES.length])
  const again = await importStream(store, stream(), { name: 'talk' })
  expect(again.conversations).toMatchObject([{ sessionId: 'talk', status: 'unchanged' }])
  const unnamed = await importStream(store, stream(), { prefix: 'a/' })
  expect(unnamed.conversations).toMatchObject([{ sessionId: 'a/stream' }])
  expect(left()).toEqual(before)
  await store.close()
})

it('reports what failed, and stores nothing of it', async () => {
  const store = await openStore(':memory:')
  const failing = Readable.from(
    (async function* () {
      yield Buffer.from(LINES)
      throw new Error('cut off')
    })(),
  )
  await expect(importStream(store, failing, { called: 'upload' })).rejects.toMatchObject({
    code: 'FILE_UNREADABLE',
    facts: { file: 'upload' },
  })
  await expect(importStream(store, stream('no talk'))).rejects.toMatchObject({ code: 'FILE_UNRECOGNIZED' })
  await expect(importStream(store, stream(), { called: '' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  const aborted = AbortSignal.abort()
  await expect(importStream(store, stream(), { signal: aborted })).rejects.toMatchObject({
    code: 'IMPORT_ABORTED',
  })
  expect(await store.sessions.list()).toEqual([])
  await store.close()
})

import { createReadStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type HistoryRecord, openStore, type RestoreOptions, type Store } from '../../src/index.ts'
import { historyLines } from '../../src/transfer/history-lines.ts'
import { importFile, importStream } from '../../src/transfer/index.ts'
import { folder } from './support/files.ts'

let old: Store
let store: Store
beforeEach(async () => {
  old = await openStore(':memory:')
  store = await openStore(':memory:')
})
afterEach(async () => {
  await old.close()
  await store.close()
})

/** Makes a session with as many turns, one of them hidden. */
async function talk(id: string, turns: number): Promise<void> {
  const messages = Array.from({ length: turns }, (_, i) => [
    { role: 'user' as const, content: `question ${i}` },
    { role: 'assistant' as const, content: `answer ${i}` },
  ]).flat()
  const { messages: appended } = await old.append(id, messages)
  await old.compactions.hide(id, [appended[0]!.id, appended[1]!.id])
}

/** A file with the histories of sessions. */
async function exported(...ids: readonly string[]): Promise<string> {
  const path = join(await folder(), 'old.jsonl')
  let text = ''
  for (const id of ids) for await (const line of historyLines(old.sessions.export(id))) text += line
  await writeFile(path, text)
  return path
}

const sessionIds = async (): Promise<string[]> => (await store.sessions.list()).map(({ id }) => id).toSorted()

it('restores the sessions of a file as they were, and once', async () => {
  await talk('a', 3)
  await talk('b', 2)
  const path = await exported('a', 'b')
  const report = await importFile(store, path)
  expect(report.source).toBe('undertext')
  expect(report.conversations).toMatchObject([
    { sessionId: 'a', status: 'imported', messages: 6, existing: 0, compactions: { applied: 1, known: 0 } },
    { sessionId: 'b', status: 'imported', messages: 4, existing: 0, compactions: { applied: 1, known: 0 } },
  ])
  expect(await store.getEffectiveHistory('a')).toEqual(await old.getEffectiveHistory('a'))
  const again = await importFile(store, path)
  expect(again.conversations).toMatchObject([
    { status: 'unchanged', messages: 0, existing: 6, compactions: { applied: 0, known: 1 } },
    { status: 'unchanged', messages: 0, existing: 4 },
  ])
})

it('restores them for the given owner, not that of the file, from a file and from a stream', async () => {
  await talk('a', 2)
  await old.sessions.update('a', { owner: 'ann' })
  const path = await exported('a')
  await importFile(store, path, { owner: 'bob' })
  await importStream(store, createReadStream(path), { owner: 'cid', session: 'b' })
  await importFile(store, path, { session: 'c' })
  const owners = (await store.sessions.list()).map(({ id, owner }) => `${id} ${owner}`)
  expect(owners.toSorted()).toEqual(['a bob', 'b cid', 'c ann'])
  const again = await importFile(store, path, { owner: 'bob' })
  expect(again.conversations).toMatchObject([{ status: 'unchanged' }])
})

it('restores the others where one is bad, and reports where', async () => {
  for (const id of ['a', 'b', 'c']) await talk(id, 2)
  const path = await exported('a', 'b', 'c')
  const lines = (await readFile(path, 'utf8')).split('\n')
  // The same text stands once in each history: the second one is b's.
  const [, inSecond] = lines.flatMap((line, i) => (line.includes('question 1') ? [i] : []))
  lines[inSecond!] = lines[inSecond!]!.replace('question 1', 'another secret')
  await writeFile(path, lines.join('\n'))
  const { conversations, totals } = await importFile(store, path)
  expect(conversations.map(({ sessionId, status }) => [sessionId, status])).toEqual([
    ['a', 'imported'],
    ['b', 'refused'],
    ['c', 'imported'],
  ])
  expect(conversations[1]!.problems).toEqual([
    { line: expect.any(Number), why: expect.stringMatching(/checksum/) },
  ])
  expect(JSON.stringify(conversations)).not.toContain('secret')
  expect(totals).toMatchObject({ imported: 2, refused: 1, problems: 1 })
  expect(await sessionIds()).toEqual(['a', 'c'])
})

it('a history that cannot be restored here is rejected, the one after it is not', async () => {
  await talk('a', 2)
  await talk('b', 2)
  await store.append('a', [{ role: 'user', content: 'another conversation' }])
  const { conversations } = await importFile(store, await exported('a', 'b'))
  expect(conversations).toMatchObject([
    {
      sessionId: 'a',
      status: 'refused',
      code: 'SESSION_EXISTS',
      messages: 0,
      why: expect.stringContaining('or this one in an older or newer state.'),
    },
    { sessionId: 'b', status: 'imported' },
  ])
})

it('restores under other names, or only checks', async () => {
  await talk('a', 2)
  const path = await exported('a')
  const checked = await importFile(store, path, { dryRun: true })
  expect(checked.conversations).toMatchObject([
    { sessionId: 'a', status: 'checked', messages: 4, existing: 0 },
  ])
  expect(await sessionIds()).toEqual([])
  await importFile(store, path, { session: 'mine' })
  await importFile(store, path, { prefix: 'old/' })
  expect(await sessionIds()).toEqual(['mine', 'old/a'])
})

it('stops on request', async () => {
  await talk('a', 2)
  const stop = new AbortController()
  const onProgress = ({ phase }: { phase: string }): void => {
    if (phase === 'write') stop.abort()
  }
  const work = importFile(store, await exported('a'), { signal: stop.signal, onProgress })
  await expect(work).rejects.toMatchObject({ code: 'IMPORT_ABORTED', facts: { imported: 0 } })
  expect(await sessionIds()).toEqual([])
})

it('knows a file that has lost its beginning for a history, and restores the others in it', async () => {
  for (const id of ['a', 'b']) await talk(id, 2)
  const path = await exported('a', 'b')
  const lines = (await readFile(path, 'utf8')).split('\n')
  await writeFile(path, lines.slice(1).join('\n'))
  const { source, conversations } = await importFile(store, path, { skipBad: true })
  expect(source).toBe('undertext')
  expect(conversations).toMatchObject([
    { status: 'refused', problems: [{ line: 1, why: 'a history must begin with its header' }] },
    { sessionId: 'b', status: 'imported' },
  ])
  expect(await sessionIds()).toEqual(['b'])
})

it('finds what another import restored of the same file meanwhile', async () => {
  await talk('a', 3)
  const path = await exported('a')
  let messages = 0
  const racing = {
    sessions: Object.assign(Object.create(store.sessions), {
      get: store.sessions.get.bind(store.sessions),
      import: (records: AsyncIterable<HistoryRecord>, options?: RestoreOptions) => {
        const passed = async function* () {
          for await (const record of records) {
            if (record.type === 'message' && ++messages === 2) await importFile(store, path)
            yield record
          }
        }
        return store.sessions.import(passed(), options)
      },
    }),
  }
  const { conversations } = await importFile(racing as never, path)
  expect(conversations).toMatchObject([{ sessionId: 'a', status: 'unchanged', messages: 0, existing: 6 }])
  expect(await sessionIds()).toEqual(['a'])
})

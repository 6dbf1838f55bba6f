import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { entryOf } from '../../../src/adapters/claude-agent-sdk/entry.ts'
import { openStore, type Store } from '../../../src/index.ts'
import { importFile } from '../../../src/transfer/index.ts'
import { newFolder } from '../../support/temporary.ts'
import { answer, boundary, call, LINE, result, summary, user } from './claude-code-entries.ts'
import { linesOf } from './support.ts'

/* The agents' files into a real store: what is seen, what undoing brings back, the same file again, a longer one. */

const folder = newFolder()
let store: Store
beforeAll(async () => {
  store = await openStore(join(folder, 'chats.db'))
})
afterAll(async () => {
  await store.close()
})

function fileOf(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** What is seen of a session: keys of messages, texts of summaries and markers. */
async function shown(id: string): Promise<string[]> {
  const rows = await store.getMessages(id)
  const keys = new Map(rows.map((row) => [row.id, row.idempotencyKey] as const))
  const view = await store.getEffectiveHistory(id)
  const spoken = view.filter(({ kind, content }) => kind !== 'message' || content.length > 0)
  return spoken.map((row) => (row.kind === 'message' ? keys.get(row.id)! : `[${String(row.content)}]`))
}

/** Undoes all that is in force, newest first. */
async function undoAll(id: string): Promise<number> {
  const active = (await store.listCompactions(id)).filter(({ status }) => status === 'active').reverse()
  for (const { id: compactionId } of active) await store.undoCompaction(id, compactionId, { both: true })
  return active.length
}

async function redoAll(id: string): Promise<void> {
  const undone = (await store.listCompactions(id)).filter(({ status }) => status === 'undone')
  for (const { id: compactionId } of undone) await store.redoCompaction(id, compactionId)
}

const CLAUDE = [
  ...LINE,
  user('u3', 'a1'),
  call('c1', 'u3', 'm'),
  call('c2', 'c1', 'm'),
  result('r1', 'c1', 'c1'),
  result('r2', 'c2', 'c2'),
  answer('a3', 'r2'),
  boundary('b', 'a3'),
  summary('s', 'b'),
  user('u4', 's'),
  answer('a4', 'u4'),
]

it('a session of Claude Code', async () => {
  const path = fileOf('claude/one.jsonl', linesOf(CLAUDE))
  const report = await importFile(store, path)
  expect(report).toMatchObject({
    source: 'claude-code',
    conversations: [{ status: 'imported', messages: 12, bookkeeping: 2, visible: 3 }],
  })
  expect(await shown('one')).toEqual(['[s]', 'u4', 'a4'])
  expect(
    (await store.getMessages('one')).filter(({ kind }) => kind === 'message').map((row) => entryOf(row)),
  ).toEqual(CLAUDE)

  // What is taken back comes back as well, each in its place.
  expect(await undoAll('one')).toBe(2)
  expect(await shown('one')).toEqual(['u1', 'a1', 'u2', 'a2', 'u3', 'c1', 'c2', 'r1', 'r2', 'a3', 'u4', 'a4'])
  await redoAll('one')
  expect(await shown('one')).toEqual(['[s]', 'u4', 'a4'])

  expect(await importFile(store, path)).toMatchObject({ conversations: [{ status: 'unchanged' }] })
  // It goes on, and is compacted again.
  const more = [...CLAUDE, boundary('b2', 'a4'), summary('s2', 'b2'), user('u5', 's2')]
  fileOf('claude/one.jsonl', linesOf(more))
  expect(await importFile(store, path)).toMatchObject({
    conversations: [{ status: 'extended', messages: 1, bookkeeping: 2 }],
  })
  expect(await shown('one')).toEqual(['[s2]', 'u5'])
  expect((await store.sessions.verify('one')).findings).toEqual([])
})

it('a rewind that leaves a call without its result', async () => {
  const entries = [...LINE, user('u3', 'a2'), call('c1', 'u3'), user('u4', 'a2')]
  await importFile(store, fileOf('claude/two.jsonl', linesOf(entries)))
  expect(await shown('two')).toEqual(['u1', 'a1', 'u2', 'a2', 'u4'])
  expect((await store.sessions.verify('two')).findings).toEqual([])
})

const said = (id: string, parentId: string | null, message: object) => ({
  type: 'message',
  id,
  parentId,
  message,
})
const u = (id: string, parentId: string | null) => said(id, parentId, { role: 'user', content: id })
const a = (id: string, parentId: string) =>
  said(id, parentId, { role: 'assistant', content: [{ type: 'text', text: id }] })
const compaction = (id: string, parentId: string, firstKeptEntryId: string) => ({
  type: 'compaction',
  id,
  parentId,
  summary: id,
  firstKeptEntryId,
  tokensBefore: 1,
})

it('a session of pi, compacted twice', async () => {
  const header = { type: 'session', version: 3, id: 'pi-1', timestamp: '2025-01-01T00:00:00.000Z', cwd: '/w' }
  const entries = [
    header,
    u('u1', null),
    a('a1', 'u1'),
    u('u2', 'a1'),
    a('a2', 'u2'),
    compaction('S1', 'a2', 'u2'),
    u('x', 'S1'),
    u('u3', 'S1'),
    a('a3', 'u3'),
  ]
  const path = fileOf('pi/session.jsonl', linesOf(entries))
  expect(await importFile(store, path, { branches: true })).toMatchObject({
    source: 'pi',
    conversations: [
      { sessionId: 'pi-1', status: 'imported' },
      { sessionId: 'pi-1/x', status: 'imported' },
    ],
  })
  expect(await shown('pi-1')).toEqual(['[S1]', 'u2', 'a2', 'u3', 'a3'])
  expect(await shown('pi-1/x')).toEqual(['[S1]', 'u2', 'a2', 'x'])
  fileOf('pi/session.jsonl', linesOf([...entries, compaction('S2', 'a3', 'u3'), u('u4', 'S2')]))
  expect(await importFile(store, path)).toMatchObject({
    conversations: [{ status: 'extended', messages: 1, bookkeeping: 1 }],
  })
  expect(await shown('pi-1')).toEqual(['[S2]', 'u3', 'a3', 'u4'])
  expect(await importFile(store, path)).toMatchObject({ conversations: [{ status: 'unchanged' }] })
  // Undoing the second shows the first, with the tail it had kept.
  const [second] = (await store.listCompactions('pi-1')).reverse()
  await store.undoCompaction('pi-1', second!.id)
  expect(await shown('pi-1')).toEqual(['[S1]', 'u2', 'a2', 'u3', 'a3', 'u4'])
  await undoAll('pi-1')
  expect(await shown('pi-1')).toEqual(['u1', 'a1', 'u2', 'a2', 'u3', 'a3', 'u4'])
  expect((await store.sessions.verify('pi-1')).findings).toEqual([])
})

it('a task of Roo Code', async () => {
  const at = (ts: number, role: string, rest: object = {}) => ({ role, content: `m${ts}`, ts, ...rest })
  const first = [
    at(1, 'user', { condenseParent: 'C' }),
    at(2, 'assistant', { condenseParent: 'C', truncationParent: 'T' }),
    at(3, 'user', { condenseParent: 'C', truncationParent: 'T' }),
    { ...at(3, 'user'), content: 'marker', isTruncationMarker: true, truncationId: 'T', condenseParent: 'C' },
    at(5, 'assistant', { condenseParent: 'C' }),
    { ...at(6, 'user'), content: [{ type: 'text', text: 'summary' }], isSummary: true, condenseId: 'C' },
    at(7, 'assistant', { condenseParent: 'gone' }),
  ]
  const path = fileOf('tasks/task-7/api_conversation_history.json', JSON.stringify(first))
  const report = await importFile(store, path)
  expect(report).toMatchObject({
    source: 'roo',
    conversations: [{ sessionId: 'task-7', status: 'imported', messages: 5 }],
  })
  expect(await shown('task-7')).toEqual(['[summary]', '%time-7'])
  const [truncation, condensation] = await store.listCompactions('task-7')
  await store.undoCompaction('task-7', condensation!.id)
  expect(await shown('task-7')).toEqual(['%time-1', '[marker]', '%time-5', '%time-7'])
  await store.undoCompaction('task-7', truncation!.id)
  expect(await shown('task-7')).toEqual(['%time-1', '%time-2', '%time-3', '%time-5', '%time-7'])
  await redoAll('task-7')
  expect(await importFile(store, path)).toMatchObject({ conversations: [{ status: 'unchanged' }] })
  fileOf('tasks/task-7/api_conversation_history.json', JSON.stringify([...first, at(8, 'user')]))
  expect(await importFile(store, path)).toMatchObject({
    conversations: [{ status: 'extended', messages: 1 }],
  })
  expect(await shown('task-7')).toEqual(['[summary]', '%time-7', '%time-8'])
  expect((await store.sessions.verify('task-7')).findings).toEqual([])

  const wrong = fileOf(
    'tasks/task-7/ui_messages.json',
    JSON.stringify([{ ts: 1, type: 'say', say: 'text', text: 'x' }]),
  )
  await expect(importFile(store, wrong)).rejects.toMatchObject({
    code: 'FILE_UNRECOGNIZED',
    message: expect.stringContaining('import api_conversation_history.json in the same folder'),
  })
})

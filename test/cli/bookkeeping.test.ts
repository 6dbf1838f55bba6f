import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { newFolder } from '../support/temporary.ts'

/* Bookkeeping of an agent: tool messages without parts, which are stored and never sent. */

const path = join(newFolder(), 'notes.db')
const silent = { role: 'tool', content: [] } as const
let compaction: string

beforeAll(async () => {
  await using store = await openStore(path, { env: false })
  await store.append('talk', [
    silent,
    { role: 'user', content: 'One' },
    silent,
    { role: 'assistant', content: 'Two' },
    { role: 'user', content: 'Three' },
    silent,
  ])
  const run = await store.compactSession('talk', { range: { from: 2, to: 4 }, summary: 'So.' })
  compaction = run!.compactions[0]!.id
  await store.sessions.fork('talk', { id: 'fork' })
})

const run = async (...argv: string[]) => runCli([...argv, '--db', path])

it('is not what show calls the view, and is everything stored', async () => {
  const view = (await run('show', 'talk', '--json')).json as { messages: { position: number | null }[] }
  expect(view.messages.map(({ position }) => position)).toEqual([null, 5])
  const last = (await run('show', 'talk', '--json', '--tail', '1')).json as typeof view
  expect(last.messages.map(({ position }) => position)).toEqual([5])
  const full = (await run('show', 'talk', '--json', '--full')).json as typeof view
  expect(full.messages.filter(({ position }) => position !== null)).toHaveLength(6)
  expect((await run('show', 'talk')).out).not.toContain('nothing that a model is sent')
})

it('is in no diff and no document', async () => {
  const { json } = await run('diff', 'talk', compaction, '--json')
  expect((json as { changes: { position: number | null; change: string }[] }).changes).toEqual([
    expect.objectContaining({ change: 'removed', position: 2 }),
    expect.objectContaining({ change: 'removed', position: 4 }),
    expect.objectContaining({ change: 'added', position: null }),
  ])
  for (const format of ['html', 'markdown']) {
    const { out } = await run('export', 'talk', '--format', format, '--hidden', 'show')
    // Three messages and the summary; a row of bookkeeping would be a heading with its position.
    for (const position of [1, 3, 6]) expect(out).not.toMatch(new RegExp(`\\b${position} · tool\\b`))
    expect(out).toContain('Three')
  }
})

it('is no row of a difference between two moments, and no token of the view', async () => {
  const { json } = await run('diff', 'talk', 'position:1', 'now', '--json')
  // Position 1 is silent, and so are 3 and 6: the first view has nothing, the second the summary and one message.
  expect(json).toMatchObject({ rows: { before: 0, after: 2 }, tokens: { before: 0 } })
  const { changes } = json as { changes: { position: number | null }[] }
  expect(changes.map(({ position }) => position ?? null)).toEqual([null, 5])
})

it('is counted by no command: three messages', async () => {
  expect((await run('sessions', '--json')).json).toMatchObject({
    sessions: [{ messages: 3 }, { messages: 3 }],
  })
  expect((await run('show', 'talk')).out).toContain('3 messages stored')
  expect((await run('tree', '--json')).json).toMatchObject({
    sessions: [{ messages: 3, forks: [{ messages: 3 }] }],
  })
})

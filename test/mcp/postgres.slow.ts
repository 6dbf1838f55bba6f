import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import type { Bundled } from '../support/bundled.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { call, result, say } from '../support/conversation.ts'
import { postgresServer } from '../support/postgres.ts'
import { newFile } from '../support/temporary.ts'
import { connect } from './connect.ts'

/* The tools over a PostgreSQL server answer as they do over a file. */

const server = await postgresServer()

/** Calls in an order in which each finds what it needs. */
const STEPS: readonly (readonly [name: string, given: object])[] = [
  ['list_sessions', {}],
  ['list_sessions', { search: 'kett', limit: 1 }],
  ['get_stats', { session_id: 'talk' }],
  ['search_history', { query: 'Is the plug out?' }],
  ['read_history', { session_id: 'talk', position: 3 }],
  ['open_history', { session_id: 'talk', call_id: 'c1' }],
  ['get_view', { session_id: 'talk' }],
  ['get_view', { session_id: 'talk', at: 'position:2' }],
  ['preview_compaction', { session_id: 'long', target_tokens: 400 }],
  ['compact_session', { session_id: 'long', target_tokens: 400, reason: 'too long' }],
  ['list_compactions', { session_id: 'long' }],
  ['diff_views', { session_id: 'long', from: 'before-compaction:@' }],
  ['undo_compaction', { session_id: 'long', compaction_id: '@' }],
  ['undo_compaction', { session_id: 'long', compaction_id: '@' }],
  ['redo_compaction', { session_id: 'long', compaction_id: '@' }],
  ['pin_messages', { session_id: 'talk', message_ids: ['m1'] }],
  ['unpin_messages', { session_id: 'talk', message_ids: ['m1'] }],
  ['remember_note', { owner: 'ann', text: 'Deploys on Fridays.', key: 'deploys' }],
  ['recall_notes', { session_id: 'talk' }],
  ['fork_session', { session_id: 'talk', at: 'message:m2' }],
  ['list_forks', { session_id: 'talk' }],
  ['get_view', { session_id: 'nobody' }],
  ['get_view', { session_id: 'talk', at: 'message:none' }],
]

/** An answer without ids, times and marks. */
function plain(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, 'TIME')
    .replaceAll(/data-[0-9a-f]{24}/g, 'FENCE')
    .replaceAll(/[\w-]{16}:s?(?=\d)/g, 'ID:')
    .replaceAll(/"(?:next_cursor|previous_cursor|cursor)":"[^"]*"|cursor \\"[^"]*"/g, 'CURSOR')
}

describe.skipIf(server === undefined)('over a server', () => {
  let bundled: Bundled
  beforeAll(async () => {
    bundled = await bundleCli()
  })
  afterAll(() => bundled.remove())

  async function answersOf(db: string): Promise<string[]> {
    const store = await openStore(db, { env: false })
    await store.sessions.create({
      id: 'talk',
      title: 'The kettle',
      owner: 'ann',
      provider: 'openai',
      model: 'gpt-4o',
    })
    const messages = [
      { ...say('user', 'Does the kettle work?'), id: 'm1' },
      { ...call('c1', 'look', { at: 'kettle' }), id: 'm2' },
      { ...result('c1', 'It is cold.\nIts plug is out.', 'look'), id: 'm3' },
      { ...say('assistant', 'No: its plug is out.'), id: 'm4' },
    ]
    await store.append(
      'talk',
      messages.map((message, at) => ({ ...message, createdAt: Date.UTC(2026, 2, 1, 10, at) })),
    )
    for (let at = 1; at <= 12; at++)
      await store.append('long', [
        { ...say('user', `Question ${at}: ${'some words of mine '.repeat(10)}`), id: `q${at}` },
        { ...say('assistant', `Answer ${at}: ${'many words of yours '.repeat(10)}`), id: `a${at}` },
      ])
    await store.close()
    const client = await connect(bundled.script, { db, argv: ['--allow', 'compact,undo,pin,note,fork'] })
    const answers: string[] = []
    for (const [name, given] of STEPS) {
      const { text, data, isError } = await client.call(name, given)
      answers.push(`${name} ${isError} ${plain(text)} ${plain(data ?? null)}`)
    }
    const { resources } = await client.client.listResources()
    answers.push(plain(resources.map(({ uri, title }) => [uri, title])))
    answers.push(plain((await client.client.readResource({ uri: 'undertext://sessions/talk' })).contents))
    expect(client.errors()).toBe('')
    await client.close()
    return answers
  }

  it('every tool answers as over a file', async () => {
    const [file, postgres] = [await answersOf(newFile()), await answersOf(await server!.newDatabase())]
    expect(postgres).toEqual(file)
  })

  it('a restricted client sees only the sessions of its owner', async () => {
    const db = await server!.newDatabase()
    const store = await openStore(db, { env: false })
    for (const owner of ['ann', 'bob']) {
      await store.sessions.create({ id: owner, owner })
      await store.append(owner, [say('user', `The secret of ${owner}.`)])
    }
    await store.close()
    const client = await connect(bundled.script, { db, argv: ['--owner', 'ann'] })
    const { data } = await client.call('search_history', { query: 'secret' })
    expect(data.messages.map((one: { session_id: string }) => one.session_id)).toEqual(['ann'])
    expect((await client.call('get_view', { session_id: 'bob' })).text).toMatch(/^SESSION_NOT_FOUND/)
    await client.close()
  })
})

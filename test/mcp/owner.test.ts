import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import type { Bundled } from '../support/bundled.ts'
import { bundleCli } from '../support/cli-bundle.ts'
import { say } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'
import { type Called, type Connected, connect } from './connect.ts'

/* With --owner, whatever belongs to others does not exist: an answer about it is that about an unknown id. */

/** The id of a session of another owner, and one that no session has. */
const [THEIRS, UNKNOWN] = ['theirs', 'nobody'] as const
const SECRET = 'the combination of the safe'

let bundled: Bundled
let db: string
let server: Connected
let store: Store
/** Ids of what belongs to others. */
let foreign: {
  readonly message: string
  readonly compaction: string
  readonly note: string
  readonly fork: string
}
beforeAll(async () => {
  bundled = await bundleCli()
  db = newFile()
  store = await openStore(db, { env: false })
  for (const [id, owner] of [
    ['mine', 'ann'],
    [THEIRS, 'bob'],
    ['ownerless', undefined],
  ] as const) {
    await store.sessions.create({ id, ...(owner !== undefined && { owner }) })
    await store.append(id, [
      say('user', `Hello of ${id}: ${SECRET}`),
      say('assistant', 'Hello.'),
      say('user', 'More.'),
    ])
  }
  const [message] = await store.getMessages(THEIRS)
  const { id: compaction } = await store.compactions.hide(THEIRS, [message!.id])
  // A fork that was given to another owner, and one of another owner's session that was given to this one.
  const fork = await store.sessions.fork('mine', { id: 'their fork' })
  await store.sessions.update(fork.id, { owner: 'bob' })
  await store.sessions.fork(THEIRS, { id: 'my fork' })
  await store.sessions.update('my fork', { owner: 'ann' })
  const { id: note } = await store.notes.add(SECRET, { owner: 'bob' })
  await store.notes.add('of the session', { session: THEIRS })
  foreign = { message: message!.id, compaction, note, fork: fork.id }
  const argv = ['--owner', 'ann', '--allow', 'compact,undo,pin,note,fork,import']
  server = await connect(bundled.script, { db, argv })
})
afterAll(async () => {
  await server.close()
  await store.close()
  bundled.remove()
})

/** The answer of a tool for a session of another owner, with the words for an unknown one. */
async function forBoth(name: string, given: object): Promise<readonly [theirs: Called, unknown: Called]> {
  const theirs = await server.call(name, { session_id: THEIRS, ...given })
  const unknown = await server.call(name, { session_id: UNKNOWN, ...given })
  return [{ ...theirs, text: theirs.text.replaceAll(THEIRS, UNKNOWN) }, unknown]
}

describe('a session of another owner', () => {
  const cases: { readonly [name: string]: () => object } = {
    search_history: () => ({ query: SECRET }),
    read_history: () => ({ position: 1 }),
    open_history: () => ({ message_id: foreign.message }),
    recall_notes: () => ({}),
    remember_note: () => ({ text: 'a note' }),
    forget_note: () => ({ note_id: foreign.note }),
    get_stats: () => ({}),
    get_view: () => ({}),
    list_compactions: () => ({}),
    diff_views: () => ({ from: 'position:1' }),
    list_forks: () => ({}),
    preview_compaction: () => ({ target_tokens: 1 }),
    compact_session: () => ({ target_tokens: 1 }),
    undo_compaction: () => ({ compaction_id: foreign.compaction }),
    redo_compaction: () => ({ compaction_id: '@' }),
    pin_messages: () => ({ message_ids: [foreign.message] }),
    unpin_messages: () => ({ message_ids: [foreign.message] }),
    fork_session: () => ({}),
  }

  it('is unknown to every tool that takes a session', async () => {
    const { tools } = await server.client.listTools()
    const taking = tools.filter(({ inputSchema }) => 'session_id' in (inputSchema.properties ?? {}))
    expect(Object.keys(cases).sort()).toEqual(taking.map(({ name }) => name).sort())
    for (const [name, given] of Object.entries(cases)) {
      const [theirs, unknown] = await forBoth(name, given())
      expect(theirs).toEqual(unknown)
      expect([name, theirs.isError]).toEqual([name, true])
      expect(theirs.text).not.toContain(SECRET)
    }
    const { visibleCount, version } = await store.sessions.get(THEIRS)
    expect([visibleCount, version]).toEqual([2, (await store.sessions.get(THEIRS)).version])
    expect((await store.notes.list({ session: THEIRS })).map(({ text }) => text).sort()).toEqual(
      ['of the session', SECRET].sort(),
    )
  })

  it('is in no list, no search and no resource', async () => {
    const sessions = (await server.call('list_sessions')).data.sessions as { session_id: string }[]
    expect(sessions.map(({ session_id }) => session_id).sort()).toEqual(['mine', 'my fork'])
    expect((await server.call('list_sessions', { owner: 'bob' })).text).toMatch(/^INVALID_INPUT: /)
    const found = (await server.call('search_history', { query: SECRET })).data.messages as {
      session_id: string
    }[]
    expect(new Set(found.map(({ session_id }) => session_id))).toEqual(new Set(['mine', 'my fork']))
    const { resources } = await server.client.listResources()
    expect(resources.map(({ name }) => name).sort()).toEqual(['mine', 'my fork'])
    for (const id of [THEIRS, 'ownerless', UNKNOWN])
      await expect(server.client.readResource({ uri: `undertext://sessions/${id}` })).rejects.toThrow(
        'Resource not found',
      )
    const cursor = Buffer.from(JSON.stringify({ id: THEIRS, newestAt: 1 })).toString('base64url')
    const unknown = Buffer.from(JSON.stringify({ id: UNKNOWN, newestAt: 1 })).toString('base64url')
    const answers = [
      (await server.call('list_sessions', { cursor })).text.replace(THEIRS, UNKNOWN),
      (await server.call('list_sessions', { cursor: unknown })).text,
    ]
    expect(answers[0]).toBe(answers[1])
    expect(answers[0]).toMatch(/^SESSION_NOT_FOUND: /)
  })

  it('is no fork and no original of one', async () => {
    expect((await server.call('list_forks', { session_id: 'mine' })).data.forks).toEqual([])
    expect((await server.call('list_forks', { session_id: 'my fork' })).data.forked_from).toBeNull()
  })

  it('names no moment and no compaction of a session of this owner', async () => {
    for (const at of [`message:${foreign.message}`, `compaction:${foreign.compaction}`]) {
      const theirs = await server.call('get_view', { session_id: 'mine', at })
      expect(theirs.text).toMatch(/_NOT_FOUND: /)
    }
    const undo = await server.call('undo_compaction', {
      session_id: 'mine',
      compaction_id: foreign.compaction,
    })
    expect(undo.text).toMatch(/^COMPACTION_NOT_FOUND: /)
  })
})

describe('notes', () => {
  it('are those of the owner and of the sessions of the owner', async () => {
    expect((await server.call('recall_notes')).data.notes).toEqual([])
    await server.call('remember_note', { text: 'Ann deploys on Fridays.' })
    expect((await server.call('recall_notes', { session_id: 'mine' })).data.notes).toMatchObject([
      { owner: 'ann' },
    ])
    for (const given of [{ owner: 'bob' }, { owner: 'nobody' }])
      expect((await server.call('recall_notes', given)).text).toMatch(/^INVALID_INPUT: .*omit owner/)
    expect((await server.call('forget_note', { note_id: foreign.note })).isError).toBe(true)
    expect((await store.notes.list({ owner: 'bob' })).length).toBe(1)
  })
})

describe('an import', () => {
  it('belongs to the owner, and does not extend the session of another with its id', async () => {
    const talk = newFile('theirs.jsonl')
    writeFileSync(talk, `${JSON.stringify(say('user', 'Hello'))}\n`)
    const before = await store.forOwner('bob').getMessages('theirs')
    expect((await server.call('import_transcripts', { path: talk })).data).toMatchObject({ sessions: 1 })
    expect(await store.forOwner('ann').getMessages('theirs')).toMatchObject([{ content: 'Hello' }])
    expect(await store.forOwner('bob').getMessages('theirs')).toEqual(before)
    const own = newFile('new.jsonl')
    writeFileSync(own, `${JSON.stringify(say('user', 'Hello'))}\n`)
    expect((await server.call('import_transcripts', { path: own })).data).toMatchObject({
      sessions: 1,
      failures: [],
    })
    expect((await store.sessions.get('new')).owner).toBe('ann')
  })
})

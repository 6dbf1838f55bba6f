import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  deleteSession,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  importSessionToStore,
  listSessions,
  listSubagents,
  renameSession,
  tagSession,
} from '@anthropic-ai/claude-agent-sdk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type SessionStoreEntry,
  type UndertextSessionStore,
  undertextSessionStore,
} from '../../src/adapters/claude-agent-sdk/index.ts'
import { openStore, type Store } from '../../src/index.ts'
import { newFolder } from '../support/temporary.ts'
import { SESSION, turn } from './entries.ts'

/*
 * The SDK's own functions for sessions, on a session that Claude Code left on the disk.
 */

const folder = newFolder()
const dir = join(folder, 'work')
let store: Store
let sessionStore: UndertextSessionStore
let projectKey: string

/** Entries that follow each other, as in a transcript. */
function chained(entries: SessionStoreEntry[], isSidechain = false): SessionStoreEntry[] {
  let parentUuid: string | null = null
  return entries.map((entry) => {
    if (entry.uuid === undefined) return entry
    const own = { ...entry, parentUuid, isSidechain, sessionId: SESSION, cwd: dir }
    parentUuid = entry.uuid
    return own
  })
}

const main = chained(turn())
const agent = chained(turn('toolu_9'), true)

beforeAll(async () => {
  mkdirSync(dir)
  // How the SDK names a project after its folder.
  projectKey = realpathSync(dir).replaceAll(/[^a-zA-Z0-9]/g, '-')
  const project = join(folder, 'config', 'projects', projectKey)
  const lines = (entries: SessionStoreEntry[]): string =>
    entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
  mkdirSync(join(project, SESSION, 'subagents'), { recursive: true })
  writeFileSync(join(project, `${SESSION}.jsonl`), lines(main))
  writeFileSync(join(project, SESSION, 'subagents', 'agent-a1.jsonl'), lines(agent))
  writeFileSync(join(project, SESSION, 'subagents', 'agent-a1.meta.json'), '{ "agentType": "Explore" }')
  process.env.CLAUDE_CONFIG_DIR = join(folder, 'config')
  store = await openStore(join(folder, 'chats.db'))
  sessionStore = undertextSessionStore({ store })
})
afterAll(async () => {
  delete process.env.CLAUDE_CONFIG_DIR
  await store.close()
})

const words = (messages: readonly { readonly type: string; readonly uuid: string }[]): string[] =>
  messages.map(({ type, uuid }) => `${type} ${uuid}`)

it('an import stores everything, and a second import stores nothing new', async () => {
  await importSessionToStore(SESSION, sessionStore, { dir, batchSize: 5 })
  expect(await sessionStore.load({ projectKey, sessionId: SESSION })).toStrictEqual(main)
  expect(await listSubagents(SESSION, { dir, sessionStore })).toEqual(['a1'])
  await importSessionToStore(SESSION, sessionStore, { dir })
  const uuids = (await sessionStore.load({ projectKey, sessionId: SESSION }))!.flatMap(
    ({ uuid }) => uuid ?? [],
  )
  expect(uuids).toEqual(main.flatMap(({ uuid }) => uuid ?? []))
})

it('is read as from the disk', async () => {
  const fromDisk = await getSessionMessages(SESSION, { dir })
  expect(fromDisk.length).toBeGreaterThan(4)
  expect(await getSessionMessages(SESSION, { dir, sessionStore })).toEqual(fromDisk)
  const ofAgent = await getSubagentMessages(SESSION, 'a1', { dir })
  expect(ofAgent.length).toBeGreaterThan(4)
  expect(words(await getSubagentMessages(SESSION, 'a1', { dir, sessionStore }))).toEqual(words(ofAgent))
})

it('is renamed, tagged, listed and described', async () => {
  await renameSession(SESSION, 'A file', { dir, sessionStore })
  await tagSession(SESSION, 'kept', { dir, sessionStore })
  const [listed, ...more] = await listSessions({ dir, sessionStore })
  expect(more).toEqual([])
  expect(listed).toMatchObject({
    sessionId: SESSION,
    customTitle: 'A file',
    tag: 'kept',
    firstPrompt: 'Read a.txt',
    gitBranch: 'main',
  })
  const info = await getSessionInfo(SESSION, { dir, sessionStore })
  for (const field of [
    'summary',
    'customTitle',
    'tag',
    'firstPrompt',
    'gitBranch',
    'cwd',
    'createdAt',
  ] as const)
    expect(listed![field]).toBe(info![field])
})

it('is forked', async () => {
  const { sessionId } = await forkSession(SESSION, { dir, sessionStore, title: 'Another' })
  expect((await listSessions({ dir, sessionStore })).map(({ customTitle }) => customTitle).sort()).toEqual([
    'A file',
    'Another',
  ])
  const texts = (messages: readonly { message: unknown }[]): unknown[] =>
    messages.map(({ message }) => (message as { content: unknown }).content)
  expect(texts(await getSessionMessages(sessionId, { dir, sessionStore }))).toEqual(
    texts(await getSessionMessages(SESSION, { dir, sessionStore })),
  )
})

it('is deleted, and can be had back', async () => {
  await deleteSession(SESSION, { dir, sessionStore })
  expect((await listSessions({ dir, sessionStore })).map(({ customTitle }) => customTitle)).toEqual([
    'Another',
  ])
  expect(await getSessionMessages(SESSION, { dir, sessionStore })).toEqual([])
  expect(await listSubagents(SESSION, { dir, sessionStore })).toEqual([])
  expect(await sessionStore.restore({ projectKey, sessionId: SESSION })).toBe(true)
  expect(await listSubagents(SESSION, { dir, sessionStore })).toEqual(['a1'])
  expect(await getSessionMessages(SESSION, { dir, sessionStore })).toEqual(
    await getSessionMessages(SESSION, { dir }),
  )
})

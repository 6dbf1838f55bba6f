import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HumanMessage } from '@langchain/core/messages'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { transcriptOf } from '../../src/adapters/claude-agent-sdk/entry.ts'
import { undertextSessionStore } from '../../src/adapters/claude-agent-sdk/index.ts'
import { UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { type HistoryRecord, isUndertextError, openStore, type Store } from '../../src/index.ts'
import { openRow, readLog, searchLog } from '../../src/store/recall/index.ts'
import { historyLines, importFile, restoreFrom } from '../../src/transfer/index.ts'
import { say } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

/*
 * Every option `owner` of the source has its calls here. A call for an owner must treat a session of another owner as it treats one that
 * does not exist, and refuse `owner: undefined`.
 */

const SECRET = 'the combination of the safe is 4711'
const THEIRS = 'theirs'
const UNKNOWN = 'nowhere'

type Owner = { readonly owner: string }
/** Calls a verb for an owner on a session, which is THEIRS or UNKNOWN. */
type Call = (store: Store, mine: Owner, id: string) => Promise<unknown>
type Calls = { readonly [name: string]: Call }

const user = (text: string) => ({ id: 'u9', role: 'user' as const, parts: [{ type: 'text' as const, text }] })

/** Calls that may create the session: for an unknown one they succeed, and for that of another owner they throw this code. */
const CREATING: { readonly [name: string]: 'SESSION_NOT_FOUND' | 'SESSION_EXISTS' } = {
  createSession: 'SESSION_EXISTS',
  'chats.resume': 'SESSION_NOT_FOUND',
  'chats.save': 'SESSION_NOT_FOUND',
  'UndertextSession.addItems': 'SESSION_NOT_FOUND',
  'UndertextChatMessageHistory.addMessages': 'SESSION_NOT_FOUND',
  importSession: 'SESSION_EXISTS',
  prepareRequest: 'SESSION_NOT_FOUND',
  withOverflowRecovery: 'SESSION_NOT_FOUND',
}

/** The schema of each option `owner`, and the calls that take it. */
const SITES: { readonly [site: string]: Calls } = {
  'store/config/store-options.ts fieldsSchema': {
    createSession: (store, mine, id) => store.sessions.create({ ...mine, id }),
    // The field itself is set, for whoever may call it.
    'sessions.update: the field': (store, mine) => store.sessions.update(UNKNOWN, mine),
  },
  'store/config/store-options.ts forOwnerSchema': {
    getSession: (store, mine, id) => store.sessions.get(id, mine),
    updateSession: (store, mine, id) => store.sessions.update(id, { title: 'mine now' }, mine),
  },
  'store/topics/sessions.ts listSchema': {
    listSessions: (store, mine) => store.sessions.list(mine),
    'sessions.list: after': (store, mine, after) => store.sessions.list({ ...mine, after }),
  },
  'store/search.ts searchSchema': {
    search: async (store, mine) => (await store.search('safe', mine)).hits,
    'search: session': (store, mine, session) => store.search('safe', { ...mine, session }),
  },
  'store/notes.ts scopeShape': {
    'notes.add: source': (store, mine, sessionId) =>
      store.notes.add('a fact', { ...mine, source: { sessionId, messageId: 'm1' } }),
  },
  'store/notes.ts listNotesSchema': {
    recall: (store, mine) => store.notes.list({ query: 'safe', ...mine }),
  },
  'store/notes.ts notesSchema': {
    prepareRequest: (store, mine, id) => store.prepareRequest(id, { notes: { tokens: 100, ...mine } }),
    withOverflowRecovery: (store, mine, id) =>
      store.withOverflowRecovery(id, (request) => request.messages, { notes: { tokens: 100, ...mine } }),
  },
  'store/recall/scope.ts scopeSchema': {
    searchLog: async (store, mine) => (await searchLog(store, mine, { query: 'safe' })).text,
    'searchLog: sessions': async (store, mine, id) =>
      (await searchLog(store, { ...mine, sessions: [id] }, { query: 'safe' })).text,
    'searchLog: session': async (store, mine, session) =>
      (await searchLog(store, mine, { query: 'safe', session })).text,
    readLog: async (store, mine, session) => (await readLog(store, mine, { session })).text,
    openRow: async (store, mine, session) => (await openRow(store, mine, { session, position: 1 })).text,
  },
  'store/history/import/import-types.ts importSchema': {
    importSession: (store, mine, id) =>
      store.sessions.import([{ type: 'message', message: say('user', 'Hello') }], {
        id,
        ...mine,
        source: 'test',
      }),
  },
  'store/history/restore-session.ts restoreSchema': {
    restoreSession: async (store, mine) => restored(await store.sessions.import(await records(store), mine)),
  },
  'transfer/import-report.ts importFileSchema': {
    importFile: async (store, mine, id) => {
      const file = newFile('.json')
      writeFileSync(file, JSON.stringify([{ role: 'user', content: 'Hello' }]))
      const { conversations } = await importFile(store, file, { ...mine, session: id })
      // A file reports what was refused. An unknown session would be created.
      expect(conversations).toMatchObject([{ status: id === THEIRS ? 'refused' : 'imported' }])
    },
    restoreFrom: async (store, mine) => {
      for await (const one of restoreFrom(store, linesOf(await records(store)), mine))
        if ('restored' in one) return restored(one.restored)
      return undefined
    },
  },
  'adapters/ai-sdk/options.ts ownerShape': {
    'chats.load': (store, mine, id) => chatStore(store).load(id, { ...mine, validate: false }),
    'chats.withdraw': (store, mine, id) => chatStore(store).withdraw(id, mine),
    'chats.fork': (store, mine, id) => chatStore(store).fork(id, mine),
    'chats.fork: at': (store, mine, id) => chatStore(store).fork(id, { ...mine, at: { afterMessage: 'u1' } }),
  },
  'adapters/ai-sdk/options.ts turnSchema': {
    'chats.resume': async (store, mine, id) =>
      (await chatStore(store).resume({ id, message: user('Hi') }, { ...mine, validate: false })).messages,
    'chats.resume: edit': (store, mine, id) =>
      chatStore(store).resume({ id, message: user('Hi'), messageId: 'u1' }, { ...mine, validate: false }),
    'chats.resume: regenerate': (store, mine, id) =>
      chatStore(store).resume(
        { id, trigger: 'regenerate-message', messageId: 'u1' },
        { ...mine, validate: false },
      ),
  },
  'adapters/ai-sdk/chat/chat-store.ts chatStore': {
    'chats.save': (store, mine, chatId) => chatStore(store).save({ chatId, messages: [user('Hi')], ...mine }),
  },
  'adapters/langchain/chat-message-history.ts optionsSchema': {
    'UndertextChatMessageHistory.getMessages': (store, mine, sessionId) =>
      new UndertextChatMessageHistory({ store, sessionId, ...mine }).getMessages(),
    'UndertextChatMessageHistory.getMessages: full': (store, mine, sessionId) =>
      new UndertextChatMessageHistory({ store, sessionId, view: 'full', ...mine }).getMessages(),
    'UndertextChatMessageHistory.addMessages': (store, mine, sessionId) =>
      new UndertextChatMessageHistory({ store, sessionId, ...mine }).addMessages([new HumanMessage('Hi')]),
    'UndertextChatMessageHistory.clear': (store, mine, sessionId) =>
      new UndertextChatMessageHistory({ store, sessionId, ...mine }).clear(),
    'UndertextChatMessageHistory.fork': (store, mine, sessionId) =>
      new UndertextChatMessageHistory({ store, sessionId, ...mine }).fork(),
  },
  'adapters/openai-agents/session-options.ts sessionSchema': {
    'UndertextSession.getItems': (store, mine, sessionId) =>
      new UndertextSession({ store, sessionId, ...mine }).getItems(),
    'UndertextSession.getItems: full': (store, mine, sessionId) =>
      new UndertextSession({ store, sessionId, view: 'full', ...mine }).getItems(),
    'UndertextSession.addItems': (store, mine, sessionId) =>
      new UndertextSession({ store, sessionId, ...mine }).addItems([{ role: 'user', content: 'Hi' }]),
    'UndertextSession.popItem': (store, mine, sessionId) =>
      new UndertextSession({ store, sessionId, ...mine }).popItem(),
    'UndertextSession.clearSession': (store, mine, sessionId) =>
      new UndertextSession({ store, sessionId, ...mine }).clearSession(),
    'UndertextSession.replaceHistoryWithCompaction': (store, mine, sessionId) =>
      new UndertextSession({ store, sessionId, ...mine }).replaceHistoryWithCompaction([
        { role: 'user', content: 'Hi' },
      ]),
    'UndertextSession.runCompaction': (store, mine, sessionId) =>
      new UndertextSession({ store, sessionId, ...mine }).runCompaction({ force: true }),
    'UndertextSession.fork': (store, mine, sessionId) =>
      new UndertextSession({ store, sessionId, ...mine }).fork(),
  },
}

/** A session that is not in the store, as records. */
async function records(store: Store) {
  const all = []
  for await (const record of store.sessions.export('to restore')) all.push(record)
  await store.sessions.purge('to restore')
  return all
}

async function* linesOf(all: readonly HistoryRecord[]) {
  let number = 0
  for await (const text of historyLines(all)) yield { number: ++number, text }
}

function restored({ sessionId }: { readonly sessionId: string }): string {
  return sessionId
}

let store: Store
beforeEach(async () => {
  store = await openStore(newFile(), { env: false })
  await store.sessions.create({ id: 'to restore' })
  await store.append('to restore', [say('user', 'Keep this.')])
  await chatStore(store).save({
    chatId: THEIRS,
    messages: [{ ...user(SECRET), id: 'u1' }],
    owner: 'bob',
  })
  await store.append(THEIRS, [{ ...say('assistant', SECRET), id: 'm1' }])
  await store.notes.add(SECRET, { owner: 'bob' })
})
afterEach(async () => {
  await store.close()
})

const ALL = Object.values(SITES).flatMap((calls) => Object.entries(calls))

test.each(ALL)('%s treats a session of another owner as an unknown one', async (name, call) => {
  const before = await shownOf(store)
  const theirs = await outcome(call(store, { owner: 'ann' }, THEIRS))
  expect(await shownOf(store)).toEqual(before)
  expect(JSON.stringify(theirs)).not.toContain('4711')
  if (name in CREATING) {
    expect(theirs).toMatchObject({ code: CREATING[name] })
    return
  }
  const fresh = await openStore(':memory:', { env: false })
  await fresh.sessions.create({ id: 'to restore' })
  await fresh.append('to restore', [say('user', 'Keep this.')])
  expect(theirs).toEqual(await outcome(call(fresh, { owner: 'ann' }, UNKNOWN)))
  await fresh.close()
})

test.each(ALL)('%s refuses an owner that is undefined', async (_, call) => {
  const before = await shownOf(store)
  const given = { owner: undefined } as unknown as Owner
  const refused = await outcome((async () => call(store, given, THEIRS))())
  expect(refused).toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('owner') })
  expect(await shownOf(store)).toEqual(before)
})

it('every option owner of the source is in the table above', () => {
  const sites: string[] = []
  const folder = join(import.meta.dirname, '../../src')
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name === join('messages', 'check.ts')) continue
    const file = name.replaceAll('\\', '/')
    const text = readFileSync(join(folder, name), 'utf8')
    for (const { index } of text.matchAll(/: \w*[oO]wnerOption\b/g)) {
      const declared = text.slice(0, index).matchAll(/^(?:export )?(?:const|function) (\w+)/gm)
      sites.push(`${file} ${[...declared].at(-1)?.[1]}`)
    }
    // Tools of MCP receive JSON, which has no undefined; a history has its owner, and no option.
    if (file.startsWith('cli/') || file === 'storage/records/records.ts') continue
    // One of a union of exact objects: it must be there.
    if (file === 'compat/notes-memory.ts') continue
    expect(text, file).not.toMatch(/\bowner: (z\.|\w*(name|Name|label|Label)Schema)/)
  }
  expect(sites.toSorted()).toEqual(Object.keys(SITES).toSorted())
})

describe('a session without an owner', () => {
  it('is open to every owner, and belongs to the first who appends', async () => {
    await store.sessions.create({ id: 'free' })
    const chats = chatStore(store)
    expect(await chats.load('free', { owner: 'ann' })).toEqual([])
    await chats.resume({ id: 'free', message: user('Hi') }, { owner: 'ann' })
    expect(await store.sessions.get('free')).toMatchObject({ owner: 'ann' })
    expect(await outcome(chats.load('free', { owner: 'bob' }))).toMatchObject({ code: 'SESSION_NOT_FOUND' })
    expect(await chats.load('free', { owner: 'ann' })).toHaveLength(1)
  })

  it('that is forked for an owner gives the owner the fork', async () => {
    await store.append('free', [say('user', 'Hello')])
    const id = await chatStore(store).fork('free', { owner: 'ann' })
    expect(await store.sessions.get(id)).toMatchObject({ owner: 'ann' })
    expect((await store.sessions.get('free')).owner).toBeUndefined()
  })

  it('that several owners claim at once belongs to one, and the others find none', async () => {
    for (let round = 0; round < 10; round++) {
      const id = `free ${round}`
      if (round % 2 === 0) await store.sessions.create({ id })
      const owners = ['ann', 'bob', 'cid']
      const turns = owners.map((owner) =>
        outcome(chatStore(store).save({ chatId: id, messages: [{ ...user(owner), id: owner }], owner })),
      )
      const codes = (await Promise.all(turns)).map((one) => (one as { code?: string }).code)
      const winner = (await store.sessions.get(id)).owner!
      expect(codes).toEqual(owners.map((owner) => (owner === winner ? undefined : 'SESSION_NOT_FOUND')))
      expect((await store.getMessages(id)).map(({ content }) => content)).toEqual([winner])
    }
  })
})

it('the audit of an owner’s notes does not name the owner', async () => {
  const file = newFile()
  const named = await openStore(file, { env: false })
  const { id } = await named.notes.add('a fact', { owner: 'Ann Example', key: 'k' })
  await named.notes.forget(id)
  await named.notes.forget(id, { purge: true })
  await named.close()
  const database = new Database(file)
  const entries = database.prepare('select event, detail from undertext_audit').all()
  database.close()
  expect(entries).toMatchObject([{ event: 'remembered' }, { event: 'forgotten' }, { event: 'forgotten' }])
  expect(JSON.stringify(entries)).not.toContain('Ann Example')
})

it('a transcript whose session was given to another owner is unknown to the store of transcripts', async () => {
  const transcripts = undertextSessionStore({ store })
  const key = { projectKey: 'project', sessionId: 'one' }
  const entry = { type: 'user', uuid: '6e1c1d5e-8f5c-4f0a-9d53-1f3c3f6f1a01', message: { content: SECRET } }
  await transcripts.append(key, [entry])
  await store.sessions.update(transcriptOf(key).id, { owner: 'bob' })
  expect(await transcripts.load(key)).toBeNull()
  expect(await outcome(transcripts.append(key, [{ ...entry, uuid: 'other' }]))).toMatchObject({
    code: 'SESSION_NOT_FOUND',
  })
  await transcripts.delete(key)
  const { id, owner } = await store.sessions.get(transcriptOf(key).id)
  expect(owner).toBe('bob')
  expect(await store.getMessages(id, { visible: true })).toHaveLength(1)
})

/** What the store holds of the other owner. */
async function shownOf(one: Store): Promise<unknown> {
  return [
    await one.sessions.get(THEIRS),
    await one.getMessages(THEIRS),
    await one.notes.list({ owner: 'bob' }),
  ]
}

/** The value of a promise, or the code and the message of its error; the id of the session is replaced. */
async function outcome(promise: Promise<unknown>): Promise<unknown> {
  try {
    const value: unknown = await promise
    return value === undefined ? { value } : JSON.parse(neutral(JSON.stringify(value)))
  } catch (error) {
    if (!isUndertextError(error)) throw error
    return { code: error.code, message: neutral(error.message) }
  }
}

function neutral(text: string): string {
  return text.replaceAll(THEIRS, 'ID').replaceAll(UNKNOWN, 'ID')
}

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

/** Calls that create the session, an id of which another owner has another session. */
const CREATING: ReadonlySet<string> = new Set([
  ...['createSession', 'chats.resume', 'chats.save', 'UndertextSession.addItems', 'importSession'],
  ...['UndertextChatMessageHistory.addMessages', 'importFile'],
])

/** The schema of each option `owner`, and the calls that take it. */
const SITES: { readonly [site: string]: Calls } = {
  'store/config/store-options.ts fieldsSchema': {
    createSession: (store, mine, id) => store.sessions.create({ ...mine, id }),
    // The field itself is set, for a caller that may do so.
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
  'store/scan.ts scanSchema': {
    'privacy.scan': async (store, mine) => {
      const found: unknown[] = []
      for await (const one of store.privacy.scan(mine)) found.push(one)
      return found
    },
  },
  'store/retention.ts applySchema': {
    'privacy.applyRetention': (store, mine) =>
      store.privacy.applyRetention({ ...mine, rules: { hidden: { olderThanDays: 0 } } }),
    'privacy.applyRetention: sessions': (store, mine, id) =>
      store.privacy.applyRetention({ ...mine, sessions: [id], rules: { hidden: { olderThanDays: 0 } } }),
  },
  'store/purge-text.ts scopeSchema': {
    'privacy.purgeText': (store, mine) => store.privacy.purgeText(mine, 'safe'),
  },
  'transfer/import-report.ts importFileSchema': {
    importFile: async (store, mine, id) => {
      const file = newFile('.json')
      writeFileSync(file, JSON.stringify([{ role: 'user', content: 'Hello' }]))
      const { conversations } = await importFile(store, file, { ...mine, session: id })
      expect(conversations).toMatchObject([{ status: 'imported' }])
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
  if (name === 'prepareRequest' || name === 'withOverflowRecovery') {
    // The owner of the notes doesn't choose the session, but it must be theirs.
    expect(theirs).toMatchObject({ code: 'SESSION_NOT_FOUND' })
    return
  }
  if (CREATING.has(name)) {
    expect(await store.forOwner('ann').sessions.get(THEIRS)).toMatchObject({ owner: 'ann' })
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
    // Tools of MCP and the inspector receive JSON, which has no undefined; a history has its owner, and no option.
    if (file.startsWith('cli/') || file.startsWith('inspect/') || file === 'storage/records/records.ts')
      continue
    // One of a union of exact objects: it must be there.
    if (file === 'compat/notes-memory.ts') continue
    expect(text, file).not.toMatch(/\bowner: (z\.|\w*(name|Name|label|Label)Schema)/)
  }
  expect(sites.toSorted()).toEqual(Object.keys(SITES).toSorted())
})

describe('a session without an owner', () => {
  it('is unknown to every owner, and stays as it is when one of them uses its id', async () => {
    await store.append('free', [say('user', 'of nobody')])
    const chats = chatStore(store)
    expect(await outcome(chats.load('free', { owner: 'ann' }))).toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await chats.save({ chatId: 'free', messages: [user('of ann')], owner: 'ann' })
    expect(await chats.load('free', { owner: 'ann' })).toHaveLength(1)
    expect((await store.getMessages('free')).map(({ content }) => content)).toEqual(['of nobody'])
    expect((await store.sessions.get('free')).owner).toBeUndefined()
  })

  it('belongs to an owner once it is given to one', async () => {
    await store.append('free', [say('user', 'Hello')])
    await store.sessions.update('free', { owner: 'ann' })
    expect(await store.forOwner('ann').getMessages('free')).toHaveLength(1)
    expect(await outcome(store.forOwner('bob').getMessages('free'))).toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
  })
})

describe('an id that several owners use', () => {
  it('names another session in the store of each', async () => {
    const owners = ['ann', 'bob', 'cid']
    await Promise.all(owners.map((owner) => store.forOwner(owner).append('chat', [say('user', owner)])))
    for (const owner of owners) {
      const own = store.forOwner(owner)
      expect((await own.getMessages('chat')).map(({ content }) => content)).toEqual([owner])
      expect((await own.sessions.list()).filter(({ id }) => id === 'chat')).toHaveLength(1)
    }
    expect((await store.sessions.list()).filter(({ id }) => id === 'chat')).toHaveLength(3)
  })

  it('is ambiguous in the store of all owners, unless a session without an owner has it', async () => {
    await store.forOwner('ann').append('chat', [say('user', 'ann')])
    expect(await store.getMessages('chat')).toHaveLength(1)
    await store.forOwner('bob').append('chat', [say('user', 'bob')])
    for (const call of [
      () => store.getMessages('chat'),
      () => store.append('chat', [say('user', 'whose?')]),
      () => store.sessions.purge('chat'),
      async () => store.getContextStats('chat'),
    ])
      expect(await outcome((async () => call())())).toMatchObject({ code: 'SESSION_AMBIGUOUS' })
    await store.sessions.update('to restore', { title: 'x' })
    await expect(store.sessions.create({ id: 'chat' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    await store.forOwner('bob').sessions.purge('chat')
    expect(await store.getMessages('chat')).toMatchObject([{ content: 'ann' }])
  })

  it('cannot be given to an owner who has it', async () => {
    await store.append('chat', [say('user', 'of nobody')])
    await store.forOwner('ann').append('chat', [say('user', 'ann')])
    await expect(store.sessions.update('chat', { owner: 'ann' })).rejects.toMatchObject({
      code: 'SESSION_EXISTS',
    })
    expect((await store.sessions.get('chat')).owner).toBeUndefined()
  })
})

describe('the store of an owner', () => {
  it('is one object while it is in use, and that of no other owner', async () => {
    const ann = store.forOwner('ann')
    expect(store.forOwner('ann')).toBe(ann)
    expect(ann.forOwner('ann')).toBe(ann)
    expect(() => ann.forOwner('bob')).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
    for (const owner of [undefined, '', 1, null])
      expect(() => store.forOwner(owner as never)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
    for (const call of [
      () => ann.sessions.create({ owner: 'bob' }),
      () => ann.sessions.list({ owner: 'bob' }),
      () => ann.notes.list({ owner: 'bob' }),
      () => ann.search('safe', { owner: 'bob' }),
    ])
      expect(await outcome((async () => call())())).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('gives no session away', async () => {
    const ann = store.forOwner('ann')
    await ann.append('chat', [say('user', 'Hello')])
    for (const owner of ['bob', null])
      expect(await outcome(ann.sessions.update('chat', { owner }))).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('tells the store of all owners of its events, with the owner', async () => {
    const seen: unknown[] = []
    store.on('turnComplete', ({ sessionId, owner }) => seen.push([sessionId, owner]))
    store.forOwner('ann').on('turnComplete', ({ owner }) => seen.push(owner))
    await store.forOwner('ann').recordResponse('chat', {
      prompt: 'Hi',
      messages: [say('assistant', 'Hello')],
      stopReason: 'stop',
    })
    await store.forOwner('bob').recordResponse('chat', {
      prompt: 'Hi',
      messages: [say('assistant', 'Hello')],
      stopReason: 'stop',
    })
    expect(seen).toEqual([['chat', 'ann'], undefined, ['chat', 'bob']])
  })

  it('warns of an assumed window once for all owners', async () => {
    const seen: unknown[] = []
    store.on('windowAssumed', ({ owner, model }) => seen.push([owner, model]))
    for (const owner of ['ann', 'bob']) {
      const own = store.forOwner(owner)
      await own.append('chat', [say('user', 'Hello')])
      await own.prepareRequest('chat', { provider: 'nobody', model: 'nothing' })
    }
    expect(seen).toEqual([['ann', 'nothing']])
  })

  it('stays open when another closes, and closes with the store of all owners', async () => {
    const [ann, bob] = [store.forOwner('ann'), store.forOwner('bob')]
    await ann.close()
    await bob.append('chat', [say('user', 'Hello')])
    await store.close()
    expect(await outcome(bob.getMessages('chat'))).toMatchObject({ code: 'STORE_CLOSED' })
  })
})

test('a strict store can only be used for an owner', async () => {
  const strict = await openStore(newFile(), { env: false, strict: true })
  for (const call of [
    () => strict.append('s', [say('user', 'Hi')]),
    () => strict.sessions.list(),
    () => strict.search('hi'),
    async () => strict.getContextStats('s'),
  ])
    expect(await outcome((async () => call())())).toMatchObject({ code: 'OWNER_REQUIRED' })
  await strict.forOwner('ann').append('s', [say('user', 'Hi')])
  expect(await strict.forOwner('ann').sessions.list()).toHaveLength(1)
  expect(await strict.forOwner('bob').sessions.list()).toHaveLength(0)
  await strict.close()
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

it('a fork that was given to another owner names its original to nobody but the old one', async () => {
  await using store = await openStore(':memory:')
  const [ann, bob] = [store.forOwner('ann'), store.forOwner('bob')]
  await ann.append('original', [say('user', 'Hello')])
  await ann.sessions.fork('original', { id: 'fork' })
  const originOf = async (of: Store) =>
    (await of.sessions.audit('fork')).flatMap(({ event, detail }) =>
      event === 'forked' ? [detail?.from] : [],
    )
  expect(await originOf(ann)).toEqual(['original'])
  await store.sessions.update('fork', { owner: 'bob' })
  expect(await originOf(bob)).toEqual([undefined])
  expect((await bob.sessions.get('fork')).forkedFrom).toBeUndefined()
})

it('a transcript whose session was given to another owner is unknown to the store of transcripts', async () => {
  const transcripts = undertextSessionStore({ store })
  const key = { projectKey: 'project', sessionId: 'one' }
  const entry = { type: 'user', uuid: '6e1c1d5e-8f5c-4f0a-9d53-1f3c3f6f1a01', message: { content: SECRET } }
  await transcripts.append(key, [entry])
  const { id } = transcriptOf(key)
  await store.sessions.update(id, { owner: 'bob' })
  expect(await transcripts.load(key)).toBeNull()
  await transcripts.append(key, [{ ...entry, uuid: 'other' }])
  expect(await transcripts.load(key)).toHaveLength(1)
  await transcripts.delete(key)
  expect(await store.forOwner('bob').getMessages(id, { visible: true })).toHaveLength(1)
})

/** What the store holds of the other owner. */
async function shownOf(one: Store): Promise<unknown> {
  const bob = one.forOwner('bob')
  return [
    await bob.sessions.get(THEIRS),
    await bob.getMessages(THEIRS),
    await bob.notes.list({ owner: 'bob' }),
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

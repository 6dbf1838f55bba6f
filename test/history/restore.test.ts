import { afterEach, describe, expect, it } from 'vitest'
import { estimatorNamed } from '../../src/core/tokens/index.ts'
import { type ImportEvent, type NewMessage, openStore, type Store } from '../../src/index.ts'
import type { HistoryRecord } from '../../src/storage/records/records.ts'
import { storageOf } from '../support/apply-stage.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'
import { everythingOf, linesFrom, linesOf, recordsOf, restoreLines } from './support.ts'

const open: Store[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

async function openMemory(options: Parameters<typeof openStore>[1] = {}): Promise<Store> {
  const store = await openStore(':memory:', options)
  open.push(store)
  return store
}

const image = (bytes: Uint8Array): NewMessage => ({
  role: 'user',
  content: [{ type: 'image', image: bytes }],
})

/** Things of every kind: an owner, calls, images, a pin, keys, own ids, nested compactions, undone ones, a rewind under an id, usage. */
async function everyKind(store: Store, id = 's'): Promise<void> {
  await store.sessions.create({
    ...{ id, owner: 'o', title: 'The session', provider: 'anthropic', model: 'm' },
    ...{ metadata: { a: [1, null] }, config: { threshold: 0.7 } },
  })
  await store.append(id, [
    { ...say('user', units(20)), id: 'first', idempotencyKey: 'k', metadata: { b: -0 } },
  ])
  await store.append(id, [
    call('c1', 'read', { path: 'a.ts' }),
    result('c1', units(300)),
    say('assistant', 'x'),
  ])
  await store.append(id, [image(new Uint8Array(6_000).fill(7)), say('assistant', 'seen'), ...chat(6)])
  await store.messages.pin(id, ['first'], { actor: 'me', reason: 'kept' })
  await store.compactSession(id, { range: { from: 2, to: 4 }, summary: 'what was read' })
  const { compactions } = (await store.compactSession(id, {
    range: { from: 2, to: 8 },
    summary: 'all of it',
  }))!
  await store.undoCompaction(id, compactions[0]!.id, { actor: 'me', reason: 'too much' })
  const run = (await store.compactSession(id, { range: { from: 7, to: 10 }, summary: 'later' }))!
  await store.undoCompaction(id, run.runId)
  await store.rewind(id, { from: 'start', append: [say('user', 'again')], operationId: 'op' })
  await store.append(id, chat(2))
  await store.requests.recordUsage(id, {
    provider: 'anthropic',
    model: 'm',
    inputTokens: 900,
    cacheReadTokens: 10,
  })
}

describe('a restored session', () => {
  it('has everything the other had', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    await everyKind(store)
    const lines = await linesOf(store, 's')
    expect(await restoreLines(other, lines)).toEqual([
      {
        ...{ line: 1, lastLine: lines.length },
        restored: { sessionId: 's', existing: false, messages: 23, compactions: 4 },
      },
    ])
    expect(await everythingOf(other, 's')).toEqual(await everythingOf(store, 's'))
    expect(await other.getContextStats('s', 'openai')).toEqual(await store.getContextStats('s', 'openai'))
    // The audit's numbers too, for there is nothing else in either store.
    expect(await other.sessions.audit('s')).toEqual(await store.sessions.audit('s'))
  })

  it('knows its keys, its operations and its ids', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    await everyKind(store)
    await restoreLines(other, await linesOf(store, 's'))
    const again = { from: 'start', append: [say('user', 'again')], operationId: 'op' } as const
    expect(await other.rewind('s', again)).toEqual(await store.rewind('s', again))
    await expect(other.append('s', [{ ...say('user', 'x'), id: 'first' }])).rejects.toMatchObject({
      code: 'MESSAGE_ID_TAKEN',
    })
    // The key is free again where its message was taken back by hand, here as there.
    const keyed = { ...say('user', 'other words'), idempotencyKey: 'k' }
    expect((await other.append('s', [keyed])).position).toBe((await store.append('s', [keyed])).position)
  })

  it('has the notes that the other had, under other ids beside it', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    const [message] = (await store.append('s', chat(1))).messages
    await store.notes.add('one', {
      session: 's',
      key: 'k',
      source: message!.id,
      metadata: { a: 1 },
      actor: 'me',
    })
    await store.notes.add('two', { session: 's', key: 'k' })
    const three = await store.notes.add('three \0 \ud800', { session: 's' })
    await store.notes.forget(three.id)
    const notesOf = (of: Store, session: string) => of.notes.list({ session, all: true })
    const lines = await linesOf(store, 's')
    await restoreLines(other, lines)
    expect(await notesOf(other, 's')).toEqual(await notesOf(store, 's'))
    await store.sessions.import(store.sessions.export('s'), { id: 'copy' })
    const copied = await notesOf(store, 'copy')
    expect(copied.map(({ text, key, state }) => [text, key, state])).toEqual([
      ['three \0 \ud800', undefined, 'forgotten'],
      ['two', 'k', 'current'],
      ['one', 'k', 'replaced'],
    ])
    const [copiedMessage] = await store.getMessages('copy')
    expect(copied[2]!.source).toEqual({ sessionId: 'copy', messageId: copiedMessage!.id })
    expect(new Set([...copied, ...(await notesOf(store, 's'))].map(({ id }) => id)).size).toBe(6)
    expect((await store.sessions.audit('copy')).map(({ detail }) => detail?.noteId)).toContain(copied[1]!.id)
    expect(await store.notes.forget(copied[1]!.id)).toEqual({ changed: true, removed: 0 })
    expect((await notesOf(store, 's'))[1]!.state).toBe('current')
    expect((await store.sessions.verify('copy')).findings).toEqual([])
  })

  it('redoes exactly what the undo of a run took down', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    await store.append('s', chat(20, 50))
    const run = (await store.compactSession('s', { targetTokens: 400, summaryMaxTokens: 50 }))!
    await store.undoCompaction('s', run.runId)
    await restoreLines(other, await linesOf(store, 's'))
    const redone = await other.redoCompaction('s', run.runId)
    expect(redone).toEqual(await store.redoCompaction('s', run.runId))
    expect(redone.changed).toBe(true)
  })

  it('is listed beside others in the order of the restores, archived or not', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    await store.append('a', chat(1))
    await store.append('b', chat(1))
    await store.sessions.archive('b')
    await restoreLines(other, [...(await linesOf(store, 'b')), '', ...(await linesOf(store, 'a'))])
    expect((await other.sessions.list()).map(({ id }) => id)).toEqual(['a'])
    expect((await other.sessions.list({ archived: true })).map(({ id }) => id)).toEqual(['b'])
    expect((await other.sessions.get('b')).archivedAt).toBe((await store.sessions.get('b')).archivedAt)
  })

  it('may have come from elsewhere, with its compactions', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    const messages = [...chat(2), call('c', 'run'), result('c', units(50)), ...chat(2), say('user', 'now')]
    const events: ImportEvent[] = messages.map((message, index) => ({
      type: 'message',
      message: { ...message, idempotencyKey: `m${index}` },
    }))
    const compaction = (
      id: string,
      kind: 'condense' | 'truncate',
      from: number,
      to: number,
    ): ImportEvent => ({
      type: 'compaction',
      compaction: { id, kind, covers: [[from, to]], text: `for ${id}`, undone: id === 'z' },
    })
    events.push(
      compaction('x', 'condense', 2, 6),
      compaction('y', 'truncate', 1, 1),
      compaction('z', 'condense', 1, 8),
    )
    await store.sessions.import(events, { id: 's', source: 'elsewhere' })
    expect(await store.listCompactions('s')).not.toHaveLength(0)
    const lines = await linesOf(store, 's')
    await restoreLines(other, lines)
    expect(await everythingOf(other, 's')).toEqual(await everythingOf(store, 's'))
    // What was imported is known in the restored one too.
    const again = await other.sessions.import(events, { id: 's', source: 'elsewhere' })
    expect(again).toMatchObject({ status: 'unchanged', messages: 0 })
  })

  it('may have no messages', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    await store.sessions.create({ id: 's', title: 'to come' })
    expect(await recordsOf(store, 's')).toHaveLength(3)
    await restoreLines(other, await linesOf(store, 's'))
    expect(await other.sessions.get('s')).toEqual(await store.sessions.get('s'))
    expect(await restoreLines(other, await linesOf(store, 's'))).toMatchObject([
      { restored: { existing: true } },
    ])
  })

  it('has the messages to the last bit', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    const deep = JSON.parse(`${'['.repeat(990)}1${']'.repeat(990)}`)
    const input = JSON.parse('{"__proto__":{"x":1},"zero":-0,"n":1e-7,"deep":null}')
    input.deep = deep
    await store.append('s', [
      say('user', 'lone \ud800 surrogate, NUL \0, U+2028 \u2028, line\r\nfeed'),
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 't', input }] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c',
            output: {
              type: 'content',
              value: [
                { type: 'text', text: 'x' },
                { type: 'file', data: new Uint8Array([0, 255]), mediaType: 'a/b' },
              ],
            },
          },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'image', image: new Uint8Array(0) },
          { type: 'image', image: Buffer.alloc(5_000, 3).toString('base64') },
          { type: 'image', image: `data:${'é'.repeat(5_000)}` },
          { type: 'file', data: 'AAAA', mediaType: 'a/b' },
        ],
        metadata: JSON.parse('{"__proto__":1}'),
      },
    ])
    await restoreLines(other, await linesOf(store, 's'))
    const messages = await other.getMessages('s')
    expect(messages).toEqual(await store.getMessages('s'))
    const { content } = messages[1] as unknown as { content: readonly [{ input: typeof input }] }
    expect(Object.hasOwn(content[0].input, '__proto__')).toBe(true)
    expect(Object.is(content[0].input.zero, -0)).toBe(true)
    expect(JSON.stringify(content[0].input.deep)).toBe(JSON.stringify(deep))
    expect(Object.hasOwn(messages[3]!.metadata!, '__proto__')).toBe(true)
    expect((await other.sessions.verify('s')).findings).toEqual([])
  })

  it('has blobs of its own reference: they outlive the session they came from', async () => {
    const store = await openMemory()
    const picture = image(new Uint8Array(9_000).fill(5))
    await store.append('s', [picture])
    await restoreLines(store, await linesOf(store, 's'), { id: 't' })
    expect(await store.sessions.purge('s')).toMatchObject({ blobs: 0 })
    expect((await store.getMessages('t'))[0]!.content).toEqual(picture.content)
    expect(await store.sessions.purge('t')).toMatchObject({ blobs: 1 })
  })

  it('has no running attempt, because no process here makes it', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    await store.append('s', chat(4))
    const storage = storageOf(store)
    const snapshot = (await storage.snapshot('s', 'openai'))!
    const run = { runId: 'run', trigger: 'manual', actor: undefined, reason: undefined } as const
    const attempt = { id: 'attempt', view: snapshot.view, rows: snapshot.view.rows, summarizer: 'test' }
    await storage.noteAttempt(snapshot, run, attempt)
    const lines = await linesOf(store, 's')
    expect((await store.compactions.get('s', 'attempt')).status).toBe('running')
    await restoreLines(other, lines)
    expect((await other.compactions.get('s', 'attempt')).status).toBe('expired')
    expect(await restoreLines(other, lines)).toMatchObject([{ restored: { existing: true } }])
  })
})

describe('a session that is there already', () => {
  it('is left alone when it is this very history', async () => {
    const store = await openMemory()
    await everyKind(store)
    const lines = await linesOf(store, 's')
    const before = await everythingOf(store, 's')
    expect(await restoreLines(store, lines)).toMatchObject([{ restored: { existing: true, messages: 23 } }])
    expect(await everythingOf(store, 's')).toEqual(before)
  })

  it('is another history when anything was done since, or was not yet', async () => {
    const store = await openMemory()
    await store.append('s', chat(3))
    const before = await linesOf(store, 's')
    await store.append('s', chat(1))
    const after = await linesOf(store, 's')
    await expect(restoreLines(store, before)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    const other = await openMemory()
    await restoreLines(other, before)
    await expect(restoreLines(other, after)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    await other.messages.pin('s', [(await other.getMessages('s'))[0]!.id])
    await expect(restoreLines(other, before)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
  })

  it('is another one when it was made anew under the id', async () => {
    const store = await openMemory()
    await store.append('s', chat(3))
    const lines = await linesOf(store, 's')
    await store.sessions.purge('s')
    await store.append('s', chat(3))
    await expect(restoreLines(store, lines)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    expect((await store.sessions.list()).map(({ id }) => id)).toEqual(['s'])
  })
})

describe('under another id', () => {
  it('is stored beside the first, with its own ids of compactions and runs', async () => {
    const store = await openMemory()
    await everyKind(store)
    const lines = await linesOf(store, 's')
    expect(await restoreLines(store, lines, { id: 't' })).toMatchObject([
      { restored: { sessionId: 't', existing: false } },
    ])
    const [first, second] = [await everythingOf(store, 's'), await everythingOf(store, 't')]
    expect(withoutNames(second)).toEqual(withoutNames(first))
    const [own, others] = [await store.listCompactions('s'), await store.listCompactions('t')]
    for (const { id, runId } of own)
      expect(others.some((other) => other.id === id || other.runId === runId)).toBe(false)
    expect(await restoreLines(store, lines, { id: 't' })).toMatchObject([{ restored: { existing: true } }])
    // Also when the names would be free by now.
    await store.sessions.purge('s')
    expect(await restoreLines(store, lines, { id: 't' })).toMatchObject([{ restored: { existing: true } }])
    expect(await restoreLines(store, lines)).toMatchObject([{ restored: { existing: false } }])
  })

  it('is restored at the same time as the first', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    await everyKind(store)
    const lines = await linesOf(store, 's')
    await Promise.all([restoreLines(other, lines), restoreLines(other, lines, { id: 't' })])
    await restoreLines(store, lines, { id: 't' })
    for (const id of ['s', 't']) expect(await everythingOf(other, id)).toEqual(await everythingOf(store, id))
  })

  it('gets the same names in every store', async () => {
    const names = []
    for (const store of [await openMemory(), await openMemory()]) {
      if (names.length === 0) await everyKind(store)
      names.push(store)
    }
    const [store, other] = names as [Store, Store]
    const lines = await linesOf(store, 's')
    await restoreLines(store, lines, { id: 't' })
    await restoreLines(other, lines)
    await restoreLines(other, lines, { id: 't' })
    expect(await everythingOf(other, 't')).toEqual(await everythingOf(store, 't'))
  })
})

describe('the ids of a copy', () => {
  /** Every id that a store gives in a session: of messages, compactions and runs, also where the audit and settings name them. */
  async function idsOf(store: Store, id: string): Promise<Set<string>> {
    const { session, ...all } = (await everythingOf(store, id)) as { session: { incarnation: string } }
    const text = JSON.stringify(all)
    expect(text).toContain(session.incarnation)
    const ofMessages = text.match(/[\w-]{16}:s?\d+/g) ?? []
    return new Set([...ofMessages, ...(text.match(UUIDS) ?? []), session.incarnation])
  }

  async function expectNoneInCommon(store: Store, ...sessions: string[]): Promise<void> {
    const all = []
    for (const id of sessions) all.push(...(await idsOf(store, id)))
    expect(all.length).toBeGreaterThan(sessions.length * 20)
    expect(new Set(all).size).toBe(all.length)
    for (const id of sessions) expect((await store.sessions.verify(id)).findings).toEqual([])
  }

  it('differ from those of the original session and of another copy', async () => {
    const store = await openMemory()
    await everyKind(store)
    const lines = await linesOf(store, 's')
    await restoreLines(store, lines, { id: 't' })
    await restoreLines(store, lines, { id: 'u' })
    await restoreLines(store, await linesOf(store, 't'), { id: 'v' })
    await expectNoneInCommon(store, 's', 't', 'u', 'v')
    const [first] = (await store.getMessages('t')).filter(({ kind }) => kind !== 'message')
    await expect(store.messages.pin('s', [first!.id])).rejects.toMatchObject({ code: 'MESSAGE_NOT_FOUND' })
  })

  it('are others where the ids of its messages are taken', async () => {
    const store = await openMemory()
    await store.append('s', chat(3))
    const records = await recordsOf(store, 's')
    const named = records.map((one) => (one.type === 'session' ? { ...one, id: 'named otherwise' } : one))
    await restoreLines(store, await linesFrom(named))
    const [a, b] = [await store.getMessages('s'), await store.getMessages('named otherwise')]
    expect(new Set([...a, ...b].map(({ id }) => id)).size).toBe(12)
  })

  it('are refused where a message has one in the form of the copy’s own', async () => {
    const store = await openMemory()
    await store.append('s', chat(2))
    const lines = await linesOf(store, 's')
    await restoreLines(store, lines, { id: 't' })
    const { incarnation } = await store.sessions.get('t')
    await store.sessions.purge('t')
    const crafted = (await recordsOf(store, 's')).map((one) =>
      one.type === 'message' && one.position === 1 ? { ...one, id: `${incarnation}:2` } : one,
    )
    const restored = restoreLines(store, await linesFrom(crafted), { id: 't' })
    await expect(restored).rejects.toMatchObject({ code: 'HISTORY_REFUSED' })
    await restoreLines(store, lines, { id: 't' })
    expect((await store.sessions.list()).map(({ id }) => id)).toEqual(['t', 's'])
  })
})

describe('the owner of a restored session', () => {
  it('is the one that is given, before the one in the history', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    await everyKind(store)
    const records = await recordsOf(store, 's')
    expect(await other.sessions.import(records, { owner: 'given' })).toMatchObject({ existing: false })
    expect((await other.sessions.get('s')).owner).toBe('given')
    expect(await other.sessions.list({ owner: 'o' })).toEqual([])
    expect(await other.sessions.import(records, { owner: 'given' })).toMatchObject({ existing: true })
    // Ids are unique for an owner: the same history is another session of another owner.
    for (const options of [{}, { owner: 'third' }])
      expect(await other.sessions.import(records, options)).toMatchObject({ existing: false })
    const owners = (await other.sessions.list()).map(({ id, owner }) => [id, owner])
    expect(owners.sort()).toEqual([
      ['s', 'given'],
      ['s', 'o'],
      ['s', 'third'],
    ])
    await other.sessions.import(records, { id: 't' })
    expect((await other.sessions.get('t')).owner).toBe('o')
    await other.forOwner('fourth').sessions.import(records, { id: 't' })
    expect((await other.forOwner('fourth').sessions.get('t')).owner).toBe('fourth')
  })
})

const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-[57][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Names of compactions and runs, and incarnations, as the order in which they first occur. */
function withoutNames(value: object): unknown {
  const names = new Map<string, string>()
  const { incarnation } = (value as { session: { incarnation: string } }).session
  const text = JSON.stringify(value)
    .replaceAll(incarnation, 'incarnation')
    .replace(UUIDS, (name) => {
      if (!names.has(name)) names.set(name, `name ${names.size}`)
      return names.get(name)!
    })
  expect(names.size).toBeGreaterThan(4)
  return JSON.parse(text)
}

describe('a copy of an imported session', () => {
  const talk = (from: number, to: number): ImportEvent[] =>
    Array.from({ length: to - from + 1 }, (_, i) => ({
      type: 'message',
      message: { ...say('user', `m${from + i}`), idempotencyKey: `k${from + i}` },
    }))
  const condensed = (id: string, from: number, to: number): ImportEvent => ({
    type: 'compaction',
    compaction: { id, kind: 'condense', covers: [[from, to]], text: `for ${id}` },
  })
  const statuses = async (store: Store, id: string, events: ImportEvent[]): Promise<unknown> =>
    (await store.sessions.import(events, { id, source: 'elsewhere' })).compactions.map(({ status }) => status)

  it('takes the same import again, and what has been added to it, beside the first', async () => {
    const store = await openMemory()
    const events = [...talk(1, 8), condensed('x', 1, 4)]
    expect(await statuses(store, 's', events)).toEqual(['applied'])
    await restoreLines(store, await linesOf(store, 's'), { id: 't' })
    expect(await statuses(store, 't', events)).toEqual(['known'])
    events.push(...talk(9, 10), condensed('y', 5, 8))
    for (const id of ['s', 't']) {
      expect(await statuses(store, id, events)).toEqual(['known', 'applied'])
      expect(await statuses(store, id, events)).toEqual(['known', 'known'])
      const view = await store.getEffectiveHistory(id)
      expect(view.map(({ content }) => content)).toEqual(['for x', 'for y', 'm9', 'm10'])
      expect((await store.sessions.verify(id)).findings).toEqual([])
    }
  })
})

describe('a store', () => {
  it('refuses a session counted by an estimator it was not given, before it writes anything', async () => {
    const store = await openMemory({ estimator: estimatorNamed('nca')! })
    await store.append('s', chat(2))
    const custom = { ...estimatorNamed('nca')!, name: 'mine' }
    const mine = await openMemory({ estimator: custom })
    await mine.append('s', chat(2))
    const lines = await linesOf(mine, 's')
    await expect(restoreLines(store, lines, { id: 'x' })).rejects.toMatchObject({ code: 'ESTIMATOR_UNKNOWN' })
    expect((await store.sessions.list()).map(({ id }) => id)).toEqual(['s'])
  })

  it('stops on an abort, and stores nothing', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    await store.append('s', chat(2))
    const stop = new AbortController()
    async function* records(): AsyncGenerator<HistoryRecord> {
      for (const record of await recordsOf(store, 's')) {
        if (record.type === 'message') stop.abort()
        yield record
      }
    }
    const restore = other.sessions.import(records(), { signal: stop.signal })
    await expect(restore).rejects.toMatchObject({ code: 'ABORTED' })
    expect(await storageOf(other).importsInProgress()).toEqual([])
    expect(await other.sessions.list()).toEqual([])
  })

  it('passes on what the records throw, and keeps nothing', async () => {
    const [store, other] = [await openMemory(), await openMemory()]
    await store.append('s', chat(2))
    async function* records(): AsyncGenerator<HistoryRecord> {
      for (const record of (await recordsOf(store, 's')).slice(0, -2)) yield record
      throw new Error('the disk is gone')
    }
    await expect(other.sessions.import(records())).rejects.toThrow('the disk is gone')
    expect(await storageOf(other).importsInProgress()).toEqual([])
  })

  it('refuses a preview made before the session was purged and restored: its rows are others inside', async () => {
    const store = await openMemory()
    const turn = (n: number): NewMessage[] => [
      ...[say('user', 'x'), call(`c${n}`, 'run')],
      ...[result(`c${n}`, units(300)), say('assistant', 'y')],
    ]
    const turns = [1, 2, 3, 4, 5, 6].flatMap(turn)
    await store.append('first', [say('user', 'x')])
    await store.append('s', turns)
    const pruning = { enableDeduplicate: false, enableSummarize: false, enableTruncate: false }
    const settings = { ...pruning, pruneProtectTokens: 30, pruneMinimumSavings: 1, targetTokens: 300 }
    const preview = (await store.previewCompaction('s', settings))!
    expect(preview.compactions).toHaveLength(1)
    const lines = await linesOf(store, 's')
    await store.sessions.purge('s')
    await store.append('other', turns)
    await restoreLines(store, lines)
    await expect(store.compactSession('s', preview)).rejects.toMatchObject({ code: 'STALE_PLAN' })
    for (const id of ['s', 'other']) {
      expect((await store.sessions.verify(id)).findings).toEqual([])
      expect(await store.listCompactions(id)).toEqual([])
    }
    expect((await store.compactSession('s', settings))!.compacted).toBe(true)
  })
})

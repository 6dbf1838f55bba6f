import { HumanMessage } from '@langchain/core/messages'
import { expect, it } from 'vitest'
import { chatStore } from '../../../src/adapters/ai-sdk/index.ts'
import { transcriptOf } from '../../../src/adapters/claude-agent-sdk/entry.ts'
import { undertextSessionStore } from '../../../src/adapters/claude-agent-sdk/index.ts'
import { UndertextChatMessageHistory } from '../../../src/adapters/langchain/index.ts'
import { UndertextSession } from '../../../src/adapters/openai-agents/index.ts'
import { afterTurn } from '../../../src/compat/index.ts'
import type { HistoryRecord, ImportEvent, Store, Turn } from '../../../src/index.ts'
import { isUndertextError } from '../../../src/index.ts'
import { chat, say } from '../../support/conversation.ts'
import { type Contract, everything, S } from './support.ts'

/** A call that is repeated, as after a lost answer. */
type Repetition = {
  /** Makes what the call needs, and returns it. */
  readonly arrange?: (store: Store) => unknown
  readonly act: (store: Store, arranged: never) => Promise<unknown>
  /** What the second call returns or is refused with. Without it, the second call returns what the first returned. */
  readonly again?: unknown
  /** The session that the call is about. */
  readonly session?: string
  /** Whether the call needs what the pure model does not have: forks, records of sessions and of requests. */
  readonly needsHistories?: true
}

const KEYED = [
  { ...say('user', 'one'), idempotencyKey: 'k1', id: 'own' },
  { ...say('assistant', 'two'), idempotencyKey: 'k2' },
]
const IMPORTED: readonly ImportEvent[] = KEYED.map((message) => ({ type: 'message', message }))
const ITEM = { type: 'message', role: 'user', content: 'more' } as const
const UI = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'more' }] }] as const
const TRANSCRIPT = { projectKey: 'p', sessionId: 't' } as const
const ENTRIES = [{ type: 'user', uuid: 'u1', message: { role: 'user', content: 'more' } }]

const agents = (store: Store): UndertextSession => new UndertextSession({ store, sessionId: S })
const langchain = (store: Store): UndertextChatMessageHistory =>
  new UndertextChatMessageHistory({ store, sessionId: S })

async function recordsOf(store: Store): Promise<HistoryRecord[]> {
  const records: HistoryRecord[] = []
  for await (const record of store.sessions.export(S)) records.push(record)
  return records
}

async function requestOf(store: Store): Promise<string> {
  const request = await store.prepareRequest(S, { auto: false })
  return (await store.requests.recordUsage(S, { inputTokens: 500, request })).requestId!
}

const firstId = async (store: Store): Promise<string> => (await store.getMessages(S))[0]!.id

/**
 * The calls with which a caller can repeat a write without doing it twice: by an id, a key or a position that it gives, or because they say
 * what is to be. The name is that of the method, and what makes it repeatable.
 */
export const REPETITIONS: Readonly<Record<string, Repetition>> = {
  'sessions.create with an id': {
    act: (store) => store.sessions.create({ id: 'new' }),
    again: 'SESSION_EXISTS',
    session: 'new',
  },
  'append by keys': { act: (store) => store.append(S, KEYED) },
  'append with an id': {
    act: (store) => store.append(S, [{ ...say('user', 'one'), id: 'own' }]),
    again: 'MESSAGE_ID_TAKEN',
  },
  'append at a position': {
    act: (store) => store.append(S, [say('user', 'one')], { expectedPosition: 6 }),
    again: 'POSITION_CONFLICT',
  },
  'rewind with an operation id': {
    act: (store) => store.rewind(S, { from: 'start', append: [say('user', 'instead')], operationId: 'op' }),
  },
  'rewind of nothing with an operation id': {
    act: (store) => store.rewind(S, { from: 'end', append: chat(1), operationId: 'op' }),
  },
  'rewind at a position': {
    act: (store) => store.rewind(S, { from: 'start', append: [say('user', 'instead')], expectedPosition: 6 }),
    again: 'POSITION_CONFLICT',
  },
  'sessions.fork with an id': {
    act: (store) => store.sessions.fork(S, { id: 'fork' }),
    again: 'SESSION_EXISTS',
    session: 'fork',
    needsHistories: true,
  },
  'sessions.import with an id': {
    act: (store) => store.sessions.import(IMPORTED, { id: 'new', source: 'elsewhere' }),
    again: { status: 'unchanged', messages: 0 },
    session: 'new',
    needsHistories: true,
  },
  // The second result says that the session exists.
  'sessions.import of records with an id': {
    arrange: recordsOf,
    act: (store, records: readonly HistoryRecord[]) => store.sessions.import(records, { id: 'new' }),
    session: 'new',
    needsHistories: true,
  },
  'beginTurn and its answer': {
    arrange: (store) => store.beginTurn(S),
    act: (_, turn: Turn) => turn.finish({ messages: [say('assistant', 'one')] }),
  },
  'recordResponse by keys': { act: (store) => store.recordResponse(S, { messages: KEYED }) },
  'afterTurn by keys': { act: (store) => afterTurn(store, S, { messages: KEYED, auto: false }) },
  'requests.recordAnswer of a request': {
    arrange: requestOf,
    act: (store, request: string) => store.requests.recordAnswer(S, request, [5, 6]),
    needsHistories: true,
  },
  'notes.add with a key': { act: (store) => store.notes.add('a fact', { session: S, key: 'k' }) },
  'sessions.update to the same': { act: (store) => store.sessions.update(S, { title: 'T' }) },
  'sessions.archive again': { act: (store) => store.sessions.archive(S) },
  'messages.pin again': {
    arrange: firstId,
    act: (store, id: string) => store.messages.pin(S, [id]),
    again: 0,
  },
  'compactSession of a preview': {
    arrange: (store) => store.previewCompaction(S, { targetTokens: 40, enableSummarize: false }),
    act: (store, preview) => store.compactSession(S, preview),
    again: 'STALE_PLAN',
  },
  'compactions.hide again': {
    arrange: firstId,
    act: (store, id: string) => store.compactions.hide(S, [id]),
    again: 'STALE_PLAN',
  },
  'UndertextSession.applyHistoryTransaction with an operation id': {
    act: (store) =>
      agents(store).applyHistoryTransaction({
        operationId: 'op',
        transaction: { type: 'append_items', items: [ITEM] },
      }),
  },
  'UndertextSession.fork with an id': {
    act: async (store) => (await agents(store).fork({ sessionId: 'fork' })).getSessionId(),
    again: 'SESSION_EXISTS',
    session: 'fork',
    needsHistories: true,
  },
  'UndertextChatMessageHistory.addMessages with ids': {
    act: (store) => langchain(store).addMessages([new HumanMessage({ id: 'h1', content: 'more' })]),
  },
  'UndertextChatMessageHistory.addMessage with an id': {
    act: (store) => langchain(store).addMessage(new HumanMessage({ id: 'h1', content: 'more' })),
  },
  'UndertextChatMessageHistory.fork with an id': {
    act: async (store) => typeof (await langchain(store).fork({ sessionId: 'fork' })),
    again: 'SESSION_EXISTS',
    session: 'fork',
    needsHistories: true,
  },
  'UndertextSessionStore.append with uuids': {
    act: (store) => undertextSessionStore({ store }).append(TRANSCRIPT, ENTRIES),
    session: transcriptOf(TRANSCRIPT).id,
  },
  'UndertextSessionStore.delete again': {
    arrange: (store) => undertextSessionStore({ store }).append(TRANSCRIPT, ENTRIES),
    act: (store) => undertextSessionStore({ store }).delete(TRANSCRIPT),
    session: transcriptOf(TRANSCRIPT).id,
  },
  'chatStore.create with an id': {
    act: (store) => chatStore(store).create({ id: 'new' }),
    again: 'SESSION_EXISTS',
    session: 'new',
  },
  'chatStore.save of the same chat': {
    act: async (store) => (await chatStore(store).save({ chatId: 'new', messages: UI })) && 'saved',
    session: 'new',
  },
  'chatStore.resume with the same message': {
    act: async (store) => {
      const turn = await chatStore(store).resume({ id: 'new', message: UI[0] })
      await turn.end()
      return turn.messages
    },
    session: 'new',
  },
  'chatStore.fork with an id': {
    act: (store) => chatStore(store).fork(S, { id: 'fork' }),
    again: 'SESSION_EXISTS',
    session: 'fork',
    needsHistories: true,
  },
}

/** A result without what says that it was there already, and without the moment and the request of a call. */
function told(value: unknown): unknown {
  const leftOut = ['existing', 'createdAt', 'updatedAt', 'version', 'imported', 'appended', 'tokens']
  return JSON.parse(JSON.stringify(value ?? null, (key, one) => (leftOut.includes(key) ? undefined : one)))
}

/** Writes that are repeated because their answer was lost. */
export function describeRepetitions({ open, keeps }: Contract): void {
  const rows = Object.entries(REPETITIONS).filter(([, row]) => keeps.histories || row.needsHistories !== true)
  it.each(rows)('a repeated %s writes nothing a second time', async (_, row) => {
    const { arrange, act, again, session = S } = row
    const store = await open()
    await store.append(S, chat(3, 30).slice(0, 6))
    const arranged = (await arrange?.(store)) as never
    const first = told(await act(store, arranged))
    const before = await everything(store, session)
    const sessions = (await store.sessions.list()).length
    const second = await act(store, arranged).then(told, (error: unknown) => {
      if (!isUndertextError(error)) throw error
      return error.code
    })
    if (typeof again === 'object') expect(second).toMatchObject(again as object)
    else expect(second).toEqual(again ?? first)
    expect(await everything(store, session)).toEqual(before)
    expect(await store.sessions.list()).toHaveLength(sessions)
  })
}

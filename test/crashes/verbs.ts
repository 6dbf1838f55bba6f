import { HumanMessage } from '@langchain/core/messages'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { undertextSessionStore } from '../../src/adapters/claude-agent-sdk/index.ts'
import { UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { afterTurn, beforeTurn } from '../../src/compat/index.ts'
import type {
  CompactionConfig,
  HistoryRecord,
  ImportEvent,
  NewMessage,
  Store,
  Summarizer,
} from '../../src/index.ts'
import type { Database } from '../../src/storage/sqlite/driver.ts'
import { storageOf } from '../support/apply-stage.ts'
import { call, calls, result, say, units } from '../support/conversation.ts'
import { CANARY } from '../support/failures.ts'

/** The session that the verbs work on. */
export const S = 's'
/** A second one, which shares a blob with it. */
export const OTHER = 'other'

/** Something that writes. `arrange` makes what it needs, and answers it. */
export type WritingVerb = {
  readonly name: string
  readonly arrange?: (store: Store, database: Database) => unknown
  readonly act: (store: Store, arranged: never) => Promise<unknown>
  /** The first of its two transactions, alone: a failure may leave what it did. */
  readonly first?: (store: Store, arranged: never) => Promise<unknown>
  /** The store is not in order before, and is after. */
  readonly repairs?: true
  /** What doing it a second time is refused with; without, it can be done again. */
  readonly again?: string
  /** Much like others, and slow: for the long mode. */
  readonly isLong?: true
  /** What it arranges lives in the store object that made it. */
  readonly keepsStore?: true
}

const image = (seed: number): NewMessage => ({
  role: 'user',
  content: [
    { type: 'text', text: `${CANARY} look` },
    { type: 'image', image: new Uint8Array(6_000).fill(seed) },
  ],
})

/** A turn of work: reads of a few files again and again, a search beside, and an answer. */
function turn(number: number): NewMessage[] {
  const id = `call_${number}`
  return [
    say('user', `${CANARY} request ${number} ${units(20)}`),
    call(id, 'read', { path: `src/${number % 2}.ts` }),
    result(id, `${CANARY} text of the file ${number} ${units(120)}`, 'read'),
    calls([`${id}a`, 'search', { text: number }], [`${id}b`, 'list']),
    result(`${id}b`, `${CANARY} ${units(30)}`),
    result(`${id}a`, `${CANARY} ${units(40)}`),
    say('assistant', `${CANARY} answer ${number} ${units(25)}`),
  ]
}

/** A conversation from elsewhere, with a compaction its own system had made. */
const IMPORTED: readonly ImportEvent[] = [
  ...[...turn(1), image(9)].map((message, at): ImportEvent => {
    return { type: 'message', message: { ...message, idempotencyKey: `i${at}` } }
  }),
  {
    type: 'compaction',

    compaction: { id: 'c', kind: 'condense', covers: [[1, 7]], text: `${CANARY} before` },
  },
]

/** What is in the store before each verb: some turns, blobs, keys, and compactions in force, undone and nested. */
export async function fill(store: Store): Promise<void> {
  await store.sessions.create({ id: S, owner: 'o', title: 'The session', metadata: { note: CANARY } })
  await store.append(S, [say('system', `${CANARY} rules`), ...turn(1), ...turn(2), image(7)])
  await store.append(S, [{ ...say('user', `${CANARY} keyed`), idempotencyKey: 'k0' }, ...turn(3)])
  await store.compactSession(S, { range: { from: 9, to: 15 }, summary: `${CANARY} the second turn` })
  await store.append(S, [...turn(4), ...turn(5)])
  await store.append(OTHER, [image(7), image(8), ...turn(1)])
}

const ONLY = {
  enablePrune: false,
  enableDeduplicate: false,
  enableSummarize: false,
  enableTruncate: false,
  targetTokens: 0,
} as const
/** A fork of a session with compactions, with a turn of its own. */
async function forked(store: Store): Promise<void> {
  await wholeRun(store)
  await store.sessions.fork(S, { id: 'fork' })
  await store.append('fork', [...turn(6), image(7), image(9)])
}

const PRUNE = { ...ONLY, enablePrune: true, pruneProtectTokens: 0, pruneMinimumSavings: 0 } as const
const SUMMARIZE = { ...ONLY, enableSummarize: true, keepRecentTokens: 100, summaryMaxTokens: 300 } as const
const PIPELINE = {
  targetTokens: 300,
  pruneProtectTokens: 60,
  pruneMinimumSavings: 0,
  deduplicateMinimumSavings: 0,
  keepRecentTokens: 100,
  summaryMaxTokens: 100,
  maxOutputTokens: 127_800,
} as const

/** An answer in which the provider compacted what was before it. */
const BLOCK: NewMessage = {
  role: 'assistant',
  content: [
    {
      type: 'provider',
      provider: 'anthropic',
      data: { type: 'compaction', content: `${CANARY} so far ${units(20)}` },
    },
    { type: 'text', text: CANARY },
  ],
}
const CLEARED = { type: 'clear_tool_uses_20250919', cleared_tool_uses: 3 }

/** A summarizer that counts as a model. It answers at once, never, or with an error. */
function model(answer: string | Error): Summarizer {
  return {
    name: 'stub',
    usesModel: true,
    summarize: async () => {
      if (answer instanceof Error) throw answer
      return { text: answer, model: 'stub-1', usage: { inputTokens: 100, outputTokens: 10 }, cost: 0.01 }
    },
  }
}

function compacting(name: string, config: CompactionConfig, isLong?: true): WritingVerb {
  const act = async (store: Store): Promise<unknown> =>
    compacted(await store.compactSession(S, { waitMs: 0, ...config }))
  return { name, act, again: 'nothing to compact', ...(isLong && { isLong }) }
}

/** A compaction that did nothing would prove nothing. */
function compacted<T extends { compacted: boolean } | null>(answer: T): T {
  if (answer?.compacted !== true) throw new Error('nothing to compact')
  return answer
}

const range = (from: number, to: number): CompactionConfig => ({
  range: { from, to },
  summary: `${CANARY} in short`,
})

/** Two compactions, one upon the other: the ids of the inner one and of its run. */
async function nested(store: Store): Promise<{ id: string; runId: string }> {
  const inner = (await store.compactSession(S, range(2, 8)))!
  await store.compactSession(S, range(2, 16))
  return { id: inner.compactions[0]!.id, runId: inner.runId }
}

async function wholeRun(store: Store): Promise<string> {
  return compacted(await store.compactSession(S, PIPELINE))!.runId
}

const idsAt = async (store: Store, ...positions: number[]): Promise<string[]> =>
  (await store.getMessages(S)).flatMap(({ id, position }) => (positions.includes(position!) ? [id] : []))

const batch = [
  ...turn(6).map((message, index) => ({ ...message, idempotencyKey: `k${index + 1}` })),
  image(9),
  { ...say('user', CANARY), id: 'own-id', idempotencyKey: 'k', metadata: { note: CANARY } },
]

/** A job nobody makes meanwhile: these stores take nothing up by themselves. */
const queue = async (store: Store): Promise<unknown> =>
  storageOf(store).jobs.enqueue(S, { id: 'j', request: { config: {}, replans: 0 }, notBefore: 0 }, false)

const claimed = async (store: Store): Promise<void> => {
  const claim = { runId: 'r', holder: 'otherhost/1/0/1', expiresAt: 8e15 }
  if ((await storageOf(store).jobs.claim(S, claim, 3)) === undefined) throw new Error('nothing to take up')
}

const FAILURE = { viewEpoch: 1, model: '["m",null,null]', error: 'Error' }
/** Two outputs of more bytes than are shown. */
const large = [
  calls(['large', 'run'], ['larger', 'run']),
  result('large', `${CANARY} ${units(15_000)}`),
  result('larger', `${CANARY} ${units(16_000)}`),
]

const item = (text: string) => ({ type: 'message', role: 'user', content: `${CANARY} ${text}` })
const agents = (store: Store): UndertextSession => new UndertextSession({ store, sessionId: S })
const langchain = (store: Store): UndertextChatMessageHistory =>
  new UndertextChatMessageHistory({ store, sessionId: S, compact: false })
const ui = (id: string, role: 'user' | 'assistant' = 'user') => ({
  id,
  role,
  parts: [{ type: 'text' as const, text: `${CANARY} ${id}` }],
})
const TRANSCRIPT = { projectKey: 'p', sessionId: 't' }
const entry = (uuid: string) => ({ type: 'user', uuid, message: { role: 'user', content: CANARY } })
/** The writing methods of the adapters: `Class.method`. */
const ADAPTER_VERBS: readonly WritingVerb[] = [
  {
    name: 'chatStore.create',
    act: (store) => chatStore(store).create({ id: 'new' }),
    again: 'SESSION_EXISTS',
  },
  {
    name: 'chatStore.save',
    arrange: (store) =>
      chatStore(store).save({ chatId: 'chat', messages: [ui('u1'), ui('a1', 'assistant')] }),
    act: (store) => chatStore(store).save({ chatId: 'chat', messages: [ui('u1'), ui('a2', 'assistant')] }),
  },
  {
    name: 'chatStore.withdraw',
    arrange: (store) =>
      chatStore(store).save({ chatId: 'chat', messages: [ui('u1'), ui('a1', 'assistant'), ui('u2')] }),
    act: async (store) => {
      if (!(await chatStore(store).withdraw('chat'))) throw new Error('nothing to withdraw')
    },
    again: 'nothing to withdraw',
  },
  {
    name: 'chatStore.fork',
    act: (store) => chatStore(store).fork(S, { id: 'fork' }),
    again: 'SESSION_EXISTS',
  },
  { name: 'UndertextSession.addItems', act: (store) => agents(store).addItems([item('more')]) },
  {
    name: 'UndertextSession.addItemsWithCompactionOwnership',
    act: (store) => agents(store).addItemsWithCompactionOwnership([item('more')], null),
  },
  { name: 'UndertextSession.popItem', act: (store) => agents(store).popItem() },
  { name: 'UndertextSession.clearSession', act: (store) => agents(store).clearSession() },
  {
    name: 'UndertextSession.replaceHistoryWithCompaction',
    act: (store) => agents(store).replaceHistoryWithCompaction([item('in short')]),
  },
  {
    name: 'UndertextSession.applyHistoryMutations',
    arrange: (store) => agents(store).addItems([agentCall('{}'), item('then')]),
    act: (store) =>
      agents(store).applyHistoryMutations({
        mutations: [{ type: 'replace_function_call', callId: 'own', replacement: agentCall('{"a":1}') }],
      }),
  },
  {
    name: 'UndertextSession.applyHistoryTransaction',
    act: (store) =>
      agents(store).applyHistoryTransaction({
        operationId: 'op',
        transaction: { type: 'append_items', items: [item('more')] },
      }),
  },
  {
    name: 'UndertextSession.runCompaction',
    act: (store) =>
      new UndertextSession({
        store,
        sessionId: S,
        compact: { ...PIPELINE, waitMs: 0 } as never,
      }).runCompaction({
        force: true,
      }),
  },
  {
    name: 'UndertextSession.fork',
    act: (store) => agents(store).fork({ sessionId: 'fork' }),
    again: 'SESSION_EXISTS',
  },
  {
    name: 'UndertextChatMessageHistory.addMessage',
    act: (store) => langchain(store).addMessage(new HumanMessage(CANARY)),
  },
  {
    name: 'UndertextChatMessageHistory.addMessages',
    act: (store) =>
      langchain(store).addMessages([
        new HumanMessage({ id: 'h1', content: CANARY }),
        new HumanMessage(CANARY),
      ]),
  },
  {
    name: 'UndertextSessionStore.append',
    arrange: (store) => undertextSessionStore({ store }).append(TRANSCRIPT, [entry('u1')]),
    act: (store) => undertextSessionStore({ store }).append(TRANSCRIPT, [entry('u1'), entry('u2')]),
  },
  { name: 'UndertextChatMessageHistory.clear', act: (store) => langchain(store).clear() },
  {
    name: 'UndertextChatMessageHistory.fork',
    act: (store) => langchain(store).fork({ sessionId: 'fork' }),
    again: 'SESSION_EXISTS',
  },
]

function agentCall(args: string) {
  return { type: 'function_call', callId: 'own', name: 'read', arguments: args } as const
}

export const VERBS: readonly WritingVerb[] = [
  { name: 'append one', act: (store) => store.append(S, [say('user', CANARY)]) },
  { name: 'append a batch', act: (store) => store.append(S, [...turn(6), image(7), image(9)]) },
  { name: 'append by keys', act: (store) => store.append(S, batch) },
  { name: 'append to a new session', act: (store) => store.append('new', [image(7), ...turn(1)]) },
  {
    name: 'append large outputs, which are previewed',
    act: async (store) => {
      const { preview } = await store.append(S, large)
      if (preview?.parts !== 2) throw new Error('nothing was previewed')
    },
  },
  {
    name: 'append large outputs by keys to a new session',
    act: async (store) => store.append('new', [...batch, ...large]),
    isLong: true,
  },
  {
    name: 'undo a preview',
    arrange: async (store) => (await store.append(S, large)).preview!.compactionId,
    act: (store, id) => store.undoCompaction(S, id),
  },
  {
    name: 'append at a position',
    act: (store) => store.append(S, turn(6), { expectedPosition: 38 }),
    again: 'POSITION_CONFLICT',
  },
  {
    name: 'create a session',
    act: (store) => store.sessions.create({ id: 'new', title: 'n' }),
    again: 'SESSION_EXISTS',
  },
  {
    name: 'update a session',
    act: (store) => store.sessions.update(S, { model: 'm', title: null, config: { a: 1 } }),
  },
  {
    name: 'update a session with much metadata',
    act: (store) => store.sessions.update(S, { metadata: { notes: 'x'.repeat(20_000) } }),
  },
  { name: 'archive a session', act: (store) => store.sessions.archive(S) },
  {
    name: 'pin',
    arrange: (store) => idsAt(store, 2, 3, 4),
    act: (store, ids) => store.messages.pin(S, ids),
  },
  {
    name: 'unpin',
    arrange: async (store) => {
      const ids = await idsAt(store, 2, 3, 4)
      await store.messages.pin(S, ids)
      return ids
    },
    act: (store, ids) => store.messages.unpin(S, ids),
  },
  {
    name: 'hide by hand',
    arrange: (store) => idsAt(store, 2, 3, 4),
    act: (store, ids) => store.compactions.hide(S, ids),
    again: 'STALE_PLAN',
  },
  {
    name: 'rewind',
    arrange: async (store) => (await idsAt(store, 20))[0],
    act: (store, messageId: string) =>
      store.rewind(S, { from: { beforeMessage: messageId }, append: [image(7), ...turn(9)] }),
    again: 'STALE_PLAN',
  },
  {
    name: 'rewind with an operation id',
    act: (store) => store.rewind(S, { from: 'start', append: turn(9), operationId: 'op' }),
  },
  {
    name: 'import',
    act: (store) => store.sessions.import(IMPORTED, { id: 'imported', source: 'elsewhere' }),
  },
  {
    name: 'restore under another id',
    arrange: async (store) => {
      const records: HistoryRecord[] = []
      for await (const record of store.sessions.export(S)) records.push(record)
      return records
    },
    act: (store, records: readonly HistoryRecord[]) => store.sessions.import(records, { id: 'restored' }),
  },
  {
    name: "record a provider's block",
    // Past the store, which would record it at once.
    arrange: async (store) => (await storageOf(store).append(S, [BLOCK], undefined)).messages[0]!.id,
    act: (store, messageId) => store.compactions.recordProvider(S, { messageId }),
  },
  {
    name: "record a provider's edits",
    act: (store) => store.compactions.recordProvider(S, { appliedEdits: [CLEARED] }),
  },
  compacting('prune', PRUNE),
  compacting('deduplicate', { ...ONLY, enableDeduplicate: true, deduplicateMinimumSavings: 0 }),
  compacting('summarize offline', SUMMARIZE),
  compacting('summarize by a model', { ...SUMMARIZE, summarizer: model('The work so far.') }),
  {
    name: 'summarize by a model that fails',
    act: async (store) => {
      const config = { ...SUMMARIZE, waitMs: 0, summarizer: model(new Error(CANARY)) }
      const answer = await store.compactSession(S, config)
      if (answer?.failed.length !== 1) throw new Error('the attempt of the test did not fail')
    },
  },
  compacting(
    'summarize offline after a model failed',
    { ...SUMMARIZE, offlineFallback: true, summarizer: model(new Error(CANARY)) },
    true,
  ),
  compacting('truncate', { ...ONLY, enableTruncate: true, targetTokens: 900, emergencyCut: false }),
  compacting('cut', { ...ONLY, enableTruncate: true, targetTokens: 100_000, maxOutputTokens: 127_400 }),
  compacting('the whole pipeline', PIPELINE),
  compacting('the whole pipeline with a model', { ...PIPELINE, summarizer: model('So far.') }, true),
  compacting('condense a range', range(2, 8)),
  {
    name: 'compact before a turn',
    act: async (store) => compacted((await beforeTurn(store, S, { threshold: 0, compaction: PIPELINE })).run),
    again: 'nothing to compact',
    isLong: true,
  },
  {
    name: 'compact for a request',
    act: async (store) =>
      compacted((await store.prepareRequest(S, { threshold: 0, prompt: CANARY, compaction: PIPELINE })).run),
    again: 'nothing to compact',
    isLong: true,
  },
  {
    name: 'record a response',
    act: (store) => store.recordResponse(S, { prompt: CANARY, messages: turn(6), stopReason: 'stop' }),
  },
  {
    name: 'record a response to a request',
    arrange: (store) => store.prepareRequest(S, { system: `${CANARY} be brief`, tools: [{ name: 'read' }] }),
    act: (store, request) =>
      store.recordResponse(S, {
        request,
        messages: turn(6),
        usage: { inputTokens: 900 },
        stopReason: 'stop',
      }),
    // The answer stays. The measurement and the request with its texts are there together, or not at all.
    first: (store) => store.append(S, turn(6)),
  },
  {
    name: 'append and end a turn',
    act: (store) => afterTurn(store, S, { messages: turn(6), auto: false }),
  },
  {
    name: 'preview with a model',
    act: async (store) =>
      compacted(
        await store.previewCompaction(S, {
          ...SUMMARIZE,
          summarize: true,
          summarizer: model('The work so far.'),
        }),
      ),
  },
  {
    name: 'apply a preview',
    arrange: (store) => store.previewCompaction(S, PIPELINE),
    act: async (store, preview) => compacted(await store.compactSession(S, preview)),
    keepsStore: true,
    again: 'STALE_PLAN',
  },
  {
    name: 'apply a preview whose model is still to be asked',
    arrange: (store) => store.previewCompaction(S, { ...PIPELINE, summarizer: model('So far.') }),
    act: async (store, preview) => compacted(await store.compactSession(S, preview)),
    keepsStore: true,
    isLong: true,
    again: 'STALE_PLAN',
  },
  {
    name: 'undo a compaction',
    arrange: async (store) => compacted(await store.compactSession(S, SUMMARIZE))!.compactions[0]!.id,
    act: (store, id) => store.undoCompaction(S, id),
  },
  {
    name: 'undo a run',
    arrange: wholeRun,
    act: (store, id) => store.undoCompaction(S, id),
  },
  {
    name: 'undo with what builds on it',
    arrange: nested,
    act: (store, { id }: { id: string }) => store.undoCompaction(S, id, { cascade: true }),
  },
  {
    name: 'undo what fits',
    arrange: wholeRun,
    // The window leaves room for some of it: one step is taken back within the transaction.
    act: async (store) => {
      const { changed } = await store.undoCompaction(S, { ifFits: { maxOutputTokens: 123_200 } })
      if (!changed) throw new Error('nothing fits')
    },
    again: 'nothing fits',
  },
  {
    name: 'redo a compaction',
    arrange: async (store) => {
      const { id } = compacted(await store.compactSession(S, SUMMARIZE))!.compactions[0]!
      await store.undoCompaction(S, id)
      return id
    },
    act: (store, id) => store.redoCompaction(S, id),
  },
  {
    name: 'redo a run',
    arrange: async (store) => {
      const runId = await wholeRun(store)
      await store.undoCompaction(S, runId)
      return runId
    },
    act: (store, id) => store.redoCompaction(S, id),
  },
  {
    name: 'redo with what it builds on',
    arrange: async (store) => {
      const { id } = await nested(store)
      const { compactionIds } = await store.undoCompaction(S, id, { cascade: true })
      return compactionIds[0]
    },
    act: (store, outer) => store.redoCompaction(S, outer, { cascade: true }),
  },
  {
    name: 'remember',
    act: (store) => store.notes.add(`${CANARY} fact`, { session: S, key: 'k', metadata: { note: CANARY } }),
  },
  {
    name: 'remember in place of another note',
    arrange: (store) => store.notes.add(`${CANARY} first`, { owner: 'o', key: 'k' }),
    act: (store) => store.notes.add(`${CANARY} second`, { owner: 'o', key: 'k' }),
  },
  {
    name: 'forget',
    arrange: async (store) => (await store.notes.add(CANARY, { session: S })).id,
    act: (store, id) => store.notes.forget(id),
  },
  {
    name: 'forget for good',
    arrange: async (store) => {
      await store.notes.add(`${CANARY} first`, { owner: 'o', key: 'k' })
      return (await store.notes.add(`${CANARY} second`, { owner: 'o', key: 'k' })).id
    },
    act: (store, id) => store.notes.forget(id, { purge: true }),
    again: 'NOTE_NOT_FOUND',
  },
  {
    name: 'record an overflow',
    act: (store) => store.limits.learn(S, 'prompt is too long: 900 tokens > 800 maximum'),
  },
  { name: 'purge', act: (store) => store.sessions.purge(S), again: 'SESSION_NOT_FOUND' },
  {
    name: 'fork',
    arrange: wholeRun,
    act: (store) => store.sessions.fork(S, { id: 'fork', title: 'Another way' }),
    again: 'SESSION_EXISTS',
  },
  {
    name: 'fork the past',
    arrange: async (store) => {
      await wholeRun(store)
      await store.messages.pin(S, [(await store.getMessages(S))[2]!.id])
    },
    act: (store) => store.sessions.fork(S, { id: 'fork', at: { afterMessage: 20 } }),
    again: 'SESSION_EXISTS',
  },
  {
    name: 'bring a fork back',
    arrange: forked,
    act: (store) => store.sessions.bringBack('fork', { text: `${CANARY} it is faster` }),
  },
  {
    name: 'bring a fork back in the words of a summarizer',
    arrange: forked,
    act: (store) => store.sessions.bringBack('fork'),
  },
  {
    name: 'purge and keep the forks',
    arrange: forked,
    act: (store) => store.sessions.purge(S, { forks: 'keep' }),
    again: 'SESSION_NOT_FOUND',
  },
  {
    name: 'purge with the forks',
    arrange: forked,
    act: (store) => store.sessions.purge(S, { forks: 'purge' }),
    again: 'SESSION_NOT_FOUND',
  },
  {
    name: 'remove a text',
    arrange: wholeRun,
    act: (store) => store.privacy.purgeText({ session: S }, CANARY),
  },
  { name: 'reestimate', arrange: wholeRun, act: (store) => store.sessions.reestimate(S) },
  {
    name: 'record a usage',
    arrange: async (store) => {
      await store.requests.recordUsage(S, { inputTokens: 900 })
      await store.limits.set({ provider: 'openai', tokens: 1_000 })
    },
    // Larger than the limit that was learnt: four tables are written to.
    act: (store) =>
      store.requests.recordUsage(S, { inputTokens: 1_100, cacheReadTokens: 10, outputTokens: 5 }),
  },
  {
    name: 'record a request',
    arrange: async (store) => {
      const request = await store.prepareRequest(S, {
        system: `${CANARY} be brief`,
        tools: [{ name: 'read' }],
      })
      await store.requests.recordUsage(S, { inputTokens: 900, request })
      return store.prepareRequest(S, { prompt: `${CANARY} more`, system: `${CANARY} be brief`, tools: [{}] })
    },
    // Of three texts one is there.
    act: (store, request) => store.requests.recordUsage(S, { inputTokens: 900, request }),
  },
  {
    name: 'record the answer of a request',
    arrange: async (store) => {
      const request = await store.prepareRequest(S, {})
      const { requestId } = await store.requests.recordUsage(S, { inputTokens: 900, request })
      const { position } = await store.append(S, [say('assistant', `${CANARY} so it is`)])
      return [requestId, position]
    },
    act: async (store, [requestId, position]: [string, number]) => {
      if (!(await store.requests.recordAnswer(S, requestId, [position, position])))
        throw new Error('it has an answer')
    },
    again: 'it has an answer',
  },
  {
    name: 'learn a limit',
    act: (store) => store.limits.set({ provider: 'openai', model: 'gpt-4o', tokens: 100_000 }),
  },
  {
    name: 'forget a limit',
    arrange: (store) => store.limits.set({ provider: 'openai', model: 'gpt-4o', tokens: 100_000 }),
    act: (store) => store.limits.forget('openai', 'gpt-4o'),
  },
  {
    name: 'queue a job',
    act: (store) => queue(store),
  },
  {
    name: 'take up a job',
    arrange: queue,
    act: claimed,
    again: 'nothing to take up',
  },
  {
    name: 'end a job',
    arrange: async (store) => {
      await queue(store)
      await claimed(store)
    },
    act: async (store) => {
      if (!(await storageOf(store).jobs.end(S, 'j', 'r', { state: 'done', error: undefined })))
        throw new Error('nothing to end')
    },
    again: 'nothing to end',
  },
  {
    name: 'cancel a job',
    arrange: queue,
    act: async (store) => {
      if ((await store.jobs.cancel({ session: S })) === null) throw new Error('nothing to cancel')
    },
    again: 'nothing to cancel',
  },
  {
    name: 'count a failure',
    act: (store) => storageOf(store).circuits.fail(S, FAILURE, { most: 1, openUntil: 1 }) as Promise<unknown>,
  },
  {
    name: 'verify with repair',
    arrange: async (store, database) => {
      await wholeRun(store)
      database.exec(`update undertext_messages set condense_parent = null where position = 10 and session = 1;
        update undertext_messages set size_text = size_text + 5 where position = 2 and session = 1;
        update undertext_sessions set visible = visible + 3 where no = 1`)
    },
    act: async (store) => {
      if (!(await store.sessions.verify(S, { repair: true })).repaired) throw new Error('nothing to repair')
    },
    repairs: true,
    again: 'nothing to repair',
  },
  ...ADAPTER_VERBS,
]

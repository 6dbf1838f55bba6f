import { HumanMessage } from '@langchain/core/messages'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, describe, expect, test } from 'vitest'
import { chatStore } from '../src/adapters/ai-sdk/index.ts'
import { undertextSessionStore } from '../src/adapters/claude-agent-sdk/index.ts'
import { UndertextChatMessageHistory } from '../src/adapters/langchain/index.ts'
import { UndertextSession } from '../src/adapters/openai-agents/index.ts'
import { afterTurn, beforeTurn } from '../src/compat/index.ts'
import { type ErrorCode, type HistoryRecord, openStore, type Store } from '../src/index.ts'
import { LEASE_HOLDER } from '../src/storage/process.ts'
import { chat, say } from './support/conversation.ts'
import { dumpOf, expectFailure, failureOf } from './support/failures.ts'
import { HOOKS, LISTENING, methodOfRow, STORE_METHODS, WRITING_ADAPTER_METHODS } from './support/methods.ts'
import { newFile } from './support/temporary.ts'

/*
 * Every verb in every state. A cell says what comes of it: it works, it answers null (or false), or it is refused
 * with a code. A verb that is refused writes nothing.
 */

type Fixture = { readonly store: Store; readonly messageId: string; readonly compactionId: string }

/** A compaction is due. */
const TURN = {
  threshold: 0,
  compaction: { targetTokens: 200, enableSummarize: false, waitMs: 0 },
} as const

const VERBS = {
  'sessions.create': ({ store }) => store.sessions.create({ id: 'another' }),
  'sessions.get': ({ store }) => store.sessions.get('s'),
  'sessions.list': ({ store }) => store.sessions.list(),
  'sessions.update': ({ store }) => store.sessions.update('s', { title: 'x' }),
  'sessions.archive': ({ store }) => store.sessions.archive('s'),
  'sessions.purge': ({ store }) => store.sessions.purge('s'),
  append: ({ store }) => store.append('s', [say('user', 'more')]),
  getMessages: ({ store }) => store.getMessages('s'),
  getEffectiveHistory: ({ store }) => store.getEffectiveHistory('s', { provenance: true }),
  'messages.importance': ({ store }) => store.messages.importance('s'),
  renderHistory: ({ store }) => store.renderHistory('s', { provider: 'anthropic' }),
  'messages.toolOutput': ({ store }) => store.messages.toolOutput('s', 'c1'),
  'messages.toolCalls': ({ store }) => store.messages.toolCalls('s'),
  'messages.expand': async ({ store }) => store.messages.expand('s', await summaryIn(store)),
  'messages.expand flat': async ({ store }) =>
    store.messages.expand('s', await summaryIn(store), { flat: true }),
  'messages.pin': ({ store, messageId }) => store.messages.pin('s', [messageId]),
  'messages.unpin': ({ store, messageId }) => store.messages.unpin('s', [messageId]),
  'compactions.hide': ({ store, messageId }) => store.compactions.hide('s', [messageId]),
  'rewind of nothing': ({ store }) => store.rewind('s', { from: 'start' }),
  'rewind with a message': ({ store }) =>
    store.rewind('s', { from: 'start', append: [say('user', 'instead')] }),
  'sessions.import': ({ store }) => store.sessions.import([IMPORTED], { id: 's', source: 'elsewhere' }),
  'sessions.export': async ({ store }) => {
    for await (const _ of store.sessions.export('s'));
  },
  'sessions.import of records': ({ store }) => store.sessions.import(RESTORED),
  'compactions.recordProvider of nothing': ({ store }) => store.compactions.recordProvider('s'),
  getContextStats: ({ store }) => store.getContextStats('s'),
  needsCompaction: async ({ store }) => ((await store.needsCompaction('s')) ? true : null),
  previewCompaction: ({ store }) =>
    store.previewCompaction('s', { targetTokens: 200, enableSummarize: false }),
  compactSession: ({ store }) =>
    store.compactSession('s', { targetTokens: 200, enableSummarize: false, waitMs: 0 }),
  'compactSession by a model': ({ store }) =>
    store.compactSession('s', {
      targetTokens: 200,
      waitMs: 0,
      summarizer: { name: 'm', usesModel: true, summarize: () => ({ text: 'Short.' }) },
    }),
  'compactSession after an overflow': ({ store }) =>
    store.compactSession('s', {
      trigger: 'overflow',
      targetTokens: 200,
      summarizer: { name: 'm', usesModel: true, summarize: () => ({ text: 'Short.' }) },
    }),
  beforeTurn: async ({ store }) => (await beforeTurn(store, 's', TURN)).run,
  afterTurn: async ({ store }) => (await afterTurn(store, 's', TURN)).run,
  'afterTurn with an answer': ({ store }) => afterTurn(store, 's', { messages: [say('assistant', 'more')] }),
  prepareRequest: async ({ store }) => store.prepareRequest('s', { prompt: 'now', auto: false }),
  'prepareRequest that compacts': async ({ store }) =>
    (await store.prepareRequest('s', { ...TURN, waitMs: 0 })).run,
  beginTurn: async ({ store }) => {
    const turn = await store.beginTurn('s', { waitMs: 0 })
    await turn.end()
    return turn.id
  },
  recordResponse: ({ store }) =>
    store.recordResponse('s', { prompt: 'now', messages: [say('assistant', 'more')] }),
  withOverflowRecovery: ({ store }) =>
    store.withOverflowRecovery('s', ({ messages }) => messages.length, { prompt: 'now' }),
  listCompactions: ({ store }) => store.listCompactions('s'),
  'compactions.get': ({ store, compactionId }) => store.compactions.get('s', compactionId),
  'sessions.audit': ({ store }) => store.sessions.audit('s'),
  'sessions.activeTurn': ({ store }) => store.sessions.activeTurn('s'),
  'sessions.config': ({ store }) => store.sessions.config('s'),
  undoCompaction: ({ store, compactionId }) => store.undoCompaction('s', compactionId),
  'undoCompaction that fits': ({ store }) => store.undoCompaction('s', { ifFits: {} }),
  redoCompaction: ({ store, compactionId }) => store.redoCompaction('s', compactionId),
  'sessions.verify': ({ store }) => store.sessions.verify('s'),
  'sessions.verify with repair': ({ store }) => store.sessions.verify('s', { repair: true }),
  'sessions.reestimate': ({ store }) => store.sessions.reestimate('s'),
  'requests.recordUsage': ({ store }) => store.requests.recordUsage('s', { inputTokens: 500 }),
  'requests.usage': ({ store }) => store.requests.usage('s'),
  'requests.costs': ({ store }) => store.requests.costs(),
  'requests.costs of a session': ({ store }) => store.requests.costs({ session: 's' }),
  'requests.list': ({ store }) => store.requests.list('s'),
  'requests.recordAnswer': ({ store }) => store.requests.recordAnswer('s', 'none', [1, 1]),
  'sessions.fork': ({ store }) => store.sessions.fork('s', { id: 'fork' }),
  'sessions.forks': ({ store }) => store.sessions.forks('s'),
  'sessions.bringBack': async ({ store }) => {
    await store.sessions.fork('s', { id: 'fork' })
    return store.sessions.bringBack('fork', { text: 'so' })
  },
  'privacy.eraseOwner': ({ store }) => store.privacy.eraseOwner('somebody'),
  'limits.learn': ({ store }) => store.limits.learn('s', 'prompt is too long: 900 tokens > 800 maximum'),
  'limits.set': ({ store }) => store.limits.set({ provider: 'openai', tokens: 100_000 }),
  'limits.list': ({ store }) => store.limits.list(),
  'limits.forget': ({ store }) => store.limits.forget('openai'),
  'privacy.scan': async ({ store }) => {
    for await (const _ of store.privacy.scan({ session: 's' }));
  },
  'jobs.start': ({ store }) => store.jobs.start('s'),
  'jobs.list': ({ store }) => store.jobs.list('s'),
  'jobs.get': ({ store }) => store.jobs.get('none'),
  'jobs.whenIdle': ({ store }) => store.jobs.whenIdle('s'),
  'jobs.cancel': ({ store }) => store.jobs.cancel({ session: 's' }),
  search: ({ store }) => store.search('somebody', { session: 's' }),
  'sessions.get with counts': ({ store }) =>
    store.sessions.get('s', { counts: true }).then((found) => found.counts),
  'messages.moment': ({ store }) => store.messages.moment('s', { afterMessage: 2 }),
  'messages.diff': ({ store }) => store.messages.diff('s', { afterMessage: 2 }),
  'messages.timeline': ({ store }) => store.messages.timeline('s'),
  'requests.get': ({ store }) => store.requests.get('s', 'none'),
  'requests.compare': ({ store }) => store.requests.compare('s', 'none'),
  'notes.add': ({ store }) => store.notes.add('a fact', { session: 's' }),
  'notes.list': ({ store }) => store.notes.list({ session: 's' }),
  'notes.forget': ({ store }) => store.notes.forget('none'),
  backup: ({ store }) => store.backup(newFile('backup.db')),
  'privacy.purgeText': ({ store }) => store.privacy.purgeText({ session: 's' }, 'somebody'),
  'privacy.applyRetention': ({ store }) =>
    store.privacy.applyRetention({ sessions: ['s'], rules: { hidden: { olderThanDays: 0 } }, now: 0 }),
  close: ({ store }) => store.close(),
  'chatStore.create': ({ store }) => chatStore(store).create({ id: 'another' }),
  'chatStore.save': ({ store }) => chatStore(store).save({ chatId: 's', messages: [UI_MESSAGE] }),
  'chatStore.resume': ({ store }) => chatStore(store).resume({ id: 's', message: UI_MESSAGE }),
  'chatStore.withdraw of nothing': async ({ store }) => (await chatStore(store).withdraw('s')) || null,
  'chatStore.fork': ({ store }) => chatStore(store).fork('s', { id: 'fork' }),
  'UndertextSession.addItems': ({ store }) => agents(store).addItems([ITEM]),
  'UndertextSession.addItemsWithCompactionOwnership': ({ store }) =>
    agents(store).addItemsWithCompactionOwnership([ITEM], null),
  'UndertextSession.popItem': async ({ store }) => (await agents(store).popItem()) ?? null,
  'UndertextSession.clearSession': ({ store }) => agents(store).clearSession(),
  'UndertextSession.replaceHistoryWithCompaction': ({ store }) =>
    agents(store).replaceHistoryWithCompaction([ITEM]),
  'UndertextSession.applyHistoryMutations of nothing': ({ store }) =>
    agents(store).applyHistoryMutations({
      mutations: [
        {
          type: 'replace_function_call',
          callId: 'c1',
          replacement: { type: 'function_call', callId: 'c1', name: 'read', arguments: '{}' },
        },
      ],
    }),
  'UndertextSession.applyHistoryTransaction': ({ store }) =>
    agents(store).applyHistoryTransaction({
      operationId: 'op',
      transaction: { type: 'append_items', items: [ITEM] },
    }),
  'UndertextSession.runCompaction of nothing': ({ store }) => agents(store).runCompaction({ force: true }),
  'UndertextSession.fork': ({ store }) => agents(store).fork({ sessionId: 'fork' }),
  'UndertextChatMessageHistory.addMessage': ({ store }) =>
    langchain(store).addMessage(new HumanMessage('more')),
  'UndertextChatMessageHistory.addMessages': ({ store }) =>
    langchain(store).addMessages([new HumanMessage('more')]),
  'UndertextChatMessageHistory.clear': ({ store }) => langchain(store).clear(),
  'UndertextChatMessageHistory.fork': ({ store }) => langchain(store).fork({ sessionId: 'fork' }),
  'UndertextSessionStore.append': ({ store }) =>
    undertextSessionStore({ store }).append(TRANSCRIPT, [
      { type: 'user', uuid: 'u1', message: { role: 'user', content: 'more' } },
    ]),
  'UndertextSessionStore.delete of nothing': ({ store }) =>
    undertextSessionStore({ store }).delete(TRANSCRIPT),
  'UndertextSessionStore.restore of nothing': async ({ store }) =>
    (await undertextSessionStore({ store }).restore(TRANSCRIPT)) || null,
  'UndertextSessionStore.listSessionSummaries of nothing': ({ store }) =>
    undertextSessionStore({ store, foldSessionSummary: () => ({}) as never }).listSessionSummaries('p'),
} satisfies Record<string, (fixture: Fixture) => unknown>

const UI_MESSAGE = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'more' }] } as const
const ITEM = { type: 'message', role: 'user', content: 'more' } as const
/** No session of the fixture: those are no transcripts. */
const TRANSCRIPT = { projectKey: 'p', sessionId: 't' } as const
const agents = (store: Store): UndertextSession => new UndertextSession({ store, sessionId: 's' })
const langchain = (store: Store): UndertextChatMessageHistory =>
  new UndertextChatMessageHistory({ store, sessionId: 's' })

/** The id of the summary among the rows, visible or not; some id where there is none. */
async function summaryIn(store: Store): Promise<string> {
  const rows = await store.getMessages('s')
  return rows.find(({ kind }) => kind === 'summary')?.id ?? 'none'
}
const IMPORTED = {
  type: 'message',

  message: { ...say('user', 'from elsewhere'), idempotencyKey: 'elsewhere:1' },
} as const
const RESTORED: readonly HistoryRecord[] = [
  { type: 'header', format: 'undertext history', version: 1, package: '0.1.0', exportedAt: 0 },
  {
    ...{ type: 'session', id: 's', incarnation: 'abcdefghijklmnop', estimator: 'neurolink' },
    ...{ createdAt: 0, updatedAt: 0, messages: 0, inserted: 0, version: 0, viewEpoch: 0 },
  },
  { type: 'end', compactions: 0, audit: 0, messages: 0, inserted: 0, replacements: 0 },
]
type Verb = keyof typeof VERBS

type Outcome = 'works' | 'null' | ErrorCode
const STATES = ['unknown', 'empty', 'compacted', 'undone', 'leased', 'readonly', 'closed'] as const
type State = (typeof STATES)[number]
/** One outcome a state. */
type Cells<T> = { readonly [K in keyof T]: Outcome }

const NOT_FOUND = 'SESSION_NOT_FOUND'
const READONLY = 'STORE_READONLY'
const NO_JOB = 'JOB_NOT_FOUND'
const BUSY = 'COMPACTION_IN_PROGRESS'
const CLOSED = 'STORE_CLOSED'

// biome-ignore format: a table
const TABLE: Record<Verb, Cells<typeof STATES>> = {
  //                                    unknown    empty                   compacted   undone   leased   readonly  closed
  'sessions.create':                      ['works',   'works',                'works',    'works', 'works', READONLY, CLOSED],
  'sessions.get':                         [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'sessions.list':                       ['works',   'works',                'works',    'works', 'works', 'works',  CLOSED],
  'sessions.update':                      [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  'sessions.archive':                     [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  'sessions.purge':                       [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  append:                             ['works',   'works',                'works',    'works', 'works', READONLY, CLOSED],
  getMessages:                        [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  getEffectiveHistory:                [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'messages.importance':                      [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  renderHistory:                      [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'messages.toolOutput':                      [NOT_FOUND, 'TOOL_CALL_NOT_FOUND',  'TOOL_CALL_NOT_FOUND', 'TOOL_CALL_NOT_FOUND', 'TOOL_CALL_NOT_FOUND', 'TOOL_CALL_NOT_FOUND', CLOSED],
  'messages.toolCalls':                      [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'messages.expand':                             [NOT_FOUND, 'MESSAGE_NOT_FOUND',    'works',    'works', 'works', 'works',  CLOSED],
  'messages.expand flat':                         [NOT_FOUND, 'MESSAGE_NOT_FOUND',    'works',    'works', 'works', 'works',  CLOSED],
  'messages.pin':                                [NOT_FOUND, 'MESSAGE_NOT_FOUND',    'works',    'works', 'works', READONLY, CLOSED],
  'messages.unpin':                              [NOT_FOUND, 'MESSAGE_NOT_FOUND',    'works',    'works', 'works', READONLY, CLOSED],
  'compactions.hide':                       [NOT_FOUND, 'MESSAGE_NOT_FOUND',    'STALE_PLAN', 'works', 'STALE_PLAN', READONLY, CLOSED],
  'rewind of nothing':                [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  'rewind with a message':            ['works',   'works',                'works',    'works', 'works', READONLY, CLOSED],
  'sessions.import':                      ['works',   'works',                'SESSION_EXISTS', 'SESSION_EXISTS', 'SESSION_EXISTS', 'SESSION_EXISTS', CLOSED],
  'sessions.export':                      [NOT_FOUND, 'works',                'works',    'works', 'works', 'works', CLOSED],
  'sessions.import of records':                     ['works',   'SESSION_EXISTS',       'SESSION_EXISTS', 'SESSION_EXISTS', 'SESSION_EXISTS', 'SESSION_EXISTS', CLOSED],
  'compactions.recordProvider of nothing': [NOT_FOUND, 'works',             'works',    'works', 'works', 'works',  CLOSED],
  getContextStats:                    ['null',    'null',                 'works',    'works', 'works', 'works',  CLOSED],
  needsCompaction:                    ['null',    'null',                 'null',     'null',  'null',  'null',   CLOSED],
  previewCompaction:                  ['null',    'null',                 'works',    'works', 'works', 'works',  CLOSED],
  compactSession:                     ['null',    'null',                 'works',    'works', BUSY,    READONLY, CLOSED],
  'compactSession by a model':        ['null',    'null',                 'works',    'works', BUSY,    READONLY, CLOSED],
  'compactSession after an overflow': ['null',    'null',                 'works',    'works', 'works', READONLY, CLOSED],
  beforeTurn:                         ['null',    'null',                 'works',    'works', 'null',  READONLY, CLOSED],
  afterTurn:                          ['null',    'null',                 'works',    'works', 'null',  READONLY, CLOSED],
  'afterTurn with an answer':         ['works',   'works',                'works',    'works', 'works', READONLY, CLOSED],
  prepareRequest:                     ['works',   'works',                'works',    'works', 'works', 'works',  CLOSED],
  'prepareRequest that compacts':     ['null',    'null',                 'works',    'works', 'null',  READONLY, CLOSED],
  beginTurn:                          [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  recordResponse:                     ['works',   'works',                'works',    'works', 'works', READONLY, CLOSED],
  withOverflowRecovery:               ['works',   'works',                'works',    'works', 'works', 'works',  CLOSED],
  listCompactions:                    [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'compactions.get':                      [NOT_FOUND, 'COMPACTION_NOT_FOUND', 'works',    'works', 'works', 'works',  CLOSED],
  'sessions.activeTurn':                   [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'sessions.audit':                        [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'sessions.config':                          [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  undoCompaction:                     [NOT_FOUND, 'COMPACTION_NOT_FOUND', 'works',    'works', 'works', READONLY, CLOSED],
  'undoCompaction that fits':                         [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  redoCompaction:                     [NOT_FOUND, 'COMPACTION_NOT_FOUND', 'works',    'works', 'works', READONLY, CLOSED],
  'sessions.verify':                      [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'sessions.verify with repair':        [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  'sessions.reestimate':                         [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  'requests.recordUsage':                        [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  'requests.usage':                           [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'requests.costs':                           ['works',   'works',                'works',    'works', 'works', 'works',  CLOSED],
  'requests.costs of a session':              [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'requests.list':                       [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'requests.recordAnswer':                       [NOT_FOUND, 'REQUEST_NOT_FOUND',    'REQUEST_NOT_FOUND', 'REQUEST_NOT_FOUND', 'REQUEST_NOT_FOUND', READONLY, CLOSED],
  'sessions.fork':                        [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  'sessions.forks':                          [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'sessions.bringBack':                          [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  'privacy.eraseOwner':               ['works',   'works',                'works',    'works', 'works', READONLY, CLOSED],
  'limits.learn':                     [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  'limits.set':                         ['works',   'works',                'works',    'works', 'works', READONLY, CLOSED],
  'limits.list':                         ['works',   'works',                'works',    'works', 'works', 'works',  CLOSED],
  'limits.forget':                        ['works',   'works',                'works',    'works', 'works', READONLY, CLOSED],
  'privacy.scan':                         [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'jobs.start':                [NOT_FOUND, 'works',                'works',    'works', 'works', READONLY, CLOSED],
  'jobs.list':                           [NOT_FOUND, 'works',                'works',    'works', 'works', 'works',  CLOSED],
  'jobs.get':                             [NO_JOB,    NO_JOB,                 NO_JOB,     NO_JOB,  NO_JOB,  NO_JOB,   CLOSED],
  'jobs.whenIdle':                           ['works',   'works',                'works',    'works', 'works', 'works',  CLOSED],
  'jobs.cancel':                             [NOT_FOUND, 'null',                 'null',     'null',  'null',  'null',   CLOSED],
  search:                             [NOT_FOUND, 'works', 'works', 'works', 'works', 'works', CLOSED],
  'sessions.get with counts':                      [NOT_FOUND, 'works', 'works', 'works', 'works', 'works', CLOSED],
  'messages.moment':                          [NOT_FOUND, 'MESSAGE_NOT_FOUND', 'works', 'works', 'works', 'works', CLOSED],
  'messages.diff':                          [NOT_FOUND, 'MESSAGE_NOT_FOUND', 'works', 'works', 'works', 'works', CLOSED],
  'messages.timeline':                      [NOT_FOUND, 'works', 'works', 'works', 'works', 'works', CLOSED],
  'requests.get':                         [NOT_FOUND, 'REQUEST_NOT_FOUND', 'REQUEST_NOT_FOUND', 'REQUEST_NOT_FOUND', 'REQUEST_NOT_FOUND', 'REQUEST_NOT_FOUND', CLOSED],
  'requests.compare':                     [NOT_FOUND, 'REQUEST_NOT_FOUND', 'REQUEST_NOT_FOUND', 'REQUEST_NOT_FOUND', 'REQUEST_NOT_FOUND', 'REQUEST_NOT_FOUND', CLOSED],
  'notes.add':                           [NOT_FOUND, 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'notes.list':                             [NOT_FOUND, 'works', 'works', 'works', 'works', 'works', CLOSED],
  'notes.forget':                             ['NOTE_NOT_FOUND', 'NOTE_NOT_FOUND', 'NOTE_NOT_FOUND', 'NOTE_NOT_FOUND', 'NOTE_NOT_FOUND', 'NOTE_NOT_FOUND', CLOSED],
  backup:                             ['works',   'works',                'works',    'works', 'works', 'works',  CLOSED],
  'privacy.purgeText':                [NOT_FOUND, 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'privacy.applyRetention':           [NOT_FOUND, 'works', 'works', 'works', 'works', READONLY, CLOSED],
  close:                              ['works',   'works',                'works',    'works', 'works', 'works',  'works'],
  'chatStore.create':                 ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'chatStore.save':                   ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'chatStore.resume':                 ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'chatStore.withdraw of nothing':    [NOT_FOUND, 'null', 'null', 'null', 'null', 'null', CLOSED],
  'chatStore.fork':                   [NOT_FOUND, 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextSession.addItems':        ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextSession.addItemsWithCompactionOwnership': ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextSession.popItem':         ['null', 'null', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextSession.clearSession':    ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextSession.replaceHistoryWithCompaction': ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextSession.applyHistoryMutations of nothing': ['works', 'works', 'works', 'works', 'works', 'works', CLOSED],
  'UndertextSession.applyHistoryTransaction': ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextSession.runCompaction of nothing':   ['null', 'null', 'null', 'null', 'null', 'null', CLOSED],
  'UndertextSession.fork':            [NOT_FOUND, 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextChatMessageHistory.addMessage': ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextChatMessageHistory.addMessages': ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextChatMessageHistory.clear': ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextChatMessageHistory.fork': [NOT_FOUND, 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextSessionStore.append':     ['works', 'works', 'works', 'works', 'works', READONLY, CLOSED],
  'UndertextSessionStore.delete of nothing': ['works', 'works', 'works', 'works', 'works', 'works', CLOSED],
  'UndertextSessionStore.restore of nothing': ['null', 'null', 'null', 'null', 'null', 'null', CLOSED],
  'UndertextSessionStore.listSessionSummaries of nothing': ['works', 'works', 'works', 'works', 'works', 'works', CLOSED],
}

test('every method of a store, and every writing method of an adapter, has a row', () => {
  const rows = new Set(Object.keys(VERBS).map(methodOfRow))
  const methods = [...STORE_METHODS, ...HOOKS].filter((name) => !LISTENING.includes(name))
  const all = [...methods, ...WRITING_ADAPTER_METHODS]
  expect(all.filter((name) => !rows.has(name))).toEqual([])
  expect([...rows].filter((name) => !all.includes(name))).toEqual([])
})

let file: string
beforeEach(() => {
  file = newFile()
})

/** A store with the session `s` in a state. The compaction condenses 3–6; the message is one of those. */
async function stateOf(state: State): Promise<Fixture> {
  const store = await openStore(file, { durability: 'normal' })
  await store.append('beside', chat(1))
  const nothing = { store, messageId: 'm3', compactionId: 'none' }
  if (state === 'unknown') return nothing
  await store.sessions.create({ id: 's' })
  if (state === 'empty') return nothing
  await store.append(
    's',
    chat(9, 30).map((message, index) => ({ ...message, id: `m${index + 1}` })),
  )
  const run = await store.compactSession('s', { range: { from: 3, to: 6 }, summary: 'Two turns.' })
  const compactionId = run!.compactions[0]!.id
  const fixture = { store, messageId: 'm3', compactionId }
  if (state === 'undone') await store.undoCompaction('s', compactionId)
  if (state === 'leased') {
    const other = new BetterSqlite3(file)
    other
      .prepare(
        "update undertext_sessions set lease_run = 'r', lease_holder = 'otherhost/1', lease_expires = ? where id = 's'",
      )
      .run(Date.now() + 15_000)
    other.close()
  }
  if (state === 'closed') await store.close()
  if (state !== 'readonly') return fixture
  await store.close()
  return { ...fixture, messageId: 'm9', store: await openStore(file, { readonly: true }) }
}

for (const [index, state] of STATES.entries()) {
  describe(`${state}:`, () => {
    for (const [verb, outcomes] of Object.entries(TABLE)) {
      const outcome = outcomes[index]!
      test(`${verb} ${outcome === 'works' || outcome === 'null' ? outcome : `is refused, ${outcome}`}`, async () => {
        const fixture = await stateOf(state)
        const act = VERBS[verb as Verb]
        const beside = new BetterSqlite3(file, { readonly: true })
        const before = dumpOf(beside)
        if (outcome === 'works') expect(await act(fixture)).not.toBeNull()
        else if (outcome === 'null') expect(await act(fixture)).toBeNull()
        else expectFailure(await failureOf(() => act(fixture)), outcome, verb)
        if (outcome !== 'works') expect(dumpOf(beside), 'nothing is written').toBe(before)
        beside.close()
        if (state !== 'closed' && verb !== 'close')
          expect(await fixture.store.sessions.get('beside')).toBeDefined()
        await fixture.store.close()
      })
    }
  })
}

describe('a lease', () => {
  const lease = (holder: string, expires: number): void => {
    const other = new BetterSqlite3(file)
    other
      .prepare(
        "update undertext_sessions set lease_run = 'r', lease_holder = ?, lease_expires = ? where id = 's'",
      )
      .run(holder, expires)
    other.close()
  }
  const run = { targetTokens: 200, enableSummarize: false } as const

  test('that ran out, or whose process is gone, blocks no run', async () => {
    const { store } = await stateOf('undone')
    lease('otherhost/1', Date.now() - 1)
    expect(await store.compactSession('s', { ...run, waitMs: 0 })).toMatchObject({ compacted: true })
    // No process has this number: they are below 2^22.
    lease(LEASE_HOLDER.replace(`/${process.pid}/`, '/99999999/'), Date.now() + 60_000)
    await store.append('s', chat(9, 30))
    expect(await store.compactSession('s', { ...run, waitMs: 0 })).toMatchObject({ compacted: true })
    await store.close()
  })

  test('is waited for, and the run continues when it is released', async () => {
    const { store } = await stateOf('leased')
    const waiting = store.compactSession('s', { ...run, waitMs: 10_000 })
    await new Promise((resolve) => setTimeout(resolve, 120))
    lease('otherhost/1', Date.now() - 1)
    expect(await waiting).toMatchObject({ compacted: true })
    await store.close()
  })

  test('is not waited for after the signal', async () => {
    const { store } = await stateOf('leased')
    const start = Date.now()
    const waiting = store.compactSession('s', { ...run, waitMs: 3_000, signal: AbortSignal.timeout(100) })
    expectFailure(await failureOf(() => waiting), 'ABORTED')
    expect(Date.now() - start).toBeLessThan(1_500)
    await store.close()
  })

  test('taken over while the summary was written makes the plan stale', async () => {
    const { store } = await stateOf('undone')
    const summarizer = {
      name: 'm',
      usesModel: true,
      summarize: () => {
        lease('otherhost/1', Date.now() + 60_000)
        return { text: 'Short.' }
      },
    }
    const before = await store.getEffectiveHistory('s')
    expectFailure(
      await failureOf(() => store.compactSession('s', { targetTokens: 200, summarizer })),
      'STALE_PLAN',
    )
    expect(await store.getEffectiveHistory('s')).toEqual(before)
    // The other one's lease is still there.
    expectFailure(
      await failureOf(() => store.compactSession('s', { ...run, waitMs: 0 })),
      'COMPACTION_IN_PROGRESS',
    )
    await store.close()
  })
})

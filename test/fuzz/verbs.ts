import {
  type CompactionPreview,
  extractiveSummarizer,
  type HistoryRecord,
  type ImportEvent,
  type NewMessage,
  type PreparedRequest,
  type Store,
} from '../../src/index.ts'
import { call, chat, result, say } from '../support/conversation.ts'
import { CANARY } from '../support/failures.ts'
import { holderOf } from '../support/methods.ts'
import { newFile } from '../support/temporary.ts'

/* A session with something of everything, and a valid call of each method of a store. */

export type Fixture = {
  readonly store: Store
  /** The id of the session. */
  readonly s: string
  readonly messageId: string
  readonly summaryId: string
  readonly compactionId: string
  readonly undoneId: string
  readonly noteId: string
  readonly requestId: string
  readonly laterRequestId: string
  /** A request whose answer is recorded, and the position of its answer. */
  readonly answered: number
  readonly cursor: string
  readonly jobId: string
  readonly request: PreparedRequest
  readonly preview: CompactionPreview
  readonly fork: string
  readonly records: readonly HistoryRecord[]
}

const EVERYTHING: readonly NewMessage[] = [
  {
    role: 'user',
    content: [
      { type: 'text', text: CANARY, providerOptions: { openai: { detail: 'low' } } },
      { type: 'image', image: new Uint8Array(20), mediaType: 'image/png' },
      { type: 'file', data: 'aGk=', mediaType: 'text/plain', filename: 'a.txt' },
    ],
    id: 'new-1',
    idempotencyKey: 'k1',
    createdAt: 5,
    metadata: { note: CANARY },
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: CANARY },
      { type: 'provider', provider: 'anthropic', data: { type: 'x', text: CANARY } },
      { type: 'tool-call', toolCallId: 'new', toolName: 'run', input: { command: [CANARY] } },
    ],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'new',
        toolName: 'run',
        output: { type: 'content', value: [{ type: 'text', text: CANARY }] },
      },
    ],
  },
]

/** Fills a session. Ids of messages are its own. */
export async function furnish(store: Store, s: string): Promise<Fixture> {
  await store.sessions.create({ id: s, owner: 'o', metadata: { note: CANARY } })
  await store.append(s, [
    { ...say('user', CANARY), id: 'm1' },
    call('a', 'read', { path: 'a.ts' }),
    result('a', CANARY, 'read'),
    ...chat(8, 30),
  ])
  const summarized = await store.compactSession(s, { range: { from: 4, to: 7 }, summary: CANARY })
  const undone = await store.compactions.hide(s, [(await store.getMessages(s))[8]!.id])
  await store.undoCompaction(s, undone.id)
  const note = await store.notes.add(CANARY, { session: s, key: 'k' })
  const request = await store.prepareRequest(s, { prompt: CANARY, system: CANARY, tools: [{ name: 'read' }] })
  const { requestId } = await store.requests.recordUsage(s, { inputTokens: 900, request })
  const other = await store.requests.recordUsage(s, { inputTokens: 950, request })
  const { position: answered } = await store.append(s, [say('assistant', CANARY)])
  await store.requests.recordAnswer(s, other.requestId!, [answered, answered])
  const { jobId } = await store.jobs.start(s, { targetTokens: 100_000 })
  await store.jobs.whenIdle(s)
  // The first search makes the index, which is not what a refused call may write.
  const { cursor } = await store.search('somebody', { session: s, limit: 1 })
  await store.sessions.fork(s, { id: `${s} fork` })
  await store.append(`${s} fork`, chat(1))
  const records: HistoryRecord[] = []
  for await (const record of store.sessions.export(s)) records.push(record)
  return {
    ...{ store, s, messageId: 'm1', compactionId: summarized!.compactions[0]!.id, undoneId: undone.id },
    ...{
      noteId: note.id,
      requestId: requestId!,
      laterRequestId: other.requestId!,
      request,
      answered,
      jobId,
      cursor: cursor!,
    },
    ...{ fork: `${s} fork`, records },
    summaryId: (await store.getEffectiveHistory(s)).find(({ kind }) => kind === 'summary')!.id,
    preview: (await store.previewCompaction(s, { targetTokens: 100, enableSummarize: false }))!,
  }
}

const ASKED = {
  system: CANARY,
  prompt: CANARY,
  tools: [{ name: 'read', parameters: { type: 'object' } }],
  files: [{ name: 'a.txt', content: CANARY, size: 25 }],
}
const AUTHOR = { actor: 'fuzz', reason: 'test' }
const CONFIG = {
  targetTokens: 100,
  waitMs: 0,
  keepRecentTokens: 50,
  stages: [{ stage: 'clear_tool_results', keep: 0 }, 'prune', 'summarize', 'truncate'],
  summarizer: extractiveSummarizer,
  summarySections: ['Tasks'],
  pruneProtectedTools: ['skill'],
  ...AUTHOR,
}
const IMPORTED: readonly ImportEvent[] = [
  { type: 'fields', title: 'Imported' },
  { type: 'message', message: { ...say('user', CANARY), idempotencyKey: 'i1' } },
  { type: 'message', message: { ...say('assistant', CANARY), idempotencyKey: 'i2' } },
  { type: 'compaction', compaction: { id: 'c', kind: 'condense', covers: [[1, 1]], text: CANARY } },
]

/** The arguments of a valid call, by method. A method with several forms has several rows: `name (form)`. */
export const CALLS: Readonly<Record<string, (fixture: Fixture) => readonly unknown[]>> = {
  'sessions.create': () => [
    {
      ...{ id: 'another', owner: 'o', title: 'T', provider: 'openai', model: 'gpt-4o' },
      ...{ config: { targetTokens: 500 }, metadata: { list: [1, { a: CANARY }] } },
    },
  ],
  'sessions.get': ({ s }) => [s, { owner: 'o' }],
  'sessions.get (with counts)': ({ s }) => [s, { counts: true }],
  'sessions.list': ({ s }) => [{ owner: 'o', archived: false, limit: 5, after: s, search: 's' }],
  'sessions.list (after a session)': ({ s }) => [{ after: { id: s, newestAt: 5 } }],
  'sessions.update': ({ s }) => [
    s,
    { title: 'T', metadata: { a: [CANARY] }, config: { target: 0.5 } },
    { owner: 'o' },
  ],
  'sessions.archive': ({ s }) => [s, true],
  'sessions.fork': ({ s }) => [s, { id: 'forked', title: 'F', at: { afterMessage: 3 }, actor: 'fuzz' }],
  'sessions.bringBack': ({ fork }) => [fork, { text: CANARY, ...AUTHOR }],
  'sessions.forks': ({ s }) => [s],
  'sessions.purge': ({ s }) => [s, { clearFiles: false, forks: 'keep', ...AUTHOR }],
  'sessions.config': ({ s }) => [s],
  'sessions.verify': ({ s }) => [s, { repair: true }],
  'sessions.reestimate': ({ s }) => [s, 'neurolink'],
  append: ({ s }) => [s, EVERYTHING, { expectedPosition: 20, previewToolOutputs: true }],
  search: ({ s }) => [
    'said "what somebody"',
    {
      session: s,
      owner: 'o',
      roles: ['user'],
      tools: ['read'],
      from: 0,
      to: new Date(),
      hidden: false,
      limit: 2,
    },
  ],
  'search (of a page)': ({ s, cursor }) => ['somebody', { session: s, limit: 1, cursor }],
  getMessages: ({ s }) => [
    s,
    { after: 1, before: 9, limit: 3, order: 'backward', shown: true, visible: true },
  ],
  'getMessages (then)': ({ s }) => [s, { at: { time: new Date() } }],
  getEffectiveHistory: ({ s, messageId }) => [s, { provenance: true, at: { afterMessage: messageId } }],
  'messages.moment': ({ s, compactionId }) => [s, { beforeCompaction: compactionId }],
  'messages.diff': ({ s }) => [s, { audit: 1 }, { time: 8e12 }],
  'messages.timeline': ({ s }) => [s, { from: 1, to: 9, points: 2 }],
  renderHistory: ({ s }) => [
    s,
    { provider: 'anthropic', pendingCalls: 'keep', alsoReads: ['openai'], at: { beforeMessage: 5 } },
  ],
  'messages.toolOutput': ({ s }) => [s, 'a', { position: 2 }],
  'messages.toolCalls': ({ s }) => [s, { after: 0, limit: 5 }],
  'messages.expand': ({ s, summaryId }) => [s, summaryId, { depth: 2 }],
  'messages.expand (flat)': ({ s, summaryId }) => [s, summaryId, { flat: true, after: 0, limit: 2 }],
  'messages.pin': ({ s, messageId }) => [s, [messageId], AUTHOR],
  'messages.unpin': ({ s, messageId }) => [s, [messageId], AUTHOR],
  'messages.importance': ({ s }) => [
    s,
    {
      weights: { recency: { user: 10 }, signals: { error: 5 } },
      scorer: { name: 'x', version: '1', score: () => [] },
    },
  ],
  rewind: ({ s, messageId }) => [
    s,
    {
      ...{
        from: { beforeMessage: messageId },
        append: EVERYTHING,
        keepCompactions: true,
        expectedPosition: 20,
      },
      ...{ operationId: 'op', operationBody: { a: [1, CANARY] }, ...AUTHOR },
    },
  ],
  'rewind (by functions)': ({ s }) => [
    s,
    { from: () => 'start', append: () => EVERYTHING, operationId: 'op', operationBody: 1 },
  ],
  getContextStats: ({ s }) => [
    s,
    'openai',
    'gpt-4o',
    { ...ASKED, pendingTokens: 3, threshold: 0.5, at: { audit: 1 } },
  ],
  needsCompaction: ({ s }) => [s, 'openai', 'gpt-4o', { ...ASKED, pendingTokens: 3, threshold: 0.5 }],
  'requests.recordUsage': ({ s, request }) => [
    s,
    {
      ...{ provider: 'openai', model: 'gpt-4o', inputTokens: 500, cacheReadTokens: 5, outputTokens: 9 },
      ...{ position: 3, viewEpoch: 1, system: CANARY, prompt: CANARY, request },
    },
  ],
  'requests.usage': ({ s }) => [s],
  'requests.costs': ({ s }) => [{ session: s, from: 0, to: new Date(), utcOffsetMinutes: -60 }],
  'requests.costs (of all)': () => [{ utcOffsetMinutes: 840 }],
  'limits.learn': ({ s }) => [
    s,
    { status: 400, message: 'prompt is too long: 900 tokens > 800 maximum', error: { message: CANARY } },
    {
      provider: 'anthropic',
      model: 'claude',
      position: 2,
      overflow: { strict: true, patterns: [{ provider: 'x', pattern: /too long/ }] },
    },
  ],
  'limits.set': () => [{ provider: 'openai', model: 'gpt-4o', tokens: 100_000, kind: 'input' }],
  'limits.list': () => [],
  'limits.forget': () => ['openai', 'gpt-4o'],
  'privacy.scan': ({ s }) => [{ session: s }],
  previewCompaction: ({ s }) => [s, { ...CONFIG, summarize: true }],
  compactSession: ({ s }) => [s, CONFIG],
  'compactSession (of a range)': ({ s }) => [s, { range: { from: 8, to: 11 }, summary: CANARY, ...AUTHOR }],
  'compactSession (of a preview)': ({ s, preview }) => [s, preview],
  'compactions.hide': ({ s, messageId }) => [s, [messageId], AUTHOR],
  'compactions.recordProvider': ({ s, messageId }) => [
    s,
    {
      ...{ messageId, provider: 'anthropic', excludeTools: ['run'], ...AUTHOR },
      appliedEdits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 1, more: { a: CANARY } }],
    },
  ],
  listCompactions: ({ s }) => [s, { runId: 'r' }],
  'compactions.get': ({ s, compactionId }) => [s, compactionId],
  'sessions.activeTurn': ({ s }) => [s],
  'sessions.audit': ({ s }) => [s, { after: 1, limit: 3 }],
  undoCompaction: ({ s, compactionId }) => [s, compactionId, { cascade: true, both: true, ...AUTHOR }],
  redoCompaction: ({ s, undoneId }) => [s, undoneId, { cascade: true, ...AUTHOR }],
  'undoCompaction (that fits)': ({ s }) => [
    s,
    { ifFits: { ...ASKED, target: 0.9, threshold: 0.95, kinds: ['condense'], ...AUTHOR } },
  ],
  'jobs.start': ({ s }) => [s, { targetTokens: 100, enableSummarize: false, ...AUTHOR }],
  'jobs.list': ({ s }) => [s, { limit: 3 }],
  'jobs.get': ({ jobId }) => [jobId],
  'jobs.whenIdle': ({ s }) => [s, { timeoutMs: 0, signal: new AbortController().signal }],
  'jobs.cancel': ({ s }) => [{ session: s }],
  'notes.add': ({ s, messageId }) => [
    CANARY,
    { session: s, key: 'k2', source: messageId, metadata: { a: [CANARY] } },
  ],
  'notes.add (of an owner)': () => [CANARY, { owner: 'o', key: 'k' }],
  'notes.list': ({ s }) => [{ query: 'somebody', session: s, limit: 3, all: true }],
  'notes.forget': ({ noteId }) => [noteId, { purge: true, ...AUTHOR }],
  'privacy.purgeText': ({ s }) => [{ session: s }, CANARY, { replacement: '***', dryRun: false, ...AUTHOR }],
  'privacy.applyRetention': ({ s }) => [
    {
      ...{ rules: { hidden: { olderThanDays: 0, largerThanBytes: 1 } }, sessions: [s], dryRun: false },
      ...{ budgetMs: 1_000, now: 0, clearFiles: false, ...AUTHOR },
    },
  ],
  'privacy.applyRetention (of an owner)': () => [{ rules: { audit: [{ olderThanDays: 1 }] }, owner: 'o' }],
  'privacy.purgeText (of an expression)': () => ['all', /can[a]ry/i, { dryRun: true }],
  prepareRequest: ({ s }) => [
    s,
    {
      ...ASKED,
      provider: 'anthropic',
      model: 'claude',
      auto: false,
      notes: { tokens: 50, query: CANARY },
      waitMs: 0,
    },
  ],
  'prepareRequest (of messages)': ({ s }) => [s, { prompt: EVERYTHING, auto: false }],
  beginTurn: ({ s }) => [s, { waitMs: 0, takeOver: true, idleMs: 1, signal: new AbortController().signal }],
  recordResponse: ({ s, request }) => [
    s,
    {
      ...{ prompt: CANARY, messages: EVERYTHING, stopReason: 'stop', request },
      usage: { prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } },
    },
  ],
  'requests.recordAnswer': ({ s, requestId, answered }) => [s, requestId, [answered, answered]],
  'requests.list': ({ s }) => [s, { limit: 2 }],
  'requests.get': ({ s, requestId }) => [s, requestId],
  'requests.compare': ({ s, laterRequestId }) => [s, laterRequestId],
  'requests.compare (with another)': ({ s, laterRequestId, requestId }) => [
    s,
    laterRequestId,
    { with: requestId },
  ],
  'requests.get (of an answer)': ({ s, answered }) => [s, { answer: answered }],
  withOverflowRecovery: ({ s }) => [s, () => 'answer', { ...ASKED, waitMs: 0 }],
  'sessions.import': () => [IMPORTED, { id: 'imported', source: 'elsewhere', owner: 'o' }],
  'sessions.export': ({ s }) => [s],
  'sessions.import (of records)': ({ records }) => [records, { id: 'restored', owner: 'o' }],
  forOwner: () => ['o'],
  'privacy.eraseOwner': () => ['o', { dryRun: false, actor: 'fuzz' }],
  on: () => ['compaction', () => undefined],
  once: () => ['compaction', () => undefined],
  off: () => ['compaction', () => undefined],
  'compactions.onBefore': () => [() => true],
  backup: () => [newFile('backup.db'), { overwrite: true, onProgress: () => undefined }],
  close: () => [{ timeoutMs: 0 }],
}

/** The method of a row. */
export function methodOf(row: string): string {
  return row.replace(/ \(.*/, '')
}

/** Calls a method as a program without types would. What it yields is a list. */
export async function callMethod(store: Store, method: string, args: readonly unknown[]): Promise<unknown> {
  const [holder, name] = holderOf(store, method)
  const answer = await (holder as Record<string, (...given: unknown[]) => unknown>)[name]!(...args)
  if (typeof answer !== 'object' || answer === null || !(Symbol.asyncIterator in answer)) return answer
  const yielded: unknown[] = []
  for await (const one of answer as AsyncIterable<unknown>) yielded.push(one)
  return yielded
}

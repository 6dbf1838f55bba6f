import { afterTurn, beforeTurn } from '../../src/compat/index.ts'
import type { HistoryRecord, NewMessage, Store } from '../../src/index.ts'
import { everything, ONLY } from '../storage/contract/support.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { CANARY } from '../support/failures.ts'

/* A session with something of everything in it, and every verb there is on it. */

/** What the conversation says, over and over: wherever a damaged page is quoted, some of it would be. */
export const SPEECH = `${CANARY} `.repeat(4)

/** Messages of so many turns: text, calls with results, now and then an image, metadata, keys and ids. */
export function turns(from: number, count: number): NewMessage[] {
  return Array.from({ length: count }, (_, at): NewMessage[] => {
    const turn = from + at
    return [
      {
        ...say('user', `${SPEECH}asks ${turn}`),
        idempotencyKey: `key-${turn}`,
        metadata: { note: SPEECH, turn },
      },
      call(`c${turn}`, 'read', { path: `${turn % 3}.ts`, why: SPEECH }),
      result(`c${turn}`, `${SPEECH}${units(60)}`),
      turn % 4 === 0
        ? {
            role: 'assistant',
            content: [
              { type: 'reasoning', text: SPEECH },
              { type: 'text', text: SPEECH },
            ],
          }
        : { ...say('assistant', `${SPEECH}answers`), id: `own-${turn}` },
      ...(turn % 5 === 0 ? [imageOf(turn)] : []),
    ]
  }).flat()
}

function imageOf(turn: number): NewMessage {
  return { role: 'user', content: [{ type: 'image', image: Buffer.alloc(5_000, turn).toString('base64') }] }
}

/** The session `s` with compactions of every kind, one of them undone, and a second session `t`. */
export async function furnish(store: Store): Promise<Furnished> {
  await store.append('s', turns(1, 12))
  await store.append('t', turns(1, 3))
  const ids = (await store.getMessages('s')).map(({ id }) => id)
  await store.messages.pin('s', [ids[0]!])
  for (const text of [SPEECH, `${SPEECH}again`]) await store.notes.add(text, { session: 's', key: 'k' })
  await store.compactSession('s', {
    ...ONLY.prune,
    targetTokens: 0,
    pruneProtectTokens: 300,
    pruneMinimumSavings: 0,
  })
  await store.compactSession('s', { range: { from: 2, to: 8 }, summary: `${SPEECH}in short` })
  const summary = (await store.getEffectiveHistory('s')).find(({ kind }) => kind === 'summary')!.id
  const undone = (await store.compactSession('s', { range: { from: 9, to: 12 }, summary: SPEECH }))!.runId
  await store.undoCompaction('s', undone)
  const active = (await store.compactSession('s', { ...ONLY.truncate, targetTokens: 900 }))!.runId
  return { active, undone, ids, summary }
}

export type Furnished = {
  readonly active: string
  readonly undone: string
  readonly ids: readonly string[]
  /** The id of the one in force. */
  readonly summary: string
}

type Verb = (store: Store, furnished: Furnished) => unknown

/** Every verb that only reads. */
export const READS: Readonly<Record<string, Verb>> = {
  getSession: (store) => store.sessions.get('s'),
  listSessions: (store) => store.sessions.list(),
  getMessages: (store) => store.getMessages('s'),
  'getMessages backward': (store) => store.getMessages('s', { order: 'backward', limit: 7 }),
  getEffectiveHistory: (store) => store.getEffectiveHistory('s', { provenance: true }),
  getImportance: (store) => store.messages.importance('s'),
  renderHistory: (store) => store.renderHistory('s', { provider: 'anthropic' }),
  getToolOutput: (store) => store.messages.toolOutput('s', 'c3'),
  listToolCalls: (store) => store.messages.toolCalls('s'),
  expand: (store, { summary }) => store.messages.expand('s', summary),
  getSources: (store, { summary }) => store.messages.expand('s', summary, { flat: true }),
  getContextStats: (store) => store.getContextStats('s'),
  needsCompaction: (store) => store.needsCompaction('s'),
  beforeTurn: (store) => beforeTurn(store, 's', { auto: false }),
  prepareRequest: (store) => store.prepareRequest('s', { prompt: 'now', auto: false }),
  previewCompaction: async (store) => {
    const preview = await store.previewCompaction('s', { targetTokens: 300, keepRecentTokens: 100 })
    return { ...preview, compactions: preview?.compactions.map(({ id: _id, ...one }) => one), messages: 0 }
  },
  listCompactions: (store) => store.listCompactions('s'),
  getCompaction: (store, { active }) => store.listCompactions('s', { runId: active }),
  getAuditLog: (store) => store.sessions.audit('s'),
  recall: (store) => store.notes.list({ query: 'again', session: 's', all: true }),
  exportSession: async (store) => {
    const records: HistoryRecord[] = []
    for await (const record of store.sessions.export('s')) records.push(record)
    return records.slice(1)
  },
  getConfig: (store) => store.sessions.config('s'),
  listLimits: (store) => store.limits.list(),
  listJobs: (store) => store.jobs.list('s'),
  whenIdle: (store) => store.jobs.whenIdle('s'),
  verifySession: (store) => store.sessions.verify('s'),
}

/** Every verb that writes, in an order in which all of them succeed. */
export const WRITES: Readonly<Record<string, Verb>> = {
  createSession: (store) => store.sessions.create({ id: 'new', metadata: { long: units(2_000) } }),
  updateSession: (store) => store.sessions.update('s', { metadata: { long: units(2_000) } }),
  archiveSession: (store) => store.sessions.archive('t'),
  append: (store) => store.append('s', [{ ...say('user', units(5_000)), idempotencyKey: 'late' }]),
  'append to a new session': (store) => store.append('fresh', [say('user', units(5_000))]),
  pin: (store, { ids }) => store.messages.pin('s', [ids.at(-1)!]),
  unpin: (store, { ids }) => store.messages.unpin('s', [ids[0]!]),
  hideMessages: (store, { ids }) => store.compactions.hide('s', [ids.at(-4)!]),
  rewind: (store) =>
    store.rewind('s', {
      from: (view) => ({ beforeMessage: view.at(-1)!.id }),
      append: [say('user', units(5_000))],
      operationId: 'op',
      operationBody: 1,
    }),
  importSession: (store) =>
    store.sessions.import(
      [{ type: 'message', message: { ...say('user', units(5_000)), idempotencyKey: 'i1' } }],
      { id: 'imported', source: 'elsewhere' },
    ),
  restoreSession: (store) => store.sessions.import(store.sessions.export('s'), { id: 'restored' }),
  recordProviderCompaction: (store) =>
    store.compactions.recordProvider('s', {
      appliedEdits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 30 }],
    }),
  redoCompaction: (store, { active, undone }) =>
    store.undoCompaction('s', active).then(() => store.redoCompaction('s', undone)),
  undoIfFits: (store) => store.undoCompaction('s', { ifFits: { kinds: ['condense'] } }),
  undoCompaction: (store, { undone }) => store.undoCompaction('s', undone),
  compactSession: (store) => store.compactSession('s', { targetTokens: 300, keepRecentTokens: 100 }),
  'compactSession by a model': (store) =>
    store.compactSession('t', {
      ...ONLY.summarize,
      targetTokens: 0,
      keepRecentTokens: 0,
      summarizer: { name: 'fake', usesModel: true, summarize: () => ({ text: 'In short.' }) },
    }),
  'beforeTurn that compacts': (store) =>
    beforeTurn(store, 't', { threshold: 0, compaction: { ...ONLY.truncate, targetTokens: 0 } }),
  'afterTurn with an answer': (store) =>
    afterTurn(store, 't', { messages: [say('assistant', units(100))], auto: false }),
  'compactInBackground and cancel': async (store) => {
    await store.jobs.start('s', { prompt: units(2_000) })
    await store.jobs.cancel({ session: 's' })
  },
  'prepareRequest that compacts': (store) =>
    store.prepareRequest('t', {
      prompt: 'now',
      threshold: 0,
      compaction: { ...ONLY.truncate, targetTokens: 0 },
    }),
  recordResponse: (store) =>
    store.recordResponse('t', {
      prompt: 'now',
      messages: [say('assistant', units(100))],
      usage: { inputTokens: 500 },
    }),
  reestimate: (store) => store.sessions.reestimate('s'),
  recordUsage: (store) => store.requests.recordUsage('s', { inputTokens: 500 }),
  'recordUsage of a request': async (store) => {
    const request = await store.prepareRequest('s', { system: units(500), prompt: units(300) })
    return store.requests.recordUsage('s', { inputTokens: 500, request })
  },
  learnLimit: (store) => store.limits.set({ provider: 'openai', model: units(200), tokens: 500 }),
  forgetLimit: (store) => store.limits.forget('openai', units(200)),
  'sessions.verify with repair': (store) => store.sessions.verify('s', { repair: true }),
  'remember and forget': async (store) => {
    const { id } = await store.notes.add(units(2_000), { session: 's', key: 'k' })
    await store.notes.forget(id)
  },
  purgeSession: (store) => store.sessions.purge('t'),
}

/** All that can be read of both sessions, as text. */
export async function contentsOf(store: Store): Promise<string> {
  const sessions = await store.sessions.list()
  const each = await Promise.all(sessions.map(({ id }) => everything(store, id)))
  return JSON.stringify([sessions.map(({ id }) => id), each])
}

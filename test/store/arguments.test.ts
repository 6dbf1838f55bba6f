import { afterEach, describe, expect, it } from 'vitest'
import {
  type HistoryRecord,
  modelSummarizer,
  type NewMessage,
  openStore,
  type SqliteStore,
} from '../../src/index.ts'
import { chat } from '../support/conversation.ts'

/*
 * A verb takes what it needs from its arguments before it returns its promise: what the caller does to them afterwards changes nothing.
 */

const S = 's'
const messages = (): NewMessage[] => [
  { role: 'user', content: [{ type: 'text', text: 'as given' }], id: 'new-1', idempotencyKey: 'k1' },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'so' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'run', input: { command: ['ls', '-l'] } },
    ],
    id: 'new-2',
    metadata: { tags: ['as given'] },
  },
]
const tools = () => [
  { name: 'run', description: 'x'.repeat(400), parameters: { type: 'object', list: [1, 2] } },
]

let stores: SqliteStore[] = []
afterEach(async () => {
  for (const store of stores) await store.close()
  stores = []
})

async function open(): Promise<SqliteStore> {
  const store = await openStore(':memory:', {
    estimator: 'neurolink',
    env: false,
    config: { contextWindows: { openai: 3_000 }, maxTokens: 1_000 },
  })
  stores.push(store)
  await store.append(
    S,
    chat(26, 20).map((message, at) => ({ ...message, id: `m${at + 1}` })),
  )
  return store
}

type Mutable = { [key: string]: unknown }

/** Changes all a caller could: every list, every plain object, all the way down. */
function spoil(value: unknown, seen = new Set<unknown>()): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  seen.add(value)
  const isList = Array.isArray(value)
  if (Object.isFrozen(value) || (!isList && Object.getPrototypeOf(value) !== Object.prototype)) return
  const object = value as Mutable
  for (const key of Object.keys(object)) {
    spoil(object[key], seen)
    if (typeof object[key] === 'string') object[key] = 'spoiled'
    else if (typeof object[key] === 'number') object[key] = 1
    else if (typeof object[key] === 'boolean') object[key] = !object[key]
  }
  if (isList) value.push(...value.filter((entry) => !Object.isFrozen(entry) || typeof entry !== 'object'))
  else object.spoiled = 'spoiled'
}

/** A summarizer is an object of the caller's with functions: it is used as it is, and not changed here. */
const summarizer = () =>
  Object.freeze(modelSummarizer({ name: 'm', generate: async () => ({ text: 'In short.' }) }))

const records = async (store: SqliteStore): Promise<HistoryRecord[]> => {
  const all: HistoryRecord[] = []
  for await (const record of store.exportSession(S)) all.push(structuredClone(record))
  return all
}

type Call = readonly [
  args: (store: SqliteStore) => readonly unknown[] | Promise<readonly unknown[]>,
  act: (store: SqliteStore, args: readonly never[]) => unknown,
]
const verb = <K extends keyof SqliteStore>(name: K, args: Call[0]): readonly [string, Call] => [
  name as string,
  [args, (store, given) => (store[name] as (...args: readonly never[]) => unknown)(...given)],
]
const DUE = { systemPrompt: 'x'.repeat(1_200) }

const CALLS: readonly (readonly [string, Call])[] = [
  verb('append', () => [S, messages(), { expectedPosition: 52 }]),
  verb('createSession', () => [
    { id: 'created', title: 't', metadata: { a: { b: [1] } }, config: { threshold: 0.7 } },
  ]),
  verb('updateSession', () => [S, { title: 't', metadata: { a: { b: [1] } }, config: { threshold: 0.7 } }]),
  verb('purgeSession', () => [S, { actor: 'me' }]),
  verb('listSessions', () => [{ limit: 5 }]),
  verb('getMessages', () => [S, { limit: 5, after: 3 }]),
  verb('getEffectiveHistory', () => [S, { provenance: true }]),
  verb('renderHistory', () => [S, { provider: 'anthropic' }]),
  verb('pin', () => [S, ['m3'], { actor: 'me' }]),
  verb('hideMessages', () => [S, ['m3', 'm4'], { actor: 'me' }]),
  verb('compactSession', () => [
    S,
    {
      targetTokens: 500,
      pruneProtectedTools: ['a'],
      toolDefinitions: tools(),
      summarySections: ['A', 'B'],
      enableSummarize: false,
    },
  ]),
  verb('compactSession', () => [S, { stages: [{ stage: 'truncate' }], targetTokens: 500 }]),
  verb('previewCompaction', () => [
    S,
    { targetTokens: 500, toolDefinitions: tools(), stages: [{ stage: 'truncate' }] },
  ]),
  verb('recordProviderCompaction', () => [
    S,
    { appliedEdits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 1, cleared_input_tokens: 5 }] },
  ]),
  verb('recordUsage', () => [S, { inputTokens: 900, outputTokens: 10, toolDefinitions: tools() }]),
  verb('getContextStats', () => [
    S,
    undefined,
    undefined,
    { toolDefinitions: tools(), currentPrompt: 'now' },
  ]),
  verb('learnLimit', () => [{ provider: 'openai', model: 'x', tokens: 900 }]),
  verb('undoIfFits', () => [S, { kinds: ['truncate'], toolDefinitions: tools() }]),
  verb('getImportance', () => [S, { weights: { signals: { error: 50 } } }]),
  verb('beforeTurn', () => [
    S,
    { ...DUE, toolDefinitions: tools(), compaction: { targetTokens: 500, stages: [{ stage: 'truncate' }] } },
  ]),
  verb('afterTurn', () => [S, { messages: messages(), toolDefinitions: tools(), stopReason: 'stop' }]),
  verb('prepareRequest', () => [
    S,
    { system: 'be', prompt: messages(), tools: tools(), files: [{ content: 'f', path: 'p' }] },
  ]),
  verb('recordResponse', () => [
    S,
    { messages: messages(), usage: { inputTokens: 900, outputTokens: 9 }, prompt: 'hello' },
  ]),
  verb('rewind', () => [S, { from: { messageId: 'm9' }, append: messages(), actor: 'me' }]),
  verb('rewind', () => [S, { from: { messageId: 'm9' }, append: messages(), operationId: 'o' }]),
  verb('importSession', () => [
    'imported',
    messages().map((message) => ({ type: 'message' as const, message })),
    { source: 'elsewhere' },
  ]),
  verb('restoreSession', async (store) => [await records(store), { id: 'restored' }]),
  verb('verifySession', () => [S, { repair: true }]),
  [
    'compactInBackground',
    [
      () => [S, { targetTokens: 500, toolDefinitions: tools(), summarizer: summarizer() }],
      async (store, args) => {
        const started = store.compactInBackground(...(args as unknown as [string, object]))
        await started
        return store.whenIdle(S)
      },
    ],
  ],
  [
    'withOverflowRecovery',
    [
      () => [S, { prompt: messages(), tools: tools(), system: 'be' }],
      (store, args) => {
        const [id, options] = args as unknown as [string, object]
        return store.withOverflowRecovery(id, ({ messages, stats }) => ({ messages, stats }), options)
      },
    ],
  ],
]

/** What a store holds and what a verb returned, without the ids and times of this very run. */
async function outcome(store: SqliteStore, returned: unknown): Promise<unknown> {
  const sessions = await store.listSessions()
  const all: unknown[] = []
  for (const { id } of sessions)
    all.push([
      await store.getMessages(id),
      await store.listCompactions(id),
      await store.getEffectiveHistory(id),
    ])
  const said = JSON.stringify([returned, sessions, all])
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'an id')
    .replace(/("incarnation":)"[^"]*"/g, '$1"new"')
    .replace(/"[\w-]{16}:(s?\d+)"/g, '"row $1"')
    .replace(/:\d{13}\b/g, ':0')
  return JSON.parse(said)
}

describe('what a caller does to its arguments after the call', () => {
  it.each(CALLS)('changes nothing of %s', async (_, [argsOf, act]) => {
    const [plain, spoiled] = [await open(), await open()]
    const expected = await act(plain, (await argsOf(plain)) as never[])
    const args = await argsOf(spoiled)
    const running = Promise.resolve(act(spoiled, args as never[]))
    spoil(args)
    expect(await outcome(spoiled, await running)).toEqual(await outcome(plain, expected))
  })

  it('and is seen by one that would read them later', async () => {
    const args = [S, messages(), { deep: [{ list: ['as given'] }] }]
    spoil(args)
    expect(JSON.stringify(args)).not.toContain('as given')
  })
})

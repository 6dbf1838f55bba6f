import { AIMessage } from '@langchain/core/messages'
import { afterEach, describe, expect, it } from 'vitest'
import { chatStore, undertext } from '../../src/adapters/ai-sdk/index.ts'
import { undertextSessionStore } from '../../src/adapters/claude-agent-sdk/index.ts'
import { UndertextChatMessageHistory } from '../../src/adapters/langchain/index.ts'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { ContextCompactor, summarizeMessages } from '../../src/compat/arrays/index.ts'
import { afterTurn, beforeTurn, HistoryManager } from '../../src/compat/index.ts'
import {
  type ChatMessage,
  type HistoryRecord,
  modelSummarizer,
  type NewMessage,
  openStore,
  type Store,
} from '../../src/index.ts'
import { exportHtml, exportMarkdown, exportView } from '../../src/transfer/index.ts'
import { text as saying, scripted } from '../ai-sdk/models.ts'
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

let stores: Store[] = []
afterEach(async () => {
  for (const store of stores) await store.close()
  stores = []
})

async function open(): Promise<Store> {
  const store = await openStore(':memory:', {
    estimator: 'neurolink',
    env: false,
    config: { contextWindows: { openai: 3_000 }, maxOutputTokens: 1_000 },
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
  const isPlain = isList || value instanceof AIMessage || Object.getPrototypeOf(value) === Object.prototype
  if (Object.isFrozen(value) || !isPlain) return
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

const records = async (store: Store): Promise<HistoryRecord[]> => {
  const all: HistoryRecord[] = []
  for await (const record of store.sessions.export(S)) all.push(structuredClone(record))
  return all
}

type Call = readonly [
  args: (store: Store) => readonly unknown[] | Promise<readonly unknown[]>,
  act: (store: Store, args: readonly never[]) => unknown,
]
/** A method by its name: `append`, `sessions.create`. */
const verb = (name: string, args: Call[0]): readonly [string, Call] => [
  name,
  [
    args,
    (store, given) => {
      const [method, topic] = name.split('.').reverse() as [string, string | undefined]
      const holder = (topic === undefined ? store : store[topic as keyof Store]) as unknown as Record<
        string,
        (...args: readonly never[]) => unknown
      >
      return holder[method]!(...given)
    },
  ],
]
const DUE = { system: 'x'.repeat(1_200) }

const CALLS: readonly (readonly [string, Call])[] = [
  verb('append', () => [S, messages(), { expectedPosition: 52 }]),
  verb('sessions.create', () => [
    { id: 'created', title: 't', metadata: { a: { b: [1] } }, config: { threshold: 0.7 } },
  ]),
  verb('sessions.update', () => [S, { title: 't', metadata: { a: { b: [1] } }, config: { threshold: 0.7 } }]),
  verb('sessions.purge', () => [S, { actor: 'me' }]),
  verb('sessions.list', () => [{ limit: 5 }]),
  verb('getMessages', () => [S, { limit: 5, after: 3 }]),
  verb('getEffectiveHistory', () => [S, { provenance: true }]),
  verb('renderHistory', () => [S, { provider: 'anthropic' }]),
  verb('messages.pin', () => [S, ['m3'], { actor: 'me' }]),
  verb('compactions.hide', () => [S, ['m3', 'm4'], { actor: 'me' }]),
  verb('compactSession', () => [
    S,
    {
      targetTokens: 500,
      pruneProtectedTools: ['a'],
      tools: tools(),
      summarySections: ['A', 'B'],
      enableSummarize: false,
    },
  ]),
  verb('compactSession', () => [S, { stages: [{ stage: 'truncate' }], targetTokens: 500 }]),
  verb('previewCompaction', () => [
    S,
    { targetTokens: 500, tools: tools(), stages: [{ stage: 'truncate' }] },
  ]),
  verb('compactions.recordProvider', () => [
    S,
    { appliedEdits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 1, cleared_input_tokens: 5 }] },
  ]),
  verb('requests.recordUsage', () => [S, { inputTokens: 900, outputTokens: 10, tools: tools() }]),
  verb('getContextStats', () => [S, undefined, undefined, { tools: tools(), prompt: 'now' }]),
  verb('limits.set', () => [{ provider: 'openai', model: 'x', tokens: 900 }]),
  verb('undoCompaction', () => [S, { ifFits: { kinds: ['truncate'], tools: tools() } }]),
  verb('messages.importance', () => [S, { weights: { signals: { error: 50 } } }]),
  [
    'beforeTurn',
    [
      () => [
        S,
        { ...DUE, tools: tools(), compaction: { targetTokens: 500, stages: [{ stage: 'truncate' }] } },
      ],
      (store, args) => beforeTurn(store, ...(args as unknown as [string, object])),
    ],
  ],
  [
    'afterTurn',
    [
      () => [S, { messages: messages(), tools: tools(), stopReason: 'stop' }],
      (store, args) => afterTurn(store, ...(args as unknown as [string, object])),
    ],
  ],
  verb('prepareRequest', () => [
    S,
    { system: 'be', prompt: messages(), tools: tools(), files: [{ content: 'f', path: 'p' }] },
  ]),
  verb('recordResponse', () => [
    S,
    { messages: messages(), usage: { inputTokens: 900, outputTokens: 9 }, prompt: 'hello' },
  ]),
  verb('rewind', () => [S, { from: { beforeMessage: 'm9' }, append: messages(), actor: 'me' }]),
  verb('rewind', () => [S, { from: { beforeMessage: 'm9' }, append: messages(), operationId: 'o' }]),
  verb('sessions.import', () => [
    messages().map((message) => ({ type: 'message' as const, message })),
    { id: 'imported', source: 'elsewhere' },
  ]),
  verb('sessions.import', async (store) => [await records(store), { id: 'restored' }]),
  verb('sessions.verify', () => [S, { repair: true }]),
  [
    'compactInBackground',
    [
      () => [S, { targetTokens: 500, tools: tools(), summarizer: summarizer() }],
      async (store, args) => {
        const started = store.jobs.start(...(args as unknown as [string, object]))
        await started
        return store.jobs.whenIdle(S)
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

/** Of adapters, and of functions that take a store. */
const through = (name: string, args: Call[0], act: Call[1]): readonly [string, Call] => [name, [args, act]]

const uiMessage = (id: string, said: string, role = 'user') => ({
  id,
  role,
  parts: [{ type: 'text', text: said }],
  metadata: { deep: [said] },
})
const toolAnswer = () => ({
  id: 'a1',
  role: 'assistant',
  parts: [
    { type: 'step-start' },
    {
      type: 'tool-run',
      toolCallId: 'c',
      state: 'output-available',
      input: { list: [7] },
      output: { seen: [8] },
    },
  ],
})
const entries = () => [
  {
    type: 'user',
    uuid: 'u-1',
    message: { role: 'user', content: [{ type: 'text', text: 'as given' }] },
    extra: { list: [7] },
  },
  { type: 'mode', mode: 'plan', nested: { list: ['as given'] } },
]
const items = (text = 'as given') => [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
]
const key = () => ({ projectKey: 'project', sessionId: 'one' })
const agents = (store: Store, sessionId = 'agents') => new UndertextSession({ store, sessionId })
const callItem = (args: string) => ({ type: 'function_call', callId: 'c', name: 'run', arguments: args })
const claude = (store: Store, method: 'append' | 'load' | 'delete' | 'restore' | 'listSubkeys'): Call[1] => {
  return (_, args) =>
    (undertextSessionStore({ store })[method] as (...given: readonly never[]) => Promise<unknown>)(...args)
}

/** Reads later than it was asked for. */
async function piecesOf(pieces: AsyncIterable<string>): Promise<string> {
  await Promise.resolve()
  let all = ''
  for await (const piece of pieces) all += piece
  return all
}

/** A model's error as its SDK throws it: the caller may use the object again. */
const overflow = () => ({
  status: 400,
  error: {
    code: 'context_length_exceeded',
    message:
      "This model's maximum context length is 900 tokens. However, your messages resulted in 1200 tokens.",
  },
})

const ADAPTERS: readonly (readonly [string, Call])[] = [
  verb('limits.learn', () => [S, overflow(), { tools: tools(), provider: 'openai' }]),
  verb('recordResponse', () => [
    S,
    {
      messages: messages(),
      usage: {
        id: 'r',
        usage: { prompt_tokens: 900, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 100 } },
      },
    },
  ]),
  through(
    'append of the Claude Agent SDK',
    () => [key(), entries()],
    async (store, args) => {
      await claude(store, 'append')(store, args)
      return undertextSessionStore({ store }).load(key())
    },
  ),
  ...(['delete', 'restore', 'listSubkeys'] as const).map((method) =>
    through(
      `${method} of the Claude Agent SDK`,
      async (store) => {
        const sessions = undertextSessionStore({ store })
        for (const given of [key(), { ...key(), subpath: 'subagents/a' }])
          await sessions.append(given, entries())
        if (method === 'restore') await sessions.delete(key())
        return [key()]
      },
      async (store, args) => [
        await claude(store, method)(store, args),
        await undertextSessionStore({ store }).load(key()),
      ],
    ),
  ),
  through(
    'addMessages of LangChain',
    () => [
      [
        new AIMessage({
          id: 'l-1',
          content: [{ type: 'text', text: 'as given' }],
          tool_calls: [{ id: 'c', name: 'run', args: { list: [7] } }],
        }),
      ],
    ],
    async (store, [given]) => {
      await new UndertextChatMessageHistory({ store, sessionId: 'langchain' }).addMessages(given as never)
      return store.getMessages('langchain')
    },
  ),
  ...(['addItems', 'replaceHistoryWithCompaction'] as const).map((method) =>
    through(
      `${method} of OpenAI Agents`,
      () => [items()],
      async (store, [given]) => {
        await agents(store)[method](given as never)
        return agents(store).getItems()
      },
    ),
  ),
  through(
    'addItemsWithCompactionOwnership of OpenAI Agents',
    async (store) => {
      const compact = { range: { from: 1, to: 1 }, summary: 'In short.' }
      const session = new UndertextSession({ store, sessionId: 'agents', compact })
      const { ownership } = await session.getItemsWithCompactionOwnership()
      return [items(), ownership, session]
    },
    async (store, args) => {
      const [given, ownership, session] = args as readonly unknown[] as [object[], object, UndertextSession]
      await session.addItemsWithCompactionOwnership(given, ownership)
      // A receipt that no longer holds compacts nothing.
      await session.runCompaction({ force: true }, undefined, ownership)
      return (await store.listCompactions('agents')).length
    },
  ),
  through(
    'applyHistoryMutations of OpenAI Agents',
    async (store) => {
      await agents(store).addItems([callItem('{"a":1}')])
      return [
        { mutations: [{ type: 'replace_function_call', callId: 'c', replacement: callItem('{"b":2}') }] },
      ]
    },
    async (store, [given]) => {
      await agents(store).applyHistoryMutations(given as never)
      return agents(store).getItems()
    },
  ),
  through(
    'applyHistoryTransaction of OpenAI Agents',
    async (store) => {
      await agents(store).addItems(items())
      const transaction = { type: 'replace_suffix', expectedSuffix: items(), replacement: items('other') }
      return [{ operationId: 'o', transaction }]
    },
    async (store, [given]) => {
      await agents(store).applyHistoryTransaction(given as never)
      return agents(store).getItems()
    },
  ),
  through(
    'save of a chat',
    () => [{ chatId: 'chat', messages: [uiMessage('u1', 'as given'), toolAnswer()] }],
    async (store, [given]) => {
      await chatStore(store).save(given as never)
      return chatStore(store).load('chat')
    },
  ),
  through(
    'resume of a chat',
    async (store) => {
      await chatStore(store).create({ id: 'chat' })
      return [
        { id: 'chat', messages: [uiMessage('u0', 'before'), uiMessage('u1', 'as given')] },
        { system: 'be', request: { tools: tools() } },
      ]
    },
    async (store, [request, options]) => {
      const { messages, system } = await chatStore(store).resume(request, options)
      return [messages, system, await chatStore(store).load('chat')]
    },
  ),
  through(
    'the end of a turn of a chat',
    async (store) => {
      const chats = chatStore(store)
      await chats.create({ id: 'chat' })
      const { onFinish } = await chats.resume({ id: 'chat', messages: [uiMessage('u1', 'ask')] })
      return [{ responseMessage: toolAnswer() }, onFinish]
    },
    async (store, args) => {
      const [end, onFinish] = args as readonly unknown[] as [object, (end: object) => Promise<void>]
      await onFinish(end)
      return chatStore(store).load('chat')
    },
  ),
  through(
    'a call through the middleware',
    () => [
      {
        prompt: [
          { role: 'system', content: 'be' },
          { role: 'user', content: [{ type: 'text', text: 'as given' }] },
        ],
        tools: [{ type: 'function', name: 'run', inputSchema: { type: 'object', list: [1] } }],
        maxOutputTokens: 50,
      },
    ],
    async (store, [params]) => {
      const model = scripted([[saying('well')]])
      const { wrapGenerate } = undertext(store, 'wrapped') as unknown as {
        wrapGenerate: (call: object) => Promise<unknown>
      }
      await wrapGenerate({ params, model, doGenerate: () => model.doGenerate(params as never) })
      const [{ prompt, tools: sentTools, maxOutputTokens }] = model.calls as never as [Mutable]
      return [prompt, sentTools, maxOutputTokens]
    },
  ),
  ...[exportView, exportHtml, exportMarkdown].map((write) =>
    through(
      write.name,
      () => [
        S,
        write === exportView
          ? { format: 'openai', lines: true }
          : { title: 'as given', hidden: 'show', exportedAt: 0 },
      ],
      (store, [id, options]) => piecesOf(write(store, id as never, options as never)),
    ),
  ),
  through(
    'prepareMessages of a HistoryManager',
    () => [
      {
        history: [{ role: 'user', content: 'before' }],
        currentTurn: [{ role: 'user', content: 'as given' }],
        budget: 1_000,
      },
    ],
    async (_, [request]) => {
      const memory = { recall: async () => [] }
      const manager = new HistoryManager({
        memory,
        enableLongTermMemory: true,
        strategy: { apply: (all: readonly unknown[]) => [...all] },
      } as never)
      return (await manager.prepareMessages(request as never)).messages.length
    },
  ),
]

/** What a store holds and what a verb returned, without the ids and times of this very run. */
async function outcome(store: Store, returned: unknown): Promise<unknown> {
  const sessions = await store.sessions.list()
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
    .replace(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d[:.\d]*/g, 'a time')
  return JSON.parse(said)
}

describe('what a caller does to its arguments after the call', () => {
  it.each([...CALLS, ...ADAPTERS])('changes nothing of %s', async (_, [argsOf, act]) => {
    const [plain, spoiled] = [await open(), await open()]
    const expected = await act(plain, (await argsOf(plain)) as never[])
    const args = await argsOf(spoiled)
    const running = Promise.resolve(act(spoiled, args as never[]))
    spoil(args)
    expect(await outcome(spoiled, await running)).toEqual(await outcome(plain, expected))
  })

  it('changes nothing of functions over a plain list, which may grow meanwhile', async () => {
    const short = { name: 'm', usesModel: true, summarize: async () => ({ text: 'In short.' }) }
    const compactor = new ContextCompactor({ summarizer: short })
    const verbs = [
      (list: ChatMessage[]) => compactor.compact(list, 300),
      (list: ChatMessage[]) => summarizeMessages(list, { summarizer: short }),
    ]
    for (const act of verbs) {
      const [plain, grown] = [chat(26, 20), chat(26, 20)] as unknown as ChatMessage[][]
      const expected = (await act(plain!)).messages.length
      const running = act(grown!)
      grown!.push({ role: 'user', content: 'next' } as never)
      expect((await running).messages).toHaveLength(expected)
    }
  })

  it('and is seen by one that would read them later', async () => {
    const args = [S, messages(), { deep: [{ list: ['as given'] }] }]
    spoil(args)
    expect(JSON.stringify(args)).not.toContain('as given')
  })
})

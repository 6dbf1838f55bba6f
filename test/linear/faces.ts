import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import * as aiSdk from '../../src/adapters/ai-sdk/index.ts'
import * as claudeAgents from '../../src/adapters/claude-agent-sdk/index.ts'
import * as langchain from '../../src/adapters/langchain/index.ts'
import * as agents from '../../src/adapters/openai-agents/index.ts'
import { afterTurn, beforeTurn } from '../../src/compat/index.ts'
import type { Message, NewMessage, Part, Store } from '../../src/index.ts'
import * as recall from '../../src/store/recall/index.ts'
import * as transfer from '../../src/transfer/index.ts'
import { runCli } from '../support/cli-run.ts'
import { call, result, say } from '../support/conversation.ts'
import { everything as main } from '../support/entries.ts'
import { FORMATS } from '../support/formats.ts'

/** Something that takes text. `prepare` is not measured; what it gives, `run` receives; `clean` runs at the end. */
export type Face = {
  readonly name: string
  /** The public functions (`fromOpenAI`), verbs (`store.append`) and commands (`cli show`) that it runs. */
  readonly covers: readonly string[]
  readonly prepare: (text: string) => Promise<Ready> | Ready
}
type Ready = { readonly run: () => unknown; readonly clean?: () => unknown }

/** Where in a conversation a text can stand. */
const SHAPES: Readonly<Record<string, (text: string) => NewMessage[]>> = {
  request: (text) => [say('user', text), say('assistant', 'Done.')],
  answer: (text) => [
    say('user', 'Go on.'),
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: half(text) },
        { type: 'text', text: half(text) },
      ],
    },
  ],
  'arguments of a call': (text) => [
    say('user', 'Go on.'),
    call('c1', 'write_file', { path: 'a.ts', content: half(text) }),
    result('c1', 'Written.', 'write_file'),
    call('c2', 'bash', { command: half(text) }),
    result('c2', 'ok', 'bash'),
  ],
  'result of a call': (text) => [
    say('user', 'Go on.'),
    call('c1', 'read_file', { path: 'a.ts' }),
    result('c1', half(text), 'read_file'),
    call('c2', 'read_file', { path: half(text) }),
    result('c2', half(text), 'read_file'),
  ],
  'an attachment': (text) => [
    {
      role: 'user',
      content: [
        { type: 'image', image: half(text), mediaType: 'image/png' },
        { type: 'file', data: half(text), mediaType: 'text/plain', filename: 'a.txt' },
      ],
    },
    say('assistant', 'Seen.'),
  ],
  'many messages': (text) =>
    pieces(text, 1_000).map((piece, i) => say(i % 2 === 0 ? 'user' : 'assistant', piece || '-')),
  'many parts': (text) => [
    { role: 'user', content: pieces(text, 200).map((piece): Part => ({ type: 'text', text: piece })) },
  ],
  'many calls': (text) => [
    say('user', 'Go on.'),
    {
      role: 'assistant',
      content: pieces(text, 200).map(
        (piece, i): Part => ({
          type: 'tool-call',
          toolCallId: `c${i}`,
          toolName: 'read_file',
          input: { path: piece },
        }),
      ),
    },
    {
      role: 'tool',
      content: pieces(text, 200).flatMap((piece, i) => result(`c${i}`, piece, 'read_file').content as Part[]),
    },
  ],
  'many reads of a file': (text) => [
    say('user', 'Go on.'),
    ...pieces(text, 500).flatMap((piece, i) => [
      call(`c${i}`, 'read_file', { path: 'a.ts' }),
      result(`c${i}`, piece, 'read_file'),
    ]),
  ],
}

/** Its beginning and its end. */
function half(text: string): string {
  return `${text.slice(0, text.length / 4)}${text.slice(-text.length / 4)}`.toWellFormed()
}

function pieces(text: string, units: number): string[] {
  return Array.from({ length: Math.ceil(text.length / units) }, (_, i) =>
    text.slice(i * units, (i + 1) * units).toWellFormed(),
  )
}

const shapes = (make: (messages: readonly NewMessage[], text: string) => Promise<Ready> | Ready) =>
  Object.entries(SHAPES).map(([shape, messagesOf]) => ({
    shape,
    prepare: (text: string) => make([...messagesOf(text.toWellFormed()), say('user', 'And now?')], text),
  }))

/** A face for each place of a conversation. */
function overMessages(
  name: string,
  covers: readonly string[],
  run: (messages: readonly NewMessage[]) => unknown,
): Face[] {
  return shapes((messages) => ({ run: () => run(messages) })).map(({ shape, prepare }) => ({
    name: `${name} (${shape})`,
    covers,
    prepare,
  }))
}

/** A face for a text alone. */
function overText(name: string, run: (text: string) => unknown, covers = [name]): Face {
  return { name, covers, prepare: (text) => ({ run: () => run(text) }) }
}

const functionNames: ReadonlyMap<unknown, string> = new Map(
  [main, aiSdk, langchain, agents].flatMap((entry) =>
    Object.entries(entry).map(([name, value]) => [value, name] as const),
  ),
)

const FORMAT_FACES: Face[] = FORMATS.flatMap(({ name, to, from }) => [
  ...overMessages(`to ${name}`, [functionNames.get(to) ?? name], (messages) => to(messages)),
  ...shapes((messages) => {
    const wire = to(messages)
    return { run: () => from(wire as never) }
  }).map(({ shape, prepare }) => ({
    name: `from ${name} (${shape})`,
    covers: [functionNames.get(from) ?? name],
    prepare,
  })),
])

const flat = (messages: readonly Message[]) => main.toChatMessages(messages)
const stages = () => [main.clearToolResults({ keep: 0 }), main.dropReasoning()]

const ARRAY_FACES: Face[] = [
  ...overMessages('toSdkPrompt, fromSdkPrompt', ['toSdkPrompt', 'fromSdkPrompt'], (messages) =>
    aiSdk.fromSdkPrompt(aiSdk.toSdkPrompt(messages, { version: 'v3', provider: 'openai' }), 'openai'),
  ),
  ...overMessages('toLangChain', ['toLangChain'], (messages) => langchain.toLangChain(messages)),
  ...overMessages('detectFormat', ['detectFormat'], (messages) => main.detectFormat(messages)),
  ...overMessages('validateHistory', ['validateHistory'], (messages) => main.validateHistory(messages)),
  ...overMessages('validateRequest', ['validateRequest'], (messages) =>
    main.validateRequest({ messages }, 'openai'),
  ),
  ...overMessages('renderView', ['renderView'], (messages) =>
    main.renderView(
      messages.map((message, i) => ({ ...message, id: `m${i}`, position: i + 1, kind: 'message' }) as never),
      {
        provider: 'anthropic',
      },
    ),
  ),
  ...overMessages('estimateMessagesTokens', ['estimateMessagesTokens', 'estimatorNamed'], (messages) =>
    main.ESTIMATOR_NAMES.map((name) =>
      main.estimateMessagesTokens(messages, 'openai', main.estimatorNamed(name)),
    ),
  ),
  ...overMessages('checkContextBudget', ['checkContextBudget'], (messages) =>
    main.checkContextBudget({ provider: 'openai', conversationMessages: messages as never }),
  ),
  ...overMessages('scoreMessages', ['scoreMessages'], (messages) => main.scoreMessages(messages as never)),
  ...overMessages('scoreMessagesWith', ['scoreMessagesWith'], (messages) =>
    main.scoreMessagesWith(
      {
        name: 'all',
        version: '1',
        score: (groups: readonly unknown[]) => groups.map(() => ({ score: 1 })),
      } as never,
      messages as never,
    ),
  ),
  ...overMessages('pruneToolOutputs', ['pruneToolOutputs'], (messages) =>
    main.pruneToolOutputs(flat(messages), { protectTokens: 0, minimumSavings: 0 }),
  ),
  ...overMessages('deduplicateFileReads', ['deduplicateFileReads'], (messages) =>
    main.deduplicateFileReads(flat(messages)),
  ),
  ...overMessages('repairToolPairs', ['repairToolPairs'], (messages) => main.repairToolPairs(flat(messages))),
  ...overMessages('role alternation', ['repairRoleAlternation', 'validateRoleAlternation'], (messages) => [
    main.validateRoleAlternation(flat(messages)),
    main.repairRoleAlternation(flat(messages)),
  ]),
  ...overMessages('truncateWithSlidingWindow', ['truncateWithSlidingWindow'], (messages) =>
    main.truncateWithSlidingWindow(flat(messages)),
  ),
  ...overMessages('summarizeMessages', ['summarizeMessages', 'extractiveSummarizer'], (messages) =>
    main.summarizeMessages(flat(messages), { summarizer: main.extractiveSummarizer } as never),
  ),
  ...overMessages('summarizeInSnippets', ['summarizeInSnippets'], (messages) =>
    main.summarizeInSnippets(messages as never),
  ),
  ...overMessages('ContextCompactor', ['ContextCompactor'], (messages) =>
    new main.ContextCompactor().compact(flat(messages), 1_000),
  ),
  ...overMessages('getEffectiveHistory', ['getEffectiveHistory', 'filterEffectiveHistory'], (messages) =>
    main.getEffectiveHistory(flat(messages)),
  ),
  ...overMessages(
    'tags',
    [
      'tagForCondensation',
      'tagForTruncation',
      'removeCondensationTags',
      'removeTruncationTags',
      'removeDanglingTags',
    ],
    (messages) => {
      const tagged = main.tagForTruncation(main.tagForCondensation(flat(messages), 0, 0, 'a'), 0, 0, 'b')
      return main.removeDanglingTags(main.removeTruncationTags(main.removeCondensationTags(tagged, 'a'), 'b'))
    },
  ),
  ...overMessages('slidingWindow', ['slidingWindow'], (messages) =>
    main.slidingWindow({ fitBudget: true }).apply(flat(messages), 500),
  ),
  ...overMessages('priority', ['priority'], (messages) => main.priority({}).apply(flat(messages), 500)),
  ...overMessages('composite', ['composite', 'clearToolResults', 'dropReasoning'], (messages) =>
    main.composite({ stages: stages() } as never).apply(flat(messages), 500),
  ),
  ...overMessages('summarizeOlder', ['summarizeOlder'], (messages) =>
    main.summarizeOlder({ summarizer: main.extractiveSummarizer, keepLast: 1 }).apply(flat(messages), 500),
  ),
  ...overMessages('createStrategy', ['createStrategy'], (messages) =>
    main.createStrategy('sliding_window', { maxTokens: 500 }).apply(flat(messages), 500),
  ),
  ...overMessages('compactBeforeTurn', ['compactBeforeTurn'], (messages) =>
    main.compactBeforeTurn(
      main.createStrategy('sliding_window', { maxTokens: 500 }) as never,
      flat(messages) as never,
    ),
  ),
  ...overMessages('HistoryManager', ['HistoryManager'], async (messages) => {
    const manager = new main.HistoryManager({
      strategy: { apply: (all: readonly Message[]) => all.slice(-1) },
      summarizer: main.extractiveSummarizer,
    })
    const { evicted } = await manager.prepareMessages({ history: messages, budget: undefined as never })
    await manager.onTurnComplete(evicted)
  }),
  ...overMessages(
    'prompts of summaries',
    ['buildSummaryPrompt', 'prepareForSummary', 'neuronSummaryRequest'],
    (messages) => [
      main.prepareForSummary(messages),
      main.buildSummaryPrompt(messages),
      main.neuronSummaryRequest(messages),
    ],
  ),
  ...overMessages('buildSummarizationPrompt', ['buildSummarizationPrompt'], (messages) =>
    main.buildSummarizationPrompt(messages as never),
  ),
  ...overMessages(
    'estimators of the founding tools',
    [
      'estimateNcaMessages',
      'ncaContextStats',
      'createTokenCounter',
      'estimatePromptfleetMessage',
      'estimatePromptfleetMessages',
    ],
    (messages) => {
      const texts = flat(messages).map(({ role, content }) => ({
        role,
        content: typeof content === 'string' ? content : JSON.stringify(content ?? ''),
      }))
      return [
        main.estimateNcaMessages(texts as never),
        main.ncaContextStats(texts as never),
        main.estimatePromptfleetMessages(texts as never),
        ...texts.map((message) => main.estimatePromptfleetMessage(message as never)),
        main.createTokenCounter().estimateText(texts.map(({ content }) => content).join('')),
      ]
    },
  ),
]

/** What a summary is asked for with. */
const SUMMARY = { sessionId: 's', sections: main.SUMMARY_SECTIONS, maxTokens: 2_000 }

const files = (text: string) => [
  { content: text, path: 'a.ts' },
  { content: text, path: text.slice(0, 5_000) },
]

const TEXT_FACES: Face[] = [
  overText('readOverflow', (text) => main.readOverflow(new Error(text))),
  overText(
    'readOverflow of an object',
    (text) => main.readOverflow({ status: 400, error: { message: text } }),
    ['readOverflow'],
  ),
  overText('isContextOverflowError', (text) => main.isContextOverflowError(text)),
  overText('getContextOverflowProvider', (text) => main.getContextOverflowProvider(text)),
  overText('parseProviderOverflowDetails', (text) =>
    main.parseProviderOverflowDetails(`prompt is too long ${text}`),
  ),
  overText('extractErrorMessage', (text) => main.extractErrorMessage({ error: text })),
  overText('estimateTokens', (text) => main.estimateTokens(text)),
  overText(
    'estimators',
    (text) => main.ESTIMATOR_NAMES.map((name) => main.estimatorNamed(name)?.measureText(text)),
    ['estimatorNamed'],
  ),
  overText('estimateNcaTokens', (text) => main.estimateNcaTokens({ role: 'user', content: text })),
  overText('estimatePromptfleetTokens', (text) => main.estimatePromptfleetTokens(text)),
  overText('estimatePromptfleetTools', (text) => main.estimatePromptfleetTools([{ description: text }])),
  {
    name: 'tokenizerEstimator',
    covers: ['tokenizerEstimator'],
    prepare: async (text) => {
      const estimators = await Promise.all(main.TOKENIZER_NAMES.map((name) => main.tokenizerEstimator(name)))
      return { run: () => estimators.map((estimator) => estimator.measureText(text)) }
    },
  },
  overText('looksLikeCode', (text) => main.looksLikeCode(text)),
  overText('truncateToTokenBudget', (text) => main.truncateToTokenBudget(text, 1_000)),
  overText('truncateToolOutput', (text) => main.truncateToolOutput(text)),
  overText('generateToolOutputPreview', (text) => main.generateToolOutputPreview(text)),
  overText('buildFileContextSection', (text) => main.buildFileContextSection(files(text))),
  overText('buildFileSummarizationPrompt', (text) =>
    main.buildFileSummarizationPrompt({ content: text, targetTokens: 500 } as never),
  ),
  overText('enforceAggregateFileBudget', (text) =>
    main.enforceAggregateFileBudget(files(text), 'openai', 'gpt-4o', 1_000),
  ),
  overText(
    'planFileSummarization',
    (text) => main.planFileSummarization(files(text), { provider: 'openai' }),
    ['planFileSummarization', 'shouldSummarizeFiles'],
  ),
  overText('FileSummarizationService', (text) =>
    new main.FileSummarizationService({ summarize: async () => 'short' } as never).checkAndSummarize(
      files(text),
      { question: text } as never,
    ),
  ),
  overText('buildEnrichedSystem', (text) =>
    main.buildEnrichedSystem({
      systemMessage: text,
      summaries: [text, text],
      memories: [{ type: 'fact', content: text }],
      currentTurn: [{ role: 'user', content: text }],
      enableLongTermMemory: true,
    }),
  ),
  overText(
    'PersistentContext',
    (text) => {
      const context = new main.PersistentContext()
      context.addSection({ label: text.slice(0, 100), content: text, priority: 1 })
      return [context.render(), main.userMessage(text), main.assistantMessage(text), main.systemMessage(text)]
    },
    ['PersistentContext', 'userMessage', 'assistantMessage', 'systemMessage'],
  ),
  overText(
    'a summary of earlier',
    (text) =>
      main.extractiveSummarizer.summarize({
        ...SUMMARY,
        messages: [{ role: 'user', content: 'Go on.', position: 1 }],
        previousSummary: text,
        files: { read: [], modified: [] },
      } as never),
    ['extractiveSummarizer'],
  ),
  overText(
    'a summary of earlier with headings',
    (text) =>
      main.extractiveSummarizer.summarize({
        ...SUMMARY,
        messages: [{ role: 'user', content: 'Go on.', position: 1 }],
        previousSummary: `## Pending Tasks\n${text}\n## Files and Code Sections\n${text}`,
        files: { read: [], modified: [] },
      } as never),
    ['extractiveSummarizer'],
  ),
  overText('snippetSummarizer', (text) =>
    main.snippetSummarizer.summarize({
      ...SUMMARY,
      messages: [{ role: 'user', content: text, position: 1 }],
      files: { read: [], modified: [] },
    } as never),
  ),
  overText(
    'the answer of a model',
    (text) =>
      main.modelSummarizer({ name: 'scripted', generate: async () => ({ text }) } as never).summarize({
        ...SUMMARY,
        messages: [{ role: 'user', content: 'Go on.', position: 1 }],
        files: { read: [], modified: [] },
      } as never),
    ['modelSummarizer'],
  ),
  overText('resolveModelProfile', (text) => main.resolveModelProfile(text, text), [
    'resolveModelProfile',
    'getContextWindowSize',
    'getProviderMultiplier',
  ]),
  overText('stopReasonOf', (text) => main.stopReasonOf(text)),
  overText('readLines', async (text) => {
    for await (const _ of transfer.readLines(bytesOf(text)));
  }),
  overText(
    'checkHistory',
    async (text) => {
      for await (const _ of transfer.checkHistory(transferLines(text)));
    },
    ['checkHistory'],
  ),
]

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<object> {
  let line = 0
  for await (const text of texts) yield { number: ++line, text }
}

async function* transferLines(text: string): AsyncGenerator<never> {
  for await (const line of transfer.readLines(bytesOf(text))) yield line as never
}

/** A store that holds a conversation, and what is done with it. */
function overStore(
  name: string,
  covers: readonly string[],
  run: (store: Store, messages: readonly NewMessage[], text: string) => unknown,
  { filled = true } = {},
): Face[] {
  return shapes(async (messages, text) => {
    const store = await main.openStore(':memory:', { env: false, estimator: 'neurolink' })
    await store.sessions.create({ id: 's' })
    if (filled) await store.append('s', messages)
    return { run: () => run(store, messages, text), clean: () => store.close() }
  }).map(({ shape, prepare }) => ({ name: `${name} (${shape})`, covers, prepare }))
}

const drained = async (values: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of values);
}

const STORE_FACES: Face[] = [
  ...overStore('append', ['store.append'], (store, messages) => store.append('s', messages), {
    filled: false,
  }),
  ...overStore(
    'the view',
    ['store.getEffectiveHistory', 'store.renderHistory', 'store.getMessages', 'store.getContextStats'],
    async (store) => {
      await store.getEffectiveHistory('s')
      await store.getMessages('s')
      await store.getContextStats('s')
      await store.renderHistory('s')
    },
  ),
  ...overStore(
    'prune and deduplicate',
    ['store.compactSession', 'store.undoCompaction', 'store.redoCompaction'],
    async (store) => {
      const compaction = await store.compactSession('s', {
        stages: [{ stage: 'clear_tool_results', keep: 0 }, 'prune', 'deduplicate'],
        targetTokens: 1,
      })
      if (compaction?.compacted !== true) return
      const { runId } = compaction
      await store.undoCompaction('s', runId)
      await store.redoCompaction('s', runId)
    },
  ),
  ...overStore('summarize, truncate and cut', ['store.compactSession'], (store) =>
    store.compactSession('s', {
      summarizer: main.extractiveSummarizer,
      contextWindowTarget: 1_000,
    } as never),
  ),
  ...overStore(
    'moments',
    ['store.messages.moment', 'store.messages.diff', 'store.messages.timeline'],
    async (store) => {
      await store.messages.moment('s', { afterMessage: 1 })
      await store.messages.diff('s', { beforeMessage: 1 })
      await store.messages.timeline('s')
    },
  ),
  ...overStore('a turn', ['store.beginTurn'], async (store, messages) => {
    const turn = await store.beginTurn('s')
    await turn.flush(messages as never)
    await turn.keepDraft()
    await turn.finish({ messages: messages as never })
  }),
  ...overStore('purgeText', ['store.privacy.purgeText'], async (store) => {
    await store.privacy.purgeText({ session: 's' }, 'no "such\\ text', { dryRun: true })
    await store.privacy.purgeText({ session: 's' }, /no such \w+ text/, { dryRun: true })
    await store.privacy.purgeText({ session: 's' }, 'aaaa')
  }),
  ...overStore('previewCompaction', ['store.previewCompaction'], (store) => store.previewCompaction('s')),
  ...overStore('prepareRequest', ['store.prepareRequest'], (store, messages) =>
    store.prepareRequest('s', { provider: 'openai', model: 'gpt-4o', prompt: messages } as never),
  ),
  ...overStore(
    'calls and importance',
    ['store.messages.toolCalls', 'store.messages.importance', 'store.sessions.verify'],
    async (store) => {
      await store.messages.toolCalls('s')
      await store.messages.importance('s')
      await store.sessions.verify('s')
    },
  ),
  ...overStore(
    'exportSession, restoreSession',
    ['store.sessions.export', 'store.sessions.import', 'historyLines', 'restoreFrom', 'checkHistory'],
    async (store) => {
      const target = await main.openStore(':memory:', { env: false })
      const lines = transfer.historyLines(store.sessions.export('s'))
      await drained(transfer.restoreFrom(target, linesOf(lines) as never))
      await target.close()
    },
  ),
  ...overStore('exportMarkdown', ['exportMarkdown'], (store) =>
    drained(transfer.exportMarkdown(store, 's', { hidden: 'show' })),
  ),
  ...overStore('exportHtml', ['exportHtml'], (store) =>
    drained(transfer.exportHtml(store, 's', { hidden: 'show' })),
  ),
  ...overStore('exportView', ['exportView'], async (store) => {
    for (const format of transfer.VIEW_FORMATS) await drained(transfer.exportView(store, 's', { format }))
  }),
  ...overStore(
    'notes',
    ['store.notes.add', 'store.notes.list', 'store.notes.forget'],
    async (store, _, text) => {
      const { id } = await store.notes.add(`- ${text.slice(0, 19_000)}`, { session: 's', key: 'k' })
      await store.notes.list({ query: text, session: 's' })
      await store.prepareRequest('s', { notes: { tokens: 500, query: text } })
      await store.notes.forget(id)
    },
  ),
  ...overStore('scan', ['store.privacy.scan', 'cli scan'], (store) =>
    drained(store.privacy.scan({ session: 's' })),
  ),
  ...overStore('search', ['store.search', 'cli search'], async (store, _, text) => {
    await store.search(text)
  }),
  ...overStore('recall tools', ['searchLog', 'readLog', 'openRow', 'logNotes'], async (store, _, text) => {
    const query = text.slice(0, 20_000)
    if (query !== '') await recall.searchLog(store, 's', { query })
    for (const position of [1, 2, 3]) {
      await recall.readLog(store, 's', { position, query })
      await recall.openRow(store, 's', { position, query })
    }
    await recall.logNotes(store, 's', { action: 'recall', query })
  }),
  ...overStore(
    'listSessions',
    ['store.sessions.list', 'store.sessions.update', 'store.sessions.create'],
    async (store, _, text) => {
      await store.sessions.update('s', {
        title: text.toWellFormed().slice(0, 200),
        metadata: { note: text.toWellFormed() },
      } as never)
      await store.sessions.list()
    },
  ),
]

const SDK_FACES: Face[] = [
  ...overStore(
    'recordResponse, beforeTurn, afterTurn',
    ['store.recordResponse', 'store.requests.get', 'store.requests.compare', 'beforeTurn', 'afterTurn'],
    async (store, messages) => {
      await beforeTurn(store, 's')
      const request = await store.prepareRequest('r', { prompt: messages } as never)
      const { requestId } = await store.recordResponse('r', {
        request,
        messages: [{ role: 'assistant', content: 'x' }],
      })
      await store.requests.get('r', requestId!)
      const later = await store.prepareRequest('r', { prompt: messages } as never)
      const { requestId: laterId } = await store.recordResponse('r', {
        request: later,
        messages: [{ role: 'assistant', content: 'y' }],
      })
      await store.requests.compare('r', laterId!)
      await store.recordResponse('s', { messages } as never)
      await afterTurn(store, 's', { stopReason: 'end_turn' } as never)
    },
  ),
  ...overStore(
    'withOverflowRecovery',
    ['store.withOverflowRecovery', 'store.limits.learn'],
    (store, _, text) =>
      store.withOverflowRecovery('s', (_request, attempt) => {
        if (attempt === 1) throw new Error(`prompt is too long: 9000 tokens > 8000 maximum ${text}`)
      }),
  ),
  ...overStore(
    'outputs of tools',
    ['store.messages.toolOutput', 'store.compactions.hide', 'store.rewind'],
    async (store) => {
      const [call] = await store.messages.toolCalls('s')
      if (call !== undefined) await store.messages.toolOutput('s', call.callId)
      const [first] = await store.getMessages('s')
      await store.compactions.hide('s', [first!.id])
      await store.rewind('s', { from: 'start' })
    },
  ),
  ...overStore(
    'sources of a summary',
    ['store.messages.expand', 'store.messages.expand', 'store.compactSession'],
    async (store, messages) => {
      await store.compactSession('s', { range: { from: 1, to: messages.length - 1 }, summary: 'Done.' })
      const summary = (await store.getEffectiveHistory('s')).find(({ kind }) => kind === 'summary')
      await store.messages.expand('s', summary!.id)
      await store.messages.expand('s', summary!.id, { flat: true })
    },
  ),
  ...overStore('chatStore', ['chatStore'], async (store, messages) => {
    const chats = aiSdk.chatStore(store)
    const id = await chats.create()
    await chats.save({ chatId: id, messages: aiSdk.toUIMessages(messages as never) } as never)
    await chats.load(id)
  }),
  ...overStore('the middleware of the AI SDK', ['undertext'], async (store, messages, text) => {
    const { wrapGenerate, transformParams } = aiSdk.undertext(store, 's') as unknown as {
      readonly [name in 'wrapGenerate' | 'transformParams']?: (given: object) => Promise<unknown>
    }
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
    const doGenerate = async () => ({
      content: [{ type: 'text', text: text.toWellFormed() }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage,
      warnings: [],
    })
    const model = { provider: 'openai', modelId: 'gpt-4o', specificationVersion: 'v3', doGenerate }
    const params = { prompt: aiSdk.toSdkPrompt(messages, { version: 'v3', provider: 'openai' }) }
    const changed =
      transformParams === undefined ? params : await transformParams({ params, model, type: 'generate' })
    await wrapGenerate?.({ doGenerate, doStream: undefined, params: changed, model })
  }),
  ...overStore('UndertextChatMessageHistory', ['UndertextChatMessageHistory'], async (store, messages) => {
    const history = new langchain.UndertextChatMessageHistory({ store, sessionId: 'l' })
    await history.addMessages((await langchain.toLangChain(messages)) as never)
    await history.getMessages()
  }),
  ...overStore('UndertextSession', ['UndertextSession'], async (store, messages) => {
    const session = new agents.UndertextSession({ store, sessionId: 'a' })
    await session.addItems(agents.toAgentItems(messages) as never)
    await session.getItems()
  }),
  ...overStore(
    'UndertextSessionStore',
    ['UndertextSessionStore', 'undertextSessionStore', 'keyOfSession'],
    async (store, messages) => {
      const sessions = claudeAgents.undertextSessionStore({ store })
      const key = { projectKey: 'p', sessionId: '00000000-0000-4000-8000-000000000001' }
      await sessions.append(
        key,
        messages.map((message, i) => ({
          type: message.role === 'assistant' ? 'assistant' : 'user',
          uuid: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
          parentUuid: null,
          message: {
            role: message.role === 'assistant' ? 'assistant' : 'user',
            content: JSON.stringify(message.content),
          },
        })) as never,
      )
      await sessions.load(key)
    },
  ),
  {
    name: 'encodeName, decodeName',
    covers: ['encodeName', 'decodeName'],
    prepare: (text) => ({ run: () => claudeAgents.decodeName(claudeAgents.encodeName(text.toWellFormed())) }),
  },
]

/** Each kind of file an import recognizes, with a text in it. */
const FILES: Readonly<Record<string, (text: string) => string>> = {
  'the text alone': (text) => text,
  openai: (text) => JSON.stringify(main.toOpenAI([say('user', text), say('assistant', 'Done.')])),
  anthropic: (text) => JSON.stringify(main.toAnthropic([say('user', text), say('assistant', 'Done.')])),
  messages: (text) =>
    JSON.stringify([
      { role: 'user', content: text },
      { role: 'assistant', content: 'Done.' },
    ]),
  'lines of messages': (text) =>
    pieces(text, 500)
      .map((piece) => JSON.stringify({ role: 'user', content: piece }))
      .join('\n'),
  'claude-code': (text) => {
    const common = {
      isSidechain: false,
      sessionId: 's',
      version: '2.0.0',
      cwd: '/a',
      timestamp: '2026-01-01T00:00:00.000Z',
    }
    return [
      { ...common, type: 'user', uuid: 'u1', parentUuid: null, message: { role: 'user', content: text } },
      {
        ...common,
        type: 'assistant',
        uuid: 'u2',
        parentUuid: 'u1',
        message: { id: 'm', role: 'assistant', content: [{ type: 'text', text }] },
      },
    ]
      .map((record) => JSON.stringify(record))
      .join('\n')
  },
  pi: (text) =>
    [
      { type: 'session', version: 3, id: 's', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/a' },
      {
        type: 'message',
        id: 'a',
        parentId: null,
        timestamp: '2026-01-01T00:00:00.000Z',
        message: { role: 'user', content: text },
      },
    ]
      .map((record) => JSON.stringify(record))
      .join('\n'),
  roo: (text) =>
    JSON.stringify([
      { role: 'user', content: [{ type: 'text', text: `<task>${text}</task>` }], ts: 1 },
      { role: 'assistant', content: [{ type: 'text', text }], ts: 2 },
    ]),
  chatgpt: (text) =>
    JSON.stringify([
      {
        title: 'T',
        create_time: 1,
        update_time: 2,
        conversation_id: 'c',
        current_node: 'b',
        mapping: {
          a: { id: 'a', message: null, parent: null, children: ['b'] },
          b: {
            id: 'b',
            parent: 'a',
            children: [],
            message: {
              id: 'b',
              author: { role: 'user' },
              create_time: 1,
              content: { content_type: 'text', parts: [text] },
            },
          },
        },
      },
    ]),
  claude: (text) =>
    JSON.stringify([
      {
        uuid: 't',
        name: 'T',
        created_at: '2026-01-01T00:00:00Z',
        chat_messages: [
          {
            uuid: 'a',
            text,
            content: [{ type: 'text', text: half(text) }],
            sender: 'human',
            created_at: '2026-01-01T00:00:00Z',
            attachments: [{ file_name: 'a', extracted_content: text }],
            files: [],
          },
        ],
      },
    ]),
}

const IMPORT_FACES: Face[] = Object.entries(FILES).map(([kind, contentOf]) => ({
  name: `importFile, importStream: ${kind}`,
  covers: ['importFile', 'importStream', 'store.sessions.import'],
  prepare: async (text) => {
    const folder = mkdtempSync(join(tmpdir(), 'undertext-linear-'))
    const content = contentOf(text)
    const path = join(folder, /^\{.*\n/.test(content.slice(0, 10_000)) ? 'a.jsonl' : 'a.json')
    writeFileSync(path, content)
    const store = await main.openStore(':memory:', { env: false })
    return {
      run: async () => {
        await transfer.importFile(store, path).catch(refused)
        await transfer.importStream(store, Readable.from([Buffer.from(content)])).catch(refused)
      },
      clean: async () => {
        await store.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
}))

/** What is no file of any kind is refused; that is an answer too. */
function refused(error: unknown): void {
  if (!main.isUndertextError(error)) throw error
}

const COMMANDS: readonly (readonly string[])[] = [
  ['requests', 's'],
  ['show', 's'],
  ['show', 's', '--no-fold'],
  ['sessions'],
  ['stats', 's'],
  ['log', 's'],
  ['diff', 's'],
  ['verify', 's'],
  ['export', 's', '--format', 'markdown'],
  ['compact', 's', '--dry-run'],
  ['doctor'],
]

/** What a client of `undertext mcp` sends, a line each. */
const MCP_REQUESTS = [
  {
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'linear', version: '1' } },
  },
  { method: 'notifications/initialized' },
  ...[
    ['get_view', { session_id: 's' }],
    ['get_stats', { session_id: 's' }],
    ['list_compactions', { session_id: 's' }],
    ['diff_views', { session_id: 's', from: 'position:1' }],
    ['preview_compaction', { session_id: 's', target_tokens: 1 }],
    ['search_history', { query: 'Go on' }],
    ['read_history', { session_id: 's' }],
    ['open_history', { session_id: 's', position: 1 }],
  ].map(([name, given], at) => ({ id: at + 1, method: 'tools/call', params: { name, arguments: given } })),
  { id: 99, method: 'resources/read', params: { uri: 'undertext://sessions/s' } },
]
  .map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  .join('')

const CLI_FACES: Face[] = [...COMMANDS, ['mcp']].flatMap((command) =>
  [undefined, 100].flatMap((columns) =>
    shapes(async (messages) => {
      const folder = mkdtempSync(join(tmpdir(), 'undertext-linear-'))
      const path = join(folder, 'chats.db')
      const store = await main.openStore(path, { env: false, estimator: 'neurolink' })
      await store.sessions.create({ id: 's', title: 'T' })
      await store.append('s', messages)
      await store.compactSession('s', { stages: [{ stage: 'clear_tool_results', keep: 0 }], targetTokens: 1 })
      await store.close()
      return {
        run: () =>
          runCli(['--db', path, '--no-pager', ...command], {
            ...(columns !== undefined && { columns }),
            ...(command[0] === 'mcp' && { piped: MCP_REQUESTS }),
          }),
        clean: () => rmSync(folder, { recursive: true }),
      }
    }).map(({ shape, prepare }) => ({
      name: `undertext ${command.join(' ')}${columns === undefined ? '' : ', terminal'} (${shape})`,
      covers: [`cli ${command[0]}`],
      prepare,
    })),
  ),
)

export const FACES: readonly Face[] = [
  ...FORMAT_FACES,
  ...ARRAY_FACES,
  ...TEXT_FACES,
  ...STORE_FACES,
  ...SDK_FACES,
  ...IMPORT_FACES,
  ...CLI_FACES,
]

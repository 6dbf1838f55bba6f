import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { Readable } from 'node:stream'
import * as aiSdk from '../../src/adapters/ai-sdk/index.ts'
import * as anthropic from '../../src/adapters/anthropic/index.ts'
import * as claudeAgentSdk from '../../src/adapters/claude-agent-sdk/index.ts'
import * as formats from '../../src/adapters/flat/index.ts'
import * as google from '../../src/adapters/google/index.ts'
import * as langchain from '../../src/adapters/langchain/index.ts'
import * as openai from '../../src/adapters/openai/index.ts'
import * as openaiAgents from '../../src/adapters/openai-agents/index.ts'
import * as arrays from '../../src/compat/arrays/index.ts'
import * as compat from '../../src/compat/index.ts'
import * as stages from '../../src/core/stages/index.ts'
import * as tokens from '../../src/core/tokens/index.ts'
import * as core from '../../src/index.ts'
import * as inspect from '../../src/inspect/index.ts'
import * as recall from '../../src/store/recall/index.ts'
import * as transfer from '../../src/transfer/index.ts'
import { call, result, say } from '../support/conversation.ts'
import { CANARY } from '../support/failures.ts'
import { newFile } from '../support/temporary.ts'
import { furnish } from './verbs.ts'

/* A valid call of each public function, by its name. Of a class, a valid call of each method that takes data: `Class.method`. */

type Row = {
  readonly call: (...args: never[]) => unknown
  readonly args: () => readonly unknown[]
}

const TURN = { threshold: 0.9, compaction: { targetTokens: 200, enableSummarize: false, waitMs: 0 } }
const MESSAGES: readonly core.NewMessage[] = [
  say('system', CANARY),
  {
    role: 'user',
    content: [
      { type: 'text', text: CANARY },
      { type: 'image', image: 'aGk=', mediaType: 'image/png' },
      { type: 'file', data: 'aGk=', mediaType: 'application/pdf', filename: 'a.pdf' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: CANARY, providerOptions: { anthropic: { signature: 'x' } } },
      { type: 'provider', provider: 'anthropic', data: { type: 'x', text: CANARY } },
      { type: 'tool-call', toolCallId: 'a', toolName: 'read', input: { path: [CANARY] } },
    ],
  },
  result('a', CANARY, 'read'),
  call('b', 'list', {}),
  {
    role: 'tool',
    content: [
      {
        ...{ type: 'tool-result', toolCallId: 'b', toolName: 'list' },
        output: { type: 'content', value: [{ type: 'text', text: CANARY }] },
      },
    ],
  },
  say('assistant', CANARY),
]
const FLAT = [
  { id: 'm1', role: 'user', content: CANARY },
  { id: 'm2', role: 'assistant', content: CANARY },
  { id: 'm3', role: 'user', content: CANARY },
] as const
const CONVERTING = { lenient: false, onNote: () => undefined }

/** A function that writes a format, and the one that reads it: what the first writes is what the second is given. */
function both(
  write: (messages: never, options?: never) => unknown,
  read: (wire: never, options?: never) => unknown,
): Record<string, Row> {
  const wire = write(MESSAGES as never, CONVERTING as never)
  return {
    [write.name]: { call: write, args: () => [MESSAGES, CONVERTING] },
    [read.name]: { call: read, args: () => [wire, CONVERTING] },
    // What cannot be read is kept instead, also here.
    [`${read.name} (lenient)`]: { call: read, args: () => [wire, { lenient: true }] },
  }
}

/** What the functions that read a store are called with. They write to it, too: a row must not depend on what another did. */
const { store, messageId, summaryId } = await furnish(
  await core.openStore(':memory:', { env: false, estimator: 'neurolink' }),
  's',
)
const SCOPE = { session: 's', sessions: ['s'] } as const
const BOUNDS = { maxTokens: 500 }
const FILES = [
  { path: 'a.ts', content: CANARY },
  { path: 'b.ts', content: 'b '.repeat(9_000) },
]
const PLAIN = [
  { role: 'user', content: CANARY },
  { role: 'assistant', content: CANARY, tool_calls: [{ id: 'c' }] },
]
const CAPABLE = {
  edits: [
    { type: 'compact', trigger: 60_000 },
    { type: 'clear_tool_uses', keep: 3 },
  ],
} as const
const SCORER: arrays.ImportanceScorer = { name: 'all', version: '1', score: (groups) => groups.map(() => 1) }
const TOOLS = recall.recallTools(store, SCOPE, { notes: true, makeRoom: true })

async function drained(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of values);
}

async function linesOf(sessionId: string): Promise<transfer.Line[]> {
  const lines: transfer.Line[] = []
  for await (const text of transfer.historyLines(store.sessions.export(sessionId)))
    lines.push({ number: lines.length + 1, ended: true, text: text.slice(0, -1) })
  return lines
}
const LINES = await linesOf('s')

/** Calls a function with a new, empty store, which it may fill. */
async function withNewStore(use: (store: core.Store) => unknown): Promise<void> {
  const target = await core.openStore(':memory:', { env: false })
  try {
    await use(target)
  } finally {
    await target.close()
  }
}

/** A strategy of arrays, with its options and its messages spoiled. */
function strategy(make: (options: never) => arrays.Strategy, options: object): Row {
  return {
    call: (given, list, target) => make(given).apply(list, target),
    args: () => [options, FLAT, 50],
  }
}

/** A method of an object that `make` creates with a store. */
function method<T>(
  make: (store: core.Store) => T,
  act: (made: T, ...args: never[]) => unknown,
  args: () => readonly unknown[],
): Row {
  return { call: (...given) => withNewStore((target) => act(make(target), ...given)), args }
}

/** A call of the inspector's page: whatever it contains, the answer is a value or an error with a code of its own. */
async function calledOverHttp(verb: unknown, args: unknown): Promise<void> {
  let body: string
  try {
    body = JSON.stringify({ verb, args })
  } catch {
    return
  }
  const request = new Request('http://127.0.0.1/call', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const answer = (await (await inspect.inspector(store)(request)).json()) as { error?: { code: string } }
  if (answer.error?.code === 'INTERNAL') throw new Error('the call failed within')
}

const agentSession = (target: core.Store) =>
  new openaiAgents.UndertextSession({ store: target, sessionId: 's' })
const ITEMS = () => openaiAgents.toAgentItems(MESSAGES)
const chatsOf = (target: core.Store) => aiSdk.chatStore(target)
const UI = [
  { id: 'u1', role: 'user', parts: [{ type: 'text', text: CANARY }] },
  { id: 'a1', role: 'assistant', parts: [{ type: 'text', text: CANARY, state: 'done' }] },
] as const
const historyOf = (target: core.Store) =>
  new langchain.UndertextChatMessageHistory({ store: target, sessionId: 's' })
const transcriptsOf = (target: core.Store) => claudeAgentSdk.undertextSessionStore({ store: target })
const KEY = { projectKey: 'p', sessionId: 's', subpath: 'a' }
const ENTRIES = [{ type: 'user', uuid: 'u1', message: { role: 'user', content: CANARY } }]

export const FUNCTIONS: Readonly<Record<string, Row>> = {
  ...both(formats.toChatMessages, formats.fromChatMessages),
  ...both(openai.toOpenAI, openai.fromOpenAI),
  ...both(openai.toOpenAIResponses, openai.fromOpenAIResponses),
  ...both(anthropic.toAnthropic, anthropic.fromAnthropic),
  ...both(google.toGemini, google.fromGemini),
  ...both(aiSdk.toModelMessages, aiSdk.fromModelMessages as never),
  ...both(aiSdk.toUIMessages, aiSdk.fromUIMessages as never),
  ...both(langchain.toLangChainStored, langchain.fromLangChain as never),
  ...both(openaiAgents.toAgentItems, openaiAgents.fromAgentItems as never),
  toLangChain: { call: langchain.toLangChain, args: () => [MESSAGES, CONVERTING] },
  toSdkPrompt: { call: aiSdk.toSdkPrompt, args: () => [MESSAGES, { version: 'v3', provider: 'openai' }] },
  fromSdkPrompt: {
    call: aiSdk.fromSdkPrompt as never,
    args: () => [aiSdk.toSdkPrompt(MESSAGES, { version: 'v3', provider: 'openai' }), 'openai'],
  },
  detectFormat: { call: formats.detectFormat, args: () => [MESSAGES] },
  validateRequest: {
    call: core.validateRequest,
    args: () => [{ messages: [{ role: 'user', content: 'hi' }] }, 'openai'],
  },
  validateHistory: { call: core.validateHistory, args: () => [MESSAGES, 'openai'] },
  renderView: {
    call: core.renderView,
    args: () => [
      MESSAGES.map((message, at) => ({
        ...message,
        id: `m${at}`,
        position: at + 1,
        kind: 'message',
        createdAt: 0,
      })),
      { provider: 'anthropic' },
    ],
  },
  readOverflow: {
    call: core.readOverflow,
    args: () => [{ status: 400, error: { message: `prompt is too long ${CANARY}` } }, { strict: true }],
  },
  isContextOverflowError: {
    call: compat.isContextOverflowError,
    args: () => [{ status: 400, error: { message: `prompt is too long ${CANARY}` } }, { strict: true }],
  },
  getContextOverflowProvider: { call: compat.getContextOverflowProvider, args: () => [{ message: CANARY }] },
  parseProviderOverflowDetails: {
    call: compat.parseProviderOverflowDetails,
    args: () => [{ message: CANARY }],
  },
  extractErrorMessage: { call: compat.extractErrorMessage, args: () => [{ error: { message: CANARY } }] },
  stopReasonOf: { call: compat.stopReasonOf, args: () => ['stop'] },
  nextStep: { call: compat.nextStep, args: () => ['stop'] },
  truncateToolOutput: {
    call: compat.truncateToolOutput,
    args: () => [CANARY, { maxBytes: 100, maxLines: 5 }],
  },
  generateToolOutputPreview: {
    call: compat.generateToolOutputPreview,
    args: () => [CANARY, { maxBytes: 100 }],
  },
  userMessage: { call: compat.userMessage, args: () => [CANARY] },
  assistantMessage: { call: compat.assistantMessage, args: () => [CANARY] },
  systemMessage: { call: compat.systemMessage, args: () => [CANARY] },
  isUndertextError: { call: core.isUndertextError, args: () => [new Error(CANARY), 'STALE_PLAN'] },
  originalErrorOf: { call: core.originalErrorOf, args: () => [new Error(CANARY)] },
  isStage: { call: stages.isStage, args: () => [{ name: 'x' }] },
  namesOf: { call: aiSdk.namesOf, args: () => [{ provider: 'openai.chat', modelId: 'gpt-4o' }] },
  encodeName: { call: claudeAgentSdk.encodeName, args: () => ['a'] },
  decodeName: { call: claudeAgentSdk.decodeName, args: () => ['a'] },
  keyOfSession: { call: claudeAgentSdk.keyOfSession, args: () => ['a'] },
  estimateTokens: { call: tokens.estimateTokens, args: () => [CANARY, 'openai'] },
  estimateMessagesTokens: { call: tokens.estimateMessagesTokens, args: () => [MESSAGES, 'openai'] },
  checkContextBudget: {
    call: tokens.checkContextBudget,
    args: () => [
      {
        ...{ provider: 'openai', model: 'gpt-4o', systemPrompt: CANARY, currentPrompt: CANARY },
        ...{ conversationMessages: [...FLAT], toolDefinitions: [{ name: 'x' }] },
      },
    ],
  },
  getContextWindowSize: { call: tokens.getContextWindowSize, args: () => ['openai', 'gpt-4o'] },
  getAvailableInputTokens: { call: tokens.getAvailableInputTokens, args: () => ['openai', 'gpt-4o', 500] },
  getOutputReserve: { call: tokens.getOutputReserve, args: () => [128_000, 500] },
  getProviderMultiplier: { call: tokens.getProviderMultiplier, args: () => ['openai'] },
  looksLikeCode: { call: tokens.looksLikeCode, args: () => [CANARY] },
  estimatorNamed: { call: tokens.estimatorNamed, args: () => ['neurolink'] },
  truncateToTokenBudget: { call: tokens.truncateToTokenBudget, args: () => [CANARY, 10, 'openai'] },
  getEffectiveHistory: { call: arrays.getEffectiveHistory, args: () => [FLAT, {}] },
  filterEffectiveHistory: { call: arrays.filterEffectiveHistory, args: () => [FLAT] },
  pruneToolOutputs: { call: arrays.pruneToolOutputs, args: () => [FLAT, { protectTokens: 0 }] },
  deduplicateFileReads: { call: arrays.deduplicateFileReads, args: () => [FLAT, {}] },
  truncateWithSlidingWindow: { call: arrays.truncateWithSlidingWindow, args: () => [FLAT, {}] },
  summarizeMessages: { call: arrays.summarizeMessages, args: () => [FLAT, {}] },
  summarizeInSnippets: { call: arrays.summarizeInSnippets, args: () => [FLAT] },
  repairToolPairs: { call: arrays.repairToolPairs, args: () => [FLAT] },
  repairRoleAlternation: { call: arrays.repairRoleAlternation, args: () => [FLAT] },
  validateRoleAlternation: { call: arrays.validateRoleAlternation, args: () => [FLAT] },
  removeDanglingTags: { call: arrays.removeDanglingTags, args: () => [FLAT] },
  tagForCondensation: { call: arrays.tagForCondensation, args: () => [FLAT, 0, 1, 'c'] },
  tagForTruncation: { call: arrays.tagForTruncation, args: () => [FLAT, 0, 1, 'c'] },
  removeCondensationTags: { call: arrays.removeCondensationTags, args: () => [FLAT, 'c'] },
  removeTruncationTags: { call: arrays.removeTruncationTags, args: () => [FLAT, 'c'] },
  scoreMessages: { call: arrays.scoreMessages, args: () => [MESSAGES, { weights: { base: { user: 5 } } }] },
  'ContextCompactor.compact': {
    call: (list, target, config) => new arrays.ContextCompactor(config).compact(list, target),
    args: () => [FLAT, 50, { provider: 'openai' }],
  },

  inspector: {
    call: (given, options) => inspect.inspector(given, options),
    args: () => [store, { readonly: true, title: 'Chats', actor: 'fuzz', basePath: '/inspect' }],
  },
  'inspector (a call)': { call: calledOverHttp, args: () => ['getMessages', ['s', { limit: 3 }]] },
  openStore: {
    call: async (options) => (await core.openStore(':memory:', options)).close(),
    args: () => [
      {
        ...{ env: false, estimator: 'neurolink', durability: 'normal' },
        contextWindows: { openai: { _default: 5_000 } },
      },
    ],
  },
  compactBeforeTurn: {
    call: (options, list) => compat.compactBeforeTurn(arrays.slidingWindow(options) as never, list),
    args: () => [{ fitBudget: true, maxTokens: 50 }, FLAT],
  },
  priorityStage: { call: stages.priorityStage, args: () => [{ protect: ['errors'] }] },
  createStage: {
    call: core.createStage,
    args: () => [{ stage: 'composite', stages: ['prune', { stage: 'sliding_window', last: 2 }], budget: 50 }],
  },
  hierarchicalSummaries: {
    call: stages.hierarchicalSummaries,
    args: () => [{ leafTokens: 50, leafMessages: 2, fanOut: 2 }],
  },
  resolveModelProfile: {
    call: tokens.resolveModelProfile,
    args: () => [
      'openai',
      'gpt-4o',
      {
        contextWindows: { openai: { 'gpt-4o': 5_000 } },
        maxOutputTokens: 50,
        estimator: 'neurolink',
        threshold: 0.5,
      },
    ],
  },
  tokenizerEstimator: { call: tokens.tokenizerEstimator, args: () => ['o200k_base'] },
  composite: {
    call: (options, list) => arrays.composite(options).apply(list, 50),
    args: () => [
      { stages: [arrays.dropReasoning(), arrays.slidingWindow({ last: 2 })], maxTokens: 50 },
      FLAT,
    ],
  },
  stageFrom: { call: arrays.stageFrom, args: () => [{ name: 'all', apply: (list: unknown) => list }] },
  clearToolResults: strategy(arrays.clearToolResults as never, { keep: 0 }),
  dropReasoning: strategy(arrays.dropReasoning as never, { keepTurns: 1 }),
  priority: strategy(arrays.priority as never, { maxTokens: 50 }),
  slidingWindow: strategy(arrays.slidingWindow as never, { last: 1 }),
  summarizeOlder: strategy(arrays.summarizeOlder as never, {
    keepLast: 1,
    summarizer: core.extractiveSummarizer,
  }),
  createStrategy: {
    call: (kind, options, list) => arrays.createStrategy(kind, options).apply(list, 50),
    args: () => ['sliding_window', { maxTokens: 50 }, FLAT],
  },
  scoreMessagesWith: {
    call: arrays.scoreMessagesWith,
    args: () => [SCORER, MESSAGES, { weights: { base: { user: 5 } } }],
  },
  buildEnrichedSystem: {
    call: compat.buildEnrichedSystem,
    args: () => [
      {
        ...{ systemMessage: CANARY, summaries: [CANARY], memories: [{ type: 'fact', content: CANARY }] },
        ...{ currentTurn: [say('user', CANARY)], enableLongTermMemory: true, recallTopK: 3 },
      },
    ],
  },
  'HistoryManager.prepareMessages': {
    call: (config, request) =>
      new compat.HistoryManager({
        ...(config as object),
        strategy: { apply: (all) => all.slice(-1) },
      }).prepareMessages(request),
    args: () => [
      { enableLongTermMemory: true, summaries: [CANARY] },
      { history: MESSAGES, currentTurn: [say('user', CANARY)], systemMessage: CANARY, budget: 5 },
    ],
  },
  allOf: { call: compat.allOf, args: () => [{ everyNTurns: 2 }, { not: { onTokenThreshold: 5 } }] },
  anyOf: { call: compat.anyOf, args: () => [{ everyNTurns: 2 }, { allOf: [{ onTokenThreshold: 5 }] }] },
  not: { call: compat.not, args: () => [{ anyOf: [{ everyNTurns: 2 }] }] },
  everyNTurns: { call: compat.everyNTurns, args: () => [2] },
  onTokenThreshold: { call: compat.onTokenThreshold, args: () => [5] },
  'PersistentContext.from': {
    call: (json) => compat.PersistentContext.from(json).render(),
    args: () => [{ sections: [{ label: 'Rules', content: CANARY, priority: 1 }] }],
  },
  'SystemInjector.from': {
    call: (json, turn, size) => compat.SystemInjector.from(json).check(turn, size),
    args: () => [{ rules: [{ trigger: { everyNTurns: 1 }, content: CANARY }] }, 2, 50],
  },
  'notesMemory.store': {
    call: (whose, memory) => compat.notesMemory(store, whose).store(memory),
    args: () => [{ session: 's' }, { type: 'fact', content: CANARY, key: 'm', metadata: { a: [CANARY] } }],
  },
  'notesMemory.recall': {
    call: (whose, query, most, filters) => compat.notesMemory(store, whose).recall(query, most, filters),
    args: () => [{ session: 's' }, 'canary', 3, { type: 'note' }],
  },
  beforeTurn: {
    call: (id, options) => compat.beforeTurn(store, id, options),
    args: () => ['s', { ...TURN, system: CANARY, prompt: CANARY, provider: 'openai', model: 'gpt-4o' }],
  },
  afterTurn: {
    call: (id, options) => compat.afterTurn(store, id, options),
    args: () => ['s', { ...TURN, messages: [say('assistant', CANARY)], stopReason: 'end_turn' }],
  },
  enforceAggregateFileBudget: {
    call: compat.enforceAggregateFileBudget,
    args: () => [FILES, 'openai', 'gpt-4o', 500],
  },
  buildFileContextSection: { call: compat.buildFileContextSection, args: () => [FILES] },
  calculateFileTokenBudget: {
    call: compat.calculateFileTokenBudget,
    args: () => [9_000, 500, 50, { reserve: 5, percent: 0.5 }],
  },
  estimatePostProcessingTokens: { call: compat.estimatePostProcessingTokens, args: () => [5_000, 'pdf'] },
  shouldTruncateFile: { call: compat.shouldTruncateFile, args: () => [5_000, 50] },
  'FileSummarizationService.checkAndSummarize': {
    call: (files, options) =>
      new compat.FileSummarizationService({ summarize: async () => 'Short.' }).checkAndSummarize(
        files,
        options,
      ),
    args: () => [FILES, { question: CANARY, provider: 'openai', maxOutputTokens: 500 }],
  },
  buildFileSummarizationPrompt: {
    call: compat.buildFileSummarizationPrompt,
    args: () => [
      {
        content: CANARY,
        path: 'a.ts',
        fileType: 'code',
        question: CANARY,
        targetTokens: 50,
        isBeginning: true,
      },
    ],
  },
  planFileSummarization: { call: compat.planFileSummarization, args: () => [FILES, { provider: 'openai' }] },
  shouldSummarizeFiles: { call: compat.shouldSummarizeFiles, args: () => [FILES, { provider: 'openai' }] },
  buildSummarizationPrompt: {
    call: compat.buildSummarizationPrompt,
    args: () => [MESSAGES.map((message, at) => ({ ...message, position: at + 1 })), {}],
  },
  buildSummaryPrompt: { call: compat.buildSummaryPrompt, args: () => [MESSAGES, {}] },
  neuronSummaryRequest: { call: compat.neuronSummaryRequest, args: () => [MESSAGES, {}] },
  prepareForSummary: { call: compat.prepareForSummary, args: () => [MESSAGES, {}] },
  estimateNcaMessages: { call: compat.estimateNcaMessages, args: () => [PLAIN, { unit: 'utf8' }] },
  estimateNcaTokens: { call: compat.estimateNcaTokens, args: () => [PLAIN[1], { unit: 'utf8' }] },
  ncaContextStats: {
    call: compat.ncaContextStats,
    args: () => [PLAIN, { contextWindowTarget: 50, enableAutoSummarize: true }],
  },
  providerFactor: { call: compat.providerFactor, args: () => ['openai'] },
  createTokenCounter: {
    call: (options, text) => compat.createTokenCounter(options).estimateText(text),
    args: () => [{}, CANARY],
  },
  contextBudget: {
    call: compat.contextBudget,
    args: () => [
      {
        contextWindow: 500,
        maxOutputTokens: 50,
        systemMessage: CANARY,
        tools: [{ name: 'x' }],
        history: PLAIN,
      },
    ],
  },
  estimatePromptfleetMessage: { call: compat.estimatePromptfleetMessage, args: () => [PLAIN[1]] },
  estimatePromptfleetMessages: { call: compat.estimatePromptfleetMessages, args: () => [PLAIN] },
  estimatePromptfleetTokens: { call: compat.estimatePromptfleetTokens, args: () => [CANARY] },
  estimatePromptfleetTools: { call: compat.estimatePromptfleetTools, args: () => [[{ name: 'x' }]] },
  contextManagement: { call: anthropic.contextManagement, args: () => [CAPABLE, 'anthropic'] },
  contextManagementBetas: { call: anthropic.contextManagementBetas, args: () => [CAPABLE] },
  contextManagementTypes: { call: anthropic.contextManagementTypes, args: () => ['anthropic', 'claude'] },
  recallTools: {
    call: (scope, options, input) =>
      Promise.all(recall.recallTools(store, scope, options).map((tool) => tool.execute(input))),
    args: () => [SCOPE, { notes: true, makeRoom: true, prefix: 'x', ...BOUNDS }, { query: 'canary' }],
  },
  aiSdkTools: { call: recall.aiSdkTools, args: () => [TOOLS, (schema: unknown) => schema] },
  agentsTools: { call: recall.agentsTools, args: () => [TOOLS, (tool: unknown) => tool] },
  langchainTools: { call: recall.langchainTools, args: () => [TOOLS, (tool: unknown) => tool] },
  logNotes: {
    call: (...given) => recall.logNotes(store, ...(given as [never, never])),
    args: () => [SCOPE, { action: 'remember', text: CANARY, key: 'k2' }, BOUNDS],
  },
  'logNotes (recall)': {
    call: (...given) => recall.logNotes(store, ...(given as [never, never])),
    args: () => [SCOPE, { action: 'recall', query: 'canary' }, BOUNDS],
  },
  makeRoom: {
    call: (...given) => recall.makeRoom(store, ...(given as [never, never])),
    args: () => [SCOPE, { reason: CANARY, targetShare: 0.5 }, () => 'apply', BOUNDS],
  },
  openRow: {
    call: (...given) => recall.openRow(store, ...(given as [never, never])),
    args: () => [SCOPE, { messageId, query: 'canary' }, BOUNDS],
  },
  'openRow (of a summary)': {
    call: (...given) => recall.openRow(store, ...(given as [never, never])),
    args: () => [SCOPE, { messageId: summaryId }, BOUNDS],
  },
  readLog: {
    call: (...given) => recall.readLog(store, ...(given as [never, never])),
    args: () => [SCOPE, { position: 2, before: 1, after: 1, query: 'canary' }, BOUNDS],
  },
  searchLog: {
    call: (...given) => recall.searchLog(store, ...(given as [never, never])),
    args: () => [SCOPE, { query: 'canary', session: 's' }, BOUNDS],
  },
  exportHtml: {
    call: (...given) => drained(transfer.exportHtml(store, ...(given as [never]))),
    args: () => ['s', { hidden: 'show' }],
  },
  exportMarkdown: {
    call: (...given) => drained(transfer.exportMarkdown(store, ...(given as [never]))),
    args: () => ['s', { hidden: 'show' }],
  },
  exportView: {
    call: (...given) => drained(transfer.exportView(store, ...(given as [never]))),
    args: () => ['s', { format: 'openai' }],
  },
  checkHistory: { call: (lines) => drained(transfer.checkHistory(lines)), args: () => [LINES] },
  historyLines: {
    call: (records) => drained(transfer.historyLines(records)),
    args: () => [[{ type: 'note', text: CANARY }, { type: 'end' }]],
  },
  restoreFrom: {
    call: (lines, options) => withNewStore((to) => drained(transfer.restoreFrom(to, lines, options))),
    args: () => [LINES, { ids: ['restored'], owner: 'o' }],
  },
  importFile: {
    call: async (content, options) => {
      const folder = mkdtempSync(join(tmpdir(), 'undertext-fuzz-'))
      try {
        const path = join(folder, 'a.json')
        writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(FLAT))
        await withNewStore((to) => transfer.importFile(to, path, options))
      } finally {
        rmSync(folder, { recursive: true })
      }
    },
    args: () => [JSON.stringify(FLAT), { owner: 'o' }],
  },
  importStream: {
    call: (stream, options) => withNewStore((to) => transfer.importStream(to, stream, options)),
    args: () => [Readable.from([JSON.stringify(FLAT)]), { called: 'a', owner: 'o' }],
  },
  readLines: {
    call: (bytes, most) => drained(transfer.readLines(bytes, most)),
    args: () => [[Buffer.from('a\nb')], 500],
  },
  exportOwner: {
    // A text as the path names a file in a folder of its own, and not in that of the project.
    call: (owner, path: unknown, options) =>
      transfer.exportOwner(
        store,
        owner as never,
        (typeof path === 'string' && !isAbsolute(path) && path !== '' ? newFile(path) : path) as never,
        options as never,
      ),
    args: () => ['o', newFile(), {}],
  },
  moveStore: {
    call: (options) => withNewStore((to) => transfer.moveStore(store, to, options)),
    args: () => [{}],
  },
  'chatStore.create': method(
    chatsOf,
    (chats, given: never) => chats.create(given),
    () => [{ id: 'c', owner: 'o' }],
  ),
  'chatStore.save': method(
    chatsOf,
    (chats, ...given) => chats.save(...(given as [never])),
    () => [{ chatId: 'c', messages: UI, onConflict: 'merge', owner: 'o' }],
  ),
  'chatStore.resume': method(
    chatsOf,
    (chats, ...given) => chats.resume(...(given as [never])),
    () => [{ id: 'c', message: UI[0] }, { owner: 'o' }],
  ),
  'UndertextSession.addItems': method(
    agentSession,
    (session, ...given) => session.addItems(...(given as [never])),
    () => [ITEMS()],
  ),
  'UndertextSession.applyHistoryTransaction': method(
    agentSession,
    (session, ...given) => session.applyHistoryTransaction(...(given as [never])),
    () => [{ operationId: 'op', transaction: { type: 'append_items', items: ITEMS() } }],
  ),
  'UndertextSession.replaceHistoryWithCompaction': method(
    agentSession,
    async (session, ...given) => {
      await session.addItems(ITEMS())
      await session.replaceHistoryWithCompaction(...(given as [never]))
    },
    () => [ITEMS()],
  ),
  'UndertextChatMessageHistory.addMessages': method(
    historyOf,
    (history, ...given) => history.addMessages(...(given as [never])),
    () => [langchain.toLangChainStored(MESSAGES)],
  ),
  'UndertextSessionStore.append': method(
    transcriptsOf,
    (transcripts, ...given) => transcripts.append(...(given as [never, never])),
    () => [KEY, ENTRIES],
  ),
  'UndertextSessionStore.delete': method(
    transcriptsOf,
    (transcripts, ...given) => transcripts.delete(...(given as [never])),
    () => [KEY],
  ),
  undertextSessionStore: {
    call: (options) => claudeAgentSdk.undertextSessionStore({ ...(options as object), store }),
    args: () => [{ actor: 'a' }],
  },
}

/** Exported functions without a row, with the reason. */
export const WITHOUT_ROW: Readonly<Record<string, string>> = {
  UndertextError: 'this package creates it; a caller reads it',
  modelSummarizer: 'the summary of a model: test/summarizers spoils what the model returns',
  aiSdkSummarizer: 'the same, for a model of the AI SDK',
  undertext: 'middleware that the AI SDK calls with its own parameters and a model',
  recoveringModel: 'wraps a model of LangChain, which calls it',
}

/**
 * Rows of which only the valid call is run: these functions read an argument, or what it holds, before they check it, so that an argument
 * that throws while it is read, or one of another type, leaves them with an error of its own.
 */
export const ONLY_VALID: ReadonlySet<string> = new Set([
  ...['compactBeforeTurn', 'composite', 'stageFrom', 'clearToolResults', 'dropReasoning', 'priority'],
  ...['slidingWindow', 'summarizeOlder', 'createStrategy', 'notesMemory.recall', 'buildSummaryPrompt'],
  ...['neuronSummaryRequest', 'prepareForSummary', 'estimateNcaMessages', 'estimateNcaTokens'],
  ...['ncaContextStats', 'providerFactor', 'contextBudget', 'estimatePromptfleetMessage'],
  ...['estimatePromptfleetMessages', 'estimatePromptfleetTools', 'contextManagementTypes', 'recallTools'],
  ...['agentsTools', 'logNotes (recall)', 'openRow', 'readLog', 'searchLog', 'exportHtml', 'exportMarkdown'],
  ...['exportView', 'checkHistory', 'historyLines', 'restoreFrom', 'importStream', 'readLines'],
  ...['chatStore.save', 'chatStore.resume', 'UndertextChatMessageHistory.addMessages'],
  ...['UndertextSessionStore.append', 'undertextSessionStore'],
  ...['aiSdkTools', 'langchainTools', 'logNotes', 'makeRoom', 'openRow (of a summary)'],
])

/** The exported name of a row, without its form and its method. */
export function exportOf(row: string): string {
  return row.replace(/[ .].*/, '')
}

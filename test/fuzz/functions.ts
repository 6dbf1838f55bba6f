import * as aiSdk from '../../src/ai-sdk.ts'
import * as anthropic from '../../src/anthropic.ts'
import * as arrays from '../../src/arrays.ts'
import * as claudeAgentSdk from '../../src/claude-agent-sdk.ts'
import * as google from '../../src/google.ts'
import * as core from '../../src/index.ts'
import * as langchain from '../../src/langchain.ts'
import * as openai from '../../src/openai.ts'
import * as openaiAgents from '../../src/openai-agents.ts'
import * as tokens from '../../src/tokens.ts'
import { call, result, say } from '../support/conversation.ts'
import { CANARY } from '../support/failures.ts'

/* A valid call of each public function that takes data of a conversation, by its name. */

type Row = {
  readonly call: (...args: never[]) => unknown
  readonly args: () => readonly unknown[]
}

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

export const FUNCTIONS: Readonly<Record<string, Row>> = {
  ...both(core.toChatMessages, core.fromChatMessages),
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
  detectFormat: { call: core.detectFormat, args: () => [MESSAGES] },
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
  isContextOverflowError: {
    call: core.isContextOverflowError,
    args: () => [{ status: 400, error: { message: `prompt is too long ${CANARY}` } }, { strict: true }],
  },
  getContextOverflowProvider: { call: core.getContextOverflowProvider, args: () => [{ message: CANARY }] },
  parseProviderOverflowDetails: {
    call: core.parseProviderOverflowDetails,
    args: () => [{ message: CANARY }],
  },
  extractErrorMessage: { call: core.extractErrorMessage, args: () => [{ error: { message: CANARY } }] },
  stopReasonOf: { call: core.stopReasonOf, args: () => ['stop'] },
  nextStep: { call: core.nextStep, args: () => ['stop'] },
  truncateToolOutput: { call: core.truncateToolOutput, args: () => [CANARY, { maxBytes: 100, maxLines: 5 }] },
  generateToolOutputPreview: {
    call: core.generateToolOutputPreview,
    args: () => [CANARY, { maxBytes: 100 }],
  },
  userMessage: { call: core.userMessage, args: () => [CANARY] },
  assistantMessage: { call: core.assistantMessage, args: () => [CANARY] },
  systemMessage: { call: core.systemMessage, args: () => [CANARY] },
  isUndertextError: { call: core.isUndertextError, args: () => [new Error(CANARY), 'STALE_PLAN'] },
  originalErrorOf: { call: core.originalErrorOf, args: () => [new Error(CANARY)] },
  isStage: { call: core.isStage, args: () => [{ name: 'x' }] },
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
}

/*
 * The names of the systems that undertext grew out of: their estimators, prompts, file budgets, history managers and readers of overflow
 * errors. The entry `undertext/compat`.
 */

export {
  type AggregateFileBudget,
  type AggregateFileBudgetOptions,
  enforceAggregateFileBudget,
  type IncludedFile,
} from '../core/files/aggregate-budget.ts'
export { type AttachedFile, buildFileContextSection, type SectionFile } from '../core/files/attached-file.ts'
export {
  calculateFileTokenBudget,
  estimatePostProcessingTokens,
  FILE_FAST_PATH_SIZE,
  FILE_PREVIEW_CHARS,
  FILE_PREVIEW_MODE_SIZE,
  FILE_READ_BUDGET_PERCENT,
  type FileBudget,
  type FileTokenBudgetOptions,
  shouldTruncateFile,
} from '../core/files/file-budget.ts'
export {
  buildFileSummarizationPrompt,
  FILE_SUMMARIZATION_THRESHOLD,
  type FileSummaryPromptParams,
  MAX_PER_FILE_TOKENS,
  MIN_PER_FILE_TOKENS,
  NON_FILE_RESERVE,
  type PlannedFile,
  planFileSummarization,
  shouldSummarizeFiles,
} from '../core/files/summary-plan.ts'
export { MAX_TOOL_OUTPUT_BYTES, MAX_TOOL_OUTPUT_LINES } from '../core/files/tool-output/cut-output.ts'
export {
  DEFAULT_MAX_PREVIEW_BYTES,
  generateToolOutputPreview,
  type ToolOutputPreview,
  type ToolOutputPreviewOptions,
} from '../core/files/tool-output/preview.ts'
export type * from '../core/message-types.ts'
export type { RowKind } from '../core/messages/message.ts'
export {
  type NextStep,
  nextStep,
  STOP_REASONS,
  type StopReason,
  stopReasonOf,
} from '../core/messages/stop-reason.ts'
export {
  buildSummarizationPrompt,
  type SummarizationPrompt,
  type SummarizationPromptOptions,
} from '../core/summarizers/model/prompt.ts'
export {
  buildSummaryPrompt,
  MAX_MESSAGE_CHARS_FOR_SUMMARY,
  MAX_SUMMARY_WORDS,
  NEURON_SUMMARY_MAX_TOKENS,
  NEURON_SUMMARY_TEMPERATURE,
  type NeuronSummaryOptions,
  type NeuronSummaryRequest,
  neuronSummaryRequest,
  type PreparedMessage,
  type PrepareOptions,
  type PromptMessage,
  prepareForSummary,
  type SummaryPromptOptions,
} from '../core/summarizers/prompts.ts'
export {
  type AnswerProblem,
  BLOG_SECTIONS,
  type Summarizer,
  type SummaryAnswer,
  type SummaryRequest,
  type SummaryUsage,
} from '../core/summarizers/summarizer.ts'
export type { Estimator, TextKind } from '../core/tokens/estimators/estimator-schema.ts'
export {
  estimateNcaMessages,
  estimateNcaTokens,
  NCA_ATTENTION_PERCENT,
  type NcaMessage,
  type NcaOptions,
  type NcaStats,
  type NcaStatsConfig,
  ncaBytesEstimator,
  ncaContextStats,
  ncaEstimator,
} from '../core/tokens/estimators/nca.ts'
export {
  ADDITIVE_SAFETY_MARGIN,
  MARGIN_MODES,
  type MarginMode,
  neurolinkAdditiveEstimator,
  providerFactor,
} from '../core/tokens/estimators/neurolink.ts'
export {
  createTokenCounter,
  type NeuronBlock,
  type NeuronMessage,
  type NeuronTool,
  neuronBytesEstimator,
  neuronEstimator,
  type TokenCounter,
  type TokenCounterOptions,
} from '../core/tokens/estimators/neuron.ts'
export {
  type ContextBudget,
  type ContextBudgetInput,
  contextBudget,
  estimatePromptfleetMessage,
  estimatePromptfleetMessages,
  estimatePromptfleetTokens,
  estimatePromptfleetTools,
  type PromptfleetMessage,
  promptfleetEstimator,
} from '../core/tokens/estimators/promptfleet.ts'
export {
  NCA_AUTO_SUMMARIZE_THRESHOLD,
  NCA_CONTEXT_WINDOW_TARGET,
  NCA_SECTIONS,
  NEURON_SECTIONS,
} from '../store/config/resolve.ts'
export {
  type AskFailure,
  type FileCheckOptions,
  type FileSummarizationOptions,
  type FileSummarizationResult,
  FileSummarizationService,
  type FileSummaryFailure,
  type FileSummaryRequest,
  type ProcessedFile,
  type SummarizeFile,
} from '../store/requests/file-summarization-service.ts'
export type { AfterTurnOptions, BeforeTurnOptions } from '../store/requests/options.ts'
export type { BeforeTurnResult } from '../store/requests/prepare.ts'
export type { AppendedTurn } from '../store/requests/record.ts'
export {
  buildEnrichedSystem,
  type EnrichedSystemInput,
  HistoryManager,
  type HistoryManagerConfig,
  type HistoryRequest,
  type HistoryStrategy,
  type HistorySummarizer,
  type HistorySummary,
  type LongTermMemory,
  MEMORY_TOKEN_BUDGET,
  type Memory,
  type PreparedMessages,
  RECALL_TOP_K,
} from './history-manager.ts'
export {
  allOf,
  anyOf,
  type ContextSection,
  everyNTurns,
  type InjectionRule,
  type InjectionTrigger,
  not,
  onTokenThreshold,
  PersistentContext,
  SystemInjector,
} from './injectors.ts'
export {
  type MemoryFilters,
  type NewMemory,
  type NoteStore,
  type NotesMemory,
  notesMemory,
  type StoredMemory,
} from './notes-memory.ts'
export {
  extractErrorMessage,
  getContextOverflowProvider,
  isContextOverflowError,
  type ProviderOverflowDetails,
  parseProviderOverflowDetails,
} from './overflow.ts'
export {
  assistantMessage,
  compactBeforeTurn,
  systemMessage,
  type TextMessage,
  type TurnMessages,
  userMessage,
} from './plain-messages.ts'
export { type TruncateOptions, type TruncateResult, truncateToolOutput } from './truncate-tool-output.ts'
export { type AfterTurnResult, afterTurn, beforeTurn } from './turns.ts'

export type { ArrayEstimator, EstimatorChoice } from './arrays/array-estimator.ts'
export type { BudgetStrategy, UserStrategy } from './arrays/composite.ts'
export { type CompositeOptions, type CompositePart, composite, stageFrom } from './arrays/composite.ts'
export {
  type ArrayCompactionConfig,
  type ArrayCompactionResult,
  ContextCompactor,
  type SummarizeConfig,
  type SummarizeResult,
  summarizeMessages,
} from './arrays/context-compactor.ts'
export {
  type EffectiveHistoryFilter,
  getEffectiveHistory,
  getEffectiveHistory as filterEffectiveHistory,
  removeCondensationTags,
  removeDanglingTags,
  removeTruncationTags,
  tagForCondensation,
  tagForTruncation,
} from './arrays/effective-history.ts'
export { type RepairOptions, type RepairResult, repairToolPairs } from './arrays/repair-tool-pairs.ts'
export {
  type RoleAlternationOptions,
  type RoleProblem,
  type RoleRepairOptions,
  type RoleRepairResult,
  repairRoleAlternation,
  validateRoleAlternation,
} from './arrays/role-alternation.ts'
export {
  type DeduplicationConfig,
  type DeduplicationResult,
  deduplicateFileReads,
  type PruneConfig,
  type PruneResult,
  pruneToolOutputs,
  type TruncationConfig,
  type TruncationResult,
  truncateWithSlidingWindow,
} from './arrays/single-stages.ts'
export {
  type ClearToolResultsOptions,
  type ContextStrategyKind,
  type CreateStrategyOptions,
  clearToolResults,
  createStrategy,
  type DropReasoningOptions,
  dropReasoning,
  type PriorityOptions,
  priority,
  type SlidingWindowOptions,
  STRATEGY_KINDS,
  type SummarizeOlderOptions,
  slidingWindow,
  summarizeOlder,
} from './arrays/strategies.ts'
export type {
  ArrayFace,
  Strategy,
  StrategyBudget,
  StrategyOptions,
  StrategyResult,
  StrategyStep,
} from './arrays/strategy.ts'
export type { BlockOutcome, ProviderCompactionResult } from './compaction/direct-compactions.ts'
export type { CompactionOutline, CompactionResult, FailedSummary, IdleReason } from './compaction/result.ts'
export { CompactionPreview, type PlannedCompaction } from './compaction/result.ts'
export type { PendingSummary } from './compaction/run-draft.ts'
export type { ContextStats, MeasuredTokens } from './compaction/stats.ts'
export type { UndoIfFitsResult } from './compaction/undo-if-fits.ts'
export type {
  OverflowResult,
  SessionUsage,
  SummaryTotals,
  UsageResult,
  UsageTotals,
} from './compaction/usage.ts'
export { PREPARE_WAIT_MS } from './compaction/waiting.ts'
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
} from './compat/history-manager.ts'
export type { ContextSection, InjectionRule } from './compat/injectors.ts'
export {
  allOf,
  anyOf,
  everyNTurns,
  type InjectionTrigger,
  not,
  onTokenThreshold,
  PersistentContext,
  SystemInjector,
} from './compat/injectors.ts'
export {
  assistantMessage,
  compactBeforeTurn,
  systemMessage,
  type TextMessage,
  type TurnMessages,
  userMessage,
} from './compat/plain-messages.ts'
export type { Environment } from './config/environment.ts'
export type { Spellings, SwitchSpellings } from './config/read-settings.ts'
export {
  DEFAULT_WARNING_LEVELS,
  NCA_AUTO_SUMMARIZE_THRESHOLD,
  NCA_CONTEXT_WINDOW_TARGET,
  NCA_SECTIONS,
  NEURON_SECTIONS,
  PRESETS,
  type ResolvedConfig,
  type ResolvedSettings,
  type TurnSettings,
} from './config/resolve.ts'
export type { CompactionConfig } from './config/settings.ts'
export {
  DEFAULT_BACKGROUND_MIN_INTERVAL_MS,
  DEFAULT_BACKGROUND_THRESHOLD,
  DEFAULT_CIRCUIT_RESET_MS,
  DEFAULT_SPEND_WINDOW_MS,
  type LayerValues,
  PRESET_NAMES,
  type PresetName,
  SETTING_NAMES,
  type SettingName,
  type SettingSource,
  type Settings,
  type SpendLimits,
} from './config/settings.ts'
export { MAX_RETAINED_MESSAGES, type StageSetting } from './config/stages.ts'
export type {
  AppendOptions,
  AuditLogOptions,
  AuthorshipOptions,
  CloseOptions,
  CompactOptions,
  EffectiveHistoryOptions,
  ExpandOptions,
  GetMessagesOptions,
  GetSourcesOptions,
  IdleOptions,
  LimitInput,
  ListCompactionsOptions,
  ListJobsOptions,
  ListSessionsOptions,
  ListToolCallsOptions,
  OverflowInput,
  PreviewOptions,
  ProviderCompactionInput,
  PurgeOptions,
  RedoOptions,
  SessionChange,
  SessionInput,
  StatsOptions,
  ToolOutputOptions,
  UndoIfFitsOptions,
  UndoOptions,
  UsageInput,
  VerifyOptions,
} from './config/store-options.ts'
export type {
  AnthropicBlock,
  AnthropicConversation,
  AnthropicMessage,
} from './ecosystems/anthropic/blocks.ts'
export {
  ANTHROPIC_BETAS,
  type ClearThinkingEdit,
  type ClearToolUsesEdit,
  COMPACT_TRIGGER_MINIMUM,
  type CompactEdit,
  type ContextEdit,
  type ContextManagement,
  contextManagement,
  contextManagementBetas,
} from './ecosystems/anthropic/context-management.ts'
export { fromAnthropic } from './ecosystems/anthropic/from-anthropic.ts'
export { type AnthropicOptions, toAnthropic } from './ecosystems/anthropic/to-anthropic.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './ecosystems/conversion.ts'
export { detectFormat, type MessageFormat } from './ecosystems/detect.ts'
export { fromChatMessages } from './ecosystems/flat/from-chat-messages.ts'
export { toChatMessages } from './ecosystems/flat/to-chat-messages.ts'
export { fromGemini } from './ecosystems/google/from-gemini.ts'
export type { GeminiContent, GeminiConversation, GeminiPart } from './ecosystems/google/gemini-types.ts'
export { type GeminiOptions, toGemini } from './ecosystems/google/to-gemini.ts'
export type { OpenAICompaction, OpenAIMessage, OpenAIPart } from './ecosystems/openai/chat-types.ts'
export { fromOpenAI } from './ecosystems/openai/from-openai.ts'
export { fromOpenAIResponses } from './ecosystems/openai/from-responses.ts'
export type { ResponsesInput, ResponsesItem } from './ecosystems/openai/responses-types.ts'
export { toOpenAI } from './ecosystems/openai/to-openai.ts'
export { toOpenAIResponses } from './ecosystems/openai/to-responses.ts'
export {
  ContextBudgetExceededError,
  type ContextBudgetFacts,
  type ErrorCode,
  type Failures,
  isUndertextError,
  originalErrorOf,
  UndertextError,
} from './errors.ts'
export {
  type BeforeCompaction,
  type CircuitEvent,
  type CompactionCompletedEvent,
  type CompactionEvent,
  type CompactionFailedEvent,
  type CompactionHook,
  type CompactionStageEvent,
  type CompactionStartedEvent,
  type CompactionTurnedEvent,
  type ContextWarningEvent,
  type JobCompletedEvent,
  type JobEndedEvent,
  type JobEvent,
  type JobQueuedEvent,
  type JobStartedEvent,
  type ListenerErrorEvent,
  type SpendLimitEvent,
  STORE_EVENTS,
  type StoreEventName,
  type StoreEvents,
  type StoreListener,
  type TurnCompleteEvent,
  type UsageWarningEvent,
} from './events.ts'
export {
  type AggregateFileBudget,
  type AggregateFileBudgetOptions,
  enforceAggregateFileBudget,
  type IncludedFile,
} from './files/aggregate-budget.ts'
export type { AttachedFile } from './files/attached-file.ts'
export { buildFileContextSection, type SectionFile } from './files/attached-file.ts'
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
} from './files/file-budget.ts'
export type { AskFailure, FileSummaryRequest, SummarizeFile } from './files/file-summarization-service.ts'
export {
  type FileCheckOptions,
  type FileSummarizationOptions,
  type FileSummarizationResult,
  FileSummarizationService,
  type FileSummaryFailure,
  type ProcessedFile,
} from './files/file-summarization-service.ts'
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
} from './files/summary-plan.ts'
export { MAX_TOOL_OUTPUT_BYTES, MAX_TOOL_OUTPUT_LINES } from './files/tool-output/cut-output.ts'
export {
  DEFAULT_MAX_PREVIEW_BYTES,
  generateToolOutputPreview,
  type ToolOutputPreview,
  type ToolOutputPreviewOptions,
} from './files/tool-output/preview.ts'
export {
  type TruncateOptions,
  type TruncateResult,
  truncateToolOutput,
} from './files/truncate-tool-output.ts'
export type { HistoryRecords } from './history/checked-records.ts'
export type {
  CompactionEvent as ImportedCompactionEvent,
  CompactionOutcome,
  FieldsEvent,
  ImportEvent,
  ImportEvents,
  ImportedCompaction,
  ImportOptions,
  MessageEvent,
  SessionImport,
} from './history/import/import-types.ts'
export type { RestoreOptions, SessionRestore } from './history/restore-session.ts'
export type { Json, JsonObject } from './messages/json.ts'
export type {
  FilePart,
  ImagePart,
  Message,
  NewMessage,
  Part,
  PositionRange,
  ProviderOptions,
  ProviderPart,
  ReasoningPart,
  Role,
  RowKind,
  ShownText,
  StoredMessage,
  TextPart,
  ToolCallPart,
  ToolResultContent,
  ToolResultOutput,
  ToolResultPart,
  ViewMessage,
} from './messages/message.ts'
export {
  type NextStep,
  nextStep,
  STOP_REASONS,
  type StopReason,
  stopReasonOf,
} from './messages/stop-reason.ts'
export type { Coverage, Finding, FindingCode, Place, RowSet } from './model/coverage.ts'
export type { ExpandedMessage, ExpandedRow, ExpandedSummary } from './model/expansion.ts'
export type { ChatMessage, ContextStrategy, PlainMessage } from './model/message-parts.ts'
export type { CompactionStatus } from './model/nesting.ts'
export type { CompactionKind, CompactionStage } from './model/plan.ts'
export type { FirstChanged } from './model/prompt-cache.ts'
export type {
  ToolCall,
  ToolCallStatus,
  ToolOutput,
  ToolOutputShown,
  ToolPlace,
} from './model/tool-calls.ts'
export type { View } from './model/view.ts'
export type { CallEntry, ResultEntry, ViewRow } from './model/view-row.ts'
export {
  extractErrorMessage,
  getContextOverflowProvider,
  isContextOverflowError,
  type OverflowOptions,
  type OverflowPattern,
  type ProviderOverflowDetails,
  parseProviderOverflowDetails,
} from './overflow/overflow.ts'
export {
  type Mend,
  type MendKind,
  type Rendering,
  type RenderOptions,
  renderView,
  type SummaryPlace,
} from './rendering/render.ts'
export { type Problem, type ProblemCode, validateHistory } from './rendering/validate.ts'
export type {
  AfterTurnOptions,
  BeforeTurnOptions,
  PrepareRequestOptions,
  Prompt,
} from './requests/options.ts'
export type { PreparedFiles, PreparedRequest, RenderedMessage } from './requests/prepared.ts'
export type { RecordedResponse, ResponseInput } from './requests/record.ts'
export { OVERFLOW_TARGET } from './requests/recovery.ts'
export type { AfterTurnResult, AppendedTurn, BeforeTurnResult, TurnUsage } from './requests/turn-hooks.ts'
export { CUT_ENDING } from './stages/cut.ts'
export { DEDUP_THRESHOLD } from './stages/deduplicate.ts'
export { DROP_REASONING_KEEP_TURNS } from './stages/drop-reasoning.ts'
export { DEFAULT_SCORER, type ImportanceReason } from './stages/importance/groups.ts'
export type { GroupScore, GroupToScore, ImportanceScorer, ScorerWarning } from './stages/importance/scorer.ts'
export {
  type ImportanceScores,
  type MessageImportance,
  type MessageToScore,
  type ScoreOptions,
  scoreMessages,
  scoreMessagesWith,
} from './stages/importance/scorer.ts'
export {
  DEFAULT_WEIGHTS,
  type GroupRole,
  type ImportanceWeights,
  type RankedRole,
  ROLE_WEIGHTS,
  type Signal,
  type WeightsInput,
} from './stages/importance/weights.ts'
export {
  PROTECTED_CLASSES,
  type PriorityStageOptions,
  type ProtectedClass,
  priorityStage,
} from './stages/priority.ts'
export type { AppliedEdit } from './stages/provider-compaction.ts'
export {
  CLEARED_PLACEHOLDER,
  PRUNE_PLACEHOLDER,
  PRUNE_PLACEHOLDER_WITH_SIZE,
  PRUNE_PROTECTED_TOOLS,
} from './stages/prune.ts'
export {
  createStage,
  FAN_OUT,
  type HierarchicalOptions,
  hierarchicalSummaries,
  isStage,
  LEAF_MESSAGES,
  LEAF_TOKENS,
  STAGE_NAMES,
  type StageSpec,
} from './stages/registry.ts'
export type {
  BareContext,
  ClearedOutput,
  CompositeStage,
  InsertDraft,
  Placeholder,
  PlanDraft,
  PlanningStage,
  ReplacementDraft,
  SlowPlanningStage,
  Stage,
  StageContext,
  StageSettings,
  SummarizingStage,
  SummaryTask,
  SummaryTaskDraft,
} from './stages/stage.ts'
export { KEEP_RECENT_RATIO } from './stages/summarize.ts'
export { TRUNCATION_FRACTION, TRUNCATION_MARKER } from './stages/truncate.ts'
export type {
  AuditRecord,
  CompactionRecord,
  EndRecord,
  HeaderRecord,
  HistoryCounts,
  HistoryRecord,
  InsertedRecord,
  MeasurementRecord,
  MessageRecord,
  OperationRecord,
  ReplacementRecord,
  SessionRecord,
  UsageRecord,
} from './storage/records/records.ts'
export type {
  AppendedMessage,
  AppendPreview,
  AuditEntry,
  Compaction,
  Job,
  JobState,
  LearnedLimit,
  LimitKind,
  MessageCounts,
  ModelUsage,
  NamedLimit,
  Purged,
  RewindPoint,
  Session,
  Trigger,
  UndoOutcome,
} from './storage/storage.ts'
export type { AppendResult } from './store/append.ts'
export { type OpenOptions, openStore, SqliteStore } from './store/open.ts'
export type { RewindOptions, RewindResult } from './store/rewind.ts'
export { Store } from './store/store.ts'
export { extractiveSummarizer } from './summarizers/extractive.ts'
export type { ModelPrice } from './summarizers/model/model-summarizer.ts'
export {
  type GenerateAnswer,
  type GenerateRequest,
  type ModelSummarizerOptions,
  modelSummarizer,
} from './summarizers/model/model-summarizer.ts'
export {
  buildSummarizationPrompt,
  type SummarizationPrompt,
  type SummarizationPromptOptions,
} from './summarizers/model/prompt.ts'
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
} from './summarizers/prompts.ts'
export {
  SNIPPETS_CHARS,
  type SnippetOptions,
  snippetSummarizer,
  summarizeInSnippets,
} from './summarizers/snippets.ts'
export {
  ANSWER_PROBLEMS,
  type AnswerProblem,
  BLOG_SECTIONS,
  NINE_SECTIONS,
  SUMMARY_SECTIONS,
  type Summarizer,
  type SummaryAnswer,
  type SummaryRequest,
  type SummaryUsage,
} from './summarizers/summarizer.ts'
export {
  type BudgetBreakdown,
  type BudgetCheckParams,
  type BudgetCheckResult,
  checkContextBudget,
  DEFAULT_COMPACTION_TARGET,
  DEFAULT_COMPACTION_THRESHOLD,
  DEFAULT_PROVIDER,
  type PendingRequest,
  PRUNE_MINIMUM_SAVINGS,
  PRUNE_PROTECT_TOKENS,
} from './tokens/budget.ts'
export type { EstimateSource } from './tokens/calibration.ts'
export { BUILT_IN_ESTIMATORS, ESTIMATOR_NAMES, estimatorNamed } from './tokens/estimators/built-in.ts'
export { calibratedEstimator } from './tokens/estimators/calibrated.ts'
export type { Estimator, LengthUnit, TextKind } from './tokens/estimators/estimator-schema.ts'
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
} from './tokens/estimators/nca.ts'
export {
  ADDITIVE_SAFETY_MARGIN,
  looksLikeCode,
  MARGIN_MODES,
  type MarginMode,
  neurolinkAdditiveEstimator,
  providerFactor,
} from './tokens/estimators/neurolink.ts'
export {
  createTokenCounter,
  type NeuronBlock,
  type NeuronMessage,
  type NeuronTool,
  neuronBytesEstimator,
  neuronEstimator,
  type TokenCounter,
  type TokenCounterOptions,
} from './tokens/estimators/neuron.ts'
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
} from './tokens/estimators/promptfleet.ts'
export {
  type Figure,
  type FigureSource,
  type ModelOverrides,
  type ModelProfile,
  resolveModelProfile,
} from './tokens/profiles.ts'
export { ANTHROPIC_EDITS, contextManagementTypes } from './tokens/providers.ts'
export { TOKENIZER_NAMES, type TokenizerName, tokenizerEstimator } from './tokens/tokenizer.ts'
export {
  CHARS_PER_TOKEN,
  CODE_CHARS_PER_TOKEN,
  estimateMessagesTokens,
  estimateTokens,
  getProviderMultiplier,
  IMAGE_TOKEN_ESTIMATE,
  neurolinkEstimator,
  type Sizes,
  TOKEN_SAFETY_MARGIN,
  TOKENS_PER_CONVERSATION,
  TOKENS_PER_MESSAGE,
} from './tokens/tokens.ts'
export { type TruncateTextOptions, truncateToTokenBudget } from './tokens/truncate-text.ts'
export {
  type ContextWindow,
  type ContextWindows,
  DEFAULT_CONTEXT_WINDOW,
  DEFAULT_OUTPUT_RESERVE_RATIO,
  getAvailableInputTokens,
  getContextWindowSize,
  getOutputReserve,
  MAX_DEFAULT_OUTPUT_RESERVE,
  MODEL_CONTEXT_WINDOWS,
  type WindowSource,
} from './tokens/windows.ts'

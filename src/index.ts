export type { CompactionConfig } from './compaction/config.ts'
export type { PendingSummary } from './compaction/planned-run.ts'
export { CompactionPreview, type PlannedCompaction } from './compaction/preview.ts'
export type { BlockOutcome, ProviderCompactionResult } from './compaction/record-provider.ts'
export type { CompactionOutline, CompactionResult, FailedSummary, IdleReason } from './compaction/result.ts'
export { PREPARE_WAIT_MS } from './compaction/waiting.ts'
export {
  DEFAULT_BACKGROUND_MIN_INTERVAL_MS,
  DEFAULT_BACKGROUND_THRESHOLD,
  DEFAULT_CIRCUIT_RESET_MS,
  DEFAULT_SPEND_WINDOW_MS,
  type SpendLimits,
} from './config/background.ts'
export type { Environment } from './config/environment.ts'
export {
  NCA_AUTO_SUMMARIZE_THRESHOLD,
  NCA_CONTEXT_WINDOW_TARGET,
  NCA_SECTIONS,
  NEURON_SECTIONS,
  PRESETS,
} from './config/presets.ts'
export {
  DEFAULT_WARNING_LEVELS,
  type ResolvedConfig,
  type ResolvedSettings,
  type TurnSettings,
} from './config/resolve.ts'
export {
  type LayerValues,
  PRESET_NAMES,
  type PresetName,
  SETTING_NAMES,
  type SettingName,
  type SettingSource,
  type Settings,
} from './config/settings.ts'
export type { Spellings, SwitchSpellings } from './config/spellings.ts'
export { MAX_RETAINED_MESSAGES, type StageSetting } from './config/stages.ts'
export {
  type BudgetBreakdown,
  type BudgetCheckParams,
  type BudgetCheckResult,
  checkContextBudget,
  DEFAULT_COMPACTION_TARGET,
  DEFAULT_COMPACTION_THRESHOLD,
  DEFAULT_PROVIDER,
  type PendingRequest,
} from './core/budget.ts'
export type { EstimateSource } from './core/calibration.ts'
export type { Coverage, Place, RowSet } from './core/coverage.ts'
export { BUILT_IN_ESTIMATORS, ESTIMATOR_NAMES, estimatorNamed } from './core/estimators/built-in.ts'
export { calibratedEstimator } from './core/estimators/calibrated.ts'
export { looksLikeCode } from './core/estimators/looks-like-code.ts'
export {
  estimateNcaMessages,
  estimateNcaTokens,
  type NcaMessage,
  type NcaOptions,
  ncaBytesEstimator,
  ncaEstimator,
} from './core/estimators/nca.ts'
export {
  NCA_ATTENTION_PERCENT,
  type NcaStats,
  type NcaStatsConfig,
  ncaContextStats,
} from './core/estimators/nca-stats.ts'
export {
  ADDITIVE_SAFETY_MARGIN,
  MARGIN_MODES,
  type MarginMode,
  neurolinkAdditiveEstimator,
} from './core/estimators/neurolink.ts'
export {
  createTokenCounter,
  type NeuronBlock,
  type NeuronMessage,
  type NeuronTool,
  neuronBytesEstimator,
  neuronEstimator,
  type TokenCounter,
  type TokenCounterOptions,
} from './core/estimators/neuron.ts'
export {
  estimatePromptfleetMessage,
  estimatePromptfleetMessages,
  estimatePromptfleetTokens,
  estimatePromptfleetTools,
  type PromptfleetMessage,
  promptfleetEstimator,
} from './core/estimators/promptfleet.ts'
export {
  type ContextBudget,
  type ContextBudgetInput,
  contextBudget,
} from './core/estimators/promptfleet-budget.ts'
export { providerFactor } from './core/estimators/provider-factors.ts'
export type { LengthUnit } from './core/estimators/text-length.ts'
export type { ExpandedMessage, ExpandedRow, ExpandedSummary } from './core/expansion.ts'
export {
  type AggregateFileBudget,
  type AggregateFileBudgetOptions,
  enforceAggregateFileBudget,
  type IncludedFile,
} from './core/files/aggregate-budget.ts'
export type { AttachedFile } from './core/files/attached-file.ts'
export { buildFileContextSection, type SectionFile } from './core/files/context-section.ts'
export {
  calculateFileTokenBudget,
  FILE_FAST_PATH_SIZE,
  FILE_PREVIEW_CHARS,
  FILE_PREVIEW_MODE_SIZE,
  FILE_READ_BUDGET_PERCENT,
  type FileBudget,
  type FileTokenBudgetOptions,
  shouldTruncateFile,
} from './core/files/file-budget.ts'
export { estimatePostProcessingTokens } from './core/files/processed-size.ts'
export {
  FILE_SUMMARIZATION_THRESHOLD,
  MAX_PER_FILE_TOKENS,
  MIN_PER_FILE_TOKENS,
  NON_FILE_RESERVE,
  type PlannedFile,
  planFileSummarization,
  shouldSummarizeFiles,
} from './core/files/summary-plan.ts'
export { buildFileSummarizationPrompt, type FileSummaryPromptParams } from './core/files/summary-prompt.ts'
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
} from './core/history/records.ts'
export {
  type ImportanceScores,
  type MessageImportance,
  type MessageToScore,
  type ScoreOptions,
  scoreMessages,
  scoreMessagesWith,
} from './core/importance/messages.ts'
export { DEFAULT_SCORER, type ImportanceReason } from './core/importance/score.ts'
export type { GroupScore, GroupToScore, ImportanceScorer, ScorerWarning } from './core/importance/scorer.ts'
export {
  DEFAULT_WEIGHTS,
  type GroupRole,
  type ImportanceWeights,
  type RankedRole,
  ROLE_WEIGHTS,
  type Signal,
  type WeightsInput,
} from './core/importance/weights.ts'
export type { Json, JsonObject } from './core/json.ts'
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
} from './core/message.ts'
export type { CompactionStatus } from './core/nesting.ts'
export {
  extractErrorMessage,
  getContextOverflowProvider,
  isContextOverflowError,
  type OverflowOptions,
  type OverflowPattern,
  type ProviderOverflowDetails,
  parseProviderOverflowDetails,
} from './core/overflow/overflow.ts'
export type { CompactionKind, CompactionStage } from './core/plan.ts'
export {
  type Figure,
  type FigureSource,
  type ModelOverrides,
  type ModelProfile,
  resolveModelProfile,
} from './core/profiles.ts'
export type { FirstChanged } from './core/prompt-cache.ts'
export type { AppliedEdit } from './core/provider-compaction.ts'
export {
  type Mend,
  type MendKind,
  type Rendering,
  type RenderOptions,
  renderView,
  type SummaryPlace,
} from './core/render.ts'
export { ANTHROPIC_EDITS, contextManagementTypes } from './core/server-compaction.ts'
export { CLEARED_PLACEHOLDER } from './core/stages/clear-tool-results.ts'
export { CUT_ENDING } from './core/stages/cut.ts'
export { DEDUP_THRESHOLD } from './core/stages/deduplicate.ts'
export { DROP_REASONING_KEEP_TURNS } from './core/stages/drop-reasoning.ts'
export {
  FAN_OUT,
  type HierarchicalOptions,
  hierarchicalSummaries,
  LEAF_MESSAGES,
  LEAF_TOKENS,
} from './core/stages/hierarchical.ts'
export {
  type ClearedOutput,
  type Placeholder,
  PRUNE_PLACEHOLDER_WITH_SIZE,
} from './core/stages/placeholder.ts'
export {
  PROTECTED_CLASSES,
  type PriorityStageOptions,
  type ProtectedClass,
  priorityStage,
} from './core/stages/priority.ts'
export {
  PRUNE_MINIMUM_SAVINGS,
  PRUNE_PLACEHOLDER,
  PRUNE_PROTECT_TOKENS,
  PRUNE_PROTECTED_TOOLS,
} from './core/stages/prune.ts'
export { createStage, isStage, STAGE_NAMES, type StageSpec } from './core/stages/registry.ts'
export type {
  BareContext,
  CompositeStage,
  InsertDraft,
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
} from './core/stages/stage.ts'
export { KEEP_RECENT_RATIO } from './core/stages/summarize.ts'
export { TRUNCATION_FRACTION, TRUNCATION_MARKER } from './core/stages/truncate.ts'
export { type NextStep, nextStep, STOP_REASONS, type StopReason, stopReasonOf } from './core/stop-reason.ts'
export {
  CHARS_PER_TOKEN,
  CODE_CHARS_PER_TOKEN,
  type Estimator,
  estimateMessagesTokens,
  estimateTokens,
  getProviderMultiplier,
  IMAGE_TOKEN_ESTIMATE,
  neurolinkEstimator,
  type Sizes,
  type TextKind,
  TOKEN_SAFETY_MARGIN,
  TOKENS_PER_CONVERSATION,
  TOKENS_PER_MESSAGE,
} from './core/tokens.ts'
export type { ToolCall, ToolCallStatus, ToolOutput, ToolOutputShown, ToolPlace } from './core/tool-calls.ts'
export { MAX_TOOL_OUTPUT_BYTES, MAX_TOOL_OUTPUT_LINES } from './core/tool-output/cut-output.ts'
export {
  DEFAULT_MAX_PREVIEW_BYTES,
  generateToolOutputPreview,
  type ToolOutputPreview,
  type ToolOutputPreviewOptions,
} from './core/tool-output/preview.ts'
export { type TruncateTextOptions, truncateToTokenBudget } from './core/truncate-text.ts'
export { type Problem, type ProblemCode, validateHistory } from './core/validate.ts'
export type { Finding, FindingCode } from './core/verify.ts'
export type { CallEntry, ResultEntry, View, ViewRow } from './core/view.ts'
export { MODEL_CONTEXT_WINDOWS } from './core/window-registry.ts'
export {
  type ContextWindow,
  type ContextWindows,
  DEFAULT_CONTEXT_WINDOW,
  DEFAULT_OUTPUT_RESERVE_RATIO,
  getAvailableInputTokens,
  getContextWindowSize,
  getOutputReserve,
  MAX_DEFAULT_OUTPUT_RESERVE,
  type WindowSource,
} from './core/windows.ts'
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
export type { AskFailure, FileSummaryRequest, SummarizeFile } from './files/ask.ts'
export {
  type FileCheckOptions,
  type FileSummarizationOptions,
  type FileSummarizationResult,
  FileSummarizationService,
  type FileSummaryFailure,
  type ProcessedFile,
} from './files/file-summarization-service.ts'
export {
  type TruncateOptions,
  type TruncateResult,
  truncateToolOutput,
} from './files/truncate-tool-output.ts'
export type { AnthropicBlock, AnthropicConversation, AnthropicMessage } from './formats/anthropic-types.ts'
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
} from './formats/context-management.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './formats/conversion.ts'
export { detectFormat, type MessageFormat } from './formats/detect.ts'
export { fromChatMessages } from './formats/flat/from-chat-messages.ts'
export { toChatMessages } from './formats/flat/to-chat-messages.ts'
export { fromAnthropic } from './formats/from-anthropic.ts'
export { fromOpenAI } from './formats/from-openai.ts'
export { fromGemini } from './formats/google/from-gemini.ts'
export { type GeminiOptions, toGemini } from './formats/google/to-gemini.ts'
export type { GeminiContent, GeminiConversation, GeminiPart } from './formats/google/types.ts'
export type { OpenAICompaction, OpenAIMessage, OpenAIPart } from './formats/openai-types.ts'
export { fromOpenAIResponses } from './formats/responses/from-responses.ts'
export { toOpenAIResponses } from './formats/responses/to-responses.ts'
export type { ResponsesInput, ResponsesItem } from './formats/responses/types.ts'
export { type AnthropicOptions, toAnthropic } from './formats/to-anthropic.ts'
export { toOpenAI } from './formats/to-openai.ts'
export type { HistoryRecords } from './history/checked-records.ts'
export type { RestoreOptions, SessionRestore } from './history/restore-session.ts'
export type {
  CompactionEvent as ImportedCompactionEvent,
  FieldsEvent,
  ImportEvent,
  ImportEvents,
  ImportedCompaction,
  MessageEvent,
} from './import/import-event.ts'
export type {
  CompactionOutcome,
  ImportOptions,
  SessionImport,
} from './import/import-types.ts'
export { type OpenOptions, openStore, SqliteStore } from './open.ts'
export type { ArrayEstimator, EstimatorChoice } from './plain/array-estimator.ts'
export type { ChatMessage } from './plain/chat-message.ts'
export {
  type ArrayCompactionConfig,
  type ArrayCompactionResult,
  ContextCompactor,
} from './plain/context-compactor.ts'
export type { ContextStrategy } from './plain/context-strategy.ts'
export {
  type DeduplicationConfig,
  type DeduplicationResult,
  deduplicateFileReads,
} from './plain/deduplicate-file-reads.ts'
export {
  type EffectiveHistoryFilter,
  getEffectiveHistory,
  getEffectiveHistory as filterEffectiveHistory,
  removeDanglingTags,
} from './plain/effective-history.ts'
export type { PlainMessage } from './plain/message-parts.ts'
export { type PruneConfig, type PruneResult, pruneToolOutputs } from './plain/prune-tool-outputs.ts'
export { type RepairOptions, type RepairResult, repairToolPairs } from './plain/repair-tool-pairs.ts'
export {
  type RoleAlternationOptions,
  type RoleProblem,
  type RoleRepairOptions,
  type RoleRepairResult,
  repairRoleAlternation,
  validateRoleAlternation,
} from './plain/role-alternation.ts'
export type {
  ArrayFace,
  Strategy,
  StrategyBudget,
  StrategyOptions,
  StrategyResult,
  StrategyStep,
} from './plain/strategy.ts'
export { type SummarizeConfig, type SummarizeResult, summarizeMessages } from './plain/summarize-messages.ts'
export {
  removeCondensationTags,
  removeTruncationTags,
  tagForCondensation,
  tagForTruncation,
} from './plain/tags.ts'
export {
  type TruncationConfig,
  type TruncationResult,
  truncateWithSlidingWindow,
} from './plain/truncate-with-sliding-window.ts'
export type { PrepareRequestOptions, Prompt } from './request/options.ts'
export type { PreparedFiles, PreparedRequest, RenderedMessage } from './request/prepared.ts'
export type { RecordedResponse, ResponseInput } from './request/record.ts'
export { OVERFLOW_TARGET } from './request/recovery.ts'
export type { ContextStats, MeasuredTokens } from './stats.ts'
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
export type { AppendResult } from './store/log-verbs.ts'
export type { RewindOptions, RewindResult } from './store/rewind-verbs.ts'
export { Store } from './store.ts'
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
} from './store-options.ts'
export { type ClearToolResultsOptions, clearToolResults } from './strategies/clear-tool-results.ts'
export { type CompositeOptions, type CompositePart, composite } from './strategies/composite.ts'
export {
  type ContextStrategyKind,
  type CreateStrategyOptions,
  createStrategy,
  STRATEGY_KINDS,
} from './strategies/create-strategy.ts'
export { type DropReasoningOptions, dropReasoning } from './strategies/drop-reasoning.ts'
export { type PriorityOptions, priority } from './strategies/priority.ts'
export { type SlidingWindowOptions, slidingWindow } from './strategies/sliding-window.ts'
export { stageFrom } from './strategies/stage-from.ts'
export { type SummarizeOlderOptions, summarizeOlder } from './strategies/summarize-older.ts'
export type { BudgetStrategy, UserStrategy } from './strategies/user-strategy.ts'
export { extractiveSummarizer } from './summarizers/extractive.ts'
export {
  type GenerateAnswer,
  type GenerateRequest,
  type ModelSummarizerOptions,
  modelSummarizer,
} from './summarizers/model/model-summarizer.ts'
export type { ModelPrice } from './summarizers/model/price.ts'
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
export { TOKENIZER_NAMES, type TokenizerName, tokenizerEstimator } from './tokenizers/tokenizer.ts'
export { compactBeforeTurn, type TurnMessages } from './turn/compact-before-turn.ts'
export {
  buildEnrichedSystem,
  type EnrichedSystemInput,
  MEMORY_TOKEN_BUDGET,
  type Memory,
  RECALL_TOP_K,
} from './turn/enriched-system.ts'
export {
  HistoryManager,
  type HistoryManagerConfig,
  type HistoryRequest,
  type HistoryStrategy,
  type HistorySummarizer,
  type HistorySummary,
  type LongTermMemory,
  type PreparedMessages,
} from './turn/history-manager.ts'
export {
  allOf,
  anyOf,
  everyNTurns,
  type InjectionTrigger,
  not,
  onTokenThreshold,
} from './turn/injection-trigger.ts'
export { assistantMessage, systemMessage, type TextMessage, userMessage } from './turn/messages.ts'
export { type ContextSection, PersistentContext } from './turn/persistent-context.ts'
export { type InjectionRule, SystemInjector } from './turn/system-injector.ts'
export type { AfterTurnResult, AppendedTurn, BeforeTurnResult, TurnUsage } from './turn/turn-hooks.ts'
export type { AfterTurnOptions, BeforeTurnOptions } from './turn/turn-options.ts'
export type { UndoIfFitsResult } from './undo-if-fits.ts'
export type { OverflowResult, UsageResult } from './usage-result.ts'
export type { SessionUsage, SummaryTotals, UsageTotals } from './usage-totals.ts'

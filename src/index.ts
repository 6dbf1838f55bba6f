export type { BlockOutcome, ProviderCompactionResult } from './compaction/direct-compactions.ts'
export {
  type CompactionOutline,
  CompactionPreview,
  type CompactionResult,
  type FailedSummary,
  type IdleReason,
  type OffTarget,
  type PlannedCompaction,
} from './compaction/result.ts'
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
  assistantMessage,
  compactBeforeTurn,
  systemMessage,
  type TextMessage,
  type TurnMessages,
  userMessage,
} from './compat/plain-messages.ts'
export type { Environment } from './config/environment.ts'
export type { ForgetOptions, RecallOptions, RememberOptions } from './config/note-options.ts'
export type { Spellings, SwitchSpellings } from './config/read-settings.ts'
export {
  DEFAULT_WARNING_LEVELS,
  PRESETS,
  type ResolvedConfig,
  type ResolvedSettings,
  type TurnSettings,
} from './config/resolve.ts'
export {
  type CompactionConfig,
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
  BringBackOptions,
  CloseOptions,
  CompactOptions,
  EffectiveHistoryOptions,
  ExpandOptions,
  ForkOptions,
  GetMessagesOptions,
  GetSourcesOptions,
  IdleOptions,
  LimitInput,
  ListCompactionsOptions,
  ListJobsOptions,
  ListRequestsOptions,
  ListSessionsOptions,
  ListToolCallsOptions,
  OverflowInput,
  PreviewOptions,
  ProviderCompactionInput,
  PurgeOptions,
  RedoOptions,
  SearchOptions,
  SessionChange,
  SessionInput,
  StatsOptions,
  ToolOutputOptions,
  UndoIfFitsOptions,
  UndoOptions,
  UsageInput,
  VerifyOptions,
} from './config/store-options.ts'
export type { ConversionNote, ConversionNoteKind, ConversionOptions } from './ecosystems/conversion.ts'
export { detectFormat, type MessageFormat } from './ecosystems/detect.ts'
export { fromChatMessages } from './ecosystems/flat/from-chat-messages.ts'
export { toChatMessages } from './ecosystems/flat/to-chat-messages.ts'
export {
  ContextBudgetExceededError,
  type ContextBudgetFacts,
  type ErrorCode,
  type Failures,
  isUndertextError,
  originalErrorOf,
  type RefusalFacts,
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
  type IndexingEvent,
  type JobCompletedEvent,
  type JobEndedEvent,
  type JobEvent,
  type JobQueuedEvent,
  type JobStartedEvent,
  type ListenerErrorEvent,
  type MediaChange,
  type PrefixChangedEvent,
  type ReasoningSize,
  type SpendLimitEvent,
  STORE_EVENTS,
  type StoreEventName,
  type StoreEvents,
  type StoreListener,
  type TurnCompleteEvent,
  type UsageWarning,
  type UsageWarningEvent,
  type WindowAssumedEvent,
} from './events.ts'
export type { AskFailure, FileSummaryFailure, ProcessedFile } from './files/file-summarization-service.ts'
export { MAX_TOOL_OUTPUT_BYTES, MAX_TOOL_OUTPUT_LINES } from './files/tool-output/cut-output.ts'
export {
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
export type { ImportedUsage } from './history/import/imported-usage.ts'
export type { RestoreOptions, SessionRestore } from './history/restore-session.ts'
export type * from './message-types.ts'
export type {
  NewMessage,
  PastView,
  PositionRange,
  RowKind,
  ShownText,
  StoredMessage,
  ViewMessage,
} from './messages/message.ts'
export type { Outcome } from './messages/outcome.ts'
export {
  type NextStep,
  nextStep,
  STOP_REASONS,
  type StopReason,
  stopReasonOf,
} from './messages/stop-reason.ts'
export type { Coverage, Finding, FindingCode, Place, RowSet } from './model/coverage.ts'
export type { ExpandedMessage, ExpandedRow, ExpandedSummary } from './model/expansion.ts'
export type { InvalidatedReasoning } from './model/invalidated-reasoning.ts'
export type { ChatMessage, ContextStrategy } from './model/message-parts.ts'
export type { Moment, MomentPoint } from './model/moment.ts'
export type { CompactionStatus } from './model/nesting.ts'
export type {
  CompactionKind,
  CompactionStage,
  Plan,
  PlannedInsert,
  PlannedReplacement,
  RequiredPart,
} from './model/plan.ts'
export type { FirstChanged } from './model/prompt-cache.ts'
export type { ToolCall, ToolCallStatus, ToolOutput, ToolOutputShown, ToolPlace } from './model/tool-calls.ts'
export type { Turns } from './model/turns.ts'
export type { PointerTarget, PreviewedPart, View } from './model/view.ts'
export type { CallEntry, LineRange, ResultEntry, ShownReplacement, ViewRow } from './model/view-row.ts'
export type { OverflowFigures } from './overflow/figures.ts'
export {
  extractErrorMessage,
  getContextOverflowProvider,
  isContextOverflowError,
  type OverflowOptions,
  type OverflowPattern,
  type ProviderOverflowDetails,
  parseProviderOverflowDetails,
} from './overflow/overflow.ts'
export type { RefusalKind } from './overflow/refusal-wordings.ts'
export type { BlockPlace, BoundPrefix, LeftOut } from './rendering/bound-reasoning.ts'
export {
  type ImageToResize,
  type Mend,
  type MendKind,
  type Rendering,
  type RenderOptions,
  type ResizedImage,
  type ResizeImage,
  renderView,
  type SummaryPlace,
  type ViewRenderOptions,
} from './rendering/render.ts'
export type { InsertedRole, InsertedRowOptions, SummaryPreset } from './rendering/rows.ts'
export { type Problem, type ProblemCode, validateHistory } from './rendering/validate.ts'
export type { ChangedFrame } from './requests/changed-frame.ts'
export type { PreparedNotes } from './requests/notes.ts'
export type {
  AfterTurnOptions,
  BeforeTurnOptions,
  PrepareRequestOptions,
  Prompt,
} from './requests/options.ts'
export type {
  CutMessage,
  PreparedFiles,
  PreparedRequest,
  RenderedMessage,
  RequestRepair,
  TurnUsage,
} from './requests/prepared.ts'
export type { RecordedResponse, ResponseInput, UsageReportInput } from './requests/record.ts'
export type { RecordedFiles, RecordedRequest, RenderedRequest } from './requests/recorded.ts'
export { OVERFLOW_TARGET } from './requests/recovery.ts'
export type { ResizeStoredImage } from './requests/resized-images.ts'
export type { ReasoningChange } from './requests/sent-reasoning.ts'
export type { AfterTurnResult, AppendedTurn, BeforeTurnResult } from './requests/turn-hooks.ts'
export type { ImportanceReason } from './stages/importance/groups.ts'
export type { MessageImportance, ScorerWarning, SessionImportance } from './stages/importance/scorer.ts'
export type { GroupRole, RankedRole, Signal } from './stages/importance/weights.ts'
export {
  PROTECTED_CLASSES,
  type PriorityStageOptions,
  type ProtectedClass,
  priorityStage,
} from './stages/priority.ts'
export type { AppliedEdit } from './stages/provider-compaction.ts'
export {
  createStage,
  type HierarchicalOptions,
  hierarchicalSummaries,
  isStage,
  STAGE_NAMES,
  type StageSpec,
} from './stages/registry.ts'
export type {
  BareContext,
  ClearedOutput,
  CompositeStage,
  InsertDraft,
  MediaNeed,
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
export type {
  Pglite,
  Pool as PostgresPool,
  PoolClient as PostgresPoolClient,
} from './storage/postgres/drivers.ts'
export type { PostgresConnection, PostgresDriver, PostgresResult } from './storage/postgres/port.ts'
export type { PostgresSource } from './storage/postgres/storage.ts'
export type {
  AuditRecord,
  CompactionRecord,
  EndRecord,
  HeaderRecord,
  HeadRecord,
  HistoryCounts,
  HistoryRecord,
  InsertedRecord,
  MeasurementRecord,
  MessageRecord,
  NoteRecord,
  OperationRecord,
  PieceRecord,
  ReplacementRecord,
  RequestRecord,
  RowRecord,
  SessionRecord,
  UsageRecord,
} from './storage/records/records.ts'
export type {
  AppendedMessage,
  AppendPreview,
  AuditEntry,
  Compaction,
  FailedAttempt,
  ForgottenNote,
  ForkOrigin,
  Job,
  JobState,
  LearnedLimit,
  LimitKind,
  ListedSession,
  MessageCounts,
  ModelUsage,
  NamedLimit,
  Note,
  NoteSource,
  NoteState,
  Purged,
  RewindPoint,
  SearchHit,
  Session,
  Trigger,
  UndoOutcome,
  ViewChange,
} from './storage/storage.ts'
export type { AppendResult } from './store/append.ts'
export type { BringBackResult } from './store/bring-back.ts'
export type { RecalledNote } from './store/notes.ts'
export { type OpenOptions, openStore, SqliteStore, type StoreAt } from './store/open.ts'
export type { RewindOptions, RewindResult } from './store/rewind.ts'
export type { SearchResult } from './store/search.ts'
export { type ResolvedMoment, Store, type ViewDiff } from './store/store.ts'
export { extractiveSummarizer } from './summarizers/extractive.ts'
export {
  type GenerateAnswer,
  type GenerateRequest,
  type ModelPrice,
  type ModelSummarizerOptions,
  modelSummarizer,
} from './summarizers/model/model-summarizer.ts'
export { snippetSummarizer } from './summarizers/snippets.ts'
export {
  ANSWER_PROBLEMS,
  type AnswerProblem,
  NINE_SECTIONS,
  SUMMARY_SECTIONS,
  type Summarizer,
  type SummaryAnswer,
  type SummaryRequest,
  type SummaryUsage,
} from './summarizers/summarizer.ts'
export {
  type BudgetBreakdown,
  type BudgetCheckResult,
  DEFAULT_COMPACTION_TARGET,
  DEFAULT_COMPACTION_THRESHOLD,
  DEFAULT_PROVIDER,
  type ScaleSource,
} from './tokens/budget.ts'
export type { EstimateSource } from './tokens/calibration.ts'
export type { Estimator, TextKind } from './tokens/estimators/estimator-schema.ts'
export type { Sizes } from './tokens/measure.ts'
export type { MediaFigures, MediaMost, MediaUse, RequestMedia } from './tokens/media-limits.ts'
export type { Figure, FigureSource, ModelProfile } from './tokens/profiles.ts'
export type { ToolSet } from './tokens/tool-definitions.ts'
export type { ContextWindow, WindowSource } from './tokens/windows.ts'
export {
  type RequestFinding,
  type ValidateRequestOptions,
  validateRequest,
} from './validity/validate-request.ts'

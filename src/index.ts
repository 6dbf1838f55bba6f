export type {
  ConversionNote,
  ConversionNoteKind,
  ConversionOptions,
} from './adapters/conversion.ts'
export type { MessageFormat } from './adapters/detect.ts'
export type {
  TruncateOptions,
  TruncateResult,
} from './compat/truncate-tool-output.ts'
export {
  type ContextBudgetExceededError,
  type ContextBudgetFacts,
  type ErrorCode,
  type Failures,
  isUndertextError,
  originalErrorOf,
  type RefusalFacts,
  UndertextError,
} from './core/errors.ts'
export type {
  ToolOutputPreview,
  ToolOutputPreviewOptions,
} from './core/files/tool-output/preview.ts'
export type * from './core/message-types.ts'
export type { TextPlace } from './core/messages/map-texts.ts'
export type {
  NewMessage,
  PositionRange,
  RowKind,
  ShownText,
  StoredMessage,
  ViewMessage,
} from './core/messages/message.ts'
export type { Outcome } from './core/messages/outcome.ts'
export type {
  NextStep,
  StopReason,
} from './core/messages/stop-reason.ts'
export type {
  CompactionStatus,
  Coverage,
  Finding,
  FindingCode,
  Place,
  RowSet,
} from './core/model/coverage.ts'
export type {
  ExpandedMessage,
  ExpandedRow,
  ExpandedSummary,
} from './core/model/expansion.ts'
export type {
  ChatMessage,
  ContextStrategy,
} from './core/model/message-parts.ts'
export type {
  Moment,
  MomentPoint,
} from './core/model/moment.ts'
export type {
  CompactionKind,
  CompactionStage,
  Plan,
  PlannedInsert,
  PlannedReplacement,
  RequiredPart,
} from './core/model/plan.ts'
export type { FirstChanged } from './core/model/prompt-cache.ts'
export type { InvalidatedReasoning } from './core/model/reasoning.ts'
export type { FirstRequestChange } from './core/model/request-difference.ts'
export type {
  ToolCall,
  ToolCallStatus,
  ToolOutput,
  ToolOutputShown,
  ToolPlace,
} from './core/model/tool-calls.ts'
export type { Turns } from './core/model/tool-groups.ts'
export type {
  PointerTarget,
  PreviewedPart,
  View,
} from './core/model/view.ts'
export type {
  CallEntry,
  LineRange,
  ResultEntry,
  ShownReplacement,
  ViewRow,
} from './core/model/view-row.ts'
export type { OverflowFigures } from './core/overflow/figures.ts'
export {
  type OverflowOptions,
  type OverflowPattern,
  type OverflowReading,
  readOverflow,
} from './core/overflow/read-overflow.ts'
export type { RefusalKind } from './core/overflow/wordings.ts'
export type {
  BlockPlace,
  BoundPrefix,
  LeftOut,
} from './core/rendering/bound-reasoning.ts'
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
} from './core/rendering/render.ts'
export type { InsertedRole, InsertedRowOptions, SummaryPreset } from './core/rendering/summary-heading.ts'
export {
  type Problem,
  type ProblemCode,
  validateHistory,
} from './core/rendering/validate.ts'
export type { ContentClass } from './core/retention/tombstone.ts'
export type { RedactedText } from './core/secrets/placeholder.ts'
export type { HierarchicalOptions } from './core/stages/hierarchical-summaries.ts'
export type { ImportanceReason } from './core/stages/importance/groups.ts'
export type {
  MessageImportance,
  ScorerWarning,
  SessionImportance,
} from './core/stages/importance/scorer.ts'
export type {
  GroupRole,
  RankedRole,
  Signal,
} from './core/stages/importance/weights.ts'
export type {
  PriorityStageOptions,
  ProtectedClass,
} from './core/stages/priority.ts'
export type { AppliedEdit } from './core/stages/provider-compaction.ts'
export {
  createStage,
  type StageSpec,
} from './core/stages/registry.ts'
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
} from './core/stages/stage.ts'
export { extractiveSummarizer } from './core/summarizers/extractive.ts'
export type {
  AnswerProblem,
  Summarizer,
  SummaryAnswer,
  SummaryRequest,
  SummaryUsage,
} from './core/summarizers/summarizer.ts'
export type {
  BudgetBreakdown,
  BudgetCheckResult,
  ScaleSource,
} from './core/tokens/budget.ts'
export type { EstimateSource } from './core/tokens/calibration.ts'
export type {
  Estimator,
  TextKind,
} from './core/tokens/estimators/estimator-schema.ts'
export type { Sizes } from './core/tokens/measure.ts'
export type {
  MediaFigures,
  MediaMost,
  MediaUse,
  RequestMedia,
} from './core/tokens/media-limits.ts'
export type {
  Figure,
  FigureSource,
  ModelProfile,
} from './core/tokens/profiles.ts'
export type { ToolSet } from './core/tokens/tool-definitions.ts'
export type {
  ContextWindow,
  WindowSource,
} from './core/tokens/windows.ts'
export {
  type RequestFinding,
  type ValidateRequestOptions,
  validateRequest,
} from './core/validity/validate-request.ts'
export type { OwnedCounts } from './storage/owned.ts'
export type {
  Pglite,
  Pool as PostgresPool,
  PoolClient as PostgresPoolClient,
} from './storage/postgres/drivers.ts'
export type {
  PostgresConnection,
  PostgresDriver,
  PostgresResult,
} from './storage/postgres/port.ts'
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
export type { RedactFunction } from './storage/redaction.ts'
export type { KeptKind, KeptNames, TextCounts } from './storage/removals.ts'
export type {
  Also,
  AppendedMessage,
  AppendPreview,
  AuditEntry,
  Backup,
  BackupProgress,
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
  TurnDraft,
  UndoOutcome,
  ViewChange,
} from './storage/storage.ts'
export type { AppendResult } from './store/append.ts'
export type { BackupOptions } from './store/backup.ts'
export type { BringBackOptions, BringBackResult } from './store/bring-back.ts'
export type {
  BlockOutcome,
  ProviderCompactionResult,
} from './store/compaction/direct-compactions.ts'
export {
  type GenerateAnswer,
  type GenerateRequest,
  type ModelPrice,
  type ModelSummarizerOptions,
  modelSummarizer,
} from './store/compaction/model-summarizer.ts'
export type {
  CompactionOutline,
  CompactionPreview,
  CompactionResult,
  FailedSummary,
  IdleReason,
  OffTarget,
  PlannedCompaction,
} from './store/compaction/result.ts'
export type { PendingSummary } from './store/compaction/run.ts'
export type {
  ContextStats,
  MeasuredTokens,
} from './store/compaction/stats.ts'
export type { Environment } from './store/config/environment.ts'
export { PRESETS, type ResolvedConfig, type TurnSettings } from './store/config/resolve.ts'
export type {
  CompactionConfig,
  LayerValues,
  PresetName,
  ResolvedSettings,
  SettingName,
  SettingSource,
  Settings,
  SpendLimits,
} from './store/config/settings.ts'
export type {
  Spellings,
  SwitchSpellings,
} from './store/config/spellings.ts'
export type { StageSetting } from './store/config/stages.ts'
export type {
  AppendOptions,
  AuthorshipOptions,
  Cause,
  CompactOptions,
  HideOptions,
  IdleOptions,
  OverflowInput,
  PreviewOptions,
  ProviderCompactionInput,
  SessionChange,
  SessionInput,
  StatsOptions,
  UsageInput,
} from './store/config/store-options.ts'
export type { Costs, CostsOptions, DayOfCompactions, DayOfRequests } from './store/costs.ts'
export { DEFAULTS } from './store/defaults.ts'
export type { ErasedOwner, EraseOwnerOptions } from './store/erase-owner.ts'
export type {
  BeforeCompaction,
  CircuitEvent,
  CompactionCompletedEvent,
  CompactionEvent,
  CompactionFailedEvent,
  CompactionHook,
  CompactionStageEvent,
  CompactionStartedEvent,
  CompactionTurnedEvent,
  ContextWarningEvent,
  IndexingEvent,
  JobCompletedEvent,
  JobEndedEvent,
  JobEvent,
  JobQueuedEvent,
  JobStartedEvent,
  ListenerErrorEvent,
  MediaChange,
  PrefixChangedEvent,
  ReasoningSize,
  SpendLimitEvent,
  StoreEventName,
  StoreEvents,
  StoreListener,
  TurnCompleteEvent,
  UsageWarning,
  UsageWarningEvent,
  WindowAssumedEvent,
} from './store/events.ts'
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
} from './store/history/import/import-types.ts'
export type { ImportedUsage } from './store/history/import/imported-usage.ts'
export type { HistoryRecords, RestoreOptions, SessionRestore } from './store/history/restore-session.ts'
export type {
  AddNoteOptions,
  ForgetNoteOptions,
  ListedNote,
  ListNotesOptions,
  PreparedNotes,
} from './store/notes.ts'
export {
  type OpenOptions,
  openStore,
  type SqliteStore,
  type StoreAt,
} from './store/open.ts'
export type { PurgedSession, PurgedText, PurgeTextOptions, TextScope } from './store/purge-text.ts'
export type {
  CacheCause,
  ComparedRequests,
  CompareRequestsOptions,
  RequestComparison,
  UncomparedRequest,
} from './store/requests/compare.ts'
export type {
  AskFailure,
  FileSummaryFailure,
  ProcessedFile,
} from './store/requests/file-summarization-service.ts'
export type {
  PrepareRequestOptions,
  Prompt,
} from './store/requests/options.ts'
export type {
  CutMessage,
  PreparedFiles,
  PreparedRequest,
  RenderedMessage,
  RequestRepair,
  TurnUsage,
} from './store/requests/prepared.ts'
export type { ChangedFrame, ReasoningChange } from './store/requests/reasoning.ts'
export type {
  RecordedResponse,
  ResponseInput,
  UsageReportInput,
} from './store/requests/record.ts'
export type {
  RecordedFiles,
  RecordedRequest,
  RenderedRequest,
} from './store/requests/recorded.ts'
export type { ResizeStoredImage } from './store/requests/resized-images.ts'
export type {
  RetainedContent,
  RetainedSessions,
  RetentionOptions,
  RetentionReport,
} from './store/retention.ts'
export type {
  RewindOptions,
  RewindResult,
} from './store/rewind.ts'
export type { ScannedText, ScanOptions } from './store/scan.ts'
export type { SearchOptions, SearchResult } from './store/search.ts'
export type {
  CloseOptions,
  EffectiveHistoryOptions,
  GetMessagesOptions,
  ListCompactionsOptions,
  RedoOptions,
  Store,
  UndoOptions,
} from './store/store.ts'
export type { Compactions } from './store/topics/compactions.ts'
export type { CancelOptions, Jobs, ListJobsOptions } from './store/topics/jobs.ts'
export type { LimitInput, Limits } from './store/topics/limits.ts'
export type {
  ExpandFlatOptions,
  ExpandOptions,
  ListToolCallsOptions,
  Messages,
  ResolvedMoment,
  Timeline,
  TimelineOptions,
  TimelinePoint,
  ToolOutputOptions,
  ViewDiff,
} from './store/topics/messages.ts'
export type { Notes } from './store/topics/notes.ts'
export type { Privacy } from './store/topics/privacy.ts'
export type { ListRequestsOptions, Requests } from './store/topics/requests.ts'
export type {
  AuditLogOptions,
  ForkOptions,
  GetSessionOptions,
  ListSessionsOptions,
  PurgeOptions,
  Sessions,
  VerifyOptions,
} from './store/topics/sessions.ts'
export type { BeginTurnOptions, ClaimCallOptions, Turn } from './store/turns.ts'
export type { UndoIfFitsOptions, UndoIfFitsResult } from './store/undo-if-fits.ts'
export type {
  OverflowResult,
  SessionUsage,
  SummaryTotals,
  UsageResult,
  UsageTotals,
} from './store/usage.ts'

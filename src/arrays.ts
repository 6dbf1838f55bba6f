/* The strategies on plain arrays of messages, without a store. The entry `undertext/arrays`. */

export type { ArrayEstimator, EstimatorChoice } from './arrays/array-estimator.ts'
export { type ClearToolResultsOptions, clearToolResults } from './arrays/clear-tool-results.ts'
export { type CompositeOptions, type CompositePart, composite, stageFrom } from './arrays/composite.ts'
export {
  type ArrayCompactionConfig,
  type ArrayCompactionResult,
  ContextCompactor,
} from './arrays/context-compactor.ts'
export {
  type ContextStrategyKind,
  type CreateStrategyOptions,
  createStrategy,
  STRATEGY_KINDS,
} from './arrays/create-strategy.ts'
export {
  type DeduplicationConfig,
  type DeduplicationResult,
  deduplicateFileReads,
} from './arrays/deduplicate-file-reads.ts'
export { type DropReasoningOptions, dropReasoning } from './arrays/drop-reasoning.ts'
export {
  type EffectiveHistoryFilter,
  getEffectiveHistory as filterEffectiveHistory,
  getEffectiveHistory,
  removeDanglingTags,
} from './arrays/effective-history.ts'
export { type PriorityOptions, priority } from './arrays/priority.ts'
export { type PruneConfig, type PruneResult, pruneToolOutputs } from './arrays/prune-tool-outputs.ts'
export { type RepairOptions, type RepairResult, repairToolPairs } from './arrays/repair-tool-pairs.ts'
export {
  type RoleAlternationOptions,
  type RoleProblem,
  type RoleRepairOptions,
  type RoleRepairResult,
  repairRoleAlternation,
  validateRoleAlternation,
} from './arrays/role-alternation.ts'
export { type SlidingWindowOptions, slidingWindow } from './arrays/sliding-window.ts'
export type {
  ArrayFace,
  Strategy,
  StrategyBudget,
  StrategyOptions,
  StrategyResult,
  StrategyStep,
} from './arrays/strategy.ts'
export { type SummarizeConfig, type SummarizeResult, summarizeMessages } from './arrays/summarize-messages.ts'
export { type SummarizeOlderOptions, summarizeOlder } from './arrays/summarize-older.ts'
export {
  removeCondensationTags,
  removeTruncationTags,
  tagForCondensation,
  tagForTruncation,
} from './arrays/tags.ts'
export {
  type TruncationConfig,
  type TruncationResult,
  truncateWithSlidingWindow,
} from './arrays/truncate-with-sliding-window.ts'
export type { BudgetStrategy, UserStrategy } from './arrays/user-strategy.ts'
export type { CompactionOutline, IdleReason } from './compaction/result.ts'
export type { PendingSummary } from './compaction/run-draft.ts'
export type { Json, JsonObject } from './messages/json.ts'
export type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ProviderOptions,
  ProviderPart,
  ReasoningPart,
  Role,
  RowKind,
  TextPart,
  ToolCallPart,
  ToolResultContent,
  ToolResultOutput,
  ToolResultPart,
} from './messages/message.ts'
export type { ChatMessage, ContextStrategy, PlainMessage } from './model/message-parts.ts'
export type { CompactionKind, CompactionStage } from './model/plan.ts'
export type { View } from './model/view.ts'
export type { CallEntry, ResultEntry, ViewRow } from './model/view-row.ts'
export { CUT_ENDING } from './stages/cut.ts'
export { DEDUP_THRESHOLD } from './stages/deduplicate.ts'
export { DROP_REASONING_KEEP_TURNS } from './stages/drop-reasoning.ts'
export { DEFAULT_SCORER, type ImportanceReason } from './stages/importance/score.ts'
export type { GroupScore, GroupToScore, ImportanceScorer, ScorerWarning } from './stages/importance/scorer.ts'
export {
  type ImportanceScores,
  type MessageImportance,
  type MessageToScore,
  type ScoreOptions,
  scoreMessages,
  scoreMessagesWith,
} from './stages/importance/session.ts'
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
  CLEARED_PLACEHOLDER,
  PRUNE_PLACEHOLDER,
  PRUNE_PLACEHOLDER_WITH_SIZE,
  PRUNE_PROTECTED_TOOLS,
} from './stages/prune.ts'
export { FAN_OUT, LEAF_MESSAGES, LEAF_TOKENS } from './stages/registry.ts'
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
export type { Session } from './storage/storage.ts'
export { SNIPPETS_CHARS, type SnippetOptions, summarizeInSnippets } from './summarizers/snippets.ts'
export type {
  AnswerProblem,
  Summarizer,
  SummaryAnswer,
  SummaryRequest,
  SummaryUsage,
} from './summarizers/summarizer.ts'
export { PRUNE_MINIMUM_SAVINGS, PRUNE_PROTECT_TOKENS } from './tokens/budget.ts'
export type { Estimator, TextKind } from './tokens/estimators/estimator-schema.ts'
export type { NeuronBlock, NeuronMessage, NeuronTool, TokenCounter } from './tokens/estimators/neuron.ts'
export type { Sizes } from './tokens/tokens.ts'

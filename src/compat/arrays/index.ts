/* The strategies over plain arrays of messages, without a store: the entry `undertext/arrays`. */

export type * from '../../core/message-types.ts'
export type { RowKind } from '../../core/messages/message.ts'
export type { ChatMessage, ContextStrategy, PlainMessage } from '../../core/model/message-parts.ts'
export type { CompactionKind, CompactionStage } from '../../core/model/plan.ts'
export type { View } from '../../core/model/view.ts'
export type { CallEntry, ResultEntry, ViewRow } from '../../core/model/view-row.ts'
export {
  CLEARED_PLACEHOLDER,
  PRUNE_PLACEHOLDER,
  PRUNE_PLACEHOLDER_WITH_SIZE,
  PRUNE_PROTECTED_TOOLS,
} from '../../core/stages/clear-tool-outputs.ts'
export { CUT_ENDING } from '../../core/stages/cut.ts'
export { DEDUP_THRESHOLD } from '../../core/stages/deduplicate.ts'
export { DROP_REASONING_KEEP_TURNS } from '../../core/stages/drop-reasoning.ts'
export { FAN_OUT, LEAF_MESSAGES, LEAF_TOKENS } from '../../core/stages/hierarchical-summaries.ts'
export { DEFAULT_SCORER, type ImportanceReason } from '../../core/stages/importance/groups.ts'
export {
  type GroupScore,
  type GroupToScore,
  type ImportanceScorer,
  type ImportanceScores,
  type MessageImportance,
  type MessageToScore,
  type ScoreOptions,
  type ScorerWarning,
  scoreMessages,
  scoreMessagesWith,
} from '../../core/stages/importance/scorer.ts'
export {
  DEFAULT_WEIGHTS,
  type GroupRole,
  type ImportanceWeights,
  type RankedRole,
  ROLE_WEIGHTS,
  type Signal,
  type WeightsInput,
} from '../../core/stages/importance/weights.ts'
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
} from '../../core/stages/stage.ts'
export { KEEP_RECENT_RATIO } from '../../core/stages/summarize.ts'
export { TRUNCATION_FRACTION, TRUNCATION_MARKER } from '../../core/stages/truncate.ts'
export { SNIPPETS_CHARS, type SnippetOptions, summarizeInSnippets } from '../../core/summarizers/snippets.ts'
export type {
  AnswerProblem,
  Summarizer,
  SummaryAnswer,
  SummaryRequest,
  SummaryUsage,
} from '../../core/summarizers/summarizer.ts'
export { PRUNE_MINIMUM_SAVINGS, PRUNE_PROTECT_TOKENS } from '../../core/tokens/budget.ts'
export type { Estimator, TextKind } from '../../core/tokens/estimators/estimator-schema.ts'
export type {
  NeuronBlock,
  NeuronMessage,
  NeuronTool,
  TokenCounter,
} from '../../core/tokens/estimators/neuron.ts'
export type { Sizes } from '../../core/tokens/measure.ts'
export type { Session } from '../../storage/storage.ts'
export type { CompactionOutline, IdleReason, OffTarget } from '../../store/compaction/result.ts'
export type { PendingSummary } from '../../store/compaction/run.ts'
export type { BudgetStrategy, UserStrategy } from './composite.ts'
export { type CompositeOptions, type CompositePart, composite, stageFrom } from './composite.ts'
export {
  type EffectiveHistoryFilter,
  getEffectiveHistory as filterEffectiveHistory,
  getEffectiveHistory,
  removeCondensationTags,
  removeDanglingTags,
  removeTruncationTags,
  tagForCondensation,
  tagForTruncation,
} from './effective-history.ts'
export { type RepairOptions, type RepairResult, repairToolPairs } from './repair-tool-pairs.ts'
export {
  type RoleAlternationOptions,
  type RoleProblem,
  type RoleRepairOptions,
  type RoleRepairResult,
  repairRoleAlternation,
  validateRoleAlternation,
} from './role-alternation.ts'
export type { ArrayEstimator, EstimatorChoice } from './rows.ts'
export type { StrategyStep } from './run-strategy.ts'
export {
  type ArrayCompactionConfig,
  type ArrayCompactionResult,
  ContextCompactor,
  type DeduplicationConfig,
  type DeduplicationResult,
  deduplicateFileReads,
  type PruneConfig,
  type PruneResult,
  pruneToolOutputs,
  type SummarizeConfig,
  type SummarizeResult,
  summarizeMessages,
  type TruncationConfig,
  type TruncationResult,
  truncateWithSlidingWindow,
} from './stages.ts'
export type {
  ArrayFace,
  Strategy,
  StrategyBudget,
  StrategyOptions,
  StrategyResult,
} from './strategies.ts'
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
} from './strategies.ts'

/* The entry point `undertext/tokens`: estimators, tokenizers, context windows and budgets. */

export type * from '../message-types.ts'
export {
  type BudgetBreakdown,
  type BudgetCheckParams,
  type BudgetCheckResult,
  checkContextBudget,
  DEFAULT_COMPACTION_TARGET,
  DEFAULT_COMPACTION_THRESHOLD,
  DEFAULT_PROVIDER,
  type NeurolinkRequest,
  type PendingRequest,
} from './budget.ts'
export { calibratedEstimator } from './estimators/calibrated.ts'
export type { Estimator, LengthUnit, TextKind } from './estimators/estimator-schema.ts'
export { looksLikeCode } from './estimators/neurolink.ts'
export {
  BUILT_IN_ESTIMATORS,
  CHARS_PER_TOKEN,
  CODE_CHARS_PER_TOKEN,
  ESTIMATOR_NAMES,
  estimateMessagesTokens,
  estimateTokens,
  estimatorNamed,
  getProviderMultiplier,
  IMAGE_TOKEN_ESTIMATE,
  neurolinkEstimator,
  TOKEN_SAFETY_MARGIN,
  TOKENS_PER_CONVERSATION,
  TOKENS_PER_MESSAGE,
} from './measure.ts'
export {
  type Figure,
  type FigureSource,
  type ModelOverrides,
  type ModelProfile,
  resolveModelProfile,
} from './profiles.ts'
export { TOKENIZER_NAMES, type TokenizerName, tokenizerEstimator } from './tokenizer.ts'
export { type TruncateTextOptions, truncateToTokenBudget } from './truncate-text.ts'
export {
  type ContextWindows,
  DEFAULT_CONTEXT_WINDOW,
  DEFAULT_OUTPUT_RESERVE_RATIO,
  getAvailableInputTokens,
  getContextWindowSize,
  getOutputReserve,
  MAX_DEFAULT_OUTPUT_RESERVE,
  MODEL_CONTEXT_WINDOWS,
  type WindowSource,
} from './windows.ts'

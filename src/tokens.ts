/* Counting tokens: estimators, tokenizers, context windows and budgets. The entry `undertext/tokens`. */

export type * from './message-types.ts'
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
} from './tokens/budget.ts'
export { BUILT_IN_ESTIMATORS, ESTIMATOR_NAMES, estimatorNamed } from './tokens/estimators/built-in.ts'
export { calibratedEstimator } from './tokens/estimators/calibrated.ts'
export type { Estimator, LengthUnit, TextKind } from './tokens/estimators/estimator-schema.ts'
export { looksLikeCode } from './tokens/estimators/neurolink.ts'
export {
  type Figure,
  type FigureSource,
  type ModelOverrides,
  type ModelProfile,
  resolveModelProfile,
} from './tokens/profiles.ts'
export { TOKENIZER_NAMES, type TokenizerName, tokenizerEstimator } from './tokens/tokenizer.ts'
export {
  CHARS_PER_TOKEN,
  CODE_CHARS_PER_TOKEN,
  estimateMessagesTokens,
  estimateTokens,
  getProviderMultiplier,
  IMAGE_TOKEN_ESTIMATE,
  neurolinkEstimator,
  TOKEN_SAFETY_MARGIN,
  TOKENS_PER_CONVERSATION,
  TOKENS_PER_MESSAGE,
} from './tokens/tokens.ts'
export { type TruncateTextOptions, truncateToTokenBudget } from './tokens/truncate-text.ts'
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
} from './tokens/windows.ts'

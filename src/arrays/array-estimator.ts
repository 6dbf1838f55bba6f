import { z } from 'zod'
import { estimatorNamed } from '../tokens/estimators/built-in.ts'
import { type Estimator, isEstimator } from '../tokens/estimators/estimator-schema.ts'
import type { TokenCounter } from '../tokens/estimators/neuron.ts'
import { estimatePromptfleetMessage, promptfleetEstimator } from '../tokens/estimators/promptfleet.ts'
import { neurolinkEstimator } from '../tokens/tokens.ts'

/** An estimator for plain arrays. It may also count the role, which the sums of a store do not. */
export type ArrayEstimator = Estimator & {
  /** Units of a message's role. */
  readonly measureRole?: (role: string) => number
}

/** An estimator, the name of a built-in one, or a counter of `createTokenCounter`. */
export type EstimatorChoice = string | ArrayEstimator | TokenCounter

export const estimatorChoiceSchema = z.custom<EstimatorChoice>(
  (value) =>
    (typeof value === 'string' && estimatorNamed(value) !== undefined) ||
    isEstimator(value) ||
    isCounter(value),
  'must be an estimator, the name of a built-in one, or a token counter',
)

/** The chosen estimator; default `neurolink`. */
export function arrayEstimator(choice: EstimatorChoice | undefined): ArrayEstimator {
  const chosen = typeof choice === 'string' ? estimatorNamed(choice) : choice
  if (chosen === undefined) return neurolinkEstimator
  if (chosen === promptfleetEstimator) return promptfleetOfArrays
  return isEstimator(chosen) ? chosen : ofCounter(chosen)
}

/** `promptfleet` as in its functions for lists: each role counts exactly, not as a mean. */
const promptfleetOfArrays: ArrayEstimator = {
  ...promptfleetEstimator,
  tokensPerMessage: estimatePromptfleetMessage({}),
  measureRole: (role) => estimatePromptfleetMessage({ role }) - estimatePromptfleetMessage({}),
}

function isCounter(value: unknown): value is TokenCounter {
  if (typeof value !== 'object' || value === null) return false
  const { estimateText, estimateMessages } = value as Partial<TokenCounter>
  return typeof estimateText === 'function' && typeof estimateMessages === 'function'
}

/** A counter as an estimator: its figures for a message, an image and a document are read once. */
function ofCounter(counter: TokenCounter): ArrayEstimator {
  const tokensOf = (...types: readonly string[]): number =>
    counter.estimateMessages([{ role: 'user', content: types.map((type) => ({ type })) }])
  const tokensPerMessage = tokensOf()
  return {
    name: 'counter',
    measureText: (text) => counter.estimateText(text),
    mediaTokens: tokensOf('image') - tokensPerMessage,
    fileTokens: tokensOf('document') - tokensPerMessage,
    toTokens: (units) => units,
    tokensPerMessage,
    tokensPerConversation: 0,
  }
}

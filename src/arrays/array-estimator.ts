import { z } from 'zod'
import { estimatorNamed } from '../tokens/estimators/built-in.ts'
import { type Estimator, isEstimator } from '../tokens/estimators/estimator-schema.ts'
import type { TokenCounter } from '../tokens/estimators/neuron.ts'
import { estimatePromptfleetMessage, promptfleetEstimator } from '../tokens/estimators/promptfleet.ts'
import { neurolinkEstimator } from '../tokens/tokens.ts'

/** An estimator for plain arrays. It may count the word of the role too, which a store's sums do not. */
export type ArrayEstimator = Estimator & {
  /** Units of a role as the message has it. */
  readonly measureRole?: (role: string) => number
}

/** What counts: an estimator, the name of a built-in one, or a counter that `createTokenCounter` made. */
export type EstimatorChoice = string | ArrayEstimator | TokenCounter

export const estimatorChoiceSchema = z.custom<EstimatorChoice>(
  (value) =>
    (typeof value === 'string' && estimatorNamed(value) !== undefined) ||
    isEstimator(value) ||
    isCounter(value),
  'must be an estimator, the name of a built-in one, or a token counter',
)

/** The estimator that was chosen; `neurolink` when none was. */
export function arrayEstimator(choice: EstimatorChoice | undefined): ArrayEstimator {
  const chosen = typeof choice === 'string' ? estimatorNamed(choice) : choice
  if (chosen === undefined) return neurolinkEstimator
  if (chosen === promptfleetEstimator) return promptfleetOfArrays
  return isEstimator(chosen) ? chosen : ofCounter(chosen)
}

/** `promptfleet` as its functions for lists have it: the word of each role counts by itself, not as a mean. */
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

/** A counter as an estimator: what it adds for a message, an image and a document is asked once. */
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

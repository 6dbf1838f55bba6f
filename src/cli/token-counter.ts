import { isUndertextError } from '../errors.ts'
import type { Message } from '../messages/message.ts'
import { estimatorNamed } from '../tokens/estimators/built-in.ts'
import { isTokenizerName, tokenizerEstimator } from '../tokens/tokenizer.ts'
import { addSizes, measureMessage, NO_SIZES, tokensOf } from '../tokens/tokens.ts'

type Content = Pick<Message, 'content'>

/** How a session counts. */
export type TokenCounter = {
  /** Tokens of rows together. */
  of(rows: readonly Content[]): number
  /** A row's own tokens, without what a conversation takes as such: what a second one like it would add. */
  own(row: Content): number
}

/** The counter of an estimator's name; `undefined` for one that is not ours, or whose tokenizer is not installed. */
export async function tokenCounter(name: string, provider: string): Promise<TokenCounter | undefined> {
  const estimator = isTokenizerName(name) ? await installed(name) : estimatorNamed(name)
  if (estimator === undefined) return undefined
  return {
    of: (rows) => {
      const sizes = rows.reduce((sum, row) => addSizes(sum, measureMessage(row, estimator)), NO_SIZES)
      return tokensOf(sizes, rows.length, estimator, provider)
    },
    own: (row) => {
      const sizes = measureMessage(row, estimator)
      return (
        tokensOf(addSizes(sizes, sizes), 2, estimator, provider) - tokensOf(sizes, 1, estimator, provider)
      )
    },
  }
}

async function installed(name: string) {
  try {
    return await tokenizerEstimator(name)
  } catch (error) {
    if (isUndertextError(error, 'TOKENIZER_UNAVAILABLE')) return undefined
    throw error
  }
}

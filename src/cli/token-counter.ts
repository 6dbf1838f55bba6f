import { isUndertextError } from '../core/errors.ts'
import { isSilent, type Message } from '../core/messages/message.ts'
import { addSizes, estimatorNamed, measureMessage, NO_SIZES, tokensOf } from '../core/tokens/measure.ts'
import { isTokenizerName, tokenizerEstimator } from '../core/tokens/tokenizer.ts'

type Content = Pick<Message, 'content'>

/** Counts tokens as a session does. */
export type TokenCounter = {
  /** Tokens of all rows together. */
  of(rows: readonly Content[]): number
  /** Tokens of a row alone, without the overhead of a conversation: what a second row like it would add. */
  own(row: Content): number
}

/** The counter for an estimator's name; `undefined` for a custom one, or if its tokenizer is not installed. */
export async function tokenCounter(name: string, provider: string): Promise<TokenCounter | undefined> {
  const estimator = isTokenizerName(name) ? await installedTokenizer(name) : estimatorNamed(name)
  if (estimator === undefined) return undefined
  return {
    of: (rows) => {
      const sizes = rows.reduce((sum, row) => addSizes(sum, measureMessage(row, estimator)), NO_SIZES)
      return tokensOf(sizes, rows.filter((row) => !isSilent(row)).length, estimator, provider)
    },
    own: (row) => {
      if (isSilent(row)) return 0
      const sizes = measureMessage(row, estimator)
      return (
        tokensOf(addSizes(sizes, sizes), 2, estimator, provider) - tokensOf(sizes, 1, estimator, provider)
      )
    },
  }
}

/** The tokenizer of this name; `undefined` when its package is not installed. */
export async function installedTokenizer(name: string) {
  try {
    return await tokenizerEstimator(name)
  } catch (error) {
    if (isUndertextError(error, 'TOKENIZER_UNAVAILABLE')) return undefined
    throw error
  }
}

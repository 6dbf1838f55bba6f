import { estimatorNamed } from '../core/estimators/built-in.ts'
import type { Message } from '../core/message.ts'
import { addSizes, measureMessage, NO_SIZES, tokensOf } from '../core/tokens.ts'
import { isUndertextError } from '../errors.ts'
import { isTokenizerName, tokenizerEstimator } from '../tokenizers/tokenizer.ts'

type Content = Pick<Message, 'content'>

/** Tokens of rows together, as their session counts them. */
export type TokenCounter = (rows: readonly Content[]) => number

/** The counter of an estimator's name; `undefined` for one that is not ours, or whose tokenizer is not installed. */
export async function tokenCounter(name: string, provider: string): Promise<TokenCounter | undefined> {
  const estimator = isTokenizerName(name) ? await installed(name) : estimatorNamed(name)
  if (estimator === undefined) return undefined
  return (rows) => {
    const sizes = rows.reduce((sum, row) => addSizes(sum, measureMessage(row, estimator)), NO_SIZES)
    return tokensOf(sizes, rows.length, estimator, provider)
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

/** A row's own tokens, without what a conversation takes as such: what a second one like it would add. */
export function ownTokens(row: Content, tokens: TokenCounter): number {
  return tokens([row, row]) - tokens([row])
}

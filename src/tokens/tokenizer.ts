import { z } from 'zod'
import { isNotFound, UndertextError } from '../errors.ts'
import { check } from '../messages/check.ts'
import type { Estimator } from './estimators/estimator-schema.ts'
import { IMAGE_TOKEN_ESTIMATE } from './estimators/neurolink.ts'
import {
  CHAT_TOKENS_PER_CALL,
  CHAT_TOKENS_PER_CONVERSATION,
  CHAT_TOKENS_PER_MESSAGE,
  providerFactor,
} from './estimators/provider-factors.ts'
import { findLongRun } from './long-runs.ts'

/*
 * gpt-tokenizer rather than js-tiktoken: the same counts on every sample text of the table, faster, and an encoding is
 * a module of its own. Version 4 and later; 2.9 split words for o200k as for cl100k, which counts otherwise.
 */

/** Tokenizers by name: of GPT-4o and later, of GPT-4 and GPT-3.5. */
export const TOKENIZER_NAMES = ['o200k_base', 'cl100k_base'] as const
export type TokenizerName = (typeof TOKENIZER_NAMES)[number]

const nameSchema = z.enum(TOKENIZER_NAMES)

export function isTokenizerName(name: string): name is TokenizerName {
  return (TOKENIZER_NAMES as readonly string[]).includes(name)
}

type CountTokens = (text: string, options: { readonly disallowedSpecial: Set<string> }) => number

const loaded = new Map<TokenizerName, Promise<Estimator>>()

/**
 * An estimator that counts with OpenAI's own tokenizer: a unit is a token. It comes with the optional package
 * `gpt-tokenizer`, loaded here and only here (o200k: some 0.2 s and 60 MB). Texts like `<|endoftext|>` are ordinary
 * text. Runs of more than 256 letters, signs or white space without a break are counted in pieces, which keeps
 * the time linear and may add a token a piece. For providers that do not use this tokenizer `toTokens` multiplies by `providerFactor`.
 *
 * Throws `INVALID_INPUT` for another name, `TOKENIZER_UNAVAILABLE` when the package is missing or unfit.
 */
export async function tokenizerEstimator(name: TokenizerName | string): Promise<Estimator> {
  const tokenizer = check(nameSchema, name, 'tokenizerEstimator')
  let estimator = loaded.get(tokenizer)
  if (estimator === undefined) {
    estimator = load(tokenizer)
    loaded.set(tokenizer, estimator)
    // A package that is installed later can be loaded then.
    estimator.catch(() => loaded.delete(tokenizer))
  }
  return await estimator
}

async function load(name: TokenizerName): Promise<Estimator> {
  let module: { readonly countTokens?: unknown }
  try {
    module =
      name === 'o200k_base'
        ? await import('gpt-tokenizer/encoding/o200k_base')
        : await import('gpt-tokenizer/encoding/cl100k_base')
  } catch (cause) {
    const detail = isNotFound(cause) ? 'it is not installed.' : 'loading it failed.'
    throw new UndertextError('TOKENIZER_UNAVAILABLE', { tokenizer: name, detail }, { cause })
  }
  if (typeof module.countTokens !== 'function')
    throw new UndertextError('TOKENIZER_UNAVAILABLE', {
      tokenizer: name,
      detail: 'it is of another version.',
    })
  return estimatorOf(name, module.countTokens as CountTokens)
}

/** No special tokens: what somebody wrote is text. */
const NOTHING_SPECIAL = { disallowedSpecial: new Set<string>() }

function estimatorOf(name: TokenizerName, countTokens: CountTokens): Estimator {
  const count = (text: string): number => countTokens(text, NOTHING_SPECIAL)
  return {
    name,
    measureText(text) {
      let tokens = 0
      let start = 0
      for (;;) {
        const end = findLongRun(text, start)
        if (end === undefined) return tokens + (text.length > start ? count(text.slice(start)) : 0)
        tokens += count(text.slice(start, end))
        start = end
      }
    },
    mediaTokens: IMAGE_TOKEN_ESTIMATE,
    unitsPerCall: CHAT_TOKENS_PER_CALL,
    toTokens: (units, provider) => Math.ceil(units * providerFactor(provider)),
    tokensPerMessage: CHAT_TOKENS_PER_MESSAGE,
    tokensPerConversation: CHAT_TOKENS_PER_CONVERSATION,
  }
}

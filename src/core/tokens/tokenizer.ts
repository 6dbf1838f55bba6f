import { z } from 'zod'
import { isNotFound, UndertextError } from '../errors.ts'
import { check } from '../messages/check.ts'
import type { Estimator } from './estimators/estimator-schema.ts'
import {
  CHAT_TOKENS_PER_CALL,
  CHAT_TOKENS_PER_CONVERSATION,
  CHAT_TOKENS_PER_MESSAGE,
  IMAGE_TOKEN_ESTIMATE,
  providerFactor,
} from './estimators/neurolink.ts'

/** The longest run in one piece, in UTF-16 units. Merging a piece takes quadratic time. */
const MAX_RUN_LENGTH = 256

/**
 * Returns where to cut a text, from `start` on, so that no piece of the tokenizer is longer than 256 units: within the first longer run
 * of letters, signs or white space. Returns `undefined` if there is none. Outside ASCII, a character that is neither a known letter nor
 * known punctuation extends both kinds of runs. Never cuts between the halves of a surrogate pair.
 */
function findLongRun(text: string, start: number): number | undefined {
  let letters = 0
  let signs = 0
  let white = 0
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)) {
      // Line ends belong to the preceding signs.
      signs = unit === 0x0a || unit === 0x0d ? signs + 1 : 0
      white++
      letters = 0
    } else {
      const isLetter = mayBeLetter(unit)
      white = 0
      letters = isLetter ? letters + 1 : 0
      signs = maybeSign(unit) ? signs + 1 : 0
    }
    if (letters < MAX_RUN_LENGTH && signs < MAX_RUN_LENGTH && white < MAX_RUN_LENGTH) continue
    const isHigh = unit >= 0xd800 && unit <= 0xdbff
    return isHigh ? at : at + 1
  }
  return undefined
}

function mayBeLetter(unit: number): boolean {
  if (unit < 0x80) return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a)
  // Known punctuation: general, Chinese and Japanese, and the wide forms of the signs of ASCII.
  return !(
    (unit >= 0x2010 && unit <= 0x2027) ||
    (unit >= 0x3001 && unit <= 0x3003) ||
    (unit >= 0x3008 && unit <= 0x3011) ||
    (unit >= 0xff01 && unit <= 0xff0f) ||
    (unit >= 0xff1a && unit <= 0xff20)
  )
}

function maybeSign(unit: number): boolean {
  if (unit < 0x80) return !mayBeLetter(unit) && !(unit >= 0x30 && unit <= 0x39)
  // Known letters: Latin to Cyrillic, kana, Han, Hangul.
  return !(
    (unit >= 0xc0 && unit <= 0x24f && unit !== 0xd7 && unit !== 0xf7) ||
    (unit >= 0x391 && unit <= 0x481) ||
    (unit >= 0x3041 && unit <= 0x3096) ||
    (unit >= 0x30a1 && unit <= 0x30fa) ||
    (unit >= 0x4e00 && unit <= 0x9fff) ||
    (unit >= 0xac00 && unit <= 0xd7a3)
  )
}

/*
 * gpt-tokenizer instead of js-tiktoken: it gives the same counts on every sample text of the table, is faster, and has one module per
 * encoding. Requires version 4 or later: 2.9 split words for o200k as for cl100k, with different counts.
 */

/** The names of the tokenizers: of GPT-4o and later, and of GPT-4 and GPT-3.5. */
export const TOKENIZER_NAMES = ['o200k_base', 'cl100k_base'] as const
/** The name of a tokenizer. */
export type TokenizerName = (typeof TOKENIZER_NAMES)[number]

const nameSchema = z.enum(TOKENIZER_NAMES)

export function isTokenizerName(name: string): name is TokenizerName {
  return (TOKENIZER_NAMES as readonly string[]).includes(name)
}

type CountTokens = (text: string, options: { readonly disallowedSpecial: Set<string> }) => number

const loaded = new Map<TokenizerName, Promise<Estimator>>()

/**
 * Returns an estimator that counts with OpenAI's tokenizer: a unit is a token. Loads the optional package `gpt-tokenizer` (o200k: about
 * 0.2 s and 60 MB). Texts like `<|endoftext|>` are ordinary text. Unbroken runs of more than 256 letters, signs or white space are
 * counted in pieces, which keeps the time linear and may add a token per piece. For providers with another tokenizer, `toTokens`
 * multiplies by `providerFactor`.
 *
 * Throws `INVALID_INPUT` for an unknown name, and `TOKENIZER_UNAVAILABLE` if the package is missing or unsuitable.
 */
export async function tokenizerEstimator(name: TokenizerName | string): Promise<Estimator> {
  const tokenizer = check(nameSchema, name, 'tokenizerEstimator')
  let estimator = loaded.get(tokenizer)
  if (estimator === undefined) {
    estimator = load(tokenizer)
    loaded.set(tokenizer, estimator)
    // The package may be installed later.
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
      detail: "its version isn't supported.",
    })
  return estimatorOf(name, module.countTokens as CountTokens)
}

/** No special tokens: every text is ordinary text. */
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

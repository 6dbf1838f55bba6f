import { z } from 'zod'
import { invalid } from '../errors.ts'
import { characterStart, codePointStart, detached } from '../messages/characters.ts'
import { check } from '../messages/check.ts'
import { checkProviderName } from '../messages/message-check.ts'
import { type Estimator, estimatorSchema } from './estimators/estimator-schema.ts'
import { neurolinkEstimator, tokensOfText } from './measure.ts'

/** The ending of a cut text. */
export const DEFAULT_TEXT_ENDING = '...'

/** A cut at the end of a sentence or a word must keep more than this share of the room. */
const MIN_KEPT_SHARE = 0.5
/** Characters per token in the first guess; the real length is measured. */
const FIRST_GUESS = 8
/** The most ends of sentences inside a character that are tried. */
const MAX_BREAKS_TRIED = 1_000
/** The most times that a cut is moved back because an estimator is not monotonic. */
const MAX_STEPS_BACK = 64

const optionsSchema = z
  .strictObject({
    /** The estimator. Default: `neurolink`. */
    estimator: estimatorSchema.optional(),
    /** The ending of a cut text, which is counted too. Default "...". */
    ending: z.string().optional(),
  })
  .optional()

/** Options of `truncateText`. */
export type TruncateTextOptions = z.input<typeof optionsSchema>

/**
 * Returns the longest beginning of a text that, with its ending, fits in `maxTokens` tokens, as the estimator counts for `provider`. A
 * text that fits is returned unchanged.
 *
 * The cut is at the end of a sentence or line, or else of a word, if that keeps more than half of the room, and never inside a character.
 * If there is no room for the ending, it is omitted; if there is no room at all, the result is empty.
 *
 * Only a few times the budget is read of a text, however long it is.
 *
 * Throws `INVALID_INPUT`.
 */
export function truncateToTokenBudget(
  text: string,
  maxTokens: number,
  provider?: string,
  options?: TruncateTextOptions,
): { readonly text: string; readonly truncated: boolean } {
  if (typeof text !== 'string') throw invalid('truncateToTokenBudget: text must be a string')
  if (typeof maxTokens !== 'number' || Number.isNaN(maxTokens))
    throw invalid('truncateToTokenBudget: maxTokens must be a number')
  checkProviderName(provider, 'truncateToTokenBudget')
  const { estimator = neurolinkEstimator, ending = DEFAULT_TEXT_ENDING } =
    check(optionsSchema, options, 'truncateToTokenBudget') ?? {}
  if (text === '') return { text, truncated: false }
  if (maxTokens <= 0) return { text: '', truncated: true }
  const fits = fitter(maxTokens, estimator, provider)
  const reach = reachOf(text, maxTokens, fits)
  if (reach === undefined) return { text, truncated: false }
  const cut = fits(ending) ? longestWith(text, ending, reach, fits) : longestWith(text, '', reach, fits)
  return { text: detached(cut), truncated: true }
}

function fitter(maxTokens: number, estimator: Estimator, provider?: string): (text: string) => boolean {
  return (text) => tokensOfText(text, estimator, provider) <= maxTokens
}

/**
 * Returns a length at which the text doesn't fit; `undefined` if the whole text fits. Near the end the whole text is measured, because an
 * estimator may count slightly more for a beginning than for the whole.
 */
function reachOf(text: string, maxTokens: number, fits: (text: string) => boolean): number | undefined {
  let reach = Math.max(FIRST_GUESS, Math.ceil(maxTokens * FIRST_GUESS))
  while (reach * 4 < text.length) {
    const length = codePointStart(text, reach)
    if (!fits(text.slice(0, length))) return length
    reach *= 2
  }
  return fits(text) ? undefined : text.length
}

/** Returns the longest beginning shorter than `reach` that fits with its ending. The ending alone must fit. */
function longestWith(text: string, ending: string, reach: number, fits: (text: string) => boolean): string {
  const fitsUpTo = (length: number): boolean => fits(`${text.slice(0, length)}${ending}`)
  let low = 0
  let high = reach
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (fitsUpTo(codePointStart(text, middle))) low = middle
    else high = middle
  }
  const longest = characterStart(text, codePointStart(text, low))
  const whole = wholeBefore(text, longest)
  if (fitsUpTo(whole)) return `${text.slice(0, whole)}${ending}`
  // Only for estimators that are not monotonic.
  for (let step = 0, at = longest; step < MAX_STEPS_BACK && at > 0; step++) {
    if (fitsUpTo(at)) return `${text.slice(0, at)}${ending}`
    at = characterStart(text, Math.max(0, at - 2 ** Math.floor(step / 4)))
  }
  return ending
}

/** Returns the end of the last sentence or line before `longest`, or else of the last word; `longest` if both are too far back. */
function wholeBefore(text: string, longest: number): number {
  const least = Math.floor(longest * MIN_KEPT_SHARE)
  let word: number | undefined
  let tried = 0
  for (let at = longest; at > least && tried < MAX_BREAKS_TRIED; at--) {
    if (isSpaceAt(text, at - 1)) continue
    const isWordEnd = isSpaceAt(text, at)
    if (!isWordEnd && !isWideStop(text, at - 1)) continue
    const isEnd = isLineBreak(text, at) || endsInStop(text, at)
    if (!isEnd && word !== undefined) continue
    tried++
    if (characterStart(text, at) !== at) continue
    if (isEnd) return at
    word = at
  }
  return word ?? longest
}

/** Returns whether a sentence ends before `at`: with a stop, optionally followed by closing quotes and brackets. */
function endsInStop(text: string, at: number): boolean {
  let last = at - 1
  for (let back = 0; back < 3 && last > 0 && '"\')]*”’»'.includes(text.charAt(last)); back++) last--
  return '.!?…。！？'.includes(text.charAt(last))
}

function isWideStop(text: string, at: number): boolean {
  return '。！？'.includes(text.charAt(at))
}

function isLineBreak(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit === 0x0a || unit === 0x0d
}

function isSpaceAt(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d) || unit === 0xa0 || unit === 0x3000
}

/*
 * Reduces English words to their stems by their endings, after Porter's second algorithm. A stem need not be a word: `happy` and
 * `happiness` become `happi`.
 */

const VOWEL = /[aeiouy]/
const DOUBLE = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/

/** Endings that are replaced if at least one syllable precedes them, longest first. */
const ENDINGS: readonly (readonly [ending: string, replacement: string])[] = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['iveness', 'ive'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['lessli', 'less'],
  ['entli', 'ent'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['ousli', 'ous'],
  ['iviti', 'ive'],
  ['fulli', 'ful'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['abli', 'able'],
  ['izer', 'ize'],
  ['ator', 'ate'],
  ['alli', 'al'],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['alize', 'al'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
  ['bli', 'ble'],
]

/** Endings that are removed if two syllables precede them, longest first. */
const SUFFIXES = [
  'ement',
  'ance',
  'ence',
  'able',
  'ible',
  'ment',
  'ant',
  'ent',
  'ism',
  'ate',
  'iti',
  'ous',
  'ive',
  'ize',
  'al',
  'er',
  'ic',
]

/** Returns the stem of a word in lower-case letters a to z. */
export function stemOf(word: string): string {
  if (word.length <= 2) return word
  let stem = withoutPlural(word)
  stem = withoutPast(stem)
  if (stem.length > 2 && stem.endsWith('y') && !VOWEL.test(stem.at(-2)!)) stem = `${stem.slice(0, -1)}i`
  for (let round = 0; round < 2; round++) stem = withShorterEnding(stem)
  return withoutFinal(withoutSuffix(stem))
}

function withoutPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (word.endsWith('ies') || word.endsWith('ied')) return word.slice(0, word.length > 4 ? -2 : -1)
  if (!word.endsWith('s') || word.endsWith('us') || word.endsWith('ss')) return word
  return VOWEL.test(word.slice(0, -2)) ? word.slice(0, -1) : word
}

function withoutPast(word: string): string {
  if (word.endsWith('eedly')) return word.slice(0, -3)
  if (word.endsWith('eed')) return regionStart(word) <= word.length - 3 ? word.slice(0, -1) : word
  const ending = ['ingly', 'edly', 'ing', 'ed'].find((each) => word.endsWith(each))
  if (ending === undefined) return word
  const base = word.slice(0, -ending.length)
  if (!VOWEL.test(base) || base.length < 2) return word
  if (/(?:at|bl|iz)$/.test(base)) return `${base}e`
  if (DOUBLE.test(base)) return base.slice(0, -1)
  return isShort(base) ? `${base}e` : base
}

function withShorterEnding(word: string): string {
  const found = ENDINGS.find(([ending]) => word.endsWith(ending))
  if (found !== undefined) {
    const [ending, replacement] = found
    const base = word.slice(0, -ending.length)
    return regionStart(word) <= base.length ? base + replacement : word
  }
  if (/[cdeghkmnrt]li$/.test(word) && regionStart(word) <= word.length - 2) return word.slice(0, -2)
  return word
}

function withoutSuffix(word: string): string {
  const second = regionStart(word, regionStart(word))
  if (/[st]ion$/.test(word)) return second <= word.length - 3 ? word.slice(0, -3) : word
  const suffix = SUFFIXES.find((each) => word.endsWith(each))
  return suffix !== undefined && second <= word.length - suffix.length ? word.slice(0, -suffix.length) : word
}

function withoutFinal(word: string): string {
  const first = regionStart(word)
  const second = regionStart(word, first)
  if (word.endsWith('e')) {
    const base = word.slice(0, -1)
    return second <= base.length || (first <= base.length && !isShortSyllable(base)) ? base : word
  }
  return word.endsWith('ll') && second <= word.length - 1 ? word.slice(0, -1) : word
}

/** Returns the place after the first consonant that follows a vowel, from `from`; the length if there is none. */
function regionStart(word: string, from = 0): number {
  if (from === 0) {
    const prefix = /^(?:gener|commun|arsen)/.exec(word)
    if (prefix !== null) return prefix[0].length
  }
  let at = from
  while (at < word.length && !VOWEL.test(word[at]!)) at++
  while (at < word.length && VOWEL.test(word[at]!)) at++
  return Math.min(word.length, at + 1)
}

/** Returns whether a word is one short syllable, such as `hop`: the base form of `hoping` is `hope`. */
function isShort(word: string): boolean {
  return regionStart(word) >= word.length && isShortSyllable(word)
}

function isShortSyllable(word: string): boolean {
  return /(?:^|[^aeiouy])[aeiouy][^aeiouywx]$/.test(word) || /^[aeiouy][^aeiouy]$/.test(word)
}

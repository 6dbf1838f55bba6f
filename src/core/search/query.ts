import { ABOUT_OWN_ANSWER, ASKS_TIME, GENERAL_WORDS, MEANINGS } from './english.ts'
import { wordsOf } from './words.ts'

/** The content of a question, in words of the index. */
export type SearchQuery = {
  /** Distinct words; a word that the question doesn't contain itself, but a related word of it, has a lower weight. */
  readonly words: readonly { readonly word: string; readonly weight: number }[]
  /** Words of the text, as written, that are too common to be indexed. */
  readonly leftOut: readonly string[]
  /** Quoted texts, as sequences of words. */
  readonly phrases: readonly (readonly string[])[]
  /** Whether the question asks for a time. */
  readonly asksTime: boolean
  /** Days that the question names. */
  readonly dates: readonly NamedDate[]
  /** Words with a capital letter, which may be names. */
  readonly names: readonly string[]
  /** The role whose words are sought: `user` in "what did I order?", `assistant` in "what did you recommend?". */
  readonly asksRole?: 'user' | 'assistant'
}

/** A day, a month or a year; months count from 1. */
export type NamedDate = { readonly year?: number; readonly month?: number; readonly day?: number }

/** The length up to which a text is read, in UTF-16 units. */
export const MAX_TEXT = 20_000
/** The most words and phrases that are sought. */
const [MAX_WORDS, MAX_OWN, MAX_PHRASES] = [64, 48, 8]
/** For each word of the index, the words with the same meaning. */
const SYNONYMS: ReadonlyMap<string, readonly string[]> = synonymsOf(MEANINGS)

/** Words that many questions contain. They have a lower weight, but a question of only such words still finds them. */
const GENERAL: ReadonlySet<string> = new Set(wordsOf(GENERAL_WORDS))
const GENERAL_WEIGHT = 0.6
/** The weight of a word with the same meaning. */
const SYNONYM_WEIGHT = 0.3

/** Reads a question, a name, a path, an error message, or any other text. Never throws. */
export function readQuery(text: string): SearchQuery {
  const read = text.slice(0, MAX_TEXT)
  const own = [...new Set(wordsOf(read))].slice(0, MAX_OWN)
  const words = own.map((word) => ({ word, weight: GENERAL.has(word) ? GENERAL_WEIGHT : 1 }))
  const seen = new Set(own)
  for (const word of own)
    for (const other of SYNONYMS.get(word) ?? []) {
      if (seen.has(other) || words.length >= MAX_WORDS) continue
      seen.add(other)
      words.push({ word: other, weight: SYNONYM_WEIGHT })
    }
  return {
    words,
    leftOut: leftOutOf(read),
    phrases: phrasesOf(read),
    names: namesOf(read),
    asksTime: ASKS_TIME.test(read),
    dates: datesOf(read),
    ...roleOf(read),
  }
}

/** A word, including apostrophes within it. */
const WRITTEN = /[\p{L}\p{N}\p{M}_]+(?:['’][\p{L}\p{N}\p{M}_]+)*/gu

/**
 * Returns the words that are not indexed, distinct regardless of case. A piece between spaces, such as a path, may contain indexed words
 * although its parts are not indexed.
 */
function leftOutOf(text: string): string[] {
  const found = new Map<string, string>()
  for (const piece of text.split(/\s+/)) {
    if (wordsOf(piece).length > 0) continue
    for (const [word] of piece.matchAll(WRITTEN))
      if (/[\p{L}\p{N}]/u.test(word) && found.size < MAX_OWN && !found.has(word.toLowerCase()))
        found.set(word.toLowerCase(), word)
  }
  return [...found.values()]
}

function namesOf(text: string): string[] {
  return [...new Set((text.match(/\p{Lu}\p{Ll}+/gu) ?? []).slice(0, MAX_WORDS).flatMap(wordsOf))]
}

function roleOf(text: string): { readonly asksRole?: 'user' | 'assistant' } {
  if (ABOUT_OWN_ANSWER.test(text)) return { asksRole: 'assistant' }
  return /\b(?:I|my|mine|me)\b/.test(text) ? { asksRole: 'user' } : {}
}

const QUOTED = /"([^"]{1,500})"|“([^“”]{1,500})”|«([^«»]{1,500})»|「([^「」]{1,500})」|『([^『』]{1,500})』/g

function phrasesOf(text: string): string[][] {
  const phrases: string[][] = []
  for (const [, ...groups] of text.matchAll(QUOTED)) {
    const words = wordsOf(groups.find((group) => group !== undefined) ?? '').slice(0, MAX_OWN)
    if (words.length > 0 && phrases.length < MAX_PHRASES) phrases.push(words)
  }
  return phrases
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const MONTH =
  'jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?'
const YEAR = '(?:19|20)\\d\\d'
const WRITTEN_DATE = new RegExp(
  `(?:\\b(?<before>\\d{1,2})(?:st|nd|rd|th)?(?: of)? )?\\b(?<month>${MONTH})\\b\\.?(?: (?<after>\\d{1,2})(?:st|nd|rd|th)?(?!\\d))?(?:,? (?<year>${YEAR})\\b)?`,
  'gi',
)
const NUMBERS_DATE =
  /(?<![\d-])(?<year>(?:19|20)\d\d)(?:[-/.](?<month>\d{1,2})(?:[-/.](?<day>\d{1,2}))?|年(?:(?<zhMonth>\d{1,2})月(?:(?<zhDay>\d{1,2})[日号])?)?)?(?![\d-])/g
/** `may` is a month only in a date, or if capitalized after one of these words. */
const BEFORE_MAY = /\b(?:in|of|since|until|during|last|this|next|early|late|mid|by|from) May$/

function datesOf(text: string): NamedDate[] {
  const dates: NamedDate[] = []
  for (const { index, 0: whole, groups } of text.matchAll(WRITTEN_DATE)) {
    const { before, month, after, year } = groups as Record<string, string | undefined>
    const isDate = month!.toLowerCase() !== 'may' || (before ?? after ?? year) !== undefined
    if (!isDate && !BEFORE_MAY.test(text.slice(Math.max(0, index - 10), index + whole.length))) continue
    dates.push(dateOf(year, MONTHS.indexOf(month!.slice(0, 3).toLowerCase()) + 1, before ?? after))
  }
  for (const { groups } of text.matchAll(NUMBERS_DATE)) {
    const { year, month, day, zhMonth, zhDay } = groups as Record<string, string | undefined>
    const number = Number(month ?? zhMonth ?? 0)
    if (!dates.some((date) => date.year === Number(year))) dates.push(dateOf(year, number, day ?? zhDay))
  }
  return dates.slice(0, MAX_PHRASES)
}

function dateOf(year: string | undefined, month: number, day: string | undefined): NamedDate {
  return {
    ...(year !== undefined && { year: Number(year) }),
    ...(month >= 1 && month <= 12 && { month }),
    ...(day !== undefined && Number(day) >= 1 && Number(day) <= 31 && { day: Number(day) }),
  }
}

function synonymsOf(groups: readonly string[]): Map<string, string[]> {
  const synonyms = new Map<string, string[]>()
  for (const group of groups) {
    const words = [...new Set(wordsOf(group))]
    for (const word of words)
      synonyms.set(word, [...(synonyms.get(word) ?? []), ...words.filter((other) => other !== word)])
  }
  return synonyms
}

import type { Estimator } from '../tokens.ts'
import {
  CAPITAL_PAIRS,
  LETTER_COSTS,
  LETTER_PLACES,
  SIGN_PAIRS,
  SIGN_PLACES,
  SIGN_STARTS,
  SMALL_PAIRS,
  WORD_PREFIXES,
  WORD_STARTS,
} from './calibrated-costs.ts'
import { LATIN_RANGES, LETTER_RANGES, SIGN_RANGES, WHITE_SPACE } from './calibrated-scripts.ts'
import { IMAGE_TOKEN_ESTIMATE } from './neurolink.ts'
import {
  CHAT_TOKENS_PER_CALL,
  CHAT_TOKENS_PER_CONVERSATION,
  CHAT_TOKENS_PER_MESSAGE,
  providerFactor,
} from './provider-factors.ts'

/*
 * How it counts. The tokenizer o200k first splits a text into pieces (a word with the space before it, up to three
 * digits, a run of signs, white space) and then finds the tokens within each piece. One scan finds about the same
 * pieces; each costs one token and what its letters say beyond that: common pairs of letters rarely stand astride
 * two tokens, rare ones mostly do. So English words come out at one token, random letters at one for every two.
 *
 * Where the figures come from. All cost tables were fitted by gradient descent on pieces of o200k with their true
 * numbers of tokens, each kind of content weighing about the same, with a penalty on the bias of every kind.
 * Fitted on: translations of free programs in 38 languages, the Python library, declarations and modules of npm
 * packages, C headers, shell, Perl, SQL, CSS, manuals, package.json files, and generated JSON, logs, UUIDs, hex, base64,
 * numbers, identifiers, boxes. Scripts with few letters have a cost for each, others one for all. Figures for emoji and rare signs are means over their ranges in Unicode. Not fitted on: the
 * sample texts of the published table, and the conversations in the founding documents' corpus.
 */

/** Units of `calibrated` in a token. */
const UNITS_PER_TOKEN = 16
/** What the scan adds up in: 256ths of a token. */
const TOKEN = 256
const PER_UNIT = TOKEN / UNITS_PER_TOKEN

const WHITE = 0
const LINE_END = 1
const DIGIT = 2
/** Small letters of Latin, and letters outside ASCII of either case. */
const SMALL = 3
const CAPITAL = 4
const LETTER = 5
const ASCII_SIGN = 6
const SIGN = 7

const LINE_FEED = 0x0a
const APOSTROPHE = 0x27
const BACKSLASH = 0x5c

const LATIN_SIZE = 29
const SIGN_SIZE = 32
/** The third and further equal letters in a row: o200k has tokens of eight. */
const SAME_LETTER = TOKEN / 8
/** The third and further equal signs in a row: tokens of sixteen and more. */
const SAME_SIGN = TOKEN / 16
/** White space beyond what one token holds: line ends 16, spaces 64. */
const LINE_ENDS_PER_TOKEN = 16
const SPACES_PER_TOKEN = 64
/** 's, 't, 'll after a word. Fitted. */
const CONTRACTION = 175

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-'

/** Cells of sixteenths, A = −22, as 256ths. */
function decode(lines: readonly string[]): Int16Array {
  const cells = lines.join('')
  return Int16Array.from({ length: cells.length }, (_, cell) => {
    return (ALPHABET.indexOf(cells.charAt(cell)) - 22) * (TOKEN / 16)
  })
}

const wordStarts = decode(WORD_STARTS)
const smallPairs = decode(SMALL_PAIRS)
const capitalPairs = decode(CAPITAL_PAIRS)
const letterPlaces = decode(LETTER_PLACES)
const wordPrefixes = decode(WORD_PREFIXES)
const signStarts = decode(SIGN_STARTS)
const signPairs = decode(SIGN_PAIRS)
const signPlaces = decode(SIGN_PLACES)
const LAST_LETTER_PLACE = letterPlaces.length - 1
const LAST_SIGN_PLACE = signPlaces.length - 2

/** Of every UTF-16 unit: its class in the upper three bits, its index in the Latin or the sign tables in the lower five. */
const kinds = new Uint8Array(65_536).fill(SIGN << 5)
const firstCosts = new Int16Array(65_536).fill(TOKEN)
const furtherCosts = new Int16Array(65_536).fill(2 * TOKEN)
const FIRST_LATIN = SMALL << 5
const CAPITALS = CAPITAL << 5
const BEHIND_LATIN = (CAPITAL + 1) << 5

for (const [from, to, each] of SIGN_RANGES) firstCosts.fill(each, from, to + 1)
for (const [from, to, first, further] of LETTER_RANGES) {
  kinds.fill(LETTER << 5, from, to + 1)
  firstCosts.fill(first, from, to + 1)
  furtherCosts.fill(further, from, to + 1)
}
for (const { from, first, further } of LETTER_COSTS) {
  decode([first]).forEach((cost, at) => {
    if ((kinds[from + at] as number) >> 5 === LETTER) firstCosts[from + at] = cost
  })
  furtherCosts.set(decode([further]), from)
}
for (const [from, to, index] of LATIN_RANGES) kinds.fill(FIRST_LATIN | index, from, to + 1)
for (let unit = 0x21, index = 0; unit < 0x7f; unit++) {
  if (unit >= 0x30 && unit <= 0x39) kinds[unit] = DIGIT << 5
  else if (unit >= 0x41 && unit <= 0x5a) kinds[unit] = CAPITALS | (unit - 0x41)
  else if (unit >= 0x61 && unit <= 0x7a) kinds[unit] = FIRST_LATIN | (unit - 0x61)
  else kinds[unit] = (ASCII_SIGN << 5) | index++
}
for (const white of WHITE_SPACE) kinds[white] = WHITE
for (const end of [LINE_FEED, 0x0d]) kinds[end] = LINE_END << 5

/** Units of `calibrated` for a text: sixteenths of a token of o200k, about. One scan, linear in the length. */
export function measureCalibrated(text: string): number {
  const { length } = text
  let cost = 0
  let at = 0
  /** What stands right before: 0 nothing that joins, 1 a space, 2 a sign of ASCII that is a run of its own. */
  let before = 0
  let sign = 0
  while (at < length) {
    const start = at
    const unit = text.charCodeAt(at)
    const first = kinds[unit] as number
    const kind = first >> 5
    if (kind === SMALL || kind === CAPITAL) {
      let previous = first
      let word = wordStarts[(before * 2 + kind - SMALL) * LATIN_SIZE + (first & 31)] as number
      if (before === 2) word += wordPrefixes[sign] as number
      let isSame = false
      for (at++; at < length; at++) {
        const next = kinds[text.charCodeAt(at)] as number
        if (next < FIRST_LATIN || next >= BEHIND_LATIN) break
        if (next >= CAPITALS && previous < CAPITALS) break
        if (next === previous && isSame) {
          word += SAME_LETTER
          continue
        }
        isSame = next === previous
        const place = at - start
        word +=
          ((next >= CAPITALS
            ? capitalPairs[(previous & 31) * 26 + (next & 31)]
            : smallPairs[(previous & 31) * LATIN_SIZE + (next & 31)]) as number) +
          (letterPlaces[place < LAST_LETTER_PLACE ? place : LAST_LETTER_PLACE] as number)
        previous = next
      }
      cost += word > 0 ? TOKEN + word : TOKEN
      before = 0
      if (at < length && text.charCodeAt(at) === APOSTROPHE) {
        const suffix = contractionAt(text, at + 1)
        if (suffix > 0) {
          cost += CONTRACTION
          at += 1 + suffix
        }
      }
    } else if (kind === WHITE || kind === LINE_END) {
      let behindLines = kind === LINE_END ? at + 1 : at
      for (at++; at < length; at++) {
        const next = (kinds[text.charCodeAt(at)] as number) >> 5
        if (next === LINE_END) behindLines = at + 1
        else if (next !== WHITE) break
      }
      if (behindLines > start) cost += runCost(behindLines - start, LINE_ENDS_PER_TOKEN)
      let spaces = at - behindLines
      before = 0
      if (spaces > 0 && at < length) {
        // The last space joins a word or a run of signs; before digits it stands alone.
        if ((kinds[text.charCodeAt(at)] as number) >> 5 === DIGIT) cost += TOKEN
        else before = 1
        spaces--
      }
      if (spaces > 0) cost += runCost(spaces, SPACES_PER_TOKEN)
    } else if (kind === ASCII_SIGN) {
      sign = first & 31
      at++
      const next = at < length ? (kinds[text.charCodeAt(at)] as number) : WHITE
      if (before === 0 && next >= FIRST_LATIN && next < BEHIND_LATIN) {
        // A single sign joins the word after it, but an escape in JSON is a token of its own.
        before = 2
        if (unit === BACKSLASH && isEscape(text.charCodeAt(at))) {
          cost += TOKEN
          at++
          before = 0
        }
        continue
      }
      let run = signStarts[before * SIGN_SIZE + sign] as number
      let previous = first
      let isSame = false
      for (; at < length; at++) {
        const following = kinds[text.charCodeAt(at)] as number
        if (following >> 5 !== ASCII_SIGN) break
        if (following === previous && isSame) {
          run += SAME_SIGN
          continue
        }
        isSame = following === previous
        const place = at - start
        run +=
          (signPairs[(previous & 31) * (SIGN_SIZE + 1) + (following & 31)] as number) +
          (signPlaces[place < LAST_SIGN_PLACE ? place : LAST_SIGN_PLACE] as number)
        previous = following
      }
      // Line ends right after signs belong to them.
      let ends = 0
      while (at < length && (kinds[text.charCodeAt(at)] as number) >> 5 === LINE_END) {
        if (text.charCodeAt(at) === LINE_FEED) ends++
        at++
      }
      if (ends > 0) run += signPairs[(previous & 31) * (SIGN_SIZE + 1) + SIGN_SIZE] as number
      if (ends > 1) run += runCost(ends, LINE_ENDS_PER_TOKEN) - TOKEN
      cost += run > 0 ? TOKEN + run : TOKEN
      before = 0
    } else if (kind === DIGIT) {
      for (at++; at < length && (kinds[text.charCodeAt(at)] as number) >> 5 === DIGIT; ) at++
      cost += Math.ceil((at - start) / 3) * TOKEN
      before = 0
    } else if (kind === LETTER) {
      let word = firstCosts[unit] as number
      for (at++; at < length; at++) {
        const next = text.charCodeAt(at)
        if ((kinds[next] as number) >> 5 !== LETTER) break
        word += furtherCosts[next] as number
      }
      cost += word > 0 ? TOKEN + word : TOKEN
      before = 0
    } else {
      cost += firstCosts[unit] as number
      for (at++; at < length && text.charCodeAt(at) === unit && (unit < 0xd800 || unit > 0xdfff); at++)
        cost += SAME_SIGN
      before = 0
    }
  }
  return length === 0 ? 0 : Math.max(1, Math.round(cost / PER_UNIT))
}

/** What `count` white characters cost when one token holds `perToken` of them. */
function runCost(count: number, perToken: number): number {
  return TOKEN + (count > perToken ? Math.round(((count - 1) * TOKEN) / perToken) : 0)
}

/** Whether a backslash and this make a line end, a tab or a return in JSON and in code. */
function isEscape(unit: number): boolean {
  return unit === 0x6e || unit === 0x74 || unit === 0x72
}

/** How many letters of a contraction ('s 't 'd 'm 'll 've 're) stand at `at`; 0 for none. */
function contractionAt(text: string, at: number): number {
  const first = text.charCodeAt(at) | 0x20
  if ((first === 0x73 || first === 0x74 || first === 0x64 || first === 0x6d) && isWordEnd(text, at + 1))
    return 1
  const second = text.charCodeAt(at + 1) | 0x20
  const isTwo = (first === 0x6c && second === 0x6c) || ((first === 0x76 || first === 0x72) && second === 0x65)
  return isTwo && isWordEnd(text, at + 2) ? 2 : 0
}

function isWordEnd(text: string, at: number): boolean {
  const kind = at < text.length ? (kinds[text.charCodeAt(at)] as number) : WHITE
  return kind < FIRST_LATIN || kind >= BEHIND_LATIN
}

/**
 * Counts without a tokenizer and comes out close to true sizes for every kind of content: the figures, kind by kind,
 * are in `docs/estimators.md`. Unbiased: no margin on top.
 */
export const calibratedEstimator: Estimator = {
  name: 'calibrated',
  measureText: (text) => measureCalibrated(text),
  mediaTokens: IMAGE_TOKEN_ESTIMATE,
  unitsPerCall: CHAT_TOKENS_PER_CALL * UNITS_PER_TOKEN,
  unitsPerToken: UNITS_PER_TOKEN,
  toTokens: (units, provider) => Math.ceil((units / UNITS_PER_TOKEN) * providerFactor(provider)),
  tokensPerMessage: CHAT_TOKENS_PER_MESSAGE,
  tokensPerConversation: CHAT_TOKENS_PER_CONVERSATION,
}

import { LEVELS, PAIR_COSTS, RUN_COSTS } from './calibrated-costs.ts'
import type { Estimator } from './estimator-schema.ts'
import { IMAGE_TOKEN_ESTIMATE } from './neurolink.ts'
import {
  CHAT_TOKENS_PER_CALL,
  CHAT_TOKENS_PER_CONVERSATION,
  CHAT_TOKENS_PER_MESSAGE,
  providerFactor,
} from './provider-factors.ts'

/*
 * How it counts. Every UTF-16 unit costs what the beginning of a token is worth there, on average, behind the unit
 * before it: a letter behind a space nearly one token, common pairs of letters inside a word nearly nothing, rare ones (and
 * so random letters) half of one, digits a third, a Chinese character some two thirds. A table of pairs of classes, one
 * look-up a unit: it runs at every append. What a longer beginning of a text costs is never less.
 *
 * Where the figures come from. They were fitted to the token counts of o200k on stretches of a thousand units: bounded
 * least squares of relative errors, drawn towards the counted share of token beginnings of each pair, every kind of content
 * with a weight of its own. Fitted on: translations of free programs in 45 languages, the Python library, declarations and
 * modules of npm packages, C headers, shell, Perl, manuals, package.json files, all of these also as escaped JSON, numbered,
 * as differences and with tabs, this project's own pages and founding documents, and generated JSON, logs, UUIDs, hex, base64,
 * numbers, emoji, boxes, ANSI. Not fitted on: the sample texts of the published table, and the recorded conversations.
 */

/** Units of `calibrated` in a token. */
const UNITS_PER_TOKEN = 16
/** What the scan adds up in: 256ths of a token. */
const PER_UNIT = 256 / UNITS_PER_TOKEN
/** The most a unit costs: four tokens. */
const MOST = 1_024

/** Where the classes beyond ASCII begin, roughly a script each; each ends where the next begins. */
const CLASS_STARTS = [
  0x80, 0xc0, 0x250, 0x370, 0x400, 0x530, 0x590, 0x600, 0x900, 0x980, 0xb00, 0xb80, 0xc00, 0xe00, 0xe80,
  0x1e00, 0x1f00, 0x2070, 0x2500, 0x25a0, 0x3000, 0x3040, 0x3100, 0x4e00, 0xa000, 0xac00, 0xd800, 0xdc00,
  0xe000,
]
const LINE_END = 96
const CONTROL = 97
const CLASSES = CONTROL + 1 + CLASS_STARTS.length

/** The class of every unit: 1 to 95 the signs of ASCII in order, then line ends, controls, scripts. 0 is the beginning of a text. */
const classes = new Uint8Array(65_536).fill(CONTROL, 0, 0x80)
for (let unit = 0x20; unit < 0x7f; unit++) classes[unit] = unit - 0x1f
classes[0x0a] = LINE_END
classes[0x0d] = LINE_END
for (const [index, start] of CLASS_STARTS.entries()) classes.fill(CONTROL + 1 + index, start)

/** What each sign of the tables stands for, 256ths of a token. */
const costs: ReadonlyMap<string, number> = new Map(
  Array.from(LEVELS, (sign, level) => [sign, Math.round(MOST * (level / (LEVELS.length - 1)) ** 2)]),
)

/** Costs by 128 × the class before + the class, 256ths of a token. */
const pairCosts = new Uint16Array(128 * 128)
const runCosts = new Uint16Array(128)
for (let before = 0; before < CLASSES; before++) pairCosts.set(decode(PAIR_COSTS[before]), before * 128 + 1)
runCosts.set(decode(RUN_COSTS), 1)

/*
 * Scripts the tables were not fitted on, for want of texts: o200k has hardly a token for them and takes their UTF-8 bytes nearly
 * one by one. Costs measured on sentences of each, without their blanks, 256ths of a token.
 */
/** The one class the tables leave free: scripts at some two tokens a character. */
const SCARCE = 127
/** Yi, Vai, Javanese and their neighbours: nearly a token a byte. */
const SCARCEST = classes[0xa000] as number
const ORIYA = classes[0xb00] as number
const UNFITTED: readonly (readonly [
  own: number,
  cost: number,
  blocks: readonly (readonly [number, number])[],
])[] = [
  [ORIYA, 256, [[0xb00, 0xb80]]],
  // Syriac, Thaana, N'Ko and Samaritan; Lao and Tibetan; Ethiopic.
  [
    SCARCE,
    512,
    [
      [0x700, 0x750],
      [0x780, 0x8a0],
      [0xe80, 0x1000],
      [0x1200, 0x13a0],
    ],
  ],
  // Cherokee, Canadian syllables, runes, scripts of the Philippines; Mongolian to Ol Chiki.
  [
    SCARCEST,
    700,
    [
      [0x13a0, 0x1780],
      [0x1800, 0x1c80],
    ],
  ],
]
const LIKE = classes[0x1000] as number
for (let own = 0; own < 128; own++) pairCosts[(SCARCE << 7) | own] = pairCosts[(LIKE << 7) | own] as number
for (const [own, cost, blocks] of UNFITTED) {
  for (const [from, to] of blocks) classes.fill(own, from, to)
  for (let before = 0; before < 128; before++) pairCosts[(before << 7) | own] = cost
  runCosts[own] = cost
}

function decode(signs = ''): number[] {
  return Array.from(signs, (sign) => costs.get(sign) ?? 0)
}

/** The beginning of a text that is looked at whole, in units. */
const WHOLE = 1_024
/** Of what comes behind it, a quarter is looked at: the first units of each block. */
const BLOCK = 1_024
const LOOKED_AT = 256

/** Where what is looked at is copied to: reading a typed array takes half the time of `charCodeAt`. */
const units = new Uint16Array(WHOLE)
const bytes = Buffer.from(units.buffer)

/**
 * Units of `calibrated` for a text: sixteenths of a token of o200k, about. Of a long text a quarter stands for the rest:
 * tool outputs are most of what is appended, and alike over some hundreds of units.
 */
export function measureCalibrated(text: string): number {
  const { length } = text
  if (length === 0) return 0
  let cost = scan(text, 0, Math.min(length, WHOLE))
  for (let from = WHOLE; from < length; from += BLOCK) {
    const inBlock = Math.min(BLOCK, length - from)
    const count = Math.min(LOOKED_AT, inBlock)
    cost += scan(text, from, count) * (inBlock / count)
  }
  return Math.max(1, Math.round(cost / PER_UNIT))
}

/** What `count` units from a place on cost, in 256ths of a token. */
function scan(text: string, from: number, count: number): number {
  bytes.write(count === text.length ? text : text.slice(from, from + count), 'utf16le')
  let cost = 0
  let last = from === 0 ? -1 : text.charCodeAt(from - 1)
  let before = from === 0 ? 0 : (classes[last] as number)
  let isPair = false
  for (let at = 0; at < count; at++) {
    const unit = units[at] as number
    const own = classes[unit] as number
    if (unit === last && isPair) {
      cost += runCosts[own] as number
    } else {
      cost += pairCosts[(before << 7) | own] as number
      isPair = unit === last
    }
    before = own
    last = unit
  }
  return cost
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

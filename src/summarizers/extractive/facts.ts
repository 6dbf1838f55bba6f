import { withoutTrailing } from '../../messages/characters.ts'
import { isObject, type Json, parsedJson } from '../../messages/json.ts'
import { type Call, outputHead } from '../calls.ts'
import { oneLine } from '../text.ts'
import type { Conversation, SeenCall } from './conversation.ts'

/** Words of many programming languages that look like a function name. */
export const KEYWORDS: ReadonlySet<string> = new Set(
  'if else elif for while do switch case catch try except finally return function constructor with new super this self await async yield throw raise typeof instanceof in of is not and or def fn func fun class interface type enum struct trait impl const let var val static import export from default extends implements match when where pub mut ref print true false null undefined None True False void string number boolean int float bool str any unknown never get set init assert expect describe test it Map Set Array Object String Number Boolean Date Error Promise Symbol RegExp Math JSON len range list dict tuple println printf format'.split(
    ' ',
  ),
)

/** The minimum and maximum length of a name. */
const SHORTEST = 3
const LONGEST = 60

/** Whether a name looks like an identifier: camel case, underscores or digits within. */
export function isTellingName(name: string): boolean {
  return (
    name.length >= SHORTEST &&
    name.length <= LONGEST &&
    /[\w.]\/[\w.]|[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|[A-Z]{2}[a-z]/.test(name)
  )
}

/**
 * Counts the names in code: names of several words, and names that are called. Reads the text once, unit by unit.
 */
export function countNames(text: string, counts: Map<string, number>): void {
  let start = -1
  let isCompound = false
  let isWord = false
  for (let i = 0; i <= text.length; i++) {
    const c = i < text.length ? text.charCodeAt(i) : 0
    const isLower = c >= 0x61 && c <= 0x7a
    const isUpper = c >= 0x41 && c <= 0x5a
    const isDigit = c >= 0x30 && c <= 0x39
    if (isLower || isUpper || isDigit || c === 0x5f || c === 0x24) {
      if (start < 0) {
        start = i
        isCompound = false
        isWord = !isDigit
      } else if (!isCompound && (isUpper || c === 0x5f)) {
        const before = text.charCodeAt(i - 1)
        isCompound = isUpper
          ? (before >= 0x61 && before <= 0x7a) || (before >= 0x30 && before <= 0x39)
          : i > start
      }
      continue
    }
    if (start >= 0 && isWord && i - start >= SHORTEST && i - start <= LONGEST && (isCompound || c === 0x28)) {
      const name = text.slice(start, i)
      if (isCompound ? /^[^_]|[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]/.test(name) : !KEYWORDS.has(name)) {
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
    }
    start = -1
  }
}

/** Paths, and file names with a common extension. */
const PATHS =
  /(?:[\w@.~-]{0,60}\/){1,12}[\w@.-]{2,60}|\b[\w-]{1,60}\.(?:[cm]?[jt]sx?|jsonl?|md|txt|py|rs|go|java|kt|rb|php|cs|cpp|[ch]|sql|ya?ml|toml|lock|sh|css|html|vue|svelte|csv|log|env)\b/g

/** Counts the paths and file names of a text. */
export function countPaths(text: string, counts: Map<string, number>): void {
  for (const [match] of text.matchAll(PATHS)) {
    const path = withoutTrailing(match, '.-')
    // "and/or" is not a path.
    if (path.length > LONGEST * 2 || !/\.\w|\/.*\//.test(path)) continue
    counts.set(path, (counts.get(path) ?? 0) + 2)
  }
}

/** A number, an id, a date or an amount, with its name. */
export type Fact = { readonly name: string; readonly value: string; readonly weight: number }

/** The units that are read of one result or of one call's arguments, and of all of them. */
const ONE_UNITS = 12_000
export const ALL_FACT_UNITS = 600_000
/** The units that are searched for mentions: of one text, and of all. */
const TEXT_UNITS = 3_000
const ALL_TEXT_UNITS = 400_000
/** The maximum number of facts, and of leaves read of one value. */
const MAX_FACTS = 400
const MAX_LEAVES = 600

/** A value worth keeping: one word with a digit or an at sign. */
const VALUE = /^(?:(?=[^\d@]{0,40}[\d@])[\w@.#$:+/%-]{3,64}|[A-Z]{5,20})$/
/** A time of day means little without its date. */
const TIME = /^\d{1,2}:\d\d(?::\d\d)?(?:\+\d)?$/
const MENTION =
  /[€£¥] ?\d[\d.,]{0,14}|\b\d[\d.,]{0,14}[ \u00a0\u202f]?(?:€|£|¥|[万億亿千]?[元円]|(?:EUR|USD|GBP|CHF)\b)|\b\d{1,2}\.\d{1,2}\.\d{4}\b|\$\d[\d,]{0,12}(?:\.\d{1,2})?|#?\b(?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9][\w-]{2,60}\b|[\w.+-]{1,60}@[\w-]{1,60}\.[\w.-]{2,40}/g

type Known = { name: string; mentions: number; last: number }

/**
 * Ids, figures and dates from the data of tools and from messages, frequent and recent ones first. The content of files and
 * commands is covered elsewhere.
 */
export function factsIn({ calls, texts: items }: Conversation, earlier: readonly Fact[]): Fact[] {
  const known = new Map<string, Known>()
  const end = Math.max(calls.at(-1)?.result?.at ?? calls.at(-1)?.at ?? 0, items.at(-1)?.at ?? 0) + 1
  for (const { name, value } of earlier) known.set(value, { name, mentions: 1, last: 0 })
  let room = ALL_FACT_UNITS
  for (let i = calls.length - 1; i >= 0 && room > 0; i--) {
    const call = calls[i]!
    if (call.effect !== 'other') continue
    room -= factUnits(call)
    if (!isCommandLine(call)) addCall(call, known)
  }
  let textRoom = ALL_TEXT_UNITS
  for (let i = items.length - 1; i >= 0 && textRoom > 0; i--) {
    const { text, at } = items[i]!
    const head = text.slice(0, TEXT_UNITS)
    textRoom -= head.length
    for (const [match] of head.matchAll(MENTION)) {
      const value = withoutTrailing(match, '.,-')
      const fact = known.get(value) ?? known.get(value.replace(/^[$€£¥#] ?/, ''))
      if (fact !== undefined) mention(fact, at, 2)
      else if (isMoney(value) || value.length >= 5)
        known.set(value, { name: MENTIONED, mentions: 1, last: at })
    }
  }
  const alike = new Map<string, number>()
  for (const { name } of known.values()) alike.set(name, (alike.get(name) ?? 0) + 1)
  return [...known]
    .map(([value, { name, mentions, last }]) => ({
      name,
      value,
      // Frequent and recent values, keys, and values whose name is rare: not one of forty prices.
      weight:
        Math.min(6, mentions) +
        (3 * last) / end +
        kindWeight(name, value) +
        6 / Math.sqrt(alike.get(name) ?? 1) -
        (name === MENTIONED ? 2 : 0),
    }))
    .sort((a, b) => b.weight - a.weight || (a.value < b.value ? -1 : 1))
    .slice(0, MAX_FACTS)
}

/** Keys matter most, then money; addresses and moments least. */
function kindWeight(name: string, value: string): number {
  if (/@|T\d\d:/.test(value)) return -2
  if (KEY.test(value.slice(0, LONGEST_KEY))) return 3
  return MONEY.test(name) || isMoney(value) ? 2 : 0
}

/** An amount with a currency sign. */
function isMoney(value: string): boolean {
  return /^[$€£¥]|^\d.*(?:[€£¥元円]|EUR|USD|GBP|CHF)$/.test(value)
}

const MONEY = /amount|price|total|cost|fee|fare|balance|paid|sum\b/i

/** The name of values that only messages mention. */
const MENTIONED = 'mentioned'
/** The units of a value that are searched for a key: values of an earlier summary may have any length. */
const LONGEST_KEY = 200
/** Letters and digits together, or a word in capitals. */
const KEY = /^(?=.{5})(?:[^\d]*[A-Za-z_][\w-]*\d|\d+[A-Za-z]|[A-Z]{5})/

function mention(fact: Known, at: number, times: number): void {
  fact.mentions += times
  fact.last = Math.max(fact.last, at)
}

/** Whether a call runs a command line, which is not data. */
export function isCommandLine({ input, kept }: SeenCall): boolean {
  return kept?.isCommand ?? (isObject(input) && (input.command !== undefined || input.cmd !== undefined))
}

/** The units of a call that count towards the limit for all facts. */
export function factUnits(call: SeenCall): number {
  return call.result === undefined || isCommandLine(call) ? 100 : ONE_UNITS / 4
}

/** Records the values of a call's arguments and of its result. */
function addCall(call: SeenCall, known: Map<string, Known>): void {
  const note = (at: number, times: number) => (name: string, value: string) => {
    const fact = known.get(value)
    if (fact === undefined) known.set(value, { name, mentions: times, last: at })
    else {
      if (fact.name === MENTIONED) fact.name = name
      mention(fact, at, times)
    }
  }
  leaves(call.input, note(call.at, 2))
  const data = dataOf(call)
  if (data !== undefined) leaves(data, note(call.result!.at, 1))
}

/** A result as data, if it is data. */
export function dataOf({ result }: Call): Json | undefined {
  if (result === undefined) return undefined
  const { output } = result
  if (output.type === 'json' && typeof output.value !== 'string') return output.value
  const text = outputHead(output, ONE_UNITS + 1)
  if (text.length > ONE_UNITS || !/^\s*[[{]/.test(text)) return undefined
  return parsedJson(text)
}

/** Visits the values of data that are worth keeping, with their names. */
function leaves(data: Json, visit: (name: string, value: string) => void): void {
  let left = MAX_LEAVES
  const walk = (value: Json | undefined, name: string, around: string, depth: number): void => {
    if (left-- <= 0 || depth > 6) return
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value)
      const isWorth =
        typeof value === 'number' ? Math.abs(value) >= 100 : VALUE.test(text) && !TIME.test(text)
      if (isWorth) visit(/^id$/i.test(name) && around !== '' ? `${around} id` : name || 'value', text)
    } else if (Array.isArray(value))
      for (const item of value as readonly Json[]) walk(item, name, around, depth + 1)
    else if (isObject(value)) {
      for (const [key, inner] of Object.entries(value)) {
        // A map with ids as keys: an id is not a name.
        const isName = !/\d/.test(key)
        walk(
          inner,
          isName ? oneLine(key).slice(0, 40) : name,
          isName && isObject(inner) ? key : isName ? name : around,
          depth + 1,
        )
        if (left <= 0) return
      }
    }
  }
  walk(data, '', '', 0)
}

const LEAD = 'Facts — '

/** Facts as a line of at most about `max` units, most important first, grouped by name: `Facts — user_id: a; date: b, c`. */
export function writeFacts(facts: readonly Fact[], max: number): string {
  const groups = new Map<string, string[]>()
  let room = max - LEAD.length
  for (const { name, value } of facts) {
    const values = groups.get(name)
    const cost = value.length + 2 + (values === undefined ? name.length + 2 : 0)
    if (cost > room) continue
    room -= cost
    if (values === undefined) groups.set(name, [value])
    else values.push(value)
  }
  if (groups.size === 0) return ''
  return LEAD + [...groups].map(([name, values]) => `${name}: ${values.join(', ')}`).join('; ')
}

/** Reads facts from a line of `writeFacts`. */
export function readFacts(line: string): Fact[] | undefined {
  if (!line.startsWith(LEAD)) return undefined
  return line
    .slice(LEAD.length)
    .split('; ')
    .flatMap((group) => {
      const colon = group.indexOf(': ')
      if (colon < 0) return []
      const name = group.slice(0, colon)
      return group
        .slice(colon + 2)
        .split(', ')
        .filter((value) => value !== '')
        .map((value) => ({ name, value, weight: 0 }))
    })
}

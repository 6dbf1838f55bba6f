import type { Json } from '../../messages/json.ts'
import { type Call, isObject, outputHead } from '../calls.ts'
import { oneLine, shorten } from '../text.ts'
import { type Conversation, callLabel, errorLine } from './conversation.ts'
import { dataOf } from './facts.ts'
import { countNames, countPaths } from './names.ts'

/** What calls answered, those about files aside. */
export type Result = { readonly text: string; readonly key: string; readonly at: number }

/** Newest calls looked at, units read of one answer, and of all. */
const MAX_CALLS = 300
const ONE_UNITS = 6_000
const ALL_UNITS = 400_000
/** Most units told of one answer. */
const TOLD_UNITS = 700

/**
 * What calls answered, newest first, one line each: data as names and values, of other text the files and names in it
 * that are not among `told`, to which they are added.
 */
export function resultsIn({ calls }: Conversation, told: Set<string>): Result[] {
  const found: Result[] = []
  const seen = new Set<string>()
  let room = ALL_UNITS
  for (let i = calls.length - 1; i >= 0 && i >= calls.length - MAX_CALLS && room > 0; i--) {
    const call = calls[i]!
    if (call.effect !== 'other' || call.result === undefined) continue
    const label = callLabel(call, 80)
    if (seen.has(label)) continue
    seen.add(label)
    room -= ONE_UNITS / 4
    if (errorLine(call) !== undefined) continue
    const data = dataOf(call)
    if (data !== undefined) {
      const text = tell(data, 0)
      if (text.length > 2)
        found.push({ text: `${label} gave ${shorten(text, TOLD_UNITS)}`, key: label, at: call.at })
      continue
    }
    const names = namesIn(call, told)
    if (names.length > 0) found.push({ text: `${label} showed ${names.join(', ')}`, key: label, at: call.at })
  }
  return found
}

/** Data in words: `name value, name value`; of a list of objects of one shape the names once and the values of each. */
function tell(data: Json | undefined, depth: number): string {
  if (data === null || data === undefined || depth > 5) return ''
  if (typeof data !== 'object') return shorten(oneLine(String(data)), 80)
  if (Array.isArray(data)) return tellList(data as readonly Json[], depth)
  const parts: string[] = []
  for (const [name, value] of Object.entries(data).slice(0, 60)) {
    const text = tell(value as Json, depth + 1)
    if (text === '') continue
    const isNested = isObject(value as Json)
    parts.push(isNested ? `${name} (${text})` : `${name} ${text}`)
  }
  return parts.join(', ')
}

function tellList(items: readonly Json[], depth: number): string {
  const few = items.slice(0, 40)
  const [first] = few
  if (!isObject(first)) return few.map((item) => tell(item, depth + 1)).join(', ')
  const names = Object.keys(first).slice(0, 12)
  const rows = few.map((item) =>
    names
      .map((name) => (isObject(item) ? tellCell(item[name], depth) : ''))
      .join(' ')
      .trim(),
  )
  return `[${names.join(' ')}] ${rows.join('; ')}`
}

function tellCell(value: Json | undefined, depth: number): string {
  const text = tell(value, depth + 1)
  return typeof value === 'object' && value !== null ? `(${text})` : text
}

/** Most names told of one answer. */
const MAX_NAMES = 40

function namesIn(call: Call, told: Set<string>): string[] {
  const text = outputHead(call.result!.output, ONE_UNITS)
  const names = new Map<string, number>()
  countPaths(text, names)
  countNames(text, names)
  const fresh: string[] = []
  for (const name of names.keys()) {
    if (told.has(name) || fresh.length >= MAX_NAMES) continue
    told.add(name)
    fresh.push(name)
  }
  return fresh
}

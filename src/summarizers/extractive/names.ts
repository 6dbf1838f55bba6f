import { withoutTrailing } from '../../messages/characters.ts'
/** Words of many languages that look like the name of a function or stand where one would. */
export const KEYWORDS: ReadonlySet<string> = new Set(
  'if else elif for while do switch case catch try except finally return function constructor with new super this self await async yield throw raise typeof instanceof in of is not and or def fn func fun class interface type enum struct trait impl const let var val static import export from default extends implements match when where pub mut ref print true false null undefined None True False void string number boolean int float bool str any unknown never get set init assert expect describe test it Map Set Array Object String Number Boolean Date Error Promise Symbol RegExp Math JSON len range list dict tuple println printf format'.split(
    ' ',
  ),
)

/** Shortest and longest name that is told. */
const SHORTEST = 3
const LONGEST = 60

/** Whether a name says something by itself: humps, underscores or digits within, as programs name things. */
export function isTellingName(name: string): boolean {
  return (
    name.length >= SHORTEST &&
    name.length <= LONGEST &&
    /[\w.]\/[\w.]|[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|[A-Z]{2}[a-z]/.test(name)
  )
}

/**
 * Counts the names in a text of code: those of several words, and those that are called. A text is gone through once,
 * unit by unit.
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

/** Paths, and names of files of usual kinds. */
export const PATHS =
  /(?:[\w@.~-]{0,60}\/){1,12}[\w@.-]{2,60}|\b[\w-]{1,60}\.(?:[cm]?[jt]sx?|jsonl?|md|txt|py|rs|go|java|kt|rb|php|cs|cpp|[ch]|sql|ya?ml|toml|lock|sh|css|html|vue|svelte|csv|log|env)\b/g

/** Counts the paths and files that a text names. */
export function countPaths(text: string, counts: Map<string, number>): void {
  for (const [match] of text.matchAll(PATHS)) {
    const path = withoutTrailing(match, '.-')
    // "and/or" is none.
    if (path.length > LONGEST * 2 || !/\.\w|\/.*\//.test(path)) continue
    counts.set(path, (counts.get(path) ?? 0) + 2)
  }
}

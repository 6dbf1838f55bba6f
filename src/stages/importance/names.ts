import { excerpt } from './words.ts'

/*
 * Names that tell one thing from another, found in a text: paths, files, identifiers of code, ids. Read character by character,
 * for all that was said and answered is read when messages are scored. The classes are of ASCII; any other letter is a letter.
 */

const BREAK = 0
const LOWER = 1
const UPPER = 2
const DIGIT = 3
/** Stands between letters: `_`, `$`, `@`, `.`. */
const JOINT = 4
const HYPHEN = 5
const SLASH = 6

const CLASSES = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/[a-z]/.test(character)) return LOWER
  if (/[A-Z]/.test(character)) return UPPER
  if (/[0-9]/.test(character)) return DIGIT
  if (/[_$@.]/.test(character)) return JOINT
  if (character === '-') return HYPHEN
  return /[/\\]/.test(character) ? SLASH : BREAK
})

function classOf(code: number): number {
  if (code < 128) return CLASSES[code]!
  // Latin signs, general punctuation, and that of East Asia.
  const isPunctuation =
    code < 0xc0 || (code >= 0x2000 && code <= 0x206f) || (code >= 0x3000 && code <= 0x303f) || code >= 0xff00
  return isPunctuation ? BREAK : LOWER
}

/** Most names that are taken of one text: a listing has thousands, and each alone says little. */
const MOST_NAMES = 100
/** Shortest and longest name, in characters. */
const LEAST_LENGTH = 4
const MOST_LENGTH = 120

/**
 * Adds the telling names in a text to a set, in lower case: `snake_case`, `camelCase`, `a.b`, `id42`, `a-long-id`. Plain words and
 * numbers are in every text and tell nothing. A path goes by its last step, for who refers to a file rarely repeats the rest;
 * when that is a plain word, by all of it. Linear.
 */
export function addNames(text: string, names: Set<string>): void {
  const read = excerpt(text)
  const most = names.size + MOST_NAMES
  const word = new Word()
  for (let at = 0; at <= read.length; at++) {
    const kind = at === read.length ? BREAK : classOf(read.charCodeAt(at))
    if (kind !== BREAK) {
      word.add(at, kind)
      continue
    }
    const name = word.take(read)
    if (name === undefined) continue
    names.add(name)
    if (names.size >= most) return
  }
}

/** A run of characters that may be a name, while it is read. */
class Word {
  #start = -1
  /** Where the last step of a path begins, and how many stand before it. */
  #step = -1
  #steps = 0
  /** Behind the last letter, digit or underscore. */
  #end = -1
  #before = BREAK
  #letters = false
  #telling = false
  #hyphens = 0

  add(at: number, kind: number): void {
    if (kind === SLASH) {
      this.#steps += 1
      this.#newStep()
    } else if (kind === HYPHEN) {
      if (this.#before !== BREAK && this.#before !== HYPHEN) this.#hyphens += 1
    } else if (kind === JOINT) {
      if (this.#before === BREAK) this.#begin(at)
    } else {
      this.#begin(at)
      this.#end = at + 1
      if (kind !== DIGIT) this.#letters = true
      if (kind === DIGIT || this.#before === JOINT || (kind === UPPER && this.#before === LOWER))
        this.#telling = true
    }
    this.#before = kind
  }

  #begin(at: number): void {
    if (this.#start < 0) this.#start = at
    if (this.#step < 0) this.#step = at
  }

  #newStep(): void {
    this.#step = -1
    this.#letters = false
    this.#telling = false
    this.#hyphens = 0
  }

  /** The name the run is, if it is one. The next run may begin. */
  take(text: string): string | undefined {
    const name = this.#name(text)
    this.#start = -1
    this.#end = -1
    this.#steps = 0
    this.#before = BREAK
    this.#newStep()
    return name
  }

  #name(text: string): string | undefined {
    const isTelling = this.#letters && (this.#telling || this.#hyphens > 1)
    const from = isTelling ? this.#step : this.#steps > 1 ? this.#start : -1
    const length = this.#end - from
    if (from < 0 || length < LEAST_LENGTH || length > MOST_LENGTH) return undefined
    return text.slice(from, this.#end).toLowerCase()
  }
}

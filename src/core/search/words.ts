import { codePointStart } from '../messages/characters.ts'
import { markupPieces } from '../messages/client-markup.ts'
import type { Json } from '../messages/json.ts'
import { type Message, type Part, partsOf, type RowKind, type ToolResultOutput } from '../messages/message.ts'
import { IRREGULAR, STOP_WORDS } from './english.ts'
import { stemOf } from './stem.ts'

/** The longest indexed word, in UTF-16 units. */
const MAX_WORD_LENGTH = 40
/**
 * A run of letters and digits with more parts is a hash, of which only the whole is indexed. A path with more names is read in pieces.
 */
const [MAX_PARTS, MAX_NAMES] = [6, 32]
/** Consecutive combining marks beyond eight are ignored: sorting them takes quadratic time. */
const MARKS = /(\p{M}{8})\p{M}+/gu
/** The most words whose stems are cached. */
const MAX_CACHED = 50_000

/** Receives a word of the index and its place in the text. */
export type FoundWord = (word: string, start: number, end: number) => void

/**
 * Returns the words under which a text is indexed, in order: stems in lower case, without accents and stop words; pairs of characters in
 * scripts without spaces; the parts and the whole of paths, identifiers and codes. Each word consists of at most 40 letters, digits and
 * `_`.
 */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  eachWord(text, (word) => {
    words.push(word)
  })
  return words
}

/** The most distinct words of one text in the index: a text of many megabytes must not exhaust the memory. */
const MAX_DISTINCT_WORDS = 1_000_000

/**
 * Returns the distinct words of a text, as the index stores them: in the order of their first places, up to a million. Pauses after every
 * `UNITS_AT_ONCE` units.
 */
export function* distinctWordsOf(text: string): Generator<void, string[]> {
  const words = new Set<string>()
  yield* readWords(text, (word) => {
    if (words.size < MAX_DISTINCT_WORDS) words.add(word)
  })
  return [...words]
}

/** The longest piece between two spaces whose words are cached, in UTF-16 units. */
const MAX_CACHED_PIECE_LENGTH = 48

type PieceWords = readonly (readonly [word: string, start: number, end: number])[]

/** The words of pieces, and their places, cached because conversations repeat most pieces. */
const pieces = new Map<string, PieceWords>()

/** UTF-16 units to read between two pauses, about ten milliseconds of work. */
export const UNITS_AT_ONCE = 20_000

/** Passes each word of the index to `found`, with its place in the text. */
export function eachWord(text: string, found: FoundWord): void {
  finish(readWords(text, found))
}

function finish(reading: Generator<void>): void {
  while (reading.next().done !== true);
}

function* readWords(text: string, found: FoundWord): Generator<void> {
  let [end, pausedAt] = [0, 0]
  for (let start = 0; start < text.length; start = end + 1) {
    end = start
    // Words contain no spaces or control characters.
    while (end < text.length && text.charCodeAt(end) > 0x20) end++
    if (end === start) continue
    if (start - pausedAt > UNITS_AT_ONCE) {
      yield
      pausedAt = start
    }
    if (end - start > MAX_CACHED_PIECE_LENGTH) {
      yield* readPiece(text, start, end, found)
      pausedAt = Math.max(pausedAt, end - UNITS_AT_ONCE)
    } else
      for (const [word, from, to] of wordsOfPiece(text.slice(start, end)))
        found(word, start + from, start + to)
  }
}

function wordsOfPiece(piece: string): PieceWords {
  const known = pieces.get(piece)
  if (known !== undefined) return known
  const words = collected((found) => readPiece(piece, 0, piece.length, found))
  if (pieces.size >= MAX_CACHED) pieces.clear()
  pieces.set(copyOf(piece), words)
  return words
}

/** Returns the words that a reading finds, as copies that don't keep its text in memory. */
function collected(read: (found: FoundWord) => Generator<void>): PieceWords {
  const words: [string, number, number][] = []
  finish(
    read((word, start, end) => {
      words.push([copyOf(word), start, end])
    }),
  )
  return words
}

/** Reads a text between two places; the second is its end or is followed by a space. */
function* readPiece(text: string, from: number, to: number, found: FoundWord): Generator<void> {
  let [at, pausedAt] = [from, from]
  while (at < to) {
    if (at - pausedAt > UNITS_AT_ONCE) {
      yield
      pausedAt = at
    }
    const end = runEnd(text, at)
    if (end === at) at++
    else if (isJoiner(text, end)) at = yield* readNames(text, at, end, found)
    else {
      yield* readRun(text, at, end, found)
      at = end
    }
  }
}

/** The kinds of ASCII units: 1 is part of a word; 2 joins two words if no space follows, as in paths and times. */
const KINDS = new Uint8Array(128)
for (const unit of '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_')
  KINDS[unit.charCodeAt(0)] = 1
for (const unit of '-./:\\@#') KINDS[unit.charCodeAt(0)] = 2

const NEXT_IN_WORD = /[\p{L}\p{N}\p{M}]/uy
const REST_OF_WORD = /[\p{L}\p{N}\p{M}]{1,4000}/uy
const EMOJI = /\p{Extended_Pictographic}/uy
const PICTURE = /^\p{Extended_Pictographic}/u
const APOSTROPHES = new Set(["'", '’'])

/** Returns the end of the run of letters and digits that begins at `at`; `at` if there is none. A run may contain apostrophes. */
function runEnd(text: string, at: number): number {
  let end = at
  while (end < text.length) {
    const unit = text.charCodeAt(end)
    if (unit < 128 && KINDS[unit] === 1) end++
    else if (unit < 128 && unit !== 0x27) break
    else if (end > at && APOSTROPHES.has(text[end]!) && wordUnits(text, end + 1) > 0) end++
    else {
      REST_OF_WORD.lastIndex = end
      if (!REST_OF_WORD.test(text)) break
      end = REST_OF_WORD.lastIndex
    }
  }
  if (end > at || text.charCodeAt(at) < 128) return end
  EMOJI.lastIndex = at
  return EMOJI.test(text) ? EMOJI.lastIndex : at
}

/** Returns the length of the letter or digit at `at`, or 0 if there is another character. */
function wordUnits(text: string, at: number): number {
  if (at >= text.length) return 0
  const unit = text.charCodeAt(at)
  if (unit < 128) return KINDS[unit] === 1 ? 1 : 0
  NEXT_IN_WORD.lastIndex = at
  return NEXT_IN_WORD.test(text) ? NEXT_IN_WORD.lastIndex - at : 0
}

function isJoiner(text: string, at: number): boolean {
  return at < text.length && KINDS[text.charCodeAt(at)] === 2 && wordUnits(text, at + 1) > 0
}

/** Reads a path such as `src/a/b.ts`: each name, each file name as a whole (`bts`), and the whole path (`srcabts`). Returns the end. */
function* readNames(text: string, from: number, firstEnd: number, found: FoundWord): Generator<void, number> {
  let [start, end] = [from, firstEnd]
  let [all, file, fileStart, fileNames] = ['', '', from, 0]
  let names = 0
  const endFile = (): void => {
    if (fileNames > 1) foundWhole(file, fileStart, end, found)
  }
  while (true) {
    const run = text.slice(start, end)
    let name: string
    if (run.length > MAX_CACHED_PIECE_LENGTH) {
      yield* readRun(text, start, end, found)
      name = plainOf(run)
    } else {
      const { words, plain } = nameOf(run)
      for (const [word, wordStart, wordEnd] of words) found(word, start + wordStart, start + wordEnd)
      name = plain
    }
    file = joined(file, name)
    all = joined(all, name)
    fileNames++
    names++
    if (names === MAX_NAMES || !isJoiner(text, end)) break
    if ('/\\:'.includes(text[end]!)) {
      endFile()
      ;[file, fileStart, fileNames] = ['', end + 1, 0]
    }
    start = end + 1
    end = runEnd(text, start)
  }
  endFile()
  if (fileNames < names) foundWhole(all, from, end, found)
  return end
}

type Name = { readonly words: PieceWords; readonly plain: string }

/** The words of names in paths, cached because conversations repeat them. */
const names = new Map<string, Name>()

function nameOf(run: string): Name {
  const known = names.get(run)
  if (known !== undefined) return known
  const words = collected((found) => readRun(run, 0, run.length, found))
  const name = { words, plain: copyOf(plainOf(run)) }
  if (names.size >= MAX_CACHED) names.clear()
  names.set(copyOf(run), name)
  return name
}

/** Joins two names into one word. Numbers stay separate, as in `2_5`. The end of a long path is kept. */
function joined(before: string, name: string): string {
  const between = /\d$/.test(before) && /^\d/.test(name) ? '_' : ''
  const whole = before + between + name
  return whole.length <= MAX_WORD_LENGTH
    ? whole
    : whole.slice(codePointStart(whole, whole.length - MAX_WORD_LENGTH))
}

/** Removes `_` and apostrophes, so that spellings match: `user_name`, `userName`, `user-name`. */
function plainOf(run: string): string {
  const short =
    run.length > 4 * MAX_WORD_LENGTH ? run.slice(0, codePointStart(run, 4 * MAX_WORD_LENGTH)) : run
  return lettersOf(short).join('')
}

/** Returns the runs of letters and digits of a text, in lower case and without accents. */
function lettersOf(run: string): string[] {
  return (
    folded(run)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  )
}

function foundWhole(whole: string, start: number, end: number, found: FoundWord): void {
  const word = indexWord(whole)
  if (word !== '') found(word, start, end)
}

/** Characters of scripts that write words without spaces, and of Korean, whose words have endings. */
const UNSPACED_CHARACTERS =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}ー々ｰ\\u3099\\u309a\\uff9e\\uff9f'
/** Characters that combine with the preceding one: vowels and endings of Hangul, voicing marks of Japanese. */
const JOINED = '\\u1160-\\u11ff\\u3099\\u309a\\uff9e\\uff9f'
/**
 * A piece of a run. The length is limited, because a pattern that repeats millions of times overflows the stack of regular expressions.
 */
const UNSPACED = new RegExp(`[${UNSPACED_CHARACTERS}]{1,4000}[${JOINED}]{0,8}`, 'gu')
const LOWER_CASE = /^[a-z]+$/
const NOT_ASCII = /\P{ASCII}/u

function* readRun(text: string, start: number, end: number, found: FoundWord): Generator<void> {
  const run = text.slice(start, end)
  if (end - start <= MAX_WORD_LENGTH) {
    const known = simple.get(run)
    if (known !== undefined) {
      if (known !== '') found(known, start, end)
      return
    }
  }
  if (!NOT_ASCII.test(run)) {
    readSpaced(run, start, found)
    return
  }
  let [at, pausedAt] = [0, 0]
  let before: PlacedCharacter | undefined
  for (const { 0: pairs, index } of run.matchAll(UNSPACED)) {
    if (index - pausedAt > UNITS_AT_ONCE) {
      yield
      pausedAt = index
    }
    if (index > at) {
      readSpaced(run.slice(at, index), start + at, found)
      before = undefined
    }
    before = readUnspaced(pairs, start + index, before, found)
    at = index + pairs.length
  }
  if (at < run.length) readSpaced(run.slice(at), start + at, found)
}

type PlacedCharacter = { readonly character: string; readonly start: number }

/**
 * Reads pairs of neighboring characters; a single character is a word. Pairs the first character with the previous last one, and returns
 * the last.
 */
function readUnspaced(
  run: string,
  start: number,
  before: PlacedCharacter | undefined,
  found: FoundWord,
): PlacedCharacter | undefined {
  const characters = Array.from(folded(run))
  const isSame = characters.length === run.length
  const end = start + run.length
  if (characters.length === 1 && before === undefined) found(characters[0]!, start, end)
  let last = before
  for (const [at, character] of characters.entries()) {
    if (last !== undefined) found(last.character + character, last.start, isSame ? start + at + 1 : end)
    last = { character, start: isSame ? start + at : start }
  }
  return last
}

const PARTS = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lt}\p{Lm}\p{Lo}]+|\p{N}+/gu

/** Reads a word, or an identifier with its parts. */
function readSpaced(run: string, start: number, found: FoundWord): void {
  const end = start + run.length
  if (run.length > 4 * MAX_WORD_LENGTH) {
    foundWhole(plainOf(run), start, end, found)
    return
  }
  const plain = withoutElision(folded(run))
  const parts = [...plain.matchAll(PARTS)]
  if (parts.length === 0) {
    if (!PICTURE.test(run)) return
    const word = `u${run.codePointAt(0)!.toString(16)}`
    keep(simple, run, word)
    found(word, start, end)
    return
  }
  const whole = parts
    .map(([part]) => part)
    .join('')
    .toLowerCase()
  if (parts.length > 1 && parts.length <= MAX_PARTS) {
    const isSame = plain === run
    for (const { 0: part, index } of parts) {
      const word = indexWord(part.toLowerCase())
      if (word === '') continue
      found(word, isSame ? start + index : start, isSame ? start + index + part.length : end)
    }
  }
  foundWhole(whole, start, end, found)
  if (parts.length === 1 && run.length <= MAX_WORD_LENGTH) keep(simple, run, indexWord(whole))
}

/** Removes an English ending (`Anna's`), a French beginning (`l'amour`), and other apostrophes. */
function withoutElision(run: string): string {
  if (!run.includes("'") && !run.includes('’')) return run
  return run
    .replace(/['’](?:s|re|ve|ll|d|m)$/i, '')
    .replace(/^(?:[cdjlmnst]|qu)['’]/i, '')
    .replace(/['’]/g, '')
}

const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ẞ: 'SS',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ς: 'σ',
}

/**
 * Normalizes compatible forms (`ﬁ` and `fi`, full width) and removes accents. Voicing marks of Japanese stay, because they make different
 * letters.
 */
function folded(run: string): string {
  if (!NOT_ASCII.test(run)) return run
  return run
    .replace(MARKS, '$1')
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(/\p{M}/gu, '')
    .replace(/[ßẞæÆœŒøØłŁđĐðþıς]/g, (letter) => LETTERS[letter]!)
}

/** Caches: the words of runs with one part, and the stems of words in lower case. */
const [simple, stems] = [new Map<string, string>(), new Map<string, string>()]

function keep(kept: Map<string, string>, word: string, stem: string): void {
  if (kept.size >= MAX_CACHED) kept.clear()
  kept.set(copyOf(word), copyOf(stem))
}

/** Copies a word, because a slice of 13 units or more keeps its whole source text in memory. */
function copyOf(word: string): string {
  return word.length < 13 ? word : ` ${word}`.slice(1)
}

/** Returns the word of the index for a word in lower case; empty for a stop word. */
function indexWord(word: string): string {
  const known = stems.get(word)
  if (known !== undefined) return known
  const stem = STOP_WORDS.has(word) ? '' : baseOf(IRREGULAR.get(word) ?? word)
  const short = stem.length > MAX_WORD_LENGTH ? stem.slice(0, codePointStart(stem, MAX_WORD_LENGTH)) : stem
  if (word.length <= MAX_WORD_LENGTH) keep(stems, word, short)
  return short
}

/** Endings of Russian, longest first. */
const RUSSIAN =
  /(?:иями|ями|ами|ого|ему|ому|его|ыми|ими|иях|ия|ии|ию|ие|ах|ях|ов|ев|ам|ям|ом|ем|ои|еи|ыи|ии|ая|яя|ое|ее|ые|ую|юю|а|я|о|е|ы|и|у|ю|ь)$/

function baseOf(word: string): string {
  if (LOWER_CASE.test(word)) return stemOf(word)
  if (word.length > 4 && /^[а-я]+$/.test(word)) return word.slice(0, 3) + word.slice(3).replace(RUSSIAN, '')
  return word
}

/**
 * Returns the searched text of a message: texts, reasoning, names and arguments of tools, their outputs, and names of files, without
 * encoded data.
 */
export function searchedText(message: Pick<Message, 'content'>): string {
  return joinFilled(partsOf(message).map(partText))
}

function joinFilled(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n')
}

/** The searched text of a row: the first `own` units are the speaker's own words, the rest is content that a user attached. */
export type SearchedRow = { readonly text: string; readonly own: number }

/** Returns the searched text of a row, without text that a client added to a user's messages. */
export function searchedRow({
  role,
  kind,
  content,
}: Pick<Message, 'role' | 'content'> & { readonly kind: RowKind }): SearchedRow {
  if (role !== 'user' || kind !== 'message') {
    const text = searchedText({ content })
    return { text, own: text.length }
  }
  const [own, attached]: [string[], string[]] = [[], []]
  for (const part of partsOf({ content }))
    if (part.type !== 'text') own.push(partText(part))
    else {
      const pieces = markupPieces(part.text)
      for (const { by, text } of pieces) {
        const found = withoutEncoded(pieces.length === 1 ? text : text.trim())
        if (by !== 'client') (by === 'user' ? own : attached).push(found)
      }
    }
  const words = joinFilled(own)
  return { text: joinFilled([words, ...attached]), own: words.length }
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return withoutEncoded(part.text)
    case 'image':
      return ''
    case 'file':
      return part.filename ?? ''
    case 'tool-call':
      return `${part.toolName} ${jsonText(part.input)}`
    case 'tool-result':
      return outputOf(part.output)
    case 'provider':
      return jsonText(part.data)
  }
}

function outputOf(output: ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return withoutEncoded(output.value)
    case 'json':
    case 'error-json':
      return jsonText(output.value)
    case 'content':
      return joinFilled(output.value.map(partText))
  }
}

function jsonText(value: Json): string {
  const texts: string[] = []
  const pending: Json[] = [value]
  while (pending.length > 0) {
    const next = pending.pop()!
    if (typeof next === 'string') texts.push(withoutEncoded(next))
    else if (typeof next === 'number') texts.push(String(next))
    else if (Array.isArray(next)) for (let i = next.length - 1; i >= 0; i--) pending.push(next[i]!)
    else if (typeof next === 'object' && next !== null)
      for (const [key, field] of Object.entries(next).reverse()) pending.push(field ?? null, key)
  }
  return texts.join(' ')
}

/** The minimum length of a run of encoded bytes, in UTF-16 units. */
const MIN_ENCODED = 60
/** Letters, digits, and the other characters of base64. */
const CODES = new Uint8Array(128)
for (const unit of '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/_-')
  CODES[unit.charCodeAt(0)] = 1

function isCode(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit < 128 && CODES[unit] === 1
}

/** Removes base64, which would fill the index with words that no one seeks. Checks one place in 60, which a run of 60 cannot avoid. */
function withoutEncoded(text: string): string {
  let [kept, from, left] = ['', 0, 0]
  for (let at = MIN_ENCODED - 1; at < text.length; at += MIN_ENCODED) {
    if (!isCode(text, at)) continue
    let [start, end] = [at, at + 1]
    while (start > left && isCode(text, start - 1)) start--
    while (end < text.length && isCode(text, end)) end++
    if (end - start >= MIN_ENCODED && isEncoded(text.slice(start, end))) {
      kept += `${text.slice(from, start)} `
      from = end
    }
    left = end
    at = end
  }
  return from === 0 ? text : kept + text.slice(from)
}

/** Returns whether a run is encoded bytes: a mixture of capitals, small letters and digits, unlike names and paths. */
function isEncoded(run: string): boolean {
  const sample = run.slice(0, 240)
  const share = (pattern: RegExp): number => (sample.match(pattern) ?? []).length / sample.length
  return share(/[A-Z]/g) > 0.2 && share(/[a-z]/g) > 0.2 && share(/[0-9]/g) > 0.03
}

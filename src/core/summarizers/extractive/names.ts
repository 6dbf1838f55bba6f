import { detached, headOf, tailOf } from '../../messages/characters.ts'
import { withoutSecrets } from '../secrets.ts'

/*
 * Names: paths, identifiers of code, ids, amounts and numbers. A summary has room for few of those that a conversation used, so each
 * has a value: the estimated chance that the assistant needs it again.
 */

/** Who used a name. */
type NameSource = 'user' | 'assistant' | 'input' | 'output'

/** Escaped line breaks, tabs and quotes, and colors of a terminal: the letters after them are not part of a name. */
const ESCAPES = /\\[nrt"']|%[0-9A-F]{2}|\[[\d;]{1,12}m/g
/** A path with separators of Windows, which are no escapes. */
const WINDOWS_PATH = /\b[A-Za-z]:\\|\w\\(?![nrt])[\w-]{2,80}[\\.]/
/** A run of letters, digits and marks, with the commas of a number and the colon of an address; and a currency after it. */
const UNITS = '[\\w$@~#€£¥./+\\-\\u00c0-\\u04ff]{1,200}'
const RUN = `${UNITS}(?:(?:(?<=\\d),(?=\\d{2,3}(?!\\d))|(?<=https?):(?=//))${UNITS}){0,8}`
const CURRENCY = /(?<=\d)[ \u00a0\u202f]?(?:[€£¥]|[万億亿千]?[元円]|(?:EUR|USD|GBP|CHF)\b)/y
const RUNS = new RegExp(`${ESCAPES.source}|${RUN}`, 'g')
const WINDOWS_RUNS = new RegExp(RUN, 'g')
/** Most runs are words of prose. */
const PROSE = /^[\w\u00c0-\u04ff][a-z\u00df-\u00ff]*$/
/** A word that is a name by itself: of several parts (`userName`, `max_size`), of letters and digits, a number of three digits. */
const TELLING =
  /\d{3}|[a-z\d][A-Z]|[A-Z]{2}[a-z]|[A-Za-z\d]_[A-Za-z\d]|\d{2}[A-Za-z]|[A-Za-z]{2}\d|[A-Za-z]\d+[A-Za-z]/
const WORD = /\w{3,64}/g

/** Words before a parenthesis that are no names of functions. */
const KEYWORDS: ReadonlySet<string> = new Set(
  'if elif for while switch catch except return function super await throw typeof and not def func print println len range list dict set get str int float bool map Map Set Array Object String Number Boolean Date Error Promise describe test expect require'.split(
    ' ',
  ),
)

const FILE =
  /\.(?:[cm]?[jt]sx?|json[lc]?|mdx?|txt|py|rs|go|java|kts?|swift|rb|exs?|php|cs|cpp|cc|hpp|[ch]|sql|ya?ml|toml|lock|sh|bash|css|s[ac]ss|html?|xml|vue|svelte|csv|log|env|ini|cfg|conf|proto|gradle|ipynb)$/i
/** An amount with separated thousands: its parts are no numbers by themselves. */
const AMOUNT = /^[$€£¥]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/**
 * Visits the names in a text, each as often as it occurs: paths, ids, amounts and addresses as wholes, and the words in them that are
 * names by themselves. Linear time.
 */
export function eachName(text: string, visit: (name: string) => void): void {
  const runs = WINDOWS_PATH.test(text) ? WINDOWS_RUNS : RUNS
  let end = 0
  while (end <= text.length) {
    runs.lastIndex = end
    const match = runs.exec(text)
    if (match === null) return
    const { 0: run, index } = match
    end = index + run.length
    if (run[0] === '\\' || run[0] === '%' || run[0] === '[') continue
    const isCalled = text[end] === '('
    if (isCalled ? KEYWORDS.has(run) : PROSE.test(run)) continue
    CURRENCY.lastIndex = end
    const currency = CURRENCY.exec(text)?.[0] ?? ''
    if (currency !== '') visit(run + currency)
    end += currency.length
    // `</h2>` closes an element.
    const isTag = run[0] === '/' && text[index - 1] === '<'
    const whole = isTag ? '' : run.replace(/^[.+-]+(?![/.])/, '').replace(/[-.+/#@$]{1,20}$/, '')
    if (isWholeName(whole)) visit(whole)
    if (UUID.test(whole) || AMOUNT.test(whole)) continue
    for (const { 0: word, index: at } of run.matchAll(WORD))
      if (TELLING.test(word) || (isCalled && at + word.length === run.length)) visit(word)
  }
}

/** Whether a run with marks in it is one name: a path, a file, an address, an amount, a hyphenated id, a date. */
function isWholeName(run: string): boolean {
  if (run.length < 3 || run.length > 120 || /^\w*$/.test(run)) return false
  if (run.includes('/'))
    return /^(?:~|\.{0,2}\/)/.test(run) || /\.\w/.test(run) || /[^/]\/[^/]+\/[^/]/.test(run)
  if (FILE.test(run) || /^\d{1,2}\.\d{1,2}\.\d{4}$/.test(run)) return true
  if (/^[$€£¥]\d|^[\w.+-]+@[\w-]+\.\w/.test(run)) return true
  return run.length >= 5 && /[-,]/.test(run) && /\d/.test(run) && !run.startsWith('-')
}

/** A text with spaces in place of escapes. */
export function withoutEscapes(text: string): string {
  return WINDOWS_PATH.test(text) ? text : text.replaceAll(ESCAPES, ' ')
}

/** How a name was used. */
type Uses = {
  /** How often the user and the assistant wrote it. */
  written: number
  /** The number of messages with it, and the last of them. */
  messages: number
  last: number
  /** The last message in which the assistant wrote it. */
  authored: number
  /** Whether it was the whole value of a field in the data of a tool: the id of an order, not a number in a text. */
  isValue: boolean
  /** The name of that field. */
  field: string
  /** The artifact that it belongs to, -1 for none: where it was last an argument, else where it was first used. */
  home: number
}

/** The most names that are held; beyond them the half of least value is dropped. */
const MAX_NAMES = 60_000
/** The units of one text that are read, at its beginning and its end. */
const TEXT_ENDS = [16_000, 4_000] as const
/** The messages in which a name of an earlier summary counts as used. */
const CARRIED_MESSAGES = 3

/** The names of a conversation with their uses, while it is read. */
export class Names {
  readonly #uses = new Map<string, Uses>()

  /** Adds the names of a text of message `at`. `home`: the artifact whose text it is. `field`: of a value, the name of its field. */
  add(text: string, source: NameSource, at: number, home: number, field = ''): void {
    eachName(withoutSecrets(wholeWords(text)), (name) => {
      const uses = this.#usesOf(name)
      if (source !== 'output') uses.written += 1
      if (uses.last !== at) uses.messages += 1
      uses.last = at
      if (source === 'assistant' || source === 'input') uses.authored = at
      if (field !== '') uses.isValue = true
      if (name === text) uses.field = field
      if (uses.home < 0 || source === 'input') uses.home = home
    })
    if (this.#uses.size > MAX_NAMES) this.#shrink(at)
  }

  /** Adds the names of an earlier summary, as if they had been used before the first message. */
  carry(text: string, home: number): void {
    eachName(text, (name) => {
      const uses = this.#usesOf(name)
      uses.messages = Math.max(uses.messages, CARRIED_MESSAGES)
      uses.written = Math.max(uses.written, 1)
      if (uses.home < 0) uses.home = home
    })
  }

  #usesOf(name: string): Uses {
    let uses = this.#uses.get(name)
    if (uses === undefined) {
      uses = { written: 0, messages: 0, last: -1, authored: -1_000, isValue: false, field: '', home: -1 }
      // A part of a text would keep the whole text in memory.
      this.#uses.set(detached(name), uses)
    }
    return uses
  }

  #shrink(at: number): void {
    const score = new Map([...this.#uses].map(([name, uses]) => [name, scoreOf(name, uses, at)]))
    const least = [...score].sort((a, b) => a[1] - b[1]).slice(0, MAX_NAMES / 2)
    for (const [name] of least) this.#uses.delete(name)
  }

  /** The chance that a name is needed after message `at`, 0 to 1. */
  valueOf(name: string, at: number): number {
    const uses = this.#uses.get(name)
    return uses === undefined || isNoise(name, uses) ? 0 : 1 / (1 + Math.exp(-scoreOf(name, uses, at)))
  }

  /** How a summary lists a name: as it is, or behind its field when it means nothing by itself; `undefined` when it must not. */
  listed(name: string): string | undefined {
    if (isListable(name)) return name
    const field = this.#uses.get(name)?.field ?? ''
    const listed = `${field}: ${name}`
    return field === '' || /token$/i.test(field) || withoutSecrets(listed) !== listed ? undefined : listed
  }

  /** Visits all names with their artifacts, in order of first use. */
  each(visit: (name: string, home: number) => void): void {
    for (const [name, { home }] of this.#uses) visit(name, home)
  }
}

/** A text, or its two ends without the parts of words at the cuts. */
function wholeWords(text: string): string {
  const [first, last] = TEXT_ENDS
  if (text.length <= first + last) return text
  const end = tailOf(text, last).replace(/^\S{0,200}/, '')
  return `${headOf(text, first).replace(/\S{0,200}$/, '')}\n${end}`
}

/** Whether a name is a number or a hash that only outputs contain. */
function isNoise(name: string, { written, isValue, messages }: Uses): boolean {
  if (written > 0 || isValue || (messages >= CARRIED_MESSAGES && !/^\d+$/.test(name))) return false
  return /^(?:[\d.,:-]+|(?=[a-f]*\d)[0-9a-f]{3,64})$/i.test(name)
}

/** A time, a duration or a date without its field; a line anchor or range; a unit or class of CSS; a version of a dependency. */
const MEASURE =
  /^[a-z]{1,12}(?:-[a-z]{1,12}){0,3}-\d{1,3}$|^[#v]?\d[\d.,:_/-]*(?:[a-z]{1,3}|[TZ][\d.:Z-]*)?$|^[L:@]\d[\d,:-]*[a-z]?$|^[A-Z]\d+(?:[-,]\d+)?$|^\d{4}-\d\d-\d\d/i
/** A hash, or an id that only a machine reads: hexadecimal, or a long run in which letters and digits change places often. */
const HASH = /^(?=\w{0,64}\d)[0-9a-f]{6,64}$|^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}/i
const OPAQUE = /(?:[A-Za-z]\d|\d[A-Za-z])\w{0,8}(?:[A-Za-z]\d|\d[A-Za-z])\w{0,8}(?:[A-Za-z]\d|\d[A-Za-z])/
/** A sum of money. */
const MONEY = /^[$€£¥]\d|\d ?(?:[€£¥元円]|(?:EUR|USD|GBP|CHF)$)/

/** Whether a name means something by itself: not a number, time, line, hash, unit, or a word of three letters. Secrets are no names. */
export function isListable(name: string): boolean {
  if (MONEY.test(name)) return true
  if (name.length < 4 || !/\p{L}{3}/u.test(name) || MEASURE.test(name) || HASH.test(name)) return false
  return !OPAQUE.test(name)
}

/** An id in the data of a tool: letters and digits. */
const KEY = /^#?(?=\w{0,40}[A-Za-z])(?=\w{0,40}\d)\w{5,40}$/

/**
 * The weights of the logistic regression that values names. `npm run bench:retention -- --leave-out` compares
 * them with weights that are fitted to seven of the eight kinds of conversations in the corpus.
 */
export const WEIGHTS = {
  /** For the logarithms of how often the user and the assistant wrote it, and of the messages with it. */
  written: 0.6,
  messages: 0.8,
  /** For the logarithm of the messages since the last use, and how recently the assistant wrote it. */
  age: -0.4,
  authored: 1.6,
  /** For the logarithm of its length, and for being no id in the data of a tool. */
  length: -0.7,
  noId: -1,
}

/** The logit of the chance that a name is needed again. */
function scoreOf(name: string, { written, messages, last, authored, isValue }: Uses, at: number): number {
  const isKey = isValue && KEY.test(name)
  return (
    WEIGHTS.written * Math.log1p(written) +
    WEIGHTS.messages * Math.log1p(messages) +
    WEIGHTS.age * Math.log1p(at - last) +
    WEIGHTS.authored * Math.exp((authored - at) / 20) +
    (isKey ? 0 : WEIGHTS.length * Math.log(name.length) + WEIGHTS.noId)
  )
}

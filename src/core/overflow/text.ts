/** A list of words. */
export const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/** Texts up to this length, in UTF-16 units, are read whole; of longer ones only windows. */
const WHOLE_TEXT_LENGTH = 16_384
/** The size of a window on each side of a word that may belong to an overflow. */
const REACH = 300
/** The most occurrences of one word that are read from each end of a long text. */
const HITS_PER_END = 8

/**
 * Every known wording has at least one of these words. Long ones first: they are rare, so a message in the middle of a long text full
 * of ordinary words is still found.
 */
const LANDMARKS = [
  'context_length_exceeded',
  'maximum context length',
  'maximum number of tokens',
  'input token count',
  'prompt is too long',
  'input is too long',
  'context window',
  'context length',
  'context size',
  'too many tokens',
  'too many images',
  'too large',
  'images',
  'exceed',
  'maximum',
  'token',
  'too long',
  '超',
]

/**
 * Normalizes a text for matching: lower case, escapes of JSON and HTML decoded, one kind of apostrophe, no other quotes, single spaces.
 * Of a text longer than 16,384 units only windows around relevant words are kept, so that later work is bounded. Takes linear time.
 */
export function normalizeText(text: string): string {
  const lower = text.toLowerCase()
  return tidy(lower.length <= WHOLE_TEXT_LENGTH ? lower : excerpt(lower))
}

/**
 * A quotation: several words between quotes after a word, or after the name of a field with foreign text. Quotes after a colon or a
 * bracket contain the message itself, as in `error: "prompt is too long"`.
 */
const QUOTATION =
  /(?<=\b(?:([a-z]{1,30}),? |(?:content|input|query|user)['"]?\]?[:=] ?)\\{0,4})(?:"(?=[^"]{0,80}\s)[^"]{2,400}"|“(?=[^”]{0,80}\s)[^”]{2,400}”|`(?=[^`]{0,80}\s)[^`]{2,400}`|'(?=[^']{0,80}\s)(?:[^']|'(?=\w)){2,400}'(?!\w))/g

/** Words after which a quotation is the provider's message. */
const REPORTS: ReadonlySet<string> = new Set(
  words(`
    message error errors exception returned returns responded response replied answered
    with failed rejected reason code status because some body detail
  `),
)

/** A run of backslashes is matched only from its first one: from each of them the time would be quadratic. */
function tidy(text: string): string {
  return text
    .replace(/(?<!\\)\\+u([0-9a-f]{4})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)).toLowerCase(),
    )
    .replace(/(?<!\\)\\+[nrt]/g, ' ')
    .replace(/&(?:#0?39|#x27|apos);|[‘’ʼ]/g, "'")
    .replace(/&gt;/g, '>')
    .replace(/&lt;/g, '<')
    .replace(/&quot;/g, '"')
    .replace(/['"]input(?:_value)?['"]\s?[:=]\s?'[^']{0,1000}'/g, ' ')
    .replace(QUOTATION, (quotation, word: string | undefined) =>
      word !== undefined && REPORTS.has(word) ? quotation : ' ',
    )
    .replace(/["`\\“”]/g, '')
    .replace(/[\s│|]+/g, ' ')
    .trim()
}

function excerpt(text: string): string {
  const windows: [from: number, to: number][] = [
    [0, 2 * REACH],
    [text.length - 2 * REACH, text.length],
  ]
  for (const word of LANDMARKS) {
    let at = text.indexOf(word)
    if (at === -1) continue
    let last = at
    for (let hits = 0; hits < HITS_PER_END && at !== -1; hits++) {
      windows.push([at - REACH, at + word.length + REACH])
      last = at
      at = text.indexOf(word, at + word.length + REACH)
    }
    let back = text.lastIndexOf(word)
    for (let hits = 0; hits < HITS_PER_END && back > last; hits++) {
      windows.push([back - REACH, back + word.length + REACH])
      back = text.lastIndexOf(word, back - word.length - REACH)
    }
  }
  windows.sort((a, b) => a[0] - b[0])
  const pieces: string[] = []
  let [from, to] = windows[0] ?? [0, 0]
  for (const [nextFrom, nextTo] of windows) {
    if (nextFrom > to) {
      pieces.push(text.slice(Math.max(0, from), to))
      from = nextFrom
    }
    to = Math.max(to, nextTo)
  }
  pieces.push(text.slice(Math.max(0, from), to))
  // No wording matches across this mark: distant texts are not one sentence.
  return pieces.join(' ¶. ')
}

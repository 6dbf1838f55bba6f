import { words } from './error-texts.ts'

/** Texts up to this length, in UTF-16 units, are read whole; only windows of longer texts are read. */
const WHOLE_TEXT_LENGTH = 16_384
/** The size of a window on each side of a word that may belong to a wording, in UTF-16 units. */
const REACH = 300
/** The most occurrences of one word that are read from each end of a long text. */
const HITS_PER_END = 8

/**
 * Words of which every known wording contains at least one. Long phrases are included: they are rare, so a message in the middle of a
 * long text of ordinary words is still found.
 */
const LANDMARKS = [
  ...['context_length_exceeded', 'maximum context length', 'maximum number of tokens', 'input token count'],
  ...['prompt is too long', 'input is too long', 'context window', 'context length', 'context size'],
  ...[
    'too many tokens',
    'too many images',
    'too large',
    'images',
    'exceed',
    'maximum',
    'token',
    'too long',
    '超',
  ],
]

/**
 * A quotation: several quoted words after a word, or after the name of a field with foreign text. Quotes after a colon or a bracket
 * contain the message itself, as in `error: "prompt is too long"`.
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

/**
 * Normalizes a text for matching: lower case, escapes of JSON and HTML decoded, one kind of apostrophe, no other quotes, single spaces.
 * Only windows around relevant words are kept of a text longer than 16,384 units, which bounds later work. Takes linear time: a run of
 * backslashes is matched only from its first one, because matching from each would be quadratic.
 */
export function normalizeText(text: string): string {
  const lower = text.toLowerCase()
  return (lower.length <= WHOLE_TEXT_LENGTH ? lower : excerpt(lower))
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

/** Returns the ends of a text and the windows around its landmarks, joined where they meet. */
function excerpt(text: string): string {
  const windows: [from: number, to: number][] = [
    [0, 2 * REACH],
    [text.length - 2 * REACH, text.length],
  ]
  for (const word of LANDMARKS) {
    const step = word.length + REACH
    let last = -1
    for (let at = text.indexOf(word), n = 0; at !== -1 && n < HITS_PER_END; n++) {
      windows.push([Math.max(0, at - REACH), at + step])
      last = at
      at = text.indexOf(word, at + step)
    }
    for (let at = text.lastIndexOf(word), n = 0; at > last && n < HITS_PER_END; n++) {
      windows.push([Math.max(0, at - REACH), at + step])
      at = text.lastIndexOf(word, at - step)
    }
  }
  const joined: typeof windows = []
  for (const [from, to] of windows.toSorted((a, b) => a[0] - b[0])) {
    const before = joined.at(-1)
    if (before === undefined || from > before[1]) joined.push([from, to])
    else before[1] = Math.max(before[1], to)
  }
  // No wording matches across this mark, because distant texts are not one sentence.
  return joined.map(([from, to]) => text.slice(from, to)).join(' ¶. ')
}

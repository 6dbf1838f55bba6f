/** Texts up to this length, in UTF-16 units, are looked at whole; of longer ones, the places that matter. */
const WHOLE_TEXT_LENGTH = 16_384
/** What is kept on each side of a word that may belong to an overflow. */
const REACH = 300
/** Occurrences of one word that are looked at from each end of a long text. */
const HITS_PER_END = 8

/**
 * Words of which every known wording has at least one. The long ones first: they are rare, so that a message in
 * the middle of a long text full of ordinary words is still found.
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
  'exceed',
  'maximum',
  'token',
  'too long',
  '超',
]

/**
 * A text as the wordings are compared with: lower case, escapes of JSON and HTML read, one kind of apostrophe, no
 * other quotes, single spaces. Of a text longer than 16,384 units only windows around words that matter are kept,
 * so that the work after this is bounded. Takes time linear in the length of the text.
 */
export function normalizeText(text: string): string {
  const lower = text.toLowerCase()
  return tidy(lower.length <= WHOLE_TEXT_LENGTH ? lower : excerpt(lower))
}

/**
 * Several words between quotes that follow a word, or the name of a field that holds what somebody else wrote. What
 * follows a colon or a bracket is the message itself, as in `error: "prompt is too long"`.
 */
const QUOTATION =
  /(?<=\b(?:([a-z]{1,30}),? |(?:content|input|query|user)['"]?\]?[:=] ?)\\{0,4})(?:"(?=[^"]{0,80}\s)[^"]{2,400}"|“(?=[^”]{0,80}\s)[^”]{2,400}”|`(?=[^`]{0,80}\s)[^`]{2,400}`|'(?=[^']{0,80}\s)(?:[^']|'(?=\w)){2,400}'(?!\w))/g

/** Words after which a quotation is what a provider said. */
const REPORTS: ReadonlySet<string> = new Set(
  'message error errors exception returned returns responded response replied answered with failed rejected reason code status because some body detail'.split(
    ' ',
  ),
)

/** A run of backslashes is only tried from its first on: from each of them it would take the square of its length. */
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
  // A mark no wording crosses: what stood far apart must not be read as one sentence.
  return pieces.join(' ¶. ')
}

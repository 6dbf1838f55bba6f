import { withoutElements } from '../../messages/client-markup.ts'

/*
 * The user's own words, without quoted, pasted or forwarded text: rules of other people are not the user's.
 */

/** Tags that people put around their own words. */
const OWN_TAGS = /^(?:task|user\w*|instructions?|rules?|feedback|important)$/

const TILDE_FENCE = /^[ \t]{0,12}~{3,80}[^~\n]*\n[\s\S]*?^[ \t]{0,12}~{3}.*/gm
const QUOTES = /(?:^[ \t]{0,40}"""|"""[ \t]{0,40}$)[\s\S]*?"""/gm
/** The beginning of a forwarded mail, or of the result of a call in a text. */
const FORWARDED = new RegExp(
  [
    '^\\s{0,8}-{3,20} ?(?:original|forwarded|ursprüngliche|weitergeleitete) (?:message|nachricht)',
    '^\\s{0,8}begin forwarded message:',
    '^\\[\\w{1,60}(?: for [^\\n]{0,400})?\\] Result:',
    '^\\s{0,8}\\*{0,2}(?:From|Von|De)\\*{0,2}:(?! and )(?:.{0,200}\\n){0,3}?.{0,200}\\b(?:Sent|Date|Gesendet|Datum)\\*{0,2}:',
  ].join('|'),
  'im',
)
/** A quoted line, a line of a log (with a time or a level first), of JSON or a stack trace, of code or a table, and one that names its source in brackets. */
const FOREIGN_LINE = new RegExp(
  [
    '>',
    '\\[?\\d{4}[-/]\\d\\d[-/]\\d\\d[T ]\\d\\d:\\d\\d',
    '\\{?"[^"\\n]{1,80}": ?["{[\\w-]',
    'at [\\w.$<>/]{1,200} ?\\(',
    '\\[?\\d\\d:\\d\\d:\\d\\d[\\d.,]{0,10}\\]?\\s',
    '[A-Z][a-z]{2} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d',
    '\\[(?:DEBUG|INFO|WARN|WARNING|ERROR)[\\]: ]',
    '(?:DEBUG|INFO|WARN(?:ING)?(?!: )|ERROR)(?:: | {2,}|\\t|:\\w{1,60}:)',
    '(?:\\||//|/\\*|\\*/|\\$ |@@ |\\+[-+#/*\\w{}<]|diff --git |\\d{2,6}[:│] |[\\w./-]{1,200}:\\d{1,6}:(?:\\d{1,6}:)? |.{0,300}(?:[│┃║╭╰├]|\\[map\\[|":["{[]))',
    '(?:[-*] )?\\[(?:web|search|page|site|url|tool|result|doc|document|mail|system|log|file|source)\\b[^\\]\\n]{0,200}\\](?!\\()',
  ]
    .map((head) => `^\\s{0,12}${head}`)
    .join('|'),
)

/**
 * A user's text without quoted lines, fences, blocks between `"""` or tags, forwarded mails, lines of logs and of named
 * sources. Text that only mentions such marks is kept, and so is an unclosed block. Linear time.
 */
export function ownWords(text: string): string {
  const bare = withoutElements(
    text,
    (name) => !OWN_TAGS.test(name),
    (opening, closing) => isAtEdge(text, opening) && isAtEdge(text, closing),
  )
    .replaceAll(TILDE_FENCE, '')
    .replaceAll(QUOTES, '')
  const mail = bare.search(FORWARDED)
  const lines = (mail < 0 ? bare : bare.slice(0, mail)).split('\n')
  return lines.filter((line) => !isForeignLine(line)).join('\n')
}

export function isForeignLine(line: string): boolean {
  return FOREIGN_LINE.test(line.slice(0, 400))
}

/** Whether the tag at a place begins or ends its line. */
function isAtEdge(text: string, at: number): boolean {
  const end = text.indexOf('>', at) + 1
  return (
    /(?:^|\n)\s*$/.test(text.slice(Math.max(0, at - 40), at)) ||
    /^\s*?(?:\n|$)/.test(text.slice(end, end + 40))
  )
}

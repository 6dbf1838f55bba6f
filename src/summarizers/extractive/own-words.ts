/*
 * The user's own words, without quoted, pasted or forwarded text: rules of other people are not the user's.
 */

/** Tags that clients put around the user's own words. */
const OWN_TAGS = new Set(
  'task query question request user user_query user_message user_input message prompt goal instruction instructions rule rules requirements constraints feedback answer important'.split(
    ' ',
  ),
)
/** Tags around other people's text, even on one line. */
const QUOTING_TAGS = new Set(
  'document doc file file_content content context source quote blockquote email mail article page webpage web_page search_result search_results tool_result result output log logs transcript attachment'.split(
    ' ',
  ),
)

const TAG = /<(\/?)([A-Za-z][\w:.-]{0,60})(?:\s[^<>\n]{0,300})?>/g

type Tag = { readonly name: string; readonly closes: boolean; readonly at: number; readonly end: number }

const FENCE = /^\s{0,12}(?:`{3,80}|~{3,80})/
const QUOTED = /^\s{0,40}>/
/** The line above a forwarded mail. */
const FORWARDED =
  /^\s{0,8}(?:[-_]{3,20} ?(?:original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|message d['’]origine|message transféré|mensaje original|mensaje reenviado|原始邮件|转发邮件) ?[-_]{3,20}|begin forwarded message:|anfang der weitergeleiteten nachricht:|début du message transféré ?:)\s{0,8}$/i
const MAIL_FROM = /^\s{0,8}\*{0,2}(?:From|Von|De|发件人|差出人)\*{0,2}[:：]\*{0,2} ?\S/i
const MAIL_HEADER =
  /(?:^|\s)\*{0,2}(?:Sent|Date|To|Subject|Gesendet|Datum|An|Betreff|Envoyé|Objet|À|Enviado|Fecha|Para|Asunto|发送时间|收件人|主题|送信日時|宛先|件名)\*{0,2}[:：]/
/** A line of a log: it begins with a time or a level. */
const LOGGED = new RegExp(
  [
    '\\[?\\d{4}[-/]\\d\\d[-/]\\d\\d[T ]\\d\\d:\\d\\d',
    '\\[?\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d{1,9})?\\]?[ \\t]',
    '(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d',
    '\\[(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)[\\]: ]',
    '\\[(?:trace|debug|info|warn|error|fatal)\\]',
    '(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|CRITICAL|SEVERE)(?::| {2,}|\\t| \\[| \\d| [\\w.]{1,60}[:\\]])',
    'WARNING(?::[\\w.]{1,60}:| {2,}|\\t| \\[)',
    'level=[a-z]',
  ]
    .map((head) => `^\\s{0,12}${head}`)
    .join('|'),
)
/** A line that names its source in brackets. */
const SOURCED =
  /^\s{0,12}(?:[-*+] )?\[(?:web|web ?page|search|browser|page|site|website|url|https?|tool|result|search result|docs?|document|e?mail|system|assistant|bot|log|output|stdout|stderr|source|retrieved|file|attachment|quote|snippet|external|rss|feed|article|wiki|slack|ticket|comment)(?:[\s:#/-][^\]\n]{0,200}|\d{0,4})\](?!\()/i

/**
 * A user's text without quoted lines, fences, blocks between `"""` or tags, forwarded mails, lines of logs and of named
 * sources. Text that only mentions such marks is kept, and so is an unclosed block, except a fence. Linear time.
 */
export function ownWords(text: string): string {
  const tags = blockTags(text)
  const lastQuotes = text.lastIndexOf('"""')
  const kept: string[] = []
  let fence: string | undefined
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf('\n', from)
    const end = found < 0 ? text.length : found
    // Patterns read the beginning of a line; the rest of a very long line is kept or dropped with it.
    const line = text.slice(from, Math.min(end, from + 400))
    if (fence !== undefined) {
      const closing = line.trim()
      if (closing.startsWith(fence) && /^(?:`+|~+)$/.test(closing)) fence = undefined
      from = end + 1
      continue
    }
    const mark = FENCE.exec(line)?.[0].trimStart()
    if (mark !== undefined && isFence(line, mark) && end - from === line.length) {
      fence = mark
      from = end + 1
      continue
    }
    if (FORWARDED.test(line) || (MAIL_FROM.test(line) && isMailHead(text, from))) break
    if (QUOTED.test(line) || LOGGED.test(line) || SOURCED.test(line)) {
      from = end + 1
      continue
    }
    const open = opensQuotes(text, from, end)
    if (open >= 0 && open + 3 <= lastQuotes) {
      kept.push(text.slice(from, open), '\n')
      from = text.indexOf('"""', open + 3) + 3
      continue
    }
    const block = tags.next(from, end)
    if (block !== undefined) {
      kept.push(text.slice(from, block.from), '\n')
      from = block.to
      continue
    }
    kept.push(text.slice(from, found < 0 ? end : end + 1))
    from = end + 1
  }
  return kept.join('')
}

/** Whether a line that begins with a fence mark opens a fence: another mark on the line would close it. */
function isFence(line: string, mark: string): boolean {
  const after = line.trimStart().slice(mark.length)
  return !after.includes(mark.slice(0, 3)) && !(mark.startsWith('~') && after.trim().includes(' '))
}

/** Where a line opens a block of three quotes: at its beginning or its end. */
function opensQuotes(text: string, from: number, end: number): number {
  let first = from
  while (first < end && first - from < 40 && isSpace(text.charCodeAt(first))) first++
  if (text.startsWith('"""', first)) return first
  let last = end
  while (last > from && end - last < 40 && isSpace(text.charCodeAt(last - 1))) last--
  return last - 3 >= from && text.startsWith('"""', last - 3) ? last - 3 : -1
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0d
}

/** Whether a line that looks like a mail's sender is followed by more header lines. */
function isMailHead(text: string, from: number): boolean {
  const [sender = '', ...next] = text.slice(from, from + 600).split('\n')
  // "From: and Sent: are parsed" is a sentence about mails.
  if (MAIL_HEADER.test(sender.slice(6)) && !/:\*{0,2} ?(?:and|or|und|oder|et|ou|y|o)\b/i.test(sender))
    return true
  return next.slice(0, 3).some((line) => MAIL_HEADER.test(line))
}

type Block = { readonly from: number; readonly to: number }

/** Finds the blocks between tags. */
function blockTags(text: string): { next(from: number, end: number): Block | undefined } {
  const tags: Tag[] = []
  const lastClose = new Map<string, number>()
  if (text.includes('</')) {
    for (const match of text.matchAll(TAG)) {
      const name = match[2]!.toLowerCase()
      if (OWN_TAGS.has(name) || match[0].endsWith('/>')) continue
      const closes = match[1] === '/'
      if (closes) lastClose.set(name, tags.length)
      tags.push({ name, closes, at: match.index, end: match.index + match[0].length })
    }
  }
  let place = 0
  return {
    next(from, end) {
      while (place < tags.length && tags[place]!.at < from) place++
      for (; place < tags.length && tags[place]!.at < end; place++) {
        const open = tags[place]!
        const last = lastClose.get(open.name) ?? -1
        if (open.closes || last < place || !isAtEdge(text, open, from, end)) continue
        // The closing tag, or the last one of its name when tags are unbalanced.
        let depth = 0
        let close = place
        for (; close <= last; close++) {
          const tag = tags[close]!
          if (tag.name === open.name) depth += tag.closes ? -1 : 1
          if (depth === 0) break
        }
        const closing = tags[Math.min(close, last)]!
        if (closing.at <= end && !QUOTING_TAGS.has(open.name)) continue
        return { from: open.at, to: closing.end }
      }
      return undefined
    },
  }
}

/** Whether a tag begins or ends its line. */
function isAtEdge(text: string, { at, end: after }: Tag, from: number, end: number): boolean {
  return (
    text.slice(Math.max(from, at - 40), at).trim() === '' ||
    text.slice(after, Math.min(end, after + 40)).trim() === ''
  )
}

/** Blocks that programs add to a user's message. */
const INSERTS = [
  'system-reminder',
  'environment_details',
  'local-command-stdout',
  'command-message',
  'command-name',
  'file_content',
] as const

/** A text without the blocks that programs added. */
export function withoutInserts(text: string): string {
  if (!text.includes('</')) return text
  let own = text
  for (const name of INSERTS) {
    const kept: string[] = []
    let from = 0
    for (let open = own.indexOf(`<${name}`); open >= 0; open = own.indexOf(`<${name}`, from)) {
      const close = own.indexOf(`</${name}>`, open)
      if (close < 0) break
      kept.push(own.slice(from, open))
      from = close + name.length + 3
    }
    own = kept.join('') + own.slice(from)
  }
  return own
}

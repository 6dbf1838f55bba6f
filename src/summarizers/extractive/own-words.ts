/*
 * What a user wrote, without what the user quotes, pastes or forwards: others' rules are not the user's own.
 */

/** Tags in which clients wrap what the user says: what is between them is the user's. */
const OWN_TAGS = new Set(
  'task query question request user user_query user_message user_input message prompt goal instruction instructions rule rules requirements constraints feedback answer important'.split(
    ' ',
  ),
)
/** Tags between which other people's text stands, even on one line. */
const QUOTING_TAGS = new Set(
  'document doc file file_content content context source quote blockquote email mail article page webpage web_page search_result search_results tool_result result output log logs transcript attachment'.split(
    ' ',
  ),
)

const TAG = /<(\/?)([A-Za-z][\w:.-]{0,60})(?:\s[^<>\n]{0,300})?>/g

type Tag = { readonly name: string; readonly closes: boolean; readonly at: number; readonly end: number }

const FENCE = /^\s{0,12}(?:`{3,80}|~{3,80})/
const QUOTED = /^\s{0,40}>/
/** What stands above a mail that is passed on. */
const FORWARDED =
  /^\s{0,8}(?:[-_]{3,20} ?(?:original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|message d['’]origine|message transféré|mensaje original|mensaje reenviado|原始邮件|转发邮件) ?[-_]{3,20}|begin forwarded message:|anfang der weitergeleiteten nachricht:|début du message transféré ?:)\s{0,8}$/i
const MAIL_FROM = /^\s{0,8}\*{0,2}(?:From|Von|De|发件人|差出人)\*{0,2}[:：]\*{0,2} ?\S/i
const MAIL_HEADER =
  /(?:^|\s)\*{0,2}(?:Sent|Date|To|Subject|Gesendet|Datum|An|Betreff|Envoyé|Objet|À|Enviado|Fecha|Para|Asunto|发送时间|收件人|主题|送信日時|宛先|件名)\*{0,2}[:：]/
/** A line of a log: a moment or a level at its head, as programs write them. */
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
/** A line that names, in brackets, the source it was taken from. */
const SOURCED =
  /^\s{0,12}(?:[-*+] )?\[(?:web|web ?page|search|browser|page|site|website|url|https?|tool|result|search result|docs?|document|e?mail|system|assistant|bot|log|output|stdout|stderr|source|retrieved|file|attachment|quote|snippet|external|rss|feed|article|wiki|slack|ticket|comment)(?:[\s:#/-][^\]\n]{0,200}|\d{0,4})\](?!\()/i

/**
 * A user's text without quoted lines, fences, blocks between `"""` or tags, forwarded mails, lines of logs and of
 * named sources. What merely mentions such marks stays, and so does what is opened and never closed, except a fence.
 * Time grows with the text's length.
 */
export function ownWords(text: string): string {
  const tags = blockTags(text)
  const lastQuotes = text.lastIndexOf('"""')
  const kept: string[] = []
  let fence: string | undefined
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf('\n', from)
    const end = found < 0 ? text.length : found
    // What a pattern looks at of a line; the rest of a very long one is kept or dropped with it.
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

/** Whether a line that begins with marks opens a fence: three more of them would close it on the line. */
function isFence(line: string, mark: string): boolean {
  const behind = line.trimStart().slice(mark.length)
  return !behind.includes(mark.slice(0, 3)) && !(mark.startsWith('~') && behind.trim().includes(' '))
}

/** Where a line opens a block of three quotes: they stand at its beginning or at its end. */
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

/** Whether a line that begins like a mail's sender is followed by more of a mail's head. */
function isMailHead(text: string, from: number): boolean {
  const [sender = '', ...next] = text.slice(from, from + 600).split('\n')
  // "From: and Sent: are parsed" speaks of mails.
  if (MAIL_HEADER.test(sender.slice(6)) && !/:\*{0,2} ?(?:and|or|und|oder|et|ou|y|o)\b/i.test(sender))
    return true
  return next.slice(0, 3).some((line) => MAIL_HEADER.test(line))
}

type Block = { readonly from: number; readonly to: number }

/** Finds the blocks between tags, from the text's beginning to its end. */
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
        if (open.closes || last < place || !standsAtEdge(text, open, from, end)) continue
        // The tag that closes it, or the last of its name where they do not match up.
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
function standsAtEdge(text: string, { at, end: behind }: Tag, from: number, end: number): boolean {
  return (
    text.slice(Math.max(from, at - 40), at).trim() === '' ||
    text.slice(behind, Math.min(end, behind + 40)).trim() === ''
  )
}

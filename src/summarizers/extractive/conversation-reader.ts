import { detached } from '../../messages/characters.ts'
import type { Message, RowKind } from '../../messages/message.ts'
import { type Call, type CallsRead, NO_OUTPUT } from '../calls.ts'
import { ends } from '../text.ts'
import { writingsOf } from './boxes.ts'
import {
  type Conversation,
  callLabel,
  commitSubject,
  type Exchange,
  errorLine,
  type KeptOfCall,
  LABEL_UNITS,
  NEWEST_CALLS,
  PROBLEM_LABEL_UNITS,
  type SeenCall,
  type Utterance,
} from './conversation.ts'
import { ALL_FACT_UNITS, factUnits, isCommandLine } from './facts.ts'
import { aboutWhole, textsToOutline } from './files.ts'
import { MAX_FAILURES } from './problems.ts'
import { todoItems } from './tasks.ts'

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

/** The minimum number of calls between two passes over the calls with input and output. */
const CALLS_BETWEEN = 2_000

/**
 * The calls of a conversation while it is read. A call whose input and output will not be read again is reduced to its kept
 * part: all but the newest calls, the calls without a result, and the calls within the limits for facts and outlines.
 */
class SeenCalls {
  readonly all: SeenCall[] = []
  /** The calls with input and output. */
  #whole: Call[] = []
  /** Their maximum number before the next pass: twice the number left, so that the work stays linear. */
  #most = CALLS_BETWEEN
  /** The error line of each call that was read. */
  readonly #problems = new WeakMap<Call, string | undefined>()

  add(call: Call): void {
    this.all.push(call)
    this.#whole.push(call)
    if (this.#whole.length >= this.#most) this.#shrink()
  }

  #shrink(): void {
    const reached = reachedIn(this.#whole.filter(({ result }) => result !== undefined))
    const oldest = this.all.length - NEWEST_CALLS
    const whole: Call[] = []
    let failures = 0
    for (const call of this.#whole.reverse()) {
      if (call.number >= oldest || call.result === undefined || reached.has(call)) whole.push(call)
      else
        this.all[call.number] = shrunk(
          call,
          call.result,
          failures < MAX_FAILURES ? this.#problemOf(call) : undefined,
        )
      if (failures < MAX_FAILURES && this.#problemOf(call) !== undefined) failures += 1
    }
    this.#whole = whole.reverse()
    this.#most = Math.max(2 * whole.length, whole.length + CALLS_BETWEEN)
  }

  #problemOf(call: Call): string | undefined {
    if (!this.#problems.has(call)) this.#problems.set(call, errorLine(call))
    return this.#problems.get(call)
  }
}

/** The calls with a result that are read for facts and outlines, within their limits. */
function reachedIn(calls: readonly Call[]): ReadonlySet<Call> {
  const reached = new Set<Call>()
  for (const { call } of textsToOutline(calls)) reached.add(call)
  let room = ALL_FACT_UNITS
  for (let i = calls.length - 1; i >= 0 && room > 0; i--) {
    const call = calls[i]!
    if (call.effect !== 'other') continue
    room -= factUnits(call)
    if (!isCommandLine(call)) reached.add(call)
  }
  return reached
}

/** `problem` is the error line when the call is among the newest failures that are reported. */
function shrunk(
  call: Call,
  { outcome, at }: NonNullable<Call['result']>,
  problem: string | undefined,
): SeenCall {
  const { id, name, effect, paths, at: calledAt, number } = call
  const result = { output: NO_OUTPUT, outcome, at }
  // Each field by name: V8 makes a hidden class for every object that is spread.
  return { id, name, input: null, effect, paths, at: calledAt, number, result, kept: keptOf(call, problem) }
}

function keptOf(call: Call, line: string | undefined): KeptOfCall {
  return {
    label: detached(callLabel(call, LABEL_UNITS)),
    problem:
      line === undefined
        ? undefined
        : { line: detached(line), label: detached(callLabel(call, PROBLEM_LABEL_UNITS)) },
    isCommand: isCommandLine(call),
    commit: detachedIf(commitSubject(call)),
    about: detachedIf(aboutWhole(call)),
    writings: writingsOf(call),
    todo: todoItems(call),
  }
}

function detachedIf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : detached(text)
}

/** The units of one text that are read, at its beginning and its end, where rules and results are. */
const USER_ENDS = [6_000, 2_000] as const
const ASSISTANT_ENDS = [2_500, 1_500] as const

/** Reads a conversation for extraction, one message after another. Truncation markers are ignored. */
export class ConversationReader {
  readonly #texts: Utterance[] = []
  readonly #summaries: string[] = []
  readonly #calls = new SeenCalls()
  #at = 0

  /** Adds a message and its calls. Results that come later are set on the calls. */
  add(message: Message & { readonly kind?: RowKind }, { made }: CallsRead): void {
    const at = this.#at++
    for (const call of made) this.#calls.add(call)
    if (message.kind === 'marker' || message.role === 'system' || message.role === 'tool') return
    const text = textOf(message)
    if (text.trim() === '') return
    if (message.kind === 'summary') this.#summaries.push(text)
    else if (message.role === 'assistant') {
      const shown = endsOf(text, ASSISTANT_ENDS)
      this.#texts.push({ by: 'assistant', text: shown, at, own: shown })
    } else {
      const written = withoutInserts(text)
      const shown = endsOf(written, USER_ENDS)
      if (shown.trim() === '') return
      // Of the whole text: a block that is cut would stay open.
      const own = ownWords(written)
      this.#texts.push({ by: 'user', text: shown, at, own: own === written ? shown : endsOf(own, USER_ENDS) })
    }
  }

  /** Returns the conversation. Call it after the last message. */
  conversation(): Conversation {
    const items = this.#texts
    const calls = this.#calls.all
    const replies = items.filter(({ by }) => by === 'assistant')
    return { texts: items, replies, calls, summaries: this.#summaries, exchanges: exchangesOf(items, calls) }
  }
}

/** The ends of a long text, without the text between them in memory. */
function endsOf(text: string, [first, last]: readonly [number, number]): string {
  const shown = ends(text, first, last)
  return shown.length < text.length ? detached(shown) : shown
}

function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content
  const texts = message.content.filter((part) => part.type === 'text')
  return texts.length === 1 ? texts[0]!.text : texts.map(({ text }) => text).join('\n')
}

/** Blocks that programs add to a user's message. */
const INSERTS = [
  'system-reminder',
  'environment_details',
  'local-command-stdout',
  'command-message',
  'file_content',
] as const

function withoutInserts(text: string): string {
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

function exchangesOf(items: readonly Utterance[], calls: readonly SeenCall[]): Exchange[] {
  const exchanges: { request: Utterance; replies: Utterance[]; calls: SeenCall[] }[] = []
  let nextCall = 0
  const takeCalls = (before: number) => {
    const last = exchanges.at(-1)
    for (; nextCall < calls.length && calls[nextCall]!.at < before; nextCall++)
      last?.calls.push(calls[nextCall]!)
  }
  for (const item of items) {
    if (item.by === 'assistant') exchanges.at(-1)?.replies.push(item)
    else {
      takeCalls(item.at)
      exchanges.push({ request: item, replies: [], calls: [] })
    }
  }
  takeCalls(Number.POSITIVE_INFINITY)
  return exchanges
}

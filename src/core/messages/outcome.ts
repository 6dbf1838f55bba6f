import { headOf, tailOf } from './characters.ts'
import { fieldOf, isObject, type Json, type JsonObject, parsedJson } from './json.ts'
import { isFailed, type ToolResultOutput } from './message.ts'
import * as wording from './outcome-wordings.ts'
import { effectOf, isListingTool, isUserTool, type ToolNames } from './tool-names.ts'

/*
 * Derives the outcome of a tool call. Many tools set no error flag, so the outcome comes from the result: status fields, exit codes, and
 * the wording of the first and last lines. Which lines count depends on the kind of call: a file or a search result may mention any
 * error, an editor reports in its first line, a command at its end.
 */

/** `unknown`: the result does not show whether the call succeeded. */
export type Outcome = 'ok' | 'failed' | 'unknown'

/** The call that a result belongs to, as far as it is known. */
type CalledTool = { readonly toolName?: string; readonly input?: Json }

/**
 * Returns the outcome of a call, derived from its result. Takes linear time; reads at most 12,000 units of a text that is not data.
 * `names`: the tools that read and write files and that ask a person, instead of the default lists.
 */
export function outcomeOf(call: CalledTool, output: ToolResultOutput, names: ToolNames = {}): Outcome {
  if (isFailed(output)) return 'failed'
  // What a person answers is an answer, also "never"; a text that names the tool is about the call.
  const { toolName = '' } = call
  if (output.type === 'text' && isUserTool(toolName, names.userTools) && !output.value.includes(toolName))
    return output.value.trim() === '' ? 'unknown' : 'ok'
  const kind = kindOf(call, names)
  switch (output.type) {
    case 'text':
    case 'error-text':
      return ofText(output.value, kind)
    case 'json':
    case 'error-json':
      return ofData(output.value, kind, 0)
    case 'content': {
      const texts = output.value.flatMap((item) => (item.type === 'text' ? [item.text] : []))
      if (texts.length === 0) return output.value.length > 0 ? 'ok' : 'unknown'
      return ofText(texts.join('\n'), kind)
    }
  }
}

/*
 * The kind of a call
 */

type Kind = {
  /** `show`: shows stored text; `fetch`: fetches text from elsewhere; `change`: changes files; `run`: runs a command. */
  readonly does: 'show' | 'fetch' | 'change' | 'run' | 'other'
  /** The command line, if the call runs one. */
  readonly command?: string
  /** Whether the shown text consists of reports of other programs. */
  readonly quotes?: boolean
  /** The beginnings of the words in the tool's name: `cancel_order` reports that an order was cancelled. */
  readonly verbs?: readonly string[]
  /** Whether the call asks for a list, which may be empty. */
  readonly asks?: boolean
}

function kindOf({ toolName = '', input = null }: CalledTool, names: ToolNames): Kind {
  const effect = effectOf(toolName, input, names)
  const isShell = wording.SHELL_TOOL.test(toolName)
  const given = commandIn(input)
  // `command` may name an editor's operation.
  if (given !== undefined && (isShell || effect === 'other')) {
    const command = withoutPrelude(given)
    const quotes = wording.SHOW_COMMAND.test(command)
    return { does: quotes ? 'show' : 'run', command, quotes, asks: true }
  }
  if (effect === 'read' || isListingTool(toolName)) return { does: 'show' }
  // What another agent answers is prose.
  const isAsked = wording.ASKS.some((name) => typeof fieldOf(input, name) === 'string')
  if (wording.SHOW_TOOL.test(toolName) || isAsked) return { does: 'show', quotes: true }
  if (effect === 'write') return { does: 'change' }
  if (isShell) return { does: 'run', command: '' }
  const verbs = toolName
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => !/^require|ed$/.test(word))
    .map((word) => word.replace(/(?:el|y)$/, '').slice(0, 5))
  const does = wording.FETCH_TOOL.test(toolName) ? 'fetch' : 'other'
  return { does, verbs, asks: wording.ASKS_FOR.test(toolName) }
}

/**
 * Returns the command line that a call runs, at most its first 2,000 units; `undefined` if there is none. Of the source of a program that
 * calls tools, the commands that it contains.
 */
export function commandIn(input: Json): string | undefined {
  if (typeof input === 'string') return commandsInSource(input)
  if (!isObject(input)) return undefined
  const command = Object.entries(input).find(([name]) => wording.COMMAND_ARGUMENT.test(name))?.[1]
  if (typeof command === 'string') return headOf(command, 2_000)
  if (!Array.isArray(command) || !command.every((word) => typeof word === 'string')) {
    const source = own(input, 'code') ?? own(input, 'input')
    return typeof source === 'string' ? commandsInSource(source) : undefined
  }
  // `["bash", "-lc", "npm test"]`
  return headOf(/^-\w*c$/.test(command[1] ?? '') ? (command[2] ?? '') : command.join(' '), 2_000)
}

/** `await tools.exec_command({cmd: "npm test"})` */
function commandsInSource(source: string): string | undefined {
  if (!source.includes('await ')) return undefined
  const commands = Array.from(headOf(source, 20_000).matchAll(wording.SOURCE_COMMAND), ([, quoted = '']) =>
    unescaped(quoted.slice(1, -1)),
  )
  return commands.length === 0 ? undefined : headOf(commands.join('\n'), 2_000)
}

/** Returns a shell command without the shell that runs it, leading changes of directory, and the redirection of its errors. */
export function withoutPrelude(command: string): string {
  return command
    .trim()
    .replace(/^(?:\/bin\/)?(?:ba|z|da)?sh -l?c ['"]/, '')
    .replace(/^(?:cd [^;&|\n]{1,300}(?:&&|;)\s*){1,3}/, '')
    .replaceAll(/2>(?:&1|\/dev\/null)/g, '')
    .trim()
}

/*
 * Data
 */

/** The most units that are parsed of a text that looks like data. */
const MAX_DATA = 200_000

function ofData(value: Json, kind: Kind, depth: number): Outcome {
  if (typeof value === 'string') return ofText(value, kind)
  if (value === null) return 'unknown'
  if (typeof value === 'boolean') return value ? 'ok' : 'unknown'
  if (Array.isArray(value)) return ofList(value as readonly Json[], kind)
  if (!isObject(value)) return 'ok'
  const fields = plainFields(value)
  const stated = statedIn(fields)
  if (stated !== undefined) return stated
  for (const name of depth < 2 ? wording.REPORTS : []) {
    const inner = fields.get(name)
    const found = isObject(inner) ? statedIn(plainFields(inner)) : undefined
    if (found !== undefined) return found
    if (Array.isArray(inner) && haveAllFailed(inner as readonly Json[])) return 'failed'
  }
  if (fields.size === 0) return 'unknown'
  // A data record may contain any text; a report has few other fields.
  if (fields.size > 4) return 'ok'
  const outcomes = wording.PRINTED.flatMap((name) => {
    const value = fields.get(name)
    if (Array.isArray(value)) return [ofList(value as readonly Json[], kind)]
    // A message with no other field is the service's own, not a page that it returned.
    const isWord = name === 'message' && kind.does === 'fetch'
    return typeof value === 'string' ? [ofText(value, isWord ? { does: 'other' } : kind)] : []
  })
  if (outcomes.includes('failed')) return 'failed'
  return outcomes.length === 0 || outcomes.includes('ok') ? 'ok' : 'unknown'
}

type Fields = ReadonlyMap<string, Json>

/** Returns the fields of a record, with names in lower case and without underscores. A longer record is data, not a report. */
function plainFields(value: JsonObject): Fields {
  const entries = Object.entries(value).slice(0, MAX_FIELDS)
  return new Map(
    entries.map(([name, field]) => [name.toLowerCase().replaceAll(/[^\p{L}\d]/gu, ''), field as Json]),
  )
}

const MAX_FIELDS = 60

/** The outcome of a list: several answers, or the parts of one. */
function ofList(items: readonly Json[], kind: Kind): Outcome {
  const texts = items.slice(0, 20).flatMap((item) => {
    const text = isObject(item) && own(item, 'type') === 'text' ? own(item, 'text') : undefined
    return typeof text === 'string' ? [text] : []
  })
  if (texts.length > 0) return ofText(texts.join('\n'), kind)
  return haveAllFailed(items) ? 'failed' : 'ok'
}

function haveAllFailed(items: readonly Json[]): boolean {
  const failed = items.slice(0, 20).filter((item) => {
    const fields = isObject(item) ? plainFields(item) : new Map<string, Json>()
    return !isStored(fields) && statedIn(fields) === 'failed'
  })
  return items.length > 0 && failed.length === Math.min(items.length, 20)
}

/** Returns whether a record has an id: its status then describes a stored thing, not the call. */
function isStored(fields: Fields): boolean {
  return [...fields.keys()].some((name) => /id$/.test(name) && !wording.NO_ID.test(name))
}

/** Returns the outcome that the fields of a record state. */
function statedIn(fields: Fields): Outcome | undefined {
  const found = (names: readonly string[]): Json | undefined =>
    names.map((name) => fields.get(name)).find((field) => field !== undefined)
  const code = found(wording.EXIT_CODES)
  if (typeof code === 'number' || (typeof code === 'string' && /^-?\d{1,5}$/.test(code)))
    return Number(code) === 0 ? 'ok' : 'failed'
  if (wording.FLAGS.some((name) => fields.get(name) === true)) return 'failed'
  const success = found(wording.SUCCESSES)
  if (success === false || success === 0 || success === 'false') return 'failed'
  if (success === true || success === 1 || success === 'true') return 'ok'
  for (const [name, field] of fields) if (wording.ERRORS.test(name) && isTold(field)) return 'failed'
  return isStored(fields) ? undefined : ofStatus(fields, found(wording.STATUSES))
}

/** Returns the outcome by the status, or by the code of a web service: `{"code": 40001, "msg": "…"}`. */
function ofStatus(fields: Fields, status: Json | undefined): Outcome | undefined {
  if (typeof status === 'string' && wording.FAILED_STATUS.test(status)) return 'failed'
  if (typeof status === 'string' && wording.OK_STATUS.test(status)) return 'ok'
  if (Number(status) >= 400 && Number(status) < 600) return 'failed'
  const code = fields.get('code')
  const isTold = wording.MESSAGES.some((name) => fields.has(name))
  const isFailure = typeof code === 'number' && code !== 0 && (code < 200 || code >= 300)
  const isNamed = typeof code === 'string' && /^[A-Z_]{4,60}$/.test(code) && fields.size <= 3
  if (isTold && (isFailure || isNamed)) return 'failed'
  // An exception as JavaScript serializes it, or what a web framework answers to wrong arguments.
  if (/(?:Error|Exception)$/.test(String(fields.get('name')))) return 'failed'
  const detail = fields.size === 1 ? fields.get('detail') : undefined
  const isDetail = typeof detail === 'string' || (Array.isArray(detail) && isObject(detail[0] as Json))
  return isDetail ? 'failed' : undefined
}

function isTold(error: Json | undefined): boolean {
  if (typeof error === 'string') return !wording.NO_ERROR.test(error.trim())
  if (typeof error === 'number') return error !== 0
  if (Array.isArray(error)) return error.length > 0
  return error === true || (isObject(error) && Object.keys(error).length > 0)
}

/*
 * Text
 */

const HEAD_UNITS = 6_000
const TAIL_UNITS = 6_000
/** The number of first and of last lines of a result that are read. */
const FIRST_LINES = 6
const LAST_LINES = 40
const LINE_UNITS = 400
/** A longer text from a tool that shows text is content, whatever its beginning. */
const MAX_MESSAGE = 4_000
/** A longer page that begins with an error is about errors. */
const MAX_ERROR_PAGE = 2_500
/** A message of a tool, rather than an answer: its lines and units. */
const MESSAGE_LINES = 3
const MAX_SENTENCE = 400
/** Fewer lines are probably the whole output of a command that ends in `| head`. */
const CUT_LINES = 10

function ofText(given: string, kind: Kind): Outcome {
  const { does, command } = kind
  const quotes = kind.quotes === true
  // Some logs repeat the change above its report.
  const text = does === 'change' ? withoutDiff(given) : given
  const whole = text.length <= HEAD_UNITS + TAIL_UNITS
  const head = whole ? text : headOf(text, HEAD_UNITS)
  if (whole && (head.trim() === '' || wording.CLEARED.test(head.trim()))) return 'unknown'
  const fenced = text.length <= MAX_DATA ? wording.FENCED.exec(text)?.[1] : undefined
  if (fenced !== undefined) return ofText(fenced, kind)
  if (wording.ERROR_ELEMENT.test(head)) return 'failed'
  const header = wording.HEADER.exec(head)?.[0]
  if (header !== undefined) return ofFramed(header, text.slice(header.length), kind)
  const printed = text.length <= MAX_DATA ? wording.PRINTED_CONTENT.exec(text) : null
  if (printed !== null) return printed[3] === 'True' ? 'failed' : ofText(unescaped(printed[2]!), kind)
  const data = does === 'show' && !wording.ENVELOPE.test(text.slice(-60)) ? undefined : dataIn(text)
  if (data !== undefined) return ofData(data, kind, 1)
  const isShown = does === 'show' || does === 'fetch'
  if (whole && wording.NO_OUTPUT.test(head.trim())) return isShown || /success/i.test(head) ? 'ok' : 'unknown'
  const first = filledLines(head, FIRST_LINES)
  const last = lastLines(whole ? head : tailOf(text, TAIL_UNITS))
  // A heading such as "### Result", or the title of a page, may precede the message.
  const title = does === 'fetch' ? wording.PAGE_TITLE : /^#{2,4} /
  const opening = first.find((line) => !title.test(line)) ?? ''
  if (isShown && wording.EMPTY_LIST.test(opening)) return 'ok'
  const code = does === 'show' && command === undefined ? undefined : exitCode(first, last, does !== 'run')
  if (code !== undefined) return code === 0 ? 'ok' : 'failed'
  if (!isShown && [opening, last.at(-1) ?? ''].some((line) => wording.RUNNING.test(line))) return 'unknown'
  const isMessage = !isShown || text.length <= MAX_MESSAGE
  if (isMessage && isHeading(opening, text, kind)) return 'failed'
  // The client, or a person, says what became of the call.
  const isRemark = wording.CLIENT.test(opening) && (!isShown || text.length <= MAX_ERROR_PAGE)
  if (isRemark && verdict(opening, kind) === 'failed') return 'failed'
  const isShort = whole && last.length <= MESSAGE_LINES && text.length <= MAX_SENTENCE
  const told = verdict(opening, kind)
  // A sentence that says neither shows no outcome.
  const saysNothing = isShort && told === undefined && wording.PROSE.test(opening) && !/\d|: /.test(opening)
  switch (does) {
    case 'show':
    case 'fetch':
      if (last.length <= 3 && last.some((line) => isOfProgram(line, kind))) return 'failed'
      // Of a tool that quotes others only one line without a speaker is its own.
      if (
        isShort &&
        told === 'failed' &&
        (!quotes || (command === undefined && last.length === 1 && !/^(?:I|we)\b/i.test(opening)))
      )
        return 'failed'
      if (does === 'show') return last.length <= 3 && last.every(isProgramError) ? 'failed' : 'ok'
      if (text.length <= MAX_ERROR_PAGE && wording.NO_PAGE.test(first[0] ?? '')) return 'failed'
      return saysNothing ? 'unknown' : 'ok'
    case 'change':
      // The changed text may follow in full.
      return ofReport([...first.slice(0, text.length > MAX_ERROR_PAGE ? 1 : 4), ...last.slice(-2)], kind)
    case 'run':
      // One line, or a remark in brackets, may be the client's.
      if (
        (isShort && (last.length === 1 || command === '') && !wording.PRINTS.test(command ?? '')) ||
        /^(?:\[[^\]]*\]?$|[❌⛔])/.test(opening)
      ) {
        if (told === 'failed') return 'failed'
      }
      return ofPrinted(first, last, kind)
    case 'other':
      if (text.length <= MAX_ERROR_PAGE && told === 'failed') return 'failed'
      return saysNothing ? 'unknown' : 'ok'
  }
}

function withoutDiff(text: string): string {
  const start = text.indexOf('```diff\n')
  const end = start < 0 ? -1 : text.indexOf('\n```', start)
  return end < 0 ? text : text.slice(0, start) + text.slice(end + 4)
}

/** The outcome of a result with lines of the client above the output. */
function ofFramed(header: string, printed: string, kind: Kind): Outcome {
  const lines = filledLines(header, 8)
  const code = exitCode(lines, lines, false)
  if (code !== undefined) return code === 0 ? 'ok' : 'failed'
  if (lines.some((line) => wording.RUNNING.test(line))) return 'unknown'
  const outcome = ofText(printed, kind)
  return outcome === 'unknown' && kind.does === 'change' ? ofReport(lines, kind) : outcome
}

/** Returns whether the first line begins a report of failure rather than a shown file or log. */
function isHeading(opening: string, text: string, { does, command = '', quotes }: Kind): boolean {
  if (quotes === true) return wording.FATAL.test(opening) && !/logs?\b/.test(command)
  // The output of a command is read from its end.
  if (does === 'run' || (does === 'show' && /^\s*[[{]/.test(text))) return false
  return wording.HEADING.test(opening) && (does !== 'fetch' || text.length <= MAX_ERROR_PAGE)
}

/** The outcome of an editor's report: the first line with text decides, because the changed text may follow. */
function ofReport(lines: readonly string[], kind: Kind): Outcome {
  for (const line of lines) {
    const found = isProgramError(line) ? 'failed' : verdict(line, kind)
    if (found !== undefined) return found
  }
  return /^(?:found (?!1\b)\d|\d+ occurrences)/i.test(lines[0] ?? '') ? 'failed' : 'unknown'
}

/** The end of a sentence, and what it quotes. */
const SENTENCE = /^.{20,400}?[.!。](?=\s|$)/
const QUOTED =
  /"[^"]{0,300}"|`[^`]{0,300}`|“[^”]{0,300}”|(?<![\w])'[^']{1,300}'(?!\w)|(?<=\S ?)[(（][^()（）]{0,300}[)）]/g

/** What the first sentence of a line says happened to the call: what it says first. Neither quotations nor the call's own verb fail. */
function verdict(line: string, { verbs = [], asks = false }: Kind): Outcome | undefined {
  // An entry of a list or of a log, a path or data is not a message.
  if (/^(?:(?:#\d+|\d+[.)])\s|[-*•] |\d{4}-\d\d|\{|# |\/\/|\S{0,300}[/\\]\S{0,300}(?:[:-]\d|$))/.test(line))
    return undefined
  const spaced = /^(?:\w{1,80}$|[A-Z]\w{1,80}_[A-Z\d]{1,40}:)/.test(line) ? line.replaceAll('_', ' ') : line
  const said = (SENTENCE.exec(spaced)?.[0] ?? spaced).replaceAll(QUOTED, '""')
  if (asks && wording.EMPTY_LIST.test(said)) return 'ok'
  const own = Array.from(
    said.matchAll(/\p{L}{2,20}ed\b(?=\W*$|[.!,;]| (?:and|to|at|for|as|by|from|on|in|with)\b)/giu),
  ).find(([word]) => verbs.some((verb) => verb.length > 2 && word.toLowerCase().startsWith(verb)))?.index
  const done = Math.min(own ?? said.length, wording.DONE.exec(said)?.index ?? said.length)
  const fails = said.search(wording.FAILS)
  const but = said.search(wording.BUT)
  if (but >= 0 && said.slice(but).search(wording.FAILS) >= 0) return 'failed'
  if (fails >= 0 && fails <= done && fails !== own) return 'failed'
  if (done < said.length) return 'ok'
  return wording.ADVICE.test(line) ? 'failed' : undefined
}

/** The number of lines above a report of success that belong to it. */
const REPORT_LINES = 6

/** The outcome of a command's output. A report at its end decides: an earlier failure is not a failure of the command. */
function ofPrinted(first: readonly string[], last: readonly string[], kind: Kind): Outcome {
  const { command = '' } = kind
  const passed = last.findLastIndex((line) => wording.PASSED.test(line) && !countsFailures(line))
  const counted = last.findLastIndex(countsFailures)
  const worded = last.findLastIndex((line) => wording.COMMAND_FAILED.test(line))
  if (passed >= 0)
    return worded >= passed || (counted >= 0 && counted > passed - REPORT_LINES) ? 'failed' : 'ok'
  if (worded >= 0 || counted >= 0 || wording.HEADING.test(first[0] ?? '')) return 'failed'
  if (last.length <= 5 && [first[0], last.at(-1)].some((line) => isOfProgram(line ?? '', kind)))
    return 'failed'
  if (isProgramError(last.at(-1) ?? '') || isProgramError(first[0] ?? '')) return 'failed'
  if (wording.UNABLE.test(last.at(-1) ?? '')) return 'failed'
  if (wording.CUT_COMMAND.test(command) && last.length >= CUT_LINES) return 'unknown'
  if (wording.UNFINISHED.test(last.at(-1) ?? '')) return 'unknown'
  return wording.TEST_COMMAND.test(command) ? 'unknown' : 'ok'
}

function countsFailures(line: string): boolean {
  return wording.FAILED_COUNT.test(line) && !wording.NOT_A_COUNT.test(line)
}

function dataIn(text: string): Json | undefined {
  if (text.length > MAX_DATA || !/^\s{0,20}[[{]/.test(text) || !/[\]}]\s{0,20}$/.test(text.slice(-21)))
    return undefined
  return parsedJson(text)
}

/** Returns a text without the escapes of the program that printed it. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([\s\S])/g, (_, unit: string) => ESCAPES[unit] ?? unit)
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/** Returns the lines that are not blank, without the tags and frames around them; long lines are cut. */
function filledLines(text: string, most: number): string[] {
  const lines: string[] = []
  for (let from = 0; from < text.length && lines.length < most; ) {
    const found = text.indexOf('\n', from)
    const end = found < 0 ? text.length : found
    const line = bare(text.slice(from, Math.min(end, from + LINE_UNITS)))
    if (line !== '') lines.push(line)
    from = end + 1
  }
  return lines
}

function lastLines(text: string): string[] {
  const lines: string[] = []
  for (let end = text.length; end > 0 && lines.length < LAST_LINES; ) {
    const before = text.lastIndexOf('\n', end - 1)
    const line = bare(text.slice(Math.max(before + 1, end - LINE_UNITS), end))
    if (line !== '' && !wording.FOOTER.test(line)) lines.push(line)
    end = before
  }
  return lines.reverse()
}

function bare(line: string): string {
  return line
    .replaceAll(wording.COLORS, '')
    .replace(/^[\s>›|│┃⎿╷╵]{0,40}/, '')
    .trimEnd()
}

/** Returns the exit status of the process from the first or the last lines. Shown text may quote the status of another process. */
function exitCode(first: readonly string[], last: readonly string[], isShown: boolean): number | undefined {
  const lines = isShown ? [first[0]!, last.at(-1)] : [...first.slice(0, 4), ...last.slice(-6).reverse()]
  for (const line of lines) {
    const code = wording.EXIT.exec(line ?? '')?.[1]
    if (code === undefined || line === undefined) continue
    if ((isShown || line.length > 120) && !wording.EXIT_ONLY.test(line)) continue
    return Number(code)
  }
  return undefined
}

/** Returns whether a line is an error message of a program: its name, its subject, and a known error. */
function isProgramError(line: string): boolean {
  if (line.length > 300 || !wording.PROGRAM_ERROR.test(line)) return false
  return /^[^\s:：]{1,80}(?: \S{1,40}){0,2} ?[:：]|^[\p{L}\s'"«`「」。.，,]{0,80}$/u.test(line)
}

/**
 * Returns whether a line begins with the name of a program that the command runs: programs print their names only in their own error
 * messages.
 */
function isOfProgram(line: string, { command = '' }: Kind): boolean {
  if (wording.SHELL_ERROR.test(line)) return !/: warning: /.test(line)
  // `'frob' is not recognized`: the command shell of Windows begins with the quoted name of the command.
  const quoted = /^["'«“] ?([\w.+-]{1,60}) ?["'»”]/.exec(line)?.[1]
  if (quoted !== undefined && command.startsWith(quoted)) return true
  const name = /^([\w.+-]{1,60})(?:: |：)/.exec(line)?.[1]
  if (name === undefined || /^(?:make|configure|npm|echo|printf)$/.test(name)) return false
  if (/: (?:warning|note|info|debug)\b|\b(?:ok|success(?:ful)?)\b/i.test(line)) return false
  return command.split(/[|;&]/).some((part) => {
    const program = /^(?:(?:sudo|env|time|npx|exec) )*(\S{1,300})/.exec(part.trim())?.[1] ?? ''
    return program === name || program.endsWith(`/${name}`) || (name === 'sudo' && /\bsudo /.test(part))
  })
}

function own(value: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

import { headOf } from '../../messages/characters.ts'
import { isObject } from '../../messages/json.ts'
import { type Call, mainArgument, outputHead, outputTail, targetOf } from '../calls.ts'
import { cleanLine, oneLine, shorten, shortenPath } from '../text.ts'

/** The number of newest calls whose commands are read. */
export const NEWEST_CALLS = 2_000

/** The shell command a call runs, if it is that kind of call; no more than its first 2,000 units. */
export function shellCommand(call: Call): string | undefined {
  if (call.effect !== 'other' || !isObject(call.input)) return undefined
  if (call.input.command === undefined && call.input.cmd === undefined) return undefined
  const command = mainArgument(call.input)
  return command === undefined ? undefined : headOf(command, 2_000)
}

/** A shell command without the change of directory before it and the filter of its output after it. */
export function shellGist(command: string): string {
  return command
    .trim()
    .replace(/^cd [^&;|\n]{1,300}(?:&&|;)\s*/, '')
    .replace(/\|\s*(?:head|tail)\b[^|]{0,30}$/, '')
    .trimEnd()
    .replace(/2>&1$/, '')
    .trimEnd()
}

/** Shell commands that move, copy, create or remove files: changes that no editing tool reports. */
export function shellChanges(calls: readonly Call[]): string[] {
  const changes = new Set<string>()
  for (const call of calls.slice(-NEWEST_CALLS)) {
    if (call.result?.outcome === 'failed') continue
    const command = shellCommand(call)
    if (command === undefined) continue
    const [line = ''] = shellGist(command).split('\n')
    if (/^(?:git )?(?:mv|cp|rm|rename)\b|^sed -i|^(?:cat|tee)\b[^|]*>/.test(line)) {
      changes.add(shorten(oneLine(line), 160).replaceAll('`', "'"))
    }
  }
  return [...changes].slice(-8)
}

/** The subjects of the commits of calls. */
export function commits(calls: readonly SeenCall[]): string[] {
  const subjects: string[] = []
  for (const call of calls) {
    const subject = call.kept === undefined ? commitSubject(call) : call.kept.commit
    if (subject !== undefined) subjects.push(subject)
  }
  return subjects.slice(-40)
}

/** The subject of a call's commit; `undefined` for every other call. */
export function commitSubject(call: Call): string | undefined {
  if (call.result?.outcome === 'failed') return undefined
  const command = shellCommand(call)
  if (command === undefined || !command.includes('git commit')) return undefined
  const subject = /git commit\b[^\n]{0,200}?-[a-z]*m\s*(?:"([^"]+)|'([^']+))/.exec(command)
  const text = subject?.[1] ?? subject?.[2]
  if (text === undefined || text.startsWith('$(')) return undefined
  return shorten(oneLine(text.split('\n')[0] ?? ''), 140)
}

/** The absolute directory that commands change to most often. */
export function workingDirectory(calls: readonly Call[]): string | undefined {
  const counts = new Map<string, number>()
  let most: string | undefined
  for (const call of calls.slice(-NEWEST_CALLS)) {
    const path = /^\s*cd ((?:\/|~|[A-Za-z]:\\)[^\s&;|`]{1,200})/.exec(shellCommand(call) ?? '')?.[1]
    if (path === undefined) continue
    counts.set(path, (counts.get(path) ?? 0) + 1)
    if (most === undefined || counts.get(path)! > counts.get(most)!) most = path
  }
  return most
}

/** The branch of the last checkout. */
export function branch(calls: readonly Call[]): string | undefined {
  for (const call of calls.slice(-NEWEST_CALLS).reverse()) {
    const command = shellCommand(call) ?? ''
    const name = /\bgit (?:checkout -[bB]|switch(?: -c)?) ([\w./-]{1,100})/.exec(command)?.[1]
    if (name !== undefined && call.result?.outcome !== 'failed') return name
  }
  return undefined
}

/*
 * Finds the line of an output that describes the error. Tools of many languages print a headline first ("FAILED",
 * "Traceback") and the message below it.
 */

const ERROR_LINE =
  /\b\w*(?:Error|Exception)\b\s*[:(]|^\s*(?:error|fatal|panic|FAIL(?:ED)?|Traceback|✗|×|npm ERR!)|\berror(?:\[\w+\]| [A-Z]{2,}\d+)|: (?:error|command not found|No such file)|"error"\s*:\s*["{]/i
/** Lines about errors without a message. */
const NO_NEWS =
  /\b(?:0|no) errors?\b|\bnpm (?:error|ERR!) (?:Lifecycle|code|errno|path|command|workspace|location|in workspace|A complete)/i
const EXIT_LINE = /\bexit(?:ed)?(?: with)?(?: code| status):? [1-9]/i
/** Lines that report a failure without its cause: used when there is no other line. */
const HEADLINE =
  /^\s*(?:-{3} )?(?:FAIL(?:ED|URES?)?\b|failures?:|Traceback\b|✗|×|●|\[ERROR\]\s*(?:Tests run|Failures|Errors):|Tests run:)/i

/** The line of an output that describes the error; `undefined` when there is none. */
function tellingLine(lines: readonly string[]): string | undefined {
  const headline = lines.find((line) => ERROR_LINE.test(line) && !NO_NEWS.test(line))
  const isHeadline = headline !== undefined && HEADLINE.test(headline)
  return (
    lastRaised(lines) ??
    panicked(lines) ??
    (headline === undefined || isHeadline ? asserted(lines) : undefined) ??
    (isHeadline
      ? (lines.find((line) => ERROR_LINE.test(line) && !NO_NEWS.test(line) && !HEADLINE.test(line)) ??
        headline)
      : headline) ??
    lines.find((line) => EXIT_LINE.test(line))
  )
}

/** Python: the exception follows the frames of a traceback; the last of several reached the top. */
function lastRaised(lines: readonly string[]): string | undefined {
  let raised: string | undefined
  let indent = -1
  for (const line of lines) {
    const at = line.length - line.trimStart().length
    if (line.startsWith('Traceback (most recent call last)', at)) indent = at
    else if (indent >= 0 && at <= indent) {
      if (/^[A-Za-z_][\w.]*(?::|$)/.test(line.trim())) raised = line
      indent = -1
    }
  }
  return raised
}

/** Rust: the place of the panic, followed by the message of the next line. */
function panicked(lines: readonly string[]): string | undefined {
  const at = lines.findIndex((line) => /^\s*thread '[^']{0,200}'(?: \(\d+\))? panicked at /.test(line))
  if (at < 0) return undefined
  const line = lines[at]!.trim()
  return line.endsWith(':') ? `${line} ${lines[at + 1]?.trim() ?? ''}` : line
}

/** A failed test: Go, and frameworks that print the expected and the actual value. */
function asserted(lines: readonly string[]): string | undefined {
  const direct = lines.find(
    (line) =>
      /^\s+\w[\w.-]*_test\.go:\d+: \S/.test(line) ||
      /^(?:\.\/)?[\w./-]{1,200}\.go:\d+:\d+: \S/.test(line) ||
      /\bexpected:? ?[<[(].{0,200}[>\])],? but (?:was|found|got)\b/i.test(line),
  )
  if (direct !== undefined) return direct.replace(/^\[ERROR\]\s*/, '')
  const expected = lines.findIndex((line) => /^\s*Expected\b[^:]{0,40}: *\S/.test(line))
  const received = expected < 0 ? undefined : lines.slice(expected + 1, expected + 4).find(isReceived)
  if (received === undefined) return undefined
  const test = lines.slice(0, expected).findLast((line) => /^\s*● \S/.test(line))
  const pair = `${lines[expected]!.trim()}, ${received.trim()}`
  return test === undefined ? pair : `${test.trim().slice(2).trimStart()}: ${pair}`
}

function isReceived(line: string): boolean {
  return /^\s*(?:Received|Actual|But was|Got)\b[^:]{0,40}: *\S/i.test(line)
}

/** A text of the user or the assistant with its position; a long text has only its beginning and end. */
export type Utterance = {
  readonly by: 'user' | 'assistant'
  readonly text: string
  readonly at: number
  /** A user's text without quoted, pasted or forwarded text; an assistant's whole text. */
  readonly own: string
}
/** A request of the user and everything before the next one. */
export type Exchange = {
  readonly request: Utterance
  readonly replies: readonly Utterance[]
  readonly calls: readonly SeenCall[]
}

/** The extractor's input, read from the messages once. */
export type Conversation = {
  readonly texts: readonly Utterance[]
  readonly replies: readonly Utterance[]
  readonly exchanges: readonly Exchange[]
  readonly calls: readonly SeenCall[]
  /** Texts of summaries among the messages, oldest first. */
  readonly summaries: readonly string[]
}

/** The maximum units of a call's label by itself, and beside an error. */
export const LABEL_UNITS = 80
export const PROBLEM_LABEL_UNITS = 70

/** A call as text: name and target. */
export function callLabel(call: Call, max: number): string {
  const command = shellCommand(call)
  const target = command === undefined ? targetOf(call) : oneLine(headOf(shellGist(command), 2 * max))
  if (target === undefined) return call.name
  const shown = call.paths.length > 0 ? shortenPath(lastSegments(target), max) : shorten(target, max)
  return `${call.name} \`${shown.replaceAll('`', "'")}\``
}

/** The end of a path, which identifies a file whose whole path is listed elsewhere. */
function lastSegments(path: string): string {
  const segments = path.split('/')
  return segments.length <= 4 ? path : `…/${segments.slice(-3).join('/')}`
}

/** The units of a failed result that are read: its beginning and its end, where errors are. */
const RESULT_ENDS = 600
const FAILED_END = 3_000

/** The line of a result that describes the error, if it failed. */
export function errorLine(call: Call): string | undefined {
  if (call.result === undefined) return undefined
  const { output, outcome } = call.result
  if (outcome !== 'failed') return undefined
  const start = outputHead(output, RESULT_ENDS)
  const end = outputTail(output, start.length, FAILED_END)
  const lines = `${start}\n${end}`.split('\n').filter((line) => line.trim() !== '')
  const telling = tellingLine(lines) ?? lines[0] ?? 'failed'
  return shorten(cleanLine(telling).replace(/^E {1,8}(?=\S)/, ''), 200)
}

/** The kept part of an old call, which replaces its input and output. */
export type KeptOfCall = {
  readonly label: string
  /** The line of its result that describes the error, and its label beside that. */
  readonly problem: { readonly line: string; readonly label: string } | undefined
  readonly isCommand: boolean
  readonly commit: string | undefined
  /** The first comment or heading of the file that the call wrote as a whole. */
  readonly about: string | undefined
  readonly writings: readonly Writing[]
  readonly todo: readonly TodoItem[]
}

/** A call with its input and output, or with the kept part of them. */
export type SeenCall = Call & { readonly kept?: KeptOfCall }

/** An item of a tool's list of tasks. */
export type TodoItem = {
  readonly text: string
  readonly isDone: boolean
  readonly isActive: boolean
}

/** A text with boxes, the text that it replaces, and its file. */
export type Writing = {
  readonly text: string
  readonly old: string
  readonly at: number
  readonly where?: string
  readonly isWhole: boolean
}

import { type Call, outputHead, outputTail } from '../calls.ts'
import { cleanLine, oneLine, shorten } from '../text.ts'
import { withoutEscapes } from './names.ts'

const TRACEBACK = 'Traceback (most recent call last)'
/** Lines that describe an error, the most telling first: tools print a headline and the message below it. */
const DESCRIPTIONS: readonly RegExp[] = [
  // Python: the exception follows the frames.
  /^Traceback.*\n(?:[ \t].*\n)*([A-Za-z_][\w.]*(?::.*)?)$/m,
  // Rust: the place of the panic and its message. Go: a failed test, and a file that does not compile.
  /^thread '.*' panicked at .*\n?.*/m,
  /^[ \t]{1,40}[\w.-]{1,200}_test\.go:\d+: \S.*/m,
  /^[\w./-]+\.go:\d+:\d+: \S.*/m,
  /^.*\bexpected:? ?[<[(].*\bbut (?:was|found|got)\b.*/im,
  /^.*\b\w*(?:Error|Exception)\b\s*[:(].*/m,
  /^(?!.*\b(?:0|no) errors?\b).*(?:\berror(?:\[\w+\]| [A-Z]{2,}\d+)|: (?:error|command not found|No such file)).*/im,
  /^\s*Expected\b.*\n\s*Received\b.*/m,
  /^\s*(?:error|fatal|panic|fail(?:ed)?|✗|×)\b.*/im,
]

/** The units of a failed result that are read: its beginning and its end, where errors are. */
const RESULT_ENDS = [600, 3_000] as const

/** The units of a user's reason: it is a request. */
const MAX_REASON = 400

/** The line of a result that describes the error, if it failed. */
export function errorLine({ result }: Call): string | undefined {
  if (result?.outcome !== 'failed') return undefined
  if (result.answer?.isRefusal === true)
    return shorten(`refused by the user: ${oneLine(result.answer.text)}`, MAX_REASON)
  const start = outputHead(result.output, RESULT_ENDS[0])
  const end = outputTail(result.output, start.length, RESULT_ENDS[1])
  const whole = withoutEscapes(`${start}\n${end}`)
  // The last of several exceptions reached the top.
  const text = whole.slice(Math.max(0, whole.lastIndexOf(TRACEBACK)))
  const [found] = DESCRIPTIONS.flatMap((pattern) => pattern.exec(text)?.at(-1) ?? [])
  const line = found ?? text.split('\n').find((one) => one.trim() !== '') ?? 'failed'
  return shorten(cleanLine(line).replace(/^(?:E {1,8}|\[ERROR\] *)(?=\S)/, ''), 200)
}

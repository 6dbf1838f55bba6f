import { type Call, outputHead, outputTail } from '../calls.ts'
import { cleanLine, shorten } from '../text.ts'
import { ESCAPES } from './names.ts'

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
  return shorten(cleanLine(telling.replaceAll(ESCAPES, ' ')).replace(/^E {1,8}(?=\S)/, ''), 200)
}

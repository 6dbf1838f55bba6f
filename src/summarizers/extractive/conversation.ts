import { headOf } from '../../messages/characters.ts'
import { type Call, outputHead, outputTail, targetOf } from '../calls.ts'
import { cleanLine, oneLine, shorten, shortenPath } from '../text.ts'
import { tellingLine } from './error-lines.ts'
import type { SeenCall } from './seen-call.ts'
import { shellCommand, shellGist } from './shell.ts'

/** Something the user or the assistant said, on its place; of a long text the beginning and the end. */
export type Said = {
  readonly by: 'user' | 'assistant'
  readonly text: string
  readonly at: number
  /** Of a user's text what is not quoted, pasted or forwarded; of an assistant's all. */
  readonly own: string
}
/** A request of the user's and everything up to the next one. */
export type Exchange = {
  readonly request: Said
  readonly replies: readonly Said[]
  readonly calls: readonly SeenCall[]
}

/** What the extractor looks at, read from the messages once. */
export type Conversation = {
  readonly said: readonly Said[]
  readonly replies: readonly Said[]
  readonly exchanges: readonly Exchange[]
  readonly calls: readonly SeenCall[]
  /** Texts of summaries that stand among the messages, oldest first. */
  readonly summaries: readonly string[]
}

/** Most units of a call's label, and beside what went wrong. */
export const LABEL_UNITS = 80
export const PROBLEM_LABEL_UNITS = 70

/** A call as a reader wants to see it: name and target. */
export function callLabel(call: Call, max: number): string {
  const command = shellCommand(call)
  const target = command === undefined ? targetOf(call) : oneLine(headOf(shellGist(command), 2 * max))
  if (target === undefined) return call.name
  const shown = call.paths.length > 0 ? shortenPath(lastSegments(target), max) : shorten(target, max)
  return `${call.name} \`${shown.replaceAll('`', "'")}\``
}

/** The end of a path: enough to know the file by, where its whole path stands elsewhere. */
function lastSegments(path: string): string {
  const segments = path.split('/')
  return segments.length <= 4 ? path : `…/${segments.slice(-3).join('/')}`
}

/** Units looked at of a result: its beginning and its end, where errors stand; of a failed one more of the end. */
const RESULT_ENDS = 600
const FAILED_END = 3_000

/** The line of a result that tells what went wrong, if something did. */
export function errorLine(call: Call): string | undefined {
  if (call.result === undefined) return undefined
  const { output, failed } = call.result
  // A file's text may speak of errors without there being one, and so may a list of matches.
  if (!failed && (call.effect !== 'other' || isSearch(call))) return undefined
  const start = outputHead(output, RESULT_ENDS)
  const end = outputTail(output, start.length, failed ? FAILED_END : RESULT_ENDS)
  const lines = `${start}\n${end}`.split('\n').filter((line) => line.trim() !== '')
  const telling = tellingLine(lines) ?? (failed ? (lines[0] ?? 'failed') : undefined)
  return telling === undefined ? undefined : shorten(cleanLine(telling).replace(/^E {1,8}(?=\S)/, ''), 200)
}

const SEARCH_TOOL = /search|grep|glob|find|fetch|list|^ls$/i
const SEARCH_COMMAND = /^(?:[ef]?grep|rg|cat|sed -n|head|tail|find|ls|git (?:log|diff|show))\b/

function isSearch(call: Call): boolean {
  return SEARCH_TOOL.test(call.name) || SEARCH_COMMAND.test(shellGist(shellCommand(call) ?? ''))
}

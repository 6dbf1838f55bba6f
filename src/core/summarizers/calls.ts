import { headOf, tailOf } from '../messages/characters.ts'
import { isObject, type Json } from '../messages/json.ts'
import {
  type Message,
  outputText,
  partsOf,
  type ToolCallPart,
  type ToolResultOutput,
  type ToolResultPart,
} from '../messages/message.ts'
import { type Outcome, outcomeOf } from '../messages/outcome.ts'
import {
  type Effect,
  editedFiles,
  effectOf,
  PATH_ARGUMENTS,
  pathArgument,
  pathsArgument,
  type ToolNames,
} from '../messages/tool-names.ts'
import { type Answer, answerIn } from '../messages/user-answers.ts'
import { oneLine, shorten, shortenPath } from './text.ts'

/** A tool call and its result. */
export type Call = {
  readonly id: string
  readonly name: string
  readonly input: Json
  readonly effect: Effect
  /** The files that it reads or writes: those of its arguments, else those that its result names. */
  paths: readonly string[]
  /** The index of its message. */
  readonly at: number
  /** Its index among the calls. */
  readonly number: number
  result?: {
    readonly output: ToolResultOutput
    readonly outcome: Outcome
    readonly at: number
    /** The words of a person in it. */
    readonly answer?: Answer
  }
}

/** The calls in a message, and the calls whose results it contains. */
export type CallsRead = { readonly made: readonly Call[]; readonly ended: readonly Call[] }

/**
 * Reads the calls of a conversation, one message after another. A result belongs to the nearest earlier call with its
 * id that has no result yet, because ids repeat; a result without such a call is ignored.
 */
export class CallReader {
  readonly #names: ToolNames
  /** The nearest call of each id without a result, and the one before it. */
  readonly #open = new Map<string, OpenCall>()
  #at = 0
  #count = 0

  constructor(names: ToolNames = {}) {
    this.#names = names
  }

  /** Reads one more message and returns its calls and the calls whose results it contains. */
  add(message: Message): CallsRead {
    const at = this.#at++
    const made: Call[] = []
    const ended: Call[] = []
    for (const part of partsOf(message)) {
      if (part.type === 'tool-call') made.push(this.#begin(part, at))
      const call = part.type === 'tool-result' ? this.#end(part, at) : undefined
      if (call !== undefined) ended.push(call)
    }
    return { made, ended }
  }

  #begin({ toolCallId: id, toolName: name, input }: ToolCallPart, at: number): Call {
    const effect = effectOf(name, input, this.#names)
    const paths = effect === 'other' ? NO_PATHS : filesIn(input)
    const call: Call = { id, name, input, effect, paths, at, number: this.#count++ }
    this.#open.set(id, { call, earlier: this.#open.get(id) })
    return call
  }

  #end(part: ToolResultPart, at: number): Call | undefined {
    const { toolCallId, output } = part
    const open = this.#open.get(toolCallId)
    if (open === undefined) return undefined
    const { call, earlier } = open
    if (earlier === undefined) this.#open.delete(toolCallId)
    else this.#open.set(toolCallId, earlier)
    if (call.effect !== 'other' && call.paths.length === 0) call.paths = pathsTold(outputHead(output, 2_000))
    const outcome = outcomeOf({ toolName: call.name, input: call.input }, output, this.#names)
    const answer = answerIn(part, call.name, this.#names.userTools)
    const isSpoken = answer !== undefined && (outcome !== 'failed' || answer.isRefusal)
    call.result = !isSpoken ? { output, outcome, at } : { output, outcome, at, answer }
    return call
  }
}

type OpenCall = { readonly call: Call; readonly earlier: OpenCall | undefined }

const NO_PATHS: readonly string[] = []

function field(input: Json, name: string): Json | undefined {
  return isObject(input) && Object.hasOwn(input, name) ? input[name] : undefined
}

/** A longer text is not a file name, in any argument. */
const MAX_PATH_UNITS = 500
/** Text of several lines, or of blanks only, is not a file name either. */
function mayBePath(text: string): boolean {
  return text.length <= MAX_PATH_UNITS && text.trim() !== '' && !/[\n\r]/.test(text)
}

const PATH = /^(?:[^\s/\\]{0,200}[/\\])?[^\n]{0,300}\.\w{1,12}$/

function filesIn(input: Json): readonly string[] {
  const named = pathsArgument(input).filter(mayBePath)
  // A filtered list has room for 16 more.
  if (named.length > 0) return [...named]
  const edited = editedFiles(input)
  if (edited.length > 0 || !isObject(input)) return edited
  const values = Object.values(input)
  // The only argument of a tool for files, whatever its name.
  if (values.length === 1 && typeof values[0] === 'string' && PATH.test(values[0])) return [values[0]]
  // `{"files": [{"path": "a.ts"}, {"path": "b.ts"}]}`
  return values.flatMap((value) => [value ?? []].flat().flatMap((item) => filesIn(item as Json)))
}

/** Paths in the label of a change, ``Update: `src/a.ts` ``, or an absolute one in the first lines: `The file /app/a.ts was updated`. */
const TOLD = /^[^\w\n`]{0,4}\w{3,12}(?: file)?: `([^`\n]{1,300})`/gm
const TOLD_ABSOLUTE = /(?:^|[\s"'`])((?:\/|[A-Za-z]:[\\/])[^\n"'`:*?<>|]{1,300}?\.\w{1,12})(?=[\s"'`.,:]|$)/

function pathsTold(text: string): readonly string[] {
  const labelled = [...text.matchAll(TOLD)].map(([, path = '']) => path)
  const absolute = TOLD_ABSOLUTE.exec(headOf(text, 400))?.[1]
  return labelled.length > 0 || absolute === undefined ? labelled : [absolute]
}

/** The arguments that describe a call best when it does not work on a single file. */
const MAIN_ARGUMENTS = [
  'command',
  'cmd',
  'query',
  'pattern',
  'url',
  'expression',
  'description',
  'prompt',
  'question',
  'code',
] as const

/** Arguments that always hold a path, also in tools that are not known to work on files. */
const FILE_ARGUMENTS = PATH_ARGUMENTS.filter((name) => /path|file/.test(name))

/** The maximum units of a target: one that is not a path, and a path. */
const TARGET_UNITS = 120
const PATH_UNITS = 200

/** The target of a call on one line: its file, else its main argument, else its scalar arguments. */
export function targetOf(call: Pick<Call, 'input' | 'effect' | 'paths'>): string | undefined {
  const [path] = call.paths
  if (path !== undefined) {
    const more = call.paths.length > 1 ? ` and ${call.paths.length - 1} more` : ''
    return shortenPath(oneLine(path), PATH_UNITS) + more
  }
  const text = call.effect === 'other' ? mainArgument(call.input) : undefined
  const target = shorten(oneLine(headOf(text ?? scalars(call.input), 4 * TARGET_UNITS)), TARGET_UNITS)
  return target === '' ? undefined : target
}

/** The argument that describes a call best, in full. */
export function mainArgument(input: Json): string | undefined {
  if (typeof input === 'string') return input
  for (const name of MAIN_ARGUMENTS) {
    const value = field(input, name)
    if (typeof value === 'string' && value.trim() !== '') return value
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(' ')
  }
  return pathArgument(input, FILE_ARGUMENTS)
}

/** The question of a call that asks a person: its own, or that of the first of several. */
export function questionOf(input: Json): string | undefined {
  const [first] = [field(input, 'questions') ?? []].flat() as readonly Json[]
  const text = [
    field(input, 'question'),
    field(first ?? null, 'question'),
    field(input, 'message'),
    first,
  ].find((one) => typeof one === 'string' && one.trim() !== '')
  return text === undefined ? undefined : headOf(text as string, 4 * TARGET_UNITS)
}

/** A single scalar argument by itself, several as `name=value`. */
function scalars(input: Json): string {
  if (!isObject(input)) return typeof input === 'number' || typeof input === 'boolean' ? String(input) : ''
  const pairs: (readonly [string, string])[] = []
  for (const [name, value] of Object.entries(input)) {
    if (pairs.length === 8) break
    if (typeof value === 'string') pairs.push([name, headOf(value, TARGET_UNITS)])
    if (typeof value === 'number' || typeof value === 'boolean') pairs.push([name, String(value)])
  }
  const [only] = pairs
  if (pairs.length === 1 && only !== undefined) return only[1]
  return pairs.map(([name, value]) => `${name}=${value}`).join(', ')
}

/** The beginning of a result as a model reads it, at most `max` units. */
export function outputHead(output: ToolResultOutput, max: number): string {
  const isText = 'value' in output && typeof output.value === 'string'
  return headOf(isText ? output.value : outputText(output), max)
}

/** The end of a text result, at most `max` units, when it is longer than its first `from` units. */
export function outputTail(output: ToolResultOutput, from: number, max: number): string {
  if (output.type === 'json' || output.type === 'error-json') return ''
  const text = outputText(output)
  if (text.length - from <= max) return tailOf(text, Math.max(0, text.length - from))
  // The text before the first line break is the rest of a line.
  const end = tailOf(text, max)
  return end.slice(end.indexOf('\n') + 1)
}

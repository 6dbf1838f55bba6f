import { invalid } from '../core/errors.ts'
import { isBlank } from '../core/messages/characters.ts'
import { listIn } from '../core/messages/json.ts'
import type { Message, Part, ToolCallPart, ToolResultPart } from '../core/messages/message.ts'
import { isResult } from '../core/messages/message.ts'
import { Conversion, type ConversionOptions } from './conversion.ts'

/**
 * Begins a conversion to a format with a separate system prompt, and counts the leading system messages. `flag` is the name of the
 * format's own option. Throws `INVALID_INPUT`.
 */
export function beginWriting<F extends string>(
  given: readonly Message[],
  options: ConversionOptions & { readonly [name in F]?: boolean | undefined },
  format: string,
  flag: F,
  byDefault: boolean,
) {
  const conversion = new Conversion(format, options)
  const { [flag]: isSet = byDefault } = options as { readonly [name: string]: unknown }
  if (typeof isSet !== 'boolean') throw invalid(`${format}: options.${flag} must be true or false`)
  const messages = conversion.sendable(given)
  const firstTurn = messages.findIndex(({ role }) => role !== 'system')
  return { conversion, isSet, leading: firstTurn === -1 ? messages.length : firstTurn, messages }
}

/** The conversion, and the place in the input of the part being written. */
export type Writing = { readonly conversion: Conversion; readonly path: string }

export function omit({ conversion, path }: Writing, why: string): undefined {
  return conversion.omit(path, why)
}

/** Sets the message that notes name, and reports a system message that becomes a user message. */
export function beginTurn({ role }: Message, index: number, conversion: Conversion): void {
  conversion.at(index)
  if (role === 'system')
    conversion.note('changed', `[${index}]`, 'a system message after the beginning is sent as a user message')
}

/** Parts with the results first, as APIs require. Other parts precede them only in messages that were not read from the same format. */
export function resultsFirst(parts: readonly Part[]): readonly Part[] {
  return [...parts.filter(isResult), ...parts.filter((part) => !isResult(part))]
}

/** The place of each part of a content, since runs hold the same parts in another order. */
export function placesOf(content: Message['content'], path: string): ReadonlyMap<Part, string> {
  const parts = typeof content === 'string' ? [] : content
  return new Map(parts.map((part, index) => [part, `${path}[${index}]`] as const))
}

/** Consecutive parts of a message, and the index of the first of them in the message. */
type Run = { readonly from: number; readonly parts: readonly Part[] }

/** Splits the parts of a message wherever `isApart` changes, in their order. */
export function runsOf(parts: readonly Part[], isApart: (part: Part) => boolean): Run[] {
  const runs: { from: number; parts: Part[] }[] = []
  for (const [i, part] of parts.entries()) {
    const first = runs.at(-1)?.parts[0]
    if (first !== undefined && isApart(first) === isApart(part)) runs.at(-1)?.parts.push(part)
    else runs.push({ from: i, parts: [part] })
  }
  return runs
}

/**
 * Splits an assistant message at its tool results. Some providers run tools themselves and put results into the
 * message; the others require a separate message for them.
 *
 * Each run of results follows the run of their calls, in the same order. Calls without a result in the message
 * come last, so that their results can follow directly. A message without results is one run.
 */
export function answeredRunsOf(parts: readonly Part[]): (readonly Part[])[] {
  if (!parts.some(isResult)) return [parts]
  const answers = answersById(parts)
  const runs: (readonly Part[])[] = []
  const waiting: ToolCallPart[] = []
  const taken = new Set<Part>()
  let open: Part[] = []

  // Ids may repeat: the call that the provider ran itself is the one answered here.
  const ran = new Set(parts.flatMap((part) => (isHosted(part) ? [part.toolCallId] : [])))
  const mayAnswer = (call: ToolCallPart): boolean => isHosted(call) || !ran.has(call.toolCallId)
  const close = (): void => {
    const parts: Part[] = []
    const results: ToolResultPart[] = []
    for (const part of open) {
      const result =
        part.type === 'tool-call' && mayAnswer(part) ? answers.get(part.toolCallId)?.shift() : undefined
      if (result !== undefined) results.push(result)
      else if (part.type === 'tool-call') {
        waiting.push(part)
        continue
      }
      parts.push(part)
    }
    for (const result of results) taken.add(result)
    addRun(runs, parts)
    addRun(runs, results)
    open = []
  }

  for (const part of parts) {
    if (!isResult(part)) open.push(part)
    else if (!taken.has(part)) {
      close()
      if (!taken.has(part)) addRun(runs, [part])
    }
  }
  const firstCall = open.findIndex(({ type }) => type === 'tool-call')
  const place = firstCall === -1 ? open.length : firstCall
  addRun(runs, [...open.slice(0, place), ...waiting, ...open.slice(place)])
  return runs
}

function isHosted(part: Part): part is ToolCallPart & { readonly providerExecuted: true } {
  return part.type === 'tool-call' && part.providerExecuted === true
}

/** The results of a message by call id, in their order. */
function answersById(parts: readonly Part[]): Map<string, ToolResultPart[]> {
  const answers = new Map<string, ToolResultPart[]>()
  for (const part of parts.filter(isResult)) listIn(answers, part.toolCallId).push(part)
  return answers
}

/**
 * Adds a run of results or of other parts, without blank texts unless another text is beside them. Reasoning alone joins the run before it.
 */
function addRun(runs: (readonly Part[])[], added: readonly Part[]): void {
  const hasWords = added.some((part) => part.type === 'text' && !isBlank(part.text))
  const run = hasWords ? added : added.filter(({ type }) => type !== 'text')
  if (run.length === 0) return
  const isJoining = (other: readonly Part[]): boolean => isResult(other[0]) === isResult(run[0])
  const isSilent = run.every(({ type }) => type === 'reasoning')
  const before = isSilent ? runs.findLastIndex(isJoining) : runs.length - 1
  const last = runs[before]
  if (last !== undefined && isJoining(last)) runs[before] = [...last, ...run]
  else runs.push(run)
}

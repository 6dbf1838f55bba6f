import { listIn } from '../messages/lists.ts'
import type { Part, ToolCallPart, ToolResultPart } from '../messages/message.ts'
import { isBlank, isResult } from './wire.ts'

/** Parts of a message that stand together, and the index of the first of them in the message. */
type Run = { readonly from: number; readonly parts: readonly Part[] }

/** The parts of a message cut where those that stand apart begin and end, in their order. */
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
 * The parts of an assistant message cut where tool results stand. Some providers run tools themselves and answer
 * within the message; the others want the answer in a message of its own.
 *
 * Each run of results stands behind the run of their calls, in the order of those. Calls that are not answered within
 * the message come last, so that their results can stand right behind it. A message without results is one run.
 */
export function answeredRunsOf(parts: readonly Part[]): (readonly Part[])[] {
  if (!parts.some(isResult)) return [parts]
  const answers = answersById(parts)
  const runs: (readonly Part[])[] = []
  const waiting: ToolCallPart[] = []
  const taken = new Set<Part>()
  let open: Part[] = []

  // Ids may repeat: the tool the provider ran itself is the one that is answered here.
  const ran = new Set(parts.flatMap((part) => (isHosted(part) ? [part.toolCallId] : [])))
  const mayAnswer = (call: ToolCallPart): boolean => isHosted(call) || !ran.has(call.toolCallId)
  const close = (): void => {
    const said: Part[] = []
    const results: ToolResultPart[] = []
    for (const part of open) {
      const result =
        part.type === 'tool-call' && mayAnswer(part) ? answers.get(part.toolCallId)?.shift() : undefined
      if (result !== undefined) results.push(result)
      else if (part.type === 'tool-call') {
        waiting.push(part)
        continue
      }
      said.push(part)
    }
    for (const result of results) taken.add(result)
    addRun(runs, said)
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
  addRun(runs, firstCall === -1 ? [...open, ...waiting] : open.toSpliced(firstCall, 0, ...waiting))
  return runs
}

function isHosted(part: Part): part is ToolCallPart & { readonly providerExecuted: true } {
  return part.type === 'tool-call' && part.providerExecuted === true
}

/** The results of a message by the id of their call, in their order. */
function answersById(parts: readonly Part[]): Map<string, ToolResultPart[]> {
  const answers = new Map<string, ToolResultPart[]>()
  for (const part of parts.filter(isResult)) listIn(answers, part.toolCallId).push(part)
  return answers
}

/** Adds a run of words or of results, without blank texts where no other is beside them. Reasoning alone goes with what is before it. */
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

import { detached } from '../../messages/characters.ts'
import { type Call, NO_OUTPUT } from '../calls.ts'
import { writingsOf } from './boxes.ts'
import { callLabel, errorLine, LABEL_UNITS, PROBLEM_LABEL_UNITS } from './conversation.ts'
import { ALL_FACT_UNITS, factUnits, isCommandLine } from './facts.ts'
import { aboutWhole, textsToOutline } from './files.ts'
import { MAX_FAILURES } from './problems.ts'
import type { KeptOfCall, SeenCall } from './seen-call.ts'
import { commitSubject, NEWEST_CALLS } from './shell.ts'
import { todoItems } from './tasks.ts'

/** Calls that are added at least before those that have their input and output are looked through again. */
const CALLS_BETWEEN = 2_000

/**
 * The calls of a conversation while it is read. Those whose input and output nothing reads any more, however many calls
 * follow, are replaced by what is kept of them: all but the newest, those without a result, and those that the rooms for
 * facts and for outlines of files reach.
 */
export class SeenCalls {
  readonly all: SeenCall[] = []
  /** Calls that have their input and output. */
  #whole: Call[] = []
  /** How many those may become: twice as many as were left, so that the work stays linear. */
  #most = CALLS_BETWEEN
  /** Of those that were looked at, the line that tells what went wrong. */
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

/** The calls among those with a result that are read for facts and outlines, as far as the rooms go. */
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

/** `problem`: the line that tells what went wrong, where fewer newer calls failed than are reported. */
function shrunk(
  call: Call,
  { failed, at }: NonNullable<Call['result']>,
  problem: string | undefined,
): SeenCall {
  const { id, name, effect, paths, at: calledAt, number } = call
  const result = { output: NO_OUTPUT, failed, at }
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

import { detached } from '../../core/characters.ts'
import { type Call, NO_OUTPUT } from '../calls.ts'
import { writingsOf } from './boxes.ts'
import {
  callLabel,
  errorLine,
  type KeptOfCall,
  LABEL_UNITS,
  PROBLEM_LABEL_UNITS,
  type SeenCall,
} from './conversation.ts'
import { ALL_FACT_UNITS, factUnits, isCommandLine } from './facts.ts'
import { aboutWhole, textsToOutline } from './files.ts'
import { MAX_FAILURES } from './problems.ts'
import { commitSubject, NEWEST_CALLS } from './shell.ts'
import { todoItems } from './tasks.ts'

/** Calls that are added before old ones are looked through again. */
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
  /** Of those that were looked at, whether something went wrong. */
  readonly #isProblem = new WeakMap<Call, boolean>()

  add(call: Call): void {
    this.all.push(call)
    this.#whole.push(call)
    if (this.all.length % CALLS_BETWEEN === 0) this.#shrink()
  }

  #shrink(): void {
    const reached = reachedIn(this.#whole.filter(({ result }) => result !== undefined))
    const oldest = this.all.length - NEWEST_CALLS
    const whole: Call[] = []
    let failures = 0
    for (const call of this.#whole.reverse()) {
      if (call.number >= oldest || call.result === undefined || reached.has(call)) whole.push(call)
      else this.all[call.number] = shrunk(call, call.result, failures < MAX_FAILURES)
      if (failures < MAX_FAILURES && this.#failed(call)) failures += 1
    }
    this.#whole = whole.reverse()
  }

  #failed(call: Call): boolean {
    if (call.result === undefined) return false
    const known = this.#isProblem.get(call)
    if (known !== undefined) return known
    const isProblem = errorLine(call) !== undefined
    this.#isProblem.set(call, isProblem)
    return isProblem
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

/** `mayTell`: fewer newer calls failed than are reported. */
function shrunk(call: Call, { failed, at }: NonNullable<Call['result']>, mayTell: boolean): SeenCall {
  const { id, name, effect, paths, at: calledAt, number } = call
  const result = { output: NO_OUTPUT, failed, at }
  // Spelled out: of a spread object V8 makes a hidden class for each.
  return { id, name, input: null, effect, paths, at: calledAt, number, result, kept: keptOf(call, mayTell) }
}

function keptOf(call: Call, mayTell: boolean): KeptOfCall {
  const line = mayTell ? errorLine(call) : undefined
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

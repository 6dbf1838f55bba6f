import { detached } from '../../messages/characters.ts'
import type { Message, RowKind } from '../../messages/message.ts'
import { type Call, CallReader, NO_OUTPUT } from '../calls.ts'
import { ends } from '../text.ts'
import { writingsOf } from './boxes.ts'
import type { KeptOfCall, SeenCall } from './conversation.ts'
import {
  type Conversation,
  callLabel,
  commitSubject,
  type Exchange,
  errorLine,
  LABEL_UNITS,
  NEWEST_CALLS,
  PROBLEM_LABEL_UNITS,
  type Said,
} from './conversation.ts'
import { ALL_FACT_UNITS, factUnits, isCommandLine } from './facts.ts'
import { aboutWhole, textsToOutline } from './files.ts'
import { ownWords } from './own-words.ts'
import { MAX_FAILURES } from './problems.ts'
import { todoItems } from './tasks.ts'

/** Calls that are added at least before those that have their input and output are looked through again. */
const CALLS_BETWEEN = 2_000

/**
 * The calls of a conversation while it is read. Those whose input and output nothing reads any more, however many calls
 * follow, are replaced by what is kept of them: all but the newest, those without a result, and those that the rooms for
 * facts and for outlines of files reach.
 */
class SeenCalls {
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

/** How much is looked at of one text: units of its beginning and of its end. Rules and results stand there. */
const USER_ENDS = [6_000, 2_000] as const
const ASSISTANT_ENDS = [2_500, 1_500] as const

/** Reads a conversation for extraction, one message after another. Markers of truncations say nothing and are passed over. */
export class ConversationReader {
  readonly #said: Said[] = []
  readonly #summaries: string[] = []
  readonly #callReader = new CallReader()
  readonly #calls = new SeenCalls()
  #at = 0

  add(message: Message & { readonly kind?: RowKind }): void {
    const at = this.#at++
    for (const call of this.#callReader.add(message).made) this.#calls.add(call)
    if (message.kind === 'marker' || message.role === 'system' || message.role === 'tool') return
    const text = textOf(message)
    if (text.trim() === '') return
    if (message.kind === 'summary') this.#summaries.push(text)
    else if (message.role === 'assistant') {
      const shown = endsOf(text, ASSISTANT_ENDS)
      this.#said.push({ by: 'assistant', text: shown, at, own: shown })
    } else {
      const written = withoutInserts(text)
      const shown = endsOf(written, USER_ENDS)
      if (shown.trim() === '') return
      // Of the whole: a block that is cut off would be open at one end.
      const own = ownWords(written)
      this.#said.push({ by: 'user', text: shown, at, own: own === written ? shown : endsOf(own, USER_ENDS) })
    }
  }

  /** What was read. Call it after the last message. */
  conversation(): Conversation {
    const said = this.#said
    const calls = this.#calls.all
    const replies = said.filter(({ by }) => by === 'assistant')
    return { said, replies, calls, summaries: this.#summaries, exchanges: exchangesOf(said, calls) }
  }
}

/** The ends of a long text, without the text between them in memory. */
function endsOf(text: string, [first, last]: readonly [number, number]): string {
  const shown = ends(text, first, last)
  return shown.length < text.length ? detached(shown) : shown
}

function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content
  const texts = message.content.filter((part) => part.type === 'text')
  return texts.length === 1 ? texts[0]!.text : texts.map(({ text }) => text).join('\n')
}

/** Blocks that programs put into a user's message: not the user's words. */
const INSERTS = [
  'system-reminder',
  'environment_details',
  'local-command-stdout',
  'command-message',
  'file_content',
] as const

function withoutInserts(text: string): string {
  if (!text.includes('</')) return text
  let own = text
  for (const name of INSERTS) {
    const kept: string[] = []
    let from = 0
    for (let open = own.indexOf(`<${name}`); open >= 0; open = own.indexOf(`<${name}`, from)) {
      const close = own.indexOf(`</${name}>`, open)
      if (close < 0) break
      kept.push(own.slice(from, open))
      from = close + name.length + 3
    }
    own = kept.join('') + own.slice(from)
  }
  return own
}

function exchangesOf(said: readonly Said[], calls: readonly SeenCall[]): Exchange[] {
  const exchanges: { request: Said; replies: Said[]; calls: SeenCall[] }[] = []
  let nextCall = 0
  const takeCalls = (before: number) => {
    const last = exchanges.at(-1)
    for (; nextCall < calls.length && calls[nextCall]!.at < before; nextCall++)
      last?.calls.push(calls[nextCall]!)
  }
  for (const item of said) {
    if (item.by === 'assistant') exchanges.at(-1)?.replies.push(item)
    else {
      takeCalls(item.at)
      exchanges.push({ request: item, replies: [], calls: [] })
    }
  }
  takeCalls(Number.POSITIVE_INFINITY)
  return exchanges
}

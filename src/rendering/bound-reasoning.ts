import { createHash } from 'node:crypto'
import { isCacheMark, withoutCacheMarks, withoutMarks } from '../messages/cache-marks.ts'
import { isObject } from '../messages/json.ts'
import {
  isReasoning,
  type Message,
  type Part,
  type ProviderOptions,
  partsOf,
  type ViewMessage,
} from '../messages/message.ts'
import type { AnswerPlace } from '../model/reasoning.ts'
import { type Draft, draftOf, type Note } from './draft.ts'

/*
 * Leaves out reasoning that its provider would refuse, because what precedes it is not what preceded it when it was made. The last step of
 * a rendering: each answer is compared with the running hash of what is sent before it. A message that shows stored rows unchanged counts
 * by their positions, because rows are written once; only what a rendering changed counts by its text.
 */

/** Rows from one position to another whose reasoning is not sent; with a number, all but the first blocks of that row. */
export type LeftOut = readonly [from: number, to: number, kept?: number]

/** What a request says of its prefix, for the reasoning of its answer. */
export type BoundPrefix = {
  /** The running hash at the end of its messages, in hexadecimal. */
  readonly prefix: string
  /** The hash of its system prompt and tools; `undefined` where they are not known. */
  readonly frame?: string
  /** The reasoning that it left out; absent for none. */
  readonly leftOut?: readonly LeftOut[]
  /** The first position of a prompt that others store, its number of messages, and what tells that they are the same. */
  readonly prompt?: readonly [first: number, count: number, mark: string]
}

/** An answer in the log. `bound` is `undefined` where its request has no record of its prefix. */
export type BoundAnswer = {
  readonly first: number
  readonly last: number
  readonly bound: BoundPrefix | undefined
  /** Its model binds nothing, so its reasoning is not checked. */
  readonly isFree: boolean
}

/** What is known of the reasoning in a view. */
export type ReasoningFacts = {
  /** By position. */
  readonly answers: readonly BoundAnswer[]
  /** Whether these are all; else there is the newest one only. */
  readonly isWhole: boolean
  /** The last position of the log: what is not stored yet follows it. */
  readonly last: number
  /** Requests whose answers are not stored yet. */
  readonly open: readonly BoundPrefix[]
  /** The frame of the request; `undefined` where it is not known: then that of the newest answer. */
  readonly frame: string | undefined
  /** The law for answers whose request has no record. */
  readonly law: (answer: AnswerPlace) => boolean
}

/** A request that is repeated up to a position: what it left out is left out again. */
type Repeated = {
  readonly leftOut: readonly LeftOut[]
  readonly until: number
  /** The prefix that its answer must have; `undefined` to repeat all of it. */
  readonly prefix: string | undefined
}

type Settled = { readonly drafts: readonly Draft[]; readonly bound: BoundPrefix }

/** The hashes of what is sent before all messages: of the system prompt, and of the tools that are there from the beginning. */
export function frameOf(system: string | undefined, tools: readonly unknown[] | undefined): string {
  const sent = (tools ?? []).filter((tool) => !isDeferred(tool)).map((tool) => withoutMarks(tool))
  return hashOf(system ?? '') + hashOf(JSON.stringify(sent))
}

/** What differs between two frames. */
export function frameChange(
  before: string,
  after: string,
): { readonly system: boolean; readonly tools: boolean } {
  const half = after.length / 2
  return {
    system: before.slice(0, half) !== after.slice(0, half),
    tools: before.slice(half) !== after.slice(half),
  }
}

/** Whether a model is sent the same, whatever the marks of the prompt cache are. */
export function isSentAlike(one: Message, other: Message): boolean {
  return one.role === other.role && sameParts(partsOf(one), partsOf(other))
}

/** What tells messages from others, whatever a library adds to them when it stores them: roles, texts and ids of calls. */
export function markOf(messages: readonly Message[]): string {
  return hashOf(
    JSON.stringify(
      messages.map((message) => [
        message.role,
        partsOf(message).flatMap((part) => {
          if (part.type === 'text') return part.text === '' ? [] : [part.text]
          return part.type === 'tool-call' || part.type === 'tool-result' ? [part.toolCallId] : []
        }),
      ]),
    ),
  )
}

function isDeferred(tool: unknown): boolean {
  return (
    typeof tool === 'object' && tool !== null && (tool as { defer_loading?: unknown }).defer_loading === true
  )
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** A running hash of 64 bits: positions and counts as they are, texts by their own hash. */
class RunningHash {
  #high: number
  #low: number

  constructor(seed: number) {
    this.#high = seed | 0
    this.#low = 0x9e3779b9 | 0
  }

  add(value: number): void {
    // Each step is a bijection for a given value, so two states that differ stay different.
    const high = Math.imul(this.#high ^ value, 0x85ebca6b)
    this.#high = (high << 13) | (high >>> 19)
    const low = Math.imul(this.#low ^ (value + this.#high), 0xc2b2ae35)
    this.#low = (low << 15) | (low >>> 17)
  }

  addText(text: string): void {
    const digest = createHash('sha256').update(text).digest()
    this.add(digest.readInt32LE(0))
    this.add(digest.readInt32LE(4))
  }

  toString(): string {
    return hex(this.#high) + hex(this.#low)
  }
}

/** For `JSON.stringify`: a hash in place of bytes. */
function hashedBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? createHash('sha256').update(value).digest('hex') : value
}

/** The same, without marks of the prompt cache, which are not compared, and without options that only had marks. */
function withoutMarksOrBytes(key: string, value: unknown): unknown {
  if (isCacheMark(key)) return undefined
  if (key === 'providerOptions' && isObject(value)) return withoutCacheMarks(value as ProviderOptions)
  return hashedBytes(key, value)
}

/** A part as JSON, its options last. */
function jsonOf(part: Part): string {
  const { providerOptions, ...rest } = part as Part & { readonly providerOptions?: ProviderOptions }
  return JSON.stringify({ ...rest, providerOptions }, withoutMarksOrBytes)
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0')
}

/** The kinds of entries of the running hash. */
const MESSAGE = 1
const LEFT_OUT = 2
const CHANGED = 3
const ROLES = { system: 4, user: 5, assistant: 6, tool: 7 }

/**
 * Leaves out the invalid reasoning of the messages of a view, and returns the prefix that they are for the answer. `undefined` when the
 * newest answer does not decide it, and all answers are needed. Takes linear time.
 */
export function settleBoundReasoning(
  drafts: readonly Draft[],
  view: readonly ViewMessage[],
  facts: ReasoningFacts,
  seed: number,
  note: Note,
): Settled | undefined {
  const newest = facts.isWhole ? undefined : facts.answers[0]
  if (newest === undefined) return new Settling(view, facts, seed, note).settle(drafts)
  const { first: until, bound } = newest
  if (bound === undefined) return undefined
  const repeated = { leftOut: bound.leftOut ?? [], until, prefix: bound.prefix }
  return new Settling(view, facts, seed, note, repeated).settle(drafts)
}

/** Leaves out what a recorded request left out. */
export function repeatLeftOut(
  drafts: readonly Draft[],
  view: readonly ViewMessage[],
  last: number,
  leftOut: readonly LeftOut[],
  note: Note,
): readonly Draft[] {
  const nothing = { answers: [], open: [], frame: undefined }
  const facts: ReasoningFacts = { ...nothing, isWhole: true, last, law: () => false }
  const repeated = { leftOut, until: Number.POSITIVE_INFINITY, prefix: undefined }
  return new Settling(view, facts, 0, note, repeated).settle(drafts)?.drafts ?? drafts
}

class Settling {
  readonly #facts: ReasoningFacts
  readonly #note: Note
  readonly #stored: ReadonlySet<ViewMessage>
  /** The positions that messages get if they are stored next. */
  readonly #next: ReadonlyMap<string, number>
  readonly #hash: RunningHash
  /** By their prefixes. */
  readonly #open: ReadonlyMap<string, BoundPrefix>
  #rowsAt: ReadonlyMap<number, ViewMessage> | undefined
  readonly #frame: string | undefined
  /** Until its answer is met. */
  #repeated: Repeated | undefined
  readonly #leftOut: [number, number, number?][] = []
  /** Whether the last row with reasoning sent none of it. */
  #isGap = false
  /** The answer that is being shown as it was stored, and the position that follows. */
  #chain: { readonly answer: BoundAnswer; next: number } | undefined
  readonly #view: readonly ViewMessage[]
  /** Positions, and the last position before the append of each. */
  #since: ReadonlyMap<number, number> | undefined
  #answerAt = 0

  constructor(
    view: readonly ViewMessage[],
    facts: ReasoningFacts,
    seed: number,
    note: Note,
    repeated?: Repeated,
  ) {
    this.#view = view
    this.#repeated = repeated
    this.#facts = facts
    this.#note = note
    this.#stored = new Set(view)
    this.#next = nextPositions(view, facts.last)
    this.#hash = new RunningHash(seed)
    this.#frame = facts.frame ?? facts.answers.findLast(({ bound }) => bound !== undefined)?.bound?.frame
    const open = facts.open.filter(({ frame }) => this.#isFrame(frame)).toReversed()
    this.#open = new Map(open.map((bound) => [bound.prefix, bound] as const))
  }

  #isFrame(frame: string | undefined): boolean {
    return frame === undefined || this.#frame === undefined || frame === this.#frame
  }

  settle(drafts: readonly Draft[]): Settled | undefined {
    const repeats = this.#repeated?.prefix !== undefined
    if (repeats && !this.#isFrame(this.#facts.answers[0]?.bound?.frame)) return undefined
    const settled: Draft[] = []
    for (const draft of drafts) {
      const done = this.#one(draft)
      if (done === undefined) return undefined
      settled.push(done)
    }
    if (repeats && this.#repeated !== undefined) return undefined
    const bound = {
      prefix: this.#hash.toString(),
      ...(this.#frame !== undefined && { frame: this.#frame }),
      ...(this.#leftOut.length > 0 && { leftOut: this.#leftOut as LeftOut[] }),
    }
    return { drafts: settled, bound }
  }

  /** `undefined` when the newest answer comes after something else than what its request sent. */
  #one(draft: Draft): Draft | undefined {
    const { rows = [], message } = draft
    const first = this.#positionOf(rows[0])
    const repeated = this.#repeated
    if (repeated !== undefined && first !== undefined && first >= repeated.until) {
      if (first !== repeated.until || this.#hash.toString() !== repeated.prefix) return undefined
      if (!this.#isPrompt(this.#facts.answers[0]!.bound!)) return undefined
      this.#repeated = undefined
    }
    // A request that left out nothing is repeated as it is.
    const isAsSent = this.#repeated?.leftOut.length === 0 && first !== undefined
    const hasReasoning = !isAsSent && message.role === 'assistant' && draft.parts.some(isReasoning)
    const kept = hasReasoning ? this.#withoutInvalid(draft) : draft
    this.#add(draft, kept)
    return kept
  }

  #positionOf(row: ViewMessage | undefined): number | undefined {
    return row === undefined ? undefined : (row.position ?? this.#next.get(row.id))
  }

  #withoutInvalid(draft: Draft): Draft {
    const { rows = [] } = draft
    const own = rows.flatMap((row, at) => shownParts(row).map((part, index) => ({ part, row, at, index })))
    let isValid = rows.length > 0 && this.#isValidStart(rows[0]!)
    let at = 0
    let kept = 0
    let leftOut = 0
    const parts = draft.parts.filter((part, index) => {
      const shown = own[index]
      if (shown === undefined || !isSame(part, shown.part) || isReplaced(shown.row, shown.index))
        isValid = false
      else if (shown.at !== at) {
        isValid &&= this.#isSameAnswer(rows[at]!, shown.row)
        at = shown.at
      }
      if (!isReasoning(part)) return true
      const isKept = this.#wasSent(rows[0], kept + leftOut) ?? isValid
      if (isKept) kept += 1
      else {
        leftOut += 1
        isValid = false
      }
      return isKept
    })
    this.#remember(rows[0], kept, leftOut)
    if (leftOut === 0) return draft
    for (let n = 0; n < leftOut; n++) this.#note({ kind: 'reasoning-invalid', messageId: draft.id })
    return { ...draftOf(draft.id, { role: draft.message.role, content: parts }), rows }
  }

  /** Whether the request that is repeated sent a block of a row; `undefined` after it. */
  #wasSent(row: ViewMessage | undefined, block: number): boolean | undefined {
    const position = this.#positionOf(row)
    if (this.#repeated === undefined || position === undefined) return undefined
    const left = this.#repeated.leftOut.find(([from, to]) => position >= from && position <= to)
    return left === undefined || block < (left[2] ?? 0)
  }

  #remember(row: ViewMessage | undefined, kept: number, leftOut: number): void {
    const position = this.#positionOf(row)
    if (leftOut === 0 || position === undefined) {
      this.#isGap = false
      return
    }
    const last = this.#leftOut.at(-1)
    if (kept > 0) this.#leftOut.push([position, position, kept])
    else if (this.#isGap && last !== undefined) last[1] = position
    else this.#leftOut.push([position, position])
    this.#isGap = kept === 0
  }

  /** Whether the reasoning at the beginning of a row may be sent. */
  #isValidStart(row: ViewMessage): boolean {
    const position = this.#positionOf(row)
    if (position === undefined) return false
    const chain = this.#chain
    if (chain !== undefined && chain.next === position && position <= chain.answer.last) return true
    const answer = this.#answerWith(position)
    if (answer !== undefined) {
      if (answer.isFree) return true
      if (answer.first !== position) return false
      const { bound } = answer
      if (bound !== undefined)
        return this.#isFrame(bound.frame) && bound.prefix === this.#hash.toString() && this.#isPrompt(bound)
    } else {
      const open = this.#open.get(this.#hash.toString())
      if (open !== undefined && this.#isPrompt(open)) return true
    }
    this.#since ??= appendedAfter(this.#view)
    return this.#facts.law({
      position,
      since: this.#since.get(position) ?? Math.min(position - 1, this.#facts.last),
    })
  }

  /** Whether the messages at the positions of a request's prompt are the prompt. */
  #isPrompt({ prompt }: BoundPrefix): boolean {
    if (prompt === undefined) return true
    this.#rowsAt ??= new Map(
      this.#view.flatMap((row) => {
        const position = this.#positionOf(row)
        return position === undefined ? [] : [[position, row] as const]
      }),
    )
    const [first, count, mark] = prompt
    const rows = Array.from({ length: count }, (_, index) => this.#rowsAt!.get(first + index))
    return rows.every((row) => row !== undefined) && markOf(rows) === mark
  }

  #isSameAnswer(before: ViewMessage, row: ViewMessage): boolean {
    const [one, other] = [this.#positionOf(before), this.#positionOf(row)]
    const answer = other === undefined ? undefined : this.#answerWith(other)
    return answer !== undefined && one !== undefined && other === one + 1 && one >= answer.first
  }

  /** Rows come in the order of their positions, but for results that were moved. */
  #answerWith(position: number): BoundAnswer | undefined {
    const { answers } = this.#facts
    while (this.#answerAt > 0 && answers[this.#answerAt]!.first > position) this.#answerAt -= 1
    while (this.#answerAt + 1 < answers.length && answers[this.#answerAt + 1]!.first <= position)
      this.#answerAt += 1
    const answer = answers[this.#answerAt]
    return answer !== undefined && answer.first <= position && position <= answer.last ? answer : undefined
  }

  /** Adds a message to the running hash. `draft`: with all of its reasoning. */
  #add(draft: Draft, kept: Draft): void {
    const { rows = [], message } = draft
    this.#hash.add(MESSAGE)
    this.#hash.add(ROLES[message.role])
    const isWhole = this.#isUnchanged(draft)
    if (isWhole) for (const row of rows) this.#hash.add(this.#positionOf(row)!)
    else {
      this.#hash.add(CHANGED)
      this.#hash.addText(JSON.stringify([draft.parts.map(jsonOf), message.metadata], hashedBytes))
    }
    if (kept !== draft) {
      this.#hash.add(LEFT_OUT)
      for (const part of draft.parts) if (isReasoning(part)) this.#hash.add(kept.parts.includes(part) ? 1 : 0)
    }
    this.#follow(rows, isWhole && kept === draft)
  }

  /** Whether later rows of the same answer come after exactly what they were made after. */
  #follow(rows: readonly ViewMessage[], isAsStored: boolean): void {
    const first = this.#positionOf(rows[0])
    if (!isAsStored || first === undefined) {
      this.#chain = undefined
      return
    }
    const chain = this.#chain
    const isNext = chain !== undefined && chain.next === first
    const answer = isNext ? chain.answer : this.#answerWith(first)
    const begins = isNext || answer?.first === first
    this.#chain = answer === undefined || !begins ? undefined : { answer, next: first + rows.length }
  }

  #isUnchanged({ rows, parts, message }: Draft): boolean {
    if (rows === undefined) return false
    if (
      !rows.every(
        (row) =>
          this.#positionOf(row) !== undefined && row.replacedParts === undefined && this.#stored.has(row),
      )
    )
      return false
    if (rows.length === 1)
      return message.content === rows[0]!.content || sameParts(parts, shownParts(rows[0]!))
    return sameParts(parts, rows.flatMap(shownParts))
  }
}

function shownParts(row: ViewMessage): readonly Part[] {
  return partsOf(row)
}

function isReplaced(row: ViewMessage, part: number): boolean {
  return row.replacedParts?.includes(part) === true
}

function sameParts(parts: readonly Part[], others: readonly Part[]): boolean {
  return parts.length === others.length && parts.every((part, index) => isSame(part, others[index]!))
}

/** The same part of a row, but for marks of the prompt cache; the text of a message that is a string becomes a part of its own each time. */
function isSame(part: Part, other: Part): boolean {
  if (part === other || (part.type === 'text' && other.type === 'text' && isPlainText(part, other)))
    return true
  return part.type === other.type && jsonOf(part) === jsonOf(other)
}

function isPlainText(
  part: Part & { readonly text?: unknown },
  other: Part & { readonly text?: unknown },
): boolean {
  return part.text === other.text && Object.keys(part).length === 2 && Object.keys(other).length === 2
}

/** For each position of a view, the last position before the messages that were stored together with it. */
function appendedAfter(view: readonly ViewMessage[]): ReadonlyMap<number, number> {
  const since = new Map<number, number>()
  let together = 0
  let before: ViewMessage | undefined
  for (const row of view) {
    if (row.position === undefined) continue
    const isTogether =
      before !== undefined && before.createdAt === row.createdAt && before.position === row.position - 1
    if (!isTogether) together = row.position - 1
    since.set(row.position, Math.min(together, row.position - 1))
    before = row
  }
  return since
}

/** The positions of what is not stored, by id. */
function nextPositions(view: readonly ViewMessage[], last: number): ReadonlyMap<string, number> {
  const stored = view.findLastIndex(({ kind, position }) => kind !== 'message' || position !== undefined)
  return new Map(view.slice(stored + 1).map(({ id }, index) => [id, last + 1 + index]))
}

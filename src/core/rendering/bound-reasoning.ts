import { createHash } from 'node:crypto'
import { unmarkedField, withoutMarks } from '../messages/cache-marks.ts'
import { isObject } from '../messages/json.ts'
import {
  isReasoning,
  type Message,
  type Part,
  type ProviderOptions,
  partsOf,
  type ViewMessage,
} from '../messages/message.ts'
import { isEmptied } from '../messages/overlay.ts'
import type { AnswerPlace } from '../model/reasoning.ts'
import type { Draft, Note } from './draft.ts'

/*
 * Leaves out reasoning that its provider would refuse because the content before it is not the content it was made after. The last step
 * of a rendering: each answer is compared with the running hash of the content sent before it. Messages that show stored rows unchanged
 * are hashed by position, because rows are written once; only content that a rendering changed is hashed by its text. Reasoning is not in
 * the hash: each block follows another block, and the longest chain of valid blocks is sent, each of which follows the one before it.
 */

/** Rows from one position to another whose reasoning is not sent; if a number is given, the first `kept` blocks of that row are sent. */
export type LeftOut = readonly [from: number, to: number, kept?: number]

/** A block of reasoning: the position of the first row of its message, and its number in the message. */
export type BlockPlace = readonly [position: number, block: number]

/** The prefix of a request, as recorded for the reasoning of its answer. */
export type BoundPrefix = {
  /** The running hash at the end of its messages, in hexadecimal. */
  readonly prefix: string
  /** The hash of its system prompt and tools; `undefined` if they are unknown. */
  readonly frame?: string
  /** The last reasoning that it sent, which the reasoning of its answer follows; absent if there was none. */
  readonly follows?: BlockPlace
  /** The reasoning that it left out; absent if there was none. */
  readonly leftOut?: readonly LeftOut[]
  /** A hash of the places of reasoning that a compaction emptied; absent if there is none. */
  readonly emptied?: string
  /** The first position and the number of messages of a prompt that others store, and a mark that identifies them. */
  readonly prompt?: readonly [first: number, count: number, mark: string]
}

/** An answer in the log. `bound` is `undefined` if the prefix of its request was not recorded. */
export type BoundAnswer = {
  readonly first: number
  readonly last: number
  readonly bound: BoundPrefix | undefined
  /** Whether its model binds nothing, so that its reasoning is not checked. */
  readonly isFree: boolean
}

/** The recorded facts about the reasoning in a view. */
export type ReasoningFacts = {
  /** The answers, ordered by position. */
  readonly answers: readonly BoundAnswer[]
  /** Whether `answers` is complete; otherwise it contains only the newest. */
  readonly isWhole: boolean
  /** The last position of the log, after which messages that are not stored yet will follow. */
  readonly last: number
  /** Requests whose answers are not stored yet. */
  readonly open: readonly BoundPrefix[]
  /** The frame of the request; if it is unknown (`undefined`), the frame of the newest answer is used. */
  readonly frame: string | undefined
  /** The rule for answers whose request was not recorded. */
  readonly law: (answer: AnswerPlace) => boolean
}

/** A request that is repeated up to a position: the reasoning that it left out is left out again. */
type Repeated = {
  readonly leftOut: readonly LeftOut[]
  readonly until: number
  /** The prefix that the answer must follow; `undefined` to repeat the whole request. */
  readonly bound: BoundPrefix | undefined
}

/** A block of reasoning in a rendering. */
type Block = {
  /** `undefined` for a block without a place, which is not sent. */
  readonly place: BlockPlace | undefined
  /** The place of the preceding block when this block was made; `undefined` if there was none. */
  readonly follows: BlockPlace | undefined
  /**
   * `sent`: sent whatever the other blocks are. `chain`: sent after the block that it follows, or first. `emptied`: no longer in the
   * message.
   */
  readonly how: 'sent' | 'chain' | 'never' | 'emptied'
}

type ShownPart = { readonly part: Part; readonly isReplaced: boolean }

type Settled = {
  readonly drafts: readonly Draft[]
  readonly bound: BoundPrefix
  /** The prefixes that these messages represent: their own, and those of the messages that their provider's blocks replace. */
  readonly prefixes: readonly string[]
}

/** Returns the prefixes that a summary's block replaces, because its provider wrote the block for exactly these messages. */
export function prefixesOf({ kind, metadata }: Pick<ViewMessage, 'kind' | 'metadata'>): readonly string[] {
  const prefixes = kind === 'summary' ? metadata?.prefixes : undefined
  return Array.isArray(prefixes) ? prefixes.filter((one): one is string => typeof one === 'string') : []
}

/** Returns the hashes of the content sent before all messages: the system prompt, and the tools that are available from the beginning. */
export function frameOf(system: string | undefined, tools: readonly unknown[] | undefined): string {
  return hashOf(system ?? '') + hashOf(JSON.stringify(toolsAtOnce(tools)))
}

/** Returns the differences between two frames. */
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

/** Returns whether a model receives the same message, whatever its prompt cache marks. */
export function isSentAlike(one: Message, other: Message): boolean {
  return one.role === other.role && sameParts(partsOf(one), partsOf(other))
}

/** Returns a mark that identifies messages by roles, texts and ids of calls, whatever a library adds when it stores them. */
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

/** Returns the tools that are available from the beginning, and so precede the messages, without prompt cache marks. */
export function toolsAtOnce(tools: readonly unknown[] | undefined): unknown[] {
  return (tools ?? [])
    .filter((tool) => !(isObject(tool) && tool.defer_loading === true))
    .map((tool) => withoutMarks(tool))
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** A running hash of 64 bits. Positions and counts are added as numbers, texts by their own hash. */
class RunningHash {
  #high: number
  #low: number

  constructor(high: number, low = 0x9e3779b9) {
    this.#high = high | 0
    this.#low = low | 0
  }

  /** Continues from a hash in hexadecimal. */
  static from(hash: string): RunningHash {
    return new RunningHash(Number.parseInt(hash.slice(0, 8), 16), Number.parseInt(hash.slice(8, 16), 16))
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

/** Like `hashedBytes`, but without prompt cache marks, which are not compared, and without options that only had marks. */
function withoutMarksOrBytes(key: string, value: unknown): unknown {
  return hashedBytes(key, unmarkedField(key, value))
}

/** Returns a part as JSON, with its options last. */
function partBytes(part: Part): string {
  const { providerOptions, ...rest } = part as Part & { readonly providerOptions?: ProviderOptions }
  return JSON.stringify({ ...rest, providerOptions }, withoutMarksOrBytes)
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0')
}

/** The kinds of entries of the running hash. */
const MESSAGE = 1
const CHANGED = 3
const ROLES = { system: 4, user: 5, assistant: 6, tool: 7 }

/**
 * Leaves out the invalid reasoning of the messages of a view, and returns the prefix to record for the answer. Returns `undefined` if the
 * newest answer doesn't decide it and all answers are needed. Takes linear time.
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
  const repeated = { leftOut: bound.leftOut ?? [], until, bound }
  return new Settling(view, facts, seed, note, repeated).settle(drafts)
}

/** Leaves out the reasoning that a recorded request left out. */
export function repeatLeftOut(
  drafts: readonly Draft[],
  view: readonly ViewMessage[],
  last: number,
  leftOut: readonly LeftOut[],
  note: Note,
): readonly Draft[] {
  const nothing = { answers: [], open: [], frame: undefined }
  const facts: ReasoningFacts = { ...nothing, isWhole: true, last, law: () => false }
  const repeated = { leftOut, until: Number.POSITIVE_INFINITY, bound: undefined }
  return new Settling(view, facts, 0, note, repeated).settle(drafts)?.drafts ?? drafts
}

class Settling {
  readonly #facts: ReasoningFacts
  readonly #note: Note
  readonly #view: readonly ViewMessage[]
  /** Where to look for the next row of the view. */
  #viewAt = 0
  #inView: ReadonlySet<ViewMessage> | undefined
  #leftOutAt = 0
  /** The positions that messages get if they are stored next. */
  readonly #next: ReadonlyMap<string, number>
  /** The hash of the sent content, and the hashes of the content that the provider's blocks in it replace. */
  readonly #hashes: [RunningHash, ...RunningHash[]]
  #isBegun = false
  readonly #summaries: ReadonlyMap<string, readonly string[]>
  readonly #open: readonly BoundPrefix[]
  #rowsAt: ReadonlyMap<number, ViewMessage> | undefined
  readonly #frame: string | undefined
  /** The repeated request, until its answer is reached. */
  #repeated: Repeated | undefined
  readonly #leftOut: [number, number, number?][] = []
  /** Whether the last row with reasoning sent none of it, and whether all such rows are ordered by position. */
  #isGap = false
  #isInOrder = true
  /** The answer that is being shown as it was stored, the next position, and its last block so far. */
  #answer:
    | { readonly answer: BoundAnswer; readonly next: number; readonly block: BlockPlace | undefined }
    | undefined
  /** The last valid block, including emptied ones. */
  #previous: BlockPlace | undefined
  readonly #emptied = new RunningHash(0)
  #hasEmptied = false
  /** For each position, the last position before its append. */
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
    const leftOut = repeated?.leftOut.toSorted(([one], [other]) => one - other)
    this.#repeated = repeated && { ...repeated, leftOut: leftOut! }
    this.#facts = facts
    this.#note = note
    this.#next = nextPositions(view, facts.last)
    this.#hashes = [new RunningHash(seed)]
    const summaries = view.filter(({ kind }) => kind === 'summary')
    this.#summaries = new Map(summaries.map((row) => [row.id, prefixesOf(row)]))
    this.#frame = facts.frame ?? facts.answers.findLast(({ bound }) => bound !== undefined)?.bound?.frame
    this.#open = facts.open.filter(({ frame }) => this.#isFrame(frame))
  }

  #isFrame(frame: string | undefined): boolean {
    return frame === undefined || this.#frame === undefined || frame === this.#frame
  }

  /** Returns `undefined` if the newest answer follows content other than its request sent. */
  settle(drafts: readonly Draft[]): Settled | undefined {
    const newest = this.#repeated?.bound
    if (newest !== undefined && !this.#isFrame(newest.frame)) return undefined
    const all: Block[] = []
    /** By the place of the message: its blocks, or the number of blocks of a repeated request that are sent again. */
    const blocksAt = new Map<number, readonly Block[] | number>()
    const sendsAll = this.#repeated?.leftOut.length === 0
    for (let at = 0; at < drafts.length; at++) {
      const draft = drafts[at]!
      const again = this.#passStored(draft)
      if (again !== undefined) {
        if (!sendsAll && draft.parts.some(isReasoning)) blocksAt.set(at, again)
        continue
      }
      if (this.#repeated?.bound !== undefined && !this.#continues(draft, this.#repeated.bound))
        return undefined
      const own = this.#blocksOf(draft)
      this.#add(draft, own)
      if (own.length > 0) blocksAt.set(at, own)
      for (const block of own) all.push(block)
    }
    if (newest !== undefined && this.#repeated !== undefined) return undefined
    const chain = longestChain(all, newest)
    if (chain === undefined) return undefined
    const sent = new Set(chain)
    const settled = [...drafts]
    this.#isInOrder = isAscending(
      [...blocksAt.keys()].map((at) => this.#positionOf(drafts[at]!.rows?.[0]) ?? 0),
    )
    for (const [at, own] of blocksAt) settled[at] = this.#withoutInvalid(drafts[at]!, own, sent)
    const follows = chain.at(-1)?.place ?? newest?.follows
    const prefixes = this.#hashes.map(String)
    const bound = {
      prefix: prefixes[0]!,
      ...(follows !== undefined && { follows }),
      ...(this.#frame !== undefined && { frame: this.#frame }),
      ...(this.#leftOut.length > 0 && { leftOut: this.#leftOut as LeftOut[] }),
      ...(this.#hasEmptied && { emptied: this.#emptied.toString() }),
    }
    return { drafts: settled, bound, prefixes }
  }

  /**
   * Adds a message of the repeated request that shows one stored row unchanged, like most of a long view. Returns the number of its
   * blocks that are sent again; `undefined` for any other message.
   */
  #passStored({ rows, message }: Draft): number | undefined {
    if (this.#repeated === undefined || rows?.length !== 1) return undefined
    const row = rows[0]!
    const { position } = row
    if (position === undefined || position >= this.#repeated.until) return undefined
    if (row.content !== message.content || row.replacedParts !== undefined || !this.#isInView(row))
      return undefined
    const isSaying = !isSilent(row)
    for (const hash of this.#hashes) {
      hash.add(MESSAGE)
      hash.add(ROLES[message.role])
      if (isSaying) hash.add(position)
    }
    this.#isBegun ||= message.role !== 'system'
    return this.#sentAgain(position)
  }

  /** Returns how many blocks of a row the repeated request sent; `Infinity` for all. */
  #sentAgain(position: number): number {
    const { leftOut } = this.#repeated!
    // Rows are ordered by position, except for results that were moved.
    while (this.#leftOutAt > 0 && position < leftOut[this.#leftOutAt]![0]) this.#leftOutAt -= 1
    while (this.#leftOutAt + 1 < leftOut.length && position >= leftOut[this.#leftOutAt + 1]![0])
      this.#leftOutAt += 1
    const [from, to, kept = 0] = leftOut[this.#leftOutAt] ?? NOWHERE
    return position >= from && position <= to ? kept : Number.POSITIVE_INFINITY
  }

  /** Rows mostly come in the order of the view, so the next rows are searched first. */
  #isInView(row: ViewMessage): boolean {
    for (let at = this.#viewAt; at < this.#viewAt + NEXT_ROWS; at++) {
      if (this.#view[at] !== row) continue
      this.#viewAt = at + 1
      return true
    }
    this.#inView ??= new Set(this.#view)
    return this.#inView.has(row)
  }

  /** Returns whether the message doesn't answer the repeated request, or answers it after exactly the content that it sent. */
  #continues({ rows }: Draft, bound: BoundPrefix): boolean {
    const first = this.#positionOf(rows?.[0])
    const { until } = this.#repeated!
    if (first === undefined || first < until) return true
    const { prefix, follows, emptied } = bound
    const isSame = first === until && this.#isHash(prefix)
    const isEmptied = emptied === (this.#hasEmptied ? this.#emptied.toString() : undefined)
    if (!isSame || !isEmptied || !this.#isPrompt(bound)) return false
    this.#repeated = undefined
    this.#previous = follows
    return true
  }

  #positionOf(row: ViewMessage | undefined): number | undefined {
    return row === undefined ? undefined : (row.position ?? this.#next.get(row.id))
  }

  #blocksOf({ rows = NO_ROWS, parts, message }: Draft): readonly Block[] {
    if (message.role !== 'assistant') return NO_BLOCKS
    const isPlain = rows.every((row) => row.replacedParts === undefined && !hasRetired(row))
    if (isPlain && !parts.some(isReasoning)) return NO_BLOCKS
    const first = this.#positionOf(rows[0])
    if (isPlain && this.#repeated !== undefined) return this.#asSent(placesOf(first, parts))
    const isAsStored = isPlain && rows.length === 1 && rows[0]!.content === message.content
    const shown = (isAsStored ? NO_ROWS : rows).flatMap((row, at) =>
      partsOf(row).map((part, index) => ({ part, at, isReplaced: isReplaced(row, index) })),
    )
    const blocks: Block[] = []
    let { isValid, isFree, follows } = this.#start(rows[0])
    const add = (isEmptied: boolean): void => {
      const place = first === undefined ? undefined : ([first, blocks.length] as const)
      const how = isEmptied ? 'emptied' : isFree && isValid ? 'sent' : isValid ? 'chain' : 'never'
      blocks.push({ place, follows, how })
      follows = place
      if (isEmptied && place !== undefined) this.#empty(place)
      if (isValid && !isFree) this.#previous = place
    }
    let [next, at] = [0, 0]
    const passEmptied = (): void => {
      for (; shown[next] !== undefined && isEmptiedReasoning(shown[next]!); next++) add(true)
    }
    for (const part of parts) {
      passEmptied()
      const own = shown[next++]
      if (isAsStored) {
        if (isReasoning(part)) add(false)
        continue
      }
      if (own === undefined || own.isReplaced || !isSame(part, own.part)) isValid = false
      else if (own.at !== at) {
        isValid &&= this.#isSameAnswer(rows[at]!, rows[own.at]!)
        at = own.at
      }
      if (isReasoning(part)) add(false)
    }
    passEmptied()
    return this.#repeated === undefined ? blocks : this.#asSent(blocks)
  }

  /** Returns the blocks of the repeated request, whose validity was determined then. */
  #asSent(blocks: readonly Block[]): readonly Block[] {
    return blocks.map((block, index) => {
      if (block.how === 'emptied') return block
      const { place } = block
      const isSent = place !== undefined && index < this.#sentAgain(place[0])
      return { ...block, how: isSent ? 'sent' : 'never' }
    })
  }

  #empty(place: BlockPlace): void {
    this.#hasEmptied = true
    for (const number of place) this.#emptied.add(number)
  }

  #withoutInvalid(draft: Draft, blocks: readonly Block[] | number, sent: ReadonlySet<Block>): Draft {
    if (typeof blocks === 'number') return this.#withBlocks(draft, blocks, blocks)
    const inMessage = blocks.filter(({ how }) => how !== 'emptied')
    if (inMessage.length === 0) return draft
    const end = inMessage.findIndex((block) => block.how !== 'sent' && !sent.has(block))
    return end < 0
      ? this.#withBlocks(draft, inMessage.length, blocks.length)
      : this.#withBlocks(draft, end, blocks.indexOf(inMessage[end]!))
  }

  /** Returns the message with its first blocks. `kept`: their number, including emptied ones. */
  #withBlocks(draft: Draft, end: number, kept: number): Draft {
    let block = 0
    const parts = draft.parts.filter((part) => !isReasoning(part) || block++ < end)
    if (block <= end) {
      this.#isGap = false
      return draft
    }
    const { rows = NO_ROWS, id, message } = draft
    const position = this.#positionOf(rows[0])
    if (position !== undefined) this.#remember(position, kept, end === 0)
    for (let n = end; n < block; n++) this.#note({ kind: 'reasoning-invalid', messageId: id })
    return { id, message: { role: message.role, content: parts }, parts, rows }
  }

  #remember(position: number, kept: number, isWhole: boolean): void {
    const last = this.#leftOut.at(-1)
    if (!isWhole) this.#leftOut.push([position, position, kept])
    else if (this.#isGap && this.#isInOrder && last !== undefined) last[1] = position
    else this.#leftOut.push([position, position])
    this.#isGap = isWhole
  }

  /** Returns whether the reasoning at the beginning of a row may be sent after the block that it follows. */
  #start(row: ViewMessage | undefined): {
    isValid: boolean
    readonly isFree: boolean
    follows: BlockPlace | undefined
  } {
    const none = { isValid: false, isFree: false, follows: undefined }
    const position = this.#positionOf(row)
    if (position === undefined || this.#repeated !== undefined) return none
    const before = this.#answer
    if (before !== undefined && before.next === position && position <= before.answer.last) {
      const { isFree, bound } = before.answer
      const follows = before.block ?? (bound === undefined ? this.#previous : bound.follows)
      return { isValid: true, isFree, follows }
    }
    const answer = this.#answerWith(position)
    if (answer !== undefined) {
      if (answer.isFree) return { isValid: true, isFree: true, follows: undefined }
      if (answer.first !== position) return none
      const { bound } = answer
      if (bound !== undefined) return { ...none, isValid: this.#isPrefix(bound), follows: bound.follows }
    } else {
      const [open, ...others] = this.#open.filter((bound) => this.#isPrefix(bound))
      if (open !== undefined) {
        // The answer may belong to any of them.
        const isOne = others.every(({ follows }) => isSamePlace(follows, open.follows))
        return { ...none, isValid: isOne, follows: open.follows }
      }
    }
    this.#since ??= appendedAfter(this.#view)
    const since = this.#since.get(position) ?? Math.min(position - 1, this.#facts.last)
    return { ...none, isValid: this.#facts.law({ position, since }), follows: this.#previous }
  }

  #isPrefix(bound: BoundPrefix): boolean {
    return this.#isFrame(bound.frame) && this.#isHash(bound.prefix) && this.#isPrompt(bound)
  }

  #isHash(prefix: string): boolean {
    return this.#hashes.some((hash) => hash.toString() === prefix)
  }

  /** Returns whether the messages at the positions of a request's prompt are that prompt. */
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

  /** Rows are ordered by position, except for results that were moved. */
  #answerWith(position: number): BoundAnswer | undefined {
    const { answers } = this.#facts
    while (this.#answerAt > 0 && answers[this.#answerAt]!.first > position) this.#answerAt -= 1
    while (this.#answerAt + 1 < answers.length && answers[this.#answerAt + 1]!.first <= position)
      this.#answerAt += 1
    const answer = answers[this.#answerAt]
    return answer !== undefined && answer.first <= position && position <= answer.last ? answer : undefined
  }

  /** Adds a message without its reasoning to the running hash. */
  #add(draft: Draft, blocks: readonly Block[]): void {
    const { rows = NO_ROWS, message } = draft
    const isWhole = this.#isUnchanged(draft)
    const text = isWhole ? '' : spokenBytes(draft)
    for (const hash of this.#hashes) {
      hash.add(MESSAGE)
      hash.add(ROLES[message.role])
      if (isWhole) for (const row of rows) if (!isSilent(row)) hash.add(this.#positionOf(row)!)
      if (isWhole) continue
      hash.add(CHANGED)
      hash.addText(text)
    }
    const isBlock = !this.#isBegun && draft.parts[0]?.type === 'provider'
    if (isBlock)
      for (const prefix of this.#summaries.get(draft.id) ?? []) this.#hashes.push(RunningHash.from(prefix))
    this.#isBegun ||= message.role !== 'system'
    this.#follow(rows, isWhole, blocks.at(-1)?.place)
  }

  /** Records a shown answer, so that its later rows can be recognized as following exactly the content they were made after. */
  #follow(rows: readonly ViewMessage[], isWhole: boolean, block: BlockPlace | undefined): void {
    const first = this.#positionOf(rows[0])
    const before = this.#answer
    this.#answer = undefined
    if (!isWhole || first === undefined) return
    const isNext = before !== undefined && before.next === first
    const answer = isNext ? before.answer : this.#answerWith(first)
    if (answer === undefined || (!isNext && answer.first !== first)) return
    const last = block ?? (isNext ? before.block : undefined)
    this.#answer = { answer, next: first + rows.length, block: last }
  }

  #isUnchanged({ rows, parts, message }: Draft): boolean {
    if (rows === undefined) return false
    const only = rows.length === 1 ? rows[0]! : undefined
    if (only?.position !== undefined && only.content === message.content && only.replacedParts === undefined)
      return this.#isInView(only)
    const isStored = (row: ViewMessage): boolean =>
      this.#positionOf(row) !== undefined && this.#isInView(row) && onlyEmptied(row)
    if (!rows.every(isStored)) return false
    if (message.content === only?.content) return true
    const others = (all: readonly Part[]): Part[] => all.filter((part) => !isReasoning(part))
    return sameParts(others(parts), others(rows.flatMap(partsOf)))
  }
}

/**
 * Returns the longest chain of blocks, each of which follows the previous one; of two equally long chains, the later. `newest`: the
 * request whose blocks are sent in any case. With it, returns `undefined` if another block follows one of them other than the last.
 */
function longestChain(
  blocks: readonly Block[],
  newest: BoundPrefix | undefined,
): readonly Block[] | undefined {
  const links = new Map<
    string,
    { readonly block: Block; readonly before: string | undefined; readonly length: number }
  >()
  let best: string | undefined
  for (const block of blocks) {
    if (block.how !== 'chain' || block.place === undefined) continue
    const key = block.place.join()
    const before = block.follows?.join()
    const link = before === undefined ? undefined : links.get(before)
    if (newest !== undefined && link === undefined && !isSamePlace(block.follows, newest.follows))
      return undefined
    const length = 1 + (link?.length ?? 0)
    links.set(key, { block, before: link && before, length })
    if (best === undefined || length >= links.get(best)!.length) best = key
  }
  const chain: Block[] = []
  for (let link = links.get(best ?? ''); link !== undefined; link = links.get(link.before ?? ''))
    chain.push(link.block)
  return chain.reverse()
}

/** The number of next rows that are compared before the whole view is searched. */
const NEXT_ROWS = 4
function isAscending(numbers: readonly number[]): boolean {
  return numbers.every((number, at) => at === 0 || number > numbers[at - 1]!)
}

const NOWHERE: LeftOut = [0, -1]
const NO_BLOCKS: readonly Block[] = []
const NO_ROWS: readonly ViewMessage[] = []

/** Returns the blocks of a message that shows all of its reasoning. */
function placesOf(first: number | undefined, parts: readonly Part[]): Block[] {
  return parts.filter(isReasoning).map((_, block) => ({
    place: first === undefined ? undefined : [first, block],
    follows: undefined,
    how: 'never',
  }))
}

function isSamePlace(one: BlockPlace | undefined, other: BlockPlace | undefined): boolean {
  return one?.join() === other?.join()
}

/** Returns whether a row shows everything as stored, except for emptied reasoning. */
function onlyEmptied(row: ViewMessage): boolean {
  return row.replacedParts?.every((index) => isReasoning(partsOf(row)[index])) !== false
}

function isSilent(row: ViewMessage): boolean {
  return typeof row.content !== 'string' && row.content.every(isReasoning)
}

function isEmptiedReasoning({ part, isReplaced }: ShownPart): boolean {
  return part.type === 'reasoning' && isEmptied(part, isReplaced)
}

/** Returns whether retention removed reasoning of a row. */
function hasRetired(row: ViewMessage): boolean {
  return (
    typeof row.content !== 'string' &&
    row.content.some((part) => isEmptiedReasoning({ part, isReplaced: false }))
  )
}

/** Returns the content of a message without its reasoning. */
function spokenBytes({ parts, message }: Draft): string {
  const others = parts.filter((part) => !isReasoning(part))
  return JSON.stringify([others.map(partBytes), message.metadata], hashedBytes)
}

function isReplaced(row: ViewMessage, part: number): boolean {
  return row.replacedParts?.includes(part) === true
}

function sameParts(parts: readonly Part[], others: readonly Part[]): boolean {
  return parts.length === others.length && parts.every((part, index) => isSame(part, others[index]!))
}

/**
 * Returns whether two parts of a row are the same apart from prompt cache marks. Parts are also compared by content, because the text of
 * a string message becomes a new part each time.
 */
function isSame(part: Part, other: Part): boolean {
  if (part === other || (part.type === 'text' && other.type === 'text' && isPlainText(part, other)))
    return true
  return part.type === other.type && partBytes(part) === partBytes(other)
}

function isPlainText(
  part: Part & { readonly text?: unknown },
  other: Part & { readonly text?: unknown },
): boolean {
  return part.text === other.text && Object.keys(part).length === 2 && Object.keys(other).length === 2
}

/** Returns, for each position of a view, the last position before the messages that were stored together with it. */
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

/** Returns the positions of messages that are not stored yet, by id. */
function nextPositions(view: readonly ViewMessage[], last: number): ReadonlyMap<string, number> {
  const stored = view.findLastIndex(({ kind, position }) => kind !== 'message' || position !== undefined)
  return new Map(view.slice(stored + 1).map(({ id }, index) => [id, last + 1 + index]))
}

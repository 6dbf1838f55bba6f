import { detached } from '../messages/characters.ts'
import type { Message, ToolResultOutput } from '../messages/message.ts'
import type { Outcome } from '../messages/outcome.ts'
import { TextAgentReader } from '../messages/text-agent.ts'
import type { Effect, ToolNames } from '../messages/tool-names.ts'
import { measureOutput, neurolinkEstimator } from '../tokens/measure.ts'
import { type Call, CallReader, type CallsRead, outputHead, targetOf } from './calls.ts'
import { withoutSecrets } from './secrets.ts'
import { firstLine, unitsWithin } from './text.ts'

/** One tool call, or several equal ones. */
export type DigestEntry = {
  readonly name: string
  /** Path or main argument, shortened. */
  readonly target?: string
  readonly status: Outcome | 'pending'
  /** The number of calls in this entry. */
  readonly count: number
  /** The first line of the newest result or error, shortened. */
  readonly first?: string
  /** The size of all its results. */
  readonly tokens: number
  /** The ids of its newest calls, at most `MAX_CALL_IDS`. */
  readonly callIds: readonly string[]
  readonly effect: Effect
}

/** The tool calls of a conversation and their outcomes, without the outputs themselves. */
export type Digest = {
  readonly entries: readonly DigestEntry[]
  /** The number of calls without an entry. */
  readonly omitted: number
}

/** The maximum number of call ids of an entry. */
const MAX_CALL_IDS = 3
/** The maximum units of a result's first line. */
const FIRST_LINE_UNITS = 120

const HEADING = '## Tool Calls'

/**
 * The digest of a conversation's tool calls: equal calls (same name, target, status and effect) are one entry
 * with a count, in the place of the first of them.
 */
export function digestToolCalls(messages: readonly Message[], options: ToolNames = {}): Digest {
  return toolCallsIn(messages, options).digest()
}

/** The maximum number of entries while calls are read, and the number kept when there are more: a session may have a million calls. */
const MAX_HELD = 8_000
const HELD_AFTER = 4_000

/** The entries by their identity, in any order, each with the numbers of its first and last call. */
type Held = { readonly entry: DigestEntry; readonly from: number; readonly to: number }

/**
 * Builds the digest of tool calls one message after another, without keeping inputs and outputs. Above 8,000 different
 * calls, the least important are only counted.
 */
export class ToolCallReader {
  readonly #calls: CallReader
  readonly #held = new Map<string, Held>()
  /** Each path with the number of its first call. */
  readonly #files = { read: new Map<string, number>(), write: new Map<string, number>() }
  readonly #waiting = new Set<Call>()
  #omitted = 0

  constructor(options: ToolNames = {}) {
    this.#calls = new CallReader(options)
  }

  add(message: Message): void {
    this.addCalls(this.#calls.add(message))
  }

  /** Adds calls that another reader read. */
  addCalls({ made, ended }: CallsRead): void {
    for (const call of made) this.#waiting.add(call)
    for (const call of ended) if (this.#waiting.delete(call)) this.#take(call)
  }

  #take(call: Call): void {
    const { number, effect, paths } = call
    const entry = entryOf(call)
    const key = keyOf(entry)
    this.#held.set(key, heldWith(this.#held.get(key), entry, number))
    if (this.#held.size > MAX_HELD) this.#release()
    if (effect === 'other' || entry.status === 'failed') return
    const files = this.#files[effect]
    for (const path of paths) files.set(path, Math.min(number, files.get(path) ?? number))
  }

  #release(): void {
    const kept = mostImportant(this.#entries(), HELD_AFTER)
    for (const [key, { entry }] of this.#held) {
      if (kept.has(entry)) continue
      this.#held.delete(key)
      this.#omitted += entry.count
    }
  }

  /** Sorted by call, because results can come in another order. */
  #entries(): DigestEntry[] {
    return [...this.#held.values()].sort((a, b) => a.from - b.from).map(({ entry }) => entry)
  }

  /** The digest of all messages, including calls without a result. No message may be added after it. */
  #finish(): void {
    for (const call of this.#waiting) this.#take(call)
    this.#waiting.clear()
  }

  /** The digest of all messages. Call it after the last of them. */
  digest(): Digest {
    this.#finish()
    return { entries: this.#entries(), omitted: this.#omitted }
  }

  /** The paths that tools read and changed, each once, in the order of first use. Failed calls are ignored. */
  files(): { read: string[]; modified: string[] } {
    this.#finish()
    return { read: inOrder(this.#files.read), modified: inOrder(this.#files.write) }
  }
}

function heldWith(held: Held | undefined, entry: DigestEntry, number: number): Held {
  if (held === undefined) return { entry, from: number, to: number }
  if (number > held.to) return { entry: joined(held.entry, entry), from: held.from, to: number }
  return { entry: joined(entry, held.entry), from: Math.min(held.from, number), to: held.to }
}

function inOrder(paths: ReadonlyMap<string, number>): string[] {
  return [...paths].sort((a, b) => a[1] - b[1]).map(([path]) => path)
}

function toolCallsIn(messages: readonly Message[], options: ToolNames): ToolCallReader {
  const reader = new ToolCallReader(options)
  const textAgent = new TextAgentReader()
  for (const message of messages) reader.add(textAgent.read(message))
  return reader
}

/** Merges two digests, `earlier` before `later`. Associative: the digests of the parts of a conversation merge to the digest of the whole. */
export function mergeDigests(earlier: Digest, later: Digest): Digest {
  return {
    entries: merged([...earlier.entries, ...later.entries]),
    omitted: earlier.omitted + later.omitted,
  }
}

/**
 * Writes a digest as Markdown of at most `maxTokens`: a heading and one line per entry. When the limit is tight, reads
 * become one list of files; then the least important entries are left out, oldest first: reads, other successful
 * calls, writes, and errors last. The returned digest contains the entries of the text.
 */
export function renderDigest(digest: Digest, maxTokens: number): { text: string; digest: Digest } {
  if (digest.entries.length === 0 && digest.omitted === 0) return { text: '', digest }
  const max = unitsWithin(maxTokens)

  const full = [HEADING, ...digest.entries.map(lineOf), ...omittedLines(digest.omitted)].join('\n')
  if (full.length <= max) return { text: full, digest }

  const kept = keepMostImportant(digest, max)
  const short = { entries: digest.entries.filter((entry) => kept.has(entry)), omitted: digest.omitted }
  for (const entry of digest.entries) if (!kept.has(entry)) short.omitted += entry.count

  const reads = short.entries.filter(isListed)
  const lines = short.entries.filter((entry) => !isListed(entry)).map(lineOf)
  if (reads.length > 0) lines.push(READS + reads.map(listItem).join(', '))
  const text = [HEADING, ...lines, ...omittedLines(short.omitted)].join('\n')
  // Even the heading and the number of entries left out may not fit.
  return { text: text.length <= max ? text : '', digest: short }
}

/** The maximum number of entries stored with a summary: about 75 KB, which bounds the row. */
const MAX_ENTRIES = 300

/** A digest as it is stored with a summary: above the maximum number of entries, the least important are only counted. */
export function boundDigest({ entries, omitted }: Digest): Digest {
  if (entries.length <= MAX_ENTRIES) return { entries, omitted }
  const kept = mostImportant(entries, MAX_ENTRIES)
  const gone = entries.reduce((sum, entry) => (kept.has(entry) ? sum : sum + entry.count), omitted)
  return { entries: entries.filter((entry) => kept.has(entry)), omitted: gone }
}

function mostImportant(entries: readonly DigestEntry[], most: number): ReadonlySet<DigestEntry> {
  return new Set(byImportance(entries).slice(0, most))
}

/** Most important first, then newest first. */
function byImportance(entries: readonly DigestEntry[]): DigestEntry[] {
  return entries
    .map((entry, age) => ({ entry, age, rank: importance(entry) }))
    .sort((a, b) => b.rank - a.rank || b.age - a.age)
    .map(({ entry }) => entry)
}

/** The paths that tools read and changed, each once, in the order of first use. Failed calls are ignored. */
export function filesOf(
  messages: readonly Message[],
  options: ToolNames = {},
): { read: string[]; modified: string[] } {
  return toolCallsIn(messages, options).files()
}

function entryOf(call: Call): DigestEntry {
  const { name, effect, id, result } = call
  const target = targetOf(call)
  const shown = result && (result.answer?.text ?? outputHead(result.output, 2_000))
  const first = shown === undefined ? '' : firstLine(shown, FIRST_LINE_UNITS)
  return {
    name,
    ...(target !== undefined && { target: detached(target.toWellFormed()) }),
    status: result?.outcome ?? 'pending',
    count: 1,
    ...(first !== '' && { first: detached(first.toWellFormed()) }),
    tokens: result === undefined ? 0 : tokensOfOutput(result.output),
    callIds: [id],
    effect,
  }
}

function tokensOfOutput(output: ToolResultOutput): number {
  const { toolResults, media } = measureOutput(output, neurolinkEstimator)
  return neurolinkEstimator.toTokens(toolResults) + media
}

function merged(entries: readonly DigestEntry[]): DigestEntry[] {
  const byKey = new Map<string, DigestEntry>()
  for (const entry of entries) {
    const key = keyOf(entry)
    const known = byKey.get(key)
    byKey.set(key, known === undefined ? entry : joined(known, entry))
  }
  return [...byKey.values()]
}

/** The key that equal calls share. */
function keyOf({ name, target, status, effect }: DigestEntry): string {
  return JSON.stringify([name, target ?? null, status, effect])
}

function joined(earlier: DigestEntry, later: DigestEntry): DigestEntry {
  return {
    ...earlier,
    ...(later.first !== undefined && { first: later.first }),
    count: earlier.count + later.count,
    tokens: earlier.tokens + later.tokens,
    callIds: [...earlier.callIds, ...later.callIds].slice(-MAX_CALL_IDS),
  }
}

function lineOf({ name, target, status, count, first, tokens, effect }: DigestEntry): string {
  const call = `${name}${target === undefined ? '' : ` ${target}`}${times(count)}`
  // "Wrote src/a.ts" repeats the rest of the line.
  const isEcho =
    effect !== 'other' && status === 'ok' && target !== undefined && first?.includes(target) === true
  const size = tokens === 0 ? [] : [`${tokens} ${tokens === 1 ? 'token' : 'tokens'}`]
  const line = [call, status, ...size, ...(first === undefined || isEcho ? [] : [first])].join(' · ')
  return `- ${withoutSecrets(line)}`.toWellFormed()
}

function times(count: number): string {
  return count === 1 ? '' : ` ×${count}`
}

const READS = '- files read: '

/** Whether an entry joins the list of read files when the limit is tight. */
function isListed({ effect, status, target }: DigestEntry): boolean {
  return effect === 'read' && status === 'ok' && target !== undefined
}

function listItem({ target, count }: DigestEntry): string {
  return `${target}${times(count)}`.toWellFormed()
}

function omittedLines(omitted: number): string[] {
  return omitted === 0 ? [] : [`- ${omitted} ${omitted === 1 ? 'call' : 'calls'} left out`]
}

/** The entries to keep, most important first, until the next one does not fit. */
function keepMostImportant(digest: Digest, max: number): ReadonlySet<DigestEntry> {
  const total = digest.entries.reduce((sum, { count }) => sum + count, digest.omitted)
  const reserve = HEADING.length + 1 + omittedLines(total).join('').length
  const kept = new Set<DigestEntry>()
  let room = max - reserve
  let hasReads = false
  for (const entry of byImportance(digest.entries)) {
    const cost = isListed(entry)
      ? listItem(entry).length + (hasReads ? 2 : READS.length + 1)
      : lineOf(entry).length + 1
    if (cost > room) break
    kept.add(entry)
    room -= cost
    hasReads ||= isListed(entry)
  }
  return kept
}

/** Importance: failed calls and calls without a result first, then changes, then the rest. */
function importance({ status, effect }: DigestEntry): number {
  if (status === 'failed' || status === 'pending') return 3
  return effect === 'write' ? 2 : effect === 'other' ? 1 : 0
}

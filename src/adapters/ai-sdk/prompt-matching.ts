import { createHash } from 'node:crypto'
import { addedParts } from '../../core/messages/added.ts'
import { withoutTrailing } from '../../core/messages/characters.ts'
import { isObject, listIn } from '../../core/messages/json.ts'
import { type Message, type NewMessage, type Part, partsOf } from '../../core/messages/message.ts'
import { hasScheme } from '../wire.ts'
import { base64Of } from './fields.ts'

/*
 * Finds the messages of a prompt that are in the log. Compares texts of users and assistants, ids of calls, results and approvals, and
 * images and files. Everything else may change when a message is sent again: options, reasoning, arguments completed by a schema,
 * signatures of addresses. A request's additions are only in the log.
 */

/** A text, or an image or file of a user. */
type Utterance = {
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** The digest of an image or file given as bytes. */
  readonly digest?: string
  /** Index of its message, and of its part. */
  readonly message: number
  readonly part: number
}

/** A call, a result, or an approval response. */
type ToolEvent = { readonly id: string; readonly message: number; readonly part: number }

type Units = {
  readonly utterances: readonly Utterance[]
  readonly calls: readonly ToolEvent[]
  /** Results and approvals. */
  readonly results: readonly ToolEvent[]
}

/** Stands for an image or a file; texts never begin with it. */
const MEDIA = '\0'

/**
 * The compared parts of messages; system messages have none. `storable` returns a text as the log has it, if the store redacts. Linear in
 * their size.
 */
export function unitsOf(messages: readonly Message[], storable?: (text: string) => string): Units {
  const utterances: Utterance[] = []
  const calls: ToolEvent[] = []
  const results: ToolEvent[] = []
  for (const [message, one] of messages.entries()) {
    if (one.role === 'system') continue
    const added = addedParts(one)
    for (const [part, it] of partsOf(one).entries()) {
      if (added.has(part)) continue
      const place = { message, part }
      if (it.type === 'tool-call') calls.push({ id: it.toolCallId, ...place })
      else if (it.type === 'tool-result') results.push({ id: it.toolCallId, ...place })
      else if (it.type === 'provider') {
        const id = approvalIn(it)
        if (id !== undefined) results.push({ id, ...place })
      } else if (one.role === 'user' || one.role === 'assistant') {
        const utterance = textOrMediaOf(one.role, it)
        if (utterance === undefined) continue
        const text = storable?.(utterance.text) ?? utterance.text
        utterances.push({ role: one.role, ...utterance, text, ...place })
      }
    }
  }
  return { utterances, calls, results }
}

function textOrMediaOf(
  role: 'user' | 'assistant',
  part: Part,
): Pick<Utterance, 'text' | 'digest'> | undefined {
  if (part.type === 'text') return part.text === '' ? undefined : { text: part.text }
  // Applications rarely send an assistant's images back.
  if (role === 'assistant' || (part.type !== 'image' && part.type !== 'file')) return undefined
  const data = part.type === 'image' ? part.image : part.data
  const base64 = typeof data === 'string' ? base64In(data) : base64Of(data)
  if (base64 === undefined) return { text: MEDIA }
  return { text: MEDIA, digest: createHash('sha256').update(withoutTrailing(base64, '=')).digest('base64') }
}

/** Returns the base64 data, or `undefined` for an address. */
function base64In(data: string): string | undefined {
  if (!hasScheme(data)) return data
  const comma = /^data:/i.test(data) ? data.indexOf(',') : -1
  return comma === -1 ? undefined : data.slice(comma + 1)
}

function approvalIn({ data }: Part & { readonly type: 'provider' }): string | undefined {
  const kept = isObject(data) ? data['ai-sdk'] : undefined
  return isObject(kept) && typeof kept.approvalId === 'string' ? `approval ${kept.approvalId}` : undefined
}

/** One utterance, or all of an assistant's between two of a user's. */
type Turn = {
  readonly first: Utterance
  /** The text of several utterances, without white space. */
  readonly whole?: string
  /** The text of their last message, without white space. */
  readonly last?: string
  /** The index after its last utterance in the whole list. */
  readonly upTo: number
}

/** Utterances as single turns and as whole turns: applications keep an answer of several steps as one text, or only its last step. */
function sequencesOf(utterances: readonly Utterance[]): readonly Turn[][] {
  const turns: Turn[] = []
  for (let from = 0; from < utterances.length; from = turns.at(-1)!.upTo) {
    const first = utterances[from]!
    let upTo = from + 1
    while (first.role === 'assistant' && utterances[upTo]?.role === 'assistant') upTo++
    const turn = utterances.slice(from, upTo)
    const lastMessage = turn.at(-1)!.message
    const last = turn.filter(({ message }) => message === lastMessage)
    turns.push({ first, whole: withoutSpace(turn), last: withoutSpace(last), upTo })
  }
  return [utterances.map((first, index) => ({ first, upTo: index + 1 })), turns]
}

function withoutSpace(turn: readonly Utterance[]): string {
  return turn.map(({ text }) => text.replace(/\s+/g, '')).join('')
}

/** Whether a turn of a prompt is a turn of the log, or its last step. */
function isSame(stored: Turn, given: Turn): boolean {
  const [a, b] = [stored.first, given.first]
  if (a.role !== b.role) return false
  if (a.role === 'assistant' && given.whole !== undefined)
    return stored.whole === given.whole || stored.last === given.whole
  // Bytes are only compared with bytes, because an address may replace them.
  return a.text === b.text && (a.digest === undefined || b.digest === undefined || a.digest === b.digest)
}

/** The number of turns of a log, from an index on, that equal the first turns of a prompt. */
function commonRun(stored: readonly Turn[], from: number, given: readonly Turn[]): number {
  const most = Math.min(stored.length - from, given.length)
  let length = 0
  while (length < most && isSame(stored[from + length]!, given[length]!)) length++
  return length
}

/** What a prompt contains: the whole conversation (`whole`), only new messages (`new`), or either, detected by comparison (`auto`). */
export type PromptHistory = 'auto' | 'whole' | 'new'

/** A prompt compared with the log. */
type Reading = {
  /** The messages of the prompt that are not in the log, in order. */
  readonly fresh: readonly NewMessage[]
  /** How many messages of the log the prompt continues; later ones are not part of it. */
  readonly shared: number
}

/**
 * Finds the new messages of a prompt. The longest end of the log that the prompt begins with is known; the rest is new. If there is none,
 * but the prompt begins with messages from elsewhere in the log that include an answer, the conversation branched there: an answer is
 * regenerated, or a message was edited. A prompt without answers is never a branch, because users may repeat themselves; only unanswered
 * messages are known there, as after a failed call.
 *
 * `log` is the end of the log, oldest first, without rewound messages.
 */
export function readPrompt(
  log: readonly Message[],
  prompt: readonly NewMessage[],
  history: PromptHistory = 'auto',
  storable?: (text: string) => string,
): Reading {
  const stored = unitsOf(log)
  const given = unitsOf(prompt, storable)
  const continuation = readContinuation(log, stored, prompt, given, history)
  if (continuation !== undefined) return continuation
  if (history !== 'new') {
    const branch = findBranch(stored.utterances, given.utterances, history)
    if (branch !== undefined) {
      const shared = stored.utterances[branch]?.message ?? log.length
      const known = log.slice(0, shared)
      const read = readContinuation(known, unitsOf(known), prompt, given, 'whole')
      if (read !== undefined) return { ...read, shared: Math.min(read.shared, shared) }
    }
  }
  // A whole conversation that shares nothing with the log is a different one.
  const isAnother = history === 'whole' && given.utterances.length > 0
  return { fresh: prompt, shared: isAnother ? 0 : log.length }
}

/** Reads a prompt that continues the end of the log; returns `undefined` for another one. */
function readContinuation(
  log: readonly Message[],
  stored: Units,
  prompt: readonly NewMessage[],
  given: Units,
  history: PromptHistory,
): Reading | undefined {
  const known = countKnown(stored.utterances, given.utterances)
  const parts = splitParts(stored, given, known)
  const fresh = freshMessages(prompt, given, known, parts.fresh)
  const hasAnswer =
    parts.matched > 0 || given.utterances.slice(0, known).some(({ role }) => role === 'assistant')
  if (known === 0 && !hasAnswer) return undefined
  const lastMessage = stored.utterances.at(-1)?.message ?? -1
  const left = parts.missing.filter(({ message }) => message > lastMessage)
  if (fresh.length > 0 || left.length === 0) return { fresh, shared: log.length }
  if (!hasAnswer && history !== 'whole') return undefined
  return { fresh, shared: left.reduce((first, { message }) => Math.min(first, message), log.length) }
}

/** How many utterances at the beginning of a prompt are the end of the log. */
function countKnown(stored: readonly Utterance[], given: readonly Utterance[]): number {
  const givenSequences = sequencesOf(given)
  const counts = sequencesOf(stored).map((log, index) => {
    const prompt = givenSequences[index]!
    let from = Math.max(0, log.length - prompt.length)
    while (commonRun(log, from, prompt) < log.length - from) from++
    return prompt[log.length - from - 1]?.upTo ?? 0
  })
  return counts.reduce((most, count) => Math.max(most, count), 0)
}

/**
 * The new calls and results of a prompt, the number of known ones, and those of the log's last turn that the prompt lacks. Ids may repeat
 * in every turn, so they are counted in the last turn only; in earlier turns only late results are new.
 */
function splitParts(
  stored: Units,
  given: Units,
  known: number,
): {
  readonly fresh: ReadonlySet<ToolEvent>
  readonly matched: number
  readonly missing: readonly ToolEvent[]
} {
  const from = lastUser(stored.utterances, stored.utterances.length)
  const knownUser = lastUser(given.utterances, known)
  const end = given.utterances[known]
  const callIds = new Set(stored.calls.map(({ id }) => id))
  const resultIds = new Set(stored.results.map(({ id }) => id))
  const fresh = new Set<ToolEvent>()
  const missing: ToolEvent[] = []
  let matched = 0
  for (const kind of ['calls', 'results'] as const) {
    const left = new Map<string, ToolEvent[]>()
    for (const event of stored[kind]) if (event.message > from) listIn(left, event.id).push(event)
    for (const event of given[kind]) {
      if (event.message < knownUser) {
        if (kind === 'results' && !resultIds.has(event.id) && callIds.has(event.id)) fresh.add(event)
      } else if (isAfter(event, end) || left.get(event.id)?.shift() === undefined) fresh.add(event)
      else matched++
    }
    for (const unmatched of left.values()) for (const event of unmatched) missing.push(event)
  }
  return { fresh, matched, missing }
}

/** The index of the last user's message among the first utterances, -1 for none. */
function lastUser(utterances: readonly Utterance[], count: number): number {
  for (let index = count - 1; index >= 0; index--)
    if (utterances[index]!.role === 'user') return utterances[index]!.message
  return -1
}

function isAfter({ message, part }: ToolEvent, end: Utterance | undefined): boolean {
  return end !== undefined && (message > end.message || (message === end.message && part > end.part))
}

/** The new messages of a prompt, without their known parts. */
function freshMessages(
  prompt: readonly NewMessage[],
  given: Units,
  known: number,
  freshEvents: ReadonlySet<ToolEvent>,
): NewMessage[] {
  /** Whether each compared part is fresh, by message and part. */
  const isFresh: boolean[][] = prompt.map(() => [])
  for (const [index, { message, part }] of given.utterances.entries())
    isFresh[message]![part] = index >= known
  for (const event of given.calls.concat(given.results))
    isFresh[event.message]![event.part] = freshEvents.has(event)
  const lastKnown = isFresh.findLastIndex((parts) => parts.includes(false))
  return prompt.flatMap((one, message) => {
    const parts = isFresh[message]!
    const hasKnown = parts.includes(false)
    if (!parts.includes(true) && (hasKnown || message <= lastKnown)) return []
    return [hasKnown ? { ...one, content: partsOf(one).filter((_, part) => parts[part] === true) } : one]
  })
}

/** Where a prompt branches from the log: after the longest part of it that the prompt begins with. */
function findBranch(
  stored: readonly Utterance[],
  given: readonly Utterance[],
  history: PromptHistory,
): number | undefined {
  const givenSequences = sequencesOf(given)
  let best: { readonly end: number; readonly length: number } | undefined
  for (const [index, log] of sequencesOf(stored).entries()) {
    const prompt = givenSequences[index]!
    for (let from = 0; from < log.length; from++) {
      const common = commonRun(log, from, prompt)
      const length = prompt[common - 1]?.upTo ?? 0
      if (length === 0 || length < (best?.length ?? 0)) continue
      const hasAnswer = given.slice(0, length).some(({ role }) => role === 'assistant')
      if (hasAnswer || (history === 'whole' && from === 0))
        best = { end: log[from + common - 1]!.upTo, length }
    }
  }
  return best?.end
}

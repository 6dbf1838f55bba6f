import { createHash } from 'node:crypto'
import { withoutTrailing } from '../../messages/characters.ts'
import { isObject } from '../../messages/json.ts'
import { type Message, type Part, partsOf } from '../../messages/message.ts'
import { base64Of } from './options.ts'

/*
 * What of messages is compared, to tell which of a prompt's are in the log. Texts of users and assistants count, ids of
 * calls, results and approvals, and that a picture or a file is there. The rest changes between two sendings of the same
 * message: options come and go, reasoning is dropped, arguments are filled in by schemas, addresses are signed anew.
 */

/** Something said: a text, or a picture or file of a user's. */
export type Spoken = {
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** Of a picture or file whose bytes are there. */
  readonly digest?: string
  /** Index of its message, and of its part. */
  readonly message: number
  readonly part: number
}

/** Something done: a call, its result, or the answer to a request for approval. */
export type Done = { readonly id: string; readonly message: number; readonly part: number }

export type Units = {
  readonly spoken: readonly Spoken[]
  readonly calls: readonly Done[]
  /** Results and approvals. */
  readonly results: readonly Done[]
}

/** Stands for a picture or a file. No text begins with this. */
const MEDIA = '\0'

/** What is compared of some messages. System messages have none. Linear in their size. */
export function unitsOf(messages: readonly Message[]): Units {
  const spoken: Spoken[] = []
  const calls: Done[] = []
  const results: Done[] = []
  for (const [message, one] of messages.entries()) {
    if (one.role === 'system') continue
    for (const [part, it] of partsOf(one).entries()) {
      const place = { message, part }
      if (it.type === 'tool-call') calls.push({ id: it.toolCallId, ...place })
      else if (it.type === 'tool-result') results.push({ id: it.toolCallId, ...place })
      else if (it.type === 'provider') {
        const id = approvalIn(it)
        if (id !== undefined) results.push({ id, ...place })
      } else if (one.role === 'user' || one.role === 'assistant') {
        const said = saidBy(one.role, it)
        if (said !== undefined) spoken.push({ role: one.role, ...said, ...place })
      }
    }
  }
  return { spoken, calls, results }
}

function saidBy(role: 'user' | 'assistant', part: Part): Pick<Spoken, 'text' | 'digest'> | undefined {
  if (part.type === 'text') return part.text === '' ? undefined : { text: part.text }
  // What a model drew seldom comes back.
  if (role === 'assistant' || (part.type !== 'image' && part.type !== 'file')) return undefined
  const data = part.type === 'image' ? part.image : part.data
  const base64 = typeof data === 'string' ? base64In(data) : base64Of(data)
  if (base64 === undefined) return { text: MEDIA }
  return { text: MEDIA, digest: createHash('sha256').update(withoutTrailing(base64, '=')).digest('base64') }
}

/** `undefined` for an address. */
function base64In(data: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(data.slice(0, 100))) return data
  const comma = /^data:/i.test(data) ? data.indexOf(',') : -1
  return comma === -1 ? undefined : data.slice(comma + 1)
}

function approvalIn({ data }: Part & { readonly type: 'provider' }): string | undefined {
  const kept = isObject(data) ? data['ai-sdk'] : undefined
  return isObject(kept) && typeof kept.approvalId === 'string' ? `approval ${kept.approvalId}` : undefined
}

/** Whether two things said are the same. Bytes are compared with bytes only: an address may stand for them. */
export function isSame(a: Spoken, b: Spoken): boolean {
  if (a.role !== b.role || a.text !== b.text) return false
  return a.digest === undefined || b.digest === undefined || a.digest === b.digest
}

/**
 * Things said, with all an assistant says between two words of a user's taken as one: applications keep an answer of
 * several steps as one text, or its last step alone.
 */
export type Turn = {
  readonly first: Spoken
  /** Without white space. */
  readonly whole: string
  /** What its last message says. */
  readonly last: string
  /** How many things said it ends with, of the whole list. */
  readonly upTo: number
}

export function turnsOf(spoken: readonly Spoken[]): Turn[] {
  const turns: Turn[] = []
  for (let from = 0; from < spoken.length; ) {
    const first = spoken[from]!
    let to = from + 1
    while (first.role === 'assistant' && spoken[to]?.role === 'assistant') to++
    const said = spoken.slice(from, to)
    const lastMessage = said.at(-1)!.message
    turns.push({
      first,
      whole: bare(said),
      last: bare(said.filter(({ message }) => message === lastMessage)),
      upTo: to,
    })
    from = to
  }
  return turns
}

function bare(said: readonly Spoken[]): string {
  return said.map(({ text }) => text.replace(/\s+/g, '')).join('')
}

/** Whether a turn of the log is that of a prompt, as it was or by its last step. */
export function isSameTurn(stored: Turn, given: Turn): boolean {
  if (stored.first.role === 'user' || given.first.role === 'user') return isSame(stored.first, given.first)
  return stored.whole === given.whole || stored.last === given.whole
}

/** How long the longest end of one list is that is the beginning of the other. */
export function overlap<T>(list: readonly T[], other: readonly T[], same: (a: T, b: T) => boolean): number {
  for (let from = Math.max(0, list.length - other.length); from < list.length; from++) {
    if (commonRun(list, from, other, same) === list.length - from) return list.length - from
  }
  return 0
}

/** How many elements from a place on are those the other list begins with. */
export function commonRun<T>(
  list: readonly T[],
  from: number,
  other: readonly T[],
  same: (a: T, b: T) => boolean,
): number {
  let length = 0
  while (from + length < list.length && length < other.length && same(list[from + length]!, other[length]!))
    length++
  return length
}

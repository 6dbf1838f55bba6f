import { isObject } from '../messages/json.ts'
import { isApplicationCall, isReasoning, type Part, type ViewMessage } from '../messages/message.ts'
import type { ProviderProfile } from '../tokens/providers.ts'
import { signatureOf } from './assigned-ids.ts'
import { type Draft, draftOf, type Note, redraft, rowsOf } from './draft.ts'

/*
 * Signed reasoning belongs to one response of a model. Claude refuses it in a message that also has reasoning of another response
 * ("blocks in the latest assistant message cannot be modified"), after other content of an earlier response ("the first block must be
 * thinking"), and as the last block of a message. Unsigned reasoning is a text, which converters leave out if their format has no place
 * for it.
 */

/** The responses that rows were read from, by row id. Rows of the same response may be consecutive. */
export type Responses = ReadonlyMap<string, string>

/** Returns the ids that Anthropic assigned to the responses of rows: its clients store one row per block of a response. */
export function responsesOf(view: readonly ViewMessage[]): Responses {
  const responses = new Map<string, string>()
  for (const { id, role, metadata } of view) {
    const own = role === 'assistant' ? metadata?.anthropic : undefined
    if (isObject(own) && typeof own.id === 'string') responses.set(id, own.id)
  }
  return responses
}

/** Returns whether a part is neither reasoning nor empty text. */
export function isVisibleContent(part: Part, profile: ProviderProfile): boolean {
  if (part.type === 'text') return profile.emptyText ? part.text !== '' : part.text.trim() !== ''
  return !isReasoning(part)
}

function isSigned(part: Part): boolean {
  if (part.type === 'reasoning')
    return part.providerOptions !== undefined && signatureOf(part.providerOptions) !== undefined
  return part.type === 'provider' && isReasoning(part)
}

/** Returns whether a message continues the response of the previous one. Without ids, signed reasoning begins another response. */
function continuesResponse(before: Draft, draft: Draft, responses: Responses): boolean {
  const [one, other] = [responses.get(before.id), responses.get(draft.id)]
  return one !== undefined && other !== undefined ? one === other : !draft.parts.some(isSigned)
}

function responsesIn(drafts: readonly Draft[], responses: Responses): Draft[][] {
  const groups: Draft[][] = []
  for (const draft of drafts) {
    const last = groups.at(-1)
    if (last !== undefined && continuesResponse(last.at(-1)!, draft, responses)) last.push(draft)
    else groups.push([draft])
  }
  return groups
}

/**
 * Prepares assistant messages to be merged: they keep the signed reasoning of at most one response, the last, and only if it called a
 * tool, because only an open tool loop needs its reasoning.
 */
export function oneResponse(run: readonly Draft[], responses: Responses, note: Note): readonly Draft[] {
  const groups = responsesIn(run, responses)
  if (groups.length === 1 || !run.some(({ parts }) => parts.some(isSigned))) return run
  const last = groups.at(-1)!
  const isOpen = last.some(({ parts }) => parts.some(isApplicationCall))
  return groups.flatMap((group) =>
    isOpen && group === last ? group : group.map((draft) => withoutSigned(draft, note)),
  )
}

function withoutSigned(draft: Draft, note: Note): Draft {
  const parts = draft.parts.filter((part) => !isSigned(part))
  if (parts.length < draft.parts.length) note({ kind: 'reasoning-dropped', messageId: draft.id })
  return redraft(draft, draft.message.role, parts)
}

/**
 * Merges a message that contains only reasoning into the assistant message directly after it; drops it if there is none, or if both are
 * signed in different responses.
 */
export function settleReasoning(
  drafts: readonly Draft[],
  profile: ProviderProfile,
  responses: Responses,
  note: Note,
): Draft[] {
  const kept: Draft[] = []
  let waiting: Draft[] = []
  const drop = (dropped: readonly Draft[]): void => {
    for (const { id } of dropped) note({ kind: 'reasoning-dropped', messageId: id })
  }

  for (const draft of drafts) {
    const silent = !draft.parts.some((part) => isVisibleContent(part, profile))
    if (silent && draft.parts.some(isReasoning)) {
      waiting.push(draft)
    } else if (silent) {
      note({ kind: 'empty-text-dropped', messageId: draft.id })
    } else if (draft.message.role === 'assistant' && waiting.length > 0) {
      const own = new Set(responsesIn([...waiting, draft], responses).at(-1))
      const isOwn = (one: Draft): boolean => own.has(one) || !one.parts.some(isSigned)
      drop(waiting.filter((one) => !isOwn(one)))
      const merged = waiting.filter(isOwn)
      for (const { id } of merged) note({ kind: 'merged', messageId: id })
      const lead = merged.flatMap(({ parts }) => parts.filter(isReasoning))
      const content = [...lead, ...draft.parts]
      kept.push(draftOf(draft.id, { role: 'assistant', content }, rowsOf([...merged, draft])))
      waiting = []
    } else {
      drop(waiting)
      waiting = []
      kept.push(draft)
    }
  }
  drop(waiting)
  return kept
}

/**
 * Adjusts the beginnings and ends of messages: signed reasoning comes first in a message that calls a tool (unless it is bound to its
 * place), no message ends in reasoning left by a stop, and no white space ends an assistant message that is last and that the provider
 * continues.
 */
export function settleEnds(
  drafts: readonly Draft[],
  profile: ProviderProfile,
  isBound: boolean,
  note: Note,
): readonly Draft[] {
  return drafts.map((draft, index) => {
    if (draft.message.role !== 'assistant') return draft
    const parts = isBound ? [...draft.parts] : leadingFirst(draft, note)
    const isLast = index === drafts.length - 1 && !profile.emptyText
    for (let last = parts.at(-1); last !== undefined; last = parts.at(-1)) {
      if (isSigned(last)) {
        note({ kind: 'reasoning-dropped', messageId: draft.id })
      } else if (isLast && last.type === 'text' && last.text !== last.text.trimEnd()) {
        note({ kind: 'space-trimmed', messageId: draft.id })
        const text = last.text.trimEnd()
        if (text !== '') {
          parts[parts.length - 1] = { ...last, text }
          break
        }
      } else break
      parts.pop()
    }
    const [only] = parts
    const isText = typeof draft.message.content === 'string' && only?.type === 'text'
    const changed = redraft(draft, 'assistant', parts)
    return changed !== draft && isText
      ? draftOf(draft.id, { role: 'assistant', content: only.text }, draft.rows)
      : changed
  })
}

/**
 * Returns the parts of a message; if it has a call, signed reasoning that follows content other than tool use is moved to the beginning.
 */
function leadingFirst({ id, parts }: Draft, note: Note): Part[] {
  const from = parts.findIndex(isSigned)
  const isLate = from > 0 && parts.slice(0, from).every(({ type }) => type === 'text' || type === 'reasoning')
  if (!isLate || !parts.some(isApplicationCall)) return [...parts]
  const length = parts.slice(from).findIndex((part) => !isSigned(part))
  const to = length === -1 ? parts.length : from + length
  note({ kind: 'reasoning-moved', messageId: id })
  return [...parts.slice(from, to), ...parts.slice(0, from), ...parts.slice(to)]
}

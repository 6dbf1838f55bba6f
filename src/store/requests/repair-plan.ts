import { isDeepStrictEqual } from 'node:util'
import { blockOfSummary } from '../../core/messages/compaction-block.ts'
import {
  isCall,
  type Message,
  type NewMessage,
  type Part,
  partsOf,
  type ViewMessage,
} from '../../core/messages/message.ts'
import { overlaid, withReplacements } from '../../core/messages/overlay.ts'
import { type Refusal, wirePathOf } from '../../core/overflow/read-refusal.ts'
import type { BoundPrefix } from '../../core/rendering/bound-reasoning.ts'
import { type RenderOptions, type ResizeImage, renderRecorded } from '../../core/rendering/render.ts'
import { asRows } from './draft.ts'
import { isMalformed, REPAIRS, type RepairForms } from './repair-parts.ts'
import { type Place, placesAt } from './wire-places.ts'

/** A part to show differently, and its current content. */
export type RepairedPart = {
  readonly messageId: string
  readonly part: number
  readonly text: string
  readonly shown: Part
}

/** One step with its index: parts to show differently, or compactions of a provider to undo. */
export type RepairPlan = {
  readonly step: number
  readonly parts: readonly RepairedPart[]
  readonly blocks: readonly ProviderBlock[]
}
/** The summary that a provider wrote in place of messages: its row, and the compaction that shows it. */
export type ProviderBlock = { readonly messageId: string; readonly compactionId: string }

/**
 * How far a repair may reach: only the parts that the error points to (`place`), those first (`any`), or all possible causes at once
 * (`all`).
 */
export type Reach = 'place' | 'any' | 'all'
/** The number of final steps that don't concern a single place. */
const WIDE_STEPS = 2

type RefusedRequest = {
  readonly provider: string
  readonly system?: string
  readonly prompt: readonly NewMessage[]
  readonly position: number
  readonly rendering: RenderOptions
  readonly bound?: BoundPrefix
  readonly resizeImage?: ResizeImage | undefined
  /** The messages of each rejected request. */
  readonly refused: readonly (readonly Message[])[]
}

/** The origin of a rendered part: its row in the view, and its index in that row. */
type Origin = { readonly row: number; readonly part: number }

/** Copies of a part keep the mark, because they are made by spreading it. */
const ORIGIN = Symbol('origin')

/**
 * Returns the smallest repair, from a given step on, that changes a rejected request: first the parts that the error points to, each step
 * removing more of them; then all possible causes. If the error points nowhere, the newest such part comes first. Returns `undefined` if
 * nothing is left, or if the cause is in an unstored message: the caller has that message.
 */
export function planRepair(
  view: readonly ViewMessage[],
  request: RefusedRequest,
  refusal: Refusal,
  from: number,
  reach: Reach = 'any',
): RepairPlan | undefined {
  const repairs = REPAIRS[refusal.kind]
  if (repairs === undefined) return undefined
  const marked = [...view, ...asRows(request.prompt)].map(withMarks)
  const rendered = sentOf(marked, request)
  const located = locate(rendered, request, refusal, repairs)
  const stored = located.filter(({ part }) => (originOf(part)?.row ?? 0) < view.length)
  const all = placesIn(marked)
  const isStored = ({ message }: Place): boolean => message < view.length
  const isElsewhere = located.length > 0 ? stored.length === 0 : isInPrompt(all, isStored, repairs)
  if (isElsewhere) return undefined
  const steps = stepsOf(stored, all.filter(isStored), repairs)
  const placed = stored.length > 0 ? repairs.forms.length : 0
  const first = reach === 'all' ? steps.length - WIDE_STEPS : 0
  const end = reach === 'place' ? placed : steps.length
  for (let step = Math.max(from, first); step < end; step++) {
    const [places, form] = steps[step]!
    const blocks = places.flatMap((place) => blockAt(view, place, form))
    if (blocks.length > 0) return { step, parts: [], blocks }
    const parts = places.flatMap((place) => repaired(view, place, form))
    if (parts.length > 0 && changesRequest(view, parts, request)) return { step, parts, blocks }
  }
  return undefined
}

/** Whether, for an error without a place, the only possible causes, or the only broken ones, are in the prompt. */
function isInPrompt(
  all: readonly Place[],
  isStored: (place: Place) => boolean,
  { isSuspect }: RepairForms,
): boolean {
  const suspects = all.filter(({ part }) => isSuspect(part))
  const broken = suspects.filter(({ part }) => isMalformed(part))
  const likely = broken.length > 0 ? broken : suspects
  return likely.length > 0 && !likely.some(isStored)
}

/**
 * Whether the path of an error, which is the same as in the previous error, points to a part other than those repaired for that one: the
 * repaired part is no longer sent, and the next one has taken its place. Only if the path identifies one part for certain.
 */
export function isAtOtherPart(
  view: readonly ViewMessage[],
  request: Omit<RefusedRequest, 'refused'>,
  { path }: Refusal,
  parts: readonly { readonly messageId: string; readonly part: number }[],
): boolean {
  const place = path === undefined ? undefined : wirePathOf(path)
  if (place?.part === undefined) return false
  const rendered = sentOf([...view, ...asRows(request.prompt)].map(withMarks), request)
  const candidates = placesAt(rendered, place, request.provider, request.system !== undefined)
  const [only] = candidates.length === 1 ? candidates[0]! : []
  const origin = only && originOf(only.part)
  if (origin === undefined) return false
  const id = view[origin.row]?.id
  return !parts.some(({ messageId, part }) => messageId === id && part === origin.part)
}

/** Returns for each step the places and the texts to show. */
function stepsOf(
  located: readonly Place[],
  all: readonly Place[],
  { isSuspect, mayBe = isSuspect, forms }: RepairForms,
): (readonly [places: readonly Place[], form: RepairForm])[] {
  const suspects = all.filter(({ part }) => isSuspect(part))
  const [first] = forms
  const newest = suspects.findLast(({ part }) => isMalformed(part)) ?? suspects.at(-1)
  const last = forms.length > 1 ? forms[1]! : first!
  return [
    ...(located.length > 0
      ? forms.map((form) => [located, form] as const)
      : [[newest === undefined ? [] : [newest], first!] as const]),
    [suspects, first!],
    [all.filter(({ part }) => mayBe(part)), last],
  ]
}

/** Returns a row with marks on its parts, and on the contents of results, which the rendering may extract. */
function withMarks(row: ViewMessage, index: number): ViewMessage {
  const content = partsOf(row).map((part, at): Part => {
    const origin = { [ORIGIN]: { row: index, part: at } }
    if (part.type !== 'tool-result' || part.output.type !== 'content') return { ...part, ...origin }
    const value = part.output.value.map((item) => ({ ...item, ...origin }))
    return { ...part, output: { ...part.output, value }, ...origin }
  })
  return { ...row, content }
}

function originOf(part: Part): Origin | undefined {
  return (part as { readonly [ORIGIN]?: Origin })[ORIGIN]
}

function placesIn(messages: readonly Message[]): Place[] {
  return messages.flatMap((message, index) => partsOf(message).map((part) => ({ message: index, part })))
}

/** Returns the places that the error points to, by ids and by its path. */
function locate(
  rendered: readonly Message[],
  { provider, system }: RefusedRequest,
  { kind, ids, path }: Refusal,
  { isSuspect }: RepairForms,
): readonly Place[] {
  const all = placesIn(rendered)
  const isForCalls = isSuspect === isCall
  if (ids.length > 0) {
    const named = all.filter(({ part }) =>
      isForCalls ? isCall(part) && ids.includes(part.toolCallId) : hasCallId(part, ids),
    )
    // If an item is sent twice, the first one may stay.
    const found = kind === 'item' && named.length > 1 ? named.slice(1) : named
    if (found.length > 0) return found
  }
  const place = path === undefined ? undefined : wirePathOf(path)
  if (place === undefined) return []
  const candidates = placesAt(rendered, place, provider, system !== undefined)
  const exact = candidates.map((places) => places.filter(({ part }) => kind === 'part' || isSuspect(part)))
  const found = exact.find((places) => places.length > 0)
  if (found !== undefined && kind !== 'reasoning') return found
  // The cause may be next to the part in the error: the calls of results, the reasoning of a message.
  const message = (found ?? candidates.find((places) => places.length > 0))?.[0]?.message
  if (message === undefined) return []
  const beside = all.filter((one) => one.message === message)
  if (!isForCalls) return beside.filter(({ part }) => isSuspect(part))
  const answered = beside.flatMap(({ part }) => (part.type === 'tool-result' ? [part.toolCallId] : []))
  const calls = beside.filter(({ part }) => isCall(part))
  if (calls.length > 0 || answered.length === 0) return calls
  return answered.flatMap((id) => {
    const call = all.findLast(
      (one) => one.message < message && isCall(one.part) && one.part.toolCallId === id,
    )
    return call === undefined ? [] : [call]
  })
}

/** Whether the provider's fields on a part, or its own part, contain one of these ids. */
function hasCallId(part: Part, ids: readonly string[]): boolean {
  const fields = part.type === 'provider' ? part.data : part.providerOptions
  if (fields === undefined) return false
  const json = JSON.stringify(fields)
  return ids.some((id) => json.includes(JSON.stringify(id)))
}

type RepairForm = RepairForms['forms'][number]

/** Returns a provider's summary at a place, if there is one. It has no text to show, so the messages that it replaces are shown again. */
function blockAt(view: readonly ViewMessage[], { part }: Place, form: RepairForm): ProviderBlock[] {
  const origin = originOf(part)
  const row = origin && view[origin.row]
  if (row?.condenseId === undefined || blockOfSummary(row) === undefined || form(part) === undefined)
    return []
  return [{ messageId: row.id, compactionId: row.condenseId }]
}

function repaired(view: readonly ViewMessage[], { part }: Place, form: RepairForm): RepairedPart[] {
  const origin = originOf(part)
  const row = origin && view[origin.row]
  if (origin === undefined || row === undefined) return []
  const shown = partsOf(row)[origin.part]!
  const text = form(shown)
  if (text === undefined || isDeepStrictEqual(overlaid(shown, text), shown)) return []
  // An empty text would not be shown in place of these.
  if (text === '' && (shown.type === 'image' || shown.type === 'file' || shown.type === 'tool-call'))
    return []
  return [{ messageId: row.id, part: origin.part, text, shown }]
}

function changesRequest(
  view: readonly ViewMessage[],
  parts: readonly RepairedPart[],
  request: RefusedRequest,
): boolean {
  const texts = new Map(parts.map(({ messageId, part, text }) => [`${part}:${messageId}`, text]))
  const changed = new Set(parts.map(({ messageId }) => messageId))
  const after = view.map((row) =>
    changed.has(row.id)
      ? { ...row, content: withReplacements(row.content, (part) => texts.get(`${part}:${row.id}`)) }
      : row,
  )
  const messages = sentOf([...after, ...asRows(request.prompt)], request)
  return request.refused.every((before) => !isDeepStrictEqual(messages, before))
}

/** Returns the messages of a request with this view, without the reasoning that it left out. */
function sentOf(
  view: readonly ViewMessage[],
  { rendering, bound, position, resizeImage }: Omit<RefusedRequest, 'refused'>,
): readonly Message[] {
  return renderRecorded(view, { ...rendering, resizeImage }, position, bound).messages
}

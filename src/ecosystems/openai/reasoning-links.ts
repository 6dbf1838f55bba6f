import type { JsonObject } from '../../messages/json.ts'
import { isObject } from '../wire.ts'
import { OUTPUTS } from './types.ts'

/*
 * OpenAI keeps the items of an answer together: it refuses the id of an item that came behind reasoning without that
 * reasoning ("was provided without its required 'reasoning' item"), and reasoning without the item it led to ("without
 * its required following item"). A view may hide either. So each item remembers the reasoning it came behind, and
 * reasoning whether it led to something.
 */

/** What an item remembers of the reasoning before it, and of the item behind it. */
export type Link = { readonly after?: string; readonly leads?: true }

/** Items that stand in an answer without being made by its model then and there. */
const APART = new Set<unknown>(['item_reference', 'compaction', undefined, null])

/** Items that an application writes. */
const FROM_OUTSIDE = new Set<unknown>([
  ...OUTPUTS,
  'mcp_approval_response',
  'compaction_trigger',
  'additional_tools',
])

/** The links of a list of items. Anything may stand in it; what is no item has none. */
export function linksOf(items: readonly unknown[]): readonly Link[] {
  let reasoning: string | undefined
  const links = items.map((item): Link => {
    if (!isObject(item)) return {}
    const side = sideOf(item)
    if (side === 'outside') reasoning = undefined
    if (side !== 'model') return {}
    const link = reasoning === undefined ? {} : { after: reasoning }
    if (item.type === 'reasoning') reasoning = typeof item.id === 'string' ? item.id : undefined
    return link
  })
  return links.map((link, i) => {
    const item = items[i]
    const isLed = isObject(item) && item.type === 'reasoning' && typeof item.id === 'string'
    return isLed && links[i + 1]?.after === item.id ? { ...link, leads: true } : link
  })
}

/** Whether an item is a model's reasoning. */
export function isReasoningItem(item: unknown): boolean {
  return isObject(item) && item.type === 'reasoning'
}

/** Whether an item comes from outside, so that what is behind it belongs to another answer. */
export function endsAnswer(item: unknown): boolean {
  return isObject(item) && sideOf(item) === 'outside'
}

function sideOf({ type, role, content }: JsonObject): 'model' | 'outside' | 'apart' {
  if (typeof role === 'string' && (type === 'message' || type === undefined || type === null))
    return role === 'assistant' && Array.isArray(content) ? 'model' : 'outside'
  if (FROM_OUTSIDE.has(type)) return 'outside'
  return APART.has(type) ? 'apart' : 'model'
}

/** An item on its way out, with what decides whether the API takes it. */
export type Draft = {
  readonly item: JsonObject
  readonly messageIndex: number
  readonly place: string
  readonly link?: Link
  /** The item is reasoning with this id. */
  readonly reasoning?: string
  /** The item can stand without its id. */
  readonly idMayGo?: true
  /** The item is a call or an answer with this id. */
  readonly callId?: string
  /** The same as a call of a function, or as its answer. */
  readonly asFunction?: JsonObject
  /** What the answer shows has no place in an answer of its own kind. */
  readonly onlyAsFunction?: true
}

/** Tells what became of an item. */
type DraftNote = (draft: Draft, kind: 'changed' | 'not-sent', why: string) => void

/** The items as the API takes them: without reasoning that leads nowhere, and without ids that lack their reasoning. */
export function settledItems(drafts: readonly Draft[], note: DraftNote): JsonObject[] {
  const kept = withoutStrayReasoning(drafts, note)
  const shown = new Set<string>()
  const plain = new Set(kept.flatMap(({ onlyAsFunction, callId }) => (onlyAsFunction ? [callId] : [])))
  const lacking = new Set<Draft>()
  for (const draft of kept) {
    const { after } = draft.link ?? {}
    if (draft.reasoning !== undefined) shown.add(draft.reasoning)
    else if (after !== undefined && !shown.has(after)) {
      lacking.add(draft)
      if (!draft.idMayGo && draft.asFunction !== undefined) plain.add(draft.callId)
    }
  }
  return kept.flatMap((draft): JsonObject[] => {
    const { item, asFunction, callId } = draft
    if (asFunction !== undefined && plain.has(callId)) {
      note(draft, 'changed', 'it is sent as a call of a function, or as the answer to one')
      return [asFunction]
    }
    if (!lacking.has(draft)) return [item]
    if (draft.idMayGo) return [withoutId(item)]
    note(draft, 'not-sent', 'the API refuses it without the reasoning it came behind')
    return []
  })
}

function withoutStrayReasoning(drafts: readonly Draft[], note: DraftNote): Draft[] {
  const kept: Draft[] = []
  for (const draft of drafts.toReversed()) {
    const isStray = draft.link?.leads === true && kept.at(-1)?.link?.after !== draft.reasoning
    if (isStray) note(draft, 'not-sent', 'the API refuses reasoning without the item it led to')
    else kept.push(draft)
  }
  return kept.reverse()
}

/** A message without its id is no message of an answer, and those alone have a status. */
function withoutId({ id: _, ...item }: JsonObject): JsonObject {
  if (item.type !== 'message') return item
  const { status: __, ...message } = item
  return message
}

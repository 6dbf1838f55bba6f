import { defined, isObject, type Json, type JsonObject } from '../../core/messages/json.ts'
import type { Message, ReasoningPart } from '../../core/messages/message.ts'
import { fields, nullish, text } from '../shapes.ts'
import { isEmpty, listAt, objectAt, stringAt } from '../wire.ts'
import { keptAs, OUTPUTS, type Own, ownOf } from './responses-content.ts'

/** Separates pieces of reasoning, so that people can read them as one text. */
const PIECE_SEPARATOR = '\n\n'

const PIECE_TYPES = { summary: 'summary_text', content: 'reasoning_text' } as const

const reasoningShape = fields({ id: nullish(text), encrypted_content: nullish(text) })

/** A reasoning item: summary and content become one text; fields that only OpenAI reads are kept beside it. */
export function fromReasoning(item: JsonObject, link: Link, path: string): Message {
  const { type: _, summary, content, ...fields } = item
  reasoningShape(fields, path)
  const texts: string[] = []
  const own: { [field: string]: Json } = { item: fields, summary: layoutOf(summary, 'summary', path, texts) }
  if (content !== undefined) own.content = content === null ? null : layoutOf(content, 'content', path, texts)
  const text = texts.join(PIECE_SEPARATOR)
  return { role: 'assistant', content: [{ type: 'reasoning', text, ...keptAs({ ...own, ...link }) }] }
}

function layoutOf(
  list: Json | undefined,
  name: keyof typeof PIECE_TYPES,
  path: string,
  texts: string[],
): Json {
  return listAt(list, `${path}.${name}`).map((entry, i) => {
    const place = `${path}.${name}[${i}]`
    const { type, text, ...extra } = objectAt(entry, place)
    const own = stringAt(text, `${place}.text`)
    texts.push(own)
    const fields = type === PIECE_TYPES[name] ? extra : { ...extra, type: stringAt(type, `${place}.type`) }
    return { length: own.length, ...(isEmpty(fields) ? {} : { fields }) }
  })
}

/** Returns reasoning that was read from this format as an item, or `undefined` for other reasoning. */
export function toReasoning({ text, providerOptions }: ReasoningPart): UnplacedDraft | undefined {
  const own = ownOf(providerOptions)
  if (own === undefined) return undefined
  const { item: fields, after, leads } = own
  const item = { type: 'reasoning', ...listsOf(text, own), ...(isObject(fields) && fields) }
  const link = defined({ after: textOrNone(after), leads: leads === true ? leads : undefined })
  return defined({ item, link, reasoning: isObject(fields) ? textOrNone(fields.id) : undefined })
}

function listsOf(text: string, { summary, content }: Own): JsonObject {
  let from = 0
  const listOf = (layout: Json | undefined, type: string): JsonObject[] =>
    (Array.isArray(layout) ? (layout as readonly Json[]) : []).map((entry) => {
      const { length, fields } = isObject(entry) ? entry : {}
      const end = from + (typeof length === 'number' ? length : 0)
      const piece = { type, text: text.slice(from, end), ...(isObject(fields) ? fields : {}) }
      from = end + PIECE_SEPARATOR.length
      return piece
    })
  const lists = { summary: listOf(summary, PIECE_TYPES.summary) }
  if (content === undefined) return lists
  return { ...lists, content: content === null ? null : listOf(content, PIECE_TYPES.content) }
}

function textOrNone(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Option names under which the AI SDK keeps item ids of OpenAI. */
const SDK_NAMES = ['openai', 'azure'] as const

/**
 * The fields that the AI SDK keeps of an item. Source: `itemId` and `reasoningEncryptedContent` of `@ai-sdk/openai`, its Responses model.
 */
export function sdkItemOf(options: ReasoningPart['providerOptions']): { id?: string; encrypted?: string } {
  for (const name of SDK_NAMES) {
    const { itemId: id, reasoningEncryptedContent: encrypted } = options?.[name] ?? {}
    if (typeof id === 'string' || typeof encrypted === 'string')
      return defined({ id: textOrNone(id), encrypted: textOrNone(encrypted) })
  }
  return {}
}

/**
 * Reasoning of the AI SDK as an item. The SDK makes one part per piece of a summary, all with the id of their
 * item: a further piece is added to the item before it. `undefined` for reasoning that is not OpenAI's.
 */
export function toSdkReasoning(
  { text, providerOptions }: ReasoningPart,
  before: Draft | undefined,
): { draft: UnplacedDraft; isContinued: boolean } | undefined {
  const { id, encrypted } = sdkItemOf(providerOptions)
  if (id === undefined && encrypted === undefined) return undefined
  const isContinued = id !== undefined && before?.reasoning === id
  const earlier =
    isContinued && Array.isArray(before.item.summary) ? (before.item.summary as readonly Json[]) : []
  const item = {
    ...(isContinued ? before.item : { type: 'reasoning', ...defined({ id }) }),
    summary: text === '' ? earlier : [...earlier, { type: PIECE_TYPES.summary, text }],
    ...defined({ encrypted_content: encrypted }),
  }
  return { draft: defined({ item, reasoning: id }), isContinued }
}

/*
 * OpenAI keeps the items of a response together: it rejects an item id without the reasoning before it ("was provided without its required
 * 'reasoning' item"), and reasoning without the item after it ("without its required following item"). A view may hide either. So each item
 * keeps the id of the reasoning before it, and reasoning keeps whether an item followed.
 */

/** The link of an item to the reasoning before it, and of reasoning to the item after it. */
export type Link = { readonly after?: string; readonly leads?: true }

/** Items within a response that its model did not generate there. */
const APART = new Set<unknown>(['item_reference', 'compaction', undefined, null])

/** Items that an application writes. */
const FROM_OUTSIDE = new Set<unknown>([
  ...OUTPUTS,
  'mcp_approval_response',
  'compaction_trigger',
  'additional_tools',
])

/** The links of a list of items. Values that are not items have none. */
export function linksOf(items: readonly unknown[]): readonly Link[] {
  let reasoning: string | undefined
  const links = items.map((item): Link => {
    if (!isObject(item)) return {}
    const side = sideOf(item as JsonObject)
    if (side === 'outside') reasoning = undefined
    if (side !== 'model') return {}
    const link = defined({ after: reasoning })
    if (item.type === 'reasoning') reasoning = typeof item.id === 'string' ? item.id : undefined
    return link
  })
  return links.map((link, i) => {
    const item = items[i]
    const isLed = isObject(item) && item.type === 'reasoning' && typeof item.id === 'string'
    return isLed && links[i + 1]?.after === item.id ? { ...link, leads: true } : link
  })
}

export function isReasoningItem(item: unknown): boolean {
  return isObject(item) && item.type === 'reasoning'
}

/** Whether an item was written by the application, so that later items belong to another response. */
export function endsAnswer(item: unknown): boolean {
  return isObject(item) && sideOf(item as JsonObject) === 'outside'
}

function sideOf({ type, role, content }: JsonObject): 'model' | 'outside' | 'apart' {
  if (typeof role === 'string' && (type === 'message' || type === undefined || type === null))
    return role === 'assistant' && Array.isArray(content) ? 'model' : 'outside'
  if (FROM_OUTSIDE.has(type)) return 'outside'
  return APART.has(type) ? 'apart' : 'model'
}

/** An item to be sent, with what decides whether the API accepts it. */
export type Draft = {
  readonly item: JsonObject
  readonly messageIndex: number
  readonly place: string
  readonly link?: Link
  /** The item is reasoning with this id. */
  readonly reasoning?: string
  /** The item is valid without its id. */
  readonly isIdOptional?: true
  /** The item is a call or a result with this id. */
  readonly callId?: string
  /** The same as a function call, or as its result. */
  readonly asFunction?: JsonObject
  /** The output has no place in a result of its own kind. */
  readonly onlyAsFunction?: true
}

/** An item before its place in the messages is known. */
type UnplacedDraft = Omit<Draft, 'messageIndex' | 'place'>

/** Receives a note about an item that was changed or is not sent. */
type DraftNote = (draft: Draft, kind: 'changed' | 'not-sent', why: string) => void

/**
 * Returns the items as the API accepts them: without reasoning whose following item is missing, and without ids whose reasoning is missing.
 */
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
      if (!draft.isIdOptional && draft.asFunction !== undefined) plain.add(draft.callId)
    }
  }
  return kept.flatMap((draft): JsonObject[] => {
    const { item, asFunction, callId } = draft
    if (asFunction !== undefined && plain.has(callId)) {
      note(draft, 'changed', 'it is sent as a function call, or as its result')
      return [asFunction]
    }
    if (!lacking.has(draft)) return [item]
    if (draft.isIdOptional) return [withoutId(item)]
    note(draft, 'not-sent', 'the API rejects it without the reasoning before it')
    return []
  })
}

function withoutStrayReasoning(drafts: readonly Draft[], note: DraftNote): Draft[] {
  const kept: Draft[] = []
  for (const draft of drafts.toReversed()) {
    const isStray = draft.link?.leads === true && kept.at(-1)?.link?.after !== draft.reasoning
    if (isStray) note(draft, 'not-sent', 'the API rejects reasoning without the item after it')
    else kept.push(draft)
  }
  return kept.reverse()
}

/** A message without an id isn't part of a response, and only messages of a response have a status. */
function withoutId({ id: _, ...item }: JsonObject): JsonObject {
  if (item.type !== 'message') return item
  const { status: __, ...message } = item
  return message
}

import type { Json, JsonObject } from '../../messages/json.ts'
import type { Message, ReasoningPart } from '../../messages/message.ts'
import { isEmpty, isObject, listAt, objectAt, stringAt } from '../wire.ts'
import type { Draft, Link } from './reasoning-links.ts'
import { keptAs, type Own, ownOf } from './types.ts'

/** Between the pieces of reasoning, where people read them as one text. */
const GAP = '\n\n'

const LISTS = { summary: 'summary_text', content: 'reasoning_text' } as const

/** An item of reasoning: its summary and its content are one text; what only OpenAI reads stands beside it. */
export function fromReasoning(item: JsonObject, link: Link, path: string): Message {
  const { type: _, summary, content, ...fields } = item
  if (fields.id !== undefined && fields.id !== null) stringAt(fields.id, `${path}.id`)
  const encrypted = fields.encrypted_content
  if (encrypted !== undefined && encrypted !== null) stringAt(encrypted, `${path}.encrypted_content`)
  const texts: string[] = []
  const own: { [field: string]: Json } = {
    item: fields,
    summary: layoutOf(summary, 'summary', path, texts),
  }
  if (content !== undefined) own.content = content === null ? null : layoutOf(content, 'content', path, texts)
  const part: ReasoningPart = {
    type: 'reasoning',
    text: texts.join(GAP),
    ...keptAs({ ...own, ...link }),
  }
  return { role: 'assistant', content: [part] }
}

function layoutOf(list: Json | undefined, name: keyof typeof LISTS, path: string, texts: string[]): Json {
  return listAt(list, `${path}.${name}`).map((entry, i) => {
    const place = `${path}.${name}[${i}]`
    const { type, text, ...extra } = objectAt(entry, place)
    const own = stringAt(text, `${place}.text`)
    texts.push(own)
    const fields = type === LISTS[name] ? extra : { ...extra, type: stringAt(type, `${place}.type`) }
    return { length: own.length, ...(isEmpty(fields) ? {} : { fields }) }
  })
}

/** Reasoning that was read here, as an item; `undefined` for reasoning from elsewhere. */
export function toReasoning(
  { text, providerOptions }: ReasoningPart,
  messageIndex: number,
  place: string,
): Draft | undefined {
  const own = ownOf(providerOptions)
  if (own === undefined) return undefined
  const { item, after, leads } = own
  const fields = isObject(item) ? item : {}
  const sent = { type: 'reasoning', ...listsOf(text, own), ...fields }
  const link = { ...(typeof after === 'string' ? { after } : {}), ...(leads === true ? { leads } : {}) }
  const id = typeof fields.id === 'string' ? { reasoning: fields.id } : {}
  return { item: sent, messageIndex, place, link, ...id }
}

function listsOf(text: string, { summary, content }: Own): JsonObject {
  let from = 0
  const listOf = (layout: Json | undefined, type: string): JsonObject[] =>
    (Array.isArray(layout) ? (layout as readonly Json[]) : []).map((entry) => {
      const { length, fields } = isObject(entry) ? entry : {}
      const end = from + (typeof length === 'number' ? length : 0)
      const piece = { type, text: text.slice(from, end), ...(isObject(fields) ? fields : {}) }
      from = end + GAP.length
      return piece
    })
  const lists = { summary: listOf(summary, LISTS.summary) }
  if (content === undefined) return lists
  return { ...lists, content: content === null ? null : listOf(content, LISTS.content) }
}

/** Names under which the AI SDK keeps what OpenAI's provider wants to find again. */
const SDK_NAMES = ['openai', 'azure'] as const

/** What the AI SDK keeps of an item. Source: `itemId` and `reasoningEncryptedContent` of `@ai-sdk/openai`, its Responses model. */
export function sdkItemOf(options: ReasoningPart['providerOptions']): { id?: string; encrypted?: string } {
  for (const name of SDK_NAMES) {
    const { itemId: id, reasoningEncryptedContent: encrypted } = options?.[name] ?? {}
    if (typeof id !== 'string' && typeof encrypted !== 'string') continue
    return {
      ...(typeof id === 'string' ? { id } : {}),
      ...(typeof encrypted === 'string' ? { encrypted } : {}),
    }
  }
  return {}
}

/**
 * Reasoning of the AI SDK as an item. It makes a part of each piece of a summary, all with the id of their item: one
 * that goes on with the item before it is added there. `undefined` for reasoning that is not OpenAI's.
 */
export function toSdkReasoning(
  { text, providerOptions }: ReasoningPart,
  before: Draft | undefined,
  messageIndex: number,
  place: string,
): { draft: Draft; goesOn: boolean } | undefined {
  const { id, encrypted } = sdkItemOf(providerOptions)
  if (id === undefined && encrypted === undefined) return undefined
  const goesOn = id !== undefined && before?.reasoning === id && before.messageIndex === messageIndex
  const said = goesOn && Array.isArray(before.item.summary) ? (before.item.summary as readonly Json[]) : []
  const item = {
    ...(goesOn ? before.item : { type: 'reasoning', ...(id === undefined ? {} : { id }) }),
    summary: text === '' ? said : [...said, { type: LISTS.summary, text }],
    ...(encrypted === undefined ? {} : { encrypted_content: encrypted }),
  }
  return { draft: { item, messageIndex, place, ...(id === undefined ? {} : { reasoning: id }) }, goesOn }
}

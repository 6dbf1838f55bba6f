import type { JsonObject } from '../../messages/json.ts'
import type { Message, Part, Role, ToolResultContent } from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { isObject, keptFor } from '../wire.ts'
import type { Draft, Link } from './reasoning-links.ts'
import { keptPartOf, toContentPart } from './to-content.ts'
import { type Own, ownOf, type Speaker } from './types.ts'

/** What is known of a text besides its part: the id of its item, and the reasoning it came behind. */
type SdkItem = { readonly id?: string; readonly link: Link }

type Open = {
  readonly fields: JsonObject | undefined
  readonly link: Link
  readonly place: string
  readonly parts: JsonObject[]
  /** Its first part was not read from an item. */
  readonly isForeign: boolean
}

/** The message items of one neutral message: what it says between its calls, its answers and its reasoning. */
export class MessageItems {
  readonly #message: Message
  readonly #messageIndex: number
  readonly #path: string
  readonly #drafts: Draft[]
  readonly #conversion: Conversion
  #open: Open | undefined

  constructor(message: Message, messageIndex: number, path: string, drafts: Draft[], conversion: Conversion) {
    this.#message = message
    this.#messageIndex = messageIndex
    this.#path = path
    this.#drafts = drafts
    this.#conversion = conversion
  }

  /** Whether a part stands within a message item. */
  static takes(part: Part): part is ToolResultContent {
    if (part.type === 'provider') return keptPartOf(part.provider, part.data) !== undefined
    return part.type === 'text' || part.type === 'image' || part.type === 'file'
  }

  /** A message that is a text. */
  addText(content: string): void {
    const { item } = ownOf(this.#message.metadata) ?? {}
    this.#push({ role: this.#role(), content, ...(isObject(item) ? item : {}) }, {}, this.#path)
  }

  /** A message without parts: it is sent when it was read so. */
  addEmpty(): void {
    const own = ownOf(this.#message.metadata)
    if (own === undefined) {
      this.#conversion.note('not-sent', this.#path, 'a message without content says nothing')
    } else {
      const fields = isObject(own.item) ? own.item : {}
      this.#push({ role: this.#role(), content: [], ...fields }, linkOf(own), this.#path)
    }
  }

  /** A part of content. One that begins an item of its own says so. */
  add(part: ToolResultContent, place: string, sdk: SdkItem): void {
    const own = ownInside(part)
    const begins = isObject(own?.item) || sdk.id !== undefined
    if (begins || this.#open === undefined) {
      this.close()
      const sdkFields =
        sdk.id === undefined ? undefined : { type: 'message', id: sdk.id, status: 'completed' }
      const link = isObject(own?.item) ? linkOf(own) : sdk.link
      this.#open = {
        fields: isObject(own?.item) ? own.item : sdkFields,
        link,
        place,
        parts: [],
        isForeign: own === undefined,
      }
    }
    const sent = toContentPart(part, this.#speaker(), place, this.#conversion)
    if (sent !== undefined) this.#open.parts.push(sent)
  }

  /** Ends the item that is open. */
  close(): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined || (open.parts.length === 0 && open.fields === undefined)) return
    const { fields, parts, link, place, isForeign } = open
    const [first] = parts
    // A single text of an assistant from elsewhere is a text, as the API takes one that has no id.
    const isText = isForeign && fields === undefined && parts.length === 1 && first?.type === 'output_text'
    const content = isText && typeof first.text === 'string' ? first.text : parts
    this.#push({ role: this.#role(), content, ...fields }, link, place)
  }

  #push(item: JsonObject, link: Link, place: string): void {
    this.#drafts.push({ item, messageIndex: this.#messageIndex, place, link, idMayGo: true })
  }

  #speaker(): Speaker {
    const { role } = this.#message
    return role === 'tool' ? 'user' : role
  }

  /** A system message of Chat Completions may have been the developer's. */
  #role(): string {
    const { role, metadata } = this.#message
    if (role === 'system' && keptFor('openai', metadata)?.role === 'developer') return 'developer'
    const shown: Role = role === 'tool' ? 'user' : role
    return shown
  }
}

function linkOf({ after }: Own): Link {
  return typeof after === 'string' ? { after } : {}
}

/** What is kept with a part; a part that is kept whole has it in its data. */
function ownInside(part: ToolResultContent): Own | undefined {
  if (part.type !== 'provider') return ownOf(part.providerOptions)
  return isObject(part.data) ? part.data : undefined
}

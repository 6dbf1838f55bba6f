import { withoutCacheMarks, withoutMarks } from '../messages/cache-marks.ts'
import { headOf, tailOf } from '../messages/characters.ts'
import { isObject, type JsonObject, objectInput, stringifyJson } from '../messages/json.ts'
import type {
  FilePart,
  ImagePart,
  Part,
  ProviderOptions,
  ToolCallPart,
  ToolResultContent,
  ToolResultPart,
  ViewMessage,
} from '../messages/message.ts'
import { wellFormed } from '../messages/well-formed.ts'
import { FEW_IMAGES, type MediaItemLimits, mediaItemLimitsOf } from '../tokens/media-limits.ts'
import { type MediaRules, type ProviderProfile, RESPONSES_MEDIA, readsPartsOf } from '../tokens/providers.ts'
import { AssignedIds, hasBrokenSignature } from './assigned-ids.ts'
import { type Draft, draftOf, type MendKind, type Note } from './draft.ts'
import {
  isImage,
  type ResizeImage,
  smallerMedia,
  type TooLarge,
  tooLarge,
  trueType,
  unreadableText,
} from './media.ts'

/*
 * Repairs faults within a part, whatever surrounds it: half an emoji, an input that isn't an object, a cache mark of an earlier request,
 * a file that the provider cannot read, an id that another part already has. All in one pass over the parts.
 */

/** The provider, its rules, and the messages that may have cache marks. */
export type PartRules = {
  readonly provider: string
  readonly profile: ProviderProfile
  readonly alsoReads?: readonly string[]
  readonly markable: ReadonlySet<string>
  readonly resizeImage?: ResizeImage | undefined
}

/** Returns the drafts with parts that the provider accepts; a draft without a fault is returned unchanged. */
export function mendParts(drafts: readonly Draft[], rules: PartRules, note: Note): readonly Draft[] {
  const mender = new PartMender(drafts, rules, note)
  let made: Draft[] | undefined
  for (const [index, draft] of drafts.entries()) {
    const mended = mender.draft(draft)
    if (mended !== draft) made ??= drafts.slice(0, index)
    if (mended !== undefined) made?.push(mended)
  }
  return made ?? drafts
}

/**
 * Returns the ids of the rows whose cache marks belong to the current request: leading system messages, which every request repeats, and
 * messages after the last answer that are not stored yet.
 */
export function markableRows(view: readonly ViewMessage[]): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const { id, role, kind } of view) {
    if (role !== 'system' || kind !== 'message') break
    ids.add(id)
  }
  for (let i = view.length - 1; i >= 0; i--) {
    const { id, role, position } = view[i]!
    if (role === 'assistant' || position !== undefined) break
    ids.add(id)
  }
  return ids
}

/** The names under which formats store message fields that they send. */
const SENT_METADATA = ['ai-sdk', 'openai', 'openai-responses', 'google'] as const

class PartMender {
  readonly #rules: PartRules
  readonly #note: Note
  readonly #assignedIds = new AssignedIds()
  readonly #readsOpenAI: boolean
  readonly #readsClaude: boolean
  readonly #mediaRules: MediaRules
  readonly #itemLimits: MediaItemLimits
  readonly #drafts: readonly Draft[]
  /** Whether the request has so many images that the provider only accepts smaller ones; computed when first needed. */
  #hasMany: boolean | undefined
  #messageId = ''
  #keepsMarks = false

  constructor(drafts: readonly Draft[], rules: PartRules, note: Note) {
    this.#rules = rules
    this.#note = note
    const { provider, profile, alsoReads = [] } = rules
    this.#readsOpenAI = readsPartsOf(provider, 'openai')
    this.#readsClaude = readsPartsOf(provider, 'anthropic')
    const isResponses = this.#readsOpenAI && alsoReads.includes('openai-responses')
    this.#mediaRules = isResponses ? RESPONSES_MEDIA : profile.media
    this.#itemLimits = mediaItemLimitsOf(provider)
    this.#drafts = drafts
  }

  /** Returns `undefined` if nothing is left of the draft. */
  draft(draft: Draft): Draft | undefined {
    const { id, message, parts } = draft
    this.#messageId = id
    this.#keepsMarks = this.#rules.markable.has(id)
    let made: Part[] | undefined
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!
      const mended = this.#part(part)
      if (mended !== part) made ??= parts.slice(0, i)
      if (mended !== undefined) made?.push(mended)
    }
    this.#assignedIds.endMessage()
    const metadata = message.metadata && this.#metadata(message.metadata)
    if (made === undefined && metadata === message.metadata) return draft
    if (made?.length === 0) return undefined
    const [only] = made ?? []
    const content =
      made === undefined
        ? message.content
        : typeof message.content === 'string' && only?.type === 'text'
          ? only.text
          : made
    const mended = { role: message.role, content, ...(metadata !== undefined && { metadata }) }
    return draftOf(id, mended, draft.rows)
  }

  /** Fields that the formats store here are sent; the application's own are not. */
  #metadata(metadata: JsonObject): JsonObject {
    let sent = metadata
    for (const name of SENT_METADATA) {
      const fields = metadata[name]
      if (!isObject(fields)) continue
      // The AI SDK's options of a message are sent; the other fields describe how a chat displays it.
      const given = name === 'ai-sdk' ? fields.options : fields
      const changed = isObject(given) ? this.#options(given as ProviderOptions) : given
      if (changed !== given)
        sent = { ...sent, [name]: name === 'ai-sdk' ? { ...fields, options: changed } : changed }
    }
    return sent
  }

  #did(kind: MendKind, toolCallId?: string): void {
    this.#note({ kind, messageId: this.#messageId, ...(toolCallId !== undefined && { toolCallId }) })
  }

  /** Returns the part as it is sent; `undefined` if it isn't sent. */
  #part(part: Part): Part | undefined {
    const once = this.#assignedIds.once(part)
    if (once !== part) this.#did('repetition-dropped')
    if (once === undefined) return undefined
    if (this.#readsClaude && hasBrokenSignature(once)) {
      this.#did('reasoning-dropped')
      return undefined
    }
    switch (once.type) {
      case 'text':
      case 'reasoning': {
        const text = this.#wellFormed(once.text)
        return this.#withOptions(text === once.text ? once : { ...once, text })
      }
      case 'image':
      case 'file':
        return this.#media(once)
      case 'tool-call':
        return this.#withOptions(this.#call(once))
      case 'tool-result':
        return this.#withOptions(this.#result(once))
      case 'provider': {
        const { data } = once
        const marked = this.#keepsMarks ? data : withoutMarks(data)
        if (marked !== data) this.#did('mark-dropped')
        const sent = this.#wellFormed(marked)
        return sent === data ? once : { ...once, data: sent }
      }
    }
  }

  #wellFormed<T>(value: T, toolCallId?: string): T {
    const sent = wellFormed(value)
    if (sent !== value) this.#did('characters-replaced', toolCallId)
    return sent
  }

  #withOptions<P extends Part>(part: P): P {
    if (part.type === 'provider' || part.providerOptions === undefined) return part
    const sent = this.#options(part.providerOptions)
    if (sent === part.providerOptions) return part
    const { providerOptions: _, ...rest } = part
    return (sent === undefined ? rest : { ...rest, providerOptions: sent }) as P
  }

  #options(options: ProviderOptions): ProviderOptions | undefined {
    const sent = this.#keepsMarks ? options : withoutCacheMarks(options)
    if (sent !== options) this.#did('mark-dropped')
    return this.#wellFormed(sent)
  }

  #media(part: ImagePart | FilePart): Part {
    const type = trueType(part)
    if (type !== undefined) {
      this.#did('media-type-changed')
      return this.#media({ ...part, mediaType: type })
    }
    const text = unreadableText(part, this.#mediaRules)
    if (text !== undefined) {
      this.#did('media-as-text')
      return text
    }
    const large = this.#tooLarge(part)
    if (large !== undefined) {
      const smaller = smallerMedia(part, large, this.#rules.resizeImage, (resized) =>
        this.#isAccepted(resized),
      )
      this.#did(smaller.type === 'text' ? 'media-as-text' : 'image-resized')
      return smaller.type === 'text' ? smaller : this.#withOptions(smaller)
    }
    const name = part.type === 'file' ? part.filename : undefined
    const data = part.type === 'image' ? part.image : part.data
    const isWhole = (name?.isWellFormed() ?? true) && (typeof data !== 'string' || data.isWellFormed())
    return this.#withOptions(isWhole ? part : this.#wellFormed(part))
  }

  #tooLarge(part: ImagePart | FilePart): TooLarge | undefined {
    const large = tooLarge(part, this.#itemLimits, true)
    if (large === undefined || this.#itemLimits.sideOfMany === undefined) return large
    this.#hasMany ??= hasMoreImages(this.#drafts, FEW_IMAGES, this.#mediaRules)
    return this.#hasMany ? large : tooLarge(part, this.#itemLimits, false)
  }

  #isAccepted(part: ImagePart | FilePart): boolean {
    return (
      trueType(part) === undefined &&
      unreadableText(part, this.#mediaRules) === undefined &&
      this.#tooLarge(part) === undefined
    )
  }

  #call(call: ToolCallPart): ToolCallPart {
    const { toolCallId, toolName } = call
    const name = this.#toolName(toolName, toolCallId)
    const id = this.#wellFormed(toolCallId)
    let { input, providerOptions } = call
    const { profile } = this.#rules
    const limit = profile.maxArguments ?? Number.POSITIVE_INFINITY
    if (!isObject(input) && !this.#isText(call)) {
      this.#did('input-as-object', toolCallId)
      input = objectInput(input)
    }
    input = this.#wellFormed(input, toolCallId)
    if (isObject(input) && isLonger(input, limit)) {
      this.#did('input-shortened', toolCallId)
      input = shortened(input, limit)
    }
    if (providerOptions !== undefined && holdsUnsendable(providerOptions, limit)) {
      if (input === call.input) this.#did('input-as-object', toolCallId)
      providerOptions = withoutArguments(providerOptions)
    }
    const isSame =
      input === call.input &&
      name === toolName &&
      id === toolCallId &&
      providerOptions === call.providerOptions
    if (isSame) return call
    const { providerOptions: _, ...rest } = call
    return { ...rest, toolCallId: id, toolName: name, input, ...(providerOptions && { providerOptions }) }
  }

  /** Returns whether the input is a text, or an OpenAI tool's input in the form that OpenAI reads. */
  #isText({ providerOptions: kept }: ToolCallPart): boolean {
    if (!this.#readsOpenAI) return false
    return kept?.openai?.type === 'custom' || typeof kept?.['openai-responses']?.type === 'string'
  }

  #toolName(name: string, toolCallId: string): string {
    const form = this.#rules.profile.toolNames
    if (form.test(name)) return name
    this.#did('tool-renamed', toolCallId)
    const fitted = name.toWellFormed().replace(/[^a-zA-Z0-9_-]/g, '_')
    // The name is too long, empty, or has a digit where a letter is required.
    return form.test(fitted) ? fitted : `tool_${fitted}`.slice(0, 64)
  }

  #result(result: ToolResultPart): ToolResultPart {
    const { toolCallId, toolName, output } = result
    const name = toolName === undefined ? undefined : this.#toolName(toolName, toolCallId)
    const id = toolCallId.isWellFormed() ? toolCallId : this.#wellFormed(toolCallId)
    const sent = this.#output(output, toolCallId)
    if (name === toolName && id === toolCallId && sent === output) return result
    return { ...result, toolCallId: id, ...(name !== undefined && { toolName: name }), output: sent }
  }

  #output(output: ToolResultPart['output'], toolCallId: string): ToolResultPart['output'] {
    if (output.type !== 'content') {
      const value = this.#wellFormed(output.value, toolCallId)
      return value === output.value ? output : ({ ...output, value } as ToolResultPart['output'])
    }
    const value = output.value.map((item) => (this.#part(item) ?? item) as ToolResultContent)
    return value.every((item, index) => item === output.value[index]) ? output : { ...output, value }
  }
}

function hasMoreImages(drafts: readonly Draft[], count: number, rules: MediaRules): boolean {
  let found = 0
  const isSent = (part: Part): boolean =>
    (part.type === 'image' || part.type === 'file') &&
    isImage(part) &&
    unreadableText(part, rules) === undefined
  for (const { parts } of drafts) {
    for (const part of parts) {
      if (isSent(part)) found += 1
      else if (part.type === 'tool-result' && part.output.type === 'content')
        found += part.output.value.filter(isSent).length
    }
    if (found > count) return true
  }
  return false
}

function isLonger(value: JsonObject, limit: number): boolean {
  // A character takes at most six in JSON, so for most inputs counting is enough.
  return roughLength(value, limit / 6) > limit / 6 && stringifyJson(value).length > limit
}

/** Returns a lower bound of the characters of a value; counting stops beyond the limit. */
function roughLength(value: unknown, limit: number): number {
  if (limit === Number.POSITIVE_INFINITY) return 0
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 24
  let length = 2
  for (const key in value) {
    length +=
      key.length + 4 + roughLength((value as { readonly [name: string]: unknown })[key], limit - length)
    if (length > limit) break
  }
  return length
}

/** The number of characters shown of a long text in a shortened input, from both ends. */
const SHOWN_LENGTH = 10_000

/** Returns an input with its long texts cut; if it is still longer than the limit, a single cut text. */
function shortened(input: JsonObject, limit: number): JsonObject {
  const cut = cutTexts(input) as JsonObject
  return isLonger(cut, limit) ? { arguments: cutText(stringifyJson(input)) } : cut
}

function cutTexts(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(cutTexts)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cutTexts(inner)]))
}

function cutText(text: string): string {
  if (text.length <= 3 * SHOWN_LENGTH) return text
  const [head, tail] = [headOf(text, SHOWN_LENGTH), tailOf(text, SHOWN_LENGTH)]
  return `${head}\n[… ${text.length - head.length - tail.length} characters are not shown …]\n${tail}`
}

/*
 * OpenAI formats store the text of the arguments that they read, in order to write the same text again. It is sent only if it still has
 * the meaning of the input. A blank text has (a call without arguments), but no server that parses it accepts it.
 */

function holdsUnsendable(options: ProviderOptions, limit: number): boolean {
  for (const name in options) {
    const { arguments: own, function: called } = options[name]!
    const raw = typeof own === 'string' ? own : isObject(called) ? called.arguments : undefined
    if (typeof raw === 'string' && (raw.length > limit || raw.trim() === '')) return true
  }
  return false
}

function withoutArguments(options: ProviderOptions): ProviderOptions {
  const entries = Object.entries(options).map(([name, { arguments: own, ...fields }]) => {
    const { function: called } = fields
    const rest = isObject(called) ? { ...fields, function: without(called, 'arguments') } : fields
    return [name, typeof own === 'string' || own === undefined ? rest : { ...rest, arguments: own }] as const
  })
  return Object.fromEntries(entries)
}

function without(fields: JsonObject, name: string): JsonObject {
  const { [name]: _, ...rest } = fields
  return rest
}

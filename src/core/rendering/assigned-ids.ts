import { filledText, isObject, type Json, type JsonObject } from '../messages/json.ts'
import { isReasoning, type Part, type ProviderOptions, type ToolCallPart } from '../messages/message.ts'
import { canonicalProvider } from '../tokens/providers.ts'
import { DUMMY_SIGNATURE } from '../tokens/reasoning-bindings.ts'

/*
 * Ids that a provider assigned: of OpenAI's items, and signatures of Claude's and Gemini's reasoning. A row that was stored twice, by a
 * retry or an import, repeats them, and providers refuse a repetition ("Duplicate item found with id rs_…").
 */

/** The number of final characters that are compared, which is enough: signatures have thousands of characters. */
const COMPARED_LENGTH = 80

/** The names under which the AI SDK stores fields of OpenAI's items (`itemId`). */
const SDK_NAMES = ['openai', 'azure'] as const
/** The name under which the format of the Responses API stores an item's fields (`item.id`). */
const RESPONSES = 'openai-responses'

/** The field with Gemini's signatures of reasoning, texts and calls. */
const THOUGHT_SIGNATURE = 'thoughtSignature'

/** The ids in a history so far. */
export class AssignedIds {
  readonly #seen = new Set<string>()
  /** The ids in the current message: the parts of one item share its id. */
  readonly #here = new Set<string>()

  /** Returns a part without an id that an earlier message has; `undefined` for reasoning and items, which cannot be sent without it. */
  once(part: Part): Part | undefined {
    const number = assignedIdOf(part)
    if (number === undefined) return part
    const { text, isShared } = number
    const key = text.length > COMPARED_LENGTH ? `${text.length} ${text.slice(-COMPARED_LENGTH)}` : text
    if (!this.#seen.has(key)) {
      if (isShared) this.#here.add(key)
      else this.#seen.add(key)
      return part
    }
    if (
      part.type === 'tool-call' &&
      part.providerOptions !== undefined &&
      isThought(part.providerOptions, text)
    )
      return withDummy(part, part.providerOptions)
    return part.type === 'text' || part.type === 'tool-call' ? withoutAssignedId(part) : undefined
  }

  endMessage(): void {
    if (this.#here.size === 0) return
    for (const key of this.#here) this.#seen.add(key)
    this.#here.clear()
  }
}

/** An assigned id. `isShared`: other parts of the same message may have it, such as the pieces of an item that the AI SDK splits. */
type AssignedId = { readonly text: string; readonly isShared: boolean }

function assignedIdOf(part: Part): AssignedId | undefined {
  if (part.type === 'provider') return unshared(itemIdOf(part.provider, part.data, isReasoning(part)))
  if (part.type === 'image' || part.type === 'file' || part.type === 'tool-result') return undefined
  const { providerOptions } = part
  if (providerOptions === undefined) return undefined
  for (const name of SDK_NAMES) {
    const id = filledText(providerOptions[name]?.itemId)
    if (id !== undefined) return { text: id, isShared: true }
  }
  const item = providerOptions[RESPONSES]?.item
  if (isObject(item) && typeof item.id === 'string') return unshared(item.id)
  const thought = fieldIn(providerOptions, THOUGHT_SIGNATURE)
  if (part.type === 'reasoning') return unshared(signatureOf(providerOptions) ?? thought)
  return thought === undefined || thought === DUMMY_SIGNATURE ? undefined : { text: thought, isShared: true }
}

function unshared(text: string | undefined): AssignedId | undefined {
  return text === undefined ? undefined : { text, isShared: false }
}

function itemIdOf(provider: string, data: Json, isThinking: boolean): string | undefined {
  if (!isObject(data)) return undefined
  if (isThinking) return filledText(data.signature) ?? filledText(data.data)
  if (canonicalProvider(provider) === 'google-ai') return filledText(data[THOUGHT_SIGNATURE])
  if (provider !== 'openai' && provider !== 'azure') return undefined
  return filledText(isObject(data.item) ? data.item.id : data.id)
}

/** Returns the signature of Claude's reasoning, or the data of its redacted reasoning. */
export function signatureOf(options: ProviderOptions): string | undefined {
  return fieldIn(options, 'signature') ?? fieldIn(options, 'redactedData')
}

/** Signatures are base64. */
const SIGNATURE = /^[A-Za-z0-9+/_=-]+$/

/**
 * Returns whether reasoning has a signature damaged by a stop or by storage: an empty one, or one with other characters. Claude refuses
 * it.
 */
export function hasBrokenSignature(part: Part): boolean {
  if (part.type === 'provider')
    return isReasoning(part) && isObject(part.data) && isBroken(part.data.signature)
  if (part.type !== 'reasoning') return false
  for (const name in part.providerOptions) if (isBroken(part.providerOptions[name]!.signature)) return true
  return false
}

function isBroken(signature: Json | undefined): boolean {
  return typeof signature === 'string' && !SIGNATURE.test(signature)
}

function fieldIn(options: ProviderOptions, field: string): string | undefined {
  for (const name in options) {
    const found = filledText(options[name]![field])
    if (found !== undefined) return found
  }
  return undefined
}

function isThought(options: ProviderOptions, number: string): boolean {
  return fieldIn(options, THOUGHT_SIGNATURE) === number
}

/** Returns a call with the text that Gemini accepts in place of a signature; it refuses some calls that have none. */
function withDummy(call: ToolCallPart, options: ProviderOptions): ToolCallPart {
  const entries = Object.entries(options).map(
    ([name, fields]) =>
      [
        name,
        THOUGHT_SIGNATURE in fields ? { ...fields, [THOUGHT_SIGNATURE]: DUMMY_SIGNATURE } : fields,
      ] as const,
  )
  return { ...call, providerOptions: Object.fromEntries(entries) }
}

function withoutAssignedId<P extends Part & { readonly providerOptions?: ProviderOptions }>(part: P): P {
  const entries = Object.entries(part.providerOptions ?? {}).map(([name, fields]) => {
    if (name === RESPONSES) return [name, withoutItemId(fields)] as const
    const { itemId, [THOUGHT_SIGNATURE]: _, ...others } = fields
    const isItem = itemId !== undefined && !SDK_NAMES.some((sdk) => sdk === name)
    return [name, isItem ? { ...others, itemId } : others] as const
  })
  return { ...part, providerOptions: Object.fromEntries(entries) }
}

/** Returns the fields of an item without its id. Only items of a response have a status. */
function withoutItemId({ item, ...others }: JsonObject): JsonObject {
  if (!isObject(item)) return others
  const { id: _, status: __, ...rest } = item
  return { ...others, item: rest }
}

import { compactionBlock } from '../../messages/compaction-block.ts'
import { isObject, type Json, type JsonObject } from '../../messages/json.ts'
import type { Part, ProviderPart, ToolCallPart } from '../../messages/message.ts'
import { jsonOf, keptOptions, ownOf, sentOptions } from './fields.ts'
import { fileFrom, fileTo, opaquePart, sdkPartIn } from './media.ts'
import { outputFrom, outputTo } from './tool-output.ts'
import type { SdkPart, SdkVersion } from './types.ts'

const ANTHROPIC = 'anthropic'

/**
 * A part of a prompt, or of an answer (there options are called metadata), in the neutral form. `provider` is the name
 * under which what only a provider knows is kept.
 */
export function partFrom(part: SdkPart, provider: string): Part {
  const given = part.providerOptions ?? part.providerMetadata
  switch (part.type) {
    case 'text':
      return (
        blockFrom(part, given) ?? {
          type: 'text',
          text: textOf(part.text),
          ...keptOptions(given, textOwn(part, given)),
        }
      )
    case 'reasoning':
      return (
        redactedFrom(part, given) ?? { type: 'reasoning', text: textOf(part.text), ...keptOptions(given) }
      )
    case 'file':
      return fileFrom(part, provider)
    case 'image':
      // In an application's own messages; a model gets pictures as files.
      return fileFrom({ mediaType: 'image/*', ...part, type: 'file', data: part.image }, provider)
    case 'tool-call':
      return {
        type: 'tool-call',
        toolCallId: textOf(part.toolCallId),
        toolName: textOf(part.toolName),
        input: part.input === undefined ? {} : jsonOf(part.input),
        ...(part.providerExecuted === true && { providerExecuted: true }),
        ...keptOptions(given, part.malformed === true ? { malformed: true } : {}),
      }
    case 'tool-result': {
      const { output, own } = outputFrom(part.output, provider)
      return {
        type: 'tool-result',
        toolCallId: textOf(part.toolCallId),
        ...(typeof part.toolName === 'string' && { toolName: part.toolName }),
        output,
        ...keptOptions(given, own),
      }
    }
    default:
      return opaquePart(part, provider)
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : String(value ?? '')
}

/** The text Anthropic's provider makes of a compaction block. */
function blockFrom(part: SdkPart, given: unknown): ProviderPart | undefined {
  if (fieldsOf(given, ANTHROPIC)?.type !== 'compaction') return undefined
  return { type: 'provider', provider: ANTHROPIC, data: { type: 'compaction', content: textOf(part.text) } }
}

/** The reasoning Anthropic's provider makes of a redacted block: it has no text, and its data must come back. */
function redactedFrom(part: SdkPart, given: unknown): ProviderPart | undefined {
  const data = fieldsOf(given, ANTHROPIC)?.redactedData
  if (typeof data !== 'string' || textOf(part.text) !== '') return undefined
  return { type: 'provider', provider: ANTHROPIC, data: { type: 'redacted_thinking', data } }
}

/** A text that its provider holds under an id is sent as that id: its length tells whether it is still the same. */
function textOwn(part: SdkPart, given: unknown): JsonObject {
  return itemIdIn(given) === undefined ? {} : { length: textOf(part.text).length }
}

function fieldsOf(options: unknown, name: string): { readonly [field: string]: unknown } | undefined {
  const fields = isObject(options) ? options[name] : undefined
  return isObject(fields) ? fields : undefined
}

/** Providers that hold items of an answer themselves, and take their ids in place of them. */
const HOLDERS = ['openai', 'azure'] as const

/** The id under which OpenAI holds an item. Source: `itemId` of `@ai-sdk/openai`, its Responses model. */
function itemIdIn(options: unknown): string | undefined {
  for (const name of HOLDERS) {
    const id = fieldsOf(options, name)?.itemId
    if (typeof id === 'string') return id
  }
  return undefined
}

/**
 * Notes on items that came with reasoning: OpenAI refuses the id of such an item without that of its reasoning, so where
 * the reasoning is not shown any more, the item must go out by its content.
 */
export function markReasoned(parts: readonly Part[]): readonly Part[] {
  if (!hasReasoningItem(parts)) return parts
  return parts.map((part) => {
    if ((part.type !== 'text' && part.type !== 'tool-call') || itemIdIn(part.providerOptions) === undefined)
      return part
    return { ...part, ...keptOptions(part.providerOptions, { ...ownOf(part), reasoned: true }) }
  })
}

/** A message that is one text needs no list. */
export function contentOf(parts: readonly Part[]): string | readonly Part[] {
  const [first] = parts
  const isPlain = parts.length === 1 && first?.type === 'text' && first.providerOptions === undefined
  return isPlain ? first.text : parts
}

/** Parts of one message as the AI SDK sends them; what another provider alone knows is left out. */
export function partsTo(parts: readonly Part[], target: Target): SdkPart[] {
  const hasReasoning = hasReasoningItem(parts)
  return parts.flatMap((part) => partTo(part, target, hasReasoning))
}

/** Whether reasoning that OpenAI holds under an id is among some parts. */
export function hasReasoningItem(parts: readonly Part[]): boolean {
  return parts.some((part) => part.type === 'reasoning' && itemIdIn(part.providerOptions) !== undefined)
}

/** One part as the AI SDK sends it; nothing for what another provider alone knows. */
export function partTo(part: Part, target: Target, hasReasoning: boolean): readonly SdkPart[] {
  const { version, provider, nameOf } = target
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text, ...itemOptions(part, hasReasoning) }]
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...sentOptions(part.providerOptions) }]
    case 'image':
    case 'file':
      return [fileTo(part, version)]
    case 'tool-call':
      return [
        {
          type: 'tool-call',
          toolCallId: part.toolCallId,
          toolName: part.toolName,
          input: sentInput(part),
          ...(part.providerExecuted === true && { providerExecuted: true }),
          ...itemOptions(part, hasReasoning),
        },
      ]
    case 'tool-result':
      return [
        {
          type: 'tool-result',
          toolCallId: part.toolCallId,
          toolName: part.toolName ?? nameOf(part.toolCallId),
          output: outputTo(part.output, ownOf(part), version, provider),
          ...sentOptions(part.providerOptions),
        },
      ]
    case 'provider':
      return providerPartTo(part, provider)
  }
}

/** For whom parts are made. */
export type Target = {
  readonly version: SdkVersion
  /** Our name of the provider. */
  readonly provider: string
  /** The name of the tool a call with this id asked for. */
  readonly nameOf: (toolCallId: string) => string
}

/** A model's slip that is no JSON goes back as no arguments, as the AI SDK sends it. */
function sentInput(part: ToolCallPart): Json {
  return ownOf(part).malformed === true ? {} : part.input
}

function itemOptions(part: Part & { readonly type: 'text' | 'tool-call' }, hasReasoning: boolean): object {
  const own = ownOf(part)
  const isAnother = part.type === 'text' && typeof own.length === 'number' && own.length !== part.text.length
  const isAlone = own.reasoned === true && !hasReasoning
  const sent = sentOptions(part.providerOptions)
  if ((!isAnother && !isAlone) || sent.providerOptions === undefined) return sent
  const rest = Object.entries(sent.providerOptions).map(([name, fields]) => {
    const { itemId: _, ...others } = fields
    return [name, others] as const
  })
  return { providerOptions: Object.fromEntries(rest) }
}

function providerPartTo(part: ProviderPart, provider: string): readonly SdkPart[] {
  if (part.provider !== provider) return []
  const own = sdkPartIn(part)
  if (own !== undefined) return [own]
  const block = compactionBlock(part)
  if (provider === ANTHROPIC && block?.text !== undefined)
    return [{ type: 'text', text: block.text, providerOptions: { anthropic: { type: 'compaction' } } }]
  const { data } = part
  if (
    provider === ANTHROPIC &&
    isObject(data) &&
    data.type === 'redacted_thinking' &&
    typeof data.data === 'string'
  )
    return [{ type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: data.data } } }]
  return []
}

import type { Json, JsonObject } from '../../messages/json.ts'
import type { ProviderPart, ReasoningPart, TextPart, ToolResultContent } from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { isEmpty, isObject, keptFor, keptUnder, stringAt } from '../wire.ts'
import { blockAt, jsonBlock } from './envelope.ts'
import { readMedia } from './media.ts'
import { LANGCHAIN, type LangChainBlock } from './types.ts'

const ANTHROPIC = 'anthropic'

/** A block the neutral form has no part for, kept as it is. */
function opaque(data: JsonObject): ProviderPart {
  return { type: 'provider', provider: LANGCHAIN, data }
}

/** What is no block of content and has no place in the neutral form. A pair, so that no block can look like it. */
export function noBlock(what: 'invalid_tool_call' | 'remove', value: JsonObject): ProviderPart {
  return { type: 'provider', provider: LANGCHAIN, data: [what, value] }
}

/** The same again; `undefined` for any other part. */
export function noBlockOf({ provider, data }: ProviderPart, what: string): JsonObject | undefined {
  if (provider !== LANGCHAIN || !Array.isArray(data) || data[0] !== what) return undefined
  const value = data[1] as Json
  return isObject(value) ? value : undefined
}

/**
 * What a block of a message is in the neutral form; calls are read elsewhere. `model` is the provider that wrote
 * it, where that is known.
 */
export function readBlock(
  conversion: Conversion,
  value: unknown,
  path: string,
  model: Json | undefined,
): ReasoningPart | ToolResultContent {
  if (!isObject(value) || (value.type !== 'reasoning' && value.type !== 'thinking'))
    return readSimpleBlock(conversion, value, path)
  const block = jsonBlock(blockAt(value, path), path)
  return readReasoning(block, path, model) ?? readOther(conversion, block, path)
}

/** The blocks that may also stand within the answer of a tool. */
export function readSimpleBlock(conversion: Conversion, value: unknown, path: string): ToolResultContent {
  const block = blockAt(value, path)
  if (block.type !== undefined) stringAt(block.type, `${path}.type`)
  if (block.type === 'text' || block.type === 'refusal') return readText(jsonBlock(block, path), path)
  return readMedia(block, path) ?? readOther(conversion, jsonBlock(block, path), path)
}

function readOther(conversion: Conversion, block: JsonObject, path: string): ProviderPart {
  conversion.note('kept', path, 'the neutral form has no part for this block')
  return opaque(block)
}

function readText({ type, text, refusal, ...extra }: JsonObject, path: string): TextPart {
  if (type === 'refusal') {
    const options = { ...extra, type, ...(text === undefined ? {} : { text }) }
    return {
      type: 'text',
      text: stringAt(refusal, `${path}.refusal`),
      providerOptions: { [LANGCHAIN]: options },
    }
  }
  const options = refusal === undefined ? extra : { ...extra, refusal }
  return {
    type: 'text',
    text: stringAt(text, `${path}.text`),
    ...keptUnder(LANGCHAIN, options),
  }
}

/**
 * Reasoning in words. A block that has none (summaries of OpenAI's, what is encrypted) stays a block. Anthropic's signature is
 * kept under Anthropic's name too, so that it goes back there in every form.
 */
function readReasoning(block: JsonObject, path: string, model: Json | undefined): ReasoningPart | undefined {
  const { type, ...fields } = block
  const field = type === 'thinking' ? 'thinking' : 'reasoning'
  const { [field]: text, ...extra } = fields
  if (text === undefined && type === 'reasoning') return undefined
  const words = stringAt(text, `${path}.${field}`)
  const options = type === 'thinking' ? { ...extra, type } : extra
  const { signature } = extra
  const signed = typeof signature === 'string' && (type === 'thinking' || model === ANTHROPIC)
  return {
    type: 'reasoning',
    text: words,
    ...(isEmpty(options) && !signed
      ? {}
      : {
          providerOptions: {
            ...(isEmpty(options) ? {} : { [LANGCHAIN]: options }),
            ...(signed ? { [ANTHROPIC]: { signature } } : {}),
          },
        }),
  }
}

/** The block of a text: a refusal where it was read as one. */
export function textBlock({ text, providerOptions }: TextPart): LangChainBlock {
  const options = keptFor(LANGCHAIN, providerOptions) ?? {}
  if (options.type !== 'refusal') return { type: 'text', text, ...options }
  return { ...options, refusal: text }
}

/** The block of reasoning: as it was read, else a standard one, with Anthropic's signature where there is one. */
export function reasoningBlock({ text, providerOptions }: ReasoningPart): LangChainBlock {
  const options = keptFor(LANGCHAIN, providerOptions)
  if (options?.type === 'thinking') return { ...options, thinking: text }
  if (options !== undefined) return { type: 'reasoning', reasoning: text, ...options }
  const signature = keptFor(ANTHROPIC, providerOptions)?.signature
  return { type: 'reasoning', reasoning: text, ...(typeof signature === 'string' ? { signature } : {}) }
}

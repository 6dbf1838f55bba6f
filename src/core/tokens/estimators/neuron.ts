import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { check } from '../../messages/check.ts'
import { checkMessageList } from '../../messages/message-check.ts'
import type { Estimator } from './estimator-schema.ts'
import { type LengthUnit, lengthIn, lengthUnitSchema } from './estimator-schema.ts'

/** Characters per token; about right for GPT and Claude models in English. */
const CHARS_PER_TOKEN = 4
/** Tokens of an image. */
const IMAGE_TOKENS = 300
/** Tokens of a document. */
const DOCUMENT_TOKENS = 500
/** Tokens of a message's framing. */
const TOKENS_PER_MESSAGE = 4

const counterSchema = z.strictObject({
  /** Characters per token, above 0. Default 4. */
  charsPerToken: z.number().positive().finite().default(CHARS_PER_TOKEN),
  /** The unit of a character: a UTF-16 unit (default) or a UTF-8 byte, as in the Rust original. */
  unit: lengthUnitSchema.default('utf16'),
})
/** Options of `createTokenCounter`. */
export type TokenCounterOptions = z.input<typeof counterSchema>

/** The token counter of neuron over plain data: every text is rounded up separately. */
export type TokenCounter = {
  /** Returns ceil(length / charsPerToken). */
  estimateText(text: string): number
  /**
   * Returns the sum over the messages of 4 plus their blocks: text, thinking, redacted thinking and compaction by their text, tool use by
   * name and compact JSON input, tool results by their items, images 300, documents 500. Returns 0 if there are no messages.
   */
  estimateMessages(messages: readonly NeuronMessage[]): number
  /** Returns the sum over the tools of name, description and compact JSON schema, each rounded up. */
  estimateTools(tools: readonly NeuronTool[]): number
}

/** A message of content blocks; a string is one text block. */
export type NeuronMessage = { readonly role: string; readonly content: string | readonly NeuronBlock[] }
/** A content block; only the fields of its kind are read. */
export type NeuronBlock = { readonly type: string; readonly [field: string]: unknown }
/** The counted fields of a tool definition. */
export type NeuronTool = {
  readonly name: string
  readonly description?: string
  readonly input_schema?: unknown
}

/** Returns a counter. Throws `INVALID_INPUT`. */
export function createTokenCounter(options: TokenCounterOptions = {}): TokenCounter {
  const { charsPerToken, unit } = check(counterSchema, options, 'createTokenCounter')
  const estimateText = (text: string): number => {
    if (typeof text !== 'string') throw invalid('estimateText: text must be a string')
    return Math.ceil(lengthIn(text, unit) / charsPerToken)
  }
  const ofJson = (value: unknown): number => {
    const json = JSON.stringify(value) as string | undefined
    return json === undefined ? 0 : estimateText(json)
  }
  const ofField = (value: unknown): number => (typeof value === 'string' ? estimateText(value) : 0)
  const ofItem = (block: NeuronBlock): number => {
    switch (block.type) {
      case 'text':
        return ofField(block.text)
      case 'thinking':
        return ofField(block.thinking)
      case 'redacted_thinking':
        return ofField(block.data)
      case 'compaction':
        return ofField(block.content)
      case 'tool_use':
        return ofField(block.name) + ofJson(block.input)
      case 'image':
        return IMAGE_TOKENS
      case 'document':
        return DOCUMENT_TOKENS
      default:
        return 0
    }
  }
  const ofBlock = (block: NeuronBlock): number => {
    if (block.type !== 'tool_result') return ofItem(block)
    const { content } = block
    if (!Array.isArray(content)) return ofField(content)
    return (content as readonly NeuronBlock[]).reduce((sum, item) => sum + ofItem(item), 0)
  }
  return {
    estimateText,
    estimateMessages(messages) {
      checkMessageList(messages, 'estimateMessages')
      let tokens = 0
      for (const { content } of messages) {
        tokens += TOKENS_PER_MESSAGE
        if (typeof content === 'string') tokens += estimateText(content)
        else for (const block of content) tokens += ofBlock(block)
      }
      return tokens
    },
    estimateTools(tools) {
      if (!Array.isArray(tools)) throw invalid('estimateTools: tools must be an array')
      return (tools as readonly NeuronTool[]).reduce(
        (sum, tool) => sum + ofField(tool.name) + ofField(tool.description) + ofJson(tool.input_schema),
        0,
      )
    },
  }
}

/**
 * Returns neuron's estimator for a store: `neuron`, or `neuron-bytes` with UTF-8 bytes. Equal to `createTokenCounter` for messages with
 * texts, calls, results, images and files; provider parts count as their JSON. The provider is ignored.
 */
function estimatorOf(name: string, unit: LengthUnit): Estimator {
  return {
    name,
    measureText: (text) => Math.ceil(lengthIn(text, unit) / CHARS_PER_TOKEN),
    mediaTokens: IMAGE_TOKENS,
    fileTokens: DOCUMENT_TOKENS,
    toTokens: (units) => units,
    tokensPerMessage: TOKENS_PER_MESSAGE,
    tokensPerConversation: 0,
  }
}

/** neuron's estimator for a store. Lengths are in UTF-16 units. */
export const neuronEstimator: Estimator = estimatorOf('neuron', 'utf16')
/** neuron's estimator with lengths in UTF-8 bytes, as in the Rust original. */
export const neuronBytesEstimator: Estimator = estimatorOf('neuron-bytes', 'utf8')

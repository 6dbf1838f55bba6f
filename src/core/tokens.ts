import { invalid } from './check.ts'
import { stringifyJson } from './json.ts'
import type { Message, Part, ToolResultOutput } from './message.ts'
import { checkMessageList } from './message-list.ts'

/** Characters (UTF-16 units) per token of ordinary text. Source: seed 003, "Token Estimation". */
export const CHARS_PER_TOKEN = 4
/** Characters per token of code. Source: seed 003. */
export const CODE_CHARS_PER_TOKEN = 3
/** Margin against underestimating. Source: seed 003. */
export const TOKEN_SAFETY_MARGIN = 1.15
/** Tokens of framing per message. Source: seed 003. */
export const TOKENS_PER_MESSAGE = 4
/** Tokens of framing per conversation. Source: seed 003. */
export const TOKENS_PER_CONVERSATION = 24
/** Tokens of an image; binary files count the same here. Source: seed 003. */
export const IMAGE_TOKEN_ESTIMATE = 1024

/** How many more tokens a provider's tokenizer makes of the same text. Source: seed 003. */
const PROVIDER_MULTIPLIERS: ReadonlyMap<string, number> = new Map([
  ['anthropic', 1.23],
  ['google-ai', 1.18],
  ['vertex', 1.18],
  ['mistral', 1.26],
  ['openai', 1],
  ['azure', 1],
  ['bedrock', 1.23],
  ['ollama', 1],
  ['litellm', 1],
  ['huggingface', 1],
  ['sagemaker', 1],
])

/** A provider's multiplier; 1 for an unknown one or none. */
export function getProviderMultiplier(provider?: string): number {
  return provider === undefined ? 1 : (PROVIDER_MULTIPLIERS.get(provider) ?? 1)
}

/**
 * Provider-neutral sizes by category, as whole numbers that can be added up. The four text categories are in
 * units of the estimator (the default: Σ ceil(length / 4)); `media` is in tokens that no multiplier touches.
 */
export type Sizes = {
  readonly text: number
  readonly reasoning: number
  readonly toolCalls: number
  readonly toolResults: number
  readonly media: number
}

export const NO_SIZES: Sizes = { text: 0, reasoning: 0, toolCalls: 0, toolResults: 0, media: 0 }

export function addSizes(a: Sizes, b: Sizes): Sizes {
  return {
    text: a.text + b.text,
    reasoning: a.reasoning + b.reasoning,
    toolCalls: a.toolCalls + b.toolCalls,
    toolResults: a.toolResults + b.toolResults,
    media: a.media + b.media,
  }
}

export function subtractSizes(a: Sizes, b: Sizes): Sizes {
  return {
    text: a.text - b.text,
    reasoning: a.reasoning - b.reasoning,
    toolCalls: a.toolCalls - b.toolCalls,
    toolResults: a.toolResults - b.toolResults,
    media: a.media - b.media,
  }
}

/** A sum of sizes that is added to in place: thousands of rows, one object. */
export class SizesSum {
  #text = 0
  #reasoning = 0
  #toolCalls = 0
  #toolResults = 0
  #media = 0

  constructor(start: Sizes = NO_SIZES) {
    this.add(start)
  }

  add(sizes: Sizes): void {
    this.#text += sizes.text
    this.#reasoning += sizes.reasoning
    this.#toolCalls += sizes.toolCalls
    this.#toolResults += sizes.toolResults
    this.#media += sizes.media
  }

  subtract(sizes: Sizes): void {
    this.#text -= sizes.text
    this.#reasoning -= sizes.reasoning
    this.#toolCalls -= sizes.toolCalls
    this.#toolResults -= sizes.toolResults
    this.#media -= sizes.media
  }

  get value(): Sizes {
    return {
      text: this.#text,
      reasoning: this.#reasoning,
      toolCalls: this.#toolCalls,
      toolResults: this.#toolResults,
      media: this.#media,
    }
  }
}

/**
 * A way of counting, by name. It measures text once, when a message is appended, in its own units; figures
 * for a provider are made from sums of them. A session keeps the name of the one it was counted with.
 */
export interface Estimator {
  readonly name: string
  /** Units of a text; whole, not negative, 0 for the empty text. */
  measureText(text: string): number
  /** Tokens of an image or a binary file, for all providers. */
  readonly mediaTokens: number
  /** Tokens of a text measured as `units`, for a provider. Whole, rounded up, monotonic in `units`. */
  toTokens(units: number, provider?: string): number
  readonly tokensPerMessage: number
  readonly tokensPerConversation: number
}

/**
 * The default: the formula of seed 003, ceil(ceil(length / 4) × multiplier × 1.15) (checklist C-25), with the
 * multiplication and the rounding done once per list instead of once per message.
 */
export const neurolinkEstimator: Estimator = {
  name: 'neurolink',
  measureText: (text) => Math.ceil(text.length / CHARS_PER_TOKEN),
  mediaTokens: IMAGE_TOKEN_ESTIMATE,
  toTokens: (units, provider) => Math.ceil(units * getProviderMultiplier(provider) * TOKEN_SAFETY_MARGIN),
  tokensPerMessage: TOKENS_PER_MESSAGE,
  tokensPerConversation: TOKENS_PER_CONVERSATION,
}

/**
 * Tokens of `rows` messages whose sizes add up to `sizes`; 0 for none. The one place where sums become tokens:
 * stats, planner and reports all come through here, so their figures agree to the token.
 */
export function tokensOf(sizes: Sizes, rows: number, estimator: Estimator, provider?: string): number {
  if (rows === 0) return 0
  return (
    estimator.toTokens(unitsOf(sizes), provider) +
    sizes.media +
    rows * estimator.tokensPerMessage +
    estimator.tokensPerConversation
  )
}

/** The text units of sizes, all categories together. */
export function unitsOf(sizes: Sizes): number {
  return sizes.text + sizes.reasoning + sizes.toolCalls + sizes.toolResults
}

/**
 * Tokens of a text: ceil(ceil(length / c) × multiplier × 1.15), c = 4, or 3 for code. Source: seed 003 and
 * checklist C-25.
 */
export function estimateTokens(text: string, provider?: string, isCode = false): number {
  if (typeof text !== 'string') throw invalid('estimateTokens: text must be a text')
  const perToken = isCode ? CODE_CHARS_PER_TOKEN : CHARS_PER_TOKEN
  return Math.ceil(Math.ceil(text.length / perToken) * getProviderMultiplier(provider) * TOKEN_SAFETY_MARGIN)
}

/** The sizes of one message, part by part. */
export function measureMessage(message: Pick<Message, 'content'>, estimator: Estimator): Sizes {
  if (typeof message.content === 'string')
    return { ...NO_SIZES, text: estimator.measureText(message.content) }
  return message.content.reduce((sum, part) => addSizes(sum, measurePart(part, estimator)), NO_SIZES)
}

/** The sizes of one part. `inputJson` spares a second `stringifyJson` of a tool call's input. */
export function measurePart(part: Part, estimator: Estimator, inputJson?: string): Sizes {
  switch (part.type) {
    case 'text':
      return { ...NO_SIZES, text: estimator.measureText(part.text) }
    case 'reasoning':
      return { ...NO_SIZES, reasoning: estimator.measureText(part.text) }
    case 'tool-call':
      return {
        ...NO_SIZES,
        toolCalls:
          estimator.measureText(part.toolName) +
          estimator.measureText(inputJson ?? stringifyJson(part.input)),
      }
    case 'tool-result':
      return measureOutput(part.output, estimator)
    case 'image':
      return { ...NO_SIZES, media: estimator.mediaTokens }
    case 'file':
      return measureFile(part.data, part.mediaType, estimator)
    case 'provider':
      return { ...NO_SIZES, text: estimator.measureText(stringifyJson(part.data)) }
  }
}

/** The sizes of a tool result: its text as `toolResults`, its images and files as `media`. */
export function measureOutput(output: ToolResultOutput, estimator: Estimator): Sizes {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { ...NO_SIZES, toolResults: estimator.measureText(output.value) }
    case 'json':
    case 'error-json':
      return { ...NO_SIZES, toolResults: estimator.measureText(stringifyJson(output.value)) }
    case 'content': {
      let text = 0
      let media = 0
      for (const item of output.value) {
        const sizes = measurePart(item, estimator)
        text += sizes.text
        media += sizes.media
      }
      return { ...NO_SIZES, toolResults: text, media }
    }
  }
}

/** Text files count as their text; all others as an image does. */
function measureFile(data: string | Uint8Array, mediaType: string, estimator: Estimator): Sizes {
  if (!mediaType.startsWith('text/') || isUrl(data)) return { ...NO_SIZES, media: estimator.mediaTokens }
  const text = typeof data === 'string' ? data : Buffer.from(data).toString('utf8')
  return { ...NO_SIZES, text: estimator.measureText(text) }
}

function isUrl(data: string | Uint8Array): boolean {
  return typeof data === 'string' && /^(?:https?|file|gs|s3):/i.test(data)
}

/**
 * Tokens of a list of messages: the seed's `estimateMessagesTokens`, over the neutral form or over anything with
 * a role and a content. 0 for an empty list.
 */
export function estimateMessagesTokens(
  messages: readonly { readonly role: string; readonly content: string | readonly Part[] }[],
  provider?: string,
  estimator: Estimator = neurolinkEstimator,
): number {
  checkMessageList(messages, 'estimateMessagesTokens')
  const sizes = messages.reduce((sum, message) => addSizes(sum, measureMessage(message, estimator)), NO_SIZES)
  return tokensOf(sizes, messages.length, estimator, provider)
}

/** Tokens of one tool definition: ceil(length of its JSON / 4), 200 for one that JSON cannot hold. Source: seed 003, checklist S3-086. */
export function estimateToolDefinition(tool: unknown): number {
  try {
    const json = JSON.stringify(tool) as string | undefined
    return json === undefined ? 200 : Math.ceil(json.length / CHARS_PER_TOKEN)
  } catch (error) {
    if (error instanceof TypeError) return 200
    throw error
  }
}

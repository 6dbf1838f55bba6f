import { invalid } from '../errors.ts'
import { readable } from '../messages/check.ts'
import { compactionBlock } from '../messages/compaction-block.ts'
import { imageSizeOf } from '../messages/images.ts'
import { stringifyJson } from '../messages/json.ts'
import {
  isSilent,
  isUnsent,
  type Message,
  type Part,
  type ToolResultContent,
  type ToolResultOutput,
} from '../messages/message.ts'
import { checkMessageList, checkProviderName, contentProblem } from '../messages/message-check.ts'
import { calibratedEstimator } from './estimators/calibrated.ts'
import { type Estimator, isEstimator, type TextKind } from './estimators/estimator-schema.ts'
import { ncaBytesEstimator, ncaEstimator } from './estimators/nca.ts'
import { neurolinkAdditiveEstimator, neurolinkEstimator } from './estimators/neurolink.ts'
import { neuronBytesEstimator, neuronEstimator } from './estimators/neuron.ts'
import { promptfleetEstimator } from './estimators/promptfleet.ts'

export {
  CHARS_PER_TOKEN,
  CODE_CHARS_PER_TOKEN,
  estimateTokens,
  estimateToolDefinition,
  getProviderMultiplier,
  IMAGE_TOKEN_ESTIMATE,
  neurolinkEstimator,
  TOKEN_SAFETY_MARGIN,
  TOKENS_PER_CONVERSATION,
  TOKENS_PER_MESSAGE,
} from './estimators/neurolink.ts'

/**
 * Provider-neutral sizes by category: whole, additive numbers. The four text categories are in units of the estimator (for `neurolink`:
 * Σ ceil(length / 4)); `media` is in tokens without a multiplier. The last three are not tokens: providers also limit images
 * and the bytes of a request.
 */
export type Sizes = {
  readonly text: number
  readonly reasoning: number
  readonly toolCalls: number
  readonly toolResults: number
  readonly media: number
  /** The number of images, including images with a URL. */
  readonly images: number
  /**
   * Bytes of images and files as a request contains them, in base64. Excludes images and files with a URL, and text files, which count as
   * text.
   */
  readonly mediaBytes: number
  /** The number of images with a side above 2,000 pixels, as far as their first bytes show. */
  readonly largeImages: number
}

export const NO_SIZES: Sizes = {
  text: 0,
  reasoning: 0,
  toolCalls: 0,
  toolResults: 0,
  media: 0,
  images: 0,
  mediaBytes: 0,
  largeImages: 0,
}

type Sum = { -readonly [K in keyof Sizes]: number }

function addTo(sum: Sum, sizes: Sizes, times: 1 | -1): void {
  sum.text += times * sizes.text
  sum.reasoning += times * sizes.reasoning
  sum.toolCalls += times * sizes.toolCalls
  sum.toolResults += times * sizes.toolResults
  sum.media += times * sizes.media
  sum.images += times * sizes.images
  sum.mediaBytes += times * sizes.mediaBytes
  sum.largeImages += times * sizes.largeImages
}

function sumOf(a: Sizes, b: Sizes, times: 1 | -1): Sizes {
  const sum = { ...NO_SIZES }
  addTo(sum, a, 1)
  addTo(sum, b, times)
  return sum
}

export function addSizes(a: Sizes, b: Sizes): Sizes {
  return sumOf(a, b, 1)
}

export function subtractSizes(a: Sizes, b: Sizes): Sizes {
  return sumOf(a, b, -1)
}

export function sameSizes(a: Sizes, b: Sizes): boolean {
  return Object.values(subtractSizes(a, b)).every((difference) => difference === 0)
}

/** A mutable sum of sizes: one object for thousands of rows. */
export class SizesSum {
  readonly #sum: Sum = { ...NO_SIZES }

  constructor(start: Sizes = NO_SIZES) {
    this.add(start)
  }

  add(sizes: Sizes): void {
    addTo(this.#sum, sizes, 1)
  }

  subtract(sizes: Sizes): void {
    addTo(this.#sum, sizes, -1)
  }

  get value(): Sizes {
    return { ...this.#sum }
  }
}

/**
 * Returns the tokens of `rows` messages with the total `sizes`; 0 for none. Silent messages are not among the rows, because they are
 * never sent. Stats, planner and reports all convert sums here, so their figures agree exactly.
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

/** Returns the tokens of a single text. */
export function tokensOfText(text: string, estimator: Estimator, provider?: string): number {
  return estimator.toTokens(estimator.measureText(text), provider)
}

/** Returns the text units of sizes, all categories together. */
export function unitsOf(sizes: Sizes): number {
  return sizes.text + sizes.reasoning + sizes.toolCalls + sizes.toolResults
}

/** Returns the sizes of one message, as the sum over its parts. */
export function measureMessage(message: Pick<Message, 'content'>, estimator: Estimator): Sizes {
  if (typeof message.content === 'string')
    return { ...NO_SIZES, text: estimator.measureText(message.content) }
  return message.content.reduce((sum, part) => addSizes(sum, measurePart(part, estimator)), NO_SIZES)
}

/** Returns the sizes of one part. `inputJson` avoids a second `stringifyJson` of a tool call's input. */
export function measurePart(part: Part, estimator: Estimator, inputJson?: string): Sizes {
  switch (part.type) {
    case 'reasoning':
      return { ...NO_SIZES, reasoning: estimator.measureText(part.text, 'reasoning') }
    case 'tool-call':
      return {
        ...NO_SIZES,
        toolCalls:
          estimator.measureText(part.toolName, 'toolCall') +
          estimator.measureText(inputJson ?? stringifyJson(part.input), 'toolCall') +
          (estimator.unitsPerCall ?? 0),
      }
    case 'tool-result':
      return measureOutput(part.output, estimator)
    case 'text':
    case 'image':
    case 'file':
    case 'provider':
      return measureItem(part, estimator, 'text')
  }
}

/** Returns the sizes of a part of a message or of a tool result. The text is in `text` in both cases. */
function measureItem(item: ToolResultContent, estimator: Estimator, kind: TextKind): Sizes {
  switch (item.type) {
    case 'text':
      return { ...NO_SIZES, text: estimator.measureText(item.text, kind) }
    case 'image':
      return measureImage(item.image, estimator.mediaTokens)
    case 'file':
      return measureFile(item.data, item.mediaType, estimator, kind)
    case 'provider':
      if (isUnsent(item.provider)) return NO_SIZES
      // A readable compaction block counts as its text.
      return {
        ...NO_SIZES,
        text: estimator.measureText(compactionBlock(item)?.text ?? stringifyJson(item.data), kind),
      }
  }
}

/** Returns the sizes of a tool result: its text as `toolResults`, its images and files as `media`. */
export function measureOutput(output: ToolResultOutput, estimator: Estimator): Sizes {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { ...NO_SIZES, toolResults: estimator.measureText(output.value, 'toolResult') }
    case 'json':
    case 'error-json':
      return { ...NO_SIZES, toolResults: estimator.measureText(stringifyJson(output.value), 'toolResult') }
    case 'content': {
      const sum = new SizesSum()
      for (const item of output.value) sum.add(measureItem(item, estimator, 'toolResult'))
      const { text, ...media } = sum.value
      return { ...media, text: 0, toolResults: text }
    }
  }
}

/**
 * Returns the sizes of a file. A text file counts as its text, other files by the estimator's figure for files. An image that was given
 * as a file counts as an image.
 */
function measureFile(
  data: string | Uint8Array,
  mediaType: string,
  estimator: Estimator,
  kind: TextKind,
): Sizes {
  const tokens = estimator.fileTokens ?? estimator.mediaTokens
  if (mediaType.startsWith('image/')) return measureImage(data, tokens)
  if (!mediaType.startsWith('text/') || isUrl(data))
    return { ...NO_SIZES, media: tokens, mediaBytes: sentBytes(data) }
  const text = typeof data === 'string' ? data : Buffer.from(data).toString('utf8')
  return { ...NO_SIZES, text: estimator.measureText(text, kind) }
}

/** Anthropic's limit for the sides of an image in a request with many images. */
const LARGE_PIXELS = 2_000

function measureImage(data: string | Uint8Array, media: number): Sizes {
  return {
    ...NO_SIZES,
    media,
    images: 1,
    mediaBytes: sentBytes(data),
    largeImages: isLarge(data) ? 1 : 0,
  }
}

function isLarge(data: string | Uint8Array): boolean {
  if (isUrl(data)) return false
  const comma =
    typeof data === 'string' && data.startsWith('data:')
      ? data.slice(0, MAX_DATA_URL_PREFIX).indexOf(',')
      : -1
  const size = imageSizeOf(
    comma === -1 ? data : (data as string).slice(comma + 1, comma + 1 + MAX_BASE64_READ),
  )
  return size !== undefined && Math.max(size.width, size.height) > LARGE_PIXELS
}

/** The most characters before the base64 of a data URL, and the most characters of base64 that are read for the size of an image. */
const MAX_DATA_URL_PREFIX = 200
const MAX_BASE64_READ = 350_000

/** Returns the bytes of the base64 that a request contains. The few characters before the base64 of a data URL are included. */
function sentBytes(data: string | Uint8Array): number {
  if (typeof data !== 'string') return 4 * Math.ceil(data.length / 3)
  return isUrl(data) ? 0 : data.length
}

function isUrl(data: string | Uint8Array): boolean {
  return typeof data === 'string' && /^(?:https?|file|gs|s3):/i.test(data)
}

/**
 * Returns the tokens of a list of messages in the neutral format, or of any objects with a role and a text; calls in OpenAI's
 * `tool_calls` count too. Returns 0 for an empty list, and for messages without a part that is sent. `estimator` is an estimator or the
 * name of a built-in one. Throws `INVALID_INPUT`, also for parts of other formats: convert them with `fromOpenAI` or `fromAnthropic`.
 */
export function estimateMessagesTokens(
  messages: readonly { readonly role: string; readonly content: string | readonly Part[] }[],
  provider?: string,
  estimator: Estimator | string = neurolinkEstimator,
): number {
  const what = 'estimateMessagesTokens'
  checkMessageList(messages, what)
  checkProviderName(provider, what)
  const counting = typeof estimator === 'string' ? estimatorNamed(estimator) : estimator
  if (!isEstimator(counting))
    throw invalid(`${what}: the estimator must be an estimator or the name of a built-in one`)
  const sizes = new SizesSum()
  let rows = 0
  for (const [index, message] of messages.entries()) {
    const problem = readable(what, () => contentProblem(message.content))
    if (problem !== undefined) {
      const advice = 'fromOpenAI and fromAnthropic convert messages of other forms'
      throw invalid(`${what}: messages[${index}].content${problem} (${advice})`)
    }
    sizes.add(measureMessage(message, counting))
    const toolCalls = measureCalls(message as WithCalls, counting)
    sizes.add({ ...NO_SIZES, toolCalls })
    if (toolCalls > 0 || !isSilent(message)) rows += 1
  }
  return tokensOf(sizes.value, rows, counting, provider)
}

type WithCalls = { readonly tool_calls?: unknown }

function measureCalls({ tool_calls: calls }: WithCalls, estimator: Estimator): number {
  if (!Array.isArray(calls)) return 0
  let units = 0
  for (const call of calls as readonly { readonly function?: { name?: unknown; arguments?: unknown } }[]) {
    const { name, arguments: input } = call?.function ?? {}
    units += estimator.unitsPerCall ?? 0
    for (const text of [name, input])
      if (typeof text === 'string') units += estimator.measureText(text, 'toolCall')
  }
  return units
}

/** The estimators that are built into every store, so that sessions counted with them open anywhere. */
export const BUILT_IN_ESTIMATORS: readonly Estimator[] = [
  neurolinkEstimator,
  neurolinkAdditiveEstimator,
  neuronEstimator,
  neuronBytesEstimator,
  promptfleetEstimator,
  ncaEstimator,
  ncaBytesEstimator,
  calibratedEstimator,
]

/** The names of the built-in estimators. */
export const ESTIMATOR_NAMES: readonly string[] = BUILT_IN_ESTIMATORS.map(({ name }) => name)

const byName: ReadonlyMap<string, Estimator> = new Map(BUILT_IN_ESTIMATORS.map((one) => [one.name, one]))

/** Returns the built-in estimator with this name, or `undefined`. */
export function estimatorNamed(name: string): Estimator | undefined {
  return byName.get(name)
}

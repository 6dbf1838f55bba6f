import { isUnreadable } from '../messages/compaction-block.ts'
import { isFailed, isReasoning, type Message, type Part } from '../messages/message.ts'
import type { Estimator } from '../tokens/estimators/estimator-schema.ts'
import { measurePart, NO_SIZES, type Sizes } from '../tokens/tokens.ts'
import { type IndexedCall, readOf } from './line-range.ts'
import type { ResultEntry } from './view-row.ts'

/** What planning needs to know of a message without reading it again. */
export type MessageIndex = {
  readonly sizes: Sizes
  readonly calls: readonly IndexedCall[]
  readonly results: readonly ResultEntry[]
  readonly hasReasoning: boolean
  /** Whether it says something besides calls and results. */
  readonly speaks: boolean
}

/**
 * Counts a message and notes its calls and results. `inputJson` gives the JSON of a tool call's input when the
 * caller has it already, by part.
 */
export function indexMessage(
  message: Pick<Message, 'content'>,
  estimator: Estimator,
  inputJson?: (part: number) => string | undefined,
): MessageIndex {
  const { content } = message
  if (typeof content === 'string') {
    const sizes = { ...NO_SIZES, text: estimator.measureText(content) }
    return { sizes, calls: [], results: [], hasReasoning: false, speaks: true }
  }
  const sum = { ...NO_SIZES } as { -readonly [K in keyof Sizes]: number }
  const calls: IndexedCall[] = []
  const results: ResultEntry[] = []
  let hasReasoning = false
  let speaks = false
  for (let part = 0; part < content.length; part++) {
    const entry = content[part] as Part
    const sizes = measurePart(entry, estimator, inputJson?.(part))
    sum.text += sizes.text
    sum.reasoning += sizes.reasoning
    sum.toolCalls += sizes.toolCalls
    sum.toolResults += sizes.toolResults
    sum.media += sizes.media
    if (entry.type === 'tool-call') calls.push(indexCall(entry, part))
    else if (entry.type === 'tool-result') results.push(indexResult(entry, part, sizes))
    else if (isReasoning(entry)) hasReasoning = true
    else if (!isUnreadable(entry)) speaks = true
  }
  return { sizes: sum, calls, results, hasReasoning, speaks }
}

function indexCall(call: Extract<Part, { type: 'tool-call' }>, part: number): IndexedCall {
  const { toolCallId: id, toolName: name } = call
  const read = readOf(call.input)
  if (read === undefined) return { part, id, name }
  const { path, range, variant } = read
  return variant === undefined ? { part, id, name, path, range } : { part, id, name, path, range, variant }
}

function indexResult(
  result: Extract<Part, { type: 'tool-result' }>,
  part: number,
  { toolResults, media }: Sizes,
): ResultEntry {
  const { toolCallId: id, toolName: name } = result
  const failed = isFailed(result.output)
  return name === undefined
    ? { part, id, units: toolResults, media, failed }
    : { part, id, units: toolResults, media, failed, name }
}

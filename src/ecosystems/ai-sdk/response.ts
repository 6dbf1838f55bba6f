import { isObject, type JsonObject } from '../../messages/json.ts'
import type { NewMessage, Part } from '../../messages/message.ts'
import { stopReasonOf } from '../../messages/stop-reason.ts'
import { parsedArguments } from '../wire.ts'
import { AI_SDK, jsonOf } from './options.ts'
import { contentOf, markReasoned, partFrom } from './parts.ts'
import type { SdkPart } from './sdk-types.ts'
import { providerResult } from './tool-output.ts'

/** What a model answered, whole: of `doGenerate`, or gathered from a stream. */
export type Answer = {
  readonly content: readonly SdkPart[]
  readonly finishReason: unknown
  readonly usage: unknown
  readonly providerMetadata: unknown
  /** The provider's id of the answer. */
  readonly responseId?: string | undefined
}

/**
 * The answer as a message of the assistant's; `undefined` for one that says nothing. Sources and requests for approval are
 * no part of what is sent again, so they stand in the metadata, with the answer's id.
 */
export function messageOfAnswer(answer: Answer, provider: string): NewMessage | undefined {
  const sources: unknown[] = []
  const approvals: unknown[] = []
  const parts: Part[] = []
  for (const part of answer.content) {
    if (part.type === 'source') sources.push(part)
    else if (part.type === 'tool-approval-request') approvals.push(part)
    else if (part.type === 'tool-result') {
      if (part.preliminary !== true) parts.push(resultFrom(part, provider))
    } else if (part.type === 'tool-call') parts.push(callFrom(part, provider))
    else if (part.type !== 'text' || part.text !== '' || part.providerMetadata !== undefined)
      parts.push(partFrom(part, provider))
  }
  if (parts.length === 0) return undefined
  const { responseId: id } = answer
  const kept: JsonObject = {
    ...(id !== undefined && { id }),
    ...(sources.length > 0 && { sources: jsonOf(sources) }),
    ...(approvals.length > 0 && { approvals: jsonOf(approvals) }),
  }
  const metadata = Object.keys(kept).length === 0 ? {} : { metadata: { [AI_SDK]: kept } }
  return { role: 'assistant', content: contentOf(markReasoned(parts)), ...metadata }
}

/** A call as it comes from a model: its arguments are a text. */
function callFrom(part: SdkPart, provider: string): Part {
  if (typeof part.input !== 'string') return partFrom(part, provider)
  const input = parsedArguments(part.input)
  const malformed = typeof input === 'string' && input === part.input
  return partFrom({ ...part, input, ...(malformed && { malformed }) }, provider)
}

function resultFrom({ result, isError, ...part }: SdkPart, provider: string): Part {
  return partFrom(
    { ...part, type: 'tool-result', output: providerResult(result, isError === true) },
    provider,
  )
}

/** Why an answer ended, in the provider's own words where those are known, else in the AI SDK's. */
export function stopReasonIn(finishReason: unknown): string | undefined {
  if (typeof finishReason === 'string') return finishReason
  if (!isObject(finishReason)) return undefined
  const { raw, unified } = finishReason
  if (typeof raw === 'string' && raw.length <= 200 && stopReasonOf(raw) !== 'other') return raw
  return typeof unified === 'string' ? unified : undefined
}

/** Whether an answer ended because it failed. */
export function isFailedFinish(finishReason: unknown): boolean {
  return (isObject(finishReason) ? finishReason.unified : finishReason) === 'error'
}

/** Tokens as the store records them: what was read from a cache and written to it stands apart from the rest. */
type ReportedUsage = {
  readonly inputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheCreationTokens?: number
  readonly outputTokens?: number
}

/** Providers whose V2 models count what came from a cache apart; all others count it within the input. */
const COUNTED_APART: ReadonlySet<string> = new Set(['anthropic', 'bedrock'])

/** The usage of an answer; `undefined` where its provider told none. */
export function usageIn({ usage, providerMetadata }: Answer, provider: string): ReportedUsage | undefined {
  if (!isObject(usage)) return undefined
  const { inputTokens: input, outputTokens: output } = usage
  if (isObject(input)) {
    const read = countOf(input.cacheRead)
    const written = countOf(input.cacheWrite)
    const total = countOf(input.total)
    const plain =
      total === undefined ? countOf(input.noCache) : Math.max(0, total - (read ?? 0) - (written ?? 0))
    return reported(plain, read, written, countOf(isObject(output) ? output.total : output))
  }
  const total = countOf(input)
  const read = countOf(usage.cachedInputTokens)
  if (!COUNTED_APART.has(provider))
    return reported(
      total === undefined ? undefined : Math.max(0, total - (read ?? 0)),
      read,
      undefined,
      countOf(output),
    )
  const own = isObject(providerMetadata) ? providerMetadata.anthropic : undefined
  const written = isObject(own) ? countOf(own.cacheCreationInputTokens) : undefined
  return reported(total, read, written, countOf(output))
}

function reported(
  inputTokens: number | undefined,
  read: number | undefined,
  written: number | undefined,
  output: number | undefined,
): ReportedUsage | undefined {
  if (inputTokens === undefined) return undefined
  return {
    inputTokens,
    ...(read !== undefined && read > 0 && { cacheReadTokens: read }),
    ...(written !== undefined && written > 0 && { cacheCreationTokens: written }),
    ...(output !== undefined && { outputTokens: output }),
  }
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

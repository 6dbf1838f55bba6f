import { z } from 'zod'
import { labelSchema, modelShape, nameSchema, parsed, taken } from '../../core/messages/check.ts'
import { defined, isObject } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import type { NextStep } from '../../core/messages/stop-reason.ts'
import type { BoundPrefix } from '../../core/rendering/bound-reasoning.ts'
import type { RenderOptions } from '../../core/rendering/render.ts'
import { readUsage } from '../../core/tokens/provider-usage.ts'
import type { ContextStats } from '../compaction/stats.ts'
import type { UsageResult } from '../compaction/usage.ts'
import { type CheckedStats, type UsageInput, usageSchema } from '../config/store-options.ts'
import type { ChangedFrame } from './changed-frame.ts'
import { describedBy, type Prompt, requestParts } from './options.ts'
import type { PreparedFiles, PreparedRequest, RenderedMessage } from './prepared.ts'
import type { AppendedTurn } from './turn-hooks.ts'

const { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens } = usageSchema.shape
const figuresSchema = z.strictObject({ inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens })

const listOf = <T>() => z.custom<readonly T[]>((value) => Array.isArray(value), 'must be a list')

const changedSchema = z.object({
  system: z.boolean(),
  tools: z.boolean(),
  invalidatedReasoning: z.object({ blocks: z.int().nonnegative(), tokens: z.int().nonnegative() }),
})

/** The fields of a request that are read when its response is recorded: it may come back from JSON. */
export const requestSchema = z.looseObject({
  sessionId: z.string(),
  provider: nameSchema,
  model: nameSchema.optional(),
  system: z.string().optional(),
  tools: z.array(z.unknown().transform(taken)).readonly().optional(),
  position: z.int().nonnegative(),
  audit: z.int().nonnegative().optional(),
  rendering: z.custom<RenderOptions>(isObject, 'must be an object').optional(),
  bound: z.custom<BoundPrefix>(isObject, 'must be an object').optional(),
  changed: changedSchema.optional(),
  messages: listOf<RenderedMessage>().optional(),
  files: z.custom<PreparedFiles>(isObject, 'must be an object').optional(),
  viewEpoch: z.int().nonnegative(),
  auto: z.boolean().optional(),
  pendingTokens: z.int().nonnegative(),
  prompt: listOf<NewMessage>(),
  stats: z.looseObject({
    outputReserve: z.looseObject({ tokens: z.number(), source: z.string() }),
    contextWindowTarget: z.number().optional(),
    threshold: z.number(),
  }),
})

export const recordSchema = z.strictObject({
  /** The model's answer, as `append` takes it. May be empty when there is a prompt to append. */
  messages: listOf<NewMessage>(),
  /** The prompt, when it is not stored yet; it is appended first. Default: the request's; `[]` for none. */
  prompt: z.custom<Prompt>((value) => value !== null, 'must be a text, a message or messages').optional(),
  /** The request, as `prepareRequest` returned it: the usage counts for it. */
  request: requestSchema.optional(),
  /**
   * The provider's report: figures, or its response or the response's usage as they came (Chat Completions, Responses, Anthropic,
   * Gemini, Bedrock, Ollama, AI SDK, LangChain, OpenAI Agents).
   */
  usage: z.unknown().optional(),
  /** Of the usage, where there is no request. */
  ...modelShape,
  /** Why the answer ended, in the provider's words. */
  stopReason: labelSchema.nullish(),
  /** `false`: no background compaction follows. Default: as the request was made, else the setting. */
  auto: z.boolean().optional(),
  /** The position the caller believes is last, before prompt and answer are appended. */
  expectedPosition: z.int().nonnegative().optional(),
})

/** What `recordResponse` takes. */
export type ResponseInput = Omit<z.input<typeof recordSchema>, 'request'> & {
  readonly request?: PreparedRequest | undefined
}
type CheckedResponse = z.output<typeof recordSchema>

/** What `recordResponse` returns. */
export type RecordedResponse = {
  /** Prompt and answer, in order. */
  readonly appended: AppendedTurn
  /** The recorded usage; absent when none was given, and when all messages were stored already. */
  readonly usage?: UsageResult
  /** Why no usage was recorded although one was given: the messages are recorded all the same. */
  readonly usageProblem?: 'unreadable'
  /**
   * The recorded request, for `requests.get`. Absent when no `request` was given, when all messages were stored already, and when it
   * could not be recorded: its tools cannot be expressed as JSON, or the session was purged since it was prepared.
   */
  readonly requestId?: string
  /** The `changed` of the request, when it was recorded: what differs from the one before, and the reasoning that this invalidates. */
  readonly changed?: ChangedFrame
  /** What comes next: the same request again, the results of tools, or nothing. */
  readonly next: NextStep
  /** Whether the answer was final: a turn is complete. */
  readonly final: boolean
  /** How full the context is now; `null` where the package is switched off. */
  readonly stats: ContextStats | null
}

/**
 * The figures of a usage: as they are, else read from a provider's form; `undefined` where none can be read.
 */
export async function figuresOf(
  response: CheckedResponse,
): Promise<z.output<typeof figuresSchema> | undefined> {
  const { usage } = response
  const figures = parsed(figuresSchema, usage)
  if (figures !== undefined) return figures
  return parsed(figuresSchema, await readUsage(usage, modelOfResponse(response).provider))
}

/** The argument of `requests.recordUsage` for a response. */
export function usageOfResponse(
  response: CheckedResponse,
  usage: z.output<typeof figuresSchema>,
): UsageInput {
  const { request } = response
  return { ...usage, ...modelOfResponse(response), ...(request !== undefined && describedBy(request)) }
}

/** The provider and model whose limits apply: the given ones, else the request's. */
export function modelOfResponse({
  request,
  provider = request?.provider,
  model = request?.model,
}: Pick<CheckedResponse, 'request' | 'provider' | 'model'>) {
  return defined({ provider, model })
}

/** The next request besides the history, as far as it follows from the last one. */
export function nextRequestOf({ request }: CheckedResponse): CheckedStats {
  if (request === undefined) return {}
  const { system, tools, stats } = request
  const { outputReserve, contextWindowTarget, threshold } = stats
  return requestParts({
    system,
    tools,
    maxOutputTokens: outputReserve.source === 'maxOutputTokens' ? outputReserve.tokens : undefined,
    contextWindowTarget,
    threshold: threshold <= 1 ? threshold : undefined,
  })
}

/** What `requests.recordUsage` takes. */
export type UsageReportInput =
  | (UsageInput & {
      /** The request, as `prepareRequest` returned it, to be recorded with its usage. */
      readonly request?: PreparedRequest | undefined
    })
  | (Omit<UsageInput, 'inputTokens'> & {
      /** Left out where the provider reported no usage: then the request alone is recorded. */
      readonly inputTokens?: undefined
      readonly request: PreparedRequest
    })

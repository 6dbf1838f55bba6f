import { z } from 'zod'
import { invalid, isUndertextError } from '../../core/errors.ts'
import {
  check,
  labelSchema,
  modelShape,
  nameSchema,
  parsed,
  readable,
  taken,
} from '../../core/messages/check.ts'
import { defined, isObject } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { checkMessages } from '../../core/messages/message-check.ts'
import { type NextStep, nextStep, withStopReason } from '../../core/messages/stop-reason.ts'
import type { BoundPrefix } from '../../core/rendering/bound-reasoning.ts'
import type { RenderOptions } from '../../core/rendering/render.ts'
import { readUsage } from '../../core/tokens/provider-usage.ts'
import { canonicalProvider } from '../../core/tokens/providers.ts'
import type { AppendedMessage, BilledTokens, NewRequest, TurnUse } from '../../storage/storage.ts'
import type { ProviderCompactionResult } from '../compaction/direct-compactions.ts'
import type { ContextStats } from '../compaction/stats.ts'
import {
  alsoSchema,
  type CheckedStats,
  type CheckedUsage,
  type UsageInput,
  usageSchema,
} from '../config/store-options.ts'
import type { StoreContext } from '../context.ts'
import { noteNames } from '../requests.ts'
import type { Services } from '../services.ts'
import type { UsageResult } from '../usage.ts'
import { recordUsage } from '../usage.ts'
import { promptMessages } from './draft.ts'
import { describedBy, type Prompt, requestParts } from './options.ts'
import type { PreparedFiles, PreparedRequest, RenderedMessage } from './prepared.ts'
import type { ChangedFrame } from './reasoning.ts'
import { newRequest } from './recorded.ts'

const { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens } = usageSchema.shape
const figuresSchema = z.strictObject({ inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens })

const listOf = <T>() => z.custom<readonly T[]>((value) => Array.isArray(value), 'must be an array')

const changedSchema = z.object({
  system: z.boolean(),
  tools: z.boolean(),
  invalidatedReasoning: z.object({ blocks: z.int().nonnegative(), tokens: z.int().nonnegative() }),
})

/** The fields of a request that are read when its response is recorded. The request may have been restored from JSON. */
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

const recordSchema = z.strictObject({
  /** The model's answer, as for `append`. May be empty if there is a prompt to append. */
  messages: listOf<NewMessage>(),
  /** The prompt, if it isn't stored yet; it is appended first. Default: the request's prompt; `[]` for none. */
  prompt: z
    .custom<Prompt>((value) => value !== null, 'must be a string, a message or an array of messages')
    .optional(),
  /** The request, as `prepareRequest` returned it: the usage counts for it. */
  request: requestSchema.optional(),
  /**
   * The provider's report: figures, or its unchanged response or usage object (Chat Completions, Responses, Anthropic, Gemini, Bedrock,
   * Ollama, AI SDK, LangChain, OpenAI Agents).
   */
  usage: z.unknown().optional(),
  /** Provider and model of the usage, if there is no request. */
  ...modelShape,
  /** Why the answer ended, as the provider reported it. */
  stopReason: labelSchema.nullish(),
  /** `false` prevents a background compaction afterwards. Default: as the request was made, else the setting. */
  auto: z.boolean().optional(),
  /** The position that the caller believes is the last, before prompt and answer are appended. */
  expectedPosition: z.int().nonnegative().optional(),
  /** Writes rows of the application in the transaction that appends prompt and answer, as for `append`. */
  also: alsoSchema.optional(),
})

/** The argument of `recordResponse`. */
export type ResponseInput = Omit<z.input<typeof recordSchema>, 'request'> & {
  readonly request?: PreparedRequest | undefined
}
type CheckedResponse = z.output<typeof recordSchema>

/** The result of `append` for the messages of a turn. */
export type AppendedTurn = {
  readonly messages: readonly AppendedMessage[]
  /** The session's last position. */
  readonly position: number
  /** The outcome for a compaction block in the answer. */
  readonly providerCompaction?: ProviderCompactionResult
}

/** The result of `recordResponse`. */
export type RecordedResponse = {
  /** Prompt and answer, in order. */
  readonly appended: AppendedTurn
  /** The recorded usage; absent if none was given, or all messages were already stored. */
  readonly usage?: UsageResult
  /** Why no usage was recorded although one was given. The messages are recorded regardless. */
  readonly usageProblem?: 'unreadable'
  /**
   * The recorded request, for `requests.get`. Absent if no `request` was given, if all messages were already stored, or if it couldn't be
   * recorded: its tools can't be expressed as JSON, or the session was purged after it was prepared.
   */
  readonly requestId?: string
  /**
   * The `changed` field of the request, if it was recorded: the differences from the previous request, and the reasoning that they
   * invalidate.
   */
  readonly changed?: ChangedFrame
  /** The next step: the same request again, the results of tools, or nothing. */
  readonly next: NextStep
  /** Whether the answer was final, which completes the turn. */
  readonly final: boolean
  /** How full the context is now; `null` if the package is switched off. */
  readonly stats: ContextStats | null
}

/** Returns the figures of a usage, given as figures or read from a provider's form; `undefined` if none can be read. */
async function figuresOf(response: CheckedResponse): Promise<z.output<typeof figuresSchema> | undefined> {
  const { usage } = response
  const figures = parsed(figuresSchema, usage)
  if (figures !== undefined) return figures
  return parsed(figuresSchema, await readUsage(usage, modelOfResponse(response).provider))
}

function reportOf(
  response: CheckedResponse,
  usage: z.output<typeof figuresSchema>,
  viewEpoch: number | undefined,
): CheckedUsage {
  const { request } = response
  const sent = request === undefined ? {} : describedBy(request)
  const report = { ...usage, ...modelOfResponse(response), ...sent, ...defined({ viewEpoch }) }
  return check(usageSchema, report, 'requests.recordUsage')
}

/** Returns the provider and model whose limits apply: the given ones, else the request's. */
function modelOfResponse({
  request,
  provider = request?.provider,
  model = request?.model,
}: Pick<CheckedResponse, 'request' | 'provider' | 'model'>) {
  return defined({ provider, model })
}

/** Returns the parts of the next request besides the history, as far as they follow from the last one. */
function nextRequestOf({ request }: CheckedResponse): CheckedStats {
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

/** `Store.recordResponse`, for a checked id. */
export async function recordResponse(
  services: Services,
  sessionId: string,
  response: ResponseInput,
  turn?: TurnUse,
): Promise<RecordedResponse> {
  const { context } = services
  const checked = check(recordSchema, response, 'recordResponse')
  const { request, stopReason, expectedPosition, also } = checked
  if (request !== undefined && request.sessionId !== sessionId)
    throw invalid('recordResponse: the request belongs to another session')
  const reading = checked.usage == null ? undefined : figuresOf(checked)
  // The append may fail before this promise is awaited.
  reading?.catch(() => undefined)
  const prompt = readable('prompt', () => promptMessages(checked.prompt ?? request?.prompt))
  const given = readable('messages', () => prompt.concat(withStopReason(checked.messages, stopReason)))
  const messages = turn === undefined ? given : keyedByTurn(given, turn.id)
  const appended = await services.append(sessionId, messages, defined({ expectedPosition, also }), turn)
  const viewEpoch = await noteModel(context, sessionId, checked)
  const usage = await reading
  const isNew = appended.messages.some(({ existing }) => !existing)
  const requestOf = (billed?: BilledTokens): NewRequest | undefined =>
    request &&
    newRequest(
      request,
      billed,
      { messages, appended: appended.messages, prompt: prompt.length },
      context.storage.redaction,
    )
  const reported =
    usage !== undefined && isNew
      ? await recordUsage(context, sessionId, reportOf(checked, usage, viewEpoch), { requestOf })
      : undefined
  const requestId =
    reported?.requestId ?? (isNew ? await recordAlone(context, sessionId, requestOf, reported) : undefined)
  const changed = reportChange(context, sessionId, request, requestId)
  const next = nextStep(stopReason)
  const { provider, model } = modelOfResponse(checked)
  const stats = await context.stats(sessionId, provider, model, nextRequestOf(checked))
  if (next === 'final' && isNew) {
    context.events.emit('turnComplete', {
      sessionId,
      position: appended.position,
      ...(stopReason != null && { stopReason }),
    })
  }
  if (stats !== null && (checked.auto ?? request?.auto ?? true)) services.background.offer(sessionId, stats)
  return {
    appended,
    ...(reported !== undefined && { usage: reported }),
    ...(reading !== undefined && usage === undefined && { usageProblem: 'unreadable' as const }),
    ...defined({ requestId, changed }),
    next,
    final: next === 'final',
    stats,
  }
}

/** Returns messages with idempotency keys, so that the answer of a turn is appended once, whatever is repeated. */
function keyedByTurn(messages: readonly NewMessage[], turnId: string): readonly NewMessage[] {
  return readable('messages', () => {
    checkMessages(messages)
    return messages.map((message, at) =>
      message.idempotencyKey === undefined ? { ...message, idempotencyKey: `${turnId}/${at}` } : message,
    )
  })
}

/** Emits a `prefixChanged` event if a recorded request changed what precedes its reasoning, and returns the change. */
export function reportChange(
  { events }: StoreContext,
  sessionId: string,
  request: { readonly changed?: ChangedFrame | undefined } | undefined,
  requestId: string | undefined,
): ChangedFrame | undefined {
  if (requestId === undefined || request?.changed === undefined) return undefined
  events.emit('prefixChanged', { sessionId, requestId, ...request.changed })
  return request.changed
}

/**
 * Stores provider and model after an answer. If only the settings give them, the session stays without names. The names begin a new epoch
 * of the same view: it is returned if the request belonged to the previous one, so that its usage counts.
 */
async function noteModel(
  context: StoreContext,
  sessionId: string,
  response: Parameters<typeof modelOfResponse>[0],
): Promise<number | undefined> {
  const names = modelOfResponse(response)
  if (names.provider === undefined) return undefined
  const session = await context.storage.session(sessionId)
  if (session === undefined) return undefined
  const usual = context.modelFor(session)
  const isUsual = canonicalProvider(names.provider) === usual.key && names.model === usual.model
  if (isUsual && response.provider === undefined) return undefined
  const named = await noteNames(context, session, names)
  return response.request?.viewEpoch === session.viewEpoch ? named?.viewEpoch : undefined
}

/** Records a request without a usage. The answer is already stored, so a failure isn't thrown and leaves no record. */
async function recordAlone(
  { storage }: StoreContext,
  sessionId: string,
  requestOf: () => NewRequest | undefined,
  reported: UsageResult | undefined,
): Promise<string | undefined> {
  const request = reported === undefined ? requestOf() : undefined
  if (request === undefined) return undefined
  try {
    return await storage.recordRequest(sessionId, request)
  } catch (error) {
    if (isUndertextError(error)) return undefined
    throw error
  }
}

/** The argument of `requests.recordUsage`. */
export type UsageReportInput =
  | (UsageInput & {
      /** The request returned by `prepareRequest`, to be recorded with its usage. */
      readonly request?: PreparedRequest | undefined
    })
  | (Omit<UsageInput, 'inputTokens'> & {
      /** Omitted if the provider reported no usage: then only the request is recorded. */
      readonly inputTokens?: undefined
      readonly request: PreparedRequest
    })

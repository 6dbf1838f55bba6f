import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { check, functionSchema, nameSchema, ownerOption } from '../../core/messages/check.ts'
import { isObject } from '../../core/messages/json.ts'
import type { NewMessage } from '../../core/messages/message.ts'
import { type PrepareRequestOptions, prepareSchema } from '../../store/requests/options.ts'
import type { PreparedRequest } from '../../store/requests/prepared.ts'
import type { RecordedResponse } from '../../store/requests/record.ts'
import { forkTitleSchema, messagePlaceSchema } from '../forks.ts'
import type { OnConflict } from './chat/log.ts'
import type { ModelMessageOptions } from './model-messages.ts'
import type { PromptHistory } from './prompt-matching.ts'
import type { OnDivergence } from './session-reading.ts'
import type { SdkParams } from './types.ts'

/** The session of a call. */
export type SessionChoice =
  | string
  | ((call: { readonly params: SdkParams; readonly provider: string; readonly model: string }) => string)

const objectSchema = z.custom<object>(isObject, 'must be an object')

/** Messages of a call that could not be stored. */
export type Unrecorded = {
  readonly sessionId: string
  readonly prompt: readonly NewMessage[]
  /** The answer; empty if the model returned nothing. */
  readonly messages: readonly NewMessage[]
}

/** Options of `prepareRequest` that the middleware and a chat's turn set themselves. */
const SET_KEYS = [
  'provider',
  'model',
  'system',
  'maxOutputTokens',
  'signal',
  'prompt',
  'pendingCalls',
  'alsoReads',
] as const
/** Options that the middleware sets. */
const CALL_KEYS = [...SET_KEYS, 'tools', 'files', 'summarizeFile', 'validate'] as const

/** Options of `prepareRequest` that the middleware accepts. */
export type RequestOptions = Omit<PrepareRequestOptions, (typeof CALL_KEYS)[number]>
/** A function that returns these options for each call. */
export type RequestOptionsOf = (call: {
  readonly sessionId: string
  readonly params: SdkParams
}) => RequestOptions

const optionsSchema = z.strictObject({
  /** Our name of the model's provider. Default: derived from the model's `provider`. */
  provider: nameSchema.optional(),
  /** Default: the model's id. */
  model: nameSchema.optional(),
  /** The content of prompts: `auto` (default), `whole`, `new`; see `PromptHistory`. */
  history: z.enum(['auto', 'whole', 'new'] satisfies PromptHistory[]).default('auto'),
  /** What happens if an application continues from an earlier message: `setAside` (default), `append`, `error`. */
  onDivergence: z.enum(['setAside', 'append', 'error'] satisfies OnDivergence[]).default('setAside'),
  /** Whether the prompt is stored if the model returns no complete answer. Default: false. */
  keepPromptOnFailure: z.boolean().default(false),
  /** Whether calls compact and recover from overflows automatically. Default: the store's setting. */
  auto: z.boolean().optional(),
  /** Further options of `prepareRequest`, or a function that returns them for a call. */
  request: z
    .custom<RequestOptions | RequestOptionsOf>(
      (value) => typeof value === 'function' || isObject(value),
      'must be an object or a function',
    )
    .optional(),
  /**
   * For development: checks every prompt with `validateRequest` before it is sent, and rejects the call with `REQUEST_INVALID` if the
   * provider would reject it. Default: false.
   */
  validate: z.boolean().optional(),
  /** The actor that the audit names for hidden messages. */
  actor: nameSchema.optional(),
  /** Receives every request before it is sent. */
  onPrepared: functionSchema<(request: PreparedRequest) => void>().optional(),
  /** Receives every stored answer. */
  onRecorded: functionSchema<(result: RecordedResponse) => void>().optional(),
  /** Called if an answer cannot be stored; the answer is then returned. Without this function the call rejects with the error. */
  onRecordError: functionSchema<(error: unknown, unrecorded: Unrecorded) => void>().optional(),
})

/** Options of `undertext`. */
export type UndertextOptions = z.input<typeof optionsSchema>
export type CheckedOptions = z.output<typeof optionsSchema>

/** Checks the options of the middleware. Throws `INVALID_INPUT`. */
export function checkOptions(options: unknown): CheckedOptions {
  const checked = check(optionsSchema, options, 'undertext')
  if (isObject(checked.request)) {
    for (const key of CALL_KEYS)
      if (Object.hasOwn(checked.request, key)) throw invalid(`undertext: request: ${key} is set by the call`)
    check(prepareSchema, checked.request, 'undertext: request')
  }
  return checked
}

const callSchema = z.strictObject({
  /** The session of this call, instead of the middleware's. */
  sessionId: nameSchema.optional(),
  /** Sends the call unchanged, and stores nothing. */
  skip: z.boolean().optional(),
})

/** `providerOptions.undertext` of one call. */
export type UndertextCallOptions = z.input<typeof callSchema>

/** Returns the options of a call, or an empty object if it has none. Throws `INVALID_INPUT`. */
export function callOptions({ providerOptions }: SdkParams): UndertextCallOptions {
  const given = providerOptions?.undertext
  return given === undefined ? {} : check(callSchema, given, 'providerOptions.undertext')
}

const validationShape = {
  /**
   * Tools of the chat, as in `streamText`: a turn counts them, their inputs and outputs are validated, and their calls of other origins
   * become `tool-<name>`.
   */
  tools: objectSchema.optional(),
  /** A schema of the messages' metadata. */
  metadataSchema: z.custom<unknown>((value) => value !== null, 'must be a schema').optional(),
  /** Schemas of data parts by name. */
  dataSchemas: objectSchema.optional(),
  /** Whether the AI SDK validates messages; it must be installed then. Default: true. */
  validate: z.boolean().optional(),
}

/** The owner of the chat. Another owner's chat counts as not found. */
const ownerShape = { owner: ownerOption }

export const loadSchema = z.strictObject({ ...validationShape, ...ownerShape })
/** Options of `load`: the owner of the chat, and how its messages are validated. */
export type LoadOptions = z.input<typeof loadSchema>

export const chatForkSchema = z.strictObject({
  ...ownerShape,
  /** After or before the message with this id. Default: the chat as it is now. */
  at: messagePlaceSchema.optional(),
  /** The id of the new chat. Default: a UUID. */
  id: nameSchema.optional(),
  /** The title of the new chat. Default: the title of the original. */
  title: forkTitleSchema,
})
export const withdrawSchema = z.strictObject({
  ...ownerShape,
  /** The id of the message. Default: the last message of the chat. */
  messageId: nameSchema.optional(),
})
/** Options of `withdraw`: the owner of the chat, and the message. */
export type WithdrawOptions = z.input<typeof withdrawSchema>

/** Options of `fork` of a chat store: where the copy ends, its id and its title. */
export type ChatForkOptions = z.input<typeof chatForkSchema>

export const chatOptionsSchema = z.strictObject({
  ...validationShape,
  /** How to save a list that does not continue the stored chat: `merge` (default), `replace`, `error`. */
  onConflict: z.enum(['merge', 'replace', 'error'] satisfies OnConflict[]).optional(),
  /** Returns ids for answers. Default: UUIDs. */
  generateMessageId: functionSchema<() => string>().optional(),
  /** The actor that the audit names for rewinds. */
  actor: nameSchema.optional(),
})
/** Options of `chatStore`. */
export type ChatStoreOptions = z.input<typeof chatOptionsSchema>

/** Options of `prepareRequest` that a turn accepts: `threshold`, `tools`, `injector`, `compaction` … */
export type TurnRequestOptions = Omit<PrepareRequestOptions, (typeof SET_KEYS)[number]>

export const turnSchema = z.strictObject({
  ...validationShape,
  /** The model of this turn, or its name with `provider`: both select the context window and the provider's rules. */
  model: z
    .custom<string | { readonly provider: string; readonly modelId: string }>(
      (value) =>
        typeof value === 'string' ||
        (isObject(value) && typeof value.provider === 'string' && typeof value.modelId === 'string'),
      'must be a model, or the name of one',
    )
    .optional(),
  provider: nameSchema.optional(),
  /** The version of the AI SDK's models. Default: the model's version, or `v3`. */
  version: z.enum(['v2', 'v3', 'v4'] satisfies ModelMessageOptions['version'][]).optional(),
  /** The system prompt of this turn; counted, and returned as `system`. */
  system: z.string().optional(),
  maxOutputTokens: z.int().nonnegative().optional(),
  signal: z.instanceof(AbortSignal).optional(),
  /** The owner. Only this owner's chats are found, and new ones belong to the owner. */
  owner: ownerOption,
  /**
   * Runs approved tools again if another request stored the approval and no result is stored. Set it only if that request is no longer
   * running, such as after a crash. Default: false, which throws `APPROVAL_STORED`.
   */
  repeatApproved: z.boolean().optional(),
  /** Further options of `prepareRequest`. */
  request: z
    .custom<TurnRequestOptions>(isObject, 'must be an object')
    .superRefine((request, context) => {
      for (const key of SET_KEYS)
        if (Object.hasOwn(request, key)) context.addIssue(`${key} is set by the turn`)
    })
    .pipe(prepareSchema as unknown as z.ZodType<TurnRequestOptions, TurnRequestOptions>)
    .optional(),
})
const { model, provider, system, maxOutputTokens } = turnSchema.shape
export const chatStatsSchema = z.strictObject({
  ...{ model, provider, system, maxOutputTokens, ...ownerShape },
  /** The tools, as in `streamText`. `system` and `tools` default to the values of the last turn. */
  tools: objectSchema.optional(),
})
/** Options of `stats` of a chat store: the request to measure, and the owner of the chat. */
export type ChatStatsOptions = z.input<typeof chatStatsSchema>

/** Options of a turn. */
export type TurnOptions = z.input<typeof turnSchema>

import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { check, nameSchema } from '../../messages/check.ts'
import { isObject } from '../../messages/json.ts'
import type { NewMessage } from '../../messages/message.ts'
import { type PrepareRequestOptions, prepareSchema } from '../../requests/options.ts'
import type { PreparedRequest } from '../../requests/prepared.ts'
import type { RecordedResponse } from '../../requests/record.ts'
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
const functionSchema = <F>(): z.ZodType<F, F> =>
  z.custom<F>((value) => typeof value === 'function', 'must be a function')

/** What was to be stored of a call. */
export type Unrecorded = {
  readonly sessionId: string
  readonly prompt: readonly NewMessage[]
  /** The answer; empty for an empty one. */
  readonly messages: readonly NewMessage[]
}

/** Options of `prepareRequest` that the middleware and a turn of a chat set themselves. */
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
/** Those that the middleware sets as well. */
const CALL_KEYS = [...SET_KEYS, 'tools', 'files', 'summarizeFile'] as const

/** Options of `prepareRequest` that can be given besides a call. */
export type RequestOptions = Omit<PrepareRequestOptions, (typeof CALL_KEYS)[number]>
/** The same, made for each call. */
export type RequestOptionsOf = (call: {
  readonly sessionId: string
  readonly params: SdkParams
}) => RequestOptions

const optionsSchema = z.strictObject({
  /** The model's provider, by our names. Default: read from the model's own name of its provider. */
  provider: nameSchema.optional(),
  /** Default: the model's id. */
  model: nameSchema.optional(),
  /** What a prompt is: `auto` (default), `whole`, `new`. */
  history: z.enum(['auto', 'whole', 'new'] satisfies PromptHistory[]).default('auto'),
  /** When an application goes on from an earlier message: `setAside` (default), `append`, `error`. */
  onDivergence: z.enum(['setAside', 'append', 'error'] satisfies OnDivergence[]).default('setAside'),
  /** Whether the prompt is stored when the model gave no whole answer. Default false. */
  keepPromptOnFailure: z.boolean().default(false),
  /** Whether calls compact and recover from overflows themselves. Default: the setting. */
  auto: z.boolean().optional(),
  /** Further options of `prepareRequest`, or a function that makes them for a call. */
  request: z
    .custom<RequestOptions | RequestOptionsOf>(
      (value) => typeof value === 'function' || isObject(value),
      'must be an object or a function',
    )
    .optional(),
  /** The actor in the audit, where messages are set aside. */
  actor: nameSchema.optional(),
  /** Called with every request before it is sent. */
  onPrepared: functionSchema<(request: PreparedRequest) => void>().optional(),
  /** Called with every answer that was stored. */
  onRecorded: functionSchema<(result: RecordedResponse) => void>().optional(),
  /** Called when an answer could not be stored; the answer is then passed on. Without it the caller gets the error. */
  onRecordError: functionSchema<(error: unknown, unrecorded: Unrecorded) => void>().optional(),
})

/** Options of `undertext`. */
export type UndertextOptions = z.input<typeof optionsSchema>
export type CheckedOptions = z.output<typeof optionsSchema>

/** Throws `INVALID_INPUT`. */
export function checkOptions(options: unknown): CheckedOptions {
  const checked = check(optionsSchema, options, 'undertext')
  if (isObject(checked.request)) {
    for (const key of CALL_KEYS)
      if (Object.hasOwn(checked.request, key)) throw invalid(`undertext: request: ${key} is the call's own`)
    check(prepareSchema, checked.request, 'undertext: request')
  }
  return checked
}

const callSchema = z.strictObject({
  /** The session of this call, in place of the middleware's. */
  sessionId: nameSchema.optional(),
  /** Sends the call as it is, and stores nothing. */
  skip: z.boolean().optional(),
})

/** `providerOptions.undertext` of one call. */
export type UndertextCallOptions = z.input<typeof callSchema>

/** The options of a call; empty where it has none. Throws `INVALID_INPUT`. */
export function callOptions({ providerOptions }: SdkParams): UndertextCallOptions {
  const given = providerOptions?.undertext
  return given === undefined ? {} : check(callSchema, given, 'providerOptions.undertext')
}

const validationShape = {
  /** Tools of the chat, as `streamText` takes them: their inputs and outputs are validated, and calls of other origins named. */
  tools: objectSchema.optional(),
  /** A schema of the messages' metadata. */
  metadataSchema: z.custom<unknown>((value) => value !== null, 'must be a schema').optional(),
  /** Schemas of data parts by their names. */
  dataSchemas: objectSchema.optional(),
  /** `false`: nothing is validated by the AI SDK, which then need not be installed. Default: true. */
  validate: z.boolean().optional(),
}

export const loadSchema = z.strictObject(validationShape)
/** How messages are validated when they are loaded. */
export type LoadOptions = z.input<typeof loadSchema>

export const chatOptionsSchema = z.strictObject({
  ...validationShape,
  /** What to do with a list that does not continue the stored chat: `merge` (default), `replace`, `error`. */
  onConflict: z.enum(['merge', 'replace', 'error'] satisfies OnConflict[]).optional(),
  /** Makes ids of answers. Default: UUIDs. */
  generateMessageId: functionSchema<() => string>().optional(),
  /** The actor in the audit, where messages are rewound. */
  actor: nameSchema.optional(),
})
/** Options of `chatStore`. */
export type ChatStoreOptions = z.input<typeof chatOptionsSchema>

/** Options of `prepareRequest` that can be given besides a turn: `threshold`, `tools`, `injector`, `compaction` … */
export type TurnRequestOptions = Omit<PrepareRequestOptions, (typeof SET_KEYS)[number]>

export const turnSchema = z.strictObject({
  ...validationShape,
  /** The model for this turn: its provider and id decide what fits, and which rules apply. Or name both. */
  model: z
    .custom<string | { readonly provider: string; readonly modelId: string }>(
      (value) =>
        typeof value === 'string' ||
        (isObject(value) && typeof value.provider === 'string' && typeof value.modelId === 'string'),
      'must be a model, or the name of one',
    )
    .optional(),
  provider: nameSchema.optional(),
  /** Default: the model's own version, else `v3`. */
  version: z.enum(['v2', 'v3', 'v4'] satisfies ModelMessageOptions['version'][]).optional(),
  /** The system prompt of this turn; counted, and returned as `system`. */
  system: z.string().optional(),
  maxOutputTokens: z.int().nonnegative().optional(),
  signal: z.instanceof(AbortSignal).optional(),
  /** The owner of the chat, where it has none yet. */
  owner: nameSchema.optional(),
  /** Further options of `prepareRequest`. */
  request: z
    .custom<TurnRequestOptions>(isObject, 'must be an object')
    .superRefine((request, context) => {
      for (const key of SET_KEYS)
        if (Object.hasOwn(request, key)) context.addIssue(`${key} is the turn's own`)
    })
    .pipe(prepareSchema as unknown as z.ZodType<TurnRequestOptions, TurnRequestOptions>)
    .optional(),
})
/** Options of a turn. */
export type TurnOptions = z.input<typeof turnSchema>

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

/** Whose conversation a call belongs to. */
export type SessionChoice =
  | string
  | ((call: { readonly params: SdkParams; readonly provider: string; readonly model: string }) => string)

const functionSchema = <F>(): z.ZodType<F, F> =>
  z.custom<F>((value) => typeof value === 'function', 'must be a function')

/** What of a call was to be stored. */
export type Unrecorded = {
  readonly sessionId: string
  readonly prompt: readonly NewMessage[]
  /** The answer; nothing when it said nothing. */
  readonly messages: readonly NewMessage[]
}

/** Options of `prepareRequest` that cannot be given: the call, its prompt or the middleware says them. */
const OWN_KEYS = [
  'provider',
  'model',
  'system',
  'tools',
  'prompt',
  'files',
  'summarizeFile',
  'maxOutputTokens',
  'signal',
  'pendingCalls',
  'alsoReads',
] as const
/** Options of `prepareRequest` that can be given beside a call. */
export type RequestOptions = Omit<PrepareRequestOptions, (typeof OWN_KEYS)[number]>
/** The same, made anew for every call. */
export type RequestOptionsOf = (call: {
  readonly sessionId: string
  readonly params: SdkParams
}) => RequestOptions

const optionsSchema = z.strictObject({
  /** Whom the model belongs to, by our names. Default: read from the model's own name of its provider. */
  provider: nameSchema.optional(),
  /** Default: the model's id. */
  model: nameSchema.optional(),
  /** What a prompt is: `auto` (default), `whole`, `new`. */
  history: z.enum(['auto', 'whole', 'new'] satisfies PromptHistory[]).default('auto'),
  /** When an application goes on from an earlier message: `setAside` (default), `append`, `error`. */
  onDivergence: z.enum(['setAside', 'append', 'error'] satisfies OnDivergence[]).default('setAside'),
  /** Whether the prompt is stored when the model gave no whole answer. Default false. */
  keepPromptOnFailure: z.boolean().default(false),
  /** Whether calls answer themselves with compaction and recovery. Default: the setting. */
  auto: z.boolean().optional(),
  /** Further options of `prepareRequest`, or a function that makes them for a call. */
  request: z
    .custom<RequestOptions | RequestOptionsOf>(
      (value) => typeof value === 'function' || isObject(value),
      'must be an object or a function',
    )
    .optional(),
  /** Who did it, in the audit, where messages are set aside. */
  actor: nameSchema.optional(),
  /** Told of every request before it is sent. */
  onPrepared: functionSchema<(request: PreparedRequest) => void>().optional(),
  /** Told of every answer that was stored. */
  onRecorded: functionSchema<(result: RecordedResponse) => void>().optional(),
  /** Told when an answer could not be stored; the answer is then passed on. Without it the caller gets the error. */
  onRecordError: functionSchema<(error: unknown, unrecorded: Unrecorded) => void>().optional(),
})

/** What `undertext` can be told. */
export type UndertextOptions = z.input<typeof optionsSchema>
export type CheckedOptions = z.output<typeof optionsSchema>

/** Throws `INVALID_INPUT` for options that are none. */
export function checkOptions(options: unknown): CheckedOptions {
  const checked = check(optionsSchema, options, 'undertext')
  if (isObject(checked.request)) {
    for (const key of OWN_KEYS)
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

/** What one call says under `providerOptions.undertext`. */
export type UndertextCallOptions = z.input<typeof callSchema>

/** What a call says of itself; nothing where it says nothing. Throws `INVALID_INPUT`. */
export function callOptions({ providerOptions }: SdkParams): UndertextCallOptions {
  const given = providerOptions?.undertext
  return given === undefined ? {} : check(callSchema, given, 'providerOptions.undertext')
}

/** Options for the providers, without ours. */
export function othersOptions({ providerOptions }: SdkParams): Pick<SdkParams, 'providerOptions'> {
  if (providerOptions?.undertext === undefined) return {}
  const { undertext: _, ...others } = providerOptions
  return { providerOptions: others }
}
/** Options of `prepareRequest` that a turn says itself, or that a chat has no use for. */
const TURN_KEYS = [
  'provider',
  'model',
  'system',
  'maxOutputTokens',
  'signal',
  'prompt',
  'pendingCalls',
  'alsoReads',
] as const
/** Options of `prepareRequest` that can be given beside a turn: `threshold`, `tools`, `injector`, `compaction` … */
export type TurnRequestOptions = Omit<PrepareRequestOptions, (typeof TURN_KEYS)[number]>

const objectSchema = z.custom<object>(isObject, 'must be an object')
const validationShape = {
  /** Tools of the chat, as `streamText` takes them: their inputs and outputs are validated, and calls that came from elsewhere named. */
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
  /** What to do with a list that does not go on from what stands: `merge` (default), `replace`, `error`. */
  onConflict: z.enum(['merge', 'replace', 'error'] satisfies OnConflict[]).optional(),
  /** Makes ids of answers. Default: ours. */
  generateMessageId: functionSchema<() => string>().optional(),
  /** Who did it, in the audit, where messages are taken back. */
  actor: nameSchema.optional(),
})
/** What `chatStore` can be told. */
export type ChatStoreOptions = z.input<typeof chatOptionsSchema>

export const turnSchema = z.strictObject({
  ...validationShape,
  /** The model that is going to be asked: its provider and id say what fits, and which rules hold. Or name both. */
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
  /** The system prompt of this turn; counted, and handed back as `system`. */
  system: z.string().optional(),
  maxOutputTokens: z.int().nonnegative().optional(),
  signal: z.instanceof(AbortSignal).optional(),
  /** Whose chat it is, where it has no owner yet. */
  owner: nameSchema.optional(),
  /** Further options of `prepareRequest`. */
  request: z
    .custom<TurnRequestOptions>(isObject, 'must be an object')
    .superRefine((request, context) => {
      for (const key of TURN_KEYS)
        if (Object.hasOwn(request, key)) context.addIssue(`${key} is the turn's own`)
    })
    .pipe(prepareSchema as unknown as z.ZodType<TurnRequestOptions, TurnRequestOptions>)
    .optional(),
})
/** What a turn can be told. */
export type TurnOptions = z.input<typeof turnSchema>

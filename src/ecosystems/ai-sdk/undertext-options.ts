import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { check, nameSchema } from '../../messages/check.ts'
import { isObject } from '../../messages/json.ts'
import type { NewMessage } from '../../messages/message.ts'
import { type PrepareRequestOptions, prepareSchema } from '../../requests/options.ts'
import type { PreparedRequest } from '../../requests/prepared.ts'
import type { RecordedResponse } from '../../requests/record.ts'
import type { PromptHistory } from './known.ts'
import type { SdkParams } from './sdk-types.ts'
import type { OnDivergence } from './session-reading.ts'

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

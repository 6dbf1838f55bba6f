import { z } from 'zod'
import { nameSchema } from '../../../messages/check.ts'
import { isObject } from '../../../messages/json.ts'
import { type PrepareRequestOptions, prepareSchema } from '../../../requests/options.ts'
import type { ModelMessageOptions } from '../to-model-messages.ts'
import type { OnConflict } from './target.ts'

/** Options of `prepareRequest` that a turn says itself, or that a chat has no use for. */
const OWN_KEYS = [
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
export type TurnRequestOptions = Omit<PrepareRequestOptions, (typeof OWN_KEYS)[number]>

const objectSchema = z.custom<object>(isObject, 'must be an object')
const functionSchema = <F>(): z.ZodType<F, F> =>
  z.custom<F>((value) => typeof value === 'function', 'must be a function')

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
      for (const key of OWN_KEYS)
        if (Object.hasOwn(request, key)) context.addIssue(`${key} is the turn's own`)
    })
    .pipe(prepareSchema as unknown as z.ZodType<TurnRequestOptions, TurnRequestOptions>)
    .optional(),
})
/** What a turn can be told. */
export type TurnOptions = z.input<typeof turnSchema>

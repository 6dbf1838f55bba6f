import { z } from 'zod'
import { jsonObjectSchema, labelSchema, nameSchema } from '../../messages/check.ts'
import type { NewMessage } from '../../messages/message.ts'
import type { AppendedMessage, Storage } from '../../storage/storage.ts'

const rangeSchema = z
  .tuple([z.int().positive(), z.int().positive()])
  .refine(([from, to]) => from <= to, 'must not end before it begins')

export const importedCompactionSchema = z.strictObject({
  id: nameSchema,
  kind: z.enum(['condense', 'truncate', 'manual']),
  covers: z.array(rangeSchema),
  text: z.string().optional(),
  createdAt: z.int().optional(),
  reason: z.string().optional(),
  model: z.string().optional(),
  undone: z.boolean().optional(),
})

export const fieldsEventSchema = z.strictObject({
  type: z.literal('fields'),
  title: z.string().optional(),
  formerTitles: z.array(z.string()).readonly().optional(),
  provider: z.string().optional(),
  model: z.string().optional(),
  createdAt: z.number().optional(),
  metadata: jsonObjectSchema.optional(),
})

export const importSchema = z.strictObject({
  /** What the conversation comes from: its metadata stands under this name, and its compactions are told by it. */
  source: nameSchema,
  owner: labelSchema.optional(),
  actor: nameSchema.optional(),
  reason: labelSchema.optional(),
  /** Whether it is only looked what would be done: nothing is written, and compactions are not tried. */
  dryRun: z.boolean().default(false),
  signal: z.instanceof(AbortSignal).optional(),
  /** Called when everything is written and before anybody can see it; what it throws discards the session. */
  beforePublish: z
    .custom<() => Promise<void> | void>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})
export type ImportOptions = z.input<typeof importSchema>
export type CheckedImport = z.output<typeof importSchema>

/** What became of a compaction that came with a conversation. */
export type CompactionOutcome = {
  /** As its own system calls it. */
  readonly id: string
  readonly status: 'applied' | 'known' | 'refused'
  readonly compactionId?: string
  /** Rows it was to hide and that stay, because the laws let no half of a tool call or a system message be hidden. */
  readonly rowsLeft?: number
  /** Why it was refused. */
  readonly why?: string
}

export type SessionImport = {
  readonly sessionId: string
  /** `imported`: a new session. `extended`: what was new was appended to the one there was. `unchanged`: all was there. */
  readonly status: 'imported' | 'extended' | 'unchanged'
  /** Messages that were written, and that were there already. */
  readonly messages: number
  readonly existing: number
  readonly compactions: readonly CompactionOutcome[]
}

/** Who imports, and what compactions of an import are noted with. */
export type ImportRun = {
  readonly source: string
  readonly actor: string | undefined
  readonly reason: string | undefined
}

/** What an import needs of the store it is a verb of. */
export type ImportHost = {
  readonly storage: Storage
  /** The estimator new sessions are counted by. */
  readonly estimator: string
  /** Records what a provider compacted by itself, told by a block among messages that were appended. */
  recordAppended(
    sessionId: string,
    messages: readonly NewMessage[],
    appended: readonly AppendedMessage[],
  ): Promise<unknown>
}

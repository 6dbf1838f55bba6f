import { z } from 'zod'
import { labelSchema, nameSchema } from '../messages/check.ts'
import { SOURCE_NAMES } from './source.ts'

/** How far an import is. */
export type ImportProgress = {
  /** A file is read twice: to check it, and to write what is in it. */
  readonly phase: 'check' | 'write'
  /** Bytes of the file that were read in this phase, of `size`. */
  readonly bytes: number
  readonly size: number
  /** Messages that were read in this phase. */
  readonly messages: number
}

const progressSchema = z.custom<(progress: ImportProgress) => void>(
  (value) => typeof value === 'function',
  'must be a function',
)

/** What can be said about an import; all of it is optional. */
export const importFileSchema = z.strictObject({
  /** The kind of file it is. Default: told by its content. */
  source: z.enum(SOURCE_NAMES).optional(),
  /** Whether the file must be recognised as of that kind, and any other be refused. Default: `source` is taken at its word. */
  checkSource: z.boolean().default(false),
  /** What the session is to be called, for a file with one conversation. Default: the conversation's own id, else the file's name. */
  session: nameSchema.optional(),
  /** What conversations without an id of their own are called, with an ordinal where there are several. Default: the file's name without its ending. */
  name: nameSchema.optional(),
  /** Stands before what sessions are called otherwise. */
  prefix: labelSchema.default(''),
  /** Whether a conversation is stored without the places that cannot be read. Default: nothing of it is stored. */
  skipBad: z.boolean().default(false),
  /** Whether branches that a conversation does not stand on become sessions of their own. Default: they are counted. */
  branches: z.boolean().default(false),
  /** Whether the file may be a symbolic link; without it one is `FILE_UNREADABLE`. */
  followLinks: z.boolean().default(true),
  /** Whether it is only looked what would be stored. */
  dryRun: z.boolean().default(false),
  /** Whose the sessions are. */
  owner: labelSchema.optional(),
  /** Who imports, for the audit log. */
  actor: nameSchema.optional(),
  /** Why, for the audit log. */
  reason: labelSchema.optional(),
  signal: z.instanceof(AbortSignal).optional(),
  /** Hears how far the import is: at the beginning and the end of each phase, and every few megabytes. */
  onProgress: progressSchema.optional(),
})

export type ImportFileOptions = z.input<typeof importFileSchema>
export type CheckedImportFile = z.output<typeof importFileSchema>

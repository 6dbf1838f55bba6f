import { z } from 'zod'
import { type ErrorCode, isUndertextError, UndertextError } from '../core/errors.ts'
import { importOwnerOption, labelSchema, nameSchema } from '../core/messages/check.ts'
import { defined } from '../core/messages/json.ts'
import type { SessionImport } from '../store/history/import/import-types.ts'
import type { Store } from '../store/store.ts'
import { type FileInput, type NoteEvent, type Place, SOURCE_NAMES, type SourceName } from './source.ts'

/** The reason for rejecting a conversation without any readable place. */
export const NOTHING_READ = 'none of it can be read'

/** Returns why a checked conversation isn't stored; `undefined` if it is. */
export function refused(
  { messages, problemCount }: Pick<CheckedConversation, 'messages' | 'problemCount'>,
  skipBad: boolean,
): string | undefined {
  if (problemCount === 0) return undefined
  if (messages === 0) return NOTHING_READ
  if (skipBad) return undefined
  return problemCount === 1 ? 'one place cannot be read' : `${problemCount} places cannot be read`
}

/** The result for a conversation. */
export type Done = Pick<ImportedConversation, 'status'> &
  Partial<Pick<ImportedConversation, 'messages' | 'existing' | 'bookkeeping' | 'visible' | 'why' | 'code'>> &
  Partial<Pick<SessionImport, 'compactions'>>

/** Returns an entry of the report. */
export function outcomeOf(
  sessionId: string,
  checked: Omit<CheckedConversation, 'mark' | 'id' | 'otherwise' | 'sent' | 'unread'>,
  done: Done,
  skipBad = false,
): ImportedConversation {
  const { branchOf, problemCount, noteCount, problems, notes } = checked
  const { status, messages = 0, existing = 0, bookkeeping = 0, visible, compactions = [], why, code } = done
  return {
    sessionId,
    ...defined({ branchOf }),
    ...{ status, messages, existing, bookkeeping },
    ...defined({ visible }),
    compactions: compactionsOf(compactions),
    skipped: skipBad ? problemCount : 0,
    ...{ problemCount, noteCount, problems, notes },
    ...defined({ why, code }),
  }
}

/** The maximum number of listed rejections of one conversation. */
const REFUSALS = 20

function compactionsOf(outcomes: SessionImport['compactions']): ImportedCompactions {
  const count = (status: string): number => outcomes.filter((each) => each.status === status).length
  const refusals = outcomes.flatMap(({ id, status, why }) =>
    status === 'refused' ? [{ id, why: why ?? 'the store rejected it' }] : [],
  )
  return {
    applied: count('applied'),
    known: count('known'),
    refused: refusals.length,
    refusals: refusals.slice(0, REFUSALS),
  }
}

/** The progress of an import. */
export type ImportProgress = {
  /** A file is read twice: first to check it, then to store its contents. */
  readonly phase: 'check' | 'write'
  /** The number of the file's `size` bytes that were read in this phase. */
  readonly bytes: number
  readonly size: number
  /** The number of messages read in this phase. */
  readonly messages: number
}

const progressSchema = z.custom<(progress: ImportProgress) => void>(
  (value) => typeof value === 'function',
  'must be a function',
)

/** Options of an import. All are optional. */
export const importFileSchema = z.strictObject({
  /** The kind of file. Default: detected from its content. */
  source: z.enum(SOURCE_NAMES).optional(),
  /** Whether the file must be recognized as `source`; any other is rejected. Default: false. */
  checkSource: z.boolean().default(false),
  /** The id of the session, for a file with one conversation. Default: the conversation's own id or, if absent, the file's name. */
  session: nameSchema.optional(),
  /**
   * The name of conversations without an id, followed by an ordinal if there are several. Default: the file's name without its extension.
   */
  name: nameSchema.optional(),
  /** A prefix for the ids of sessions. */
  prefix: labelSchema.default(''),
  /** Whether a conversation with unreadable places is stored without them. Default: false, the conversation isn't stored. */
  skipBad: z.boolean().default(false),
  /** Whether other branches become separate sessions. Default: false, they are only counted. */
  branches: z.boolean().default(false),
  /** Whether the file may be a symbolic link; if false, a link throws `FILE_UNREADABLE`. */
  followLinks: z.boolean().default(true),
  /** Whether to only report what would be stored. */
  dryRun: z.boolean().default(false),
  /** The owner of the sessions. */
  owner: importOwnerOption,
  /** The importer, for the audit log. */
  actor: nameSchema.optional(),
  /** The reason, for the audit log. */
  reason: labelSchema.optional(),
  signal: z.instanceof(AbortSignal).optional(),
  /** Receives the progress at the beginning and the end of each phase, and every few megabytes. */
  onProgress: progressSchema.optional(),
})

/** Options of `importFile`. */
export type ImportFileOptions = z.input<typeof importFileSchema>
export type CheckedImportFile = z.output<typeof importFileSchema>

/** The maximum number of problems, and of notes, that a report lists for a file; all of them are counted. */
export const MAX_LISTED = 20

/** The methods of a store that an import needs. */
export type ImportStore = Pick<Store, 'sessions'>

/** The result of checking one conversation. */
export type CheckedConversation = {
  readonly id: string | undefined
  readonly otherwise: string | undefined
  readonly branchOf: string | undefined
  /** The number of messages that can be stored; `sent` counts those that are sent to a model. */
  readonly messages: number
  readonly sent: number
  /** The fields of the first message of an unknown form. */
  readonly unread: readonly string[] | undefined
  readonly problemCount: number
  readonly noteCount: number
  readonly problems: readonly ImportProblem[]
  readonly notes: readonly ImportNote[]
  /** The bytes that had been read when the conversation ended. */
  readonly mark: string
}

/** An import in progress. */
export type Importing = {
  readonly store: ImportStore
  /** The name of the file in errors. */
  readonly path: string
  readonly input: FileInput
  readonly options: CheckedImportFile
  /** Receives the number of messages read in the current phase. */
  readonly onMessages: (count: number) => void
  /** Called between the check and the writing. */
  readonly onWrite: () => void
}

/**
 * The result of a conversation.
 *
 * - `imported`: it is now a session. `extended`: its new messages were appended to an existing session. `unchanged`: all of it was already
 *   stored.
 * - `refused`: nothing of it was stored; `why` is the reason.
 * - `empty`: it has no messages, so there is nothing to store.
 * - `checked`: it could be stored, but wasn't because of `dryRun`.
 */
export type ImportStatus = 'imported' | 'extended' | 'unchanged' | 'refused' | 'empty' | 'checked'

/** An unreadable place, and the reason. Lines and elements count from 1. */
export type ImportProblem = Place & { readonly why: string }

/** Something that was repaired, omitted, or stored without being interpreted. */
export type ImportNote = Place & { readonly kind: NoteEvent['kind']; readonly why: string }

/** The imported compactions of a conversation. */
export type ImportedCompactions = {
  readonly applied: number
  /** Compactions that were imported before. */
  readonly known: number
  readonly refused: number
  /** The reasons for rejections, by the compactions' ids in their own system. */
  readonly refusals: readonly { readonly id: string; readonly why: string }[]
}

/** A conversation in the report of an import. */
export type ImportedConversation = {
  readonly sessionId: string
  /** For a branch, the id of the conversation that it branched from, in its own system. */
  readonly branchOf?: string
  readonly status: ImportStatus
  /** The number of messages that were stored by this import; with `dryRun`, that would be. Bookkeeping rows aren't included. */
  readonly messages: number
  /** The number of its messages that were stored before. */
  readonly existing: number
  /** The number of bookkeeping lines of an agent that were stored by this import, or would be. They become rows that are never sent. */
  readonly bookkeeping: number
  /** The number of messages, summaries and markers in the session's view, if the conversation was imported or extended. */
  readonly visible?: number
  readonly compactions: ImportedCompactions
  /** The number of unreadable places that were omitted (`skipBad`). */
  readonly skipped: number
  readonly problemCount: number
  readonly noteCount: number
  /** The first problems, as `notes` has the first notes: at most 20 of each for all conversations of a file. */
  readonly problems: readonly ImportProblem[]
  readonly notes: readonly ImportNote[]
  /** Why it was rejected, and the store's error code; if there is no code, it has unreadable places. */
  readonly why?: string
  readonly code?: ErrorCode
}

/** The sums of a report. */
export type ImportTotals = {
  readonly conversations: number
  readonly imported: number
  readonly extended: number
  readonly unchanged: number
  readonly refused: number
  readonly empty: number
  readonly checked: number
  readonly messages: number
  readonly existing: number
  readonly bookkeeping: number
  readonly skipped: number
  readonly problems: number
  readonly notes: number
  readonly compactionsApplied: number
  readonly compactionsRefused: number
}

/** The result of an import: plain JSON data, with the same names in every version. */
export type ImportReport = {
  /** The file's name, without its folder. */
  readonly file: string
  /** The number of bytes that were read. */
  readonly size: number
  /** The SHA-256 of these bytes, in hexadecimal. It is the same for an unchanged file. */
  readonly digest: string
  readonly source: SourceName
  readonly dryRun: boolean
  readonly conversations: readonly ImportedConversation[]
  readonly totals: ImportTotals
}

/** A report with its totals. */
export function reportOf(about: Omit<ImportReport, 'totals'>): ImportReport {
  const { conversations } = about
  const sum = (of: (each: ImportedConversation) => number): number =>
    conversations.reduce((total, each) => total + of(each), 0)
  const count = (status: ImportStatus): number => sum((each) => (each.status === status ? 1 : 0))
  const totals = {
    conversations: conversations.length,
    imported: count('imported'),
    extended: count('extended'),
    unchanged: count('unchanged'),
    refused: count('refused'),
    empty: count('empty'),
    checked: count('checked'),
    messages: sum(({ messages }) => messages),
    existing: sum(({ existing }) => existing),
    bookkeeping: sum(({ bookkeeping }) => bookkeeping),
    skipped: sum(({ skipped }) => skipped),
    problems: sum(({ problemCount }) => problemCount),
    notes: sum(({ noteCount }) => noteCount),
    compactionsApplied: sum(({ compactions }) => compactions.applied),
    compactionsRefused: sum(({ compactions }) => compactions.refused),
  }
  return { ...about, totals }
}

/** Returns the error that ends an import, with the number of conversations stored so far. */
export function withCount(
  error: unknown,
  file: string,
  signal: AbortSignal | undefined,
  done: readonly ImportedConversation[],
): unknown {
  const imported = done.filter(isStored).length
  if (isUndertextError(error, 'FILE_CHANGED')) return new UndertextError('FILE_CHANGED', { file, imported })
  const isAborted = signal?.aborted === true && isUndertextError(error)
  if (isAborted && (error.code === 'ABORTED' || error.code === 'IMPORT_ABORTED'))
    return new UndertextError('IMPORT_ABORTED', { file, imported })
  return error
}

function isStored({ status }: ImportedConversation): boolean {
  return status === 'imported' || status === 'extended' || status === 'unchanged'
}

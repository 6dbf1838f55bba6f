import { z } from 'zod'
import { type ErrorCode, isUndertextError, UndertextError } from '../errors.ts'
import type { SessionImport } from '../history/import/import-types.ts'
import { labelSchema, nameSchema } from '../messages/check.ts'
import type { Store } from '../store/store.ts'
import type { CheckedConversation } from './check-file.ts'
import { type FileInput, type NoteEvent, type Place, SOURCE_NAMES, type SourceName } from './source.ts'

/** Why a conversation is refused whose every place is bad: there is no rest that could be stored. */
export const NOTHING_READ = 'nothing of it can be read'

/** Why nothing of a conversation is stored, for what the check found; `undefined` when it is. */
export function refused(
  { messages, problemCount }: Pick<CheckedConversation, 'messages' | 'problemCount'>,
  skipBad: boolean,
): string | undefined {
  if (problemCount === 0) return undefined
  if (messages === 0) return NOTHING_READ
  if (skipBad) return undefined
  return problemCount === 1 ? 'one place cannot be read' : `${problemCount} places cannot be read`
}

/** What was done with a conversation. */
export type Done =
  | (Pick<SessionImport, 'status' | 'messages' | 'existing' | 'compactions'> & Beside)
  | { readonly status: 'refused'; readonly why: string; readonly code?: ErrorCode }
  | { readonly status: 'empty' }
  | ({ readonly status: 'checked'; readonly messages: number; readonly existing: number } & Beside)

/** What is told beside the messages. */
type Beside = { readonly bookkeeping?: number; readonly visible?: number }

/** An entry of the report. */
export function outcomeOf(
  sessionId: string,
  checked: Omit<CheckedConversation, 'mark' | 'id' | 'otherwise'>,
  done: Done,
  skipBad = false,
): ImportedConversation {
  const { branchOf, problemCount, noteCount, problems, notes } = checked
  return {
    sessionId,
    ...(branchOf !== undefined && { branchOf }),
    status: done.status,
    messages: 'messages' in done ? done.messages : 0,
    existing: 'existing' in done ? done.existing : 0,
    bookkeeping: ('bookkeeping' in done ? done.bookkeeping : undefined) ?? 0,
    ...('visible' in done && done.visible !== undefined && { visible: done.visible }),
    compactions: compactionsOf('compactions' in done ? done.compactions : []),
    skipped: skipBad ? problemCount : 0,
    problemCount,
    noteCount,
    problems,
    notes,
    ...('why' in done && { why: done.why }),
    ...('code' in done && { code: done.code }),
  }
}

/** Most refusals of one conversation that are told one by one. */
const REFUSALS = 20

function compactionsOf(outcomes: SessionImport['compactions']): ImportedCompactions {
  const count = (status: string): number => outcomes.filter((each) => each.status === status).length
  const refusals = outcomes.flatMap(({ id, status, why }) =>
    status === 'refused' ? [{ id, why: why ?? 'it cannot be' }] : [],
  )
  return {
    applied: count('applied'),
    known: count('known'),
    refused: refusals.length,
    refusals: refusals.slice(0, REFUSALS),
  }
}

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

/** The most problems, and the most notes, of one file that a report lists; all are counted. */
export const MAX_LISTED = 20

/** What an import needs of a store. */
export type ImportStore = Pick<Store, 'importSession' | 'restoreSession' | 'getSession'> &
  Partial<Pick<Store, 'countMessages'>>

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
 * What became of a conversation.
 *
 * - `imported`: it is a session now. `extended`: what was new of it was appended to the session there was. `unchanged`: all of it was there.
 * - `refused`: nothing of it was stored; `why` says for what reason.
 * - `empty`: it has no messages, so there is nothing to store.
 * - `checked`: it could be stored, and was not, for that was not asked for (`dryRun`).
 */
export type ImportStatus = 'imported' | 'extended' | 'unchanged' | 'refused' | 'empty' | 'checked'

/** A place that could not be read, and why. Lines and elements count from 1. */
export type ImportProblem = Place & { readonly why: string }

/** Something that was mended, left out or kept unread. */
export type ImportNote = Place & { readonly kind: NoteEvent['kind']; readonly why: string }

export type ImportedCompactions = {
  readonly applied: number
  /** Those that were there already. */
  readonly known: number
  readonly refused: number
  /** Why they were refused, by the ids their own system gave them. */
  readonly refusals: readonly { readonly id: string; readonly why: string }[]
}

export type ImportedConversation = {
  readonly sessionId: string
  /** Of a branch: what the conversation it parted from is called in its own system. */
  readonly branchOf?: string
  readonly status: ImportStatus
  /** Messages that were stored now; with `dryRun` those that would be. Lines that say nothing to a model are not among them. */
  readonly messages: number
  /** Messages of it that were stored before. */
  readonly existing: number
  /** Lines of an agent's own bookkeeping that were stored now, or would be: rows that are sent nowhere. */
  readonly bookkeeping: number
  /** Messages, summaries and markers that a model is sent of the session now; of one that was stored or had grown. */
  readonly visible?: number
  readonly compactions: ImportedCompactions
  /** Bad places that were left out (`skipBad`). */
  readonly skipped: number
  readonly problemCount: number
  readonly noteCount: number
  /** The first of them; of all conversations of a file together no more than 20 of each. */
  readonly problems: readonly ImportProblem[]
  readonly notes: readonly ImportNote[]
  /** Why it was refused, and the code where the store refused it; without one it has places that cannot be read. */
  readonly why?: string
  readonly code?: ErrorCode
}

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

/** What an import did: plain JSON data, the same names in every version. */
export type ImportReport = {
  /** The file's name, without its folder. */
  readonly file: string
  /** Bytes that were read. */
  readonly size: number
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

/** What ends an import, with how many conversations are stored by then. */
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

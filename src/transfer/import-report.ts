import type { ErrorCode } from '../errors.ts'
import type { NoteEvent, Place, SourceName } from './source.ts'

/** Most problems, and most notes, of one file that are told one by one; all are counted. */
export const TOLD = 20

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

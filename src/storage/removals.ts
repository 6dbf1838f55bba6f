import type { TextRemover } from '../core/messages/text-removal.ts'
import type { Awaitable } from './jobs.ts'
import type { Authorship } from './sessions.ts'

/* Removing texts from what is stored, for good. */

/** Where a text was found, as numbers of stored values: one message may contain it several times. */
export type TextCounts = {
  /** Occurrences of the text. */
  readonly matches: number
  /** Messages of the log, counted once for all forks that share them. */
  readonly messages: number
  /** Summaries and markers. */
  readonly summaries: number
  /** Texts shown in place of parts. */
  readonly replacements: number
  readonly notes: number
  readonly requests: number
  /** Reasons, parameters and errors of compactions. */
  readonly compactions: number
  /** Background jobs, and the circuits of sessions whose summaries failed. */
  readonly jobs: number
  /** Entries of the audit. */
  readonly audit: number
  /** Title, metadata and config of a session. */
  readonly fields: number
}

/** Kinds of names that contain the text and stay, since other records and programs refer to them. */
export type KeptKind =
  | ('sessionId' | 'owner' | 'messageId' | 'idempotencyKey' | 'toolName' | 'toolCallId')
  | ('noteKey' | 'operationId' | 'unreadable')

/** Names that contain the text and stay, or messages that can't be read. The names themselves aren't repeated. */
export type KeptNames = {
  readonly kind: KeptKind
  readonly count: number
  /** The positions of the first messages with such a name. */
  readonly positions?: readonly number[]
}

export type TextRemoval = Authorship & {
  /** Returns a new remover, since a transaction may be repeated. */
  readonly remover: () => TextRemover
  /** Runs work without a database within a limit of time, which grows with the length of the texts. */
  readonly within: <T>(length: number, work: () => T) => T
  /** Whether nothing is written. */
  readonly dryRun: boolean
  /** The contents that were counted already, because forks share them. */
  readonly seen: Set<string>
}

export type RemovedText = {
  readonly counts: TextCounts
  readonly kept: readonly KeptNames[]
  /** The ids of other sessions that share changed messages. */
  readonly sharedWith: readonly string[]
}

/** Each method is one transaction, preceded by a reading one. */
export interface Removals {
  /** Removes a text from a session, and from the messages that other sessions share with it. Throws `SESSION_NOT_FOUND`. */
  purgeText(id: string, removal: TextRemoval): Awaitable<RemovedText>
  /** Removes a text from the notes of an owner. */
  purgeNotes(owner: string, removal: TextRemoval): Awaitable<RemovedText>
  /** Returns the owners that have notes of their own, as far as the storage sees them. */
  noteOwners(): Awaitable<string[]>
  /** Clears the files; returns whether nothing is left of what was removed. */
  clearFiles(): Awaitable<boolean>
}

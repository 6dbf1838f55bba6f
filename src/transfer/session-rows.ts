import { invalid } from '../core/errors.ts'
import { newNameSchema } from '../core/messages/check.ts'
import { isSilent, type StoredMessage } from '../core/messages/message.ts'
import type { Moment } from '../core/model/moment.ts'
import type { Session } from '../storage/storage.ts'
import type { Store } from '../store/store.ts'
import type { CheckedConversation, CheckedImportFile } from './import-report.ts'

const PAGE = 100

type SessionRowsOptions = {
  /** Whether rows include the texts that replace their parts. */
  readonly shown?: boolean
  /** Whether only rows of the view are returned. */
  readonly visible?: boolean
  /** The first and last position. Default: all. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** The moment of the rows. Default: now. */
  readonly at?: Moment | undefined
  /** `backward`: last row first. */
  readonly order?: 'forward' | 'backward'
}

/** Yields the rows that a session has at the first read, in order and in pages. Later appends aren't included. */
export async function* sessionRows(
  store: Pick<Store, 'getMessages'>,
  { id, messageCount }: Pick<Session, 'id' | 'messageCount'>,
  { from = 1, to = messageCount, order = 'forward', ...options }: SessionRowsOptions = {},
): AsyncGenerator<StoredMessage> {
  const last = Math.min(to, messageCount)
  for (let done = 0; done <= last - from; done += PAGE) {
    const first = order === 'forward' ? from + done : Math.max(from, last - done - PAGE + 1)
    const upTo = order === 'forward' ? Math.min(last, first + PAGE - 1) : last - done
    yield* await store.getMessages(id, { ...options, order, after: first - 1, before: upTo + 1 })
  }
}

/** Yields the rows without an agent's bookkeeping, which is never sent. */
export async function* spokenRows(rows: AsyncIterable<StoredMessage>): AsyncGenerator<StoredMessage> {
  for await (const row of rows) if (!isSilent(row)) yield row
}

/**
 * Returns the ids of a file's conversations, in order: their own ids, otherwise `name`, otherwise the file's name without its extension,
 * followed by an ordinal if there are several. Throws `INVALID_INPUT` if one id is given for several conversations.
 */
export function sessionNames(
  conversations: readonly Pick<CheckedConversation, 'id'>[],
  fileName: string,
  { session, name, prefix }: Pick<CheckedImportFile, 'session' | 'name' | 'prefix'>,
): string[] {
  if (session !== undefined && conversations.length > 1)
    throw invalid(
      `importFile: session names one conversation, but the file has ${conversations.length}; use prefix instead`,
    )
  const stem = name ?? stemOf(fileName)
  return conversations.map(({ id }, i) => {
    if (session !== undefined) return session
    const own = id !== undefined && newNameSchema.safeParse(prefix + id).success ? id : undefined
    return prefix + (own ?? (conversations.length === 1 ? stem : `${stem}-${i + 1}`))
  })
}

/** Returns a file's name, or its path, without its extension. */
export function stemOf(path: string): string {
  return path.replace(/(?<=[^/])\.[^./]*$/, '')
}

/**
 * Returns the alternative id of a conversation whose id is taken; `undefined` if an id was requested, or if the alternative would be
 * invalid.
 */
export function otherName(
  { otherwise }: Pick<CheckedConversation, 'otherwise'>,
  { session, prefix }: Pick<CheckedImportFile, 'session' | 'prefix'>,
): string | undefined {
  if (session !== undefined || otherwise === undefined) return undefined
  return newNameSchema.safeParse(prefix + otherwise).data
}

/** Returns why a conversation can't have an id. */
export function nameTaken(sessionId: string): string {
  return `Session ${JSON.stringify(sessionId)} already exists: it is another conversation, belongs to another owner, or has changed since. Import this one under another id, with session or prefix.`
}

/** Why a history can't have an id: it is restored completely or not at all, and never extended. */
export function historyTaken(sessionId: string): string {
  return `Session ${JSON.stringify(sessionId)} already exists and differs from this history: it is another session, or this one in an older or newer state. Import the history under another id, with session or prefix.`
}

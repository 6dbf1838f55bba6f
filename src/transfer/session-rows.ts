import { invalid } from '../core/errors.ts'
import { newNameSchema } from '../core/messages/check.ts'
import { isSilent, type StoredMessage } from '../core/messages/message.ts'
import type { Moment } from '../core/model/moment.ts'
import type { Session } from '../storage/storage.ts'
import type { Store } from '../store/store.ts'
import type { CheckedConversation, CheckedImportFile } from './import-report.ts'

/** The number of messages per read. */
const PAGE = 100

type SessionRowsOptions = {
  /** With the texts that replace parts. */
  readonly shown?: boolean
  /** Only rows of the view. */
  readonly visible?: boolean
  /** First and last position; default: all. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** The moment of the rows; default: now. */
  readonly at?: Moment | undefined
  /** `backward`: the last first. */
  readonly order?: 'forward' | 'backward'
}

/** Yields the rows of a session at the first read, in order and by pages. Later appends are not included. */
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

/** The rows without an agent's bookkeeping, which is never sent. */
export async function* spokenRows(rows: AsyncIterable<StoredMessage>): AsyncGenerator<StoredMessage> {
  for await (const row of rows) if (!isSilent(row)) yield row
}

/**
 * The ids of a file's conversations, in order: their own, else `name`, else the file's name without its extension, with an ordinal when there are
 * several. Throws `INVALID_INPUT` when one id is given for several conversations.
 */
export function sessionNames(
  conversations: readonly Pick<CheckedConversation, 'id'>[],
  fileName: string,
  { session, name, prefix }: Pick<CheckedImportFile, 'session' | 'name' | 'prefix'>,
): string[] {
  if (session !== undefined && conversations.length > 1)
    throw invalid(`importFile: session names one, and the file has ${conversations.length} (use prefix)`)
  const stem = name ?? stemOf(fileName)
  return conversations.map(({ id }, i) => {
    if (session !== undefined) return session
    const own = id !== undefined && newNameSchema.safeParse(prefix + id).success ? id : undefined
    return prefix + (own ?? (conversations.length === 1 ? stem : `${stem}-${i + 1}`))
  })
}

/** A file's name, or its path, without its extension. */
export function stemOf(path: string): string {
  return path.replace(/(?<=[^/])\.[^./]*$/, '')
}

/** The alternative id of a conversation whose id is taken; none when an id was requested, or when it would be invalid. */
export function otherName(
  { otherwise }: Pick<CheckedConversation, 'otherwise'>,
  { session, prefix }: Pick<CheckedImportFile, 'session' | 'prefix'>,
): string | undefined {
  if (session !== undefined || otherwise === undefined) return undefined
  return newNameSchema.safeParse(prefix + otherwise).data
}

/** Why a conversation cannot have an id. */
export function nameTaken(sessionId: string): string {
  return `There is a session ${JSON.stringify(sessionId)} already, and it is another conversation, belongs to another owner, or says other things by now. Call this one something else, with session or prefix.`
}

/** Why a history cannot have an id: it is restored completely or not at all, and never continued. */
export function historyTaken(sessionId: string): string {
  return `There is a session ${JSON.stringify(sessionId)} already, and it is not this history: it is another session, or this one in an older or newer state. Call this one something else, with session or prefix.`
}

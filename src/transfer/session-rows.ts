import { invalid } from '../errors.ts'
import { nameSchema } from '../messages/check.ts'
import type { StoredMessage } from '../messages/message.ts'
import type { Session } from '../storage/storage.ts'
import type { Store } from '../store/store.ts'
import type { CheckedConversation } from './check-file.ts'
import type { CheckedImportFile } from './import-report.ts'

/** Messages that are read at once. */
const PAGE = 100

type SessionRowsOptions = {
  /** With the texts that rows show in place of parts. */
  readonly shown?: boolean
  /** Only rows of the view. */
  readonly visible?: boolean
  /** First and last position; default: all. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** `backward`: the last first. */
  readonly order?: 'forward' | 'backward'
}

/** The rows of a session as it stood when it was read, in order, a page at a time. What was appended since is not among them. */
export async function* sessionRows(
  store: Pick<Store, 'getMessages'>,
  { id, messageCount }: Pick<Session, 'id' | 'messageCount'>,
  { from = 1, to = messageCount, order = 'forward', ...options }: SessionRowsOptions = {},
): AsyncGenerator<StoredMessage> {
  const last = Math.min(to, messageCount)
  for (let done = 0; done <= last - from; done += PAGE) {
    const first = order === 'forward' ? from + done : Math.max(from, last - done - PAGE + 1)
    const behind = order === 'forward' ? Math.min(last, first + PAGE - 1) : last - done
    yield* await store.getMessages(id, { ...options, order, after: first - 1, before: behind + 1 })
  }
}

/**
 * What the conversations of a file are called, in their order: their own ids, else `name`, else the file's name without its ending, with an
 * ordinal where there are several. Throws `INVALID_INPUT` when one name is given for several.
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
    const own = id !== undefined && nameSchema.safeParse(prefix + id).success ? id : undefined
    return prefix + (own ?? (conversations.length === 1 ? stem : `${stem}-${i + 1}`))
  })
}

/** A file's name, or its path, without its ending. */
export function stemOf(path: string): string {
  return path.replace(/(?<=[^/])\.[^./]*$/, '')
}

/** What a conversation is called where its name is another's: nothing else where a name was asked for, or it cannot be one. */
export function otherName(
  { otherwise }: Pick<CheckedConversation, 'otherwise'>,
  { session, prefix }: Pick<CheckedImportFile, 'session' | 'prefix'>,
): string | undefined {
  if (session !== undefined || otherwise === undefined) return undefined
  return nameSchema.safeParse(prefix + otherwise).data
}

/** Why a conversation cannot have a name. */
export function nameTaken(sessionId: string): string {
  return `There is a session ${JSON.stringify(sessionId)} already, and it is another conversation, belongs to another owner, or says other things by now. Call this one something else, with session or prefix.`
}

/** Why a history cannot have a name: it is restored whole or not at all, and never continued. */
export function historyTaken(sessionId: string): string {
  return `There is a session ${JSON.stringify(sessionId)} already, and it is not this history: it is another session, or this one in an older or newer state. Call this one something else, with session or prefix.`
}

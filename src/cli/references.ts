import type { ListSessionsOptions } from '../config/store-options.ts'
import { isUndertextError, UndertextError } from '../errors.ts'
import { headOf } from '../messages/characters.ts'
import type { Session } from '../storage/storage.ts'
import type { Store } from '../store/store.ts'
import { CliError } from './errors.ts'

const PAGE = 1_000
/** Of a longer text only the beginning is searched for. */
const LONGEST_BEGINNING = 1_000
/** Candidates that an error names. */
const MOST_NAMED = 8

/** All sessions, newest first; without `archived`, archived ones after the others. */
export async function* allSessions(store: Store, options: ListSessionsOptions = {}): AsyncGenerator<Session> {
  for (const archived of options.archived === undefined ? [false, true] : [options.archived]) {
    let { after } = options
    for (;;) {
      const page = await store.listSessions({
        ...options,
        archived,
        limit: PAGE,
        after,
      })
      yield* page
      after = page.at(-1)?.id
      if (page.length < PAGE) break
    }
  }
}

/**
 * The id of a session: the given id, the only one that begins so, or for `@` the one with the newest message. Throws `SESSION_NOT_FOUND`,
 * and `AMBIGUOUS` naming some of those that begin so.
 */
export async function findSession(store: Store, given: string): Promise<string> {
  if (given !== '' && (await isSession(store, given))) return given
  const found: string[] = []
  if (given === '@') {
    const newest = (await store.newestSession()) ?? (await store.newestSession({ archived: true }))
    if (newest !== undefined) found.push(newest)
  } else if (given !== '') {
    for await (const { id } of allSessions(store, { search: headOf(given, LONGEST_BEGINNING) }))
      if (id.startsWith(given)) found.push(id)
  }
  return onlyOne(
    found,
    given,
    'sessions',
    () => new UndertextError('SESSION_NOT_FOUND', { sessionId: given }),
  )
}

async function isSession(store: Store, id: string): Promise<boolean> {
  try {
    await store.getSession(id)
    return true
  } catch (error) {
    // A text that cannot be an id, for example one that is too long, is no error here.
    if (isUndertextError(error, 'SESSION_NOT_FOUND') || isUndertextError(error, 'INVALID_INPUT')) return false
    throw error
  }
}

/**
 * The id of a compaction or a run: the given id, the only one that begins or ends so (ids of one run begin alike), or for `@` the newest
 * run. Throws `COMPACTION_NOT_FOUND`, and `AMBIGUOUS` naming some.
 */
export async function findCompaction(store: Store, sessionId: string, given: string): Promise<string> {
  const compactions = await store.listCompactions(sessionId)
  const ids = new Set(compactions.flatMap(({ id, runId }) => [id, runId]))
  let found: readonly string[] = []
  if (given === '@') {
    const newest = compactions.findLast(({ status }) => status === 'active' || status === 'undone')
    // A compaction undone by its own id is redone by that id only, so a run of one is named by it.
    const isAlone = compactions.filter(({ runId }) => runId === newest?.runId).length === 1
    if (newest !== undefined) found = [isAlone ? newest.id : newest.runId]
  } else if (ids.has(given)) found = [given]
  else if (given !== '') found = [...ids].filter((id) => id.startsWith(given) || id.endsWith(given))
  const missing = () => new UndertextError('COMPACTION_NOT_FOUND', { sessionId, compactionId: given })
  return onlyOne(found, given, 'compactions', missing)
}

/** The id of a request: the given id, its number (`r12` or `12`), or for `@` the newest. Throws `REQUEST_NOT_FOUND`. */
export async function findRequest(store: Store, sessionId: string, given: string): Promise<string> {
  const { incarnation } = await store.getSession(sessionId)
  if (given !== '@') return /^r?[1-9]\d*$/.test(given) ? `${incarnation}:r${given.replace('r', '')}` : given
  let newest: string | undefined
  for (;;) {
    const page = await store.listRequests(sessionId, {
      limit: REQUESTS_AT_ONCE,
      ...(newest !== undefined && { after: newest }),
    })
    newest = page.at(-1)?.id ?? newest
    if (page.length < REQUESTS_AT_ONCE) break
  }
  if (newest === undefined) throw new UndertextError('REQUEST_NOT_FOUND', { sessionId, request: given })
  return newest
}

const REQUESTS_AT_ONCE = 10_000

function onlyOne(found: readonly string[], given: string, what: string, missing: () => Error): string {
  if (found.length === 1) return found[0]!
  if (found.length === 0) throw missing()
  const named = found.slice(0, MOST_NAMED)
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : ''
  throw new CliError(
    'AMBIGUOUS',
    `${JSON.stringify(given)} is part of the ids of several ${what}: ${named.join(', ')}${more}.`,
    { facts: { given, found: named, count: found.length }, hint: 'Give more of the id.' },
  )
}

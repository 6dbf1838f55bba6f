import { UndertextError } from '../errors.ts'
import { headOf } from '../messages/characters.ts'
import type { Session } from '../storage/storage.ts'
import type { SqliteStore } from '../store/open.ts'
import { CliError } from './cli-error.ts'

const PAGE = 1_000
/** Of a longer text only the beginning is searched for. */
const LONGEST_BEGINNING = 1_000
/** So many candidates are named. */
const MOST_NAMED = 8

/** All sessions, newest first, those of the ordinary list before archived ones. */
export async function* allSessions(
  store: SqliteStore,
  which: {
    readonly owner?: string | undefined
    readonly archived?: boolean
    readonly search?: string | undefined
    readonly after?: string | undefined
  } = {},
): AsyncGenerator<Session> {
  const { owner, search } = which
  for (const archived of which.archived === undefined ? [false, true] : [which.archived]) {
    let after = which.after
    for (;;) {
      const asked = {
        archived,
        limit: PAGE,
        ...(owner !== undefined && { owner }),
        ...(search !== undefined && { search }),
        ...(after !== undefined && { after }),
      }
      const page = await store.listSessions(asked)
      yield* page
      after = page.at(-1)?.id
      if (page.length < PAGE) break
    }
  }
}

/**
 * The id of a session: itself, a beginning that only one has, or `@` for the one with the newest message. Throws `SESSION_NOT_FOUND`, and
 * `AMBIGUOUS` naming some of those that begin so.
 */
export async function findSession(store: SqliteStore, given: string): Promise<string> {
  if (given !== '' && (await isSession(store, given))) return given
  if (given === '@') {
    const newest = (await store.newestSession()) ?? (await store.newestSession({ archived: true }))
    if (newest !== undefined) return newest
  }
  const found: string[] = []
  const search = given === '@' || given === '' ? undefined : headOf(given, LONGEST_BEGINNING)
  for await (const { id } of allSessions(store, { search })) {
    if (search === undefined) break
    if (id.startsWith(given)) found.push(id)
  }
  return theOne(found, given, 'sessions', () => new UndertextError('SESSION_NOT_FOUND', { sessionId: given }))
}

async function isSession(store: SqliteStore, id: string): Promise<boolean> {
  try {
    await store.getSession(id)
    return true
  } catch (error) {
    // Too long a text, say, is no id and no error here.
    if (
      error instanceof UndertextError &&
      (error.code === 'SESSION_NOT_FOUND' || error.code === 'INVALID_INPUT')
    )
      return false
    throw error
  }
}

/**
 * The id of a compaction or a run: itself, a beginning or an end that only one has (ids of one run begin alike), or `@` for the
 * newest run. Throws `COMPACTION_NOT_FOUND`, and `AMBIGUOUS` naming some.
 */
export async function findCompaction(store: SqliteStore, sessionId: string, given: string): Promise<string> {
  const compactions = await store.listCompactions(sessionId)
  const missing = (): UndertextError =>
    new UndertextError('COMPACTION_NOT_FOUND', { sessionId, compactionId: given })
  if (given === '@') {
    const newest = compactions.findLast(({ status }) => status === 'active' || status === 'undone')
    if (newest === undefined) throw missing()
    // What was undone by its own id is put back by that, so a run of one goes by it.
    const isAlone = compactions.filter(({ runId }) => runId === newest.runId).length === 1
    return isAlone ? newest.id : newest.runId
  }
  const ids = new Set(compactions.flatMap(({ id, runId }) => [id, runId]))
  if (ids.has(given) || given === '')
    return theOne(given === '' ? [] : [given], given, 'compactions', missing)
  const found = [...ids].filter((id) => id.startsWith(given) || id.endsWith(given))
  return theOne(found, given, 'compactions', missing)
}

function theOne(found: readonly string[], given: string, what: string, missing: () => Error): string {
  if (found.length === 1) return found[0]!
  if (found.length === 0) throw missing()
  const named = found.slice(0, MOST_NAMED)
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : ''
  throw new CliError(
    'AMBIGUOUS',
    `${JSON.stringify(given)} is part of the ids of several ${what}: ${named.join(', ')}${more}.`,
    {
      facts: { given, found: named, count: found.length },
      hint: 'Write more of the id.',
    },
  )
}

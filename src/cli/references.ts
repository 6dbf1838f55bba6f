import { isUndertextError, UndertextError } from '../core/errors.ts'
import { headOf } from '../core/messages/characters.ts'
import type { Moment } from '../core/model/moment.ts'
import type { ListedSession } from '../storage/storage.ts'
import type { Store } from '../store/store.ts'
import type { ListSessionsOptions } from '../store/topics/sessions.ts'
import type { Context } from './command.ts'
import { CliError } from './errors.ts'
import { shownTyped } from './location.ts'
import { sessionsNamed, shortSessionIds } from './output/ids.ts'

/** Sessions of the first page and of the largest: the store sorts all sessions for each page, so pages grow. */
const FIRST_PAGE = 500
const MAX_PAGE = 10_000
/** Only this much of a longer text is searched for. */
const MAX_SEARCH_LENGTH = 1_000
/** The most candidates that an error names. */
const MAX_NAMED = 8

/**
 * All sessions, newest first; without `archived`, archived ones after the others. A session that receives a message meanwhile moves to
 * the beginning, so the beginning is read again until nothing new is there.
 */
export async function* allSessions(
  store: Store,
  options: ListSessionsOptions = {},
): AsyncGenerator<ListedSession> {
  for (const archived of options.archived === undefined ? [false, true] : [options.archived]) {
    const seen = new Set<string>()
    for (let isFirst = true, before = -1; before < seen.size; isFirst = false) {
      before = seen.size
      let after = isFirst ? options.after : undefined
      for (let limit = FIRST_PAGE; ; limit = MAX_PAGE) {
        const page = await store.sessions.list({ ...options, archived, limit, after })
        const others = page.filter((session) => !seen.has(nameOf(session)))
        for (const session of others) seen.add(nameOf(session))
        yield* others
        after = page.at(-1)
        // What follows a session that was seen before has been read.
        if (page.length < limit || (!isFirst && others.length < page.length)) break
      }
      if (options.after !== undefined) break
    }
  }
}

/** Two owners may have a session with the same id. */
function nameOf({ id, owner = '' }: ListedSession): string {
  return `${owner}\0${id}`
}

/** Returns the store in which the id of a listed session names it. */
export function storeOf(store: Store, { owner }: Pick<ListedSession, 'owner'>): Store {
  return owner === undefined ? store : store.forOwner(owner)
}

/** Sessions among which short ids are looked for. */
const MAX_SHORTENED = 10_000

/** Short texts that name sessions; in a store with very many sessions, the ids themselves. */
export async function shortSessions(
  store: Store,
  shown: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids: string[] = []
  for await (const { id } of allSessions(store)) if (ids.push(id) > MAX_SHORTENED) return new Map()
  return shortSessionIds(
    shown.filter((id) => ids.includes(id)),
    ids,
  )
}

/** Opens the store with the session that is named in it. */
export async function openSession(
  context: Context,
  access: Parameters<Context['open']>[0],
  given: string,
): Promise<{ readonly store: Store; readonly id: string }> {
  const store = await context.open(access)
  return { store, id: await findSession(store, given) }
}

/**
 * Returns the id of a session: the given id, the only id that begins with it, else the only id that ends with it, or for `@` the session
 * with the newest message. A session precedes its subagents. Throws `SESSION_NOT_FOUND`, and `AMBIGUOUS` naming some.
 */
export async function findSession(store: Store, given: string): Promise<string> {
  if (given !== '' && (await isSession(store, given))) return given
  const found: string[] = []
  if (given === '@') {
    const newest =
      (await store.sessions.list({ limit: 1 }))[0]?.id ??
      (await store.sessions.list({ limit: 1, archived: true }))[0]?.id
    if (newest !== undefined) found.push(newest)
  } else if (given !== '') {
    for await (const { id } of allSessions(store, { search: headOf(given, MAX_SEARCH_LENGTH) }))
      if (id.startsWith(given) || id.endsWith(given)) found.push(id)
  }
  return onlyOne(
    given === '@' ? found : sessionsNamed(given, found),
    given,
    'sessions',
    () => new UndertextError('SESSION_NOT_FOUND', { sessionId: shownTyped(given) }),
  )
}

async function isSession(store: Store, id: string): Promise<boolean> {
  try {
    await store.sessions.get(id)
    return true
  } catch (error) {
    // A text that can't be an id, for example because it is too long, isn't an error here.
    if (isUndertextError(error, 'SESSION_NOT_FOUND') || isUndertextError(error, 'INVALID_INPUT')) return false
    throw error
  }
}

/**
 * Returns the id of a compaction or a run: the given id, the only id that begins or ends with it (ids of one run begin alike), or for `@`
 * the newest run. Throws `COMPACTION_NOT_FOUND`, and `AMBIGUOUS` naming some.
 */
export async function findCompaction(store: Store, sessionId: string, given: string): Promise<string> {
  const compactions = await store.listCompactions(sessionId)
  const ids = new Set(compactions.flatMap(({ id, runId }) => [id, runId]))
  let found: readonly string[] = []
  if (given === '@') {
    const newest = compactions.findLast(({ status }) => status === 'active' || status === 'undone')
    // A compaction undone by its own id can be redone only by that id, so a run of one compaction is named by it.
    const isAlone = compactions.filter(({ runId }) => runId === newest?.runId).length === 1
    if (newest !== undefined) found = [isAlone ? newest.id : newest.runId]
  } else if (ids.has(given)) found = [given]
  else if (given !== '') found = [...ids].filter((id) => id.startsWith(given) || id.endsWith(given))
  const missing = () =>
    new UndertextError('COMPACTION_NOT_FOUND', { sessionId, compactionId: shownTyped(given) })
  return onlyOne(found, given, 'compactions', missing)
}

/** Returns the id of a request: the given id, its number (`r12` or `12`), or for `@` the newest. Throws `REQUEST_NOT_FOUND`. */
export async function findRequest(store: Store, sessionId: string, given: string): Promise<string> {
  if (shownTyped(given) !== given)
    throw new UndertextError('REQUEST_NOT_FOUND', { sessionId, request: shownTyped(given) })
  const { incarnation } = await store.sessions.get(sessionId)
  if (given !== '@') return /^r?[1-9]\d*$/.test(given) ? `${incarnation}:r${given.replace('r', '')}` : given
  let newest: string | undefined
  for (;;) {
    const page = await store.requests.list(sessionId, {
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
  const named = found.slice(0, MAX_NAMED)
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : ''
  throw new CliError(
    'AMBIGUOUS',
    `${JSON.stringify(given)} matches several ${what}: ${named.join(', ')}${more}.`,
    { facts: { given, found: named, count: found.length }, hint: 'Type more of the id.' },
  )
}

/* Moments on the command line: `kind:value`, or `now`. */

type Reader = (value: string, compaction: (given: string) => Promise<string>) => Moment | Promise<Moment>

const READERS: { readonly [kind: string]: Reader } = {
  message: (id) => ({ afterMessage: id }),
  before: (id) => ({ beforeMessage: id }),
  position: (text) => ({ afterMessage: numberOf(text) }),
  'before-position': (text) => ({ beforeMessage: numberOf(text) }),
  audit: (text) => ({ audit: numberOf(text) }),
  time: (text) => ({ time: timeOf(text) }),
  compaction: async (given, compaction) => ({ afterCompaction: await compaction(given) }),
  'before-compaction': async (given, compaction) => ({ beforeCompaction: await compaction(given) }),
  request: (id) => ({ request: id }),
}

/** The forms of a moment. */
export const MOMENT_FORMS =
  'message:ID, before:ID, position:12, before-position:12, audit:7, time:2026-01-31T10:00:00Z, compaction:ID, before-compaction:ID, request:ID, now'

/** Whether a text is written like a moment. */
export function isMoment(text: string): boolean {
  return text === 'now' || kindOf(text) in READERS
}

/** Reads a moment; returns `undefined` for `now`, the default. Throws `WRONG_USE`, `COMPACTION_NOT_FOUND`. */
export async function momentOf(store: Store, sessionId: string, text = 'now'): Promise<Moment | undefined> {
  if (text === 'now') return undefined
  const read = isMoment(text) ? READERS[kindOf(text)] : undefined
  const value = text.slice(text.indexOf(':') + 1)
  if (read === undefined || value === '') throw wrong(text)
  return read(value, (given) => findCompaction(store, sessionId, given))
}

function kindOf(text: string): string {
  const colon = text.indexOf(':')
  return colon === -1 ? '' : text.slice(0, colon)
}

function numberOf(text: string): number {
  const value = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(value)) throw wrong(text)
  return value
}

/** A time as ISO 8601, or milliseconds since 1970. */
function timeOf(text: string): number {
  const value = /^\d{12,}$/.test(text) ? Number(text) : Date.parse(text)
  if (!Number.isSafeInteger(value)) throw wrong(text)
  return value
}

function wrong(text: string): CliError {
  return new CliError('WRONG_USE', `${JSON.stringify(shownTyped(text))} isn't a moment.`, {
    hint: `A moment is one of ${MOMENT_FORMS}.`,
  })
}

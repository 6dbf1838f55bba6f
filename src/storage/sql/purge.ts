import { UndertextError } from '../../core/errors.ts'
import { isSeen } from '../owners.ts'
import type { Purged, PurgeRequest } from '../storage.ts'
import { writeAudit } from './audit.ts'
import { SAVED_OF_R } from './columns.ts'
import { addReferences, contentBlobs, dropReferences } from './content-codec.ts'
import { INSERT_REPLACEMENT } from './replacements.ts'
import { requestBlobs } from './requests.ts'
import { USERS } from './rewrite.ts'
import { FORKS_OF, requireSession, type StoredSession, sessionOf, sessionsWhere } from './sessions.ts'
import { erasing, type Sql } from './sql.ts'
import { TEXT_OF_R } from './view.ts'
import type { Work } from './work.ts'

/** Removes a session permanently, adds a receipt of ids and numbers to the audit of session 0, and clears the files. */
export function* purgeSession(sql: Sql, id: string, request: PurgeRequest): Work<Purged> {
  const removed = yield* removeSession(sql, id, request)
  const isCleared = request.clearFiles && (yield* sql.clearFiles())
  return isCleared ? removed : { ...removed, filesCleared: false }
}

const removeSession = erasing(
  'sessions.purge',
  function* (sql: Sql, id: string, request: PurgeRequest): Work<Purged> {
    const { forks } = request
    yield* sql.enterAlone(id)
    const session = yield* requireSession(sql, id)
    const direct = yield* sessionsWhere(sql, `{seen} ${FORKS_OF} order by no`, session.no)
    if (direct.length > 0 && forks === undefined)
      throw new UndertextError('HAS_FORKS', { sessionId: id, forks: direct.map((fork) => fork.id) })
    const below = (forks === 'purge' ? yield* forksBelow(sql, direct) : []).filter((one) =>
      isSeen(sql.seen, one),
    )
    // A fork is removed before its origin.
    const all = [session, ...below].reverse()
    const removed: Purged[] = []
    for (const one of all) removed.push(yield* removeOne(sql, one, request))
    const sum = (count: (one: Purged) => number): number => removed.reduce((all, one) => all + count(one), 0)
    return {
      messages: sum(({ messages }) => messages),
      compactions: sum(({ compactions }) => compactions),
      blobs: sum(({ blobs }) => blobs),
      ...(below.length > 0 && { forks: below.map((fork) => fork.id) }),
    }
  },
)

/** Returns the forks of forks too, each after its origin. */
function* forksBelow(sql: Sql, forks: readonly StoredSession[]): Work<StoredSession[]> {
  const found = [...forks]
  for (const { id, owner } of found) {
    // Locked before its forks are read, so that no fork can be added.
    const { no } = yield* sessionOf(sql, id, owner)
    for (const fork of yield* sessionsWhere(sql, `${FORKS_OF} order by no`, no)) found.push(fork)
  }
  return found
}

function* removeOne(
  sql: Sql,
  { id, owner }: StoredSession,
  { actor, reason, mark }: PurgeRequest,
): Work<Purged> {
  const session = yield* sessionOf(sql, id, owner)
  const { no } = session
  const { blobs, compactions } = yield* sql.unguarded(String(no), function* () {
    yield* transferToForks(sql, session)
    const references = yield* contentBlobs(sql, no)
    addReferences(references, yield* requestBlobs(sql, no))
    const inSession = 'in (select key from undertext_messages where {family} session = ?)'
    // Each statement may take long, and its time limit starts when it is sent.
    yield* sql.change(`delete from undertext_replacements where {family} message ${inSession}`, no)
    yield* sql.change(`delete from undertext_contents where {family} key ${inSession}`, no)
    yield* sql.change('delete from undertext_messages where {family} session = ?', no)
    return yield* dropSession(sql, no, references)
  })
  const removed = { messages: session.messageCount, compactions, blobs }
  const named = mark === undefined ? { sessionId: id } : { owner: mark }
  const detail = { ...named, reason: reason ?? null, ...removed }
  yield* writeAudit(sql, 0, { event: 'purged', actor, detail })
  return removed
}

/** SQL: copies of the rows of a session, in the sessions of a list. */
const COPIES = `{list ?} k {cross} undertext_messages m on {family m} m.session = k.value and m.source is not null
  {cross} undertext_messages o on {family o} o.key = m.source where o.session = ?`
/** SQL: each copy, and the copy that inherits each content: that of the oldest session, which has the lowest key. */
const HEIRS = `select m.key as copy, m.source as source, min(m.key) over (partition by m.source) as heir from ${COPIES}`

/**
 * Moves the data that a session's forks need to them: contents and long replacements; its own origin becomes theirs. Must run within
 * `unguarded`, before its rows are removed.
 */
export function* transferToForks(sql: Sql, session: StoredSession): Work<void> {
  const { no } = session
  const users = yield* lockUsers(sql, session)
  if (users.length > 0) yield* transferContents(sql, no, JSON.stringify(users))
  const direct = yield* sessionsWhere(sql, `${FORKS_OF} order by no`, no)
  for (const fork of direct) yield* transferTexts(sql, no, yield* forksBelow(sql, [fork]))
  yield* sql.enter(session.id, session.owner ?? null)
  const copies = `{family} session in (select no from undertext_sessions where ${FORKS_OF}) and copied_from <> ''`
  // The oldest copy keeps the cost of the summaries that the purged session paid for.
  yield* sql.run(
    `update undertext_compactions set copied_from = '' where ${copies}
       and no not in (select min(no) from undertext_compactions where ${copies} group by copied_from)
       and exists (select 1 from undertext_compactions o
         where {family o} o.session = ? and o.id = undertext_compactions.copied_from and o.copied_from is null)`,
    ...[no, no, no],
  )
  yield* sql.run(
    `update undertext_compactions set copied_from = (select o.copied_from from undertext_compactions o
       where {family o} o.session = ? and o.id = undertext_compactions.copied_from)
     where ${copies}`,
    ...[no, no],
  )
  yield* sql.run(
    `update undertext_sessions set forked_from = o.forked_from,
       forked_at = case when o.forked_at < undertext_sessions.forked_at then o.forked_at else undertext_sessions.forked_at end
     from (select no, forked_from, forked_at from undertext_sessions where {family} no = ?) o
     where {family undertext_sessions} undertext_sessions.forked_from = o.no`,
    no,
  )
}

function* transferContents(sql: Sql, no: number, users: string): Work<void> {
  yield* sql.change(
    `insert into undertext_contents ({family,} key, content, metadata, blobs)
     select {?,} h.heir, c.content, c.metadata, c.blobs from (${HEIRS}) h join undertext_contents c on {family c} c.key = h.source
     where h.copy = h.heir`,
    ...[users, no],
  )
  yield* sql.change(
    `delete from undertext_contents where {family} key in (select m.source from ${COPIES})`,
    ...[users, no],
  )
  yield* sql.change(
    `update undertext_messages set source = nullif(h.heir, undertext_messages.key) from (${HEIRS}) h
     where {family undertext_messages} undertext_messages.key = h.copy`,
    ...[users, no],
  )
}

/**
 * Returns the numbers of the sessions that may have copies. They are locked, so that no fork copies a row while its content is moved; a
 * file has a single writer anyway.
 */
function* lockUsers(sql: Sql, session: StoredSession): Work<number[]> {
  const [first, last] = (yield* sql.get(
    'select min(key), max(key) from undertext_messages where {family} session = ?',
    session.no,
  ))!
  const locked = new Set<number>()
  for (;;) {
    const users = yield* sql.all(USERS, first, last)
    const others = users.filter(([no]) => !locked.has(no as number))
    if (!sql.isShared || others.length === 0) return users.map(([no]) => no as number)
    for (const [no, id, owner] of others) {
      locked.add(no as number)
      yield* sql.enter(id as string, owner as string | null)
    }
    yield* sql.enter(session.id, session.owner ?? null)
  }
}

/** Moves the long replacements of a session that a fork and the forks below it show to that fork; those below refer to it from then on. */
function* transferTexts(sql: Sql, session: number, forks: readonly StoredSession[]): Work<void> {
  const rows = yield* sql.all(
    `select r.compaction, r.message, r.part, r.text, ${TEXT_OF_R}, ${SAVED_OF_R}
     from {list ?} k {cross} undertext_compactions c on {family c} c.session = k.value
       {cross} undertext_replacements r on {family r} r.compaction = c.no
       join undertext_compactions o on {family o} o.no = {at r.text 0}
     where c.parts_replaced > 0 and substr(r.text, 1, 1) = '[' and o.session = ? order by r.compaction`,
    JSON.stringify(forks.map(({ no }) => no)),
    session,
  )
  const owners = new Map<string, string>()
  for (const [compaction, message, part, reference, text, ...saved] of rows) {
    const place = `${part} ${reference}`
    const owner = owners.get(place)
    if (owner === undefined) owners.set(place, JSON.stringify([compaction, message]))
    yield* sql.run(
      'delete from undertext_replacements where {family} compaction = ? and message = ? and part = ?',
      ...[compaction, message, part],
    )
    yield* sql.run(INSERT_REPLACEMENT, compaction, message, part, owner ?? text, ...saved)
  }
}

/** Tables with rows of a session, apart from its messages and compactions. */
const DEPENDENT =
  'searched measurements usage jobs circuits operations turns claims requests notes audit'.split(' ')

/**
 * Removes the rest of the entered session, whose messages are gone, and its references to blobs; returns what it removed. Must run within
 * `unguarded`.
 */
export function* dropSession(
  sql: Sql,
  no: number,
  references: ReadonlyMap<string, number>,
): Work<{ readonly compactions: number; readonly blobs: number }> {
  const compactions = yield* sql.change('delete from undertext_compactions where {family} session = ?', no)
  yield* sql.words.remove(sql, no)
  for (const table of DEPENDENT)
    yield* sql.run(`delete from undertext_${table} where {family} session = ?`, no)
  yield* sql.leave()
  // By now all sessions of the family are locked, and writers lock their session before its blobs.
  const blobs = yield* dropReferences(sql, references)
  // Last, because row-level security makes the other rows visible through this one.
  yield* sql.run('delete from undertext_sessions where {family} no = ?', no)
  return { compactions, blobs }
}

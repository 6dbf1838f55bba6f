import { TRANSITIONS, type Transition } from '../../core/model/moment.ts'
import type { Turning } from '../../core/model/reasoning.ts'
import type { AnsweredRequest, ReasoningRecord } from '../requests.ts'
import { RETIRED_BY_RULE, TEXT_PURGED } from './audit.ts'
import { compactionsNumbered, type StoredCompaction } from './compactions.ts'
import { parseStoredObject, storedNumber, storedText } from './content-codec.ts'
import { requireHead, type StoredSession } from './sessions.ts'
import { type Row, reading, type Sql } from './sql.ts'
import { mapped, type Work } from './work.ts'

/*
 * The records that decide whether reasoning may be sent again: the answers of recorded requests, and the compactions that were undone or
 * redone.
 */

const DROP_REASONING = 'drop_reasoning'
const EVENTS = TRANSITIONS.map((event) => `'${event}'`).join(', ')
/** The maximum number of requests without a stored answer that are read. They are turns that ended without an answer. */
const MAX_UNANSWERED = 100
const REQUEST =
  'select no, answer_first, answer_last, provider, model, rendering, audit, position from undertext_requests'

/**
 * Reads the newest answer with a recorded request, and the events since. Reads all answers and turnings with `whole`, if there is no such
 * answer, or if the view before it has changed since. Throws `SESSION_NOT_FOUND`.
 */
export const readReasoning = reading(
  'prepareRequest',
  function* (sql: Sql, id: string, whole: boolean): Work<ReasoningRecord> {
    const session = yield* requireHead(sql, id)
    const newest = yield* sql.get(
      `${REQUEST} where {family} session = ? and answer_last is not null order by answer_last desc limit 1`,
      session.no,
    )
    const since =
      whole || newest === undefined ? undefined : yield* turningsSince(sql, session.no, newest[6] as number)
    // If something before the newest answer changed, its request was made with another prefix, so it doesn't decide.
    const isWhole =
      since === undefined ||
      changedPlaces(since).some((place) => place < (newest![1] as number)) ||
      (yield* purgedTo(sql, session.no, newest![6] as number)) > 0
    const answers = isWhole ? yield* answersOf(sql, session) : [answered(newest!)]
    const open = yield* sql.all(
      `${REQUEST} where {family} session = ? and no > ? and answer_last is null order by no desc limit ?`,
      ...[session.no, isWhole ? 0 : newest![0], MAX_UNANSWERED],
    )
    return {
      isWhole,
      answers,
      open: open.map((row) => ({ rendering: renderingOf(row), position: row[7] as number })),
      ...(isWhole ? yield* turningsSince(sql, session.no, 0) : since),
      unknownTo: isWhole ? yield* unknownTo(sql, session) : 0,
    }
  },
)

/** Returns the first place of each compaction whose state these turnings changed on balance. */
function changedPlaces({ turnings, touches }: Pick<ReasoningRecord, 'turnings' | 'touches'>): number[] {
  const first = new Map(
    turnings.toReversed().map(({ compaction, inForce }) => [compaction, inForce] as const),
  )
  const last = new Map(turnings.map(({ compaction, inForce }) => [compaction, inForce] as const))
  return [...touches].flatMap(([compaction, place]) =>
    first.get(compaction) === last.get(compaction) ? [place] : [],
  )
}

/** Returns the answers of a session and of its origins up to the fork, by position. */
function* answersOf(sql: Sql, session: Pick<StoredSession, 'no'>): Work<AnsweredRequest[]> {
  const answers = yield* mapped(yield* lineOf(sql, session), function* ({ no, last, origin }) {
    const rows = yield* sql.all(
      `${REQUEST} where {family} session = ? and answer_last is not null and answer_first between ? and ? order by answer_first`,
      ...[no, origin + 1, last],
    )
    return rows.map(answered)
  })
  return answers.reverse().flat()
}

function answered(row: Row): AnsweredRequest {
  const name = `request no. ${row[0]}`
  return {
    first: storedNumber(row[1], name),
    last: storedNumber(row[2], name),
    provider: storedText(row[3], name) ?? '',
    model: storedText(row[4], name) ?? '',
    rendering: renderingOf(row),
  }
}

function renderingOf(row: Row): string | undefined {
  return storedText(row[5], `request no. ${row[0]}`)
}

const NO_TURNINGS = { turnings: [], touches: new Map(), onlyReasoning: new Set<number>() } as const

/** Returns the compactions that came into or out of force since an entry of the audit, and the first place that each affects. */
function* turningsSince(
  sql: Sql,
  session: number,
  audit: number,
): Work<Pick<ReasoningRecord, 'turnings' | 'touches' | 'onlyReasoning'>> {
  const rows = yield* sql.all(
    `select no, compaction, event, position from undertext_audit
     where {family} session = ? and no > ? and compaction is not null and event in (${EVENTS}) order by no`,
    session,
    audit,
  )
  if (rows.length === 0) return NO_TURNINGS
  const numbers = [...new Set(rows.map(([, compaction]) => compaction as number))]
  const compactions = new Map(
    (yield* compactionsNumbered(sql, session, numbers)).map((one) => [one.no, one] as const),
  )
  const turnings = rows.flatMap(([, compaction, event, position]): readonly Turning[] => {
    const known = compactions.get(compaction as number)
    // The texts of a preview exist as soon as its messages do.
    if (known === undefined || (known.kind === 'preview' && event === 'created')) return []
    const inForce = (event as Transition['event']) !== 'undone'
    return [{ compaction: known.no, inForce, position: position as number }]
  })
  const replaced = yield* firstReplaced(sql, [...compactions.values()])
  const touches = new Map(
    [...compactions.values()].map(({ no, coverage: { hidden, inserted } }) => {
      const places = [hidden.positions[0]?.[0], ...hidden.inserted.map(({ anchor }) => anchor)]
      const all = [...places, inserted?.anchor, replaced.get(no)].filter((place) => place !== undefined)
      return [no, all.reduce((first, place) => Math.min(first, place), all[0] ?? 0)] as const
    }),
  )
  return { turnings, touches, onlyReasoning: yield* withoutReasoning(sql, [...compactions.values()]) }
}

/** Returns the compactions of the stage that omits reasoning. */
function* withoutReasoning(sql: Sql, compactions: readonly StoredCompaction[]): Work<ReadonlySet<number>> {
  const pruning = compactions.filter(({ kind, rowsHidden }) => kind === 'prune' && rowsHidden === 0)
  if (pruning.length === 0) return new Set()
  const rows = yield* sql.all(
    `select c.no, c.params from {list ?} k {cross} undertext_compactions c on {family c} c.no = k.value`,
    JSON.stringify(pruning.map(({ no }) => no)),
  )
  const found = rows.filter(
    ([no, params]) =>
      params !== null && parseStoredObject(params, 'params', `compaction ${no}`).stage === DROP_REASONING,
  )
  return new Set(found.map(([no]) => no as number))
}

/** Returns the first place of the rows whose parts each compaction replaces. */
function* firstReplaced(
  sql: Sql,
  compactions: readonly StoredCompaction[],
): Work<ReadonlyMap<number, number>> {
  const replacing = compactions.filter(({ partsReplaced }) => partsReplaced > 0).map(({ no }) => no)
  if (replacing.length === 0) return new Map()
  const rows = yield* sql.all(
    `select r.compaction, min(m.anchor) from {list ?} k {cross} undertext_replacements r on {family r} r.compaction = k.value
     {cross} undertext_messages m on {family m} m.key = r.message group by r.compaction`,
    JSON.stringify(replacing),
  )
  return new Map(rows.map(([no, anchor]) => [no as number, anchor as number]))
}

/** Returns the last position of the log when something that was sent was last removed since an entry of the audit; 0 if nothing was. */
function* purgedTo(sql: Sql, session: number, audit: number): Work<number> {
  const row = yield* sql.get(
    'select max(position) from undertext_audit where {family} session = ? and no > ? and (event = ? or case when event = ? then {number detail sent} end > 0)',
    ...[session, audit, TEXT_PURGED, RETIRED_BY_RULE],
  )
  return (row?.[0] as number | null | undefined) ?? 0
}

/** Returns the last position without recorded requests: that of an imported message, or of a message of a fork whose origin is gone. */
function* unknownTo(sql: Sql, session: Pick<StoredSession, 'no'>): Work<number> {
  let unknown = yield* purgedTo(sql, session.no, 0)
  for (const { no, last, origin } of yield* lineOf(sql, session)) {
    const rows = yield* sql.all(
      `select no, event, position, detail from undertext_audit
       where {family} session = ? and event in ('imported', 'forked') order by no`,
      no,
    )
    for (const [entry, event, position, detail] of rows) {
      const found = detail === null ? {} : parseStoredObject(detail, 'detail', `audit entry ${entry}`)
      if (event === 'imported') unknown = Math.max(unknown, Math.min(position as number, last))
      // A fork has this entry for its origin, and an origin has one for each of its forks.
      else if (
        typeof found.from === 'string' &&
        typeof found.position === 'number' &&
        found.position > origin
      )
        unknown = Math.max(unknown, Math.min(found.position, last))
    }
  }
  return unknown
}

/** Returns a session and its origins, each with the last position that it contributes, and the position at which it was forked itself. */
function* lineOf(
  sql: Sql,
  session: Pick<StoredSession, 'no'>,
): Work<{ readonly no: number; readonly last: number; readonly origin: number }[]> {
  const line: { no: number; last: number; origin: number }[] = []
  let [no, last]: [number | undefined, number] = [session.no, Number.MAX_SAFE_INTEGER]
  while (no !== undefined) {
    const row: Row | undefined = yield* sql.get(
      'select forked_from, forked_at from undertext_sessions where {family} no = ?',
      no,
    )
    const from: number | undefined = (row?.[0] as number | null | undefined) ?? undefined
    const origin = from === undefined ? 0 : (row![1] as number)
    line.push({ no, last, origin })
    no = from
    last = Math.min(last, origin)
  }
  return line
}

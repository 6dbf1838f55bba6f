import { listIn } from '../../core/messages/json.ts'
import { spanPlaces } from '../../core/model/coverage.ts'
import { isTransition, type Transition } from '../../core/model/moment.ts'
import {
  entriesBefore,
  evenly,
  requestsAnswered,
  type SizedCompaction,
  type SizedHistory,
  type SizedRow,
  sizesAt,
} from '../../core/model/timeline.ts'
import type { PastAnswer, PastTimeline, TimelineQuery } from '../storage.ts'
import { SAVED_OF_R, SIZE_COLUMNS, savedSizes, sizesOf } from './columns.ts'
import { loadCompactions, type StoredCompaction } from './compactions.ts'
import { encodeRole, requestId, SILENT } from './row-codec.ts'
import { requireHead, type SessionHead } from './sessions.ts'
import { type Row, reading, type Sql } from './sql.ts'
import type { Work } from './work.ts'

/*
 * The sizes of the view at the answers of a session. Each table is read once, without contents; the sizes follow from the rows, the
 * coverages and the transitions, as those of a moment do (moments.ts).
 */

const NARROW = `select key, case when ${SILENT} then 1 else 0 end, ${SIZE_COLUMNS.join(', ')}, position, ordinal, role, created_at
  from undertext_messages where {family} session = ?`
/** The index of the first column after the sizes. */
const PLACE = 2 + SIZE_COLUMNS.length

/** Returns the sizes of the view at the answers of a session, oldest first. Throws `SESSION_NOT_FOUND`. */
export const readTimeline = reading(
  'messages.timeline',
  function* (sql: Sql, id: string, { from, to, points }: TimelineQuery): Work<PastTimeline> {
    const session = yield* requireHead(sql, id)
    const last = Math.min(to ?? session.messageCount, session.messageCount)
    const rows = yield* sql.all(`${NARROW} and position <= ? order by position`, session.no, last)
    const role = encodeRole('assistant')
    const all = rows.filter(
      (row) => row[PLACE + 2] === role && row[1] === 0 && (row[PLACE] as number) >= from,
    )
    const answers = evenly(all, points)
    if (answers.length === 0) return { points: [], answers: 0 }
    const { before, transitions } = yield* entriesOf(sql, session, answers)
    const requests = yield* requestsOf(sql, session, answers)
    const chosen = answers.map((row, at): Omit<PastAnswer, 'view' | 'log'> => {
      const answer = row[PLACE] as number
      const request = requests[at]
      return {
        ...{ answer, point: { position: answer - 1, audit: request?.audit ?? before[at]! } },
        time: row[PLACE + 3] as number,
        request: request && requestId(session.incarnation, request.no),
      }
    })
    const history = yield* sizedHistory(sql, session, rows, transitions)
    const sizes = sizesAt(
      history,
      chosen.map(({ point }) => point),
    )
    return { points: chosen.map((one, at) => ({ ...one, ...sizes[at]! })), answers: all.length }
  },
)

/** Returns the number of the last entry of the audit before each answer, and all transitions. */
function* entriesOf(
  sql: Sql,
  { no }: SessionHead,
  answers: readonly Row[],
): Work<{ readonly before: readonly number[]; readonly transitions: readonly Transition[] }> {
  const rows = yield* sql.all(
    'select no, position, compaction, event from undertext_audit where {family} session = ? order by no',
    no,
  )
  return {
    before: entriesBefore(
      rows.flatMap(([entry, position]) =>
        position === null ? [] : [{ no: entry as number, position: position as number }],
      ),
      answers.map((row) => row[PLACE] as number),
    ),
    transitions: rows.flatMap(([entry, , compaction, event]) =>
      compaction === null || !isTransition(event) ? [] : [{ no: entry, compaction, event } as Transition],
    ),
  }
}

/** Returns the recorded request of each answer. */
function* requestsOf(
  sql: Sql,
  { no }: SessionHead,
  answers: readonly Row[],
): Work<({ readonly no: number; readonly audit: number } | undefined)[]> {
  const positions = answers.map((row) => row[PLACE] as number)
  const rows = yield* sql.all(
    `select no, audit, answer_first, answer_last from undertext_requests
     where {family} session = ? and answer_last is not null and answer_last >= ? order by answer_last, no`,
    no,
    positions[0],
  )
  const requests = rows.map(([request, audit, first, last]) => ({
    ...{ no: request as number, audit: audit as number, first: first as number, last: last as number },
  }))
  return requestsAnswered(requests, positions)
}

/** Returns what the sizes of views depend on. `rows`: the messages of the log, as far as they are needed. */
function* sizedHistory(
  sql: Sql,
  session: SessionHead,
  rows: readonly Row[],
  transitions: readonly Transition[],
): Work<SizedHistory> {
  const insertedRows = yield* sql.all(`${NARROW} and position is null`, session.no)
  const stored = yield* loadCompactions(sql, session.no)
  const replacements = yield* sql.all(
    `select r.message, r.part, r.compaction, ${SAVED_OF_R}
     from undertext_compactions c {cross} undertext_replacements r on {family r} r.compaction = c.no
     where {family c} c.session = ?`,
    session.no,
  )
  const replacedKeys = new Set(replacements.map(([key]) => key as number))
  const byKey = new Map<number, SizedRow & { readonly position: number | null }>()
  const sized = (row: Row): SizedRow => {
    const one = { sizes: sizesOf(row, 2), isSent: row[1] === 0 }
    if (replacedKeys.has(row[0] as number))
      byKey.set(row[0] as number, Object.assign(one, { position: row[PLACE] as number | null }))
    return one
  }
  const log: SizedRow[] = []
  for (const row of rows) log[row[PLACE] as number] = sized(row)
  const inserted = new Map(insertedRows.map((row) => [row[PLACE + 1] as number, sized(row)] as const))
  const replaced = new Map<number, SizedCompaction['replaced'][number][]>()
  const first = new Map<number, number>()
  for (const row of replacements) {
    const [key, part, compaction] = row as [number, number, number]
    const of = byKey.get(key)
    if (of === undefined) continue
    listIn(replaced, compaction).push({ row: of, part, saved: savedSizes(row, 3) })
    if (of.position !== null)
      first.set(compaction, Math.min(of.position, first.get(compaction) ?? of.position))
  }
  const created = new Map<number, number>()
  const recorded = new Set<number>()
  for (const { no, compaction, event } of transitions) {
    recorded.add(compaction)
    if (event === 'created') created.set(compaction, no)
  }
  const compactions = stored.map((one): SizedCompaction => {
    const { no, status, coverage } = one
    const early = recorded.has(no)
      ? earlyPreview(one, first.get(no), created.get(no))
      : status === 'active'
        ? { position: spanPlaces(coverage.hidden)?.[1].anchor ?? 0, audit: Number.POSITIVE_INFINITY }
        : undefined
    return { no, isActive: status === 'active', coverage, replaced: replaced.get(no) ?? [], early }
  })
  return { log, inserted, compactions, transitions }
}

/** Returns where a preview is in force before its own entry, because an append wrote it together with several messages. */
function earlyPreview(
  { kind }: StoredCompaction,
  position: number | undefined,
  audit: number | undefined,
): SizedCompaction['early'] {
  if (kind !== 'preview' || position === undefined || audit === undefined) return undefined
  return { position, audit }
}

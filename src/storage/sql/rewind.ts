import { UndertextError } from '../../core/errors.ts'
import { type Coverage, coverageOf } from '../../core/model/coverage.ts'
import {
  applyPlan,
  type PlannedReplacement,
  planRewind,
  pointingAfter,
  reopenedReasoning,
  restoredPart,
} from '../../core/model/plan.ts'
import type { View } from '../../core/model/view.ts'
import type { ViewRow } from '../../core/model/view-row.ts'
import { NO_SIZES, type Sizes, tokensOf } from '../../core/tokens/measure.ts'
import type { Previewing, RewindOperation, RewindRequest, Rewound } from '../storage.ts'
import { type Write, withAlso, writeMessages } from './append.ts'
import { SAVED_OF_R, savedSizes } from './columns.ts'
import { commitStep } from './commit.ts'
import { stale } from './compaction-row.ts'
import {
  compactionsNumbered,
  requiredKeys,
  type StoredCompaction,
  someCompactions,
  storedNesting,
} from './compactions.ts'
import { parseReplacement, storedRow } from './content-codec.ts'
import { requireKey } from './pins.ts'
import { planLift } from './plan-undo.ts'
import { viewIndex } from './planning.ts'
import { rowId } from './row-codec.ts'
import { readSession, requireSession, type StoredSession } from './sessions.ts'
import { reading, type Sql } from './sql.ts'
import { useTurn } from './turns.ts'
import { Turning, writeTurned } from './undo.ts'
import { TEXT_OF_R, VISIBLE } from './view.ts'
import { mapped, type Work } from './work.ts'

/**
 * Hides the end of the view, from a row on, and appends messages, in one transaction. The plan is made within the transaction, so no append
 * can come between. The remaining view existed before, so it is valid, except that tool calls may be pending again.
 */
export function* rewind(
  sql: Sql,
  sessionId: string,
  request: RewindRequest,
  previewing?: Previewing,
): Work<Rewound> {
  const { append: messages, operation, also } = request
  const isAppending = messages.length > 0
  const writing = { sessionId, messages, previewing }
  const work = function* (write: Write): Work<Rewound> {
    if (request.turn !== undefined) yield* useTurn(sql, sessionId, request.turn)
    const session = yield* readSession(sql, sessionId)
    const known = operation && session && (yield* knownOperation(sql, session, operation))
    if (known !== undefined) return known
    if (!matchesSession(request, session)) throw stale(sessionId, 'the session has changed')
    const hidden = session === undefined ? NOTHING : yield* hideFrom(sql, session, request)
    if (session === undefined && (!isAppending || typeof request.from === 'object'))
      throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
    const appended = isAppending ? yield* write(request.expectedPosition) : { messages: [] }
    if (operation !== undefined) {
      const { no } = session ?? (yield* readSession(sql, sessionId))!
      const positions = JSON.stringify(appended.messages.map(({ position }) => position))
      yield* sql.run(
        'insert into undertext_operations ({family,} session, id, digest, compaction, positions) values ({?,} ?, ?, ?, ?, ?)',
        no,
        operation.id,
        operation.digest,
        hidden.no ?? null,
        positions,
      )
    }
    const compaction = hidden.no === undefined ? {} : { compactionId: request.compactionId }
    return { ...appended, ...compaction, rowsHidden: hidden.rows, existing: false }
  }
  return yield* writeMessages(sql, 'rewind', writing, withAlso(sql, work, also))
}

function matchesSession({ madeFor }: RewindRequest, session: StoredSession | undefined): boolean {
  if (madeFor === undefined) return true
  return madeFor?.incarnation === session?.incarnation && madeFor?.version === session?.version
}

type Hidden = { readonly no: number | undefined; readonly rows: number }
const NOTHING: Hidden = { no: undefined, rows: 0 }

/** Returns whether no row is visible, not even a silent one. */
function* isEmpty(sql: Sql, { no, visibleCount }: StoredSession): Work<boolean> {
  if (visibleCount > 0) return false
  const seen = `select 1 from undertext_messages {index undertext_visible} where {family} session = ? and ${VISIBLE} limit 1`
  return (yield* sql.get(seen, no)) === undefined
}

function* hideFrom(sql: Sql, before: StoredSession, request: RewindRequest): Work<Hidden> {
  const { id: sessionId } = before
  const { expectedPosition, provider, run, compactionId } = request
  if (expectedPosition !== undefined && expectedPosition !== before.messageCount) {
    const facts = { sessionId, expected: expectedPosition, actual: before.messageCount }
    throw new UndertextError('POSITION_CONFLICT', facts)
  }
  if (request.from === 'end' || (request.from === 'start' && (yield* isEmpty(sql, before)))) return NOTHING
  const point = yield* findPoint(sql, before, request)
  const { lifts, restores } = request.keepCompactions
    ? { lifts: yield* reachingTo(sql, before, point, request), restores: [] }
    : yield* turnedSince(sql, before, point)
  const lifted = yield* planLift(storedNesting(sql, before.no), lifts)
  const undoing = { ...run, cascade: false, both: true, showRetired: request.showRetired === true }
  const turning = new Turning(sql, before, undoing)
  yield* turning.turn(lifted, restores, compactionId)

  const session = lifted.length + restores.length > 0 ? yield* requireSession(sql, sessionId) : before
  const view = yield* viewIndex(sql, session, provider)
  const from = indexIn(view, point)
  const restored = yield* restoredParts(sql, session, view, from)
  const plan = planRewind(view, from, restored, request.keepCompactions, request.params)
  const planned = applyPlan(view, plan, -1, session.inserted + 1)
  const step = { ...planned, id: compactionId, createdAt: Date.now() }
  const coverage = { ...coverageOf(view, plan, undefined), ...turned(lifted, restores) }
  const tokensBefore = tokensOf(before.visibleSizes, before.visibleCount, view.estimator, provider)
  const place = { coverage, ordinal: session.inserted, rank: session.version + 1, tokensBefore }
  const no = yield* commitStep(sql, session, run, step, place, new Map())
  yield* writeTurned(sql, no, lifted, restores)
  yield* turning.rejectRetired({ no, id: compactionId, partsReplaced: restored.length })
  return { no, rows: plan.hide.length }
}

/** Returns the part of a rewind's coverage about the compactions that it undoes and redoes, in order of rank. */
function turned(
  lifted: readonly StoredCompaction[],
  restored: readonly StoredCompaction[],
): Pick<Coverage, 'lifts' | 'restores'> {
  const numbers = (list: readonly StoredCompaction[]): number[] =>
    list.toSorted((a, b) => a.rank - b.rank).map(({ no }) => no)
  return {
    ...(lifted.length > 0 && { lifts: numbers(lifted) }),
    ...(restored.length > 0 && { restores: numbers(restored) }),
  }
}

/** The start of a rewind: the message at a position, or a row of the current view. */
type Point = {
  readonly position: number
  /** The key of the row if it isn't a message. Compactions before it stay, so it is in the view. */
  readonly key?: number
}

function* findPoint(sql: Sql, session: StoredSession, request: RewindRequest): Work<Point> {
  const { from, keepCompactions } = request
  if (typeof from !== 'object') return { position: 1 }
  const message = from.beforeMessage
  if (typeof message === 'number') {
    const { messageCount } = (yield* readSession(sql, session.id))!
    if (message <= messageCount) return { position: message }
    throw new UndertextError('MESSAGE_NOT_FOUND', { sessionId: session.id, messageId: String(message) })
  }
  const key = yield* requireKey(sql, session, message)
  const row = yield* sql.get(
    `select position, anchor, inserted_by, ${VISIBLE} from undertext_messages where {family} key = ?`,
    key,
  )
  const [position, anchor, insertedBy, isVisible] = storedRow(row, key) as readonly number[]
  if (position !== null) return { position: position! }
  if (keepCompactions && isVisible === 1) return { position: anchor! + 1, key }
  return { position: yield* firstReplaced(sql, session, insertedBy!) }
}

/** Returns the position of the first message that the inserted row of a compaction stands for. */
function* firstReplaced(sql: Sql, session: StoredSession, compaction: number): Work<number> {
  const [stored] = yield* compactionsNumbered(sql, session.no, [compaction])
  const { positions, inserted } = storedRow(stored, `compaction no. ${compaction}`).coverage.hidden
  let lowest = positions[0]?.[0] ?? Number.POSITIVE_INFINITY
  for (const { ordinal } of inserted) {
    const row = yield* sql.get(
      'select inserted_by from undertext_messages where {family} session = ? and position is null and ordinal = ?',
      session.no,
      ordinal,
    )
    lowest = Math.min(
      lowest,
      yield* firstReplaced(sql, session, storedRow(row, `inserted row no. ${ordinal}`)[0] as number),
    )
  }
  return lowest
}

function indexIn(view: View, { position, key }: Point): number {
  const index = key === undefined ? undefined : view.indexOf(key)
  if (index !== undefined) return index
  const first = view.rows.findIndex(({ anchor }) => anchor >= position)
  return first === -1 ? view.rows.length : first
}

/**
 * Returns the compactions to undo and redo so that the same ones are active as when a message was appended. The first audit entry after
 * that point decides for each. Previews are left alone, because they belong to their appends.
 */
function* turnedSince(
  sql: Sql,
  session: StoredSession,
  { position }: Point,
): Work<{ lifts: StoredCompaction[]; restores: StoredCompaction[] }> {
  const entries = yield* sql.all(
    `select compaction, event from undertext_audit
     where {family} session = ? and compaction is not null and position >= ? and event in ('created', 'undone', 'redone') order by no`,
    session.no,
    position,
  )
  const first = new Map<number, string>()
  for (const [compaction, event] of entries)
    if (!first.has(compaction as number)) first.set(compaction as number, event as string)
  const turned = yield* compactionsNumbered(sql, session.no, [...first.keys()])
  return {
    lifts: turned.filter(({ no, status, kind }) => {
      const event = first.get(no)
      return status === 'active' && (event === 'redone' || (event === 'created' && kind !== 'preview'))
    }),
    restores: turned.filter(({ no, status }) => status === 'undone' && first.get(no) === 'undone'),
  }
}

/**
 * Returns the active compactions, except previews, that cover a row at or after a position. A rewind from the start undoes none, because it
 * would hide their rows anyway.
 */
function* reachingTo(
  sql: Sql,
  session: StoredSession,
  { position }: Point,
  { from }: RewindRequest,
): Work<StoredCompaction[]> {
  if (from === 'start') return []
  const replacing = yield* sql.all(
    `select distinct r.compaction from undertext_messages m {cross} undertext_replacements r on {family r} r.message = m.key
     where {family m} m.session = ? and m.position >= ?
     union
     select distinct r.compaction from undertext_messages m {cross} undertext_replacements r on {family r} r.message = m.key
     where {family m} m.session = ? and m.position is null and m.anchor >= ?`,
    session.no,
    position,
    session.no,
    position,
  )
  return yield* someCompactions(
    sql,
    session.no,
    `c.status = 'active' and c.kind <> 'preview' and (c.last_anchor >= ? or c.no in (select value from {list ?} k))`,
    position,
    JSON.stringify(replacing.map(([no]) => no)),
  )
}

/**
 * Returns the parts before a rewind that are shown in full again: those that point to a copy that the rewind hides, and the reasoning of a
 * tool loop that becomes the last one.
 */
function* restoredParts(
  sql: Sql,
  session: StoredSession,
  view: View,
  from: number,
): Work<PlannedReplacement[]> {
  const pointers = yield* mapped(pointingAfter(view, from), function* ({ row, copies }) {
    const wanted = new Set(copies)
    const shown = yield* shownParts(sql, session, row)
    return shown.filter(({ copies: own }) => own.some((key) => wanted.has(key)))
  })
  const thoughts = yield* mapped(reopenedReasoning(view, from), function* (row) {
    const shown = yield* shownParts(sql, session, row)
    return shown.filter(
      ({ part, text, isMoved }) =>
        text === '' && !isMoved && !row.results.some((result) => result.part === part),
    )
  })
  return [...pointers, ...thoughts]
    .flat()
    .map(({ row, part, saved, preview }) => restoredPart(row, part, saved, preview))
}

type ShownPart = {
  readonly row: ViewRow
  readonly part: number
  readonly text: string | null
  readonly saved: Sizes
  /** The keys of the copies that its compaction points to. */
  readonly copies: readonly number[]
  /** Whether it was moved to the row that its compaction inserted. */
  readonly isMoved: boolean
  /** The preview that it replaced. */
  readonly preview: { readonly text: string; readonly saved: Sizes } | undefined
}

function* shownParts(sql: Sql, session: StoredSession, row: ViewRow): Work<ShownPart[]> {
  const replacements = (yield* sql.all(
    `select r.compaction, r.part, ${TEXT_OF_R}, c.id, c.kind, c.requires, c.rows_inserted,
         ${SAVED_OF_R}
       from undertext_replacements r join undertext_compactions c on {family c} c.no = r.compaction
       where {family r} r.message = ? and c.session = ? and c.status = 'active' order by r.part`,
    row.key,
    session.no,
  )).map(([compaction, part, stored, id, kind, requires, inserted, ...saved]) => ({
    ...{ row, compaction, kind, part: part as number },
    text: parseReplacement(stored, row.id),
    saved: savedSizes(saved),
    copies: requiredKeys(id as string, requires).map(([key]) => key),
    isMoved: inserted !== 0,
  }))
  return replacements.flatMap((one) => {
    if (!row.shown.some(({ part, compaction }) => part === one.part && compaction === one.compaction))
      return []
    const beneath = replacements.find(
      (other) => other.kind === 'preview' && other.part === one.part && other !== one,
    )
    const { text, saved } = beneath ?? { text: null, saved: NO_SIZES }
    return [{ ...one, preview: text === null ? undefined : { text, saved } }]
  })
}

/** Returns the result of an operation if it was done before. Throws `OPERATION_CONFLICT` if its id was used for another operation. */
export const rewound = reading(
  'rewind',
  function* (sql: Sql, sessionId: string, operation: RewindOperation): Work<Rewound | undefined> {
    const session = yield* readSession(sql, sessionId)
    return session && (yield* knownOperation(sql, session, operation))
  },
)

function* knownOperation(
  sql: Sql,
  session: StoredSession,
  { id, digest }: RewindOperation,
): Work<Rewound | undefined> {
  const row = yield* sql.get(
    `select o.digest, o.positions, c.id, c.rows_hidden from undertext_operations o
     left join undertext_compactions c on {family c} c.no = o.compaction where {family o} o.session = ? and o.id = ?`,
    session.no,
    id,
  )
  if (row === undefined) return undefined
  const [stored, positions, compactionId, rowsHidden] = row
  if (stored !== digest)
    throw new UndertextError('OPERATION_CONFLICT', { sessionId: session.id, operationId: id })
  return {
    messages: yield* appendedAt(sql, session, positions as string),
    ...(typeof compactionId === 'string' && { compactionId }),
    rowsHidden: (rowsHidden as number | null) ?? 0,
    existing: true,
  }
}

function* appendedAt(sql: Sql, session: StoredSession, positions: string): Work<Rewound['messages']> {
  const rows = yield* sql.all(
    'select m.position, m.id from {list ?} p join undertext_messages m on {family m} m.session = ? and m.position = p.value',
    positions,
    session.no,
  )
  const ids = new Map(rows as unknown as [number, unknown][])
  // Sorted in the order of the call, because known messages keep their earlier positions.
  return (JSON.parse(positions) as number[]).map((position) => ({
    id: rowId(session.incarnation, ids.get(position), position, 0),
    position,
    existing: true,
  }))
}

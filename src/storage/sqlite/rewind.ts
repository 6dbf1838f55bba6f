import { coverageOf } from '../../core/coverage.ts'
import { applyPlan, type PlannedReplacement } from '../../core/plan.ts'
import { planRewind, pointingBehind, restoredPart, thinkingAgain } from '../../core/rewind.ts'
import { NO_SIZES, type Sizes } from '../../core/tokens.ts'
import type { View, ViewRow } from '../../core/view.ts'
import { UndertextError } from '../../errors.ts'
import type {
  Estimators,
  Previewing,
  RewindOperation,
  RewindPoint,
  RewindRequest,
  Rewound,
} from '../storage.ts'
import { prepareAppend } from './append.ts'
import { commitStep } from './commit.ts'
import { requiredKeys } from './compactions.ts'
import type { Connection } from './connection.ts'
import { parseReplacement } from './content-codec.ts'
import { requireKey } from './pins.ts'
import { viewIndex } from './planning.ts'
import { rowId } from './row-codec.ts'
import { readSession, type StoredSession } from './sessions.ts'

/**
 * Hides the end of the view from a row on and appends messages: one transaction, planned within it, so nothing that others append
 * can come between. What it hides was said last, so the view that is left is one that has been (law 2 holds for it, but for
 * calls that wait again).
 */
export function rewind(
  connection: Connection,
  sessionId: string,
  request: RewindRequest,
  estimators: Estimators,
  previewing?: Previewing,
): Rewound {
  const { append: messages, operation } = request
  const write = messages.length === 0 ? undefined : prepareAppend(messages, estimators, previewing)
  return connection.write('rewind', () => {
    const session = readSession(connection, sessionId)
    const known = operation && session && knownOperation(connection, session, operation)
    if (known !== undefined) return known
    if (!isMadeFor(request, session)) throw stale(sessionId, 'the session was changed since', [])
    const hidden = session === undefined ? NOTHING : hideFrom(connection, session, request, estimators)
    if (session === undefined && (write === undefined || typeof request.from === 'object'))
      throw new UndertextError('SESSION_NOT_FOUND', { sessionId })
    const appended = write?.(connection, sessionId, request.expectedPosition) ?? { messages: [] }
    if (operation !== undefined) {
      const { no } = session ?? readSession(connection, sessionId)!
      const positions = JSON.stringify(appended.messages.map(({ position }) => position))
      connection.run(
        'insert into undertext_operations (session, id, digest, compaction, positions) values (?, ?, ?, ?, ?)',
        no,
        operation.id,
        operation.digest,
        hidden.no ?? null,
        positions,
      )
    }
    const compaction = hidden.no === undefined ? {} : { compactionId: request.compactionId }
    return { ...appended, ...compaction, rowsHidden: hidden.rows, existing: false }
  })
}

function isMadeFor({ madeFor }: RewindRequest, session: StoredSession | undefined): boolean {
  if (madeFor === undefined) return true
  return madeFor?.incarnation === session?.incarnation && madeFor?.version === session?.version
}

type Hidden = { readonly no: number | undefined; readonly rows: number }
const NOTHING: Hidden = { no: undefined, rows: 0 }

function hideFrom(
  connection: Connection,
  session: StoredSession,
  request: RewindRequest,
  estimators: Estimators,
): Hidden {
  const { id: sessionId } = session
  const { expectedPosition } = request
  if (expectedPosition !== undefined && expectedPosition !== session.messageCount) {
    const facts = { sessionId, expected: expectedPosition, actual: session.messageCount }
    throw new UndertextError('POSITION_CONFLICT', facts)
  }
  if (request.from === 'end') return NOTHING
  const view = viewIndex(connection, session, request.provider, estimators)
  const from = indexIn(connection, session, view, request.from)
  if (from === view.rows.length) return NOTHING
  const plan = planRewind(view, from, restoredParts(connection, session, view, from))
  const planned = applyPlan(view, plan, -1, session.inserted + 1)
  const step = { ...planned, id: request.compactionId, createdAt: Date.now() }
  const coverage = coverageOf(view, plan, undefined)
  const place = { coverage, ordinal: session.inserted, rank: session.version + 1 }
  const no = commitStep(connection, session, request.run, step, place, new Map())
  return { no, rows: plan.hide.length }
}

function indexIn(
  connection: Connection,
  session: StoredSession,
  view: View,
  from: Exclude<RewindPoint, 'end'>,
): number {
  if (from === 'start') return 0
  const { messageId } = from
  const index = view.indexOf(requireKey(connection, session, messageId))
  if (index === undefined) throw stale(session.id, 'it is not visible', [messageId])
  return index
}

function stale(sessionId: string, why: string, messageIds: readonly string[]): UndertextError<'STALE_PLAN'> {
  return new UndertextError('STALE_PLAN', { sessionId, why, messageIds })
}

/** Parts before a rewind that show themselves again: what points at a copy behind it, and reasoning a loop needs that it opens. */
function restoredParts(
  connection: Connection,
  session: StoredSession,
  view: View,
  from: number,
): PlannedReplacement[] {
  const pointers = pointingBehind(view, from).flatMap(({ row, copies }) => {
    const wanted = new Set(copies)
    return shownParts(connection, session, row).filter(({ leans }) => leans.some((key) => wanted.has(key)))
  })
  const thoughts = thinkingAgain(view, from).flatMap((row) =>
    shownParts(connection, session, row).filter(
      ({ part, text, isMoved }) =>
        text === '' && !isMoved && !row.results.some((result) => result.part === part),
    ),
  )
  return [...pointers, ...thoughts].map(({ row, part, saved, preview }) =>
    restoredPart(row, part, saved, preview),
  )
}

type ShownPart = {
  readonly row: ViewRow
  readonly part: number
  readonly text: string | null
  readonly saved: Sizes
  /** Keys of the copies that its compaction leans on. */
  readonly leans: readonly number[]
  /** Whether it was moved to a row its compaction inserted. */
  readonly isMoved: boolean
  /** The preview beneath it. */
  readonly preview: { readonly text: string; readonly saved: Sizes } | undefined
}

/** The parts of a row that show something else, and what. */
function shownParts(connection: Connection, session: StoredSession, row: ViewRow): ShownPart[] {
  const replacements = connection
    .all(
      `select r.compaction, r.part, r.text, r.saved_text, r.saved_reasoning, r.saved_results, r.saved_media,
         c.id, c.kind, c.requires, c.rows_inserted
       from undertext_replacements r join undertext_compactions c on c.no = r.compaction
       where r.message = ? and c.session = ? and c.status = 'active' order by r.part`,
      row.key,
      session.no,
    )
    .map(([compaction, part, stored, text, reasoning, toolResults, media, id, kind, requires, inserted]) => ({
      ...{ row, compaction, kind, part: part as number },
      text: parseReplacement(stored, row.id),
      saved: { ...NO_SIZES, ...({ text, reasoning, toolResults, media } as Partial<Sizes>) },
      leans: requiredKeys(id as string, requires).map(([key]) => key),
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

/** What an operation did, if it was done. Throws `OPERATION_CONFLICT` when it was another one. */
export function rewound(
  connection: Connection,
  sessionId: string,
  operation: RewindOperation,
): Rewound | undefined {
  return connection.read('rewind', () => {
    const session = readSession(connection, sessionId)
    return session && knownOperation(connection, session, operation)
  })
}

/** What a repeated operation did the first time. Throws `OPERATION_CONFLICT` when it was another one. */
function knownOperation(
  connection: Connection,
  session: StoredSession,
  { id, digest }: RewindOperation,
): Rewound | undefined {
  const row = connection.get(
    `select o.digest, o.positions, c.id, c.rows_hidden from undertext_operations o
     left join undertext_compactions c on c.no = o.compaction where o.session = ? and o.id = ?`,
    session.no,
    id,
  )
  if (row === undefined) return undefined
  const [stored, positions, compactionId, rowsHidden] = row
  if (stored !== digest)
    throw new UndertextError('OPERATION_CONFLICT', { sessionId: session.id, operationId: id })
  return {
    messages: appendedAt(connection, session, positions as string),
    ...(typeof compactionId === 'string' && { compactionId }),
    rowsHidden: (rowsHidden as number | null) ?? 0,
    existing: true,
  }
}

function appendedAt(connection: Connection, session: StoredSession, positions: string): Rewound['messages'] {
  const rows = connection.all(
    `select m.id, m.position from json_each(?) p join undertext_messages m on m.session = ? and m.position = p.value
     order by p.key`,
    positions,
    session.no,
  )
  return rows.map(([id, position]) => ({
    id: rowId(session.incarnation, id, position, 0),
    position: position as number,
    existing: true,
  }))
}

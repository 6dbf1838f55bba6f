import { UndertextError } from '../../core/errors.ts'
import { defined } from '../../core/messages/json.ts'
import type { PositionRange } from '../../core/messages/message.ts'
import type { CompactionStatus } from '../../core/model/coverage.ts'
import { type Coverage, decodeCoverage, type Place, spanPlaces } from '../../core/model/coverage.ts'
import { mergeRanges } from '../../core/model/expansion.ts'
import type { CompactionKind } from '../../core/model/plan.ts'
import type { PointerTarget, PreviewedPart } from '../../core/model/view.ts'
import type { Compaction, Trigger } from '../storage.ts'
import { COMPACTION_FIGURES, COMPACTION_ORIGIN, SAVED_OF_R, savedSizes } from './columns.ts'
import { parseStoredLists, storedText } from './content-codec.ts'
import type { Nesting } from './plan-undo.ts'
import { rowId } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { type Row, reading, type Sql } from './sql.ts'
import { begun, type Work } from './work.ts'

/** The fields of a compaction that nesting, undo and redo depend on. */
export type StoredCompaction = {
  readonly no: number
  readonly rank: number
  readonly id: string
  readonly run: string
  readonly kind: CompactionKind
  readonly status: CompactionStatus
  /** The time at which it came into or out of force last. */
  readonly changedAt: number
  readonly trigger: Trigger
  readonly coverage: Coverage
  readonly rowsHidden: number
  readonly partsReplaced: number
  readonly requires: readonly RequiredKey[]
  readonly undoneWithRun: number | undefined
  /** The numbers of the compactions that a rewind undid and redid when it last came into force. */
  readonly turned: { readonly lifted: readonly number[]; readonly restored: readonly number[] }
}

/** The key of a row and the index of a part that a compaction points to, and the keys of the rows that show the pointer. */
type RequiredKey = readonly [key: number, part: number, by?: readonly number[]]

const STORED = `select c.no, c.id, c.run, c.kind, c.status, c.trigger, c.coverage, c.rows_hidden, c.parts_replaced, c.requires,
    c.undone_with_run, c.turned, c.rank, m.anchor, m.ordinal, c.changed_at
  from undertext_compactions c left join undertext_messages m on {family m} m.inserted_by = c.no`

/** Returns all compactions of a session in order of creation, within the caller's transaction. The cost grows with the session. */
export function* loadCompactions(sql: Sql, session: number): Work<StoredCompaction[]> {
  return distinctRows(yield* sql.all(`${STORED} where {family c} c.session = ? order by c.no`, session)).map(
    decodeStored,
  )
}

/** Returns some compactions of a session, given its number or id, within the caller's transaction. `where` refers to columns of `c`. */
export function* someCompactions(
  sql: Sql,
  session: number | string,
  where: string,
  ...parameters: unknown[]
): Work<StoredCompaction[]> {
  const isId = typeof session === 'string'
  const named = isId ? '(select no from undertext_sessions where {family} {named} id = ?)' : '?'
  const text = `${STORED} where {family c} c.session = ${named} and ${where}`
  return distinctRows(yield* sql.all(text, session, ...parameters)).map(decodeStored)
}

/** Returns compactions by their numbers in order of rank, within the caller's transaction. */
export function* compactionsNumbered(
  sql: Sql,
  session: number,
  numbers: readonly number[],
): Work<StoredCompaction[]> {
  if (numbers.length === 0) return []
  const where = 'c.no in (select value from {list ?} k) order by c.rank'
  return yield* someCompactions(sql, session, where, JSON.stringify(numbers))
}

/** Removes duplicates: in a damaged store, one compaction may have inserted two rows. */
export function distinctRows(rows: readonly Row[]): Row[] {
  return [...new Map(rows.map((row) => [row[0], row] as const)).values()]
}

function decodeStored(row: Row): StoredCompaction {
  const [no, id, run, kind, status, trigger, coverage, hidden, parts, requires, undoneWithRun] = row
  const [, , , , , , , , , , , turned, rank, anchor, ordinal, changedAt] = row
  return {
    ...{ no: no as number, rank: rank as number, id: id as string, run: run as string },
    ...{ kind: kind as CompactionKind, status: status as CompactionStatus, trigger: trigger as Trigger },
    changedAt: changedAt as number,
    coverage: coverageOf(id as string, coverage, placeOf(anchor, ordinal)),
    rowsHidden: hidden as number,
    partsReplaced: parts as number,
    requires: requiredKeys(id as string, requires),
    undoneWithRun: (undoneWithRun as number | null) ?? undefined,
    turned: decodeTurned(id as string, turned),
  }
}

const NOTHING_TURNED: StoredCompaction['turned'] = { lifted: [], restored: [] }

export function decodeTurned(id: string, turned: unknown): StoredCompaction['turned'] {
  if (turned === null) return NOTHING_TURNED
  const lists = parseStoredLists(turned, 'list of turned compactions', `compaction ${id}`)
  const [lifted = [], restored = []] = lists as readonly (readonly number[])[]
  return { lifted, restored }
}

/** Returns how the compactions of a session nest. Each method is one search in the index of spans. */
export function storedNesting(sql: Sql, session: number): Nesting<StoredCompaction> {
  const within = function* (
    status: CompactionStatus,
    rank: string,
    one: StoredCompaction,
  ): Work<StoredCompaction[]> {
    const span = spanPlaces(one.coverage.hidden)
    if (span === undefined) return []
    const where = `c.status = ? and c.first_anchor <= ? and c.last_anchor >= ? and c.rank ${rank} ?`
    const [first, last] = span
    return yield* someCompactions(sql, session, where, status, last.anchor, first.anchor, one.rank)
  }
  return {
    laterInForce: (earlier) => within('active', '>', earlier),
    earlierUndone: (later) => within('undone', '<', later),
    earlierInForce: (later) => within('active', '<', later),
    *turnedBy({ turned }) {
      const lifted = yield* compactionsNumbered(sql, session, turned.lifted)
      const restored = yield* compactionsNumbered(sql, session, turned.restored)
      return {
        lifted: lifted.filter(({ status }) => status === 'undone'),
        restored: restored.filter(({ status }) => status === 'active'),
      }
    },
  }
}

/** Decodes a coverage. The error names the compaction and doesn't quote the coverage, as the parser's would. */
export function coverageOf(id: string, text: unknown, inserted: Place | undefined): Coverage {
  try {
    return decodeCoverage(text as string, inserted)
  } catch {
    throw new UndertextError('STORE_CORRUPT', { detail: `the coverage of compaction ${id} cannot be read` })
  }
}

export function requiredKeys(id: string, requires: unknown): readonly RequiredKey[] {
  return requires === null
    ? []
    : (parseStoredLists(requires, 'list of required parts', `compaction ${id}`) as unknown as RequiredKey[])
}

/** Returns the parts that active deduplications point to, within the caller's transaction. */
export function* loadPointerTargets(sql: Sql, session: number): Work<PointerTarget[]> {
  const rows = yield* sql.all(
    "select id, requires from undertext_compactions where {family} session = ? and status = 'active' and requires is not null",
    session,
  )
  return rows.flatMap(([id, requires]) =>
    requiredKeys(id as string, requires).map(([key, part, by = []]) => ({ key, part, by })),
  )
}

/** Returns the parts that active previews replace, within the caller's transaction. */
export function* loadPreviews(sql: Sql, session: number): Work<PreviewedPart[]> {
  const rows = yield* sql.all(
    `select r.message, r.part, r.compaction, ${SAVED_OF_R}
     from undertext_compactions c {cross} undertext_replacements r on {family r} r.compaction = c.no
     where {family c} c.session = ? and c.status = 'active' and c.kind = 'preview'`,
    session,
  )
  return rows.map((row) => {
    const [key, part, compaction] = row as [number, number, number]
    return { key, part, compaction, saved: savedSizes(row, 3) }
  })
}

/**
 * Returns a function that computes which positions of the log the inserted row of a compaction stands for: those that the compaction hid,
 * and those that the inserted rows among its hidden rows stand for.
 */
export function* provenanceOf(
  sql: Sql,
  session: number,
): Work<(compaction: number) => readonly PositionRange[]> {
  const compactions = yield* loadCompactions(sql, session)
  const byNo = new Map(compactions.map((compaction) => [compaction.no, compaction] as const))
  const byOrdinal = new Map(
    compactions.flatMap((compaction) => {
      const { inserted } = compaction.coverage
      return inserted === undefined ? [] : [[inserted.ordinal, compaction.no] as const]
    }),
  )
  const known = new Map<number, readonly PositionRange[]>()
  const positionsOf = (no: number): readonly PositionRange[] => {
    const found = known.get(no)
    if (found !== undefined) return found
    known.set(no, [])
    const hidden = byNo.get(no)?.coverage.hidden
    const inner = (hidden?.inserted ?? []).flatMap(({ ordinal }) => {
      const by = byOrdinal.get(ordinal)
      return by === undefined ? [] : positionsOf(by)
    })
    const positions = mergeRanges([...(hidden?.positions ?? []), ...inner])
    known.set(no, positions)
    return positions
  }
  return positionsOf
}

/** The compactions that an id refers to; for an undo, also the later active compactions within their spans. */
export type Targets = {
  readonly targets: readonly StoredCompaction[]
  readonly isRun: boolean
  readonly later: readonly StoredCompaction[] | undefined
}

/** Finds the compaction with an id, or all compactions of a run. Throws `COMPACTION_NOT_FOUND`. */
export function* findTargets(sql: Sql, sessionId: string, id: string, isUndo = false): Work<Targets> {
  const naming = begun(someCompactions(sql, sessionId, 'c.id = ?', id))
  const ofRun = begun(someCompactions(sql, sessionId, 'c.run = ? order by {+}c.no', id))
  const building = isUndo
    ? begun(someCompactions(sql, sessionId, `c.no in (${LATER_IN_FORCE})`, id, id))
    : undefined
  const named = yield* naming
  const targets = named.length > 0 ? named : yield* ofRun
  if (targets.length > 0) return { targets, isRun: named.length === 0, later: building && (yield* building) }
  throw new UndertextError('COMPACTION_NOT_FOUND', { sessionId, compactionId: id })
}

const LATER_IN_FORCE = `select l.no from undertext_compactions t join undertext_compactions l
    on {family l} l.session = t.session and l.status = 'active' and l.first_anchor <= t.last_anchor
      and l.last_anchor >= t.first_anchor and l.rank > t.rank
  where {family t} t.id = ? or {family t} t.run = ?`

/** Returns compactions in their public form, oldest first. */
export const readCompactions = reading(
  'listCompactions',
  function* (
    sql: Sql,
    id: string,
    { run, id: compactionId }: { run?: string | undefined; id?: string | undefined },
  ): Work<Compaction[]> {
    const session = yield* requireSession(sql, id)
    const [filter, ...named] = filterOf(run, compactionId)
    const all = yield* sql.all(
      `select c.no, ${COMPACTION_ORIGIN.of('c')}, c.coverage, c.requires, c.rows_inserted, m.anchor, m.ordinal, c.copied_from,
         ${COMPACTION_FIGURES.of('c')}
       from undertext_compactions c left join undertext_messages m on {family m} m.inserted_by = c.no
       where {family c} c.session = ? ${filter} order by c.rank, c.no`,
      session.no,
      ...named,
    )
    const rows = distinctRows(all)
    const turned = yield* turnedIds(sql, session, rows)
    const replaced = yield* replacedParts(sql, session, rows)
    const required = yield* requiredParts(sql, session, rows)
    return rows.map((row) => ({
      ...turned(decodeCompaction(session, row, placeOf(row[12], row[13]))),
      replaced: replaced.get(row[0] as number) ?? [],
      requires: required(row),
    }))
  },
)

/** Each case has its own filter, so that the index finds a single compaction. */
function filterOf(
  run: string | undefined,
  id: string | undefined,
): readonly [statement: string, ...named: string[]] {
  if (id !== undefined) return ['and c.id = ?', id]
  return run === undefined ? [''] : ['and c.run = ?', run]
}

/** Returns the place of the row that a compaction inserted, from its columns. */
export function placeOf(anchor: unknown, ordinal: unknown): Place | undefined {
  return ordinal === null ? undefined : { anchor: anchor as number, ordinal: ordinal as number }
}

type Decoded = Omit<Compaction, 'replaced' | 'requires'>

/** Returns a function that replaces numbers with ids in the lists of compactions that rewinds undid and redid, using one query for all. */
function* turnedIds(
  sql: Sql,
  { no: session }: StoredSession,
  rows: readonly Row[],
): Work<(compaction: Decoded) => Decoded> {
  const isTurning = rows.some(([, , , kind]) => kind === 'manual')
  const numbers = isTurning
    ? rows.flatMap((row) => {
        const { lifts = [], restores = [] } = coverageOf(row[1] as string, row[9], undefined)
        return [...lifts, ...restores]
      })
    : []
  const named = yield* sql.all(
    'select no, id from undertext_compactions where {family} session = ? and no in (select value from {list ?} k)',
    session,
    JSON.stringify(numbers),
  )
  const ids = new Map(named as [number, string][])
  const idsOf = (list: readonly number[]): string[] => list.flatMap((no) => ids.get(no) ?? [])
  return (compaction) => {
    const { lifts, restores, ...coverage } = compaction.coverage
    if (lifts === undefined && restores === undefined) return compaction
    return {
      ...compaction,
      coverage,
      ...defined({ lifts: lifts && idsOf(lifts), restores: restores && idsOf(restores) }),
    }
  }
}

type PartPlaces = Compaction['replaced']

/** Returns the parts that compactions replace, by number of the compaction, using one query for all of them. */
function* replacedParts(
  sql: Sql,
  session: StoredSession,
  compactions: readonly Row[],
): Work<ReadonlyMap<number, PartPlaces>> {
  const replacing = compactions.filter((row) => (row[PARTS_REPLACED] as number) > 0).map((row) => row[0])
  const byNo = new Map<number, PartPlaces[number][]>()
  if (replacing.length === 0) return byNo
  const rows = yield* sql.all(
    `select r.compaction, m.id, m.position, m.ordinal, r.part
     from {list ?} k join undertext_replacements r on {family r} r.compaction = k.value
     join undertext_messages m on {family m} m.key = r.message order by r.compaction, m.anchor, m.ordinal, r.part`,
    JSON.stringify(replacing),
  )
  for (const [no, id, position, ordinal, part] of rows) {
    const places = byNo.get(no as number) ?? []
    places.push({
      messageId: rowId(session.incarnation, id, position, ordinal),
      ...(position !== null && { position: position as number }),
      part: part as number,
    })
    byNo.set(no as number, places)
  }
  return byNo
}

/** Returns the ids of rows by key. */
export function* idsOfKeys(
  sql: Sql,
  { incarnation }: Pick<StoredSession, 'incarnation'>,
  keys: Iterable<number>,
): Work<ReadonlyMap<unknown, string>> {
  const rows = yield* sql.all(
    'select key, id, position, ordinal from undertext_messages where {family} key in (select value from {list ?} k)',
    JSON.stringify([...keys]),
  )
  return new Map(rows.map(([key, id, position, ordinal]) => [key, rowId(incarnation, id, position, ordinal)]))
}

/** Returns a function with the parts that the row of a compaction points to, using one query for all of them. */
function* requiredParts(
  sql: Sql,
  session: StoredSession,
  compactions: readonly Row[],
): Work<(row: Row) => PartPlaces> {
  const keysOf = (row: Row): readonly RequiredKey[] => requiredKeys(row[1] as string, row[10])
  const keys = new Set(compactions.flatMap((row) => keysOf(row).map(([key]) => key)))
  if (keys.size === 0) return () => []
  const ids = yield* idsOfKeys(sql, session, keys)
  return (row) =>
    keysOf(row).flatMap(([key, part]) => {
      const messageId = ids.get(key)
      return messageId === undefined ? [] : [{ messageId, part }]
    })
}

const FIGURES = 15
const PARTS_REPLACED = FIGURES + COMPACTION_FIGURES.names.indexOf('parts_replaced')

function decodeCompaction(session: StoredSession, row: Row, inserted: Place | undefined): Decoded {
  const name = `compaction no. ${row[0]}`
  const { id, run, trigger, params, ...origin } = COMPACTION_ORIGIN.all(row, 1, name)
  const { rank: _, rowsHidden, partsReplaced, ...figures } = COMPACTION_FIGURES.all(row, FIGURES, name)
  return {
    ...{ id, runId: run, ...origin, trigger: trigger as Trigger, params: params ?? {} },
    coverage: coverageOf(id, row[9], inserted),
    ...{ rowsHidden, partsReplaced, rowsInserted: row[11] as number },
    insertedIds: inserted === undefined ? [] : [rowId(session.incarnation, null, null, inserted.ordinal)],
    ...figures,
    ...defined({ copiedFrom: storedText(row[14], name) || undefined }),
  }
}

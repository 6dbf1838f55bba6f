import { type Coverage, decodeCoverage, type Place } from '../../core/coverage.ts'
import type { JsonObject } from '../../core/json.ts'
import type { CompactionStatus } from '../../core/nesting.ts'
import type { CompactionKind } from '../../core/plan.ts'
import type { Lean, PreviewedPart } from '../../core/view.ts'
import { UndertextError } from '../../errors.ts'
import type { Compaction, Trigger } from '../storage.ts'
import type { Connection, Row } from './connection.ts'
import { damaged, parseStoredLists, parseStoredObject, storedNumber, storedText } from './content-codec.ts'
import { rowId } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'

/** What nesting, undo and redo look at. */
export type StoredCompaction = {
  readonly no: number
  readonly rank: number
  readonly id: string
  readonly run: string
  readonly kind: CompactionKind
  readonly status: CompactionStatus
  readonly coverage: Coverage
  readonly rowsHidden: number
  readonly partsReplaced: number
  readonly requires: readonly RequiredKey[]
  readonly undoneWithRun: number | undefined
}

/** Key of a row and index of a part that a compaction leans on, and keys of the rows that point at it. */
export type RequiredKey = readonly [key: number, part: number, by?: readonly number[]]

/** All compactions of a session in order of creation, within the caller's transaction. */
export function loadCompactions(connection: Connection, session: number): StoredCompaction[] {
  const places = insertedPlaces(connection, session)
  const rows = connection.all(
    `select no, id, run, kind, status, coverage, rows_hidden, parts_replaced, requires, undone_with_run, rank
     from undertext_compactions where session = ? order by no`,
    session,
  )
  return rows.map(([no, id, run, kind, status, coverage, hidden, parts, requires, undoneWithRun, rank]) => ({
    no: no as number,
    rank: rank as number,
    id: id as string,
    run: run as string,
    kind: kind as CompactionKind,
    status: status as CompactionStatus,
    coverage: coverageOf(id as string, coverage, places.get(no as number)),
    rowsHidden: hidden as number,
    partsReplaced: parts as number,
    requires: requiredKeys(id as string, requires),
    undoneWithRun: (undoneWithRun as number | null) ?? undefined,
  }))
}

/** Coverage holds numbers only, yet the sentence of its parser would quote them; ours names the compaction. */
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

/** What the deduplications in force lean on, within the caller's transaction. */
export function loadLeans(connection: Connection, session: number): Lean[] {
  const rows = connection.all(
    "select id, requires from undertext_compactions where session = ? and status = 'active' and requires is not null",
    session,
  )
  return rows.flatMap(([id, requires]) =>
    requiredKeys(id as string, requires).map(([key, part, by = []]) => ({ key, part, by })),
  )
}

/** What the previews in force lie over, within the caller's transaction. */
export function loadPreviews(connection: Connection, session: number): PreviewedPart[] {
  const rows = connection.all(
    `select r.message, r.part, r.compaction, r.saved_text, r.saved_reasoning, r.saved_results, r.saved_media
     from undertext_compactions c cross join undertext_replacements r on r.compaction = c.no
     where c.session = ? and c.status = 'active' and c.kind = 'preview'`,
    session,
  )
  return rows.map((row) => {
    const [key, part, compaction, text, reasoning, toolResults, media] = row as readonly number[] as Figures
    return { key, part, compaction, saved: { text, reasoning, toolCalls: 0, toolResults, media } }
  })
}

type Figures = readonly [number, number, number, number, number, number, number]

/** Where the rows stand that compactions inserted, by the compaction's number. */
export function insertedPlaces(connection: Connection, session: number): Map<number, Place> {
  const rows = connection.all(
    'select inserted_by, anchor, ordinal from undertext_messages where session = ? and position is null',
    session,
  )
  return new Map(
    rows.map(([by, anchor, ordinal]) => [
      by as number,
      { anchor: anchor as number, ordinal: ordinal as number },
    ]),
  )
}

/**
 * The compactions an id stands for: itself, or all of a run. Throws `COMPACTION_NOT_FOUND`.
 */
export function findTargets(
  sessionId: string,
  compactions: readonly StoredCompaction[],
  id: string,
): { targets: StoredCompaction[]; isRun: boolean } {
  const one = compactions.find((compaction) => compaction.id === id)
  if (one !== undefined) return { targets: [one], isRun: false }
  const members = compactions.filter(({ run }) => run === id)
  if (members.length === 0) throw new UndertextError('COMPACTION_NOT_FOUND', { sessionId, compactionId: id })
  return { targets: members, isRun: true }
}

/** Compactions as people see them, oldest first. */
export function readCompactions(
  connection: Connection,
  id: string,
  { run, id: compactionId }: { run?: string | undefined; id?: string | undefined },
): Compaction[] {
  return connection.read('listCompactions', () => {
    const session = requireSession(connection, id)
    const places = insertedPlaces(connection, session.no)
    const rows = connection.all(
      `select no, id, run, kind, status, trigger, actor, reason, params, coverage, rows_hidden, parts_replaced,
         rows_inserted, tokens_before, tokens_after, summarizer, model, prompt_version, usage, cost, error, created_at,
         changed_at, requires
       from undertext_compactions where session = ? and (? is null or run = ?) and (? is null or id = ?) order by rank, no`,
      session.no,
      run ?? null,
      run ?? null,
      compactionId ?? null,
      compactionId ?? null,
    )
    const replaced = replacedParts(connection, session, rows)
    const required = requiredParts(connection, session, rows)
    return rows.map((row) => ({
      ...decodeCompaction(session, row, places.get(row[0] as number)),
      replaced: replaced.get(row[0] as number) ?? [],
      requires: required(row),
    }))
  })
}

type PartPlaces = Compaction['replaced']

/** Which parts compactions replace, by their number: one query for all of them. */
function replacedParts(
  connection: Connection,
  session: StoredSession,
  compactions: readonly Row[],
): ReadonlyMap<number, PartPlaces> {
  const replacing = compactions.filter((row) => (row[11] as number) > 0).map((row) => row[0])
  const byNo = new Map<number, { messageId: string; part: number }[]>()
  if (replacing.length === 0) return byNo
  const rows = connection.all(
    `select r.compaction, m.id, m.position, m.ordinal, r.part
     from json_each(?) k join undertext_replacements r on r.compaction = k.value
     join undertext_messages m on m.key = r.message order by r.compaction, m.anchor, m.ordinal, r.part`,
    JSON.stringify(replacing),
  )
  for (const [no, id, position, ordinal, part] of rows) {
    const places = byNo.get(no as number) ?? []
    places.push({ messageId: rowId(session.incarnation, id, position, ordinal), part: part as number })
    byNo.set(no as number, places)
  }
  return byNo
}

/** A function that says which parts a compaction's row leans on: one query for all of them. */
function requiredParts(
  connection: Connection,
  session: StoredSession,
  compactions: readonly Row[],
): (row: Row) => PartPlaces {
  const keysOf = (row: Row): readonly RequiredKey[] => requiredKeys(row[1] as string, row[23])
  const keys = new Set(compactions.flatMap((row) => keysOf(row).map(([key]) => key)))
  if (keys.size === 0) return () => []
  const rows = connection.all(
    `select m.key, m.id, m.position, m.ordinal
     from json_each(?) k join undertext_messages m on m.key = k.value`,
    JSON.stringify([...keys]),
  )
  const ids = new Map(
    rows.map(([key, id, position, ordinal]) => [key, rowId(session.incarnation, id, position, ordinal)]),
  )
  return (row) =>
    keysOf(row).flatMap(([key, part]) => {
      const messageId = ids.get(key)
      return messageId === undefined ? [] : [{ messageId, part }]
    })
}

function decodeCompaction(
  session: StoredSession,
  row: Row,
  inserted: Place | undefined,
): Omit<Compaction, 'replaced' | 'requires'> {
  const name = `compaction no. ${row[0]}`
  const text = (at: number): string | undefined => storedText(row[at], name)
  const required = (at: number): string => {
    const value = text(at)
    if (value === undefined) throw damaged('record', name)
    return value
  }
  const number = (at: number): number => storedNumber(row[at], name)
  const json = (at: number): JsonObject | undefined => {
    const value = text(at)
    if (value === undefined) return undefined
    return parseStoredObject(value, 'record', `compaction ${row[1]}`)
  }
  return {
    id: required(1),
    runId: required(2),
    kind: required(3) as CompactionKind,
    status: required(4) as CompactionStatus,
    trigger: required(5) as Trigger,
    actor: text(6),
    reason: text(7),
    params: json(8) ?? {},
    coverage: coverageOf(row[1] as string, row[9], inserted),
    rowsHidden: number(10),
    partsReplaced: number(11),
    rowsInserted: number(12),
    insertedIds: inserted === undefined ? [] : [rowId(session.incarnation, null, null, inserted.ordinal)],
    tokensBefore: number(13),
    tokensAfter: number(14),
    summarizer: text(15),
    model: text(16),
    promptVersion: text(17),
    usage: json(18),
    cost: row[19] === null ? undefined : number(19),
    error: text(20),
    createdAt: number(21),
    changedAt: number(22),
  }
}

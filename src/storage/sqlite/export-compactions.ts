import type { RowSet } from '../../model/coverage.ts'
import type { CompactionStatus } from '../../model/nesting.ts'
import type { CompactionKind } from '../../model/plan.ts'
import type { CompactionRecord, RequiredRecord, RowSetRecord } from '../records/records.ts'
import { coverageOf, decodeTurned, placeOf, requiredKeys } from './compactions.ts'
import type { Connection, Row } from './connection.ts'
import { damaged } from './content-codec.ts'
import { columnsOf, defined } from './record-columns.ts'
import { rowId } from './row-codec.ts'
import type { StoredSession } from './sessions.ts'

/** A compaction, and its number inside the database. */
export type NumberedCompaction = { readonly no: number; readonly record: CompactionRecord }

/** The compactions of a session, oldest first. `entries`: which entry of the audit has which number. Throws `STORE_CORRUPT`. */
export function exportCompactions(
  connection: Connection,
  session: StoredSession,
  entries: ReadonlyMap<number, number>,
): NumberedCompaction[] {
  const rows = connection.all(
    `select c.no, c.id, c.run, c.kind, c.status, c.trigger, c.actor, c.reason, c.params, c.coverage, c.requires, c.rows_hidden,
       c.parts_replaced, c.tokens_before, c.tokens_after, c.summarizer, c.model, c.prompt_version, c.usage, c.cost, c.error,
       c.created_at, c.changed_at, c.rank, c.undone_with_run, c.turned, m.anchor, m.ordinal
     from undertext_compactions c left join undertext_messages m on m.inserted_by = c.no
     where c.session = ? group by c.no order by c.no`,
    session.no,
  )
  const requires = requirements(connection, session, rows)
  const ids = new Map(rows.map(([no, id]) => [no, id as string] as const))
  const named = (numbers: readonly number[]): string[] => numbers.map((no) => ids.get(no)!)
  return rows.map((row): NumberedCompaction => {
    const no = row[0] as number
    const columns = columnsOf(row, `compaction no. ${no}`)
    const { hidden, beside, inserted, openCalls, rewinds, lifts, restores } = coverageOf(
      columns.required(1),
      row[9],
      placeOf(row[26], row[27]),
    )
    const isUndone = row[4] === 'undone' && row[24] !== null
    const undoneWithRun = isUndone ? entries.get(row[24] as number) : undefined
    const { lifted, restored } = decodeTurned(columns.required(1), row[25])
    const turned = row[25] === null ? undefined : { lifted: named(lifted), restored: named(restored) }
    const record: CompactionRecord = {
      ...{ type: 'compaction', id: columns.required(1), run: columns.required(2) },
      kind: columns.required(3) as CompactionKind,
      status: columns.required(4) as CompactionStatus,
      trigger: columns.required(5),
      ...defined({ actor: columns.text(6), reason: columns.text(7), params: columns.json(8) }),
      ...defined({ hides: rowSetRecord(hidden), beside: rowSetRecord(beside) }),
      ...(inserted !== undefined && { inserts: [inserted.anchor, inserted.ordinal] as const }),
      ...(openCalls && { openCalls: true as const }),
      ...(rewinds === true && { rewinds: true as const }),
      ...defined({ lifts: lifts && named(lifts), restores: restores && named(restores), turned }),
      ...defined({ requires: requires(row) }),
      ...{ rowsHidden: columns.number(11), partsReplaced: columns.number(12) },
      ...{ tokensBefore: columns.number(13), tokensAfter: columns.number(14) },
      ...defined({ summarizer: columns.text(15), model: columns.text(16), promptVersion: columns.text(17) }),
      ...defined({ usage: columns.json(18), cost: columns.optional(19), error: columns.text(20) }),
      ...{ createdAt: columns.number(21), changedAt: columns.number(22), rank: columns.number(23) },
      ...defined({ undoneWithRun }),
    }
    return { no, record }
  })
}

function rowSetRecord({ positions, inserted }: RowSet): RowSetRecord | undefined {
  if (positions.length === 0 && inserted.length === 0) return undefined
  return {
    ...(positions.length > 0 && { positions }),
    ...(inserted.length > 0 && {
      inserted: inserted.map(({ anchor, ordinal }) => [anchor, ordinal] as const),
    }),
  }
}

/** A function that says what a compaction leans on, by ids: one query for all of them. */
function requirements(
  connection: Connection,
  session: StoredSession,
  compactions: readonly Row[],
): (row: Row) => RequiredRecord[] | undefined {
  const keysOf = (row: Row): ReturnType<typeof requiredKeys> => requiredKeys(row[1] as string, row[10])
  const keys = new Set(compactions.flatMap((row) => keysOf(row).flatMap(([key, , by = []]) => [key, ...by])))
  const rows = connection.all(
    'select m.key, m.id, m.position, m.ordinal from json_each(?) k join undertext_messages m on m.key = k.value',
    JSON.stringify([...keys]),
  )
  const ids = new Map(
    rows.map(([key, id, position, ordinal]) => [key, rowId(session.incarnation, id, position, ordinal)]),
  )
  const idOf = (key: number, row: Row): string => {
    const id = ids.get(key)
    if (id === undefined) throw damaged('list of required parts', `compaction ${row[1]}`)
    return id
  }
  return (row) => {
    if (row[10] === null) return undefined
    return keysOf(row).map(([key, part, by]) => ({
      ...{ message: idOf(key, row), part },
      ...(by !== undefined && { by: by.map((one) => idOf(one, row)) }),
    }))
  }
}

import type { PlannedReplacement } from '../../core/model/plan.ts'
import { NO_SIZES, type Sizes, subtractSizes } from '../../core/tokens/measure.ts'
import { SAVED_SIZES, savedColumns, savedSizes } from './columns.ts'
import { ORIGINAL } from './content-codec.ts'
import type { Sql } from './sql.ts'
import { M_VISIBLE } from './view.ts'
import type { Work } from './work.ts'

/*
 * A part shows the replacement of the newest compaction in force, by creation. The column `shown` and the sizes of a row are derived from
 * this. Rows that only one compaction in force replaces are updated in one statement; others are computed from all of their replacements.
 */

/** Returns SQL for each size that a replacement changes, as a list. */
function eachSize(statement: (size: string) => string): string {
  return SAVED_SIZES.map(statement).join(', ')
}

const SAVED = eachSize((size) => `saved_${size}`)
const SUMS = eachSize((size) => `sum(saved_${size}) as saved_${size}`)
export const INSERT_REPLACEMENT = `insert into undertext_replacements ({family,} compaction, message, part, text, ${SAVED}) values ({?,} ?, ?, ?, ?, ${eachSize(() => '?')})`

/** Stores the text that a compaction shows in place of a part of a row, within the caller's transaction. */
export function* insertReplacement(
  sql: Sql,
  compaction: number,
  key: number,
  {
    part,
    text,
    original,
    saved,
  }: Pick<PlannedReplacement, 'part' | 'text' | 'saved'> & { original?: boolean },
): Work<void> {
  const json = original === true ? ORIGINAL : JSON.stringify(text)
  yield* sql.run(INSERT_REPLACEMENT, compaction, key, part, json, ...savedColumns(saved))
}

/**
 * Updates `shown` and the sizes of all rows whose parts a compaction replaces. `inForce` is the new state of this compaction; the status of
 * the others is read. Returns the change in the sizes of those rows that are *visible*.
 */
export function* refreshShown(sql: Sql, compaction: number, inForce: boolean): Work<Sizes> {
  const others = yield* othersInForce(sql, compaction)
  if (others.length === 0) {
    const saved = yield* visibleTotals(sql, compaction, 'r.saved_', true)
    yield* setSoleReplacements(sql, compaction, inForce, [])
    return inForce ? subtractSizes(NO_SIZES, saved) : saved
  }
  const [parts, rows] = yield* extentOf(sql, compaction)
  const isSingle = parts === rows
  const before = yield* visibleTotals(sql, compaction, 'm.size_', isSingle)
  const isPlain =
    isSingle &&
    others.length === 1 &&
    others[0]! < compaction &&
    !(yield* mayRestore(sql, [compaction, others[0]!]))
  const exchanged = isPlain ? yield* exchange(sql, compaction, inForce, others[0]!) : 0
  if (exchanged < rows) {
    const done = exchanged === 0 ? new Set<number>() : yield* exchangeableRows(sql, compaction, others[0]!)
    const overlapping = yield* overlappingRows(sql, compaction, others)
    yield* setSoleReplacements(sql, compaction, inForce, [...overlapping, ...done])
    const rest = overlapping.filter((key) => !done.has(key))
    if (rest.length > 0) yield* setNewest(sql, compaction, inForce, others, rest)
  }
  return subtractSizes(yield* visibleTotals(sql, compaction, 'm.size_', isSingle), before)
}

/** SQL: a replacement that doesn't show the original. */
const IS_SHOWN = `where text <> '${ORIGINAL}'`

/** Returns whether one of these compactions may show originals again, which only rewinds do. */
function* mayRestore(sql: Sql, compactions: readonly number[]): Work<boolean> {
  const statement = `select 1 from undertext_compactions where {family} kind = 'manual' and no in (select value from {list ?} k)`
  return (yield* sql.get(statement, JSON.stringify(compactions))) !== undefined
}

/** Shows the replacements of a compaction on rows that were just inserted, which have no others. */
export function* showOnNew(sql: Sql, compaction: number): Work<void> {
  yield* setSoleReplacements(sql, compaction, true, [])
}

/**
 * Shows the newest replacements in force on all rows of a session, which show originals so far. Their sizes are those of the replacements
 * already or, with `areOriginals`, those of the originals.
 */
export function* showAll(sql: Sql, session: number, areOriginals: boolean): Work<void> {
  const newest =
    newestOf(`from undertext_compactions c {cross} undertext_replacements r on {family r} r.compaction = c.no
    where {family c} c.session = ? and c.status = 'active' and c.parts_replaced > 0`)
  yield* sql.run(
    `update undertext_messages set shown = after.shown
       ${areOriginals ? `, ${eachSize((size) => `size_${size} = size_${size} - after.saved_${size}`)}` : ''}
     from (select message, '[' || string_agg('[' || part || ',' || newest || ']', ',' order by part) filter (${IS_SHOWN}) || ']' as shown, ${SUMS}
           from (${newest}) n group by message) after
     where {family undertext_messages} undertext_messages.key = after.message`,
    session,
  )
}

/** SQL: the newest of some replacements for each part. In SQLite, bare columns beside `max` come from the row with the maximum. */
function newestOf(replacements: string): string {
  return `select {distinct} r.message, r.part, {latest r} as newest, r.text, ${eachSize((size) => `r.saved_${size}`)}
    ${replacements} {last}`
}

/** Returns the number of parts that a compaction replaces, and of rows that contain them. */
function* extentOf(sql: Sql, compaction: number): Work<readonly [parts: number, rows: number]> {
  const statement =
    'select count(*), count(distinct message) from undertext_replacements where {family} compaction = ?'
  return (yield* sql.get(statement, compaction)) as unknown as readonly [number, number]
}

/**
 * Returns sums over the visible rows whose parts a compaction replaces: of its replacements (`r.saved_`), or of the rows (`m.size_`), each
 * counted once. `isSingle`: each row has one replacement, so the rows are distinct.
 */
function* visibleTotals(
  sql: Sql,
  compaction: number,
  column: 'r.saved_' | 'm.size_',
  isSingle: boolean,
): Work<Sizes> {
  const rows = isSingle
    ? '(select * from undertext_replacements where {family} compaction = ?) r'
    : '(select distinct compaction, message from undertext_replacements where {family} compaction = ?) r'
  const row = yield* sql.get(
    `select ${eachSize((size) => `coalesce(sum(${column}${size}), 0)`)}
     from ${rows} join undertext_messages m on {family m} m.key = r.message where ${M_VISIBLE}`,
    compaction,
  )
  return savedSizes(row!)
}

/** If at most this many other compactions are in force, there is no check of whether they replace parts of the same rows. */
const MAX_UNCHECKED = 16

/**
 * Returns the numbers of other compactions in force that replace parts; if there are many, only of those that replace parts of the same
 * rows.
 */
function* othersInForce(sql: Sql, compaction: number): Work<number[]> {
  const session = (yield* sql.get(
    'select session from undertext_compactions where {family} no = ?',
    compaction,
  ))![0]
  const others = yield* sql.all(
    `select no from undertext_compactions {index undertext_compactions_replacing}
     where {family} session = ? and status = 'active' and parts_replaced > 0 and no <> ? limit ?`,
    session,
    compaction,
    MAX_UNCHECKED + 1,
  )
  const rows = others.length <= MAX_UNCHECKED ? others : yield* overlappingOthers(sql, compaction)
  return rows.map(([no]) => no as number)
}

/** A cross join makes SQLite start from the rows of this compaction, not from all compactions in force. */
function* overlappingOthers(sql: Sql, compaction: number): Work<readonly (readonly unknown[])[]> {
  return yield* sql.all(
    `select distinct c.no from undertext_replacements a
     {cross} undertext_replacements b on {family b} b.message = a.message and b.compaction <> a.compaction
     {cross} undertext_compactions c on {family c} c.no = b.compaction
     where {family a} a.compaction = ? and c.status = 'active'`,
    compaction,
  )
}

/** Returns the rows whose parts another compaction in force replaces too. */
function* overlappingRows(sql: Sql, compaction: number, others: readonly number[]): Work<number[]> {
  return (yield* sql.all(
    `select distinct a.message from undertext_replacements a
       join undertext_replacements b on {family b} b.message = a.message
       where {family a} a.compaction = ? and b.compaction in (select value from {list ?} k)`,
    compaction,
    JSON.stringify(others),
  )).map(([key]) => key as number)
}

/** Updates rows whose parts only this compaction replaces: they show its replacements, or their originals. */
function* setSoleReplacements(
  sql: Sql,
  compaction: number,
  inForce: boolean,
  except: readonly number[],
): Work<void> {
  // A replacement that shows the original isn't listed. `string_agg` over no parts is null.
  const shown = `'[' || string_agg('[' || part || ',' || compaction || ']', ',' order by part) filter (${IS_SHOWN}) || ']'`
  const sign = inForce ? '-' : '+'
  yield* sql.run(
    `update undertext_messages set shown = r.shown, ${eachSize((size) => `size_${size} = size_${size} ${sign} r.saved_${size}`)}
     from (select message, ${inForce ? shown : 'null'} as shown, ${SUMS}
           from undertext_replacements where {family} compaction = ? group by message) r
     where {family undertext_messages} undertext_messages.key = r.message and r.message not in (select value from {list ?} k)`,
    compaction,
    JSON.stringify(except),
  )
}

/**
 * SQL: rows in which a compaction and an older one replace the same part. With a cross join, the first is scanned and the second looked up.
 */
const EXCHANGEABLE = `select mine.message, mine.part, ${eachSize((size) => `mine.saved_${size} - other.saved_${size} as ${size}`)}
  from undertext_replacements mine {cross} undertext_replacements other
    on {family other} other.compaction = ? and other.message = mine.message and other.part = mine.part
  where {family mine} mine.compaction = ?`

/**
 * Handles the simple case of an overlap in half the time of the general case: the compaction replaces one part of each of its rows, and one
 * older compaction is in force. Exchanges one entry of `shown` for the other; returns the number of rows.
 */
function* exchange(sql: Sql, compaction: number, inForce: boolean, older: number): Work<number> {
  const [from, to] = inForce ? [older, compaction] : [compaction, older]
  const sign = inForce ? '-' : '+'
  // The driver binds every number as a real, which would be written as "2.0".
  return yield* sql.change(
    `update undertext_messages
     set shown = replace(shown, '[' || pair.part || ',' || cast(? as bigint) || ']',
         '[' || pair.part || ',' || cast(? as bigint) || ']'),
       ${eachSize((size) => `size_${size} = size_${size} ${sign} pair.${size}`)}
     from (${EXCHANGEABLE}) pair where {family undertext_messages} undertext_messages.key = pair.message`,
    from,
    to,
    older,
    compaction,
  )
}

function* exchangeableRows(sql: Sql, compaction: number, older: number): Work<Set<number>> {
  const rows = yield* sql.all(`select message from (${EXCHANGEABLE}) pair`, older, compaction)
  return new Set(rows.map(([key]) => key as number))
}

/**
 * Updates rows of several compactions, so that each part shows the newest in force. One statement, because there may be thousands of rows.
 */
function* setNewest(
  sql: Sql,
  compaction: number,
  inForce: boolean,
  others: readonly number[],
  rows: readonly number[],
): Work<void> {
  const newest = newestOf(`from {list ?} k join undertext_replacements r on {family r} r.message = k.value
    where r.compaction in (select value from {list ?} c)`)
  const keys = JSON.stringify(rows)
  const [without, including] = [JSON.stringify(others), JSON.stringify([...others, compaction])]
  yield* sql.run(
    `update undertext_messages set shown = after.shown,
       ${eachSize((size) => `size_${size} = size_${size} + before.saved_${size} - after.saved_${size}`)}
     from (select message, ${SUMS} from (${newest}) b group by message) before
     join (select message, '[' || string_agg('[' || part || ',' || newest || ']', ',' order by part) filter (${IS_SHOWN}) || ']' as shown, ${SUMS}
           from (${newest}) a group by message) after on after.message = before.message
     where {family undertext_messages} undertext_messages.key = before.message`,
    keys,
    inForce ? without : including,
    keys,
    inForce ? including : without,
  )
}

import type { PlannedReplacement } from '../../model/plan.ts'
import { NO_SIZES, type Sizes, subtractSizes } from '../../tokens/tokens.ts'
import { insertInto } from './columns.ts'
import type { Connection } from './connection.ts'
import { ORIGINAL } from './content-codec.ts'
import { M_VISIBLE } from './history.ts'

/*
 * Which replacement a part shows is a function of the set of compactions in force: the newest by creation. The
 * column `shown` and the sizes of a row are an index of that, kept here. Only a row that several compactions in
 * force replace needs a look at all of them; the others are set in one statement.
 */

const INSERT = insertInto('undertext_replacements', [
  ...['compaction', 'message', 'part', 'text'],
  ...['saved_text', 'saved_reasoning', 'saved_results', 'saved_media'],
])

/** Stores the text that a compaction shows in place of a part of a row, within the caller's transaction. */
export function insertReplacement(
  connection: Connection,
  compaction: number,
  key: number,
  {
    part,
    text,
    original,
    saved,
  }: Pick<PlannedReplacement, 'part' | 'text' | 'saved'> & { original?: boolean },
): void {
  const json = original === true ? ORIGINAL : JSON.stringify(text)
  const { text: savedText, reasoning, toolResults, media } = saved
  connection.run(INSERT, compaction, key, part, json, savedText, reasoning, toolResults, media)
}

/**
 * Brings `shown` and the sizes of all rows a compaction replaces parts of in line with the compactions in force.
 * `inForce` says whether this one is to be; the status of the others is read. Answers by how much the sizes of
 * the *visible* ones of these rows changed.
 */
export function refreshShown(connection: Connection, compaction: number, inForce: boolean): Sizes {
  const others = othersInForce(connection, compaction)
  if (others.length === 0) {
    const saved = visibleTotals(connection, compaction, 'r.saved_', true)
    setAlone(connection, compaction, inForce, [])
    return inForce ? subtractSizes(NO_SIZES, saved) : saved
  }
  const [parts, rows] = extentOf(connection, compaction)
  const isSingle = parts === rows
  const before = visibleTotals(connection, compaction, 'm.size_', isSingle)
  const isPlain =
    isSingle &&
    others.length === 1 &&
    others[0]! < compaction &&
    !mayRestore(connection, [compaction, others[0]!])
  const exchanged = isPlain ? exchange(connection, compaction, inForce, others[0]!) : 0
  if (exchanged < rows) {
    const done = exchanged === 0 ? new Set<number>() : exchangeableRows(connection, compaction, others[0]!)
    const overlapping = overlappingRows(connection, compaction, others)
    setAlone(connection, compaction, inForce, [...overlapping, ...done])
    const rest = overlapping.filter((key) => !done.has(key))
    if (rest.length > 0) setNewest(connection, compaction, inForce, others, rest)
  }
  return subtractSizes(visibleTotals(connection, compaction, 'm.size_', isSingle), before)
}

/** Whether a replacement shows something else than the original. */
const IS_SHOWN = `where text <> '${ORIGINAL}'`

/** Whether one of these compactions may show originals again. Only rewinds do. */
function mayRestore(connection: Connection, compactions: readonly number[]): boolean {
  const sql = `select 1 from undertext_compactions where kind = 'manual' and no in (select value from json_each(?))`
  return connection.get(sql, JSON.stringify(compactions)) !== undefined
}

/** Shows the replacements of a compaction on rows that were inserted just now, which nothing else can lie over. */
export function showOnNew(connection: Connection, compaction: number): void {
  setAlone(connection, compaction, true, [])
}

/** How many parts a compaction replaces, and of how many rows. */
function extentOf(connection: Connection, compaction: number): readonly [parts: number, rows: number] {
  const sql = 'select count(*), count(distinct message) from undertext_replacements where compaction = ?'
  return connection.get(sql, compaction) as unknown as readonly [number, number]
}

/**
 * Sums over the visible rows a compaction replaces parts of: of its replacements (`r.saved_`) or of the rows
 * (`m.size_`), those once each; with `isSingle` there is one replacement a row, and nothing to make distinct.
 */
function visibleTotals(
  connection: Connection,
  compaction: number,
  column: 'r.saved_' | 'm.size_',
  isSingle: boolean,
): Sizes {
  const rows = isSingle
    ? 'undertext_replacements r'
    : '(select distinct compaction, message from undertext_replacements) r'
  const row = connection.get(
    `select total(${column}text), total(${column}reasoning), total(${column}results), total(${column}media)
     from ${rows} join undertext_messages m on m.key = r.message where r.compaction = ? and ${M_VISIBLE}`,
    compaction,
  )
  const [text, reasoning, toolResults, media] = row as [number, number, number, number]
  return { ...NO_SIZES, text, reasoning, toolResults, media }
}

/** As many others in force are looked at whether they replace parts of the same rows or not. */
const FEW_OTHERS = 16

/** The numbers of other compactions in force that replace parts, of the same rows where there are many. */
function othersInForce(connection: Connection, compaction: number): number[] {
  const session = connection.get('select session from undertext_compactions where no = ?', compaction)![0]
  const others = connection.all(
    `select no from undertext_compactions indexed by undertext_compactions_replacing
     where session = ? and status = 'active' and parts_replaced > 0 and no <> ? limit ?`,
    session,
    compaction,
    FEW_OTHERS + 1,
  )
  const rows = others.length <= FEW_OTHERS ? others : overlappingOthers(connection, compaction)
  return rows.map(([no]) => no as number)
}

/** Cross joins: from the rows of the one to what else was ever shown there, never through all that is in force. */
function overlappingOthers(connection: Connection, compaction: number): readonly (readonly unknown[])[] {
  return connection.all(
    `select distinct c.no from undertext_replacements a
     cross join undertext_replacements b on b.message = a.message and b.compaction <> a.compaction
     cross join undertext_compactions c on c.no = b.compaction
     where a.compaction = ? and c.status = 'active'`,
    compaction,
  )
}

/** Rows of which another compaction in force replaces parts too. */
function overlappingRows(connection: Connection, compaction: number, others: readonly number[]): number[] {
  return connection
    .all(
      `select distinct a.message from undertext_replacements a
       join undertext_replacements b on b.message = a.message
       where a.compaction = ? and b.compaction in (select value from json_each(?))`,
      compaction,
      JSON.stringify(others),
    )
    .map(([key]) => key as number)
}

/** Rows only this compaction replaces parts of: they show its replacements, or their originals. */
function setAlone(
  connection: Connection,
  compaction: number,
  inForce: boolean,
  except: readonly number[],
): void {
  // Nothing beneath: what shows the original shows nothing else. Without a part, all of it is null.
  const shown = `'[' || group_concat('[' || part || ',' || compaction || ']' order by part) filter (${IS_SHOWN}) || ']'`
  const sign = inForce ? '-' : '+'
  connection.run(
    `update undertext_messages set shown = r.shown, size_text = size_text ${sign} r.saved_text,
       size_reasoning = size_reasoning ${sign} r.saved_reasoning,
       size_results = size_results ${sign} r.saved_results, size_media = size_media ${sign} r.saved_media
     from (select message, ${inForce ? shown : 'null'} as shown, sum(saved_text) as saved_text,
             sum(saved_reasoning) as saved_reasoning, sum(saved_results) as saved_results, sum(saved_media) as saved_media
           from undertext_replacements where compaction = ? group by message) r
     where undertext_messages.key = r.message and r.message not in (select value from json_each(?))`,
    compaction,
    JSON.stringify(except),
  )
}

/**
 * Rows of which a compaction and an older one replace the same part. Cross join: the first is gone through in its
 * order, the second looked up.
 */
const EXCHANGEABLE = `select mine.message, mine.part, mine.saved_text - other.saved_text as text,
    mine.saved_reasoning - other.saved_reasoning as reasoning,
    mine.saved_results - other.saved_results as results, mine.saved_media - other.saved_media as media
  from undertext_replacements mine cross join undertext_replacements other
    on other.compaction = ? and other.message = mine.message and other.part = mine.part
  where mine.compaction = ?`

/**
 * The plain case of an overlap, in half the time of the general one: a compaction that replaces one part of each of its
 * rows, and one older compaction in force. One entry of what a row shows is exchanged for the other. Answers how many
 * rows were.
 */
function exchange(connection: Connection, compaction: number, inForce: boolean, older: number): number {
  const [from, to] = inForce ? [older, compaction] : [compaction, older]
  const sign = inForce ? '-' : '+'
  // The driver binds every number as a real, which would be written "2.0".
  return connection.run(
    `update undertext_messages
     set shown = replace(shown, '[' || pair.part || ',' || cast(? as integer) || ']',
         '[' || pair.part || ',' || cast(? as integer) || ']'),
       size_text = size_text ${sign} pair.text, size_reasoning = size_reasoning ${sign} pair.reasoning,
       size_results = size_results ${sign} pair.results,
       size_media = size_media ${sign} pair.media
     from (${EXCHANGEABLE}) pair where undertext_messages.key = pair.message`,
    from,
    to,
    older,
    compaction,
  )
}

function exchangeableRows(connection: Connection, compaction: number, older: number): Set<number> {
  const rows = connection.all(`select message from (${EXCHANGEABLE})`, older, compaction)
  return new Set(rows.map(([key]) => key as number))
}

/**
 * Rows with several: for each part the newest in force. All at once, since a compaction that replaces again what
 * another had replaced does so for thousands of rows.
 */
function setNewest(
  connection: Connection,
  compaction: number,
  inForce: boolean,
  others: readonly number[],
  rows: readonly number[],
): void {
  // SQLite's rule for bare columns beside max(): they are of the row that holds it.
  const newest = `select r.message, r.part, max(r.compaction) as by, r.text, r.saved_text, r.saved_reasoning, r.saved_results,
      r.saved_media
    from json_each(?) k join undertext_replacements r on r.message = k.value
    where r.compaction in (select value from json_each(?)) group by r.message, r.part`
  const totals = `sum(saved_text) as saved_text, sum(saved_reasoning) as saved_reasoning,
    sum(saved_results) as saved_results, sum(saved_media) as saved_media`
  const keys = JSON.stringify(rows)
  const [without, including] = [JSON.stringify(others), JSON.stringify([...others, compaction])]
  connection.run(
    `update undertext_messages set shown = after.shown,
       size_text = size_text + before.saved_text - after.saved_text,
       size_reasoning = size_reasoning + before.saved_reasoning - after.saved_reasoning,
       size_results = size_results + before.saved_results - after.saved_results,
       size_media = size_media + before.saved_media - after.saved_media
     from (select message, ${totals} from (${newest}) group by message) before
     join (select message, '[' || group_concat('[' || part || ',' || by || ']' order by part) filter (${IS_SHOWN}) || ']' as shown, ${totals}
           from (${newest}) group by message) after on after.message = before.message
     where undertext_messages.key = before.message`,
    keys,
    inForce ? without : including,
    keys,
    inForce ? including : without,
  )
}

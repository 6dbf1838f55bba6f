import type { PlannedReplacement } from '../../core/plan.ts'
import { NO_SIZES, type Sizes } from '../../core/tokens.ts'
import type { Connection } from './connection.ts'
import { M_VISIBLE } from './history.ts'
import { decodeShown, encodeShown } from './row-codec.ts'

/*
 * Which replacement a part shows is a function of the set of compactions in force: the newest by creation. The
 * column `shown` and the sizes of a row are an index of that, kept here. Only a row that several compactions in
 * force replace needs a look at all of them; the others are set in one statement.
 */

/** Stores the texts of a compaction, within the caller's transaction. `keyOf` gives a row's key. */
export function insertReplacements(
  connection: Connection,
  compaction: number,
  replacements: readonly PlannedReplacement[],
  keyOf: (replacement: PlannedReplacement) => number,
): void {
  let lastText: string | undefined
  let lastJson = ''
  for (const replacement of replacements) {
    // Placeholders are one text over and over.
    if (replacement.text !== lastText) {
      lastText = replacement.text
      lastJson = JSON.stringify(replacement.text)
    }
    connection.run(
      `insert into undertext_replacements (compaction, message, part, text, saved_text, saved_results, saved_media)
       values (?, ?, ?, ?, ?, ?, ?)`,
      compaction,
      keyOf(replacement),
      replacement.part,
      lastJson,
      replacement.saved.text,
      replacement.saved.toolResults,
      replacement.saved.media,
    )
  }
}

/**
 * Brings `shown` and the sizes of all rows a compaction replaces parts of in line with the compactions in force.
 * `inForce` says whether this one is; the status of the others is read. Answers by how much the sizes of the
 * *visible* ones of these rows changed.
 */
export function refreshShown(connection: Connection, compaction: number, inForce: boolean): Sizes {
  const before = visibleSizes(connection, compaction)
  const overlapping = overlappingRows(connection, compaction)
  const plain = JSON.stringify(overlapping)
  if (inForce) showAlone(connection, compaction, plain)
  else hideAlone(connection, compaction, plain)
  for (const key of overlapping) recompute(connection, key, compaction, inForce)
  const after = visibleSizes(connection, compaction)
  return {
    ...NO_SIZES,
    text: after.text - before.text,
    toolResults: after.toolResults - before.toolResults,
    media: after.media - before.media,
  }
}

function visibleSizes(connection: Connection, compaction: number): Sizes {
  const row = connection.get(
    `select total(m.size_text), total(m.size_results), total(m.size_media)
     from (select distinct message from undertext_replacements where compaction = ?) r
     join undertext_messages m on m.key = r.message where ${M_VISIBLE}`,
    compaction,
  )
  const [text, toolResults, media] = row as [number, number, number]
  return { ...NO_SIZES, text, toolResults, media }
}

/** Rows of which another compaction in force replaces parts too. */
function overlappingRows(connection: Connection, compaction: number): number[] {
  const session = connection.get('select session from undertext_compactions where no = ?', compaction)![0]
  const others = connection.get(
    `select 1 from undertext_compactions where session = ? and status = 'active' and parts_replaced > 0 and no <> ? limit 1`,
    session,
    compaction,
  )
  if (others === undefined) return []
  return connection
    .all(
      `select distinct a.message from undertext_replacements a
       join undertext_replacements b on b.message = a.message and b.compaction <> a.compaction
       join undertext_compactions c on c.no = b.compaction and c.status = 'active'
       where a.compaction = ?`,
      compaction,
    )
    .map(([key]) => key as number)
}

/** Rows only this compaction replaces parts of: its replacements are what they show. */
function showAlone(connection: Connection, compaction: number, except: string): void {
  connection.run(
    `update undertext_messages set shown = r.shown, size_text = size_text - r.saved_text,
       size_results = size_results - r.saved_results, size_media = size_media - r.saved_media
     from (select message, '[' || group_concat('[' || part || ',' || compaction || ']' order by part) || ']' as shown,
             sum(saved_text) as saved_text, sum(saved_results) as saved_results, sum(saved_media) as saved_media
           from undertext_replacements where compaction = ? group by message) r
     where undertext_messages.key = r.message and r.message not in (select value from json_each(?))`,
    compaction,
    except,
  )
}

/** The same rows without it: they show their originals. */
function hideAlone(connection: Connection, compaction: number, except: string): void {
  connection.run(
    `update undertext_messages set shown = null, size_text = size_text + r.saved_text,
       size_results = size_results + r.saved_results, size_media = size_media + r.saved_media
     from (select message, sum(saved_text) as saved_text, sum(saved_results) as saved_results, sum(saved_media) as saved_media
           from undertext_replacements where compaction = ? group by message) r
     where undertext_messages.key = r.message and r.message not in (select value from json_each(?))`,
    compaction,
    except,
  )
}

/** One row with several: for each part the newest in force. */
function recompute(connection: Connection, key: number, compaction: number, inForce: boolean): void {
  const current = connection.get('select shown from undertext_messages where key = ?', key)!
  const saved = new Map<string, Sizes>()
  const newest = new Map<number, number>()
  const rows = connection.all(
    `select r.part, r.compaction, r.saved_text, r.saved_results, r.saved_media, c.status
     from undertext_replacements r join undertext_compactions c on c.no = r.compaction
     where r.message = ? order by r.part, r.compaction`,
    key,
  ) as [number, number, number, number, number, string][]
  for (const [part, by, text, toolResults, media, status] of rows) {
    saved.set(`${part}:${by}`, { ...NO_SIZES, text, toolResults, media })
    if (by === compaction ? inForce : status === 'active') newest.set(part, by)
  }
  const sum = (entries: Iterable<readonly [number, number]>): Sizes => {
    let [text, toolResults, media] = [0, 0, 0]
    for (const [part, by] of entries) {
      const one = saved.get(`${part}:${by}`)!
      text += one.text
      toolResults += one.toolResults
      media += one.media
    }
    return { ...NO_SIZES, text, toolResults, media }
  }
  const before = sum(decodeShown(current[0]).map(({ part, compaction: by }) => [part, by] as const))
  const after = sum(newest)
  connection.run(
    `update undertext_messages set shown = ?, size_text = size_text + ?, size_results = size_results + ?,
       size_media = size_media + ? where key = ?`,
    encodeShown([...newest].map(([part, by]) => ({ part, compaction: by }))),
    before.text - after.text,
    before.toolResults - after.toolResults,
    before.media - after.media,
    key,
  )
}

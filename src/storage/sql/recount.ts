import { isDeepStrictEqual } from 'node:util'
import { isUndertextError, type UndertextError } from '../../core/errors.ts'
import { listIn } from '../../core/messages/json.ts'
import { partsOf } from '../../core/messages/message.ts'
import { indexMessage, type MessageIndex } from '../../core/model/message-parts.ts'
import { savedOf } from '../../core/model/plan.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { addSizes, NO_SIZES, type Sizes, subtractSizes } from '../../core/tokens/measure.ts'
import { writeAudit } from './audit.ts'
import { SAVED_COLUMNS, SAVED_OF_R, SIZE_COLUMNS, savedColumns, setColumns, sizeColumns } from './columns.ts'
import { SIZE_TOTALS } from './commit.ts'
import { decodeContent, parseReplacement, parseStoredObject, readBlobs } from './content-codec.ts'
import { COUNT_SENT, encodeShown, encodeTools } from './row-codec.ts'
import { requireSession, type StoredSession } from './sessions.ts'
import { type Row, type Sql, writing } from './sql.ts'
import { CONTENT_OF_M, TEXT_OF_R, VISIBLE } from './view.ts'
import type { Step, Work } from './work.ts'

/** The number of rows whose contents are read at a time, because a large session needn't fit into memory. */
const BATCH = 1_000

type RecountedReplacement = {
  readonly compaction: number
  readonly part: number
  readonly saved: Sizes
  readonly active: boolean
  /** Whether it shows the original in place of an older replacement. */
  readonly isOriginal: boolean
  /** Whether the stored savings are correct. */
  readonly isCorrect: boolean
}

/** The derived columns of a row, as computed from its content and its replacements. */
export type Recounted = {
  readonly key: number
  readonly index: MessageIndex
  readonly replacements: readonly RecountedReplacement[]
  readonly shown: string | null
  readonly shownSizes: Sizes
  /** The list of the blobs in its content, as stored. */
  readonly blobs: string | null
}

type OnDamaged = (key: number, error: UndertextError<'STORE_CORRUPT'>, blobs: string | null) => void

/**
 * Recounts every row of a session from its content, in batches, within the caller's transaction, and passes each to `use`. If a row can't
 * be read, throws `STORE_CORRUPT` or, if given, calls `onDamaged` and skips the row.
 */
export function* recountRows(
  sql: Sql,
  session: number,
  estimator: Estimator,
  use: (row: Recounted) => Step<void>,
  onDamaged?: OnDamaged,
): Work<void> {
  const all = yield* sql.all(
    'select key from undertext_messages where {family} session = ? order by key',
    session,
  )
  const keys = all.map(([key]) => key as number)
  yield* recountKeys(sql, keys, estimator, use, onDamaged)
}

/** Like `recountRows`, for the rows with given keys. */
export function* recountKeys(
  sql: Sql,
  all: readonly number[],
  estimator: Estimator,
  use: (row: Recounted) => Step<void>,
  onDamaged?: OnDamaged,
): Work<void> {
  for (let at = 0; at < all.length; at += BATCH) {
    const keys = JSON.stringify(all.slice(at, at + BATCH))
    const rows = yield* sql.all(
      `select m.key, c.content, c.blobs, c.metadata from {list ?} k
       {cross} undertext_messages m on {family m} m.key = k.value {cross} ${CONTENT_OF_M} order by m.key`,
      keys,
    )
    const replacements = yield* replacementsOf(sql, keys)
    for (const [contentKey, content, places, metadata] of rows) {
      const key = contentKey as number
      const blobs = places as string | null
      let recounted: Recounted
      try {
        const decoded = decodeContent(content as string, blobs, yield* readBlobs(sql, [[blobs, key]]), key)
        if (onDamaged !== undefined && metadata !== null) parseStoredObject(metadata, 'metadata', key)
        recounted = { ...recount(key, decoded, replacements.get(key) ?? [], estimator), blobs }
      } catch (error) {
        if (onDamaged === undefined || !isUndertextError(error, 'STORE_CORRUPT')) throw error
        onDamaged(key, error, blobs)
        continue
      }
      yield* use(recounted)
    }
  }
}

/** Returns the replacements of some rows, by row, in order of parts and compactions. `keys` is JSON. */
function* replacementsOf(sql: Sql, keys: string): Work<ReadonlyMap<number, Row[]>> {
  const found = yield* sql.all(
    `select r.message, r.compaction, r.part, ${TEXT_OF_R}, c.status, ${SAVED_OF_R}
     from {list ?} k {cross} undertext_replacements r on {family r} r.message = k.value
     left join undertext_compactions c on {family c} c.no = r.compaction order by r.message, r.part, r.compaction`,
    keys,
  )
  const byRow = new Map<number, Row[]>()
  for (const row of found) listIn(byRow, row[0] as number).push(row)
  return byRow
}

function recount(
  key: number,
  content: Parameters<typeof partsOf>[0]['content'],
  rows: readonly Row[],
  estimator: Estimator,
): Omit<Recounted, 'blobs'> {
  const index = indexMessage({ content }, estimator)
  const parts = partsOf({ content })
  const replacements = rows.map(([, compaction, part, text, status, ...stored]): RecountedReplacement => {
    const shownText = parseReplacement(text, key)
    const saved = savedOf(parts[part as number], shownText, estimator)
    const isCorrect = isDeepStrictEqual(stored, savedColumns(saved))
    return {
      compaction: compaction as number,
      part: part as number,
      saved,
      active: status === 'active',
      isOriginal: shownText === null,
      isCorrect,
    }
  })
  return { key, index, replacements, ...showing(index, replacements) }
}

/** Returns the newest active replacement of each part of a row. `replacements` must be in order of parts and compactions. */
export function showing(
  index: MessageIndex,
  replacements: readonly Omit<RecountedReplacement, 'isCorrect'>[],
): Pick<Recounted, 'shown' | 'shownSizes'> {
  const newest = new Map<number, Omit<RecountedReplacement, 'isCorrect'>>()
  for (const replacement of replacements) if (replacement.active) newest.set(replacement.part, replacement)
  const saved = [...newest.values()].reduce((sum, replacement) => addSizes(sum, replacement.saved), NO_SIZES)
  return {
    shown: encodeShown(
      [...newest.values()]
        .filter(({ isOriginal }) => !isOriginal)
        .map(({ part, compaction }) => ({ part, compaction })),
    ),
    shownSizes: subtractSizes(index.sizes, saved),
  }
}

/** Recounts all rows of a session with an estimator, and records the estimator. Throws `SESSION_NOT_FOUND`. */
export const reestimate = writing(
  'sessions.reestimate',
  function* (sql: Sql, id: string, estimator: Estimator): Work<StoredSession> {
    const session = yield* requireSession(sql, id)
    yield* recountRows(sql, session.no, estimator, (row) => writeRecounted(sql, row))
    yield* sql.run(
      'update undertext_sessions set estimator = ? where {family} no = ?',
      estimator.name,
      session.no,
    )
    yield* resetCounters(sql, session.no)
    yield* writeAudit(sql, session.no, {
      event: 'reestimated',
      detail: { from: session.estimator, to: estimator.name },
    })
    return yield* requireSession(sql, id)
  },
)

/** Writes the recounted figures of a row, within the caller's transaction. */
export function* writeRecounted(
  sql: Sql,
  { key, index, replacements, shown, shownSizes }: Recounted,
): Work<void> {
  yield* sql.run(
    `update undertext_messages set tools = ?, shown = ?, ${setColumns(SIZE_COLUMNS)} where {family} key = ?`,
    encodeTools(index),
    shown,
    ...sizeColumns(shownSizes),
    key,
  )
  for (const { compaction, part, saved } of replacements) {
    yield* sql.run(
      `update undertext_replacements set ${setColumns(SAVED_COLUMNS)}
       where {family} compaction = ? and message = ? and part = ?`,
      ...savedColumns(saved),
      compaction,
      key,
      part,
    )
  }
}

export const COUNTERS = `messages, inserted, visible, ${SIZE_COLUMNS.join(', ')}, hidden_condensed,
  hidden_truncated, hidden_manual, retired, active_compactions`

const IN_SESSION = 'session = ?'

function rowsWith(condition: string): string {
  return `(select count(*) from undertext_messages where {family} ${IN_SESSION} and ${condition})`
}

function rowsTruncatedBy(kinds: string): string {
  return `(select count(*) from undertext_messages m join undertext_compactions c on {family c} c.no = m.truncation_parent
    where {family m} m.${IN_SESSION} and c.kind ${kinds})`
}

/** SQL: the counters of a session, computed from its rows and compactions, in the order of `COUNTERS`. */
const COUNT_ALL = `select ${rowsWith('position is not null')},
    (select coalesce(max(ordinal), 0) from undertext_messages where {family} ${IN_SESSION} and position is null),
    ${COUNT_SENT}, ${SIZE_TOTALS}, ${rowsWith('condense_parent is not null')},
    ${rowsTruncatedBy("<> 'manual'")}, ${rowsTruncatedBy("= 'manual'")}, ${rowsWith('retired_by is not null')},
    (select count(*) from undertext_compactions where {family} ${IN_SESSION} and status = 'active')
  from undertext_messages {index undertext_visible} where {family} ${IN_SESSION} and ${VISIBLE}`

const COUNT_VALUES = COUNT_ALL.split(IN_SESSION).length - 1

export function* storedCounters(sql: Sql, session: number): Work<Row> {
  return (yield* sql.get(`select ${COUNTERS} from undertext_sessions where {family} no = ?`, session))!
}

export function* countAll(sql: Sql, session: number): Work<Row> {
  return (yield* sql.get(COUNT_ALL, ...Array(COUNT_VALUES).fill(session)))!
}

/** Sets the counters to their computed values, within the caller's transaction. Raises version and view epoch. */
export function* resetCounters(sql: Sql, session: number): Work<void> {
  yield* sql.run(
    `update undertext_sessions set (${COUNTERS}) = (${COUNT_ALL}), version = version + 1, view_epoch = view_epoch + 1
     where {family} no = ?`,
    ...Array(COUNT_VALUES + 1).fill(session),
  )
}

import { invalid } from '../../core/errors.ts'
import { partsOf, type StoredMessage } from '../../core/messages/message.ts'
import { decodeCoverage, type RowSet } from '../../core/model/coverage.ts'
import {
  type Beneath,
  type Covering,
  type ExpandedMessage,
  type ExpandedRow,
  type ExpandedSummary,
  fold,
  levelOf,
  pageOfRanges,
  type Sources,
} from '../../core/model/expansion.ts'
import { DEFAULT_PROVIDER } from '../../core/tokens/budget.ts'
import type { Estimator } from '../../core/tokens/estimators/estimator-schema.ts'
import { addSizes, measureMessage, NO_SIZES, type Sizes, tokensOf } from '../../core/tokens/measure.ts'
import type { SourceQuery } from '../storage.ts'
import { SAVED_COLUMNS, SIZE_COLUMNS, savedSizes, sizesOf } from './columns.ts'
import { SIZE_TOTALS } from './commit.ts'
import { damaged, decodeContent, parseStoredObject, readBlobs, storedRow } from './content-codec.ts'
import { requireKey } from './pins.ts'
import { decodeKind, decodeRole, rowId } from './row-codec.ts'
import { estimatorOf, requireSession, type StoredSession } from './sessions.ts'
import { type Row, reading, type Sql } from './sql.ts'
import { CONTENT_OF_M, readRange } from './view.ts'
import { Done, mapped, type Step, type Work } from './work.ts'

/* Expansion of summaries. The rows that compactions covered are looked up by place, without a scan of the session. */

/** The queries for the rows of a coverage, exported for the test of their plans. */
export const SOURCE_QUERIES = {
  own: `select count(*), min(created_at), max(created_at), ${SIZE_TOTALS} from undertext_messages
    where {family} session = ? and position between ? and ?`,
  saved: `select ${SAVED_COLUMNS.map((name) => `coalesce(sum(r.${name}), 0)`).join(', ')}
    from undertext_messages m cross join {elements m.shown} s {cross} undertext_replacements r
      on {family r} r.message = m.key and r.part = {int s 0} and r.compaction = {int s 1}
    where {family m} m.session = ? and m.position between ? and ? and m.shown is not null`,
  inserted: `select inserted_by from undertext_messages where {family} session = ? and position is null and ordinal = ?`,
  messages: rowsWhere('m.position between ? and ?'),
  insertedRows: rowsWhere('m.position is null and m.ordinal = ?'),
} as const

/** SQL: rows with their contents. A row without a content is returned too and fails to decode, so that no message is silently omitted. */
function rowsWhere(condition: string): string {
  return `select m.key, m.kind, m.role, m.position, m.ordinal, m.anchor, m.id, m.created_at, m.shown is not null, m.inserted_by,
      c.content, c.blobs, c.metadata, ${SIZE_COLUMNS.map((name) => `m.${name}`).join(', ')}
    from undertext_messages m left join ${CONTENT_OF_M} where {family m} m.session = ? and ${condition}`
}

/** Returns a summary with the rows that it represents, expanded `depth` levels deep. Throws the errors of `Storage.expand`. */
export const expandSummary = reading(
  'messages.expand',
  function* (sql: Sql, id: string, summaryId: string, depth: number): Work<ExpandedSummary> {
    const session = yield* requireSession(sql, id)
    const key = yield* requireKey(sql, session, summaryId)
    const estimator = estimatorOf(sql, session)
    const below = yield* descendantsOf(sql, session, yield* summaryRow(sql, session, key), sourcesOf)
    const reader: Reader = { sql, session, estimator, below }
    const row = storedRow(yield* sql.get(rowsWhere('m.key = ?'), session.no, key), key)
    const root = yield* readSummary(reader, row)
    for (let level = 1, open = [root]; level <= depth && open.length > 0; level++)
      open = (yield* mapped(open, (summary) => openSummary(reader, summary))).flat()
    return root.row
  },
)

/** Returns a page of the log's messages that a summary represents. Throws the errors of `Storage.sources`. */
export const readSources = reading(
  'messages.expand',
  function* (sql: Sql, id: string, summaryId: string, { after, limit }: SourceQuery): Work<StoredMessage[]> {
    const session = yield* requireSession(sql, id)
    const root = yield* summaryRow(sql, session, yield* requireKey(sql, session, summaryId))
    const { ranges } = (yield* descendantsOf(sql, session, root, placesOf)).get(root)!
    return yield* readRange(sql, session, pageOfRanges(ranges, after, limit ?? Number.MAX_SAFE_INTEGER))
  },
)

/** Returns the number of the compaction that inserted a summary. Throws `INVALID_INPUT` for any other row. */
function* summaryRow(sql: Sql, session: StoredSession, key: number): Work<number> {
  const row = yield* sql.get('select kind, inserted_by from undertext_messages where {family} key = ?', key)
  const [kind, insertedBy] = storedRow(row, key)
  if (decodeKind(kind) !== 'summary' || insertedBy === null)
    throw invalid(`this message of session ${JSON.stringify(session.id)} isn't a summary`)
  return insertedBy as number
}

/**
 * Returns the messages that a compaction represents, and each compaction below it. `coveringOf` is called once for each. Returns
 * `undefined` if coverage is cyclic or empty, which only happens in a damaged file.
 */
function* beneath(
  root: number,
  coveringOf: (compaction: number) => Step<Covering>,
): Work<ReadonlyMap<number, Beneath> | undefined> {
  const coverings = new Map<number, Covering>()
  const done = new Map<number, Beneath>()
  const stack = [root]
  while (stack.length > 0) {
    const no = stack[stack.length - 1]!
    const covering = coverings.get(no)
    if (covering === undefined) {
      const found = yield* coveringOf(no)
      coverings.set(no, found)
      for (const inner of found.inner) {
        if (done.has(inner)) continue
        // Visited but not finished: the coverage is cyclic.
        if (coverings.has(inner)) return undefined
        stack.push(inner)
      }
      continue
    }
    stack.pop()
    if (done.has(no)) continue
    const folded = fold(
      covering,
      covering.inner.map((inner) => done.get(inner)!),
    )
    if (folded === undefined) return undefined
    done.set(no, folded)
  }
  return done
}

type SumOf = (sql: Sql, session: number, hidden: RowSet) => Step<Sources | undefined>

function* descendantsOf(
  sql: Sql,
  session: StoredSession,
  root: number,
  sumOf: SumOf,
): Work<ReadonlyMap<number, Beneath>> {
  const found = yield* beneath(root, (no) => coveringOf(sql, session, no, sumOf))
  if (found === undefined) throw damaged('coverage', `compaction no. ${root}`)
  return found
}

function* coveringOf(sql: Sql, session: StoredSession, no: number, sumOf: SumOf): Work<Covering> {
  const { hidden, params } = yield* compactionOf(sql, no)
  const inner = yield* mapped(hidden.inserted, function* ({ ordinal }) {
    const row = yield* sql.get(SOURCE_QUERIES.inserted, session.no, ordinal)
    if (typeof row?.[0] !== 'number') throw damaged('coverage', `compaction no. ${no}`)
    return row[0]
  })
  return { hidden, level: levelOf(params), inner, own: yield* sumOf(sql, session.no, hidden) }
}

type Compaction = {
  readonly id: string
  readonly hidden: RowSet
  readonly params: ReturnType<typeof parseStoredObject> | undefined
}

function* compactionOf(sql: Sql, no: number): Work<Compaction> {
  const row = yield* sql.get(
    'select id, coverage, params from undertext_compactions where {family} no = ?',
    no,
  )
  const name = `compaction no. ${no}`
  if (typeof row?.[0] !== 'string') throw damaged('record', name)
  try {
    const { hidden } = decodeCoverage(row[1] as string, undefined)
    const params = row[2] === null ? undefined : parseStoredObject(row[2], 'record', name)
    return { id: row[0], hidden, params }
  } catch {
    // The parser's error would quote the text.
    throw damaged('coverage', name)
  }
}

/** Returns sums over the messages of a set of rows, without replacements. */
function* sourcesOf(sql: Sql, session: number, { positions }: RowSet): Work<Sources | undefined> {
  let all: Sources | undefined
  for (const [from, to] of positions) {
    const [count, earliest, latest, ...totals] = (yield* sql.get(SOURCE_QUERIES.own, session, from, to))!
    if (count === 0) continue
    const saved = savedSizes((yield* sql.get(SOURCE_QUERIES.saved, session, from, to))!)
    const sizes = addSizes(sizesOf(totals), saved)
    const [first, last] = [earliest as number, latest as number]
    all = {
      messages: (all?.messages ?? 0) + (count as number),
      sizes: addSizes(all?.sizes ?? NO_SIZES, sizes),
      times: [Math.min(all?.times[0] ?? first, first), Math.max(all?.times[1] ?? last, last)],
    }
  }
  return all
}

/** Like `sourcesOf`, for callers that only need places: reads no row. */
function placesOf(_sql: Sql, _session: number, { positions }: RowSet): Step<Sources | undefined> {
  return new Done(positions.length === 0 ? undefined : { messages: 0, sizes: NO_SIZES, times: [0, 0] })
}

type Open = {
  readonly row: Omit<ExpandedSummary, 'children'> & { children?: ExpandedRow[] }
  readonly compaction: number
}

/** The context in which rows below one summary are read. */
type Reader = {
  readonly sql: Sql
  readonly session: StoredSession
  readonly estimator: Estimator
  /** The messages that each compaction below the summary represents. */
  readonly below: ReadonlyMap<number, Beneath>
}

/** Fills in the children of a summary; returns those that can be expanded in turn. */
function* openSummary(reader: Reader, { row, compaction }: Open): Work<Open[]> {
  const { sql, session } = reader
  const { hidden } = yield* compactionOf(sql, compaction)
  const messages = yield* mapped(hidden.positions, (range) =>
    sql.all(SOURCE_QUERIES.messages, session.no, ...range),
  )
  const inserted = yield* mapped(hidden.inserted, ({ ordinal }) =>
    sql.all(SOURCE_QUERIES.insertedRows, session.no, ordinal),
  )
  const rows = [...messages, ...inserted]
    .flat()
    .sort((a, b) => (a[5] as number) - (b[5] as number) || (a[4] as number) - (b[4] as number))
  const opened: Open[] = []
  row.children = yield* mapped(rows, function* (stored): Work<ExpandedRow> {
    if (stored[9] === null) return yield* readMessage(reader, stored)
    const inner = yield* readSummary(reader, stored)
    opened.push(inner)
    return inner.row
  })
  return opened
}

function* readSummary(reader: Reader, row: Row): Work<Open> {
  const compaction = row[9] as number
  const found = reader.below.get(compaction)
  const first = found?.ranges[0]
  const last = found?.ranges.at(-1)
  const kind = decodeKind(row[1])
  if (found === undefined || first === undefined || last === undefined || kind === 'message')
    throw damaged('coverage', `compaction no. ${compaction}`)
  const { level, messages, descendants, sizes, times } = found
  const summary: Open['row'] = {
    ...(yield* readMessage(reader, row)),
    kind,
    positions: [first[0], last[1]],
    times,
    compactionId: (yield* compactionOf(reader.sql, compaction)).id,
    level,
    messages,
    sourceTokens: tokensIn(reader, sizes, messages),
    descendants,
  }
  return { row: summary, compaction }
}

function* readMessage(reader: Reader, row: Row): Work<ExpandedMessage> {
  const [
    ,
    ,
    role,
    logPosition,
    ordinal,
    anchor,
    ownId,
    createdAt,
    isReplaced,
    ,
    stored,
    blobs,
    text,
    ...sizes
  ] = row
  const id = rowId(reader.session.incarnation, ownId, logPosition, ordinal)
  const found = yield* readBlobs(reader.sql, [[blobs as string | null, id]])
  const content = decodeContent(stored as string, blobs as string | null, found, id)
  const position = anchor as number
  const at = createdAt as number
  const measured =
    isReplaced === 1 ? measureMessage({ content: partsOf({ content }) }, reader.estimator) : sizesOf(sizes)
  return {
    kind: 'message',
    id,
    role: decodeRole(role),
    content,
    ...(text !== null && { metadata: parseStoredObject(text, 'metadata', id) }),
    createdAt: at,
    positions: [position, position],
    times: [at, at],
    tokens: tokensIn(reader, measured, 1),
  }
}

function tokensIn({ session, estimator }: Reader, sizes: Sizes, rows: number): number {
  const provider = session.provider ?? DEFAULT_PROVIDER
  return tokensOf(sizes, rows, estimator, provider) - estimator.tokensPerConversation
}

import { defined } from '../../core/messages/json.ts'
import type { Circuit, Spending } from '../jobs.ts'
import { LEASE_MS } from '../process.ts'
import type {
  BilledTokens,
  CostsQuery,
  ModelUsage,
  RecordedCosts,
  RecordedUsage,
  UsageReport,
} from '../storage.ts'
import { CIRCUIT, insertInto, setExcluded, USAGE, upsertInto } from './columns.ts'
import { parseStoredObject, storedOptional, storedText } from './content-codec.ts'
import { dueAt } from './jobs.ts'
import { requireHead, requireSession } from './sessions.ts'
import { outside, type Row, reading, type Sql, writing } from './sql.ts'
import type { Work } from './work.ts'

const WRITE_CIRCUIT = upsertInto('undertext_circuits', ['session'], CIRCUIT.names)

export const readCircuit = outside('compactSession', circuitOf)

function* circuitOf(sql: Sql, id: string): Work<Circuit | undefined> {
  yield* sql.enter(id)
  const statement = `select ${CIRCUIT.of('c')} from undertext_circuits c join undertext_sessions s on {family s} s.no = c.session where {family c} {named s} s.id = ?`
  const row = yield* sql.get(statement, id)
  return row && decode(row)
}

export const noteFailure = writing(
  'compactSession',
  function* (
    sql: Sql,
    id: string,
    { viewEpoch, model, error }: Omit<Circuit, 'failures' | 'openUntil'>,
    { most, openUntil }: { readonly most: number; readonly openUntil: number },
  ): Work<Circuit | undefined> {
    const { no } = yield* requireHead(sql, id)
    const before = yield* circuitOf(sql, id)
    const isSame = before?.viewEpoch === viewEpoch && before.model === model
    const failures = isSame ? before.failures + 1 : 1
    const changed = { failures, viewEpoch, model, error, openUntil: failures >= most ? openUntil : undefined }
    yield* sql.run(WRITE_CIRCUIT, no, ...CIRCUIT.write({ ...changed, changedAt: Date.now() }))
    return yield* circuitOf(sql, id)
  },
)

export const tryOnce = writing(
  'compactSession',
  function* (sql: Sql, id: string, openUntil: number, next: number): Work<boolean> {
    const { no } = yield* requireHead(sql, id)
    const now = Date.now()
    // If the clock was set back, the wait is over (see dueAt).
    const statement = `update undertext_circuits set open_until = ?, changed_at = ?
      where {family} session = ? and (open_until = ? or changed_at > ?)`
    return (yield* sql.change(statement, next, now, no, openUntil, now + LEASE_MS)) === 1
  },
)

export function* resetCircuit(sql: Sql, id: string): Work<Circuit | undefined> {
  if ((yield* readCircuit(sql, id)) === undefined) return undefined
  return yield* sql.write('compactSession', function* () {
    const before = yield* circuitOf(sql, id)
    const { no } = yield* requireHead(sql, id)
    yield* sql.run('delete from undertext_circuits where {family} session = ?', no)
    return before
  })
}

/**
 * Returns sums over the compactions for which a model was called. These are the compactions of the given summarizer, those with a recorded
 * model, usage or cost, and attempts without a summary, because only summarizers with a model are recorded before they answer. If the clock
 * was set back, compactions with a time in the future are in no window.
 */
export const readSpending = outside(
  'compactSession',
  function* (sql: Sql, id: string | undefined, since: number, summarizer: string): Work<Spending> {
    const asked = `copied_from is null and summarizer is not null and created_at > ? and created_at <= ? and (summarizer = ? or model is not null or usage is not null
      or cost is not null or status in ('running', 'failed', 'rejected', 'aborted', 'expired'))`
    if (id !== undefined) yield* sql.enter(id)
    const ofSession =
      id === undefined
        ? ''
        : ' and {family} session = (select no from undertext_sessions where {family} {named} id = ?)'
    const row = yield* sql.get(
      `select count(*), coalesce(sum(coalesce({number usage inputTokens}, 0) + coalesce({number usage outputTokens}, 0)), 0),
         coalesce(sum(cost), 0), min(created_at) from undertext_compactions where ${asked}${ofSession}`,
      ...[since, Date.now() + LEASE_MS, summarizer, ...(id === undefined ? [] : [id])],
    )
    const [calls, used, cost, oldest] = row as readonly (number | null)[]
    return { calls: calls ?? 0, tokens: used ?? 0, cost: cost ?? 0, oldest: oldest ?? undefined }
  },
)

function decode(row: Row): Circuit {
  const { changedAt, ...circuit } = CIRCUIT.all(row, 0, 'circuit')
  return { ...circuit, openUntil: circuit.openUntil && dueAt(circuit.openUntil, changedAt) }
}

/*
 * Billed tokens. A report for a view that has changed since was billed too, so its tokens count; its cached tokens don't, because they
 * belong to the earlier view.
 */

const INSERT_USAGE = insertInto('undertext_usage', ['session', ...USAGE.names])
/** The columns with sums, and those of the last request. */
const [ADDED, LAST] = [USAGE.names.slice(2, 7), USAGE.names.slice(7, 9)]

/** Adds one or more requests within the transaction of their report. A report without tokens is ignored. */
export function* addBilled(
  sql: Sql,
  session: number,
  { provider, model, at = Date.now() }: Pick<UsageReport, 'provider' | 'model' | 'at'>,
  { requests = 1, inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens }: BilledTokens,
  isStale: boolean,
): Work<void> {
  const [read, created] = [cacheReadTokens ?? 0, cacheCreationTokens ?? 0]
  if (inputTokens + read + created + outputTokens === 0) return
  const billed = { requests, inputTokens, cacheReadTokens: read, cacheCreationTokens: created, outputTokens }
  const cached = isStale
    ? {}
    : { lastCacheReadTokens: cacheReadTokens, lastCacheCreationTokens: cacheCreationTokens }
  const added = ADDED.map((name) => `${name} = undertext_usage.${name} + excluded.${name}`).join(', ')
  yield* sql.run(
    `${INSERT_USAGE} on conflict ({family,} session, provider, model) do update set ${added},
       ${setExcluded(isStale ? ['at'] : ['at', ...LAST])}`,
    ...[session, ...USAGE.write({ provider, model, ...billed, ...cached, at })],
  )
}

/** Returns the billed tokens of a session, and the recorded facts of its summaries. Throws `SESSION_NOT_FOUND`. */
export const readUsage = reading('requests.usage', function* (sql: Sql, id: string): Work<RecordedUsage> {
  const { no } = yield* requireSession(sql, id)
  const models = (yield* sql.all(
    `select ${USAGE.names.join(', ')} from undertext_usage where {family} session = ? order by provider, model`,
    no,
  )).map(decodeUsage)
  const summaries = (yield* sql.all(
    `select summarizer, model, usage, cost from undertext_compactions
         where {family} session = ? and (usage is not null or cost is not null) and copied_from is null order by no`,
    no,
  )).map(decodeSummary)
  return { models, summaries }
})

function decodeUsage(row: Row): ModelUsage {
  const { provider, model, ...billed } = USAGE.read(row, 0, 'usage')
  return { provider, ...defined({ model: model || undefined }), ...billed }
}

function decodeSummary(row: Row): RecordedUsage['summaries'][number] {
  const usage = row[2] === null ? undefined : parseStoredObject(row[2], 'usage', 'compaction')
  const [summarizer, model] = [storedText(row[0], 'compaction'), storedText(row[1], 'compaction')]
  return { summarizer: summarizer ?? '', model, usage, cost: storedOptional(row[3], 'compaction') }
}

/** 100,000,000 days, the first day of the calendar of `Date`, so that no time is negative and the division rounds down. */
const SHIFT_DAYS = 100_000_000
const SHIFT_MS = SHIFT_DAYS * 86_400_000

/** SQL: the number of the day of a time, plus `SHIFT_DAYS`. Its parameter is the offset of the days. */
function dayOf(time: string): string {
  return `(${time} + cast(? as integer) + ${SHIFT_MS}) / 86400000`
}

/** SQL: the compactions `c` that were applied. Rewinds are left out, because they save nothing. */
const APPLIED = `c.status in ('active', 'undone') and (c.kind <> 'manual' or c.coverage not like '%"w":1%')`

/**
 * Returns sums over billed requests and over compactions, by day; of a session, or of all sessions that are seen. Throws
 * `SESSION_NOT_FOUND`.
 */
export const readCosts = reading(
  'requests.costs',
  function* (sql: Sql, { session, from, to, offsetMs }: CostsQuery): Work<RecordedCosts> {
    const head = session === undefined ? undefined : yield* requireHead(sql, session)
    const rowsOf = (select: string, table: string, alias: string, time: string, where: string, rest = '') => {
      const range = `${time} between ? and ? and ${where} ${rest}`
      return head === undefined
        ? sql.all(
            `${select} from ${table} ${alias} join undertext_sessions s on {same s ${alias}} s.no = ${alias}.session
             where {seen s} s.staged_by is null and ${range}`,
            ...[offsetMs, from, to],
          )
        : sql.all(
            `${select} from ${table} ${alias} where {family ${alias}} ${alias}.session = ? and ${range}`,
            ...[offsetMs, head.no, from, to],
          )
    }
    const sum = (column: string): string => `cast(coalesce(sum(${column}), 0) as bigint)`
    const requests = yield* rowsOf(
      `select ${dayOf('r.at')}, r.provider, r.model, count(*), ${sum('r.input_tokens')}, ${sum('r.cache_read_tokens')},
         ${sum('r.cache_creation_tokens')}, ${sum('r.output_tokens')}, max(r.at)`,
      ...(['undertext_requests', 'r', 'r.at', 'r.input_tokens is not null', 'group by 1, 2, 3'] as const),
    )
    const compactions = yield* rowsOf(
      `select ${dayOf('c.created_at')}, c.summarizer, c.model, count(*) filter (where ${APPLIED}),
         cast(coalesce(sum(c.tokens_before - c.tokens_after) filter (where ${APPLIED}), 0) as bigint), sum(c.cost)`,
      ...(['undertext_compactions', 'c', 'c.created_at', 'c.copied_from is null'] as const),
      `group by 1, 2, 3 having count(*) filter (where ${APPLIED}) > 0 or count(c.cost) > 0`,
    )
    const summaries = yield* rowsOf(
      `select ${dayOf('c.created_at')}, c.summarizer, c.model, c.usage, c.created_at`,
      ...(['undertext_compactions', 'c', 'c.created_at'] as const),
      'c.copied_from is null and c.usage is not null and c.cost is null',
    )
    return {
      requests: requests.map(decodeRequests),
      compactions: compactions.map(decodeCompactions),
      summaries: summaries.map((row) => {
        const { cost: _, ...summary } = decodeSummary([...row.slice(1, 4), null])
        return { day: (row[0] as number) - SHIFT_DAYS, at: row[4] as number, ...summary }
      }),
    }
  },
)

function decodeRequests(row: Row): RecordedCosts['requests'][number] {
  const [
    day,
    provider,
    model,
    requests,
    inputTokens,
    cacheReadTokens,
    cacheCreationTokens,
    outputTokens,
    at,
  ] = row as [number, string, string, number, number, number, number, number, number]
  return {
    ...{ day: day - SHIFT_DAYS, provider, ...defined({ model: model || undefined }), requests },
    ...{ inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens, at },
  }
}

function decodeCompactions(row: Row): RecordedCosts['compactions'][number] {
  const [day, summarizer, model, compactions, tokensSaved, cost] = row as [
    ...[number, string | null, string | null, number, number, number | null],
  ]
  return {
    ...{ day: day - SHIFT_DAYS, compactions, tokensSaved },
    ...defined({
      summarizer: summarizer ?? undefined,
      model: model ?? undefined,
      cost: cost ?? undefined,
    }),
  }
}

/** Returns the tokens that the last request of the current view left in the provider's cache; `undefined` if unknown. */
export const readCachedTokens = outside('compactSession', cachedTokensOf)

function* cachedTokensOf(sql: Sql, id: string, provider: string, model: string): Work<number | undefined> {
  yield* sql.enter(id)
  const row = yield* sql.get(
    `select u.last_cache_read_tokens, u.last_cache_creation_tokens from undertext_sessions s
     join undertext_measurements m on {family m} m.session = s.no and m.provider = ? and m.model = ? and m.view_epoch = s.view_epoch
     join undertext_usage u on {family u} u.session = s.no and u.provider = m.provider and u.model = m.model where {family s} {named s} s.id = ?`,
    provider,
    model,
    id,
  )
  if (row === undefined) return undefined
  const [read, created] = [storedOptional(row[0], 'usage'), storedOptional(row[1], 'usage')]
  return read === undefined && created === undefined ? undefined : (read ?? 0) + (created ?? 0)
}

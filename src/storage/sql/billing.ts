import { defined } from '../../core/messages/json.ts'
import type { Circuit, Spending } from '../jobs.ts'
import { LEASE_MS } from '../process.ts'
import type { BilledTokens, ModelUsage, RecordedUsage, UsageReport } from '../storage.ts'
import { columnsOf } from './compaction-row.ts'
import { parseStoredObject } from './content-codec.ts'
import { dueAt } from './jobs.ts'
import { requireHead, requireSession } from './sessions.ts'
import type { Row, Sql } from './sql.ts'
import type { Work } from './work.ts'

const COLUMNS = 'c.failures, c.view_epoch, c.model, c.error, c.open_until, c.changed_at'

export function* readCircuit(sql: Sql, id: string): Work<Circuit | undefined> {
  return yield* sql.outside('compactSession', () => circuitOf(sql, id))
}

function* circuitOf(sql: Sql, id: string): Work<Circuit | undefined> {
  yield* sql.enter(id)
  const statement = `select ${COLUMNS} from undertext_circuits c join undertext_sessions s on {family s} s.no = c.session where {family c} s.id = ?`
  const row = yield* sql.get(statement, id)
  return row && decode(row)
}

export function* noteFailure(
  sql: Sql,
  id: string,
  { viewEpoch, model, error }: Omit<Circuit, 'failures' | 'openUntil'>,
  { most, openUntil }: { readonly most: number; readonly openUntil: number },
): Work<Circuit | undefined> {
  return yield* sql.write('compactSession', function* () {
    const { no } = yield* requireHead(sql, id)
    const before = yield* circuitOf(sql, id)
    const isSame = before?.viewEpoch === viewEpoch && before.model === model
    const failures = isSame ? before.failures + 1 : 1
    yield* sql.run(
      `insert into undertext_circuits ({family,} session, failures, view_epoch, model, error, open_until, changed_at) values ({?,} ?, ?, ?, ?, ?, ?, ?)
       on conflict ({family,} session) do update set failures = excluded.failures, view_epoch = excluded.view_epoch, model = excluded.model,
         error = excluded.error, open_until = excluded.open_until, changed_at = excluded.changed_at`,
      no,
      failures,
      viewEpoch,
      model,
      error,
      failures >= most ? openUntil : null,
      Date.now(),
    )
    return yield* circuitOf(sql, id)
  })
}

export function* tryOnce(sql: Sql, id: string, openUntil: number, next: number): Work<boolean> {
  return yield* sql.write('compactSession', function* () {
    const { no } = yield* requireHead(sql, id)
    const now = Date.now()
    // After the clock was set back, the wait is over (see dueAt).
    const statement = `update undertext_circuits set open_until = ?, changed_at = ?
      where {family} session = ? and (open_until = ? or changed_at > ?)`
    return (yield* sql.change(statement, next, now, no, openUntil, now + LEASE_MS)) === 1
  })
}

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
 * Sums over the compactions for which a model was called: those of the given summarizer, those with a recorded model, usage or cost, and
 * attempts without a summary, since only summarizers with a model are recorded before they answer. Compactions with a time in the
 * future, because the clock was set back, are in no window.
 */
export function* readSpending(
  sql: Sql,
  id: string | undefined,
  since: number,
  summarizer: string,
): Work<Spending> {
  return yield* sql.outside('compactSession', function* () {
    const asked = `copied_from is null and summarizer is not null and created_at > ? and created_at <= ? and (summarizer = ? or model is not null or usage is not null
      or cost is not null or status in ('running', 'failed', 'rejected', 'aborted', 'expired'))`
    if (id !== undefined) yield* sql.enter(id)
    const ofSession =
      id === undefined
        ? ''
        : ' and {family} session = (select no from undertext_sessions where {family} id = ?)'
    const row = yield* sql.get(
      `select count(*), coalesce(sum(coalesce({number usage inputTokens}, 0) + coalesce({number usage outputTokens}, 0)), 0),
         coalesce(sum(cost), 0), min(created_at) from undertext_compactions where ${asked}${ofSession}`,
      ...[since, Date.now() + LEASE_MS, summarizer, ...(id === undefined ? [] : [id])],
    )
    const [calls, used, cost, oldest] = row as readonly (number | null)[]
    return { calls: calls ?? 0, tokens: used ?? 0, cost: cost ?? 0, oldest: oldest ?? undefined }
  })
}

function decode(row: Row): Circuit {
  return {
    failures: row[0] as number,
    viewEpoch: row[1] as number,
    model: row[2] as string,
    error: row[3] as string,
    openUntil: row[4] === null ? undefined : dueAt(row[4] as number, row[5] as number),
  }
}

/*
 * The billed tokens. A report for a view that has changed was billed too, so it counts; its cached tokens do not, because they are of
 * the former view.
 */

/** Adds a request, or several, within the transaction of its report. A report without tokens is ignored. */
export function* addBilled(
  sql: Sql,
  session: number,
  { provider, model, at = Date.now() }: Pick<UsageReport, 'provider' | 'model' | 'at'>,
  { requests = 1, inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens }: BilledTokens,
  isStale: boolean,
): Work<void> {
  const [read, created] = [cacheReadTokens ?? 0, cacheCreationTokens ?? 0]
  if (inputTokens + read + created + outputTokens === 0) return
  const last = isStale
    ? ''
    : `, last_cache_read_tokens = excluded.last_cache_read_tokens,
       last_cache_creation_tokens = excluded.last_cache_creation_tokens`
  yield* sql.run(
    `insert into undertext_usage ({family,} session, provider, model, requests, input_tokens, cache_read_tokens, cache_creation_tokens,
       output_tokens, last_cache_read_tokens, last_cache_creation_tokens, at) values ({?,} ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict ({family,} session, provider, model) do update set requests = undertext_usage.requests + excluded.requests,
       input_tokens = undertext_usage.input_tokens + excluded.input_tokens,
       cache_read_tokens = undertext_usage.cache_read_tokens + excluded.cache_read_tokens,
       cache_creation_tokens = undertext_usage.cache_creation_tokens + excluded.cache_creation_tokens,
       output_tokens = undertext_usage.output_tokens + excluded.output_tokens, at = excluded.at${last}`,
    session,
    provider,
    model,
    requests,
    inputTokens,
    read,
    created,
    outputTokens,
    isStale ? null : (cacheReadTokens ?? null),
    isStale ? null : (cacheCreationTokens ?? null),
    at,
  )
}

/** The billed tokens of a session, and the recorded facts of its summaries. Throws `SESSION_NOT_FOUND`. */
export function* readUsage(sql: Sql, id: string): Work<RecordedUsage> {
  return yield* sql.read('getUsage', function* () {
    const { no } = yield* requireSession(sql, id)
    const models = (yield* sql.all(
      `select provider, model, requests, input_tokens, cache_read_tokens, cache_creation_tokens, output_tokens,
           last_cache_read_tokens, last_cache_creation_tokens, at from undertext_usage where {family} session = ?
         order by provider, model`,
      no,
    )).map(decodeUsage)
    const summaries = (yield* sql.all(
      `select summarizer, model, usage, cost from undertext_compactions
         where {family} session = ? and (usage is not null or cost is not null) and copied_from is null order by no`,
      no,
    )).map(decodeSummary)
    return { models, summaries }
  })
}

function decodeUsage(row: Row): ModelUsage {
  const { text, number, optional } = columnsOf(row, 'usage')
  return {
    provider: text(0) ?? '',
    ...defined({ model: text(1) || undefined }),
    requests: number(2),
    inputTokens: number(3),
    cacheReadTokens: number(4),
    cacheCreationTokens: number(5),
    outputTokens: number(6),
    ...defined({ lastCacheReadTokens: optional(7), lastCacheCreationTokens: optional(8) }),
    at: number(9),
  }
}

function decodeSummary(row: Row): RecordedUsage['summaries'][number] {
  const { text, optional } = columnsOf(row, 'compaction')
  const usage = row[2] === null ? undefined : parseStoredObject(row[2], 'usage', 'compaction')
  return { summarizer: text(0) ?? '', model: text(1), usage, cost: optional(3) }
}

/** The tokens that the last request of the current view left in its provider's cache; `undefined` if unknown. */
export function* readCachedTokens(
  sql: Sql,
  id: string,
  provider: string,
  model: string,
): Work<number | undefined> {
  return yield* sql.outside('compactSession', () => cachedTokensOf(sql, id, provider, model))
}

function* cachedTokensOf(sql: Sql, id: string, provider: string, model: string): Work<number | undefined> {
  yield* sql.enter(id)
  const row = yield* sql.get(
    `select u.last_cache_read_tokens, u.last_cache_creation_tokens from undertext_sessions s
     join undertext_measurements m on {family m} m.session = s.no and m.provider = ? and m.model = ? and m.view_epoch = s.view_epoch
     join undertext_usage u on {family u} u.session = s.no and u.provider = m.provider and u.model = m.model where {family s} s.id = ?`,
    provider,
    model,
    id,
  )
  if (row === undefined) return undefined
  const { optional } = columnsOf(row, 'usage')
  const [read, created] = [optional(0), optional(1)]
  return read === undefined && created === undefined ? undefined : (read ?? 0) + (created ?? 0)
}

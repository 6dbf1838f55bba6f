import type { BilledTokens, ModelUsage, RecordedUsage, UsageReport } from '../storage.ts'
import type { Connection, Row } from './connection.ts'
import { parseStoredObject, storedNumber, storedText } from './content-codec.ts'
import { requireSession } from './sessions.ts'

/*
 * What providers billed. A report that is stale for the figures of a view was billed all the same, so it counts here; what it
 * says of the cache does not, for that is of a view that is gone.
 */

/** Adds one request; within the transaction of its report. A report of nothing is none. */
export function addBilled(
  connection: Connection,
  session: number,
  { provider, model }: Pick<UsageReport, 'provider' | 'model'>,
  { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens }: BilledTokens,
  isStale: boolean,
): void {
  const [read, created] = [cacheReadTokens ?? 0, cacheCreationTokens ?? 0]
  if (inputTokens + read + created + outputTokens === 0) return
  const last = isStale
    ? ''
    : `, last_cache_read_tokens = excluded.last_cache_read_tokens,
       last_cache_creation_tokens = excluded.last_cache_creation_tokens`
  connection.run(
    `insert into undertext_usage (session, provider, model, requests, input_tokens, cache_read_tokens, cache_creation_tokens,
       output_tokens, last_cache_read_tokens, last_cache_creation_tokens, at) values (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)
     on conflict (session, provider, model) do update set requests = requests + 1,
       input_tokens = input_tokens + excluded.input_tokens,
       cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
       cache_creation_tokens = cache_creation_tokens + excluded.cache_creation_tokens,
       output_tokens = output_tokens + excluded.output_tokens, at = excluded.at${last}`,
    session,
    provider,
    model,
    inputTokens,
    read,
    created,
    outputTokens,
    isStale ? null : (cacheReadTokens ?? null),
    isStale ? null : (cacheCreationTokens ?? null),
    Date.now(),
  )
}

/** What a session was billed for, and what is noted of its summaries. Throws `SESSION_NOT_FOUND`. */
export function readUsage(connection: Connection, id: string): RecordedUsage {
  return connection.read('getUsage', () => {
    const { no } = requireSession(connection, id)
    const models = connection
      .all(
        `select provider, model, requests, input_tokens, cache_read_tokens, cache_creation_tokens, output_tokens,
           last_cache_read_tokens, last_cache_creation_tokens, at from undertext_usage where session = ?
         order by provider, model`,
        no,
      )
      .map(decodeUsage)
    const summaries = connection
      .all(
        `select summarizer, model, usage, cost from undertext_compactions
         where session = ? and (usage is not null or cost is not null) order by no`,
        no,
      )
      .map(decodeSummary)
    return { models, summaries }
  })
}

function decodeUsage(row: Row): ModelUsage {
  const number = (at: number): number => storedNumber(row[at], 'usage')
  const model = storedText(row[1], 'usage') ?? ''
  return {
    provider: storedText(row[0], 'usage') ?? '',
    ...(model !== '' && { model }),
    requests: number(2),
    inputTokens: number(3),
    cacheReadTokens: number(4),
    cacheCreationTokens: number(5),
    outputTokens: number(6),
    ...(row[7] !== null && { lastCacheReadTokens: number(7) }),
    ...(row[8] !== null && { lastCacheCreationTokens: number(8) }),
    at: number(9),
  }
}

function decodeSummary(row: Row): RecordedUsage['summaries'][number] {
  return {
    summarizer: storedText(row[0], 'compaction') ?? '',
    model: storedText(row[1], 'compaction'),
    usage: row[2] === null ? undefined : parseStoredObject(row[2], 'usage', 'compaction'),
    cost: row[3] === null ? undefined : storedNumber(row[3], 'compaction'),
  }
}

/** What the last request of the view as it is left in its provider's cache; `undefined` where nobody knows. */
export function readCachedTokens(
  connection: Connection,
  id: string,
  provider: string,
  model: string,
): number | undefined {
  const row = connection.get(
    `select u.last_cache_read_tokens, u.last_cache_creation_tokens from undertext_sessions s
     join undertext_measurements m on m.session = s.no and m.provider = ? and m.model = ? and m.view_epoch = s.view_epoch
     join undertext_usage u on u.session = s.no and u.provider = m.provider and u.model = m.model where s.id = ?`,
    provider,
    model,
    id,
  )
  if (row === undefined || (row[0] === null && row[1] === null)) return undefined
  const number = (value: unknown): number => (value === null ? 0 : storedNumber(value, 'usage'))
  return number(row[0]) + number(row[1])
}

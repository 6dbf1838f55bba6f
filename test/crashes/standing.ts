import { createHash } from 'node:crypto'
import type { AuditEntry, ContextStats, Store } from '../../src/index.ts'
import type { Database } from '../../src/storage/sqlite/driver.ts'

/** Attempts at a summary that nobody finished are on record and change nothing: no part of where a store stands. */
const UNFINISHED: readonly string[] = ['running', 'expired', 'started']
/** Nor are those that came to nothing, for a question that asks for more. */
const ATTEMPTS: readonly string[] = [...UNFINISHED, 'failed', 'rejected', 'aborted']

/**
 * Where a store stands: everything a caller can read of it, and the blobs and receipts beneath, without what
 * differs between two stores to which the same was done (times, uuids, incarnations, numbers of rows).
 */
export async function standingOf(
  store: Store,
  database: Database,
  attempts: 'with attempts' | 'without attempts' = 'with attempts',
): Promise<unknown> {
  const leftOut = attempts === 'with attempts' ? UNFINISHED : ATTEMPTS
  const sessions = await Promise.all(
    [false, true].map((archived) => store.sessions.list({ archived, limit: 1_000 })),
  )
  const standing: unknown[] = []
  const all: Compactions = []
  for (const { id } of sessions.flat()) all.push(...(await store.listCompactions(id)))
  const name = namer(all.filter(({ status }) => !leftOut.includes(status)))
  for (const { id } of sessions.flat()) standing.push(await sessionStanding(store, id, leftOut, name))
  return JSON.parse(JSON.stringify({ sessions: standing, ...beneath(database) }, withoutBytes))
}

type Compactions = Awaited<ReturnType<Store['listCompactions']>>

async function sessionStanding(
  store: Store,
  id: string,
  leftOut: readonly string[],
  name: (value: unknown) => unknown,
): Promise<unknown> {
  const { incarnation, createdAt, updatedAt, version, archivedAt, ...session } = await store.sessions.get(id)
  const compactions = (await store.listCompactions(id)).filter(({ status }) => !leftOut.includes(status))
  return {
    session: { ...session, isArchived: archivedAt !== undefined },
    requests: (await store.requests.list(id, { limit: 1_000 })).map(({ at: _, audit: __, ...request }) =>
      name(request),
    ),
    messages: (await store.getMessages(id)).map(({ createdAt: _, ...message }) => name(message)),
    view: (await store.getEffectiveHistory(id, { provenance: true })).map(({ createdAt: _, ...message }) =>
      name(message),
    ),
    stats: withoutTime(await store.getContextStats(id)),
    compactions: compactions.map(({ createdAt: _, changedAt: __, ...compaction }) => name(compaction)),
    audit: (await store.sessions.audit(id))
      .filter(({ event }) => !leftOut.includes(event))
      .map(({ no: _, at: __, ...entry }) => name(withoutNoteIds(entry))),
  }
}

/** An id that a store made: it begins with the incarnation of a session. */
const OWN_ID = /^[\w-]{16}:/

/** Puts `c0`, `run0` and bare positions where a store has made ids of its own. */
function namer(compactions: Compactions): (value: unknown) => unknown {
  const names = new Map<string, string>()
  for (const { id, runId } of compactions) {
    names.set(id, `c${names.size}`)
    if (!names.has(runId)) names.set(runId, `run${names.size}`)
  }
  const renamed = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const own = value.replace(OWN_ID, ':')
      return names.get(own) ?? own
    }
    if (Array.isArray(value)) return value.map(renamed)
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, renamed(one)]))
  }
  return renamed
}

/** An entry without the ids of notes, which differ between stores. */
function withoutNoteIds({ detail, ...entry }: Omit<AuditEntry, 'no' | 'at'>): object {
  const { noteId, replaces, versions, ...rest } = detail ?? {}
  return {
    ...entry,
    detail: detail && { ...rest, isOfNote: noteId !== undefined, isInPlace: replaces !== undefined },
  }
}

/** Stats without the moment of a report. */
export function withoutTime(stats: ContextStats | null): unknown {
  return stats && { ...stats, measured: stats.measured && { ...stats.measured, at: 0 } }
}

function beneath(database: Database): Record<string, unknown[]> {
  const all = (sql: string): unknown[] => database.prepare(sql).raw().all()
  return {
    blobs: all('select hex(hash), reference_count from undertext_blobs order by hash'),
    receipts: all(
      `select event, actor, json_remove(detail, '$.incarnation', '$.compactions', '$.noteId', '$.replaces', '$.versions') from undertext_audit
       where session = 0 order by no`,
    ),
    jobs: all('select id, state, attempts, run, holder, error, request from undertext_jobs order by no'),
    // A claim runs out; a draft stays.
    drafts: all(
      'select session, draft, draft_position from undertext_turns where draft is not null order by session',
    ),
    claims: all('select session, position, call from undertext_claims order by session, position, call'),
    circuits: all('select failures, model, error, open_until from undertext_circuits order by session'),
    // How far the index of the search is depends on when it was read.
    meta: all("select key, value from undertext_meta where key <> 'searched' order by key"),
    measurements: all(
      `select s.id, m.provider, m.model, m.estimator, m.view_epoch, m.tokens, m.held, m.history, m.standing, m.pending,
         m.first_tokens, m.first_estimate from undertext_measurements m left join undertext_sessions s on s.no = m.session
       order by s.id, m.provider, m.model`,
    ),
    calibrations: all(
      `select provider, model, estimator, grown_samples, grown_measured, grown_estimated, whole_samples, whole_measured,
         whole_estimated from undertext_calibrations order by provider, model, estimator`,
    ),
    notes: all(
      `select session, owner, no, key, text, metadata, source, actor, replaced_by, forgotten_at is null from undertext_notes
       order by session, owner, no`,
    ),
    limits: all('select provider, model, kind, tokens from undertext_limits order by provider, model, kind'),
  }
}

function withoutBytes(_: string, value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value
  return `${value.length} bytes ${createHash('sha256').update(value).digest('hex')}`
}

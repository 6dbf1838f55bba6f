import { listIn } from '../../messages/lists.ts'
import { dependsOn } from '../../model/nesting.ts'
import type { AuditEntry, Compaction } from '../../storage/storage.ts'
import type { SqliteStore } from '../../store/open.ts'

/** A change of a compaction's status: undone, redone, failed … */
export type Transition = {
  readonly event: string
  readonly at: number
  readonly actor: string | undefined
  readonly reason: string | undefined
}

export type LoggedCompaction = {
  readonly compaction: Compaction
  /** All but its making, oldest first. */
  readonly transitions: readonly Transition[]
  /** Ids of those in force that build on it directly. */
  readonly dependents: readonly string[]
  /** How deep it lies beneath others in force. */
  readonly depth: number
}

export type LoggedRun = {
  readonly runId: string
  readonly at: number
  readonly compactions: readonly LoggedCompaction[]
}

/** Something that happened to the session and to no compaction of it. */
export type SessionEvent = Transition & { readonly no: number }

export type Timeline = { readonly runs: readonly LoggedRun[]; readonly events: readonly SessionEvent[] }

/** Made by a compaction's first entry, which its own figures tell better. */
const MAKING = new Set(['created', 'started'])

/** Entries of the audit that are read at once. */
const PAGE = 10_000

/** The timeline of a session. Throws `SESSION_NOT_FOUND`. */
export async function readTimeline(store: SqliteStore, sessionId: string): Promise<Timeline> {
  const compactions = await store.listCompactions(sessionId)
  const audit: AuditEntry[] = []
  for (;;) {
    const page = await store.getAuditLog(sessionId, { after: audit.at(-1)?.no ?? 0, limit: PAGE })
    for (const entry of page) audit.push(entry)
    if (page.length < PAGE) return timelineOf(compactions, audit)
  }
}

/** Groups compactions by run, newest run first, each with what became of it. `compactions` in the order they came into force. */
export function timelineOf(compactions: readonly Compaction[], audit: readonly AuditEntry[]): Timeline {
  const transitions = new Map<string, Transition[]>()
  const events: SessionEvent[] = []
  for (const entry of audit) {
    const { compactionId, runId, event, no } = entry
    if (compactionId === undefined) {
      // What a run went through stands with each of its compactions.
      if (runId === undefined) events.push({ no, ...transitionOf(entry) })
      continue
    }
    if (MAKING.has(event)) continue
    listIn(transitions, compactionId).push(transitionOf(entry))
  }
  const nested = compactions.map((one, rank) => ({ ...one, no: rank, rank }))
  const active = nested.filter(({ status }) => status === 'active')
  const above = new Map(
    nested.map((one) => [
      one.id,
      one.status === 'active' ? active.filter((other) => dependsOn(other, one)) : [],
    ]),
  )
  const depths = new Map<string, number>()
  // The outermost came last, so whoever is built on is met after those that build on it.
  for (const { id } of nested.toReversed())
    depths.set(
      id,
      above.get(id)!.reduce((depth, outer) => Math.max(depth, (depths.get(outer.id) ?? 0) + 1), 0),
    )
  const runs = new Map<string, LoggedCompaction[]>()
  for (const compaction of compactions) {
    const { id, runId } = compaction
    listIn(runs, runId).push({
      compaction,
      transitions: transitions.get(id) ?? [],
      dependents: above.get(id)!.map((outer) => outer.id),
      depth: depths.get(id)!,
    })
  }
  const inOrder = [...runs].map(([runId, members]) => ({
    runId,
    at: members.reduce(
      (first, { compaction }) => Math.min(first, compaction.createdAt),
      Number.POSITIVE_INFINITY,
    ),
    compactions: members,
  }))
  return { runs: inOrder.reverse(), events: events.reverse() }
}

function transitionOf({ event, at, actor, detail }: AuditEntry): Transition {
  const reason = detail?.reason
  return { event, at, actor, reason: typeof reason === 'string' ? reason : undefined }
}

import type { SqliteStore } from '../../open.ts'
import type { AuditEntry } from '../../storage/storage.ts'
import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { logLines } from '../log/log-lines.ts'
import {
  type LoggedCompaction,
  type LoggedRun,
  type Timeline,
  type Transition,
  timelineOf,
} from '../log/timeline.ts'

export type LogOptions = { readonly limit?: number }

const PAGE = 10_000

export async function showLog(context: Context, given: string, { limit }: LogOptions): Promise<number> {
  const store = await context.open('read')
  const id = await context.session(store, given)
  const all = timelineOf(await store.listCompactions(id), await auditOf(store, id))
  const timeline: Timeline = { runs: all.runs.slice(0, limit), events: limit === undefined ? all.events : [] }
  if (context.json)
    context.printJson({
      session: id,
      runs: timeline.runs.map(runJson),
      events: timeline.events.map(transitionJson),
    })
  else await context.page(`${logLines(context, id, timeline, all.runs.length).join('\n')}\n`)
  return EXIT.done
}

async function auditOf(store: SqliteStore, id: string): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  for (;;) {
    const page = await store.getAuditLog(id, { after: entries.at(-1)?.no ?? 0, limit: PAGE })
    entries.push(...page)
    if (page.length < PAGE) return entries
  }
}

function runJson({ runId, at, compactions }: LoggedRun) {
  const { trigger, actor, reason } = compactions[0]!.compaction
  return {
    run: runId,
    at,
    trigger,
    actor: actor ?? null,
    reason: reason ?? null,
    compactions: compactions.map(compactionJson),
  }
}

function compactionJson({ compaction, transitions, dependents, depth }: LoggedCompaction) {
  const { id, kind, status, rowsHidden, partsReplaced, rowsInserted, tokensBefore, tokensAfter } = compaction
  return {
    id,
    kind,
    status,
    rowsHidden,
    partsReplaced,
    rowsInserted,
    tokensBefore,
    tokensAfter,
    summarizer: compaction.summarizer ?? null,
    model: compaction.model ?? null,
    usage: compaction.usage ?? null,
    cost: compaction.cost ?? null,
    error: compaction.error ?? null,
    createdAt: compaction.createdAt,
    dependents,
    depth,
    transitions: transitions.map(transitionJson),
  }
}

function transitionJson({ event, at, actor, reason }: Transition) {
  return { event, at, actor: actor ?? null, reason: reason ?? null }
}

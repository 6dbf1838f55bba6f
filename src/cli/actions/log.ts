import type { Context } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { logLines } from '../log/log-lines.ts'
import {
  type LoggedCompaction,
  type LoggedRun,
  readTimeline,
  type Timeline,
  type Transition,
} from '../log/timeline.ts'

export type LogOptions = { readonly limit?: number }

export async function showLog(context: Context, given: string, { limit }: LogOptions): Promise<number> {
  const store = await context.open('read')
  const id = await context.session(store, given)
  const all = await readTimeline(store, id)
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

import { listIn } from '../../core/messages/json.ts'
import { dependsOn } from '../../core/model/coverage.ts'
import type { AuditEntry, Compaction } from '../../storage/storage.ts'
import type { Store } from '../../store/store.ts'
import { auditEntries, statusWords } from '../../transfer/document/session-document.ts'
import type { Context, Output } from '../command.ts'
import type { Given } from '../declarations.ts'
import { EXIT } from '../errors.ts'
import { counted, fromTo, listing, money, time } from '../output/figures.ts'
import { inspectHint } from '../output/hints.ts'
import { shortIds } from '../output/ids.ts'
import { sentence } from '../output/layout.ts'
import { nulled } from '../output/safe-text.ts'
import { openSession } from '../references.ts'

/** A change of a compaction's status: undone, redone, failed … */
type Transition = {
  readonly event: string
  readonly at: number
  readonly actor: string | undefined
  readonly reason: string | undefined
}

type LoggedCompaction = {
  readonly compaction: Compaction
  /** All transitions except its creation, oldest first. */
  readonly transitions: readonly Transition[]
  /** Ids of the compactions in force that build on it directly. */
  readonly dependents: readonly string[]
  /** How many compactions in force build on each other above it. */
  readonly depth: number
}

type LoggedRun = {
  readonly runId: string
  readonly at: number
  readonly compactions: readonly LoggedCompaction[]
}

/** The history of a session, newest first. `events` don't concern a compaction. */
type Timeline = { readonly runs: readonly LoggedRun[]; readonly events: readonly Transition[] }

export async function showLog(context: Context, given: string, { limit }: Given<'log'>): Promise<number> {
  const { store, id } = await openSession(context, 'read', given)
  const all = await readTimeline(store, id)
  const timeline: Timeline = { runs: all.runs.slice(0, limit), events: limit === undefined ? all.events : [] }
  if (context.json)
    context.printJson({
      session: id,
      runs: timeline.runs.map(runJson),
      events: timeline.events.map(transitionJson),
    })
  else {
    const lines = [...logLines(context, id, timeline, all.runs.length), ...inspectHint(context, id)]
    await context.page(`${lines.join('\n')}\n`)
  }
  return EXIT.done
}

/** The timeline of a session. Throws `SESSION_NOT_FOUND`. */
export async function readTimeline(store: Store, sessionId: string): Promise<Timeline> {
  const compactions = await store.listCompactions(sessionId)
  const audit: AuditEntry[] = []
  for await (const entry of auditEntries(store, sessionId)) audit.push(entry)
  return timelineOf(compactions, audit)
}

/** Groups compactions, in the order in which they came into force, by run. */
export function timelineOf(compactions: readonly Compaction[], audit: readonly AuditEntry[]): Timeline {
  const transitions = new Map<string, Transition[]>()
  const events: Transition[] = []
  for (const { compactionId, runId, event, at, actor, detail } of audit) {
    const reason = typeof detail?.reason === 'string' ? detail.reason : undefined
    const transition = { event, at, actor, reason }
    // An event of a run is recorded for each of its compactions as well.
    if (compactionId === undefined && runId === undefined) events.push(transition)
    // The compaction itself has more facts about its creation.
    if (compactionId !== undefined && event !== 'created' && event !== 'started')
      listIn(transitions, compactionId).push(transition)
  }
  const nested = compactions.map((one, rank) => ({ ...one, no: rank, rank }))
  const active = nested.filter(({ status }) => status === 'active')
  const dependentsOf = (one: (typeof nested)[number]) =>
    one.status === 'active' ? active.filter((other) => dependsOn(other, one)) : []
  const dependents = new Map(nested.map((one) => [one.id, dependentsOf(one).map(({ id }) => id)]))
  const depths = new Map<string, number>()
  // A dependent came into force later, so its depth is known first.
  for (const { id } of nested.toReversed())
    depths.set(
      id,
      dependents.get(id)!.reduce((depth, outer) => Math.max(depth, (depths.get(outer) ?? 0) + 1), 0),
    )
  const runs = new Map<string, LoggedCompaction[]>()
  for (const compaction of compactions) {
    const { id, runId } = compaction
    listIn(runs, runId).push({
      compaction,
      transitions: transitions.get(id) ?? [],
      dependents: dependents.get(id)!,
      depth: depths.get(id)!,
    })
  }
  const inOrder = [...runs].map(([runId, members]) => ({
    runId,
    at: members.reduce((at, { compaction }) => Math.min(at, compaction.createdAt), Number.POSITIVE_INFINITY),
    compactions: members,
  }))
  return { runs: inOrder.reverse(), events: events.reverse() }
}

function runJson({ runId, at, compactions }: LoggedRun) {
  const { trigger, actor, reason } = compactions[0]!.compaction
  return {
    run: runId,
    at,
    ...nulled({ trigger, actor, reason }),
    compactions: compactions.map(compactionJson),
  }
}

function compactionJson({ compaction, transitions, dependents, depth }: LoggedCompaction) {
  const { id, kind, status, rowsHidden, partsReplaced, rowsInserted, tokensBefore, tokensAfter } = compaction
  const { summarizer, model, usage, cost, error, createdAt } = compaction
  return {
    ...{ id, kind, status, rowsHidden, partsReplaced, rowsInserted, tokensBefore, tokensAfter },
    ...nulled({ summarizer, model, usage, cost, error }),
    ...{ createdAt, dependents, depth, transitions: transitions.map(transitionJson) },
  }
}

function transitionJson({ event, at, actor, reason }: Transition) {
  return nulled({ event, at, actor, reason })
}

type Shown = Output & { readonly shortId: (id: string) => string }

/** A timeline for people. `all` is the number of runs of the session. */
export function logLines(
  { out, style }: Output,
  id: string,
  { runs, events }: Timeline,
  all: number,
): string[] {
  if (runs.length === 0 && events.length === 0)
    return sentence(`Messages were appended to session ${id}; nothing else was changed.`, out)
  const short = shortIds(
    runs.flatMap(({ runId, compactions }) => [runId, ...compactions.map(({ compaction }) => compaction.id)]),
  )
  const shown: Shown = { out, style, shortId: (one) => (out.isTerminal ? (short.get(one) ?? one) : one) }
  const blocks = [
    ...runs.map((run) => ({ at: run.at, lines: runLines(run, shown) })),
    ...events.map((event) => ({
      at: event.at,
      lines: sentence(transitionText(event, out), out, style.bold),
    })),
  ].sort((a, b) => b.at - a.at)
  const lines = blocks.flatMap((block, at) => (at === 0 ? block.lines : ['', ...block.lines]))
  if (runs.length === all) return lines
  return [...lines, '', style.dim(`${counted(all - runs.length, 'older run')} not shown`)]
}

function runLines({ runId, at, compactions }: LoggedRun, shown: Shown): string[] {
  const { out, style, shortId } = shown
  const members = compactions.map(({ compaction }) => compaction)
  const applied = members.filter(({ status }) => status === 'active' || status === 'undone')
  const { trigger, actor, reason } = members[0]!
  return [
    ...sentence(
      `${time(at, out)}  run ${shortId(runId)}  ${trigger}${causeOf({ actor, reason })}`,
      out,
      style.bold,
    ),
    ...(applied.length < 2
      ? []
      : [`  ${fromTo(applied[0]!.tokensBefore, applied.at(-1)!.tokensAfter)} in total`]),
    ...compactions.toReversed().flatMap((one) => compactionLines(one, shown)),
  ]
}

function compactionLines(
  { compaction, transitions, dependents, depth }: LoggedCompaction,
  { out, style, shortId }: Shown,
): string[] {
  const { id, status, tokensBefore, tokensAfter, summarizer, model, cost, error } = compaction
  const indent = '  '.repeat(1 + Math.min(depth, 4))
  const [sign, look] =
    status === 'active' ? ['●', style.green] : status === 'undone' ? ['○', style.dim] : ['✗', style.red]
  const writer = listing(model ?? summarizer, cost !== undefined && money(cost), error)
  const more = [
    [workOf(compaction), fromTo(tokensBefore, tokensAfter), writer].filter((text) => text !== '').join(' · '),
    ...(dependents.length === 0 ? [] : [`below ${dependents.map(shortId).join(', ')}`]),
    ...transitions.map((one) => transitionText(one, out)),
  ]
  return [
    ...sentence(
      `${sign} ${kindName(compaction)} ${shortId(id)}  ${statusWords(compaction)}`,
      out,
      look,
      indent,
    ),
    ...more.flatMap((text) => sentence(text, out, style.dim, `${indent}  `)),
  ]
}

function transitionText(transition: Transition, out: Output['out']): string {
  return `${time(transition.at, out)} ${transition.event}${causeOf(transition)}`
}

/** Who did something, and why. */
function causeOf({ actor, reason }: Partial<Pick<Transition, 'actor' | 'reason'>>): string {
  return `${actor === undefined ? '' : ` by ${actor}`}${reason === undefined ? '' : `: ${reason}`}`
}

/** The kind of a compaction, with its stage if that has another name. */
export function kindName({ kind, params }: Compaction): string {
  const usual = kind === 'condense' ? 'summarize' : kind
  return typeof params.stage === 'string' && params.stage !== usual ? `${kind} (${params.stage})` : kind
}

/** What a compaction did: `228 rows hidden, 1 row inserted`. */
export function workOf({ rowsHidden, partsReplaced, rowsInserted }: Compaction): string {
  const work = listing(
    rowsHidden > 0 && `${counted(rowsHidden, 'row')} hidden`,
    partsReplaced > 0 && `${counted(partsReplaced, 'part')} replaced`,
    rowsInserted > 0 && `${counted(rowsInserted, 'row')} inserted`,
  )
  return work || 'nothing changed'
}

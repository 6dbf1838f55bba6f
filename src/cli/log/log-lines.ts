import type { Compaction } from '../../storage/storage.ts'
import { statusWords } from '../../transfer/document/session-document.ts'
import type { Context } from '../command.ts'
import { count, counted, time } from '../output/figures.ts'
import { paragraph } from '../output/layout.ts'
import { safeLine } from '../output/safe-text.ts'
import { shortIds } from '../output/short-ids.ts'
import { kindName, workOf, writerOf } from './compaction-words.ts'
import type { LoggedCompaction, LoggedRun, SessionEvent, Timeline, Transition } from './timeline.ts'

type Shown = Pick<Context, 'out' | 'style'> & { readonly shortId: (id: string) => string }

/** The timeline for people, newest first. `all` is how many runs there are. */
export function logLines(
  { out, style }: Pick<Context, 'out' | 'style'>,
  id: string,
  timeline: Timeline,
  all: number,
): string[] {
  const { runs, events } = timeline
  if (runs.length === 0 && events.length === 0)
    return paragraph(safeLine(`Nothing was done to session ${id} but appending.`), out)
  const short = shortIds(
    runs.flatMap(({ runId, compactions }) => [runId, ...compactions.map(({ compaction }) => compaction.id)]),
  )
  const shown: Shown = { out, style, shortId: (one) => (out.isTerminal ? (short.get(one) ?? one) : one) }
  const blocks: { readonly at: number; readonly lines: string[] }[] = [
    ...runs.map((run) => ({ at: run.at, lines: runLines(run, shown) })),
    ...events.map((event) => ({ at: event.at, lines: eventLines(event, shown) })),
  ].sort((a, b) => b.at - a.at)
  const lines = blocks.flatMap((block, at) => (at === 0 ? block.lines : ['', ...block.lines]))
  if (runs.length === all) return lines
  return [...lines, '', style.dim(`${counted(all - runs.length, 'older run')} not shown`)]
}

function runLines({ runId, at, compactions }: LoggedRun, shown: Shown): string[] {
  const { out, style, shortId } = shown
  const members = compactions.map(({ compaction }) => compaction)
  const { trigger, actor, reason } = members[0]!
  const who = actor === undefined ? '' : ` by ${actor}`
  const why = reason === undefined ? '' : `: ${reason}`
  const head = safeLine(`${time(at, out)}  run ${shortId(runId)}  ${trigger}${who}${why}`)
  const tokens = tokensOf(members)
  return [
    ...paragraph(head, out).map((line) => style.bold(line)),
    ...(tokens === undefined ? [] : [`  ${tokens}`]),
    ...compactions.toReversed().flatMap((one) => compactionLines(one, shown)),
  ]
}

/** What a whole run saved, where it put anything in force. */
function tokensOf(members: readonly Compaction[]): string | undefined {
  const applied = members.filter(({ status }) => status === 'active' || status === 'undone')
  if (applied.length < 2) return undefined
  return `${count(applied[0]!.tokensBefore)} → ${count(applied.at(-1)!.tokensAfter)} tokens in all`
}

function compactionLines(
  { compaction, transitions, dependents, depth }: LoggedCompaction,
  shown: Shown,
): string[] {
  const { out, style, shortId } = shown
  const { id, status, tokensBefore, tokensAfter } = compaction
  const indent = '  '.repeat(1 + Math.min(depth, 4))
  const isInForce = status === 'active'
  const sign = isInForce ? '●' : status === 'undone' ? '○' : '✗'
  const look = isInForce ? style.green : status === 'undone' ? style.dim : style.red
  const writer = writerOf(compaction)
  const figures = [
    workOf(compaction),
    `${count(tokensBefore)} → ${count(tokensAfter)} tokens`,
    ...(writer === '' ? [] : [writer]),
  ].join(' · ')
  const head = `${sign} ${kindName(compaction)} ${shortId(id)}  ${statusWords(compaction)}`
  const beneath = dependents.length === 0 ? [] : [`beneath ${dependents.map(shortId).join(', ')}`]
  const more = [figures, ...beneath, ...transitions.map((one) => transitionText(one, out))]
  return [
    ...paragraph(safeLine(head), out, indent).map(look),
    ...more.flatMap((text) => paragraph(safeLine(text), out, `${indent}  `)).map((line) => style.dim(line)),
  ]
}

function transitionText({ event, at, actor, reason }: Transition, out: Context['out']): string {
  return `${time(at, out)} ${event}${actor === undefined ? '' : ` by ${actor}`}${reason === undefined ? '' : `: ${reason}`}`
}

function eventLines(event: SessionEvent, { out, style }: Shown): string[] {
  return paragraph(safeLine(transitionText(event, out)), out).map((line) => style.bold(line))
}

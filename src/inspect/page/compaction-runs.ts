import { listIn } from '../../core/messages/json.ts'
import type { Nested } from '../../core/model/coverage.ts'
import { type CompactionKind, isCondensing } from '../../core/model/plan.ts'
import { type Nesting, planUndo } from '../../storage/sql/plan-undo.ts'
import { complete, Done } from '../../storage/sql/work.ts'
import type { AuditEntry, Compaction } from '../../storage/storage.ts'
import { change, counted } from './format.ts'

/* Compactions as the page lists them: grouped by run, in words, and with what an undo includes. */

/** A run, its compactions newest first. */
export type Run = {
  readonly id: string
  readonly at: number
  readonly compactions: readonly Compaction[]
  /** Tokens before its first and after its last compaction that came into force; absent if none did. */
  readonly tokens?: { readonly before: number; readonly after: number }
  /** US dollars, of all attempts; undefined if no summarizer reported any. */
  readonly cost: number | undefined
}

/** Groups compactions, oldest first, by run; the newest run comes first. */
export function runsOf(compactions: readonly Compaction[]): Run[] {
  const byRun = new Map<string, Compaction[]>()
  for (const one of compactions) listIn(byRun, one.runId).push(one)
  return [...byRun].reverse().map(([id, members]) => {
    const applied = members.filter(isApplied)
    const costs = members.flatMap(({ cost }) => cost ?? [])
    return {
      id,
      at: Math.min(...members.map(({ createdAt }) => createdAt)),
      compactions: members.toReversed(),
      ...(applied.length > 0 && {
        tokens: { before: applied[0]!.tokensBefore, after: applied.at(-1)!.tokensAfter },
      }),
      cost: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0),
    }
  })
}

/** Whether a compaction came into force, whether or not it was undone since. */
export const isApplied = ({ status }: Pick<Compaction, 'status'>): boolean =>
  status === 'active' || status === 'undone'

type Ranked = Compaction & Nested

/**
 * Returns the compactions that an undo of some compactions takes out of force besides them, newest first, by the rule of the store. The
 * compactions are those of the session, oldest first.
 */
export function dependentsOf(compactions: readonly Compaction[], ids: readonly string[]): Compaction[] {
  const all: Ranked[] = compactions.map((one, rank) => ({ ...one, no: rank, rank }))
  const targets = all.filter(({ id }) => ids.includes(id))
  const named = (list: readonly string[] = [], status: string): Ranked[] =>
    all.filter((one) => list.includes(one.id) && one.status === status)
  const between = (status: string, fits: (other: Ranked) => boolean): Done<Ranked[]> =>
    new Done(all.filter((other) => other.status === status && fits(other)))
  const nesting: Nesting<Ranked> = {
    laterInForce: ({ rank }) => between('active', (other) => other.rank > rank),
    earlierUndone: ({ rank }) => between('undone', (other) => other.rank < rank),
    earlierInForce: ({ rank }) => between('active', (other) => other.rank < rank),
    turnedBy: ({ lifts, restores }) =>
      new Done({ lifted: named(lifts, 'undone'), restored: named(restores, 'active') }),
  }
  return complete(planUndo('', nesting, targets, true)).filter(({ id }) => !ids.includes(id))
}

const KIND_WORDS: { readonly [kind in CompactionKind]: string } = {
  prune: 'Pruned old tool outputs',
  deduplicate: 'Replaced repeated file reads',
  condense: 'Summarized',
  truncate: 'Truncated the oldest messages',
  cut: 'Cut overlong contents',
  manual: 'Hidden by hand',
  provider: 'Compacted by the provider',
  preview: 'Shortened large outputs',
  repair: 'Repaired a refused part',
}
const STAGE_WORDS: { readonly [stage: string]: string } = {
  media: 'Replaced old images and files',
  drop_reasoning: 'Left out old reasoning',
  clear_tool_results: 'Cleared old tool results',
  hierarchical_summaries: 'Summarized in levels',
  summarize_older: 'Summarized older messages',
}

/** The name of a compaction, by its stage or its kind. */
export function kindWords({
  kind,
  params,
  coverage,
}: Pick<Compaction, 'kind' | 'params' | 'coverage'>): string {
  if (coverage.rewinds === true) return 'Rewind'
  const { stage } = params
  if (typeof stage !== 'string') return KIND_WORDS[kind] ?? kind
  return (
    STAGE_WORDS[stage] ?? (isUsual(stage, kind) ? KIND_WORDS[kind] : `${KIND_WORDS[kind] ?? kind} (${stage})`)
  )
}

function isUsual(stage: string, kind: CompactionKind): boolean {
  return stage === kind || (stage === 'summarize' && kind === 'condense')
}

const STATUS_WORDS: { readonly [status in Compaction['status']]: string } = {
  running: 'running',
  active: 'in force',
  undone: 'undone',
  failed: 'failed',
  rejected: 'rejected',
  aborted: 'aborted',
  expired: 'expired',
}
export const statusWords = ({ status }: Pick<Compaction, 'status'>): string => STATUS_WORDS[status] ?? status

/** The look of a status: the kind of its badge. */
export function statusKind({ status }: Pick<Compaction, 'status'>): 'good' | 'plain' | 'accent' | 'bad' {
  if (status === 'active') return 'good'
  if (status === 'running') return 'accent'
  return status === 'undone' ? 'plain' : 'bad'
}

const TRIGGER_WORDS: { readonly [trigger in Compaction['trigger']]: string } = {
  manual: 'manual',
  auto: 'automatic',
  overflow: 'after an overflow',
  import: 'imported',
  provider: 'by the provider',
  refusal: 'after a refusal',
}
export const triggerWords = ({ trigger }: Pick<Compaction, 'trigger'>): string =>
  TRIGGER_WORDS[trigger] ?? trigger

/** What a compaction did: `228 messages hidden, 1 row written`. */
export function workWords({
  rowsHidden,
  partsReplaced,
  rowsInserted,
}: Pick<Compaction, 'rowsHidden' | 'partsReplaced' | 'rowsInserted'>): string {
  const words = [
    ...(rowsHidden > 0 ? [`${counted(rowsHidden, 'row')} hidden`] : []),
    ...(partsReplaced > 0 ? [`${counted(partsReplaced, 'part')} replaced`] : []),
    ...(rowsInserted > 0 ? [`${counted(rowsInserted, 'row')} written`] : []),
  ]
  return words.length === 0 ? 'nothing changed' : words.join(', ')
}

/** What a compaction did, or for an attempt that isn't in force, what it was about; with its tokens. */
export function didWords(
  compaction: Pick<
    Compaction,
    'status' | 'rowsHidden' | 'partsReplaced' | 'rowsInserted' | 'tokensBefore' | 'tokensAfter'
  >,
): string {
  const { status, rowsHidden, tokensBefore, tokensAfter } = compaction
  if (isApplied(compaction)) return `${workWords(compaction)}, ${change(tokensAfter - tokensBefore)} tokens`
  return status === 'running' ? `working on ${counted(rowsHidden, 'row')}` : 'nothing changed'
}

/** The effect of a compaction on the rows that it hides, or on the parts that it replaces. */
export type Effect = 'summarized' | 'truncated' | 'byHand' | 'replaced'

/** Returns what a compaction does with the rows that it hides. */
export function hidingEffect({ kind }: Pick<Compaction, 'kind'>): Exclude<Effect, 'replaced'> {
  if (isCondensing(kind)) return 'summarized'
  return kind === 'manual' ? 'byHand' : 'truncated'
}

/** Returns the entries of the audit about a compaction, oldest first, those of its run included. */
export function auditOf(
  audit: readonly AuditEntry[],
  { id, runId }: Pick<Compaction, 'id' | 'runId'>,
): AuditEntry[] {
  return audit.filter((one) =>
    one.compactionId === undefined ? one.runId === runId : one.compactionId === id,
  )
}

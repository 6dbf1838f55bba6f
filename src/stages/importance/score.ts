import type { Part } from '../../messages/message.ts'
import type { View } from '../../model/view.ts'
import type { ViewRow } from '../../model/view-row.ts'
import { bareGroupsOf, type Group, groupsOf } from './groups.ts'
import {
  type GroupRole,
  type ImportanceWeights,
  POINTS,
  SIGNALS,
  type Signal,
  usesSignals,
} from './weights.ts'

/** The scorer that needs nobody: its name and version, told with every score. */
export const DEFAULT_SCORER = { name: 'undertext', version: '1' } as const

/** One thing that a score is made of. */
export type ImportanceReason = {
  /** The role (`user`, `tool` …), a signal (`constraint` …), `limit` where the sum left 0 to 1, or a scorer's own word. */
  readonly reason: string
  readonly weight: number
}

/** A group with what it is worth. */
export type ScoredGroup = Group & {
  /** 0 to 1, without recency. */
  readonly importance: number
  /** They add up to `importance` exactly. */
  readonly reasons: readonly ImportanceReason[]
}

/**
 * The groups of a view, scored: the role's points, raised and lowered by signals, between 0 and 1. The same rows and
 * weights give the same scores. `contentOf` gives the original parts of a row; it is not asked when no signal counts and
 * `needsSignals` is not set.
 */
export function scoreView(
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
  weights: ImportanceWeights,
  needsSignals = usesSignals(weights),
): ScoredGroup[] {
  const groups = needsSignals ? groupsOf(view, contentOf) : bareGroupsOf(view)
  return groups.map((group) => ({ ...group, ...assess(group.role, group.signals, weights) }))
}

/** What a role and its signals are worth. Never outside 0 to 1: what is too much is a reason too. */
function assess(
  role: GroupRole,
  signals: ReadonlyMap<Signal, number>,
  { base, signals: points }: ImportanceWeights,
): Pick<ScoredGroup, 'importance' | 'reasons'> {
  if (staysAlways(role)) return { importance: 1, reasons: [{ reason: role, weight: 1 }] }
  const reasons: ImportanceReason[] = [{ reason: role, weight: base[role] / POINTS }]
  for (const signal of SIGNALS) {
    const weight = ((signals.get(signal) ?? 0) * points[signal]) / POINTS
    if (weight !== 0) reasons.push({ reason: signal, weight })
  }
  const sum = sumOf(reasons)
  const importance = Math.min(1, Math.max(0, sum))
  if (importance === sum) return { importance, reasons }
  reasons.push({ reason: 'limit', weight: importance - sum })
  return { importance, reasons }
}

/** Whether a group of this role is never ranked: system messages, and what compactions inserted. */
export function staysAlways(role: GroupRole): role is 'system' | 'inserted' {
  return role === 'system' || role === 'inserted'
}

/** The reasons of a score, added up in their order. */
export function sumOf(reasons: readonly ImportanceReason[]): number {
  return reasons.reduce((sum, { weight }) => sum + weight, 0)
}

/**
 * What a group is ranked by: its importance in points and what recency adds, r = (index + 1) / count. Without signals that is
 * seed 001's score (checklist S1-U06: a person 100 + 50r, and so on). Infinite for what always stays.
 */
export function rankOf(group: ScoredGroup, count: number, { recency }: ImportanceWeights): number {
  const { role } = group
  if (staysAlways(role)) return Number.POSITIVE_INFINITY
  return group.importance * POINTS + recency[role] * ((group.at + 1) / count)
}

/** Groups from the lowest rank to the highest; of equal ones the oldest first. For stages that hide one after the other. */
export function lowestFirst(
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
  weights: ImportanceWeights,
): ScoredGroup[] {
  const groups = scoreView(view, contentOf, weights)
  const ranks = new Map(groups.map((group) => [group, rankOf(group, view.rows.length, weights)] as const))
  return groups.sort((a, b) => ranks.get(a)! - ranks.get(b)!)
}

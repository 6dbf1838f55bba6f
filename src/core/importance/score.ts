import type { Part } from '../message.ts'
import type { View, ViewRow } from '../view.ts'
import { bareUnitsOf, type Unit, unitsOf } from './units.ts'
import {
  type ImportanceWeights,
  POINTS,
  SIGNALS,
  type Signal,
  type UnitRole,
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

/** A unit with what it is worth. */
export type ScoredUnit = Unit & {
  /** 0 to 1, without recency. */
  readonly importance: number
  /** They add up to `importance` exactly. */
  readonly reasons: readonly ImportanceReason[]
}

/**
 * The units of a view, scored: the role's points, raised and lowered by signals, between 0 and 1. The same rows and
 * weights give the same scores. `contentOf` gives the original parts of a row; it is not asked when no signal counts and
 * `needsSignals` is not set.
 */
export function scoreView(
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
  weights: ImportanceWeights,
  needsSignals = usesSignals(weights),
): ScoredUnit[] {
  const units = needsSignals ? unitsOf(view, contentOf) : bareUnitsOf(view)
  return units.map((unit) => ({ ...unit, ...assess(unit.role, unit.signals, weights) }))
}

/** What a role and its signals are worth. Never outside 0 to 1: what is too much is a reason too. */
export function assess(
  role: UnitRole,
  signals: ReadonlyMap<Signal, number>,
  { base, signals: points }: ImportanceWeights,
): Pick<ScoredUnit, 'importance' | 'reasons'> {
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

/** Whether a unit of this role is never ranked: system messages, and what compactions inserted. */
export function staysAlways(role: UnitRole): role is 'system' | 'inserted' {
  return role === 'system' || role === 'inserted'
}

/** The reasons of a score, added up in their order. */
export function sumOf(reasons: readonly ImportanceReason[]): number {
  return reasons.reduce((sum, { weight }) => sum + weight, 0)
}

/**
 * What a unit is ranked by: its importance in points and what recency adds, r = (index + 1) / count. Without signals that is
 * seed 001's score (checklist S1-U06: a person 100 + 50r, and so on). Infinite for what always stays.
 */
export function rankOf(unit: ScoredUnit, count: number, { recency }: ImportanceWeights): number {
  const { role } = unit
  if (staysAlways(role)) return Number.POSITIVE_INFINITY
  return unit.importance * POINTS + recency[role] * ((unit.at + 1) / count)
}

/** Units from the lowest rank to the highest; of equal ones the oldest first. For stages that hide one after the other. */
export function lowestFirst(
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
  weights: ImportanceWeights,
): ScoredUnit[] {
  const units = scoreView(view, contentOf, weights)
  const ranks = new Map(units.map((unit) => [unit, rankOf(unit, view.rows.length, weights)] as const))
  return units.sort((a, b) => ranks.get(a)! - ranks.get(b)!)
}

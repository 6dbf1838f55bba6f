import { z } from 'zod'

/*
 * What a message is worth, in points. The scale is that of seed 001 (a person's message 100, and so on), and 256 points
 * are the importance 1: sums of whole points are then exact as fractions too, in whatever order they are added.
 */

/** Points that are the importance 1. */
export const POINTS = 256

/** What a group is, by its weightiest row. `system` and `inserted` (summaries, markers) are worth all the points there are. */
export type GroupRole = 'system' | 'inserted' | RankedRole

const RANKED_ROLES = ['user', 'assistantWithToolCalls', 'assistant', 'tool', 'other'] as const
/** A role with a weight of its own. */
export type RankedRole = (typeof RANKED_ROLES)[number]

/** What raises or lowers a group besides its role. */
export const SIGNALS = [
  'firstRequest',
  'constraint',
  'decision',
  'error',
  'write',
  'answer',
  'image',
  'referenced',
  'repeatedRead',
  'listing',
] as const
/** A property of a message that raises or lowers its importance. */
export type Signal = (typeof SIGNALS)[number]

/** Points by role and signal, and how many a message gains at most by being recent. */
export type ImportanceWeights = {
  readonly base: { readonly [R in RankedRole]: number }
  /** Times (index + 1) / count, added when groups are ranked; never part of the importance. */
  readonly recency: { readonly [R in RankedRole]: number }
  readonly signals: { readonly [S in Signal]: number }
}

/**
 * Base and recency are seed 001's (checklist S1-U06). Signals are ours: a constraint is worth more than all that recency
 * gives a person's message, so that one stated at the beginning outranks the newest ordinary message; the first request
 * is worth as much as leaves the order of seed 001's recorded results as it is (PPR-08: less than 12.5).
 */
export const DEFAULT_WEIGHTS: ImportanceWeights = {
  base: { user: 100, assistantWithToolCalls: 80, assistant: 60, tool: 50, other: 10 },
  recency: { user: 50, assistantWithToolCalls: 40, assistant: 30, tool: 40, other: 5 },
  signals: {
    firstRequest: 12,
    constraint: 60,
    decision: 35,
    error: 40,
    write: 40,
    answer: 20,
    image: 20,
    // For each later group that refers to it, up to three.
    referenced: 10,
    repeatedRead: -40,
    listing: -20,
  },
}

/** No signals: the formula of seed 001 alone. */
export const ROLE_WEIGHTS: ImportanceWeights = {
  ...DEFAULT_WEIGHTS,
  signals: pointsOf(SIGNALS, () => 0),
}

const points = z.number().min(0).max(POINTS)
const signed = z.number().min(-POINTS).max(POINTS)

/** What is left out keeps its default. */
export const weightsSchema = z.strictObject({
  base: z.strictObject(pointsOf(RANKED_ROLES, () => points.optional())).optional(),
  recency: z.strictObject(pointsOf(RANKED_ROLES, () => points.optional())).optional(),
  signals: z.strictObject(pointsOf(SIGNALS, () => signed.optional())).optional(),
})
/** Weights that replace the defaults. Absent ones keep their default. */
export type WeightsInput = z.input<typeof weightsSchema>

/** Weights with what was left out filled in. Takes what `weightsSchema` lets through. */
export function resolveWeights(given: WeightsInput | undefined): ImportanceWeights {
  if (given === undefined) return DEFAULT_WEIGHTS
  const { base, recency, signals } = DEFAULT_WEIGHTS
  return {
    base: pointsOf(RANKED_ROLES, (role) => given.base?.[role] ?? base[role]),
    recency: pointsOf(RANKED_ROLES, (role) => given.recency?.[role] ?? recency[role]),
    signals: pointsOf(SIGNALS, (signal) => given.signals?.[signal] ?? signals[signal]),
  }
}

/** Whether any signal counts: without, nobody has to read what was said. */
export function usesSignals({ signals }: ImportanceWeights): boolean {
  return SIGNALS.some((signal) => signals[signal] !== 0)
}

function pointsOf<K extends string, V>(keys: readonly K[], pointsFor: (key: K) => V): { [P in K]: V } {
  return Object.fromEntries(keys.map((key) => [key, pointsFor(key)])) as { [P in K]: V }
}

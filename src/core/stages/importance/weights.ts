import { z } from 'zod'

/*
 * The importance of a message in points. The scale is PromptFleet's (a user's message has 100 points). 256 points are the importance 1,
 * so that sums of integers are also exact as fractions, in any order.
 */

/** The points that equal the importance 1. */
export const POINTS = 256

/** The role of a group, by its most important row. `system` and `inserted` (summaries, markers) have the maximum. */
export type GroupRole = 'system' | 'inserted' | RankedRole

const RANKED_ROLES = ['user', 'assistantWithToolCalls', 'assistant', 'tool', 'other'] as const
/** A role with its own weight. */
export type RankedRole = (typeof RANKED_ROLES)[number]

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

/** Points by role and signal, and the maximum points for recency, by role. */
export type ImportanceWeights = {
  readonly base: { readonly [R in RankedRole]: number }
  /** Multiplied by (index + 1) / count and added when groups are ranked; not part of the importance. */
  readonly recency: { readonly [R in RankedRole]: number }
  readonly signals: { readonly [S in Signal]: number }
}

/**
 * The default weights. Base and recency are PromptFleet's; the signals are this package's. A constraint counts more than the full recency
 * of a user's message, so that a constraint at the beginning outranks the newest ordinary message; the first request counts less than
 * 12.5, which keeps the order of PromptFleet's recorded results.
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

/** The weights without signals: PromptFleet's formula alone. */
export const ROLE_WEIGHTS: ImportanceWeights = {
  ...DEFAULT_WEIGHTS,
  signals: pointsOf(SIGNALS, () => 0),
}

const points = z.number().min(0).max(POINTS)
const signed = z.number().min(-POINTS).max(POINTS)

/** A schema of weights, all of which are optional. */
export const weightsSchema = z.strictObject({
  base: z.strictObject(pointsOf(RANKED_ROLES, () => points.optional())).optional(),
  recency: z.strictObject(pointsOf(RANKED_ROLES, () => points.optional())).optional(),
  signals: z.strictObject(pointsOf(SIGNALS, () => signed.optional())).optional(),
})
/** Weights that replace the defaults. Omitted weights keep their defaults. */
export type WeightsInput = z.input<typeof weightsSchema>

/** Fills in the default weights. Expects the output of `weightsSchema`. */
export function resolveWeights(given: WeightsInput | undefined): ImportanceWeights {
  if (given === undefined) return DEFAULT_WEIGHTS
  const { base, recency, signals } = DEFAULT_WEIGHTS
  return {
    base: pointsOf(RANKED_ROLES, (role) => given.base?.[role] ?? base[role]),
    recency: pointsOf(RANKED_ROLES, (role) => given.recency?.[role] ?? recency[role]),
    signals: pointsOf(SIGNALS, (signal) => given.signals?.[signal] ?? signals[signal]),
  }
}

/** Returns whether any signal has a weight; otherwise contents need not be read. */
export function usesSignals({ signals }: ImportanceWeights): boolean {
  return SIGNALS.some((signal) => signals[signal] !== 0)
}

function pointsOf<K extends string, V>(keys: readonly K[], pointsFor: (key: K) => V): { [P in K]: V } {
  return Object.fromEntries(keys.map((key) => [key, pointsFor(key)])) as { [P in K]: V }
}

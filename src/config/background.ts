import { z } from 'zod'
import { shareSchema } from '../messages/check.ts'

/** Usage from which the history is compacted in the background: over the target, so that runs are rare and large. Source: design 3.6. */
export const DEFAULT_BACKGROUND_THRESHOLD = 0.7
/** Least time between two unasked runs in the background, milliseconds: each of them ends a provider's cached prefix. */
export const DEFAULT_BACKGROUND_MIN_INTERVAL_MS = 60_000
/** How long a circuit stays open, milliseconds. */
export const DEFAULT_CIRCUIT_RESET_MS = 300_000
/** The window of time that spending is counted in, milliseconds. */
export const DEFAULT_SPEND_WINDOW_MS = 3_600_000
/** Summaries that may be asked for unasked, a session and hour: far above what a busy conversation needs, far below what a loop would ask. */
const DEFAULT_SPEND_CALLS = 100

/** What unasked runs may spend on models. What is not said has no limit. */
const spendLimitsSchema = z.strictObject({
  /** Summaries asked for, failed ones too. */
  calls: z.int().nonnegative().optional(),
  /** Tokens of question and answer, as the summarizers reported them. */
  tokens: z.int().nonnegative().optional(),
  /** US dollars, likewise. */
  cost: z.number().nonnegative().optional(),
  /** The window of time, milliseconds. Default: an hour. */
  windowMs: z.int().positive().optional(),
  /** Whether each session is counted by itself, or all of the store together. Default "session". */
  per: z.enum(['session', 'store']).optional(),
})
/** What unasked runs may spend, as it is checked. */
export type SpendLimits = z.output<typeof spendLimitsSchema>

/** The settings of work in the background. */
export const backgroundShape = {
  background: z.boolean().optional(),
  backgroundThreshold: shareSchema.optional(),
  backgroundMinIntervalMs: z.int().nonnegative().optional(),
  circuitResetMs: z.int().positive().optional(),
  spendLimits: spendLimitsSchema.optional(),
}

/** What the settings of work in the background are where nobody says otherwise. */
export const BACKGROUND_DEFAULTS = {
  backgroundThreshold: DEFAULT_BACKGROUND_THRESHOLD,
  backgroundMinIntervalMs: DEFAULT_BACKGROUND_MIN_INTERVAL_MS,
  circuitResetMs: DEFAULT_CIRCUIT_RESET_MS,
  spendLimits: { calls: DEFAULT_SPEND_CALLS, windowMs: DEFAULT_SPEND_WINDOW_MS, per: 'session' },
} as const

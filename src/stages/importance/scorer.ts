import { z } from 'zod'
import { nameSchema } from '../../messages/check.ts'
import type { Message, Part } from '../../messages/message.ts'
import type { View } from '../../model/view.ts'
import type { ViewRow } from '../../model/view-row.ts'
import {
  DEFAULT_SCORER,
  type ImportanceReason,
  type ScoredGroup,
  scoreView,
  staysAlways,
  sumOf,
} from './score.ts'
import type { GroupRole, ImportanceWeights } from './weights.ts'

/** A group as a scorer of the application's own is shown it. */
export type GroupToScore = {
  /** Its messages as they were appended, in order: one, or a tool group. */
  readonly messages: readonly Message[]
  readonly role: GroupRole
  readonly pinned: boolean
  /** What the default scorer says of it. */
  readonly importance: number
  readonly reasons: readonly ImportanceReason[]
}

/** What it answers for each: the importance, 0 to 1, and on request why; the reasons must add up to it (to a millionth). */
export type GroupScore =
  | number
  | { readonly importance: number; readonly reasons?: readonly ImportanceReason[] | undefined }

/** A way to score of the application's own; it may ask a model. */
export interface ImportanceScorer {
  readonly name: string
  readonly version: string
  /** One answer for each group, in order. System messages, summaries and markers are not asked about: they always stay. */
  score(groups: readonly GroupToScore[]): readonly GroupScore[] | Promise<readonly GroupScore[]>
}

/** What a caller may hand in as a scorer. */
export const scorerSchema = z.custom<ImportanceScorer>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    nameSchema.safeParse((value as ImportanceScorer).name).success &&
    nameSchema.safeParse((value as ImportanceScorer).version).success &&
    typeof (value as ImportanceScorer).score === 'function',
  'must be a scorer: { name, version, score }',
)

/** Says that a scorer of the application's own did not score, and why; the scores are the default scorer's then. */
export type ScorerWarning = {
  readonly code: 'SCORER_FAILED'
  readonly scorer: string
  /** It threw, or what it answered is not one score between 0 and 1 for each group. */
  readonly why: 'threw' | 'answer'
}

/** The groups of a view with their scores, and whose they are. */
type ViewScores = {
  readonly scorer: { readonly name: string; readonly version: string }
  readonly groups: readonly ScoredGroup[]
  readonly warning?: ScorerWarning
}

/**
 * Scores a view by a scorer of the application's own. It never throws for the scorer's sake: what fails is scored by
 * the default scorer, with a warning (checklist F2-09).
 */
export async function scoreViewWith(
  scorer: ImportanceScorer,
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
  weights: ImportanceWeights,
): Promise<ViewScores> {
  const standard = scoreView(view, contentOf, weights, true)
  const ranked = standard.filter(({ role }) => !staysAlways(role))
  const fallback = (why: ScorerWarning['why']): ViewScores => ({
    scorer: DEFAULT_SCORER,
    groups: standard,
    warning: { code: 'SCORER_FAILED', scorer: scorer.name, why },
  })
  let answers: unknown
  try {
    answers = await scorer.score(ranked.map((group) => shownTo(group, view, contentOf)))
  } catch {
    return fallback('threw')
  }
  if (!Array.isArray(answers) || answers.length !== ranked.length) return fallback('answer')
  const scored = new Map<ScoredGroup, ScoredGroup>()
  for (const [at, group] of ranked.entries()) {
    const score = readScore(answers[at], scorer.name)
    if (score === undefined) return fallback('answer')
    scored.set(group, { ...group, ...score })
  }
  return {
    scorer: { name: scorer.name, version: scorer.version },
    groups: standard.map((group) => scored.get(group) ?? group),
  }
}

function shownTo(
  { indexes, role, pinned, importance, reasons }: ScoredGroup,
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
): GroupToScore {
  const messages = indexes.map((index): Message => {
    const row = view.rows[index]!
    return { role: row.role, content: contentOf(row) }
  })
  return { messages, role, pinned, importance, reasons }
}

const answerSchema = z.union([
  z.number().min(0).max(1),
  z.object({
    importance: z.number().min(0).max(1),
    reasons: z.array(z.object({ reason: z.string(), weight: z.number() })).optional(),
  }),
])

/** How far a scorer's reasons may be from its score: what adding fractions may lose. */
const CLOSE_ENOUGH = 1e-6

function readScore(
  answer: unknown,
  scorer: string,
): { importance: number; reasons: ImportanceReason[] } | undefined {
  const read = answerSchema.safeParse(answer)
  if (!read.success) return undefined
  const { importance, reasons } =
    typeof read.data === 'number' ? { importance: read.data, reasons: undefined } : read.data
  if (reasons === undefined) return { importance, reasons: [{ reason: scorer, weight: importance }] }
  const sum = sumOf(reasons)
  return Math.abs(sum - importance) <= CLOSE_ENOUGH ? { importance: sum, reasons } : undefined
}

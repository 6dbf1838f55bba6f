import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { check, nameSchema, readable } from '../../messages/check.ts'
import { type Message, type Part, partsOf } from '../../messages/message.ts'
import { checkMessageList, contentProblem } from '../../messages/message-check.ts'
import { indexMessage } from '../../model/message-parts.ts'
import { View } from '../../model/view.ts'
import type { ViewRow } from '../../model/view-row.ts'
import type { Estimator } from '../../tokens/estimators/estimator-schema.ts'
import { NO_SIZES } from '../../tokens/measure.ts'
import {
  DEFAULT_SCORER,
  type ImportanceReason,
  rankOf,
  type ScoredGroup,
  scoreView,
  staysAlways,
  sumOf,
} from './groups.ts'
import {
  type GroupRole,
  type ImportanceWeights,
  resolveWeights,
  type Signal,
  type WeightsInput,
  weightsSchema,
} from './weights.ts'

/** A message to score, in the neutral format, and whether it is pinned. Unknown roles count as `other`. */
export type MessageToScore = {
  readonly role: string
  readonly content: Message['content']
  readonly pinned?: boolean | undefined
}

/** The score of a message or tool group. */
export type MessageImportance = {
  /** Indexes of the group's messages in the list, ascending. */
  readonly indexes: readonly number[]
  readonly role: GroupRole
  /** From 0 to 1, without recency. */
  readonly importance: number
  /** The summands of the score, which add up to `importance` exactly. */
  readonly reasons: readonly ImportanceReason[]
  /** Signals that apply, including those without weight. */
  readonly signals: readonly Signal[]
  readonly pinned: boolean
  /** The importance in points plus recency, as in PromptFleet. Infinite for system messages. */
  readonly rank: number
}

/** The scores of a list of messages, by group, in order. */
export type ImportanceScores = {
  readonly scorer: { readonly name: string; readonly version: string }
  readonly groups: readonly MessageImportance[]
  /** Present if the application's scorer failed and the default scorer replaced it. */
  readonly warning?: ScorerWarning
}

/** A custom scorer. */
export const scorerSchema = z.custom<ImportanceScorer>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    nameSchema.safeParse((value as ImportanceScorer).name).success &&
    nameSchema.safeParse((value as ImportanceScorer).version).success &&
    typeof (value as ImportanceScorer).score === 'function',
  'must be a scorer: { name, version, score }',
)

const optionsSchema = z.strictObject({ weights: weightsSchema.optional() })
const scorerOptionsSchema = z.strictObject({ weights: weightsSchema.optional(), scorer: scorerSchema })

/** Options of `scoreMessages`: weights that differ from the default ones, in points. */
export type ScoreOptions = { readonly weights?: WeightsInput | undefined }

/**
 * Returns the importance of each message of a list, with reasons; hides nothing. A call and its results are one group. The same list
 * gives the same scores. Messages are in the neutral format (`fromOpenAI` and `fromAnthropic` convert to it). Throws `INVALID_INPUT`.
 */
export function scoreMessages(
  messages: readonly MessageToScore[],
  options: ScoreOptions = {},
): ImportanceScores {
  const weights = resolveWeights(check(optionsSchema, options, 'scoreMessages').weights)
  const { view, contentOf } = viewOf(messages, 'scoreMessages')
  const groups = scoreView(view, contentOf, weights, true)
  return { scorer: DEFAULT_SCORER, groups: publicGroups(groups, view, weights) }
}

/**
 * Like `scoreMessages`, with the application's scorer, which may call a model. If it throws, or doesn't return a score for each group,
 * the scores are the default ones and `warning` is set. Throws `INVALID_INPUT`.
 */
export async function scoreMessagesWith(
  scorer: ImportanceScorer,
  messages: readonly MessageToScore[],
  options: ScoreOptions = {},
): Promise<ImportanceScores> {
  const checked = check(scorerOptionsSchema, { ...options, scorer }, 'scoreMessagesWith')
  const weights = resolveWeights(checked.weights)
  const { view, contentOf } = viewOf(messages, 'scoreMessagesWith')
  const scores = await scoreViewWith(checked.scorer, view, contentOf, weights)
  return { ...scores, groups: publicGroups(scores.groups, view, weights) }
}

function publicGroups(
  groups: readonly ScoredGroup[],
  view: View,
  weights: ImportanceWeights,
): MessageImportance[] {
  return groups.map((group) => ({
    indexes: group.indexes,
    role: group.role,
    importance: group.importance,
    reasons: group.reasons,
    signals: [...group.signals.keys()],
    pinned: group.pinned,
    rank: rankOf(group, view.rows.length, weights),
  }))
}

/** An estimator that counts nothing: scores don't depend on sizes. */
const uncounted: Estimator = {
  name: 'none',
  measureText: () => 0,
  mediaTokens: 0,
  toTokens: () => 0,
  tokensPerMessage: 0,
  tokensPerConversation: 0,
}

function viewOf(messages: readonly MessageToScore[], what: string) {
  checkMessageList(messages, what)
  const contents = messages.map(({ content }, index): readonly Part[] => {
    const problem = readable(what, () => contentProblem(content))
    if (problem !== undefined)
      throw invalid(
        `${what}: messages[${index}].content${problem} (fromOpenAI and fromAnthropic convert messages of other forms)`,
      )
    return partsOf({ content })
  })
  const rows = messages.map(
    ({ role, pinned }, index): ViewRow => ({
      ...indexMessage({ content: contents[index]! }, uncounted),
      key: index + 1,
      id: `#${index}`,
      kind: 'message',
      // Any other role counts as `other`.
      role: role as ViewRow['role'],
      position: index + 1,
      anchor: index + 1,
      ordinal: 0,
      sizes: NO_SIZES,
      pinned: pinned === true,
      shown: [],
    }),
  )
  const view = new View(rows, uncounted, '')
  return { view, contentOf: (row: ViewRow) => contents[row.key - 1] ?? [] }
}

export const importanceSchema = z.strictObject({
  /** The scorer. Default: the built-in scorer, which calls no model. */
  scorer: scorerSchema.optional(),
  /** Points by role and signal where they differ from `DEFAULT_WEIGHTS`. */
  weights: weightsSchema.optional(),
})
export type ImportanceOptions = z.input<typeof importanceSchema>

/** The scores of a session's view. `indexes` refer to the view. */
export type SessionImportance = {
  readonly scorer: { readonly name: string; readonly version: string }
  readonly groups: readonly (MessageImportance & { readonly messageIds: readonly string[] })[]
  /** Present if the application's scorer failed and the default scorer replaced it. */
  readonly warning?: ScorerWarning
}

/** Scores the rows of a session's view by their original contents. */
export async function scoreSession(
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
  { scorer, weights: given }: z.output<typeof importanceSchema>,
): Promise<SessionImportance> {
  const weights = resolveWeights(given)
  const scores = await scoreViewWith(scorer, view, contentOf, weights)
  const groups = publicGroups(scores.groups, view, weights).map((group) => ({
    messageIds: group.indexes.map((index) => view.rows[index]!.id),
    ...group,
  }))
  return { ...scores, groups }
}

/** A group as the application's scorer receives it. */
export type GroupToScore = {
  /** The group's messages as they were appended, in order: one message, or a tool group. */
  readonly messages: readonly Message[]
  readonly role: GroupRole
  readonly pinned: boolean
  /** The group's default score. */
  readonly importance: number
  readonly reasons: readonly ImportanceReason[]
}

/**
 * A custom scorer's result for each group: the importance, from 0 to 1, and optional reasons, which must add up to it (within a
 * millionth).
 */
export type GroupScore =
  | number
  | { readonly importance: number; readonly reasons?: readonly ImportanceReason[] | undefined }

/** The application's scorer; it may call a model. */
export interface ImportanceScorer {
  readonly name: string
  readonly version: string
  /** Returns one result for each group, in order. System messages, summaries and markers are left out, because they always stay. */
  score(groups: readonly GroupToScore[]): readonly GroupScore[] | Promise<readonly GroupScore[]>
}

/** Why the default scorer replaced the application's scorer. */
export type ScorerWarning = {
  readonly code: 'SCORER_FAILED'
  readonly scorer: string
  /** `threw`: it threw. `answer`: its result isn't one score between 0 and 1 for each group. */
  readonly why: 'threw' | 'answer'
}

/** The groups of a view with their scores, and the scorer. */
type ViewScores = {
  readonly scorer: { readonly name: string; readonly version: string }
  readonly groups: readonly ScoredGroup[]
  readonly warning?: ScorerWarning
}

/**
 * Scores a view with the application's scorer, if there is one. A failing scorer causes no error: the default scorer replaces it, with a
 * warning.
 */
async function scoreViewWith(
  scorer: ImportanceScorer | undefined,
  view: View,
  contentOf: (row: ViewRow) => readonly Part[],
  weights: ImportanceWeights,
): Promise<ViewScores> {
  const standard = scoreView(view, contentOf, weights, true)
  if (scorer === undefined) return { scorer: DEFAULT_SCORER, groups: standard }
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

/** The tolerance between a score and the sum of its reasons, for rounding. */
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

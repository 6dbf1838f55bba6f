import { z } from 'zod'
import { check } from '../messages/check.ts'
import { listIn } from '../messages/json.ts'
import type { Plan } from '../model/plan.ts'
import { isRequest } from '../model/tool-groups.ts'
import { Tally, type View } from '../model/view.ts'
import type { ViewRow } from '../model/view-row.ts'
import { rankOf, type ScoredGroup, scoreView, staysAlways } from './importance/groups.ts'
import {
  type ImportanceWeights,
  resolveWeights,
  type Signal,
  usesSignals,
  weightsSchema,
} from './importance/weights.ts'
import type { PlanningStage } from './stage.ts'

/** Classes of messages that can be kept whatever their score, and the signal of each. */
const PROTECTED = {
  firstRequest: 'firstRequest',
  constraints: 'constraint',
  decisions: 'decision',
  errors: 'error',
  writes: 'write',
  answers: 'answer',
  images: 'image',
  referenced: 'referenced',
} as const satisfies Record<string, Signal>
/** The names of all protected classes of messages. */
export const PROTECTED_CLASSES = Object.keys(PROTECTED) as readonly ProtectedClass[]
/** A class of messages that the stage never hides. */
export type ProtectedClass = keyof typeof PROTECTED

/** The schema of the stage's options. */
export const priorityShape = {
  /** Points by role and signal. Default: PromptFleet's roles, and the signals of `DEFAULT_WEIGHTS`. */
  weights: weightsSchema.optional(),
  /** Whether to rank by score, or by score per token, which prefers many small messages to a few large ones. Default "score". */
  order: z.enum(['score', 'scorePerToken']).optional(),
  /** Classes that are kept whatever their score. Default: none. */
  protect: z
    .array(z.enum(Object.keys(PROTECTED) as [ProtectedClass, ...ProtectedClass[]]))
    .readonly()
    .optional(),
  /**
   * The part of the newest turn that stays whatever its score: all of it (default), only its request, as in PromptFleet, or nothing, so
   * that the rest always fits beside system messages and protected classes.
   */
  keepNewest: z.enum(['turn', 'request', 'nothing']).optional(),
  /**
   * Custom scores, such as those of `messages.importance` with the application's scorer. Messages without a custom score get the default
   * score.
   */
  scores: z
    .array(z.object({ messageIds: z.array(z.string()).readonly(), importance: z.number().min(0).max(1) }))
    .readonly()
    .optional(),
}
const optionsSchema = z.strictObject(priorityShape)
/** Options of the priority stage. */
export type PriorityStageOptions = z.input<typeof optionsSchema>

/**
 * Returns a stage that keeps the highest-scoring messages that fit the target, and hides the others, like PromptFleet's `PriorityBased`.
 *
 * Groups are ranked: a call with its results scores as the call, and is kept or hidden as a whole. The order is by descending score, then
 * by the view's order; a group that doesn't fit is skipped, and smaller ones after it are still tried. System and pinned messages,
 * summaries, open calls and the newest turn always stay; if these alone exceed the target, the plan's parameters contain `overBudget:
 * true`.
 *
 * Throws `INVALID_INPUT`.
 */
export function priorityStage(
  options: PriorityStageOptions = {},
  what = 'priority',
): PlanningStage<Plan | undefined> {
  const checked = check(optionsSchema, options, what)
  const weights = resolveWeights(checked.weights)
  const { order = 'score', protect = [], keepNewest = 'turn' } = checked
  const needsSignals = usesSignals(weights) || protect.length > 0
  return {
    name: 'priority_based',

    reads(view) {
      return needsSignals ? view.rows : []
    },

    plan(view, { targetTokens, contentOf }) {
      if (view.rows.length === 0) return undefined
      const groups = withScores(scoreView(view, contentOf, weights, needsSignals), view, checked.scores)
      const choice = { targetTokens, weights, order, protect, keepNewest }
      const { hide, overBudget } = selectByPriority(view, groups, choice)
      if (hide.length === 0) return undefined
      return {
        kind: 'truncate',
        hide,
        replace: [],
        requires: [],
        params: {
          stage: 'priority_based',
          targetTokens,
          order,
          protect,
          ...(overBudget && { overBudget: true }),
        },
      }
    },
  }
}

/** Returns groups with the given scores of their messages; the highest score in a group counts. */
function withScores(
  groups: readonly ScoredGroup[],
  view: View,
  scores: PriorityStageOptions['scores'],
): readonly ScoredGroup[] {
  if (scores === undefined) return groups
  const byId = new Map<string, number>()
  for (const { messageIds, importance } of scores)
    for (const id of messageIds) byId.set(id, Math.max(importance, byId.get(id) ?? 0))
  return groups.map((group) => {
    if (staysAlways(group.role)) return group
    let importance: number | undefined
    for (const index of group.indexes) {
      const given = byId.get(view.rows[index]!.id)
      if (given !== undefined) importance = Math.max(given, importance ?? 0)
    }
    return importance === undefined
      ? group
      : { ...group, importance, reasons: [{ reason: 'given', weight: importance }] }
  })
}

type SelectionOptions = {
  readonly targetTokens: number
  readonly weights: ImportanceWeights
  readonly order: 'score' | 'scorePerToken'
  readonly protect: readonly ProtectedClass[]
  readonly keepNewest: 'turn' | 'request' | 'nothing'
}

/** Chooses greedily over the groups of the view, in one pass. `overBudget`: the rows that must stay alone are too large. */
function selectByPriority(
  view: View,
  groups: readonly ScoredGroup[],
  { targetTokens, weights, order, protect, keepNewest }: SelectionOptions,
) {
  const chosen = new Chosen(view, groups)
  const newest = newestRows(view, keepNewest)
  const signals = protect.map((name): Signal => PROTECTED[name])
  const ranked: ScoredGroup[] = []
  for (const group of groups) {
    const stays =
      group.pinned ||
      group.indexes.some((index) => isFixed(view.rows[index]!) || newest.has(index)) ||
      view.turns.pending.has(group.indexes[0]!) ||
      signals.some((signal) => group.signals.has(signal))
    if (stays) chosen.take(chosen.withSurvivors(group))
    else ranked.push(group)
  }
  const overBudget = chosen.tokens > targetTokens
  const worth = new Map(
    ranked.map((group) => {
      const score = rankOf(group, view.rows.length, weights)
      return [group, order === 'score' ? score : score / tokensOfGroup(view, group)] as const
    }),
  )
  ranked.sort((a, b) => worth.get(b)! - worth.get(a)!)
  for (const group of ranked) {
    const together = chosen.withSurvivors(group)
    chosen.take(together)
    if (chosen.tokens > targetTokens) chosen.giveBack(together)
  }
  return { hide: view.rows.filter((_, index) => !chosen.has(index)), overBudget }
}

function isFixed(row: ViewRow): boolean {
  return row.kind !== 'message' || row.role === 'system'
}

/** Returns the newest turn, from the newest request on; of several consecutive requests only the newest counts. */
function newestRows(view: View, keepNewest: 'turn' | 'request' | 'nothing'): ReadonlySet<number> {
  if (keepNewest === 'nothing') return new Set()
  const last = view.rows.length - 1
  const request = view.rows.findLastIndex(isRequest)
  if (request < 0) return new Set([last])
  if (keepNewest === 'request') return new Set([request])
  return new Set(Array.from({ length: last - request + 1 }, (_, at) => request + at))
}

function tokensOfGroup(view: View, { indexes }: ScoredGroup): number {
  return Math.max(1, view.tokensOfRows(indexes.map((index) => view.rows[index]!)))
}

/** The groups chosen so far, and their size. */
class Chosen {
  readonly #view: View
  readonly #groups = new Map<number, ScoredGroup>()
  readonly #survivors = new Map<number, number[]>()
  readonly #taken: Uint8Array
  readonly #tally: Tally

  constructor(view: View, groups: readonly ScoredGroup[]) {
    this.#view = view
    this.#tally = new Tally(view, 'none')
    this.#taken = new Uint8Array(view.rows.length)
    for (const group of groups) for (const index of group.indexes) this.#groups.set(index, group)
    for (const { key, by } of view.pointerTargets) {
      const survivor = view.indexOf(key)
      if (survivor === undefined) continue
      for (const pointing of by) {
        const index = view.indexOf(pointing)
        if (index !== undefined) listIn(this.#survivors, index).push(survivor)
      }
    }
  }

  has(index: number): boolean {
    return this.#taken[index] === 1
  }

  get tokens(): number {
    return this.#tally.tokens
  }

  /** Returns a group with the groups that must stay with it and are not kept yet: reads to which its rows point. */
  withSurvivors(group: ScoredGroup): ScoredGroup[] {
    const together = new Set([group])
    for (const member of together) {
      for (const index of member.indexes) {
        for (const survivor of this.#survivors.get(index) ?? []) together.add(this.#groups.get(survivor)!)
      }
    }
    return [...together].filter(({ indexes }) => !this.has(indexes[0]!))
  }

  take(groups: readonly ScoredGroup[]): void {
    for (const index of groups.flatMap(({ indexes }) => indexes)) {
      this.#tally.add(this.#view.rows[index]!)
      this.#taken[index] = 1
    }
  }

  giveBack(groups: readonly ScoredGroup[]): void {
    for (const index of groups.flatMap(({ indexes }) => indexes)) {
      this.#tally.drop(this.#view.rows[index]!)
      this.#taken[index] = 0
    }
  }
}

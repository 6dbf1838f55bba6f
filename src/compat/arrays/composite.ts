import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { errorName, invalid, isUndertextError, standingFor, UndertextError } from '../../core/errors.ts'
import { check } from '../../core/messages/check.ts'
import { jsonTextOrNone, listIn } from '../../core/messages/json.ts'
import { outputText, type Part, partsOf } from '../../core/messages/message.ts'
import type { ChatMessage, ContextStrategy } from '../../core/model/message-parts.ts'
import type { View } from '../../core/model/view.ts'
import type { ViewRow } from '../../core/model/view-row.ts'
import { keepsGroups, staying } from '../../core/stages/cut-points.ts'
import { compositeStage, isStage } from '../../core/stages/registry.ts'
import type {
  CompositeStage,
  PlanDraft,
  ReplacementDraft,
  Stage,
  StageContext,
} from '../../core/stages/stage.ts'
import { type ArrayRun, copyMessage, type Item, PASSING, targetOf } from './run-strategy.ts'
import { type Strategy, strategyOf, strategyShape, summaryShape } from './strategies.ts'

/** The parts of a composite: strategies of this package, stages, and strategies of the application. */
export type CompositePart = Strategy | Stage | UserStrategy

const optionsSchema = z.strictObject({
  /** Applied in this order. */
  stages: z.array(
    z.custom<CompositePart>(
      (value) => isStage(value) || isUserStrategy(value),
      'must be a strategy or a stage',
    ),
  ),
  ...strategyShape,
  ...summaryShape,
})
/** Options of `composite`. */
export type CompositeOptions = z.input<typeof optionsSchema>

/**
 * Several strategies as one: each in order, only while the messages take more than `maxTokens`, counted by the composite's estimator
 * after each. Thresholds of the parts are ignored, except that a nested composite has its own.
 *
 * Recommended order: cheap ones first, so clearing, then dropping, then summarizing.
 *
 * A stage for `compactSession`, and a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function composite(options: CompositeOptions): Strategy<CompositeStage> {
  const checked = check(optionsSchema, options, 'composite')
  const { stages, maxTokens } = checked
  const stage = compositeStage(stages.map(partStage), maxTokens === undefined ? {} : { budget: maxTokens })
  return strategyOf(stage, checked, { needsTarget: true })
}

/** A part as a stage. A strategy of the application still gets arrays as arrays. */
function partStage(part: CompositePart): Stage {
  if (isStage(part)) return part
  const passing = (items: readonly Item[], run: ArrayRun): Promise<Item[]> =>
    passUserStrategy(items, part, targetOf(run))
  return Object.assign(stageFrom(part), { [PASSING]: passing })
}

/**
 * A strategy over arrays as a stage over a store. Its result is compared with its input by id: a missing message is hidden, another text
 * in a part is a replacement, and a new message in place of a run of messages is their summary. The order of the result is ignored.
 *
 * Some rows stay whatever the strategy returns: system and pinned messages, pending calls, summaries (unless a new message replaces
 * them), and halves of a call and its results when it kept the other half. The first three also keep their texts.
 *
 * A stage, and so a strategy of this package, is returned unchanged. Throws `INVALID_INPUT` for other values. Planning rejects with
 * `STRATEGY_FAILED` when the strategy throws or returns what no plan can express: several new messages, one that replaces nothing or
 * messages that are not adjacent, or changed parts that are not texts.
 */
export function stageFrom(strategy: Stage | UserStrategy): Stage {
  if (isStage(strategy)) return strategy
  if (!isUserStrategy(strategy))
    throw invalid('stageFrom: must be a stage, { tokenEstimate, shouldCompact, compact } or { name, apply }')
  return {
    name: stageNameOf(strategy),
    reads: (view) => view.rows,
    async plan(view, context) {
      const given = view.rows.map((row) => messageOf(row, context))
      const returned = await runUserStrategy(strategy, given.map(copyMessage), context.targetTokens)
      return draftFrom(strategy, view, given, returned)
    },
  }
}

function messageOf(row: ViewRow, { contentOf, shownOf = contentOf, metadataOf }: StageContext): ChatMessage {
  const { id, kind, role, pinned } = row
  const metadata = metadataOf(row)
  return {
    id,
    role,
    content: shownOf(row),
    ...(kind === 'marker' && { isTruncationMarker: true }),
    ...(kind === 'summary' ? { metadata: { ...metadata, isSummary: true } } : metadata && { metadata }),
    ...(pinned && { pinned }),
  }
}

function draftFrom(
  strategy: UserStrategy,
  view: View,
  given: readonly ChatMessage[],
  returned: readonly ChatMessage[],
): PlanDraft | undefined {
  const places = findPlaces(given, returned)
  const kept = new Set(places)
  const added = returned.filter((_, at) => places[at] === undefined)
  if (added.length > 1) throw strategyFailed(strategy, 'SEVERAL_NEW_MESSAGES')

  const gone = hidable(view, kept, added.length > 0)
  const replace = returned.flatMap((message, at) => {
    const place = places[at]
    if (place === undefined || isFixed(view, place)) return []
    return replacements(strategy, view.rows[place]!, given[place]!, message)
  })
  const [summary] = added
  if (summary === undefined && gone.length === 0 && replace.length === 0) return undefined
  const hide = gone.map((index) => view.rows[index]!)
  if (summary === undefined) return { hide, replace }
  const isRun = gone.length > 0 && gone.at(-1)! - gone[0]! === gone.length - 1
  if (!isRun) throw strategyFailed(strategy, gone.length === 0 ? 'SUMMARY_OF_NOTHING' : 'SUMMARY_OF_PARTS')
  const text = textOf(summary)
  if (text.trim() === '') throw strategyFailed(strategy, 'EMPTY_SUMMARY')
  return { hide, replace, insert: { kind: 'summary', text } }
}

/** The indexes of dropped messages that may be hidden, ascending: whole groups only. */
function hidable(view: View, kept: ReadonlySet<number | undefined>, condenses: boolean): number[] {
  const stays = staying(view, condenses)
  const left = keepsGroups(view, ({ key }) => {
    const index = view.indexOf(key)!
    return kept.has(index) || stays.has(index)
  })
  return view.rows.flatMap((_, index) => (left.has(index) ? [] : [index]))
}

/** Whether a strategy may not change a row: system and pinned messages, pending calls. */
function isFixed(view: View, index: number): boolean {
  const { pinned, kind, role } = view.rows[index]!
  return pinned || (kind === 'message' && role === 'system') || view.turns.pending.has(index)
}

/** The parts of a message that were returned with another text. */
function replacements(
  strategy: UserStrategy,
  row: ViewRow,
  given: ChatMessage,
  returned: ChatMessage,
): ReplacementDraft[] {
  if (returned.content === given.content) return []
  const [before, after] = [partsOf(given), partsOf(returned)]
  if (before.length !== after.length) throw strategyFailed(strategy, 'PARTS_CHANGED')
  return before.flatMap((part, index) => {
    const text = changedText(strategy, part, after[index]!)
    return text === undefined ? [] : [{ row, part: index, text }]
  })
}

function changedText(strategy: UserStrategy, before: Part, after: Part): string | undefined {
  if (before.type === 'text' && after.type === 'text')
    return before.text === after.text ? undefined : after.text
  if (isDeepStrictEqual(before, after)) return undefined
  if (before.type !== 'tool-result' || after.type !== 'tool-result')
    throw strategyFailed(strategy, 'PARTS_CHANGED')
  if (isDeepStrictEqual(before.output, after.output)) return undefined
  return outputText(after.output)
}

/** A strategy of the application with a budget, which returns the messages to send. */
export type BudgetStrategy = {
  readonly name: string
  /** Returns the messages to send, which may be fewer or shorter. */
  apply(
    messages: readonly ChatMessage[],
    budget: { readonly availableForHistory: number },
  ): AppliedMessages | Promise<AppliedMessages>
}
type AppliedMessages = readonly ChatMessage[] | { readonly messages: readonly ChatMessage[] }

/** A strategy of the application for arrays. */
export type UserStrategy = ContextStrategy | BudgetStrategy

/** Whether a value is a strategy of the application: the three methods, or a name and `apply`. */
function isUserStrategy(value: unknown): value is UserStrategy {
  if (typeof value !== 'object' || value === null) return false
  const { name, tokenEstimate, shouldCompact, compact, apply } = value as Record<string, unknown>
  if ([tokenEstimate, shouldCompact, compact].every((method) => typeof method === 'function')) return true
  return typeof name === 'string' && name !== '' && typeof apply === 'function'
}

/** The name of a strategy's stage: its own, in snake case. */
function stageNameOf({ name }: UserStrategy): string {
  const plain = (typeof name === 'string' ? name : '').slice(0, 64).toLowerCase()
  const snake = plain.replaceAll(/[^a-z0-9]/g, '_')
  if (snake === '') return 'custom'
  return /^[a-z]/.test(snake) ? snake : `custom_${snake}`.slice(0, 64)
}

/**
 * Runs a strategy of the application on copies of the messages. Rejects with `STRATEGY_FAILED` when it throws (`originalErrorOf` returns
 * that error) or does not return a list of messages; errors of this package are rethrown.
 */
async function runUserStrategy(
  strategy: UserStrategy,
  messages: readonly ChatMessage[],
  target: number,
): Promise<readonly ChatMessage[]> {
  let answer: unknown
  try {
    if ('compact' in strategy) answer = await strategy.compact(messages)
    else answer = await strategy.apply(messages, { availableForHistory: target })
  } catch (error) {
    if (isUndertextError(error)) throw error
    throw standingFor(strategyFailed(strategy, errorName(error)), error)
  }
  const list: unknown = Array.isArray(answer)
    ? answer
    : (answer as { messages?: unknown } | undefined)?.messages
  const isList = Array.isArray(list) && list.every((one) => typeof one === 'object' && one !== null)
  if (!isList) throw strategyFailed(strategy, 'NO_MESSAGES')
  return list as readonly ChatMessage[]
}

/** `STRATEGY_FAILED` with a code or an error's name as the reason. */
function strategyFailed(strategy: UserStrategy, error: string): UndertextError<'STRATEGY_FAILED'> {
  return new UndertextError('STRATEGY_FAILED', { strategy: stageNameOf(strategy), error })
}

/** The messages that a strategy returned. */
async function passUserStrategy(
  items: readonly Item[],
  strategy: UserStrategy,
  target: number,
): Promise<Item[]> {
  const copies = items.map(({ message }) => copyMessage(message))
  const returned = await runUserStrategy(strategy, copies, target)
  const places = findPlaces(copies, returned)
  const kept = new Set(places)
  const gone = items.flatMap((item, at) => (kept.has(at) ? [] : item.origins))
  const added = places.filter((place) => place === undefined).length
  return returned.map((message, at): Item => {
    const item = items[places[at] ?? -1]
    if (item !== undefined) return { ...item, message }
    // One new message replaces the dropped ones; with more it would be ambiguous.
    return { message, origins: added === 1 ? gone : [], summary: textOf(message) }
  })
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return Array.isArray(content)
    ? content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    : ''
}

/**
 * The input index of each returned message: by identity, else by id, else by equal content. `undefined` for a new one. Each index is used
 * once.
 */
function findPlaces(given: readonly ChatMessage[], returned: readonly ChatMessage[]): (number | undefined)[] {
  const places = returned.map((): number | undefined => undefined)
  const taken = new Set<number>()
  const take = (keyOf: (message: ChatMessage) => unknown): void => {
    const free = new Map<unknown, number[]>()
    // From the end, so that the first place is the first to be popped.
    for (let at = given.length - 1; at >= 0; at--) {
      const key = taken.has(at) ? undefined : keyOf(given[at]!)
      if (key !== undefined) listIn(free, key).push(at)
    }
    for (const [index, message] of returned.entries()) {
      if (places[index] !== undefined) continue
      const key = keyOf(message)
      const place = key === undefined ? undefined : free.get(key)?.pop()
      if (place === undefined) continue
      places[index] = place
      taken.add(place)
    }
  }
  take((message) => message)
  take(({ id }) => (typeof id === 'string' ? id : undefined))
  if (places.includes(undefined)) take(jsonTextOrNone)
  return places
}

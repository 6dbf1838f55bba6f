import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { errorName, invalid, isUndertextError, UndertextError, withOriginal } from '../../core/errors.ts'
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
 * Combines several strategies into one: each runs in order, only while the messages take more than `maxTokens`, counted by the composite's
 * estimator after each. Thresholds of the parts are ignored, except that a nested composite has its own.
 *
 * Recommended order: cheap ones first, so clearing, then dropping, then summarizing.
 *
 * Returns a stage for `compactSession` that is also a strategy over plain arrays. Throws `INVALID_INPUT`.
 */
export function composite(options: CompositeOptions): Strategy<CompositeStage> {
  const checked = check(optionsSchema, options, 'composite')
  const { stages, maxTokens } = checked
  const stage = compositeStage(stages.map(partStage), maxTokens === undefined ? {} : { budget: maxTokens })
  return strategyOf(stage, checked, { needsTarget: true })
}

/** Returns a part as a stage. Over an array, a strategy of the application is called with the messages directly. */
function partStage(part: CompositePart): Stage {
  if (isStage(part)) return part
  const passing = (items: readonly Item[], run: ArrayRun): Promise<Item[]> =>
    passUserStrategy(items, part, targetOf(run))
  return Object.assign(stageFrom(part), { [PASSING]: passing })
}

/**
 * Returns a strategy over arrays as a stage over a store. Its result is compared with its input by id: a missing message is hidden, a
 * changed text of a part is a replacement, and a new message in place of a run of messages is their summary. The order of the result is
 * ignored.
 *
 * Some rows stay whatever the strategy returns: system and pinned messages, pending calls, summaries (unless a new message replaces them),
 * and halves of a call and its results if it kept the other half. The first three also keep their texts.
 *
 * A stage, and so a strategy of this package, is returned unchanged. Throws `INVALID_INPUT` for other values. Planning rejects with
 * `STRATEGY_FAILED` if the strategy throws, or if its result can't be a plan: several new messages, a new message that replaces nothing or
 * replaces non-adjacent messages, or changed parts that aren't texts.
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

  const gone = hideableRows(view, kept, added.length > 0)
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

/** Returns the indexes of dropped messages that may be hidden, ascending: whole groups only. */
function hideableRows(view: View, kept: ReadonlySet<number | undefined>, condenses: boolean): number[] {
  const stays = staying(view, condenses)
  const left = keepsGroups(view, ({ key }) => {
    const index = view.indexOf(key)!
    return kept.has(index) || stays.has(index)
  })
  return view.rows.flatMap((_, index) => (left.has(index) ? [] : [index]))
}

/** Whether a strategy can't change a row: system and pinned messages, pending calls. */
function isFixed(view: View, index: number): boolean {
  const { pinned, kind, role } = view.rows[index]!
  return pinned || (kind === 'message' && role === 'system') || view.turns.pending.has(index)
}

/** Returns the parts of a message whose text was changed. */
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

/** A strategy of the application over arrays. */
export type UserStrategy = ContextStrategy | BudgetStrategy

/** Whether a value is a strategy of the application: an object with the three methods, or with a name and `apply`. */
function isUserStrategy(value: unknown): value is UserStrategy {
  if (typeof value !== 'object' || value === null) return false
  const { name, tokenEstimate, shouldCompact, compact, apply } = value as Record<string, unknown>
  if ([tokenEstimate, shouldCompact, compact].every((method) => typeof method === 'function')) return true
  return typeof name === 'string' && name !== '' && typeof apply === 'function'
}

/** Returns the name of a strategy's stage: the strategy's own name, in snake case. */
function stageNameOf({ name }: UserStrategy): string {
  const plain = (typeof name === 'string' ? name : '').slice(0, 64).toLowerCase()
  const snake = plain.replaceAll(/[^a-z0-9]/g, '_')
  if (snake === '') return 'custom'
  return /^[a-z]/.test(snake) ? snake : `custom_${snake}`.slice(0, 64)
}

/**
 * Runs a strategy of the application on copies of the messages. Rejects with `STRATEGY_FAILED` if it throws (`originalErrorOf` returns that
 * error) or doesn't return a list of messages; errors of this package are rethrown.
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
    throw withOriginal(strategyFailed(strategy, errorName(error)), error)
  }
  const list: unknown = Array.isArray(answer)
    ? answer
    : (answer as { messages?: unknown } | undefined)?.messages
  const isList = Array.isArray(list) && list.every((one) => typeof one === 'object' && one !== null)
  if (!isList) throw strategyFailed(strategy, 'NO_MESSAGES')
  return list as readonly ChatMessage[]
}

/** Returns a `STRATEGY_FAILED` error with a code or an error's name as the reason. */
function strategyFailed(strategy: UserStrategy, error: string): UndertextError<'STRATEGY_FAILED'> {
  return new UndertextError('STRATEGY_FAILED', { strategy: stageNameOf(strategy), error })
}

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
    // A single new message replaces the dropped ones; several would be ambiguous.
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
 * Returns the input index of each returned message: by identity, else by id, else by equal content; `undefined` for a new one. Each index
 * is used once.
 */
function findPlaces(given: readonly ChatMessage[], returned: readonly ChatMessage[]): (number | undefined)[] {
  const places = returned.map((): number | undefined => undefined)
  const taken = new Set<number>()
  const take = (keyOf: (message: ChatMessage) => unknown): void => {
    const free = new Map<unknown, number[]>()
    // From the end, so that the first place is popped first.
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

import { z } from 'zod'
import { joinByAdjacency } from '../../core/messages/call-results.ts'
import { readable } from '../../core/messages/check.ts'
import { isJsonObject, type JsonObject } from '../../core/messages/json.ts'
import type { Part } from '../../core/messages/message.ts'
import { textsByRow, withReplacements } from '../../core/messages/overlay.ts'
import { checkLaws } from '../../core/model/laws.ts'
import {
  type ChatMessage,
  indexMessage,
  isMarker,
  isSummary,
  partsOfMessage,
  requireMessages,
  roleOf,
  sizesOf,
} from '../../core/model/message-parts.ts'
import {
  applyPlan,
  isCondensing,
  type Plan,
  type PlannedInsert,
  type PlannedReplacement,
  type PlannedStep,
} from '../../core/model/plan.ts'
import { View } from '../../core/model/view.ts'
import type { ShownReplacement, ViewRow } from '../../core/model/view-row.ts'
import { CLEARED_PLACEHOLDER, PRUNE_PLACEHOLDER } from '../../core/stages/clear-tool-outputs.ts'
import type { StageContext, StageSettings } from '../../core/stages/stage.ts'
import { KEEP_RECENT_RATIO } from '../../core/stages/summarize.ts'
import { TRUNCATION_FRACTION } from '../../core/stages/truncate.ts'
import { type Estimator, isEstimator } from '../../core/tokens/estimators/estimator-schema.ts'
import type { TokenCounter } from '../../core/tokens/estimators/neuron.ts'
import { estimatePromptfleetMessage, promptfleetEstimator } from '../../core/tokens/estimators/promptfleet.ts'
import { estimatorNamed, neurolinkEstimator } from '../../core/tokens/measure.ts'
import { stageSettings } from '../../store/config/run-config.ts'
import { isVisible } from './effective-history.ts'

/** An estimator for plain arrays. It may also count the role, which the sums of a store don't include. */
export type ArrayEstimator = Estimator & {
  /** Units of a message's role. */
  readonly measureRole?: (role: string) => number
}

/** An estimator, the name of a built-in one, or a counter returned by `createTokenCounter`. */
export type EstimatorChoice = string | ArrayEstimator | TokenCounter

export const estimatorChoiceSchema = z.custom<EstimatorChoice>(
  (value) =>
    (typeof value === 'string' && estimatorNamed(value) !== undefined) ||
    isEstimator(value) ||
    isCounter(value),
  'must be an estimator, the name of a built-in one, or a token counter',
)

/** Returns the chosen estimator. Default: `neurolink`. */
export function arrayEstimator(choice: EstimatorChoice | undefined): ArrayEstimator {
  const chosen = typeof choice === 'string' ? estimatorNamed(choice) : choice
  if (chosen === undefined) return neurolinkEstimator
  if (chosen === promptfleetEstimator) return promptfleetOfArrays
  return isEstimator(chosen) ? chosen : ofCounter(chosen)
}

/** `promptfleet` as in its functions for lists: counts each role exactly, not as a mean. */
const promptfleetOfArrays: ArrayEstimator = {
  ...promptfleetEstimator,
  tokensPerMessage: estimatePromptfleetMessage({}),
  measureRole: (role) => estimatePromptfleetMessage({ role }) - estimatePromptfleetMessage({}),
}

function isCounter(value: unknown): value is TokenCounter {
  if (typeof value !== 'object' || value === null) return false
  const { estimateText, estimateMessages } = value as Partial<TokenCounter>
  return typeof estimateText === 'function' && typeof estimateMessages === 'function'
}

/** Returns a counter as an estimator: its figures for a message, an image and a document are read once. */
function ofCounter(counter: TokenCounter): ArrayEstimator {
  const tokensOf = (...types: readonly string[]): number =>
    counter.estimateMessages([{ role: 'user', content: types.map((type) => ({ type })) }])
  const tokensPerMessage = tokensOf()
  return {
    name: 'counter',
    measureText: (text) => counter.estimateText(text),
    mediaTokens: tokensOf('image') - tokensPerMessage,
    fileTokens: tokensOf('document') - tokensPerMessage,
    toTokens: (units) => units,
    tokensPerMessage,
    tokensPerConversation: 0,
  }
}

/** An array in the form that planning needs, with its visible messages as rows. A row's key is its message's index + 1. */
export type ArrayRows = Pick<StageContext, 'contentOf' | 'metadataOf'> & {
  readonly view: View
  /** The parts of each visible message, by key. */
  readonly parts: ReadonlyMap<number, readonly Part[]>
  /** The metadata of messages that have any, by key. */
  readonly metadata: ReadonlyMap<number, JsonObject>
}

/** The defaults of the stages, not scaled, because an array has no window. */
const DEFAULT_SETTINGS = stageSettings(
  { pipeline: [], keepRecentRatio: KEEP_RECENT_RATIO, truncationFraction: TRUNCATION_FRACTION },
  Number.MAX_SAFE_INTEGER,
  0,
)

/** Returns the context in which a stage plans over an array. */
export function contextIn(
  { contentOf, metadataOf }: ArrayRows,
  settings: { readonly [K in keyof StageSettings]?: StageSettings[K] | undefined },
  targetTokens: number,
  limitTokens: number,
): StageContext {
  return {
    contentOf,
    metadataOf,
    settings: { ...DEFAULT_SETTINGS, ...settings } as StageSettings,
    targetTokens,
    limitTokens,
  }
}

/**
 * Reads an array as the planner reads a session: one row per visible message, in order. Figures are counted by `estimator`, for `provider`
 * ("" for none).
 *
 * Throws `INVALID_INPUT` for a role or content that is neither flat nor neutral; `what` is the name of the caller.
 */
export function rowsOf(
  messages: readonly ChatMessage[],
  provider: string,
  what: string,
  estimator: ArrayEstimator = neurolinkEstimator,
): ArrayRows {
  const { visible, contents } = readable(what, () => {
    requireMessages(messages, what)
    // Copies, so that later reads see the content that was read here.
    const shown = messages.flatMap((message, index) =>
      isVisible(message) ? [{ message: { ...message }, index }] : [],
    )
    const parts = shown.map(({ message, index }) => partsOfMessage(message, `${what}: messages[${index}]`))
    return { visible: shown, contents: joinByAdjacency(parts) }
  })
  const parts = new Map<number, readonly Part[]>()
  const metadata = new Map<number, JsonObject>()
  const rows = visible.map(({ message, index }, at) => {
    const content = contents[at]!
    parts.set(index + 1, content)
    if (isJsonObject(message.metadata)) metadata.set(index + 1, message.metadata)
    return rowOf(message, index, content, estimator)
  })
  return {
    view: new View(rows, estimator, provider),
    parts,
    metadata,
    contentOf: ({ key }) => parts.get(key) ?? [],
    metadataOf: ({ key }) => metadata.get(key),
  }
}

function rowOf(
  message: ChatMessage,
  index: number,
  parts: readonly Part[],
  estimator: ArrayEstimator,
): ViewRow {
  const kind = isMarker(message) ? 'marker' : isSummary(message) ? 'summary' : 'message'
  const indexed = indexMessage({ content: parts }, estimator)
  const sizes = sizesOf(message, indexed.sizes, estimator)
  const roleUnits = estimator.measureRole?.(message.role) ?? 0
  return {
    key: index + 1,
    id: message.id ?? `#${index}`,
    kind,
    role: roleOf(message.role)!,
    position: kind === 'message' ? index + 1 : undefined,
    anchor: index + 1,
    ordinal: 0,
    sizes: roleUnits === 0 ? sizes : { ...sizes, text: sizes.text + roleUnits },
    pinned: message.pinned === true,
    hasReasoning: indexed.hasReasoning,
    speaks: indexed.speaks,
    silent: kind === 'message' && indexed.silent,
    calls: indexed.calls,
    results: indexed.results,
    shown: shownIn(message, parts),
  }
}

/** Returns the parts that already show a replacement, recognized by the fields of a store's row, or by the texts of the stages. */
function shownIn(message: ChatMessage, parts: readonly Part[]): ShownReplacement[] {
  const { replacedParts } = message as { readonly replacedParts?: unknown }
  const replaced = new Set<unknown>(Array.isArray(replacedParts) ? replacedParts : [])
  return parts.flatMap((part, index) =>
    replaced.has(index) || isReplacement(part) ? [{ part: index, compaction: 0 }] : [],
  )
}

function isReplacement(part: Part): boolean {
  if (part.type !== 'tool-result' || part.output.type !== 'text') return false
  const { value } = part.output
  if (value === PRUNE_PLACEHOLDER || value === CLEARED_PLACEHOLDER) return true
  return (
    /^\[Output pruned to save context\b[^\n]{0,80}\]$/.test(value) ||
    /^\[File .{1,1000} - refer to latest read below\]$/.test(value)
  )
}

/** Applies a plan to a view; throws the errors of `checkLaws`. `number` is unique among the plans for the same rows. */
export function stepOf(view: View, plan: Plan, number = 1): PlannedStep {
  checkLaws('', view, plan)
  return applyPlan(view, plan, -number, number)
}

/** A plan to apply to an array, with the id for its tags and its inserted row. */
export type ArrayStep = Pick<PlannedStep, 'plan' | 'inserted'> & { readonly id: string }

type AppliedArray = {
  /**
   * All messages of the array with their tags, and summaries or markers after the last message that they hide. Hidden messages keep their
   * texts; visible ones show their replacements.
   */
  readonly tagged: ChatMessage[]
  /** The effective history of `tagged`. */
  readonly messages: ChatMessage[]
}

/** Applies plans to an array, in order. The array and its objects aren't changed. */
export function applySteps(messages: readonly ChatMessage[], steps: readonly ArrayStep[]): AppliedArray {
  // `anchor` is the index in the given array + 1.
  const entries = messages.map((original, index) => ({ anchor: index + 1, original, tagged: original }))
  const byKey = new Map(entries.map((entry) => [entry.anchor, entry]))

  for (const { plan, id, inserted } of steps) {
    for (const [{ key }, texts] of textsByRow(plan.replace)) {
      const entry = byKey.get(key)!
      entry.tagged = showing(entry.tagged, texts)
    }
    const tag = isCondensing(plan.kind) ? { condenseParent: id } : { truncationParent: id }
    for (const { key } of plan.hide) {
      const entry = byKey.get(key)!
      entry.tagged = { ...entry.original, ...tag }
    }
    if (plan.insert === undefined || inserted === undefined) continue
    const message = insertedMessage(plan.insert, id)
    const entry = { anchor: inserted.anchor, original: message, tagged: message }
    entries.splice(entries.findLastIndex(({ anchor }) => anchor === entry.anchor) + 1, 0, entry)
    byKey.set(inserted.key, entry)
  }

  const tagged = entries.map((entry) => entry.tagged)
  return { tagged, messages: tagged.filter(isVisible) }
}

/** Returns an array in which some parts show other texts. Unchanged messages are the same objects. */
export function replaceParts<M extends ChatMessage>(
  messages: readonly M[],
  replacements: readonly PlannedReplacement[],
): M[] {
  const replaced = [...messages]
  for (const [{ key }, texts] of textsByRow(replacements))
    replaced[key - 1] = showing(replaced[key - 1]!, texts)
  return replaced
}

/** Returns a message in which some parts show other texts. A flat message has only its content. */
function showing<M extends ChatMessage>(message: M, texts: ReadonlyMap<number, string>): M {
  if (typeof message.content === 'string') return { ...message, content: [...texts.values()].at(-1)! }
  const content = withReplacements(message.content, (part) => texts.get(part))
  return { ...message, content }
}

/** Returns a summary or a marker as a message; `id` is the id of its tags. */
export function insertedMessage({ kind, role, text, metadata }: PlannedInsert, id: string): ChatMessage {
  return kind === 'summary'
    ? { id: `summary-${id}`, role, content: text, metadata, condenseId: id }
    : { id: `truncation-${id}`, role, content: text, truncationId: id, isTruncationMarker: true }
}

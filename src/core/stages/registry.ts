import { z } from 'zod'
import { invalid, isUndertextError } from '../errors.ts'
import { check } from '../messages/check.ts'
import { isObject } from '../messages/json.ts'
import { type ClearToolResultsStageOptions, clearToolResultsStage, prune } from './clear-tool-outputs.ts'
import { cut } from './cut.ts'
import { deduplicate } from './deduplicate.ts'
import { dropReasoningStage } from './drop-reasoning.ts'
import { hierarchicalSummaries } from './hierarchical-summaries.ts'
import { type MediaStageOptions, mediaStage } from './media.ts'
import { type PriorityStageOptions, priorityStage } from './priority.ts'
import {
  type SlidingWindowStageOptions,
  type SummarizeOlderStageOptions,
  slidingWindowStage,
  summarizeOlderStage,
} from './sliding-window.ts'
import { type CompositeStage, markBuiltIn, type Stage } from './stage.ts'
import { summarize } from './summarize.ts'
import { truncate } from './truncate.ts'

/*
 * Stages by name, so that a composition can be part of a configuration and be stored with a session. Each entry makes a stage from
 * its options.
 */

const noOptions = z.strictObject({})

/** A stage in a configuration: its name, or an object with its name and options, such as `{ stage: 'sliding_window', last: 20 }`. */
export type StageSpec = string | { readonly stage: string; readonly [option: string]: unknown }

type StageFactory = (options: Record<string, unknown>, what: string, depth: number) => Stage

/** The deepest nesting of composites in a configuration. */
const MAX_DEPTH = 10

function without(stage: Stage): StageFactory {
  return (options, what) => {
    check(noOptions, options, what)
    return stage
  }
}

/** The target size of the history, in tokens. Default: the target of the run. */
const budgetSchema = z.int().nonnegative().optional()

/**
 * Combines several stages into one. They run in order, each only if the history is still over the budget, which is checked after each
 * stage. Composites may be nested. Throws `INVALID_INPUT`.
 */
export function compositeStage(
  stages: readonly Stage[],
  options: { readonly budget?: number | undefined } = {},
  what = 'composite',
): CompositeStage {
  if (!Array.isArray(stages)) throw invalid(`${what}: stages must be an array`)
  const { budget } = check(z.strictObject({ budget: budgetSchema }), options, what)
  return { name: 'composite', stages: [...stages], ...(budget !== undefined && { budget }) }
}

const compositeSchema = z.strictObject({
  stages: z.array(z.union([z.string(), z.looseObject({ stage: z.string() })])),
  budget: budgetSchema,
})

/** Makes a composite from a configuration; its stages have the same form. */
function makeComposite(options: Record<string, unknown>, what: string, depth: number): Stage {
  if (depth >= MAX_DEPTH) throw invalid(`${what}: composites are nested more than ${MAX_DEPTH} deep`)
  const { stages, budget } = check(compositeSchema, options, what)
  const made = stages.map((spec, at) => make(spec, `${what}: stages[${at}]`, depth + 1))
  return compositeStage(made, budget === undefined ? {} : { budget }, what)
}

for (const stage of [prune, deduplicate, truncate, cut]) markBuiltIn(stage)

const STAGE_FACTORIES: ReadonlyMap<string, StageFactory> = new Map<string, StageFactory>([
  ['media', (options, what) => mediaStage(options as MediaStageOptions, what)],
  ['prune', without(prune)],
  ['deduplicate', without(deduplicate)],
  ['summarize', without(summarize)],
  ['truncate', without(truncate)],
  ['cut', without(cut)],
  ['hierarchical_summaries', (options, what) => hierarchicalSummaries(options, what)],
  // The stages check their own options.
  ['sliding_window', (options, what) => slidingWindowStage(options as SlidingWindowStageOptions, what)],
  [
    'sliding_window_with_summary',
    (options, what) =>
      slidingWindowStage({ ...(options as SlidingWindowStageOptions), summarize: true }, what),
  ],
  [
    'clear_tool_results',
    (options, what) => clearToolResultsStage(options as ClearToolResultsStageOptions, what),
  ],
  ['summarize_older', (options, what) => summarizeOlderStage(options as SummarizeOlderStageOptions, what)],
  ['composite', makeComposite],
  ['priority_based', (options, what) => priorityStage(options as PriorityStageOptions, what)],
  ['drop_reasoning', (options, what) => dropReasoningStage(options, what)],
])

/** The names of stages in configurations. */
export const STAGE_NAMES: readonly string[] = [...STAGE_FACTORIES.keys()]

/** Makes a stage from a configuration. Throws `INVALID_INPUT` for an unknown name or option. */
export function createStage(spec: StageSpec, what = 'createStage'): Stage {
  return make(spec, what, 0)
}

function make(spec: StageSpec, what: string, depth: number): Stage {
  const { stage, ...options } = typeof spec === 'string' ? { stage: spec } : spec
  const maker = STAGE_FACTORIES.get(stage)
  if (maker === undefined) throw invalid(`${what}: stage must be one of ${STAGE_NAMES.join(', ')}`)
  return markBuiltIn(maker(options, what, depth))
}

/** Returns whether a value has the form of a stage in a configuration, whatever its name. */
export function isStageSpec(value: unknown): value is StageSpec {
  return typeof value === 'string' || (isObject(value) && typeof value.stage === 'string')
}

/** Returns why a value is not a stage in a configuration, or `undefined`. */
export function specProblem(value: unknown): string | undefined {
  if (!isStageSpec(value))
    return 'must be a stage (a name in snake_case, and plan or summaries), the name of one, or { stage: name, … }'
  try {
    createStage(value, 'stage')
    return undefined
  } catch (error) {
    if (isUndertextError(error, 'INVALID_INPUT')) return error.facts.problems
    throw error
  }
}

/** Returns whether a value is a stage: a name, and a function that plans. */
export function isStage(value: unknown): value is Stage {
  try {
    return isStageWithin(value, MAX_DEPTH)
  } catch {
    return false
  }
}

function isStageWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { name, plan, summaries, stages } = value as Record<string, unknown>
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_]{0,63}$/.test(name)) return false
  if (Array.isArray(stages)) {
    const isComposite = plan === undefined && summaries === undefined && depth > 0
    return isComposite && stages.every((stage) => isStageWithin(stage, depth - 1))
  }
  return (typeof plan === 'function') !== (typeof summaries === 'function')
}

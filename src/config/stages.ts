import { z } from 'zod'
import { canonicalJson, jsonProblem } from '../core/json.ts'
import { createStage, isStage, isStageSpec, type StageSpec, specProblem } from '../core/stages/registry.ts'
import type { Stage } from '../core/stages/stage.ts'

/** A stage as a setting says it: a name, a name with options, or in code a stage itself. */
export type StageSetting = StageSpec | Stage

/** Messages a sliding window keeps when nobody says how many. Source: seed 004, checklist S4-14. */
export const MAX_RETAINED_MESSAGES = 50
/** The most stages of one composition. */
const MOST_STAGES = 100

/** A composition. Its stages are made once to see whether they can be. */
export const stagesSchema = z.custom<readonly StageSetting[]>().superRefine((value, context) => {
  const issue = (message: string, path: number[] = []): void =>
    context.addIssue({ code: 'custom', path, message })
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_STAGES)
    return issue(`must be a list of 1 to ${MOST_STAGES} stages`)
  for (const [at, one] of value.entries()) {
    const message = problemOf(one)
    if (message !== undefined) issue(message, [at])
  }
})

function problemOf(setting: unknown): string | undefined {
  if (isStage(setting)) return undefined
  const defaults = { retained: MAX_RETAINED_MESSAGES, placeholder: undefined }
  return specProblem(isStageSpec(setting) ? completed(setting, defaults) : setting)
}

/** Whether a part of the pipeline may act. */
export type Switches = {
  readonly prune: boolean
  readonly deduplicate: boolean
  readonly summarize: boolean
  readonly truncate: boolean
  readonly cut: boolean
}

/** What stages are told that do not say it themselves. */
export type StageDefaults = {
  /** Messages a sliding window keeps. */
  readonly retained: number
  /** What a cleared tool result shows; `undefined`: the stage's own. */
  readonly placeholder: unknown
}

/** Which switch turns a stage off, by its name. A window is seed 003's fourth stage: its switch is `enableSlidingWindow` too. */
const SWITCH_OF: ReadonlyMap<string, keyof Switches> = new Map([
  ['prune', 'prune'],
  ['clear_tool_results', 'prune'],
  ['deduplicate', 'deduplicate'],
  ['summarize', 'summarize'],
  ['summarize_older', 'summarize'],
  ['hierarchical_summaries', 'summarize'],
  ['truncate', 'truncate'],
  ['sliding_window', 'truncate'],
  ['priority_based', 'truncate'],
  ['cut', 'cut'],
])

/**
 * The stages of a composition. A sliding window without a number of its own keeps `retained` messages; one that
 * summarizes what goes is a plain one where summaries are switched off (conflict C-32: the window instead).
 *
 * The same settings give the same stages, so that two requests can be compared.
 */
export function stagesOf(
  settings: readonly StageSetting[],
  switches: Switches,
  defaults: StageDefaults,
): Stage[] {
  return settings.flatMap((setting) => {
    if (isStage(setting)) return isOn(setting.name, switches) ? [setting] : []
    const spec = switched(setting, switches, defaults)
    return spec === undefined ? [] : [made(spec)]
  })
}

function isOn(name: string, switches: Switches): boolean {
  const by = SWITCH_OF.get(name)
  return by === undefined || switches[by]
}

/** What a composition says of a stage, as far as it is switched on. */
function switched(setting: StageSpec, switches: Switches, defaults: StageDefaults): NamedSpec | undefined {
  const spec = completed(setting, defaults)
  if (spec.stage === 'composite' && Array.isArray(spec.stages)) {
    const stages = (spec.stages as StageSpec[]).flatMap((one) => switched(one, switches, defaults) ?? [])
    return stages.length === 0 ? undefined : { ...spec, stages }
  }
  const summarizes = spec.stage === WINDOW_WITH_SUMMARY || spec.summarize === true
  if (!summarizes) return isOn(spec.stage, switches) ? spec : undefined
  if (switches.summarize) return spec
  const { summarize: _, ...plain } = spec
  return switches.truncate ? { ...plain, stage: WINDOW } : undefined
}

/**
 * A composition with a window of so many messages: where it summarizes, the window does, so that no more than these stay when it
 * acts; else before the truncation.
 */
export function withWindow(settings: readonly StageSetting[]): readonly StageSetting[] {
  const names = settings.map((one) => (typeof one === 'string' ? one : 'stage' in one ? one.stage : one.name))
  if (names.includes(WINDOW) || names.includes(WINDOW_WITH_SUMMARY)) return settings
  const summarizing = names.indexOf('summarize')
  if (summarizing >= 0) return settings.with(summarizing, { stage: WINDOW, summarize: true })
  const at = names.findIndex((name) => name === 'truncate' || name === 'cut')
  return settings.toSpliced(at < 0 ? settings.length : at, 0, WINDOW)
}

const WINDOW = 'sliding_window'
const WINDOW_WITH_SUMMARY = 'sliding_window_with_summary'

type NamedSpec = { readonly stage: string; readonly [option: string]: unknown }

function completed(spec: StageSpec, { retained, placeholder }: StageDefaults): NamedSpec {
  const named = typeof spec === 'string' ? { stage: spec } : spec
  const lacks = (...options: string[]): boolean => options.every((option) => !Object.hasOwn(named, option))
  const isWindow = named.stage === WINDOW || named.stage === WINDOW_WITH_SUMMARY
  if (isWindow && lacks('last', 'fitBudget')) return { ...named, last: retained }
  if (named.stage === 'clear_tool_results' && typeof placeholder === 'string' && lacks('placeholder'))
    return { ...named, placeholder }
  return named
}

/** Stages made before, by what they were made of. */
const madeBefore = new Map<string, Stage>()
const MOST_REMEMBERED = 200

function made(spec: NamedSpec): Stage {
  // Options of an application's own stages may be functions; those are told apart by nothing.
  if (jsonProblem(spec) !== undefined) return createStage(spec, 'stages')
  const key = canonicalJson(spec)
  const before = madeBefore.get(key)
  if (before !== undefined) return before
  const stage = createStage(spec, 'stages')
  if (madeBefore.size >= MOST_REMEMBERED) madeBefore.clear()
  madeBefore.set(key, stage)
  return stage
}

import { z } from 'zod'
import { createStage, isStage, isStageSpec, type StageSpec, specProblem } from '../../core/stages/registry.ts'
import { plainWindowOf } from '../../core/stages/sliding-window.ts'
import type { CompositeStage, Stage } from '../../core/stages/stage.ts'

/** A stage in a setting: a name, a name with options, or, in code, the stage itself. */
export type StageSetting = StageSpec | Stage

/** Messages that a sliding window keeps by default. */
export const MAX_RETAINED_MESSAGES = 50
/** Stages of a list, including those in composites: each may look at the whole history. */
const MAX_STAGES = 100
/** Levels of nested composites in which `completed` fills in defaults; deeper ones are rejected anyway. */
const MAX_DEPTH = 11

/** The default stages of a run. */
export const DEFAULT_STAGES: readonly StageSetting[] = [
  'media',
  'prune',
  'deduplicate',
  'summarize',
  'truncate',
  'cut',
]

/** A list of stages. Each stage is created, to check that its options are valid. */
export const stagesSchema = z.custom<readonly StageSetting[]>().superRefine((value, context) => {
  const issue = (message: string, path: number[] = []): void =>
    context.addIssue({ code: 'custom', path, message })
  if (!Array.isArray(value) || value.length === 0 || numberOf(value) > MAX_STAGES)
    return issue(`must be an array of 1 to ${MAX_STAGES} stages, including those in composites`)
  for (const [at, one] of value.entries()) {
    if (isStage(one)) continue
    const message = specProblem(isStageSpec(one) ? completed(one, OWN_DEFAULTS) : one)
    if (message !== undefined) issue(message, [at])
  }
})

function numberOf(settings: readonly unknown[], depth = MAX_DEPTH): number {
  return settings.reduce((sum: number, one) => {
    const inner = depth > 0 && isStageSpec(one) ? specsIn(namedSpec(one)) : undefined
    return sum + 1 + (inner === undefined ? 0 : numberOf(inner, depth - 1))
  }, 0)
}

/** Settings that switch stages off if they are false. */
export const STAGE_SWITCHES = [
  'enableMedia',
  'enablePrune',
  'enableDeduplicate',
  'enableSummarize',
  'enableTruncate',
  'emergencyCut',
] as const
export type StageSwitch = (typeof STAGE_SWITCHES)[number]
type Switches = ReadonlySet<StageSwitch>

/** Defaults for options that a stage doesn't set itself. */
type StageDefaults = {
  /** Messages that a sliding window keeps. */
  readonly retained: number
  /** The text that replaces a cleared tool result, or a function that returns it. Default: that of the stage. */
  readonly placeholder?: unknown
  /** Tools whose results are never cleared. Default: those of the stage. */
  readonly protectedTools?: readonly string[] | undefined
}
const OWN_DEFAULTS: StageDefaults = { retained: MAX_RETAINED_MESSAGES }

/** The switch of each stage, by the stage's name. A sliding window truncates, so `enableTruncate` is its switch. */
const SWITCH_OF: ReadonlyMap<string, StageSwitch> = new Map([
  ['media', 'enableMedia'],
  ['prune', 'enablePrune'],
  ['clear_tool_results', 'enablePrune'],
  ['deduplicate', 'enableDeduplicate'],
  ['summarize', 'enableSummarize'],
  ['summarize_older', 'enableSummarize'],
  ['hierarchical_summaries', 'enableSummarize'],
  ['truncate', 'enableTruncate'],
  ['sliding_window', 'enableTruncate'],
  ['priority_based', 'enableTruncate'],
  ['cut', 'enableTruncate'],
])

/**
 * Returns the stages of a list, including those in composites, without those that are switched `off`. Without summaries, a sliding window
 * that summarizes becomes a plain one, and any other stage that requests summaries is left out, even one of the application.
 */
export function stagesOf(
  settings: readonly StageSetting[],
  off: Switches,
  defaults: StageDefaults = OWN_DEFAULTS,
): Stage[] {
  return settings.flatMap((setting) => {
    const stage = isSpec(setting) ? createStage(completed(setting, defaults), 'stages') : setting
    return switchedStage(stage, off) ?? []
  })
}

function isSpec(setting: StageSetting): setting is StageSpec {
  return typeof setting === 'string' || 'stage' in setting
}

/** Returns a stage without its switched-off parts; the same object if none are. */
function switchedStage(stage: Stage, off: Switches): Stage | undefined {
  if ('stages' in stage) return switchedComposite(stage, off)
  if ('summaries' in stage) {
    if (!off.has('enableSummarize')) return stage
    return off.has('enableTruncate') ? undefined : plainWindowOf(stage)
  }
  const by = SWITCH_OF.get(stage.name)
  const isOff = (by !== undefined && off.has(by)) || (stage.name === 'cut' && off.has('emergencyCut'))
  return isOff ? undefined : stage
}

function switchedComposite(stage: CompositeStage, off: Switches): Stage | undefined {
  const stages = stage.stages.flatMap((one) => switchedStage(one, off) ?? [])
  const isWhole = stages.length === stage.stages.length && stages.every((one, at) => one === stage.stages[at])
  if (isWhole) return stage
  return stages.length === 0 ? undefined : { ...stage, stages }
}

/**
 * Adds a sliding window to a list without one, also within composites. It replaces the first stage that summarizes, so that no more
 * messages than its number stay when it acts; otherwise it goes before the truncation, or at the end. A composite that is given as a value
 * isn't changed: the window is put before it.
 */
export function withWindow(settings: readonly StageSetting[]): readonly StageSetting[] {
  if (settings.some((one) => includesStage(one, WINDOWS))) return settings
  const summarizing = { stage: WINDOW, summarize: true }
  return (
    replaceFirst(settings, new Set(['summarize']), (one) =>
      !isSpec(one) && 'stages' in one ? [summarizing, one] : [summarizing],
    ) ??
    replaceFirst(settings, new Set(['truncate', 'cut']), (one) => [WINDOW, one]) ?? [...settings, WINDOW]
  )
}

/** Returns the list with the first stage of these names replaced with others; `undefined` if there is none. */
function replaceFirst(
  settings: readonly StageSetting[],
  names: ReadonlySet<string>,
  replacementsOf: (one: StageSetting) => readonly StageSetting[],
): readonly StageSetting[] | undefined {
  const at = settings.findIndex((one) => includesStage(one, names))
  if (at < 0) return undefined
  const found = settings[at]!
  const spec = isSpec(found) ? namedSpec(found) : undefined
  const inner = spec && specsIn(spec)
  if (inner === undefined) return settings.flatMap((one, i) => (i === at ? replacementsOf(one) : [one]))
  return settings.with(at, { ...spec!, stages: replaceFirst(inner, names, replacementsOf) ?? inner })
}

/** Whether a setting is a stage with one of these names, or a composite that contains one. */
function includesStage(setting: StageSetting, names: ReadonlySet<string>): boolean {
  if (!isSpec(setting))
    return 'stages' in setting
      ? setting.stages.some((one) => includesStage(one, names))
      : names.has(setting.name)
  const spec = namedSpec(setting)
  return specsIn(spec)?.some((one) => includesStage(one, names)) ?? names.has(spec.stage)
}

const WINDOW = 'sliding_window'
const WINDOW_WITH_SUMMARY = 'sliding_window_with_summary'
const WINDOWS: ReadonlySet<string> = new Set([WINDOW, WINDOW_WITH_SUMMARY])

type NamedSpec = { readonly stage: string; readonly [option: string]: unknown }

function namedSpec(spec: StageSpec): NamedSpec {
  return typeof spec === 'string' ? { stage: spec } : spec
}

/** Returns the stages of a composite that is given by name; `undefined` for any other stage. */
function specsIn({ stage, stages }: NamedSpec): readonly StageSpec[] | undefined {
  return stage === 'composite' && Array.isArray(stages) && stages.every(isStageSpec) ? stages : undefined
}

/** Returns a stage that is given by name, with its defaults filled in, also in composites. */
function completed(spec: StageSpec, defaults: StageDefaults, depth = MAX_DEPTH): NamedSpec {
  const named = namedSpec(spec)
  const inner = specsIn(named)
  if (inner !== undefined && depth > 0)
    return { ...named, stages: inner.map((one) => completed(one, defaults, depth - 1)) }
  const { retained, placeholder, protectedTools } = defaults
  const lacks = (...options: string[]): boolean => options.every((option) => !Object.hasOwn(named, option))
  if (WINDOWS.has(named.stage) && lacks('last', 'fitBudget')) return { ...named, last: retained }
  if (named.stage !== 'clear_tool_results') return named
  return {
    ...(placeholder !== undefined && { placeholder }),
    ...(protectedTools !== undefined && { protectedTools }),
    ...named,
  }
}

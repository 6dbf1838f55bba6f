import { z } from 'zod'
import { canonicalJson, jsonProblem } from '../messages/json.ts'
import { createStage, isStage, isStageSpec, type StageSpec, specProblem } from '../stages/registry.ts'
import { plainWindowOf } from '../stages/sliding-window.ts'
import type { CompositeStage, Stage } from '../stages/stage.ts'

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

/** How deep `completed` looks into composites; what stands deeper is refused anyway. */
const MOST_DEPTH = 11

/** Whether a part of the pipeline may act. */
type Switches = {
  readonly prune: boolean
  readonly deduplicate: boolean
  readonly summarize: boolean
  readonly truncate: boolean
  readonly cut: boolean
}

/** What stages are told that do not say it themselves. */
type StageDefaults = {
  /** Messages a sliding window keeps. */
  readonly retained: number
  /** What a cleared tool result shows, a text or a function; `undefined`: the stage's own. */
  readonly placeholder: unknown
  /** Tools whose results are never cleared. Default: the stage's own. */
  readonly protectedTools?: readonly string[] | undefined
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
 * The stages of a composition, composites gone through. A sliding window without a number of its own keeps `retained`
 * messages; one that summarizes what goes is a plain one where summaries are switched off (conflict C-32: the window
 * instead). Any other stage that asks for summaries is left out then, one of the application's own too.
 *
 * The same settings give the same stages, so that two requests can be compared.
 */
export function stagesOf(
  settings: readonly StageSetting[],
  switches: Switches,
  defaults: StageDefaults,
): Stage[] {
  return settings.flatMap((setting) => {
    if (!isSpec(setting)) return switchedStage(setting, switches) ?? []
    const spec = switched(completed(setting, defaults), switches)
    return spec === undefined ? [] : [made(spec)]
  })
}

function isSpec(setting: StageSetting): setting is StageSpec {
  return typeof setting === 'string' || 'stage' in setting
}

function isOn(name: string, switches: Switches): boolean {
  const by = SWITCH_OF.get(name)
  return by === undefined || switches[by]
}

/** What a composition says of a stage, as far as it is switched on. */
function switched(spec: NamedSpec, switches: Switches): NamedSpec | undefined {
  const inner = specsIn(spec)
  if (inner !== undefined) {
    const stages = inner.flatMap((one) => switched(namedSpec(one), switches) ?? [])
    return stages.length === 0 ? undefined : { ...spec, stages }
  }
  const summarizes = spec.stage === WINDOW_WITH_SUMMARY || spec.summarize === true
  if (!summarizes) return isOn(spec.stage, switches) ? spec : undefined
  if (switches.summarize) return spec
  const { summarize: _, ...plain } = spec
  return switches.truncate ? { ...plain, stage: WINDOW } : undefined
}

/** A stage that was given as a value, as far as it is switched on: itself where nothing in it is off. */
function switchedStage(stage: Stage, switches: Switches): Stage | undefined {
  if ('stages' in stage) return switchedComposite(stage, switches)
  if (!('summaries' in stage)) return isOn(stage.name, switches) ? stage : undefined
  if (switches.summarize) return stage
  return switches.truncate ? plainWindowOf(stage) : undefined
}

/** Composites without what is off in them, by the switches: made once, so that two requests can be compared. */
const switchedBefore = new WeakMap<CompositeStage, Map<string, Stage | undefined>>()

function switchedComposite(stage: CompositeStage, switches: Switches): Stage | undefined {
  const known = switchedBefore.get(stage) ?? new Map<string, Stage | undefined>()
  switchedBefore.set(stage, known)
  const key = canonicalJson(switches)
  if (known.has(key)) return known.get(key)
  const stages = stage.stages.flatMap((one) => switchedStage(one, switches) ?? [])
  const isWhole = stages.length === stage.stages.length && stages.every((one, at) => one === stage.stages[at])
  const left = isWhole ? stage : stages.length === 0 ? undefined : { ...stage, stages }
  known.set(key, left)
  return left
}

/**
 * A composition with a window of so many messages, in composites as anywhere: where it summarizes, the window does, so that
 * no more than these stay when it acts; else before the truncation. A composite that is a value stays as it is; before
 * one that summarizes or truncates stands the window.
 */
export function withWindow(settings: readonly StageSetting[]): readonly StageSetting[] {
  if (settings.some((one) => holds(one, WINDOWS))) return settings
  const summarizing = { stage: WINDOW, summarize: true }
  return (
    atFirst(settings, new Set(['summarize']), (one) =>
      isComposite(one) ? [summarizing, one] : [summarizing],
    ) ??
    atFirst(settings, new Set(['truncate', 'cut']), (one) => [WINDOW, one]) ?? [...settings, WINDOW]
  )
}

/** The settings with others in place of the first of these names; `undefined` without one. */
function atFirst(
  settings: readonly StageSetting[],
  names: ReadonlySet<string>,
  instead: (one: StageSetting) => readonly StageSetting[],
): readonly StageSetting[] | undefined {
  const at = settings.findIndex((one) => holds(one, names))
  if (at < 0) return undefined
  const found = settings[at]!
  const inner = isSpec(found) ? specsIn(namedSpec(found)) : undefined
  if (inner === undefined) return settings.toSpliced(at, 1, ...instead(found))
  return settings.with(at, {
    ...namedSpec(found as StageSpec),
    stages: atFirst(inner, names, instead) ?? inner,
  })
}

/** Whether a setting is a stage of one of these names, or a composite that holds one. */
function holds(setting: StageSetting, names: ReadonlySet<string>): boolean {
  if (!isSpec(setting))
    return 'stages' in setting ? setting.stages.some((one) => holds(one, names)) : names.has(setting.name)
  const spec = namedSpec(setting)
  return specsIn(spec)?.some((one) => holds(one, names)) ?? names.has(spec.stage)
}

function isComposite(setting: StageSetting): boolean {
  return !isSpec(setting) && 'stages' in setting
}

const WINDOW = 'sliding_window'
const WINDOW_WITH_SUMMARY = 'sliding_window_with_summary'
const WINDOWS: ReadonlySet<string> = new Set([WINDOW, WINDOW_WITH_SUMMARY])

type NamedSpec = { readonly stage: string; readonly [option: string]: unknown }

function namedSpec(spec: StageSpec): NamedSpec {
  return typeof spec === 'string' ? { stage: spec } : spec
}

/** The stages of a composite that is written; `undefined` for anything else. */
function specsIn(spec: NamedSpec): readonly StageSpec[] | undefined {
  const { stage, stages } = spec
  return stage === 'composite' && Array.isArray(stages) && stages.every(isStageSpec) ? stages : undefined
}

/** A stage as it is written, with what it does not say itself filled in, in composites too. */
function completed(spec: StageSpec, defaults: StageDefaults, depth = MOST_DEPTH): NamedSpec {
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

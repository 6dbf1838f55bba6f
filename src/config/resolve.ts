import { FILE_READ_BUDGET_PERCENT } from '../files/file-budget.ts'
import { MAX_TOOL_OUTPUT_BYTES, MAX_TOOL_OUTPUT_LINES } from '../files/tool-output/cut-output.ts'
import type { JsonObject } from '../messages/json.ts'
import { PATH_ARGUMENTS, READ_TOOLS } from '../messages/tool-names.ts'
import { DEDUP_THRESHOLD } from '../stages/deduplicate.ts'
import { CLEARED_PLACEHOLDER, PRUNE_PLACEHOLDER, PRUNE_PROTECTED_TOOLS } from '../stages/prune.ts'
import { KEEP_RECENT_RATIO } from '../stages/summarize.ts'
import { TRUNCATION_FRACTION, TRUNCATION_MARKER } from '../stages/truncate.ts'
import { NINE_SECTIONS, SUMMARY_SECTIONS } from '../summarizers/summarizer.ts'
import {
  DEFAULT_COMPACTION_TARGET,
  DEFAULT_COMPACTION_THRESHOLD,
  DEFAULT_PROVIDER,
} from '../tokens/budget.ts'
import { canonicalProvider } from '../tokens/providers.ts'
import { PRUNE_MINIMUM_SAVINGS, PRUNE_PROTECT_TOKENS } from '../tokens/scaled-figures.ts'
import type { ContextWindows } from '../tokens/windows.ts'
import { SUMMARY_TIMEOUT_MS } from './compaction.ts'
import { kept, storedSessionSettings } from './layers.ts'
import {
  BACKGROUND_DEFAULTS,
  type Layer,
  type LayerValues,
  type PresetName,
  SETTING_NAMES,
  SETTING_SOURCES,
  type SettingName,
  type SettingSource,
} from './settings.ts'
import { MAX_RETAINED_MESSAGES } from './stages.ts'

/** Target size of a context, tokens. Source: seed 004, checklist S4-13. */
export const NCA_CONTEXT_WINDOW_TARGET = 32_000
/** Where the three other systems' compositions stop at the default threshold; with a lower one they follow it. Source: design 3.6. */
const OTHERS_TARGET = 0.6

/** Percent of the target at which nca summarizes. Source: seed 004, checklist S4-15. */
export const NCA_AUTO_SUMMARIZE_THRESHOLD = 75

/** What nca's summaries speak of. Source: seed 004, checklist S4-42 to S4-44. */
export const NCA_SECTIONS: readonly string[] = [
  'Key topics and goals discussed',
  'Important decisions or findings',
  'Critical context (file paths, variable names, errors)',
]

/** What neuron's summaries speak of. Source: seed 000, checklist S0-39. */
export const NEURON_SECTIONS: readonly string[] = ['Key information', 'Decisions made', 'Tool call results']

/**
 * The layer of settings beneath all that is said, one a system: stages, estimator, thresholds, texts. How a summary is
 * shown (role, header, place) goes by the preset's name too: `src/rendering/rows.ts`.
 *
 * Every composition ends with `cut`, which acts only when a request would not fit its window whatever the others did.
 */
export const PRESETS: { readonly [P in PresetName]: LayerValues } = {
  /** The defaults of this package: prune, deduplicate, summarize and truncate, with figures that scale with the window. */
  default: {},

  /**
   * NeuroLink as its documentation has it: absolute figures, a tail counted in messages, its formula for tokens. A run comes
   * down to where it was started, whatever it saves, and only before a request (conflict C-05).
   */
  neurolink: {
    estimator: 'neurolink',
    target: DEFAULT_COMPACTION_THRESHOLD,
    minimumSavings: 0,
    background: false,
    pruneProtectTokens: PRUNE_PROTECT_TOKENS,
    pruneMinimumSavings: PRUNE_MINIMUM_SAVINGS,
    keepRecentRatio: KEEP_RECENT_RATIO,
    truncationFraction: TRUNCATION_FRACTION,
    summarySections: NINE_SECTIONS,
  },

  /** Seed 000: cheap first, then a window of the last messages with a summary of what went; its examples' counts. */
  neuron: {
    estimator: 'neuron',
    stages: [
      { stage: 'clear_tool_results', keep: 2 },
      { stage: 'sliding_window', last: 10, summarize: true },
      // The window alone where the summary fails. Source: conflict C-32.
      { stage: 'sliding_window', last: 10 },
      'cut',
    ],
    target: OTHERS_TARGET,
    prunePlaceholder: CLEARED_PLACEHOLDER,
    summarySections: NEURON_SECTIONS,
    /** It warns of nothing; the loop asks before every turn. Source: checklist S0-U01. */
    warningLevels: [],
  },

  /** Seed 001: the newest that fit; without a summary, as its history manager has it by default (S1-U10). */
  promptfleet: {
    estimator: 'promptfleet',
    stages: [{ stage: 'sliding_window', fitBudget: true }, 'cut'],
    target: OTHERS_TARGET,
    prunePlaceholder: PRUNE_PLACEHOLDER,
    warningLevels: [],
  },

  /** Seed 004: the last 50 with a summary of what went, at 75 percent of 32,000 tokens; a warning at 80. */
  nca: {
    estimator: 'nca',
    // Fewer than 50 where those are too large. Source: checklist S4-U07.
    // The window alone where the summary fails. Source: checklist S4-U06.
    stages: [
      { stage: 'sliding_window', summarize: true, shrinkToFit: true },
      { stage: 'sliding_window', shrinkToFit: true },
      'cut',
    ],
    contextWindowTarget: NCA_CONTEXT_WINDOW_TARGET,
    target: OTHERS_TARGET,
    maxRetainedMessages: MAX_RETAINED_MESSAGES,
    autoSummarizeThreshold: NCA_AUTO_SUMMARIZE_THRESHOLD,
    enableAutoSummarize: true,
    autoCompactOnFinish: false,
    warningLevels: [0.8],
    summarySections: NCA_SECTIONS,
  },
}

/** Usages at which an application is warned. Source: conflict C-29, seed 003's command line. */
export const DEFAULT_WARNING_LEVELS: readonly number[] = [0.6, 0.8]

/**
 * What a setting is when nobody says anything. What is missing here scales with the window or is worked out where it is
 * used.
 */
export const DEFAULTS = kept({
  preset: 'default',
  estimator: 'calibrated',
  provider: DEFAULT_PROVIDER,
  enabled: true,
  auto: true,
  threshold: DEFAULT_COMPACTION_THRESHOLD,
  warningLevels: DEFAULT_WARNING_LEVELS,
  enableAutoSummarize: true,
  autoCompactOnFinish: false,
  ...BACKGROUND_DEFAULTS,
  target: DEFAULT_COMPACTION_TARGET,
  enablePrune: true,
  enableDeduplicate: true,
  enableSummarize: true,
  enableTruncate: true,
  emergencyCut: true,
  pruneProtectedTools: PRUNE_PROTECTED_TOOLS,
  prunePlaceholder: PRUNE_PLACEHOLDER,
  readTools: READ_TOOLS,
  pathArguments: PATH_ARGUMENTS,
  deduplicateMinimumSavings: DEDUP_THRESHOLD,
  deduplicateByText: true,
  summarySections: SUMMARY_SECTIONS,
  summaryTimeoutMs: SUMMARY_TIMEOUT_MS,
  offlineFallback: false,
  truncationMarker: TRUNCATION_MARKER,
  truncationOrder: 'oldest',
  previewToolOutputs: true,
  maxToolOutputBytes: MAX_TOOL_OUTPUT_BYTES,
  maxToolOutputLines: MAX_TOOL_OUTPUT_LINES,
  fileReadBudgetPercent: FILE_READ_BUDGET_PERCENT,
} satisfies LayerValues) as LayerValues & Defaulted

/** The settings that always have a value. */
type Defaulted = {
  readonly [K in
    | 'preset'
    | 'estimator'
    | 'enabled'
    | 'auto'
    | 'warningLevels'
    | 'enableAutoSummarize'
    | 'autoCompactOnFinish'
    | 'previewToolOutputs'
    | 'backgroundThreshold'
    | 'backgroundMinIntervalMs'
    | 'circuitResetMs'
    | 'spendLimits'
    | 'maxToolOutputBytes'
    | 'maxToolOutputLines'
    | 'fileReadBudgetPercent']: Exclude<LayerValues[K], undefined>
}

/** All settings as they are in force: what is missing scales with the window, or does not apply. */
export type ResolvedSettings = LayerValues & Defaulted

/** Settings in force, and the layer each comes from. */
export type ResolvedConfig = {
  readonly settings: ResolvedSettings
  readonly sources: { readonly [K in SettingName]: SettingSource }
}

/** Settings that say the same in two ways: whichever is said with more weight counts, and the other is not in force. */
const ALTERNATIVES: readonly (readonly SettingName[])[] = [
  ['threshold', 'thresholdTokens'],
  ['target', 'targetTokens'],
  ['keepRecentTokens', 'keepRecentRatio'],
]

const DEFAULT_LAYER: Layer = { source: 'default', values: DEFAULTS }

/**
 * Puts layers together, weightiest first: of each setting the first value said. Beneath them stand the layer of the preset
 * they choose and the defaults. Tables of windows are joined, so that one layer can add a model to another's.
 *
 * `autoSummarizeThreshold` is also a `threshold` where none is said with at least its weight: in seed 004 it is the only one.
 */
export function resolveLayers(layers: readonly Layer[]): ResolvedConfig {
  const preset = layers.find(({ values }) => values.preset !== undefined)?.values.preset ?? DEFAULTS.preset
  const all = [...layers, { source: 'preset' as const, values: PRESETS[preset] }, DEFAULT_LAYER].map(
    withThreshold,
  )
  const settings: Record<string, unknown> = {}
  const sources: Record<string, SettingSource> = {}
  for (const name of SETTING_NAMES) {
    const layer = layerOf(all, name)
    sources[name] = layer?.source ?? 'default'
    if (layer !== undefined) settings[name] = layer.values[name]
  }
  followThreshold(settings, sources)
  followAutoSummarize(settings, sources)
  followOrder(settings, sources)
  const windows = all.flatMap(({ values }): readonly ContextWindows[] =>
    values.contextWindows === undefined ? [] : [values.contextWindows],
  )
  if (windows.length > 1)
    settings.contextWindows = windows.reduceRight((light, heavy) => joined(heavy, light))
  return { settings: settings as ResolvedSettings, sources: sources as ResolvedConfig['sources'] }
}

/**
 * What is brought down at half the usage must come down further than what is brought down at the default threshold: a target
 * that nobody said, the preset's or the default one, follows.
 */
function followThreshold(settings: Record<string, unknown>, sources: Record<string, string>): void {
  const { target, threshold, targetTokens } = settings
  if (sources.target !== 'default' && sources.target !== 'preset') return
  if (targetTokens !== undefined || typeof target !== 'number' || typeof threshold !== 'number') return
  if (threshold >= DEFAULT_COMPACTION_THRESHOLD) return
  settings.target = (threshold * target) / DEFAULT_COMPACTION_THRESHOLD
  sources.target = sources.threshold!
}

function outweighs(heavy: SettingSource, light: SettingSource): boolean {
  return SETTING_SOURCES.indexOf(heavy) < SETTING_SOURCES.indexOf(light)
}

/** The switch of automatic summaries may be the only one that is set: without them nothing is hidden automatically, unless `auto` is said with at least its weight. */
function followAutoSummarize(
  settings: Record<string, unknown>,
  sources: Record<string, SettingSource>,
): void {
  if (settings.enableAutoSummarize !== false || !outweighs(sources.enableAutoSummarize!, sources.auto!))
    return
  settings.auto = false
  sources.auto = sources.enableAutoSummarize!
}

/** A share goes by age: one that is said with less weight than an order by importance, a preset's say, is not in force beside it. */
function followOrder(settings: Record<string, unknown>, sources: Record<string, SettingSource>): void {
  const { truncationOrder, truncationFraction } = settings
  if (truncationOrder !== 'importance' || truncationFraction === undefined) return
  if (!outweighs(sources.truncationOrder!, sources.truncationFraction!)) return
  delete settings.truncationFraction
  sources.truncationFraction = sources.truncationOrder!
}

function withThreshold(layer: Layer): Layer {
  const { autoSummarizeThreshold, threshold, thresholdTokens } = layer.values
  if (autoSummarizeThreshold === undefined || threshold !== undefined || thresholdTokens !== undefined)
    return layer
  return { ...layer, values: { ...layer.values, threshold: autoSummarizeThreshold / 100 } }
}

/** The weightiest layer that says a setting, unless one with more weight says it otherwise. */
function layerOf(layers: readonly Layer[], name: SettingName): Layer | undefined {
  const at = layers.findIndex(({ values }) => values[name] !== undefined)
  if (at < 0) return undefined
  const others = ALTERNATIVES.find((names) => names.includes(name))?.filter((other) => other !== name) ?? []
  const overruled = layers
    .slice(0, at)
    .some(({ values }) => others.some((other) => values[other] !== undefined))
  return overruled ? undefined : layers[at]
}

function joined(heavy: ContextWindows, light: ContextWindows): ContextWindows {
  const asModels = (entry: ContextWindows[string]): { readonly [model: string]: number } =>
    typeof entry === 'number' ? { _default: entry } : entry
  // Not by assignment: a provider may be called `__proto__`.
  const providers = new Map(Object.entries(light))
  for (const [provider, entry] of Object.entries(heavy)) {
    const below = providers.get(provider)
    const isWhole = below === undefined || typeof entry === 'number'
    const models = (): ContextWindows[string] =>
      Object.fromEntries([...Object.entries(asModels(below!)), ...Object.entries(entry)])
    providers.set(provider, isWhole ? entry : models())
  }
  return Object.fromEntries(providers)
}

/** What somebody said of each setting, defaults left out: what is handed on to those who have defaults of their own. */
export function saidOf<K extends SettingName>(
  { settings, sources }: ResolvedConfig,
  names: readonly K[],
): Pick<LayerValues, K> {
  const said = names.filter((name) => sources[name] !== 'default' && settings[name] !== undefined)
  return Object.fromEntries(said.map((name) => [name, settings[name]])) as Pick<LayerValues, K>
}

/** What the hooks around a turn go by. Where `thresholdTokens` is missing, `threshold` is there. */
export type TurnSettings = Pick<
  ResolvedSettings,
  | 'auto'
  | 'threshold'
  | 'thresholdTokens'
  | 'warningLevels'
  | 'enableAutoSummarize'
  | 'autoSummarizeThreshold'
  | 'contextManagement'
>

/** The settings of a store, and with what a session or a call says besides. */
export type Configuration = {
  /** What is in force for all sessions: resolved once. */
  readonly ofStore: ResolvedConfig
  /** What is in force for a session with this config. */
  ofSession(config: JsonObject | undefined): ResolvedConfig
  /** The same with what a call says on top. */
  ofCall(config: JsonObject | undefined, call: LayerValues): ResolvedConfig
  /** A session's provider and model, the store-wide ones where it has none. A model goes with its provider. */
  modelOf(session: Model): Model
}

/** A configuration from the store-wide layers, weightiest first. */
export function configurationOf(layers: readonly Layer[]): Configuration {
  const ofStore = resolveLayers(layers)
  // A storage answers the same object for the same stored text, so a session's layer is read once.
  const known = new WeakMap<JsonObject, { readonly layer: Layer; readonly resolved: ResolvedConfig }>()

  const lookUp = (config: JsonObject): { readonly layer: Layer; readonly resolved: ResolvedConfig } => {
    const before = known.get(config)
    if (before !== undefined) return before
    const layer: Layer = { source: 'session', values: storedSessionSettings(config) }
    const isSilent = Object.keys(layer.values).length === 0
    const found = { layer, resolved: isSilent ? ofStore : resolveLayers([layer, ...layers]) }
    known.set(config, found)
    return found
  }

  const { provider, model } = Object.assign(
    {},
    ...layers.map(({ values }) => values).reverse(),
  ) as LayerValues

  return {
    ofStore,
    ofSession: (config) => (config === undefined ? ofStore : lookUp(config).resolved),
    ofCall: (config, values) => {
      const call: Layer = { source: 'call', values }
      return resolveLayers([call, ...(config === undefined ? [] : [lookUp(config).layer]), ...layers])
    },
    modelOf: (session) => {
      if (provider === undefined && model === undefined) return session
      const own = session.provider ?? provider
      const isOurs =
        session.provider === undefined ||
        (provider !== undefined && canonicalProvider(session.provider) === canonicalProvider(provider))
      return { provider: own, model: session.model ?? (isOurs ? model : undefined) }
    },
  }
}

/** Whose figures count when nobody says: a session's columns. */
type Model = { readonly provider: string | undefined; readonly model: string | undefined }

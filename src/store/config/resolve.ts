import type { JsonObject } from '../../core/messages/json.ts'
import {
  type CheckedRetention,
  type ResolvedRetention,
  resolveRetention,
} from '../../core/retention/rules.ts'
import { CLEARED_PLACEHOLDER, PRUNE_PLACEHOLDER } from '../../core/stages/clear-tool-outputs.ts'
import { KEEP_RECENT_RATIO } from '../../core/stages/summarize.ts'
import { TRUNCATION_FRACTION } from '../../core/stages/truncate.ts'
import { NINE_SECTIONS } from '../../core/summarizers/summarizer.ts'
import {
  DEFAULT_COMPACTION_THRESHOLD,
  PRUNE_MINIMUM_SAVINGS,
  PRUNE_PROTECT_TOKENS,
  targetAt,
} from '../../core/tokens/budget.ts'
import { canonicalProvider } from '../../core/tokens/providers.ts'
import type { ContextWindows } from '../../core/tokens/windows.ts'
import { frozenCopy, storedSessionSettings } from './read-settings.ts'
import {
  type Layer,
  type LayerValues,
  type PresetName,
  type ResolvedSettings,
  resolvedSchema,
  SETTING_NAMES,
  type SettingName,
  type SettingSource,
} from './settings.ts'
import { MAX_RETAINED_MESSAGES } from './stages.ts'

/** Target size of a context of nca, tokens. */
export const NCA_CONTEXT_WINDOW_TARGET = 32_000
/** Target of the other three systems at the default threshold; a lower threshold lowers it. */
const OTHERS_TARGET = 0.6

/** Percent of the target at which nca summarizes. */
export const NCA_AUTO_SUMMARIZE_THRESHOLD = 75

/** Section titles of nca's summaries. */
export const NCA_SECTIONS: readonly string[] = [
  'Key topics and goals discussed',
  'Important decisions or findings',
  'Critical context (file paths, variable names, errors)',
]

/** Section titles of neuron's summaries. */
export const NEURON_SECTIONS: readonly string[] = ['Key information', 'Decisions made', 'Tool call results']

/**
 * The defaults of each preset, one layer per system: stages, estimator, thresholds, texts. How a summary is rendered (role, header, place)
 * also depends on the preset: `src/core/rendering/rows.ts`.
 *
 * Every list of stages ends with `cut`, which acts only if the others didn't make the request fit its window.
 */
export const PRESETS: { readonly [P in PresetName]: LayerValues } = {
  /** The defaults of this package: prune, deduplicate, summarize and truncate, with figures that scale with the window. */
  default: {},

  /**
   * NeuroLink, by its documentation: absolute figures, recent messages kept by number, its token formula. A run reduces the history to the
   * threshold, however little that saves, and only before a request.
   */
  neurolink: {
    estimator: 'neurolink',
    target: DEFAULT_COMPACTION_THRESHOLD,
    minimumSavings: 0,
    background: false,
    pruneProtectTokens: PRUNE_PROTECT_TOKENS,
    pruneMinimumSavings: PRUNE_MINIMUM_SAVINGS,
    pruneFailedResults: true,
    keepRecentRatio: KEEP_RECENT_RATIO,
    truncationFraction: TRUNCATION_FRACTION,
    summarySections: NINE_SECTIONS,
  },

  /** The cheapest stage first, then a window of the last messages with a summary of the rest, using the numbers in neuron's examples. */
  neuron: {
    estimator: 'neuron',
    stages: [
      { stage: 'clear_tool_results', keep: 2 },
      { stage: 'sliding_window', last: 10, summarize: true },
      // The window without a summary, used if the summary fails.
      { stage: 'sliding_window', last: 10 },
      'cut',
    ],
    target: OTHERS_TARGET,
    prunePlaceholder: CLEARED_PLACEHOLDER,
    summarySections: NEURON_SECTIONS,
    // Its loop checks the budget before every turn, so it never warns.
    warningLevels: [],
  },

  /** The newest messages that fit, without a summary: the default of its history manager. */
  promptfleet: {
    estimator: 'promptfleet',
    stages: [{ stage: 'sliding_window', fitBudget: true }, 'cut'],
    target: OTHERS_TARGET,
    prunePlaceholder: PRUNE_PLACEHOLDER,
    warningLevels: [],
  },

  /** The last 50 messages with a summary of the rest, at 75 percent of 32,000 tokens; a warning at 80 percent. */
  nca: {
    estimator: 'nca',
    // Fewer than 50 if they are too large; the window without a summary is used if the summary fails.
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

/**
 * Share of the preset's target that a requested run aims at if the request is already within the target. NeuroLink's target is its
 * threshold, and its `compactSession` aims at 60 %: otherwise a requested run would do nothing below the threshold.
 */
const REQUESTED_SHARES: { readonly [P in PresetName]?: number } = {
  neurolink: 0.75,
}

/** The defaults. Settings that are missing here scale with the window, or get their default where they are used. */
export const DEFAULTS: ResolvedSettings = frozenCopy(resolvedSchema.parse({}))

/** Settings in force, and the layer that each comes from. */
export type ResolvedConfig = {
  readonly settings: ResolvedSettings
  readonly sources: { readonly [K in SettingName]: SettingSource }
  /** The target of a requested run if the request is already within the target; `undefined` if there is nothing to do then. */
  readonly requestedTarget?: number | undefined
}

/** Settings that are alternatives: each makes the other ineffective in the layers below its own. */
const OTHER_WAY: { readonly [K in SettingName]?: SettingName } = {
  threshold: 'thresholdTokens',
  thresholdTokens: 'threshold',
  target: 'targetTokens',
  targetTokens: 'target',
  keepRecentTokens: 'keepRecentRatio',
  keepRecentRatio: 'keepRecentTokens',
}

/**
 * Resolves layers, highest precedence first: each setting has the value of the first layer that sets it. Below them are the preset that
 * they choose and the defaults. Tables of context windows are merged, so that one layer can add a model to another's.
 */
export function resolveLayers(layers: readonly Layer[]): ResolvedConfig {
  const preset = layers.find(({ values }) => values.preset !== undefined)?.values.preset ?? DEFAULTS.preset
  const all: readonly Layer[] = [
    ...layers,
    { source: 'preset', values: PRESETS[preset] },
    { source: 'default', values: DEFAULTS },
  ]
  const settings: { -readonly [K in SettingName]?: LayerValues[K] } = {}
  const sources = Object.fromEntries(SETTING_NAMES.map((name) => [name, 'default'])) as {
    [K in SettingName]: SettingSource
  }
  for (const { source, values } of all) {
    const given = SETTING_NAMES.filter((name) => values[name] !== undefined && !isSettled(name, settings))
    const { contextWindows } = settings
    Object.assign(settings, pick(values, given))
    for (const name of given) sources[name] = source
    if (contextWindows !== undefined && values.contextWindows !== undefined)
      settings.contextWindows = mergeWindows(contextWindows, values.contextWindows)
    // A layer's implied settings take precedence over the layers below it only.
    const { autoSummarizeThreshold: percent, threshold, thresholdTokens } = settings
    if (percent !== undefined && threshold === undefined && thresholdTokens === undefined) {
      // nca has no other threshold.
      settings.threshold = percent / 100
      sources.threshold = source
    }
    if (settings.enableAutoSummarize === false && settings.auto === undefined) {
      // Without automatic summaries nothing is hidden automatically.
      settings.auto = false
      sources.auto = source
    }
  }
  return { settings: settings as ResolvedSettings, sources, ...lowerTarget(settings, sources, preset) }
}

function isSettled(name: SettingName, above: LayerValues): boolean {
  const other = OTHER_WAY[name]
  if (above[name] !== undefined || (other !== undefined && above[other] !== undefined)) return true
  // A share truncates by age.
  return name === 'truncationFraction' && above.truncationOrder === 'importance'
}

/** With a threshold below the default, lowers the target of the preset or the default in proportion. */
function lowerTarget(
  settings: { target?: number | undefined; readonly threshold?: number | undefined },
  sources: { target: SettingSource; readonly threshold: SettingSource },
  preset: PresetName,
): Pick<ResolvedConfig, 'requestedTarget'> {
  const { target, threshold = DEFAULT_COMPACTION_THRESHOLD } = settings
  const share = sources.target === 'preset' ? REQUESTED_SHARES[preset] : undefined
  const isGiven = sources.target !== 'default' && sources.target !== 'preset'
  if (target === undefined || isGiven) return {}
  settings.target = targetAt(threshold, target)
  if (settings.target !== target) sources.target = sources.threshold
  return share === undefined ? {} : { requestedTarget: share * settings.target }
}

/** Merges two tables; entries of the first take precedence. */
export function mergeWindows(high: ContextWindows, low: ContextWindows): ContextWindows {
  // A map, because a provider may be called `__proto__`.
  const providers = new Map(Object.entries(low))
  for (const [provider, entry] of Object.entries(high)) {
    const below = providers.get(provider)
    if (below === undefined || typeof entry === 'number') {
      providers.set(provider, entry)
      continue
    }
    const models = typeof below === 'number' ? { _default: below } : below
    providers.set(provider, Object.fromEntries([...Object.entries(models), ...Object.entries(entry)]))
  }
  return Object.fromEntries(providers)
}

/** Returns the named fields of an object, without undefined ones. */
export function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  const given = names.filter((name) => from[name] !== undefined)
  return Object.fromEntries(given.map((name) => [name, from[name]])) as Pick<T, K>
}

/** Returns the settings that some layer sets, for callers with defaults of their own. */
export function nonDefaults<K extends SettingName>(
  { settings, sources }: ResolvedConfig,
  names: readonly K[],
): Pick<LayerValues, K> {
  return pick<LayerValues, K>(
    settings,
    names.filter((name) => sources[name] !== 'default'),
  )
}

/** The settings of `beforeTurn` and `afterTurn`. One of `threshold` and `thresholdTokens` is present. */
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

type Model = { readonly provider: string | undefined; readonly model: string | undefined }

/** The settings of a store, alone or combined with those of a session and a call. */
export class Configuration {
  #ofStore: ResolvedConfig
  #layers: readonly Layer[]
  readonly #model: Pick<LayerValues, 'provider' | 'model'>
  /** A storage returns the same object for the same stored text, so a session's config is parsed only once. */
  readonly #sessions = new WeakMap<JsonObject, { readonly layer: Layer; readonly resolved: ResolvedConfig }>()

  /** `layers`: the store's layers, highest precedence first. */
  constructor(layers: readonly Layer[]) {
    this.#layers = layers
    this.#ofStore = resolveLayers(layers)
    this.#model = nonDefaults(this.ofStore, ['provider', 'model'])
  }

  get ofStore(): ResolvedConfig {
    return this.#ofStore
  }

  /** Adds windows that an application stored in the store, with lower precedence than those of this store object. Call it first. */
  addWindows(contextWindows: ContextWindows): void {
    const own = this.#layers.filter(({ source }) => source === 'store')
    const others = this.#layers.filter(({ source }) => source !== 'store')
    this.#layers = [...own, { source: 'store', values: { contextWindows } }, ...others]
    this.#ofStore = resolveLayers(this.#layers)
  }

  ofSession(config: JsonObject | undefined): ResolvedConfig {
    return config === undefined ? this.ofStore : this.#session(config).resolved
  }

  ofCall(config: JsonObject | undefined, values: LayerValues): ResolvedConfig {
    const session = config === undefined ? [] : [this.#session(config).layer]
    return resolveLayers([{ source: 'call', values }, ...session, ...this.#layers])
  }

  /** Returns the provider and model of a session, or those of the store if it has none. A model is used only with its provider. */
  modelOf(session: Model): Model {
    const { provider, model } = this.#model
    if (provider === undefined && model === undefined) return session
    const isOurs =
      session.provider === undefined ||
      (provider !== undefined && canonicalProvider(session.provider) === canonicalProvider(provider))
    return {
      provider: session.provider ?? provider,
      model: session.model ?? (isOurs ? model : undefined),
    }
  }

  /** Returns the rules of retention of a session: its own precede those of a call, and those of the store come last. */
  retentionOf(config: JsonObject | undefined, given: CheckedRetention | undefined): ResolvedRetention {
    const own = config && this.#session(config).layer.values.retention
    return resolveRetention([own, given, ...this.#layers.map(({ values }) => values.retention)])
  }

  #session(config: JsonObject) {
    const known = this.#sessions.get(config)
    if (known !== undefined) return known
    const layer: Layer = { source: 'session', values: storedSessionSettings(config) }
    const isEmpty = Object.keys(layer.values).length === 0
    const read = { layer, resolved: isEmpty ? this.ofStore : resolveLayers([layer, ...this.#layers]) }
    this.#sessions.set(config, read)
    return read
  }
}

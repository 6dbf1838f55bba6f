import { z } from 'zod'
import { nameSchema, shareSchema } from '../messages/check.ts'
import { type Json, type JsonObject, jsonProblem } from '../messages/json.ts'
import { SUMMARY_PLACES } from '../rendering/draft.ts'
import { contextWindowsSchema } from '../tokens/windows.ts'
import { compactionConfigSchema } from './compaction.ts'
import { stagesSchema } from './stages.ts'

/** Usage from which the history is compacted in the background: over the target, so that runs are rare and large. Source: design 3.6. */
export const DEFAULT_BACKGROUND_THRESHOLD = 0.7
/** Least time between two unasked runs in the background, milliseconds: each of them ends a provider's cached prefix. */
export const DEFAULT_BACKGROUND_MIN_INTERVAL_MS = 60_000
/** How long a circuit stays open, milliseconds. */
export const DEFAULT_CIRCUIT_RESET_MS = 300_000
/** The window of time that spending is counted in, milliseconds. */
export const DEFAULT_SPEND_WINDOW_MS = 3_600_000
/** Summaries that may be asked for unasked, a session and hour: far above what a busy conversation needs, far below what a loop would ask. */
const DEFAULT_SPEND_CALLS = 100

/** What unasked runs may spend on models. What is not said has no limit. */
const spendLimitsSchema = z.strictObject({
  /** Summaries asked for, failed ones too. */
  calls: z.int().nonnegative().optional(),
  /** Tokens of question and answer, as the summarizers reported them. */
  tokens: z.int().nonnegative().optional(),
  /** US dollars, likewise. */
  cost: z.number().nonnegative().optional(),
  /** The window of time, milliseconds. Default: an hour. */
  windowMs: z.int().positive().optional(),
  /** Whether each session is counted by itself, or all of the store together. Default "session". */
  per: z.enum(['session', 'store']).optional(),
})
/** What unasked runs may spend, as it is checked. */
export type SpendLimits = z.output<typeof spendLimitsSchema>

/** The settings of work in the background. */
const backgroundShape = {
  background: z.boolean().optional(),
  backgroundThreshold: shareSchema.optional(),
  backgroundMinIntervalMs: z.int().nonnegative().optional(),
  circuitResetMs: z.int().positive().optional(),
  spendLimits: spendLimitsSchema.optional(),
}

/** What the settings of work in the background are where nobody says otherwise. */
export const BACKGROUND_DEFAULTS = {
  backgroundThreshold: DEFAULT_BACKGROUND_THRESHOLD,
  backgroundMinIntervalMs: DEFAULT_BACKGROUND_MIN_INTERVAL_MS,
  circuitResetMs: DEFAULT_CIRCUIT_RESET_MS,
  spendLimits: { calls: DEFAULT_SPEND_CALLS, windowMs: DEFAULT_SPEND_WINDOW_MS, per: 'session' },
} as const

/** The presets: this package's defaults, and the systems that a store can imitate. */
export const PRESET_NAMES = ['default', 'neurolink', 'neuron', 'promptfleet', 'nca'] as const
export type PresetName = (typeof PRESET_NAMES)[number]

/** What is true of one call alone, and so is no setting. */
const ofOneCall = {
  systemPrompt: true,
  currentPrompt: true,
  toolDefinitions: true,
  fileAttachments: true,
  pendingTokens: true,
  range: true,
  summary: true,
  trigger: true,
  reportedTokens: true,
  actor: true,
  reason: true,
  withoutModel: true,
  whenBusy: true,
  waitMs: true,
  signal: true,
} as const
export const CALL_FACTS = Object.keys(ofOneCall) as (keyof typeof ofOneCall)[]

const compactionShape = z
  .strictObject(compactionConfigSchema.shape)
  .omit({ ...ofOneCall, stages: true }).shape

/** The settings a compaction reads as they are. */
export const COMPACTION_KEYS = Object.keys(compactionShape) as (keyof typeof compactionShape)[]

const roleSchema = z.enum(['system', 'user', 'assistant'])

/** Kept as it is: what it says is between the application and its provider. */
const opaqueJson = z.custom<JsonObject | readonly Json[]>(
  (value) => typeof value === 'object' && value !== null && jsonProblem(value) === undefined,
  'must be a JSON object or list',
)

/** Settings that a call of `compactSession` can be told besides seed 003's `CompactionConfig`. */
const callShape = {
  preset: z.enum(PRESET_NAMES).optional(),
  stages: stagesSchema.optional(),
  maxRetainedMessages: z.int().nonnegative().optional(),
  enableAutoSummarize: z.boolean().optional(),
}

/** What `compactSession` and `previewCompaction` are told: what is true of the call, and settings that count for it. */
export const callSchema = compactionConfigSchema.safeExtend(callShape)
export type CheckedCall = z.output<typeof callSchema>

/** How summaries and markers are shown. Source: conflicts C-08, C-11. */
export const renderingShape = {
  summaryRole: roleSchema.optional(),
  summaryHeader: z.string().optional(),
  summaryPlace: z.enum(SUMMARY_PLACES).optional(),
  markerRole: roleSchema.optional(),
  markerText: z.string().optional(),
}
export const RENDERING_KEYS = Object.keys(renderingShape) as (keyof typeof renderingShape)[]

/** Every setting, whatever layer it stands in. docs/configuration.md says what each does and what it is by default. */
export const settingsSchema = z.strictObject({
  ...callShape,
  ...compactionShape,
  ...renderingShape,
  estimator: nameSchema.optional(),
  enabled: z.boolean().optional(),
  auto: z.boolean().optional(),
  threshold: shareSchema.optional(),
  thresholdTokens: z.int().nonnegative().optional(),
  warningLevels: z.array(shareSchema).max(20).readonly().optional(),
  /** Percent, whole. Source: checklist S4-15, S4-17. */
  autoSummarizeThreshold: z.int().min(0).max(100).optional(),
  autoCompactOnFinish: z.boolean().optional(),
  ...backgroundShape,
  contextWindows: contextWindowsSchema.optional(),
  previewToolOutputs: z.boolean().optional(),
  maxToolOutputBytes: z.int().nonnegative().optional(),
  maxToolOutputLines: z.int().nonnegative().optional(),
  fileReadBudgetPercent: shareSchema.optional(),
  contextManagement: opaqueJson.optional(),
})

export type Settings = z.input<typeof settingsSchema>
export type SettingName = keyof Settings

/** All settings by name, in a fixed order. */
export const SETTING_NAMES = Object.keys(settingsSchema.shape) as SettingName[]

/** What a session's config cannot say: it has columns for these, and JSON holds no summarizer. */
export const NOT_OF_A_SESSION: ReadonlySet<SettingName> = new Set(['provider', 'model', 'summarizer'])

type Frozen<T> = T extends readonly (infer E)[] ? readonly E[] : T

/** Checked settings of one layer: own keys only, none of them undefined. */
export type LayerValues = { readonly [K in SettingName]?: Frozen<Exclude<Settings[K], undefined>> }

/** Where a value comes from, weightiest first. */
export const SETTING_SOURCES = [
  'call',
  'session',
  'store',
  'environment',
  'file',
  'preset',
  'default',
] as const
export type SettingSource = (typeof SETTING_SOURCES)[number]

export type Layer = { readonly source: SettingSource; readonly values: LayerValues }

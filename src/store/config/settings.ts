import { z } from 'zod'
import { labelSchema, nameSchema, shareSchema } from '../../core/messages/check.ts'
import { type Json, type JsonObject, jsonProblem } from '../../core/messages/json.ts'
import { SUMMARY_PLACES } from '../../core/rendering/draft.ts'
import type { Placeholder } from '../../core/stages/stage.ts'
import { summarizerSchema } from '../../core/summarizers/summarizer.ts'
import { requestSchema } from '../../core/tokens/budget.ts'
import { mediaLimitsSchema } from '../../core/tokens/media-limits.ts'
import { contextWindowsSchema } from '../../core/tokens/windows.ts'
import { TRIGGERS } from '../../storage/storage.ts'
import { stagesSchema } from './stages.ts'

/** Milliseconds that a summarizer may take for one summary. */
export const SUMMARY_TIMEOUT_MS = 120_000

/** Usage at which the history is compacted in the background: above the target, so that runs are rare and large. */
export const DEFAULT_BACKGROUND_THRESHOLD = 0.7
/** Milliseconds between two automatic background runs, at least: each of them invalidates the provider's cached prefix. */
export const DEFAULT_BACKGROUND_MIN_INTERVAL_MS = 60_000
/** Milliseconds that a circuit stays open. */
export const DEFAULT_CIRCUIT_RESET_MS = 300_000
/** Milliseconds of the window in which spending is counted. */
export const DEFAULT_SPEND_WINDOW_MS = 3_600_000
/** Automatic summaries per session and hour: far above what a busy conversation needs, far below what a loop would request. */
const DEFAULT_SPEND_CALLS = 100

const tokens = z.int().nonnegative()
const placeholderSchema = z.custom<Exclude<Placeholder, string>>(
  (value) => typeof value === 'function',
  'must be a text or a function',
)

const { maxOutputTokens, ...requestParts } = requestSchema.shape

/** The settings of a compaction. Every one is optional. */
const compactionShape = {
  /** The stage `media`, default true. Without it, compaction is not due because of images or bytes. */
  enableMedia: z.boolean().optional(),
  /** Stage 1, default true. */
  enablePrune: z.boolean().optional(),
  /** Stage 2, default true. */
  enableDeduplicate: z.boolean().optional(),
  /** Stage 3, default true. */
  enableSummarize: z.boolean().optional(),
  /** Stage 4, default true; also the emergency cut. */
  enableTruncate: z.boolean().optional(),
  /**
   * The stages of the run, in order, instead of the four and the emergency cut: names, names with options, or stages
   * of the application. Each runs only while the history is over the target.
   */
  stages: stagesSchema.optional(),
  /** Limits of a request besides tokens: `images`, `imagesBesideLarge` and `bytes`. Default: those of the provider (docs/limits.md). */
  mediaLimits: mediaLimitsSchema.optional(),
  /** The newest so many images and files that stay when older ones are shown as a text. Default 3. */
  keepRecentMedia: z.int().nonnegative().optional(),
  /** Tokens of recent tool outputs to protect. Default 40,000, at most a quarter of the available input. */
  pruneProtectTokens: tokens.optional(),
  /** Minimum tokens that pruning must save. Default 20,000, at most a tenth of the available input. */
  pruneMinimumSavings: tokens.optional(),
  /** Tools whose outputs are never pruned. Default ["skill"]. */
  pruneProtectedTools: z.array(z.string()).readonly().optional(),
  /** Provider that should write the summaries: passed to the summarizer. If it cannot use it, the extractive one writes. */
  summarizationProvider: z.string().optional(),
  /** Model of `summarizationProvider`, passed on in the same way. */
  summarizationModel: z.string().optional(),
  /** Share of the messages to keep unsummarized, at least 4. Default: by tokens, see `keepRecentTokens`. */
  keepRecentRatio: shareSchema.optional(),
  /** Share of the messages after the first pair to hide in stage 4. Default: by tokens, until the target. */
  truncationFraction: shareSchema.optional(),
  /** What stage 4 hides first, by tokens: the oldest turns, or the least important messages. Default "oldest". */
  truncationOrder: z.enum(['oldest', 'importance']).optional(),
  /** Provider whose limits and token counts apply. Default: that of the session, else "openai". */
  provider: z.string().optional(),

  /** Model whose context window applies. Default: that of the session. */
  model: z.string().optional(),
  maxOutputTokens,
  /** Maximum tokens of input, whatever the model's window leaves; 0 for no such limit. */
  contextWindowTarget: tokens.optional(),
  /** Share of the available input that the whole request is reduced to. Default 0.4. */
  target: shareSchema.optional(),
  /** Tokens that the history is reduced to, instead of `target`. */
  targetTokens: tokens.optional(),
  /** Tokens of the newest turns that are never summarized. Default: what the target leaves beside the summary. */
  keepRecentTokens: tokens.optional(),
  /**
   * Minimum tokens that a run must save, its cost in the prompt cache included; 0 for no minimum. Default of automatic runs: 5 %
   * of the history, at most 20,000; of all others 0.
   */
  minimumSavings: tokens.optional(),
  /** Whether the outputs of failed calls are pruned too. Default false: the text of the error stays. */
  pruneFailedResults: z.boolean().optional(),
  /** Text shown instead of a pruned output, with `{tokens}` and `{tool}` filled in, or a function that returns one. */
  prunePlaceholder: z.union([z.string().min(1), placeholderSchema]).optional(),
  /** Tools whose results show files. Default: the usual names. */
  readTools: z.array(z.string()).readonly().optional(),
  /** Tools with which a person answers: their results stay as the user's messages do. Default: the usual names. */
  userTools: z.array(z.string()).readonly().optional(),
  /** Arguments that name the file. Default: the usual names. */
  pathArguments: z.array(z.string()).readonly().optional(),
  /** Share of the size of re-read files that deduplication must save. Default 0.3. */
  deduplicateMinimumSavings: shareSchema.optional(),
  /** Whether results of other tools count as reads when they begin with words like "Read file x". Default true. */
  deduplicateByText: z.boolean().optional(),
  /** Writes the summaries. Default: that of the store, else the extractive one, which needs no model. */
  summarizer: summarizerSchema.optional(),
  /** Titles of the sections of a summary. Default: the ten. */
  summarySections: z.array(z.string().min(1)).min(1).readonly().optional(),
  /**
   * Maximum tokens of a summary. Default with a model: 5 % of the available input, between 500 and 4,000. Without one it fills
   * what the recent messages leave of the target: `docs/summaries.md`.
   */
  summaryMaxTokens: z.int().positive().optional(),
  /** Milliseconds that a summarizer may take for one summary. Default 120,000. */
  summaryTimeoutMs: z.int().positive().optional(),
  /** Whether the extractive summarizer writes when another one fails or its summary is rejected. Default false. */
  offlineFallback: z.boolean().optional(),
  /** Text of the truncation marker, or false for no marker. */
  truncationMarker: z.union([z.string().min(1), z.literal(false)]).optional(),
  /** Whether over-long contents are cut when nothing else makes the request fit. Default true. */
  emergencyCut: z.boolean().optional(),
}

/** What is true of one call only, and so is not a setting. */
const factShape = {
  ...requestParts,
  /** Condense exactly the visible rows between two positions, both included, and do nothing else. */
  range: z
    .strictObject({ from: z.int().positive(), to: z.int().positive() })
    .refine(({ from, to }) => from <= to, 'from must not be after to')
    .optional(),
  /** The text that replaces `range`. Default: the summarizer writes it. */
  summary: z.string().min(1).optional(),

  /** Why the run was started. Default "manual". A run after an "overflow" waits for no other run. */
  trigger: z.enum(TRIGGERS).optional(),
  /** After an overflow: the size of the request as the provider reported it, tokens. */
  reportedTokens: z.int().positive().optional(),
  actor: nameSchema.optional(),
  reason: labelSchema.optional(),
  /** Whether to run only the stages that need no model, as after an overflow. Default false. */
  withoutModel: z.boolean().optional(),
  /**
   * What to do when another run is still active after `waitMs`: "refuse" with `COMPACTION_IN_PROGRESS` (default), or run only
   * the stages that need no model.
   */
  whenBusy: z.enum(['refuse', 'withoutModel']).optional(),
  /** Milliseconds to wait for other runs, of this process and of others. Default 30,000; 10,000 for a run within a turn. */
  waitMs: z.int().nonnegative().optional(),
  signal: z.instanceof(AbortSignal).optional(),
}

/** All options of a compaction. Every one is optional. */
export const compactionConfigSchema = z
  .strictObject({ ...compactionShape, ...factShape })
  .refine(({ range, summary }) => summary === undefined || range !== undefined, 'summary needs a range')

/** The config of one compaction: what to compact and how. All fields are optional; the defaults are in docs/configuration.md. */
export type CompactionConfig = z.input<typeof compactionConfigSchema>

/** The presets: the defaults of this package, and the systems that a store can imitate. */
export const PRESET_NAMES = ['default', 'neurolink', 'neuron', 'promptfleet', 'nca'] as const
/** The name of a preset of settings. */
export type PresetName = (typeof PRESET_NAMES)[number]

/** Settings that a call of `compactSession` accepts in addition to those of a compaction. */
const callShape = {
  preset: z.enum(PRESET_NAMES).optional(),
  maxRetainedMessages: z.int().nonnegative().optional(),
  enableAutoSummarize: z.boolean().optional(),
  /** Usage at which compaction is due: below 0.8 it lowers the target where none is given. */
  threshold: shareSchema.optional(),
}

/** The options of `compactSession` and `previewCompaction`: facts of the call, and settings that apply to it. */
export const callSchema = compactionConfigSchema.safeExtend(callShape)
export type CheckedCall = z.output<typeof callSchema>

const roleSchema = z.enum(['system', 'user', 'assistant'])

/** How summaries and markers are rendered. */
export const renderingShape = {
  summaryRole: roleSchema.optional(),
  summaryHeader: z.string().optional(),
  summaryPlace: z.enum(SUMMARY_PLACES).optional(),
  markerRole: roleSchema.optional(),
  markerText: z.string().optional(),
}
export const RENDERING_KEYS = Object.keys(renderingShape) as (keyof typeof renderingShape)[]

/** What automatic runs may spend on models. A limit that is not given does not apply. */
const spendLimitsSchema = z.strictObject({
  /** Summaries requested, failed ones included. */
  calls: z.int().nonnegative().optional(),
  /** Tokens of input and output, as the summarizers reported them. */
  tokens: z.int().nonnegative().optional(),
  /** US dollars, as the summarizers reported them. */
  cost: z.number().nonnegative().optional(),
  /** Milliseconds of the window in which spending is counted. Default: an hour. */
  windowMs: z.int().positive().optional(),
  /** Whether each session is counted separately, or all of the store together. Default "session". */
  per: z.enum(['session', 'store']).optional(),
})
/** What automatic runs may spend, checked. */
export type SpendLimits = z.output<typeof spendLimitsSchema>

/** Defaults of the settings for background work. */
export const BACKGROUND_DEFAULTS = {
  backgroundThreshold: DEFAULT_BACKGROUND_THRESHOLD,
  backgroundMinIntervalMs: DEFAULT_BACKGROUND_MIN_INTERVAL_MS,
  circuitResetMs: DEFAULT_CIRCUIT_RESET_MS,
  spendLimits: { calls: DEFAULT_SPEND_CALLS, windowMs: DEFAULT_SPEND_WINDOW_MS, per: 'session' },
} as const

/** Passed to the provider unchanged. */
const opaqueJson = z.custom<JsonObject | readonly Json[]>(
  (value) => typeof value === 'object' && value !== null && jsonProblem(value) === undefined,
  'must be a JSON object or list',
)

/** Every setting of every layer. docs/configuration.md describes each and its default. */
export const settingsSchema = z.strictObject({
  ...callShape,
  ...compactionShape,
  ...renderingShape,
  estimator: nameSchema.optional(),
  enabled: z.boolean().optional(),
  auto: z.boolean().optional(),
  /** Tokens at which compaction is due, instead of `threshold`. */
  thresholdTokens: tokens.optional(),
  warningLevels: z.array(shareSchema).max(20).readonly().optional(),
  /** Percent, a whole number. */
  autoSummarizeThreshold: z.int().min(0).max(100).optional(),
  autoCompactOnFinish: z.boolean().optional(),
  background: z.boolean().optional(),
  backgroundThreshold: shareSchema.optional(),
  backgroundMinIntervalMs: z.int().nonnegative().optional(),
  circuitResetMs: z.int().positive().optional(),
  spendLimits: spendLimitsSchema.optional(),
  contextWindows: contextWindowsSchema.optional(),
  previewToolOutputs: z.boolean().optional(),
  maxToolOutputBytes: z.int().nonnegative().optional(),
  maxToolOutputLines: z.int().nonnegative().optional(),
  fileReadBudgetPercent: shareSchema.optional(),
  contextManagement: opaqueJson.optional(),
  /** The newest so many notes of a session, and of an owner, are recalled. */
  maxNotes: z.int().positive().max(10_000).optional(),
})

/** All settings of a store or a session. All fields are optional; the defaults are in docs/configuration.md. */
export type Settings = z.input<typeof settingsSchema>
/** The name of a setting. */
export type SettingName = keyof Settings

/** The names of all settings, in a fixed order. */
export const SETTING_NAMES = Object.keys(settingsSchema.shape) as SettingName[]

/** What a session's config cannot set: a session has columns for provider and model, and JSON holds no summarizer. */
export const NOT_OF_A_SESSION: ReadonlySet<SettingName> = new Set(['provider', 'model', 'summarizer'])

/** Checked settings of one layer. */
export type LayerValues = Readonly<z.output<typeof settingsSchema>>

/** Where a value comes from, highest precedence first. */
export const SETTING_SOURCES = [
  'call',
  'session',
  'store',
  'environment',
  'file',
  'preset',
  'default',
] as const
/** The layer that a setting comes from. */
export type SettingSource = (typeof SETTING_SOURCES)[number]

export type Layer = { readonly source: SettingSource; readonly values: LayerValues }

import { z } from 'zod'
import { FILE_READ_BUDGET_PERCENT } from '../../core/files/file-budget.ts'
import { MAX_TOOL_OUTPUT_BYTES, MAX_TOOL_OUTPUT_LINES } from '../../core/files/tool-output/cut-output.ts'
import { labelSchema, nameSchema, shareSchema } from '../../core/messages/check.ts'
import { type Json, type JsonObject, jsonProblem } from '../../core/messages/json.ts'
import { PATH_ARGUMENTS, READ_TOOLS, USER_TOOLS } from '../../core/messages/tool-names.ts'
import { SUMMARY_PLACES } from '../../core/rendering/draft.ts'
import { retentionSchema } from '../../core/retention/rules.ts'
import { PRUNE_PLACEHOLDER, PRUNE_PROTECTED_TOOLS } from '../../core/stages/clear-tool-outputs.ts'
import { DEDUP_THRESHOLD } from '../../core/stages/deduplicate.ts'
import { KEEP_RECENT_MEDIA } from '../../core/stages/media.ts'
import type { Placeholder } from '../../core/stages/stage.ts'
import { TRUNCATION_MARKER } from '../../core/stages/truncate.ts'
import { SUMMARY_SECTIONS, summarizerSchema } from '../../core/summarizers/summarizer.ts'
import {
  DEFAULT_COMPACTION_TARGET,
  DEFAULT_COMPACTION_THRESHOLD,
  DEFAULT_PROVIDER,
  requestSchema,
} from '../../core/tokens/budget.ts'
import { mediaLimitsSchema } from '../../core/tokens/media-limits.ts'
import { contextWindowsSchema } from '../../core/tokens/windows.ts'
import { TRIGGERS } from '../../storage/storage.ts'
import { stagesSchema } from './stages.ts'

/** Milliseconds that a summarizer may take for one summary. */
export const SUMMARY_TIMEOUT_MS = 120_000

/** Usage at which the history is compacted in the background, as a share of the available input. */
export const DEFAULT_BACKGROUND_THRESHOLD = 0.7
/** Usage levels at which the application is warned, as shares of the available input. */
export const DEFAULT_WARNING_LEVELS: readonly number[] = [0.6, 0.8]
/** Number of notes, of a session and of an owner, that are recalled; as in nca. */
const DEFAULT_MAX_NOTES = 128
/** Milliseconds of the window in which spending is counted. */
export const SPEND_WINDOW_MS = 3_600_000

const tokens = z.int().nonnegative()
const placeholderSchema = z.custom<Exclude<Placeholder, string>>(
  (value) => typeof value === 'function',
  'must be a string or a function',
)

const { maxOutputTokens, ...requestParts } = requestSchema.shape

/* All settings in one table: name, schema, and, if it doesn't depend on the window, the default. */

/** The settings of a compaction. */
const compactionTable = {
  /** Whether the stage `media` runs. Default true. Without it, images and bytes never make compaction due. */
  enableMedia: z.boolean().default(true),
  /** Whether stage 1 runs. Default true. */
  enablePrune: z.boolean().default(true),
  /** Whether stage 2 runs. Default true. */
  enableDeduplicate: z.boolean().default(true),
  /** Whether stage 3 runs. Default true. */
  enableSummarize: z.boolean().default(true),
  /** Whether stage 4 and the emergency cut run. Default true. */
  enableTruncate: z.boolean().default(true),
  /**
   * The stages of the run, in order, in place of the four stages and the emergency cut: names, names with options, or stages of the
   * application. Each runs only while the history is over the target.
   */
  stages: stagesSchema.optional(),
  /** Limits of a request besides tokens: `images`, `imagesBesideLarge` and `bytes`. Default: those of the provider (docs/limits.md). */
  mediaLimits: mediaLimitsSchema.optional(),
  /** Number of newest images and files that stay when older ones are replaced with a text. Default 3. */
  keepRecentMedia: z.int().nonnegative().default(KEEP_RECENT_MEDIA),
  /** Tokens of recent tool outputs that are never pruned. Default 40,000, at most a quarter of the available input. */
  pruneProtectTokens: tokens.optional(),
  /** Minimum tokens that pruning must save. Default 20,000, at most a tenth of the available input. */
  pruneMinimumSavings: tokens.optional(),
  /** Tools whose outputs are never pruned. Default ["skill"]. */
  pruneProtectedTools: z.array(z.string()).readonly().default(PRUNE_PROTECTED_TOOLS),
  /** Provider for the summaries, passed to the summarizer. If the summarizer can't use it, the extractive one is used. */
  summarizationProvider: z.string().optional(),
  /** Model of `summarizationProvider`, passed to the summarizer in the same way. */
  summarizationModel: z.string().optional(),
  /** Share of the messages to keep unsummarized; at least 4 messages are kept. Default: by tokens, see `keepRecentTokens`. */
  keepRecentRatio: shareSchema.optional(),
  /** Share of the messages after the first pair that stage 4 hides. Default: as many as needed to reach the target. */
  truncationFraction: shareSchema.optional(),
  /** What stage 4 hides first when it counts by tokens: the oldest turns, or the least important messages. Default "oldest". */
  truncationOrder: z.enum(['oldest', 'importance']).default('oldest'),
  /** Provider whose limits and token counts apply. Default: that of the session, else "openai". */
  provider: z.string().default(DEFAULT_PROVIDER),

  /** Model whose context window applies. Default: that of the session. */
  model: z.string().optional(),
  maxOutputTokens,
  /** Maximum tokens of input, even if the model's window leaves more; 0 for no such limit. */
  contextWindowTarget: tokens.optional(),
  /** Share of the available input to which the whole request is reduced. Default 0.4. */
  target: shareSchema.default(DEFAULT_COMPACTION_TARGET),
  /** Tokens to which the history is reduced, in place of `target`. */
  targetTokens: tokens.optional(),
  /** Tokens of the newest turns that are never summarized. Default: the part of the target that isn't needed for the summary. */
  keepRecentTokens: tokens.optional(),
  /**
   * Minimum tokens that a run must save, net of its cost in the prompt cache; 0 for no minimum. Default for automatic runs: 5 % of the
   * history, at most 20,000; for all others: 0.
   */
  minimumSavings: tokens.optional(),
  /** Whether the outputs of failed calls are pruned too. Default false: the error text stays. */
  pruneFailedResults: z.boolean().default(false),
  /** Text shown in place of a pruned output, with `{tokens}` and `{tool}` filled in, or a function that returns it. */
  prunePlaceholder: z.union([z.string().min(1), placeholderSchema]).default(PRUNE_PLACEHOLDER),
  /** Tools whose results show files. Default: the common names. */
  readTools: z.array(z.string()).readonly().default(READ_TOOLS),
  /** Tools with which a person answers; their results stay, like the user's messages. Default: the common names. */
  userTools: z.array(z.string()).readonly().default(USER_TOOLS),
  /** Arguments that contain the file's path. Default: the common names. */
  pathArguments: z.array(z.string()).readonly().default(PATH_ARGUMENTS),
  /** Minimum saving of deduplication, as a share of the size of the re-read files. Default 0.3. */
  deduplicateMinimumSavings: shareSchema.default(DEDUP_THRESHOLD),
  /** Whether results of other tools count as reads if they begin with text like "Read file x". Default true. */
  deduplicateByText: z.boolean().default(true),
  /** The summarizer. Default: that of the store, else the extractive one, which needs no model. */
  summarizer: summarizerSchema.optional(),
  /** Titles of a summary's sections. Default: the standard ten. */
  summarySections: z.array(z.string().min(1)).min(1).readonly().default(SUMMARY_SECTIONS),
  /**
   * Maximum tokens of a summary. Default with a model: 5 % of the available input, between 500 and 4,000. Default without one: what the
   * recent messages leave of the target (`docs/summaries.md`).
   */
  summaryMaxTokens: z.int().positive().optional(),
  /** Milliseconds that a summarizer may take for one summary. Default 120,000. */
  summaryTimeoutMs: z.int().positive().default(SUMMARY_TIMEOUT_MS),
  /** Whether the extractive summarizer steps in when another one fails or its summary is rejected. Default false. */
  offlineFallback: z.boolean().default(false),
  /** Text of the truncation marker, or false for no marker. */
  truncationMarker: z.union([z.string().min(1), z.literal(false)]).default(TRUNCATION_MARKER),
  /** Whether overlong contents are cut if nothing else makes the request fit. Default true. */
  emergencyCut: z.boolean().default(true),
}

/** Facts about a single call, which are therefore not settings. */
const factShape = {
  ...requestParts,
  /** Condenses exactly the visible rows between two positions, both inclusive, and does nothing else. */
  range: z
    .strictObject({ from: z.int().positive(), to: z.int().positive() })
    .refine(({ from, to }) => from <= to, 'from must not be after to')
    .optional(),
  /** The text that replaces `range`. Default: written by the summarizer. */
  summary: z.string().min(1).optional(),

  /** Why the run was started. Default "manual". A run after an "overflow" doesn't wait for other runs. */
  trigger: z.enum(TRIGGERS).optional(),
  /** The size of an overflowed request in tokens, as the provider reported it. */
  reportedTokens: z.int().positive().optional(),
  actor: nameSchema.optional(),
  reason: labelSchema.optional(),
  /** Whether to run only the stages that need no model, as after an overflow. Default false. */
  withoutModel: z.boolean().optional(),
  /**
   * What to do if another run is still active after `waitMs`: "refuse" with `COMPACTION_IN_PROGRESS` (default), or run only the stages that
   * need no model.
   */
  whenBusy: z.enum(['refuse', 'withoutModel']).optional(),
  /** Milliseconds to wait for other runs, of this process and of others. Default 30,000; 10,000 for a run within a turn. */
  waitMs: z.int().nonnegative().optional(),
  signal: z.instanceof(AbortSignal).optional(),
}

/** All options of a compaction; each is optional. */
export const compactionConfigSchema = z
  .strictObject({ ...given(compactionTable), ...factShape })
  .refine(({ range, summary }) => summary === undefined || range !== undefined, 'summary requires a range')

/** The config of one compaction: what to compact and how. All fields are optional; the defaults are in docs/configuration.md. */
export type CompactionConfig = z.input<typeof compactionConfigSchema>

/** The presets: the defaults of this package, and the systems that a store can imitate. */
export const PRESET_NAMES = ['default', 'neurolink', 'neuron', 'promptfleet', 'nca'] as const
/** The name of a preset of settings. */
export type PresetName = (typeof PRESET_NAMES)[number]

/** Settings that a call of `compactSession` accepts besides those of a compaction. */
const callTable = {
  preset: z.enum(PRESET_NAMES).default('default'),
  maxRetainedMessages: z.int().nonnegative().optional(),
  enableAutoSummarize: z.boolean().default(true),
  /** Usage at which compaction is due. Below 0.8 it lowers the target, unless one is given. */
  threshold: shareSchema.default(DEFAULT_COMPACTION_THRESHOLD),
}

/** The options of `compactSession` and `previewCompaction`: facts about the call, and settings that apply to it. */
export const callSchema = compactionConfigSchema.safeExtend(given(callTable))
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

/** Spending limits of automatic runs. A limit that isn't given doesn't apply. */
const spendLimitsSchema = z.strictObject({
  /** Maximum requested summaries, including failed ones. */
  calls: z.int().nonnegative().optional(),
  /** Maximum tokens of input and output, as the summarizers reported them. */
  tokens: z.int().nonnegative().optional(),
  /** Maximum cost in US dollars, as the summarizers reported it. */
  cost: z.number().nonnegative().optional(),
  /** Milliseconds of the window in which spending is counted. Default: one hour. */
  windowMs: z.int().positive().optional(),
  /** Whether spending is counted per session, or for the whole store. Default "session". */
  per: z.enum(['session', 'store']).optional(),
})
/** The checked spending limits of automatic runs. */
export type SpendLimits = z.output<typeof spendLimitsSchema>

/** Passed to the provider unchanged. */
const opaqueJson = z.custom<JsonObject | readonly Json[]>(
  (value) => typeof value === 'object' && value !== null && jsonProblem(value) === undefined,
  'must be a JSON object or list',
)

/** Every setting of every layer. docs/configuration.md describes each one and its default. */
const table = {
  ...callTable,
  ...compactionTable,
  ...renderingShape,
  estimator: nameSchema.default('calibrated'),
  enabled: z.boolean().default(true),
  auto: z.boolean().default(true),
  /** Tokens at which compaction is due, instead of `threshold`. */
  thresholdTokens: tokens.optional(),
  warningLevels: z.array(shareSchema).max(20).readonly().default(DEFAULT_WARNING_LEVELS),
  /** Percent, as a whole number. */
  autoSummarizeThreshold: z.int().min(0).max(100).optional(),
  autoCompactOnFinish: z.boolean().default(false),
  background: z.boolean().optional(),
  /** Well above the target, so that runs are rare and large. */
  backgroundThreshold: shareSchema.default(DEFAULT_BACKGROUND_THRESHOLD),
  /** Minimum time between two automatic background runs: each invalidates the provider's cached prefix. */
  backgroundMinIntervalMs: z.int().nonnegative().default(60_000),
  circuitResetMs: z.int().positive().default(300_000),
  /** The default is far above what a busy conversation needs, and far below what a runaway loop would request. */
  spendLimits: spendLimitsSchema.default({ calls: 100, windowMs: SPEND_WINDOW_MS, per: 'session' }),
  contextWindows: contextWindowsSchema.optional(),
  previewToolOutputs: z.boolean().default(true),
  maxToolOutputBytes: z.int().nonnegative().default(MAX_TOOL_OUTPUT_BYTES),
  maxToolOutputLines: z.int().nonnegative().default(MAX_TOOL_OUTPUT_LINES),
  fileReadBudgetPercent: shareSchema.default(FILE_READ_BUDGET_PERCENT),
  contextManagement: opaqueJson.optional(),
  /** What `privacy.applyRetention` removes by age and size; `false` for nothing, whatever wider layers say. Default: nothing. */
  retention: retentionSchema.optional(),
  /** Number of newest notes, of a session and of an owner, that are recalled. */
  maxNotes: z.int().positive().max(10_000).default(DEFAULT_MAX_NOTES),
}

/** The settings of one layer; a setting that the layer doesn't give is undefined. */
export const settingsSchema = z.strictObject(given(table))

/** The same settings, with defaults. */
export const resolvedSchema = z.object(table)

type Given<S extends z.ZodRawShape> = {
  [K in keyof S]: S[K] extends z.ZodDefault<infer T extends z.core.SomeType> ? z.ZodOptional<T> : S[K]
}

/** The rows of a table without their defaults. */
function given<S extends z.ZodRawShape>(rows: S): Given<S> {
  const optional = Object.entries(rows).map(([name, schema]) => [
    name,
    schema instanceof z.ZodDefault ? z.optional(schema.unwrap()) : schema,
  ])
  return Object.fromEntries(optional) as Given<S>
}

/** All settings of a store or a session. All fields are optional; the defaults are in docs/configuration.md. */
export type Settings = z.input<typeof settingsSchema>
/** The name of a setting. */
export type SettingName = keyof Settings

/** The names of all settings, in a fixed order. */
export const SETTING_NAMES = Object.keys(settingsSchema.shape) as SettingName[]

/** Settings that a session's config can't contain: a session has columns for provider and model, and JSON can't hold a summarizer. */
export const NOT_OF_A_SESSION: ReadonlySet<SettingName> = new Set(['provider', 'model', 'summarizer'])

/** The checked settings of one layer. */
export type LayerValues = Readonly<z.output<typeof settingsSchema>>

/** `threshold` and `target` are undefined if they are given in another way. */
type OtherWays = 'threshold' | 'target'
/** All settings in force. Missing settings scale with the window, or don't apply. */
export type ResolvedSettings = Readonly<Omit<z.output<typeof resolvedSchema>, OtherWays>> &
  Pick<LayerValues, OtherWays>

/** The layers of settings, highest precedence first. */
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

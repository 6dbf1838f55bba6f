import { z } from 'zod'
import { invalid, isUndertextError } from '../../core/errors.ts'
import { check, problemOf, quotedKey, readable } from '../../core/messages/check.ts'
import { canonicalJson, isObject, type JsonObject, jsonProblem } from '../../core/messages/json.ts'
import { NEUROLINK_PARTS } from '../../core/tokens/budget.ts'
import {
  type CheckedCall,
  callSchema,
  type LayerValues,
  NOT_OF_A_SESSION,
  SETTING_NAMES,
  type SettingName,
  type Settings,
  settingsSchema,
} from './settings.ts'

const NAMES: ReadonlySet<string> = new Set(SETTING_NAMES)
const SESSION_SETTINGS = SETTING_NAMES.filter((name) => !NOT_OF_A_SESSION.has(name))
const SESSION_NAMES: ReadonlySet<string> = new Set(SESSION_SETTINGS)

const previewSchema = callSchema.safeExtend({ summarize: z.boolean().optional() })
const CALL_NAMES: ReadonlySet<string> = new Set(Object.keys(callSchema.shape))
const PREVIEW_NAMES: ReadonlySet<string> = new Set(Object.keys(previewSchema.shape))

/**
 * The settings of an object, under the names of this package, checked and safe from later changes of that object. Throws
 * `INVALID_INPUT`. `snake`: names may be in snake_case.
 */
export function readSettings(value: object, what: string, snake = false): LayerValues {
  return readable(what, () =>
    frozenCopy(check(settingsSchema, ownNames(value, { known: NAMES, what, snake }), what)),
  )
}

/** The options of a call, under the names of this package, safe from later changes of the object. Throws `INVALID_INPUT`. */
export function readCall(value: unknown, what: string): CheckedCall {
  return readable(what, () => {
    const own = isObject(value) ? ownNames(value, { known: CALL_NAMES, what }) : value
    return frozenCopy(check(callSchema, own, what))
  })
}

/** The same for a preview, which may call a model with `summarize: true`. */
export function readPreview(
  value: unknown,
  what: string,
): { readonly call: CheckedCall; readonly summarize: boolean } {
  return readable(what, () => {
    const own = isObject(value) ? ownNames(value, { known: PREVIEW_NAMES, what }) : value
    const { summarize = false, ...call } = check(previewSchema, own, what)
    return { call: frozenCopy(call), summarize }
  })
}

/** The settings in a session's config, which may hold anything else. Throws `INVALID_INPUT` for an invalid setting. */
export function readSessionSettings(config: JsonObject, what: string): LayerValues {
  const own = ownNames(config, { known: SESSION_NAMES, what, ignoresUnknown: true })
  return frozenCopy(check(settingsSchema, own, what))
}

/** The same for a stored config. Invalid settings, which were not written through this package, are ignored. */
export function storedSessionSettings(config: JsonObject): LayerValues {
  try {
    return readSessionSettings(config, 'config')
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    const valid = SESSION_SETTINGS.filter((name) => isValid(name, config))
    return frozenCopy(Object.fromEntries(valid.map((name) => [name, config[name]])))
  }
}

function isValid(name: SettingName, config: JsonObject): boolean {
  return (
    Object.hasOwn(config, name) &&
    problemOf(settingsSchema.shape[name] as z.ZodType, config[name]) === undefined
  )
}

/** A frozen object without undefined values: plain data is copied; anything else (a summarizer, a stage) is the same object. */
export function frozenCopy<T extends object>(values: T): T {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.freeze(Object.fromEntries(entries.map(([name, value]) => [name, frozenValue(value)]))) as T
}

function frozenValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (jsonProblem(value) === undefined) return deepFreeze(structuredClone(value))
  return Array.isArray(value) ? Object.freeze(value.map(frozenValue)) : value
}

/** Checked JSON has a maximum depth, so the recursion ends. */
function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  return Object.freeze(value)
}

/*
 * NeuroLink and nca call one setting by several names, in several tables. They are translated to its one name in this package.
 */

/** NeuroLink's other names of the four switches. */
export type SwitchSpellings = {
  readonly enablePruning?: boolean | undefined
  readonly enableDeduplication?: boolean | undefined
  readonly enableSummarization?: boolean | undefined
  readonly enableSlidingWindow?: boolean | undefined
  readonly enableTruncation?: boolean | undefined
}

/** NeuroLink's table for compaction; its `enabled` is `auto` here. */
type ContextCompactionSpelling = SwitchSpellings & Settings

/** The tables of NeuroLink and nca, accepted wherever settings are given. */
export type Spellings = SwitchSpellings & {
  readonly compactionThreshold?: number | undefined
  readonly tokenThreshold?: number | undefined
  readonly contextCompaction?: ContextCompactionSpelling | undefined
  /** NeuroLink's table. */
  readonly conversationMemory?:
    | (SwitchSpellings &
        Settings & {
          readonly tokenThreshold?: number | undefined
          readonly maxSessions?: number | undefined
          readonly contextCompaction?: ContextCompactionSpelling | undefined
        })
    | undefined
  /** nca's table. */
  readonly memory?:
    | {
        readonly context?: {
          readonly context_window_target?: number
          readonly max_retained_messages?: number
          readonly auto_summarize_threshold?: number
          readonly enable_auto_summarize?: boolean
        }
        readonly auto_compact_on_finish?: boolean
        readonly file_path?: string
        readonly max_notes?: number
      }
    | undefined
}

type Table = {
  /** Foreign names, and the names of this package. */
  readonly names: ReadonlyMap<string, string>
  readonly tables: ReadonlyMap<string, Table>
  /** Names that have no counterpart in this package. */
  readonly ignored: ReadonlySet<string>
  /** Whether it may also hold settings under the names of this package. */
  readonly isOpen: boolean
  /** Whether names may be in snake_case. */
  readonly snake?: true
}

function table(
  names: Readonly<Record<string, string>>,
  tables: Readonly<Record<string, Table>> = {},
  rest: Partial<Pick<Table, 'isOpen' | 'snake'>> & { readonly ignored?: readonly string[] } = {},
): Table {
  const { ignored = [], ...others } = rest
  return {
    names: new Map(Object.entries(names)),
    tables: new Map(Object.entries(tables)),
    ignored: new Set(ignored),
    isOpen: false,
    ...others,
  }
}

const SWITCHES = {
  enablePruning: 'enablePrune',
  enableDeduplication: 'enableDeduplicate',
  enableSummarization: 'enableSummarize',
  enableSlidingWindow: 'enableTruncate',
  enableTruncation: 'enableTruncate',
  compactionThreshold: 'threshold',
  tokenThreshold: 'thresholdTokens',
}

const CONTEXT_COMPACTION = table({ ...SWITCHES, enabled: 'auto' }, {}, { isOpen: true })

const CONVERSATION_MEMORY = table(
  { ...SWITCHES, enabled: 'enabled' },
  { contextCompaction: CONTEXT_COMPACTION },
  // Limits the sessions held in memory; here none are.
  { isOpen: true, ignored: ['maxSessions'] },
)

/**
 * NeuroLink's `conversationMemory`, nca's `memory`, names of both beside the settings, NeuroLink's names of the
 * parts of a request, and a request's name of the setting `maxTokens`.
 */
const ROOT = table(
  { ...SWITCHES, ...NEUROLINK_PARTS, maxOutputTokens: 'maxTokens' },
  {
    contextCompaction: CONTEXT_COMPACTION,
    conversationMemory: CONVERSATION_MEMORY,
    memory: table(
      { autoCompactOnFinish: 'autoCompactOnFinish', maxNotes: 'maxNotes' },
      {
        context: table(
          {
            contextWindowTarget: 'contextWindowTarget',
            maxRetainedMessages: 'maxRetainedMessages',
            autoSummarizeThreshold: 'autoSummarizeThreshold',
            enableAutoSummarize: 'enableAutoSummarize',
          },
          {},
          { snake: true },
        ),
      },
      // The location is an argument of openStore.
      { snake: true, ignored: ['filePath'] },
    ),
  },
  { isOpen: true },
)

type Reading = {
  /** The names that are accepted at the top level. */
  readonly known: ReadonlySet<string>
  /** What errors call these settings. */
  readonly what: string
  /** Whether unknown names are ignored. Otherwise they are an error. */
  readonly ignoresUnknown?: boolean
  /** Whether names may be in snake_case at the top level too, as in files. */
  readonly snake?: boolean
}

/**
 * Settings under the names of this package. Throws `INVALID_INPUT` for an unknown name, and for two spellings of one setting with
 * different values.
 *
 * Two settings are implied: NeuroLink compacts automatically only while summaries are enabled, and nca's table selects nca's preset.
 */
export function ownNames(value: object, reading: Reading): Record<string, unknown> {
  const found = new Map<string, unknown>()
  const seen = new Set<Table>()
  const quiet = new Set<Table>()
  walk(value, ROOT, '', { ...reading, found, seen, quiet })

  if (quiet.size > 0 && !found.has('auto')) found.set('auto', false)
  if (seen.has(ROOT.tables.get('memory')!.tables.get('context')!) && !found.has('preset'))
    found.set('preset', 'nca')
  return Object.fromEntries(found)
}

function walk(
  value: object,
  here: Table,
  path: string,
  reading: Reading & {
    readonly found: Map<string, unknown>
    readonly seen: Set<Table>
    /** Tables that disable summaries and with them automatic compaction. */
    readonly quiet: Set<Table>
  },
): void {
  const { known, what, found, seen, quiet, ignoresUnknown = false, snake = false } = reading
  seen.add(here)
  for (const [written, one] of Object.entries(value)) {
    if (one === undefined) continue
    const name = here.snake || snake ? camelCase(written) : written
    const inner = here.tables.get(name)
    if (inner !== undefined && isObject(one) && (!ignoresUnknown || isOurs(name, one))) {
      walk(one, inner, `${path}${written}.`, reading)
      continue
    }
    if (here.ignored.has(name)) continue
    const own = here.names.get(name) ?? (here.isOpen && known.has(name) ? name : undefined)
    if (own === undefined || !known.has(own)) {
      if (ignoresUnknown) continue
      throw invalid(`${what}: Unrecognized key: ${quotedKey(path + written)}`)
    }
    if (found.has(own) && !isSame(found.get(own), one))
      throw invalid(`${what}: ${own} is given twice, under two names and with different values`)
    found.set(own, one)
    if (here === CONVERSATION_MEMORY && name === 'enableSummarization' && one === false) quiet.add(here)
  }
}

/** An application may have tables of these names in a session's config; `memory` is nca's only with its `context`. */
function isOurs(name: string, value: object): boolean {
  return name !== 'memory' || isObject((value as { context?: unknown }).context)
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  const isData = typeof a === 'object' && typeof b === 'object'
  return isData && canonicalJson(a) === canonicalJson(b)
}

/** `context_window_target` as `contextWindowTarget`. */
function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

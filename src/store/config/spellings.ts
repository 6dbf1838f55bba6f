import { invalid } from '../../core/errors.ts'
import { quotedKey } from '../../core/messages/check.ts'
import { canonicalJson, isObject, jsonProblem } from '../../core/messages/json.ts'
import { NEUROLINK_PARTS } from '../../core/tokens/budget.ts'
import type { Settings } from './settings.ts'

/*
 * The spellings of NeuroLink and nca, which give one setting several names, in several tables. They are accepted wherever settings are, and
 * translated here, once, to the names of this package.
 */

/** NeuroLink's names for the four switches. */
export type SwitchSpellings = {
  readonly enablePruning?: boolean | undefined
  readonly enableDeduplication?: boolean | undefined
  readonly enableSummarization?: boolean | undefined
  readonly enableSlidingWindow?: boolean | undefined
  readonly enableTruncation?: boolean | undefined
}

/** NeuroLink's table for compaction. Its `enabled` is called `auto` here. */
type ContextCompactionSpelling = SwitchSpellings & Settings

/** The tables of NeuroLink and nca, accepted wherever settings are. */
export type Spellings = SwitchSpellings & {
  readonly maxTokens?: number | undefined
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

/** Alternative names and the settings they stand for; `null` if this package has no such setting. */
type Names = { readonly [name: string]: string | null }

const NEUROLINK: Names = {
  enablePruning: 'enablePrune',
  enableDeduplication: 'enableDeduplicate',
  enableSummarization: 'enableSummarize',
  enableSlidingWindow: 'enableTruncate',
  enableTruncation: 'enableTruncate',
  compactionThreshold: 'threshold',
  tokenThreshold: 'thresholdTokens',
}

/** The tables by their paths. NeuroLink's and the top level may also contain settings under the names of this package. */
const TABLES: ReadonlyMap<string, Names> = new Map<string, Names>([
  ['', { ...NEUROLINK, ...NEUROLINK_PARTS, maxTokens: 'maxOutputTokens' }],
  ['contextCompaction', { ...NEUROLINK, enabled: 'auto' }],
  // It limits the sessions held in memory; this package holds none.
  ['conversationMemory', { ...NEUROLINK, maxSessions: null }],
  ['conversationMemory.contextCompaction', { ...NEUROLINK, enabled: 'auto' }],
  // The location is an argument of `openStore`.
  ['memory', { autoCompactOnFinish: 'autoCompactOnFinish', maxNotes: 'maxNotes', filePath: null }],
  [
    'memory.context',
    {
      contextWindowTarget: 'contextWindowTarget',
      maxRetainedMessages: 'maxRetainedMessages',
      autoSummarizeThreshold: 'autoSummarizeThreshold',
      enableAutoSummarize: 'enableAutoSummarize',
    },
  ],
])

type Reading = {
  /** The names that are accepted at the top level. */
  readonly known: ReadonlySet<string>
  /** How errors name these settings. */
  readonly what: string
  /** Whether other fields are allowed, and returned unchanged. Otherwise they are errors. */
  readonly isMixed?: boolean
  /** Whether names may also be in snake_case at the top level, as in files; nca's always may. */
  readonly snake?: boolean
}

type Fields = Record<string, unknown>

/**
 * Returns the settings under the names of this package, and the other fields (`isMixed`). Throws `INVALID_INPUT` for an unknown name, and
 * for two spellings of one setting with different values.
 *
 * Two settings are implied: NeuroLink compacts automatically only while summaries are enabled, and nca's table selects nca's preset.
 */
export function withOwnNames(value: object, reading: Reading): { settings: Fields; others: Fields } {
  const { known, what, isMixed = false, snake = false } = reading
  const found = new Map<string, unknown>()
  const implied = new Map<string, unknown>()

  const walk = (table: object, path: string, written: string): Fields => {
    const isOfNca = path.startsWith('memory')
    const names = TABLES.get(path)!
    const others: [string, unknown][] = []
    for (const [key, one] of Object.entries(table)) {
      if (one === undefined) continue
      const name = isOfNca || snake ? camelCase(key) : key
      const inner = path === '' ? name : `${path}.${name}`
      if (inner !== '' && TABLES.has(inner) && isObject(one) && (!isMixed || isOurs(inner, one))) {
        const rest = walk(one, inner, `${written}${key}.`)
        if (Object.keys(rest).length > 0) others.push([key, rest])
        continue
      }
      const own = Object.hasOwn(names, name) ? names[name] : isOfNca ? undefined : name
      if (own === null || own === undefined || !known.has(own)) {
        if (own !== null && !isMixed) throw invalid(`${what}: Unrecognized key: ${quotedKey(written + key)}`)
        others.push([key, one])
        continue
      }
      if (found.has(own) && !isSameValue(found.get(own), one))
        throw invalid(`${what}: ${own} is given twice, under two names and with different values`)
      found.set(own, one)
      if (path === 'conversationMemory' && name === 'enableSummarization' && one === false)
        implied.set('auto', false)
    }
    if (path === 'memory.context') implied.set('preset', 'nca')
    return Object.fromEntries(others)
  }

  const others = walk(value, '', '')
  return { settings: Object.fromEntries([...implied, ...found]), others }
}

/** An application may have tables of these names in a session's config; `memory` is nca's only if it contains `context`. */
function isOurs(path: string, value: object): boolean {
  return path !== 'memory' || isObject((value as { context?: unknown }).context)
}

/** Whether two values of a setting are the same: equal data, or identical objects and functions. */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, at) => isSameValue(one, b[at]))
  const isData = jsonProblem(a) === undefined && jsonProblem(b) === undefined
  return isData && canonicalJson(a) === canonicalJson(b)
}

/** `context_window_target` as `contextWindowTarget`. */
function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

import { invalid } from '../errors.ts'
import { canonicalJson, isObject } from '../messages/json.ts'
import type { Settings } from './settings.ts'

/*
 * The founding documents call one setting by several names, in several tables. Here they become the one name it has in
 * this package. Source: seed 003 (SDK configuration, CompactionConfig), seed 004 ([memory.context]).
 */

/** Seed 003's other names of the four switches. */
export type SwitchSpellings = {
  readonly enablePruning?: boolean | undefined
  readonly enableDeduplication?: boolean | undefined
  readonly enableSummarization?: boolean | undefined
  readonly enableSlidingWindow?: boolean | undefined
  readonly enableTruncation?: boolean | undefined
}

/** Seed 003's block of compaction; `enabled` is `auto` here. */
type ContextCompactionSpelling = SwitchSpellings & Settings

/** The tables of the founding documents, wherever settings are given. */
export type Spellings = SwitchSpellings & {
  readonly compactionThreshold?: number | undefined
  readonly tokenThreshold?: number | undefined
  readonly contextCompaction?: ContextCompactionSpelling | undefined
  /** Seed 003. */
  readonly conversationMemory?:
    | (SwitchSpellings &
        Settings & {
          readonly tokenThreshold?: number | undefined
          readonly maxSessions?: number | undefined
          readonly contextCompaction?: ContextCompactionSpelling | undefined
        })
    | undefined
  /** Seed 004. */
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
  /** Foreign names and what they are called here. */
  readonly names: ReadonlyMap<string, string>
  readonly tables: ReadonlyMap<string, Table>
  /** What these documents have and this package has no use for. */
  readonly ignored: ReadonlySet<string>
  /** Whether the settings' own names may stand in it. */
  readonly isOpen: boolean
  /** Whether names may be written_so. */
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
  // How many sessions are kept in memory: here none are, so there is nothing to bound.
  { isOpen: true, ignored: ['maxSessions'] },
)

/** Seed 003's `conversationMemory`, seed 004's `memory`, and names of both where the settings themselves stand. */
const ROOT = table(
  SWITCHES,
  {
    contextCompaction: CONTEXT_COMPACTION,
    conversationMemory: CONVERSATION_MEMORY,
    memory: table(
      { autoCompactOnFinish: 'autoCompactOnFinish' },
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
      // The store's place is an argument of openStore, and it keeps no notes.
      { snake: true, ignored: ['filePath', 'maxNotes'] },
    ),
  },
  { isOpen: true },
)

type Reading = {
  /** The names that may stand at the top. */
  readonly known: ReadonlySet<string>
  /** For errors: whose settings these are. */
  readonly what: string
  /** Whether names nobody knows are somebody else's. Otherwise they are an error. */
  readonly ignoresUnknown?: boolean
  /** Whether names may be written_so at the top too, as files have it. */
  readonly snake?: boolean
}

/**
 * Settings under their own names. Throws `INVALID_INPUT` for a name nobody knows, and for two spellings of one setting
 * with different values.
 *
 * Two things are meant without being said: 003's compaction runs by itself only while summaries are on, and who writes
 * 004's table wants 004's manner.
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
    /** Tables that switch summaries off and mean compaction by itself too. */
    readonly quiet: Set<Table>
  },
): void {
  const { known, what, found, seen, quiet, ignoresUnknown = false, snake = false } = reading
  seen.add(here)
  for (const [written, one] of Object.entries(value)) {
    if (one === undefined) continue
    const name = here.snake || snake ? camelCase(written) : written
    const inner = here.tables.get(name)
    if (inner !== undefined && isObject(one) && (!ignoresUnknown || isMeant(name, one))) {
      walk(one, inner, `${path}${written}.`, reading)
      continue
    }
    if (here.ignored.has(name)) continue
    const own = here.names.get(name) ?? (here.isOpen && known.has(name) ? name : undefined)
    if (own === undefined || !known.has(own)) {
      if (ignoresUnknown) continue
      throw invalid(`${what}: Unrecognized key: "${`${path}${written}`.slice(0, 80)}"`)
    }
    if (found.has(own) && !isSame(found.get(own), one))
      throw invalid(`${what}: ${own} is given twice, under two names and with different values`)
    found.set(own, one)
    if (here === CONVERSATION_MEMORY && name === 'enableSummarization' && one === false) quiet.add(here)
  }
}

/** In the config of a session an application may have tables of these names too; ours hold what the documents say. */
function isMeant(name: string, value: object): boolean {
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

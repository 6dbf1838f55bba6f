import { z } from 'zod'
import { invalid } from '../core/errors.ts'
import { check } from '../core/messages/check.ts'
import { isObject, parsedJson } from '../core/messages/json.ts'
import { summarizerSchema } from '../core/summarizers/summarizer.ts'
import { type Estimator, isEstimator } from '../core/tokens/estimators/estimator-schema.ts'
import { BUILT_IN_ESTIMATORS, ESTIMATOR_NAMES, estimatorNamed } from '../core/tokens/measure.ts'
import { isTokenizerName, TOKENIZER_NAMES, tokenizerEstimator } from '../core/tokens/tokenizer.ts'
import { type ContextWindows, contextWindowsSchema, windowsProblem } from '../core/tokens/windows.ts'
import { isPostgresUrl, storeIn } from '../storage/location.ts'
import { isPostgresSource, openPostgres, type PostgresSource } from '../storage/postgres/storage.ts'
import { redacting } from '../storage/redacting.ts'
import { type RedactFunction, Redaction } from '../storage/redaction.ts'
import type { Database } from '../storage/sqlite/driver.ts'
import { openFile, takeConnection } from '../storage/sqlite/open.ts'
import { type SqliteStorage, sqliteStorage } from '../storage/sqlite/storage.ts'
import type { Estimators, Storage } from '../storage/storage.ts'
import {
  type Environment,
  FILE_VARIABLE,
  readConfigFile,
  readEnvironment,
  unknownVariables,
} from './config/environment.ts'
import { frozenCopy, readSettings } from './config/read-settings.ts'
import { mergeWindows, resolveLayers } from './config/resolve.ts'
import type { Layer, Settings } from './config/settings.ts'
import type { Spellings } from './config/spellings.ts'
import type { StatsOptions } from './config/store-options.ts'
import type { ResizeStoredImage } from './requests/resized-images.ts'
import { contextOf, Store } from './store.ts'

/** Milliseconds that a call waits for another connection's write. */
const DEFAULT_BUSY_TIMEOUT_MS = 5_000
/** The name of a built-in estimator or a tokenizer, or an estimator of the application. */
const namedEstimatorSchema = z.custom<Estimator | string>(
  (value) =>
    typeof value === 'string'
      ? estimatorNamed(value) !== undefined || isTokenizerName(value)
      : isEstimator(value),
  `must be an estimator, or one of ${[...ESTIMATOR_NAMES, ...TOKENIZER_NAMES].join(', ')}`,
)
const redactorSchema = z.custom<'secrets' | RedactFunction>(
  (value) => value === 'secrets' || typeof value === 'function',
  "must be 'secrets' or a function",
)
const redactorsSchema = z.union([redactorSchema, z.array(redactorSchema).min(1).max(100)])
const redactSchema = z.union([
  redactorsSchema,
  z.strictObject({
    /** What replaces texts: `'secrets'`, which finds credentials, functions of the application, or a list of them, applied in turn. */
    with: redactorsSchema,
    /**
     * What happens to a part with a text to redact that its provider signed, such as reasoning: `drop` (default) stores the part empty,
     * `refuse` throws `REDACTION_REFUSED`.
     */
    sealed: z.enum(['drop', 'refuse']).default('drop'),
    /** What happens to a part with encrypted content, which nobody but its provider can read. Default: `keep`. */
    opaque: z.enum(['keep', 'drop', 'refuse']).default('keep'),
  }),
])
const openSchema = z.strictObject({
  /** Whether the store is opened for reading only. The file must be a store. */
  readonly: z.boolean().default(false),
  /**
   * What a committed append survives. "full" (default): a power failure. "normal", two to three times as fast: a crash of the process;
   * after a power failure the last turns may be lost. Ignored for a connection of the application.
   */
  durability: z.enum(['full', 'normal']).default('full'),
  /**
   * Whether the tables may be added to another program's database. Required once; without it such a file throws `NOT_A_STORE` and nothing
   * is written. Not required for a connection of the application.
   */
  adopt: z.boolean().default(false),
  /**
   * Whether a new file can return free pages to the file system in small steps, after removals (docs/retention.md). This makes an append
   * about a tenth slower. An older file becomes such a file when it is cleared after a removal. Ignored for a connection of the application
   * and for PostgreSQL.
   */
  returnsSpace: z.boolean().default(false),
  /** The PostgreSQL schema of the tables, used only by this package. Default: `?schema=` of the URL, else `undertext`. */
  schema: z.string().optional(),
  /**
   * Whether the store is used for one owner at a time: then its methods throw `OWNER_REQUIRED`, and only those of `store.forOwner(owner)`
   * work. Default `false`.
   */
  strict: z.boolean().default(false),
  /**
   * Whether each transaction of `store.forOwner(owner)` in PostgreSQL sets `undertext.owner`, which the policies of row-level security read
   * (docs/owners.md). Default `false`.
   */
  rowSecurity: z.boolean().optional(),
  /**
   * Whether prepared statements are used in PostgreSQL. Set to `false` for a pooler in transaction mode. Default: `prepare=` of the URL,
   * else `true`.
   */
  prepare: z.boolean().optional(),
  /** Milliseconds that a call waits for another connection's write. Default 5,000. */
  busyTimeoutMs: z.int().nonnegative().max(600_000).default(DEFAULT_BUSY_TIMEOUT_MS),
  /**
   * The estimator of new sessions, or its name (`neurolink`, `calibrated`, `neuron`, `promptfleet`, `nca`, `o200k_base`,
   * `cl100k_base` …). Default: `calibrated`, the most accurate one without a tokenizer (docs/estimators.md).
   */
  estimator: namedEstimatorSchema.optional(),
  /** Additional estimators, for sessions that were counted with them. The built-in ones are always available. */
  estimators: z.array(namedEstimatorSchema).optional(),
  /**
   * Context windows in tokens of models that the registry doesn't have, or overrides: provider to tokens, or provider to model to tokens,
   * with `_default` for the other models. A session's `config.contextWindows` overrides it.
   */
  contextWindows: contextWindowsSchema.optional(),
  /** The default summarizer. Default: the extractive one, which needs no model. */
  summarizer: summarizerSchema.optional(),
  /**
   * Resizes an image that has more pixels or bytes than the provider of a request accepts; without this function a text replaces such an
   * image (docs/validity.md). It is called once per image, whose result is remembered while the store is open; afterwards it must return
   * the same bytes.
   */
  resizeImage: z
    .custom<ResizeStoredImage>((value) => typeof value === 'function', 'must be a function')
    .optional(),
  /**
   * Replaces texts before they are stored, indexed or summarized: `'secrets'` finds credentials, a function finds what you like
   * (docs/redaction.md). What is stored already stays: `privacy.scan` reports it.
   */
  redact: redactSchema.optional(),
  /** Settings of all sessions (docs/configuration.md). A session's own `config` and the options of a call override them. */
  config: z.custom<Settings & Spellings>(isObject, 'must be an object').optional(),
  /** Path of a settings file, JSON or TOML; `config` and the environment override it. Default: the value of `UNDERTEXT_CONFIG`. */
  configFile: z.string().min(1).optional(),
  /** Environment variables, like `UNDERTEXT_THRESHOLD`, which are read once. Default: `process.env`; `false` for none. */
  env: z
    .union([
      z.literal(false),
      z.custom<Environment>(
        (value) => typeof value === 'object' && value !== null,
        'must be an object or false',
      ),
    ])
    .optional(),
})

/** Options of `openStore`. */
export type OpenOptions = z.input<typeof openSchema>
type CheckedOptions = z.output<typeof openSchema>

/** A store in SQLite. SQLite is synchronous, so `needsCompaction` returns a boolean. */
export class SqliteStore extends Store<SqliteStorage> {
  override needsCompaction(
    sessionId: string,
    provider?: string,
    model?: string,
    options: StatsOptions = {},
  ): boolean {
    return super.needsCompaction(sessionId, provider, model, options) as boolean
  }
}

/** The type of a store by its location. If the location is known only at run time, it has only what both engines have in common. */
export type StoreAt<L extends string> = string extends L
  ? Store
  : L extends `postgres://${string}` | `postgresql://${string}`
    ? Store
    : SqliteStore

/**
 * Opens a store in SQLite (a path, `':memory:'`, or a better-sqlite3 connection of the application, to whose database the tables are added
 * under a prefix) or in PostgreSQL (a URL, a pool of `pg`, an instance of PGlite, or a driver of four functions). Connections that are
 * passed in keep their settings and are never closed by the store.
 *
 * Throws `INVALID_INPUT`, `NOT_A_STORE`, `STORE_UNAVAILABLE`, `STORE_TOO_NEW`, `STORE_TOO_OLD`, `STORE_BUSY`, `DRIVER_UNSUPPORTED`,
 * `DRIVER_UNAVAILABLE`, `CONNECTION_UNSUITABLE`, `IN_TRANSACTION`, `TOKENIZER_UNAVAILABLE`.
 */
export async function openStore<const L extends string>(
  location: L,
  options?: OpenOptions,
): Promise<StoreAt<L>>
export async function openStore(location: Database, options?: OpenOptions): Promise<SqliteStore>
export async function openStore(location: Database | PostgresSource, options?: OpenOptions): Promise<Store>
export async function openStore(
  location: Database | PostgresSource,
  options: OpenOptions = {},
): Promise<Store> {
  const checked = check(openSchema, options, 'openStore')
  const layers = await layersOf(checked)
  return open(location, checked, layers)
}

/** Opens a store like `openStore`, for the command line: it reads the windows that applications stored, and adds none. */
export async function openForCommand(location: string, options: OpenOptions): Promise<Store> {
  const checked = check(openSchema, options, 'openStore')
  const store = await open(location, checked, await layersOf(checked))
  const { storage, configuration } = contextOf(store)
  const windows = await keptWindows(storage).catch(() => undefined)
  if (windows !== undefined) configuration.addWindows(windows)
  return store
}

/** The key under which applications' windows are stored. */
const WINDOWS = 'windows'

/**
 * Stores the windows that an application passes, so that the command line, which doesn't run in the application, counts with them. The
 * store works without them: a role may lack the permission, and another program may hold the lock.
 */
async function keepWindows(
  storage: Pick<Storage, 'histories'>,
  { readonly }: CheckedOptions,
  [first]: readonly Layer[],
): Promise<void> {
  const given = first?.values.contextWindows
  if (given === undefined || readonly) return
  try {
    const kept = await keptWindows(storage)
    const all = JSON.stringify(kept === undefined ? given : mergeWindows(given, kept))
    if (all !== JSON.stringify(kept)) await storage.histories.writeMark(WINDOWS, all)
  } catch {
    // Only the command line's figures depend on it.
  }
}

async function keptWindows(storage: Pick<Storage, 'histories'>): Promise<ContextWindows | undefined> {
  const kept = parsedJson((await storage.histories.mark(WINDOWS)) ?? '')
  return kept === undefined || windowsProblem(kept) !== undefined ? undefined : (kept as ContextWindows)
}

async function open(
  location: Database | PostgresSource,
  checked: CheckedOptions,
  layers: readonly Layer[],
): Promise<Store> {
  const { resizeImage, strict } = checked
  const settings = { layers, resizeImage, strict }
  const redaction = await redactionOf(checked)
  const estimators = await estimatorsOf(checked, resolveLayers(layers).settings.estimator)
  if (isPostgresSource(location) || (typeof location === 'string' && isPostgresUrl(location))) {
    if (checked.durability === 'normal')
      throw invalid('openStore: on PostgreSQL, durability is a setting of the server (synchronous_commit)')
    const inUrl = storeIn(typeof location === 'string' ? location : '')
    const { schema = inUrl.schema, prepare = inUrl.prepare, rowSecurity = false } = checked
    const given = { ...checked, schema, prepare, rowSecurity }
    const storage = await openPostgres(location, given, estimators)
    await keepWindows(storage, checked, layers)
    return new Store(redacted(storage, redaction), { estimators, ...settings })
  }
  if (checked.schema !== undefined || checked.prepare !== undefined || checked.rowSecurity !== undefined)
    throw invalid('openStore: schema, prepare and rowSecurity are only for PostgreSQL')
  const connection =
    typeof location === 'string' ? await openFile(location, checked) : takeConnection(location, checked)
  const storage = sqliteStorage(connection, estimators)
  await keepWindows(storage, checked, layers)
  return new SqliteStore(redacted(storage, redaction), { estimators, ...settings })
}

function redacted<S extends Storage>(storage: S, redaction: Redaction | undefined): S {
  return redaction === undefined ? storage : redacting(storage, redaction)
}

/** The rules are loaded only by a store that redacts. */
async function redactionOf({ redact }: CheckedOptions): Promise<Redaction | undefined> {
  if (redact === undefined) return undefined
  const isWhole = typeof redact === 'object' && !Array.isArray(redact)
  const { with: given, ...rules } = isWhole
    ? redact
    : { with: redact, sealed: 'drop' as const, opaque: 'keep' as const }
  const list = [given].flat()
  const functions = await Promise.all(
    list.map(async (one) =>
      one === 'secrets' ? (await import('../core/secrets/redact-secrets.ts')).redactSecrets : one,
    ),
  )
  return new Redaction(functions, rules)
}

/**
 * Returns the store-wide settings, highest precedence first. Options of `openStore` that are settings belong to the layer of its `config`.
 */
async function layersOf(options: CheckedOptions): Promise<Layer[]> {
  const { config = {}, env = process.env } = options
  const layers: Layer[] = [{ source: 'store', values: storeLayer(options, config) }]
  if (env !== false) {
    layers.push({ source: 'environment', values: readEnvironment(env) })
    rejectUnknown(unknownVariables(env), options.env !== undefined)
  }
  const fromVariable = env === false ? undefined : env[FILE_VARIABLE] || undefined
  const path = options.configFile ?? fromVariable
  if (path !== undefined) {
    const what = options.configFile === undefined ? FILE_VARIABLE : 'openStore: configFile'
    layers.push({ source: 'file', values: await readConfigFile(path, what) })
  }
  return layers
}

/** Names that were already warned about: every store of a process reads the same environment. */
const warned = new Set<string>()

/**
 * A variable with our prefix that nothing reads is a mistake. In an `env` passed by the caller it is an error; in the process's
 * environment, which other programs may have set, it causes one warning.
 */
function rejectUnknown(names: readonly string[], isHandedIn: boolean): void {
  if (names.length > 0 && isHandedIn) throw invalid(`openStore: env: ${names[0]} isn't a setting`)
  for (const name of names) {
    if (warned.has(name)) continue
    warned.add(name)
    process.emitWarning(
      `undertext: the variable ${name} isn't a setting; docs/configuration.md lists the variables`,
      {
        type: 'UndertextWarning',
        code: 'UNDERTEXT_VARIABLE',
      },
    )
  }
}

function storeLayer(options: CheckedOptions, config: object): Layer['values'] {
  const { estimator, summarizer, contextWindows } = options
  const given = {
    estimator: typeof estimator === 'object' ? estimator.name : estimator,
    summarizer,
    contextWindows,
  }
  const values = readSettings(config, 'openStore: config')
  for (const name of ['estimator', 'summarizer', 'contextWindows'] as const) {
    if (given[name] !== undefined && values[name] !== undefined)
      throw invalid(`openStore: ${name} is given twice, as an option and in config`)
  }
  return { ...values, ...frozenCopy(given) }
}

/** `named` is the estimator in the settings, for new sessions. */
async function estimatorsOf(
  { estimator, estimators = [] }: CheckedOptions,
  named: string,
): Promise<Estimators> {
  const given = await Promise.all(estimators.map(resolveEstimator))
  const own = given.find(({ name }) => name === named)
  const standard = typeof estimator === 'object' ? estimator : (own ?? (await resolveEstimator(named)))
  const all = [...BUILT_IN_ESTIMATORS, ...given, standard]
  return { standard, byName: new Map(all.map((one) => [one.name, one] as const)) }
}

async function resolveEstimator(estimator: Estimator | string): Promise<Estimator> {
  if (typeof estimator !== 'string') return estimator
  const builtIn = estimatorNamed(estimator)
  if (builtIn !== undefined) return builtIn
  if (isTokenizerName(estimator)) return tokenizerEstimator(estimator)
  const names = [...ESTIMATOR_NAMES, ...TOKENIZER_NAMES].join(', ')
  throw invalid(`openStore: the estimator of the settings must be one of ${names}, or passed as an option`)
}

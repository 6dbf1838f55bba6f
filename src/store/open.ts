import {
  closeSync,
  existsSync,
  fchmodSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import {
  type Environment,
  FILE_VARIABLE,
  readConfigFile,
  readEnvironment,
  unknownVariables,
} from '../config/environment.ts'
import type { Spellings } from '../config/read-settings.ts'
import { frozenCopy, readSettings } from '../config/read-settings.ts'
import { resolveLayers } from '../config/resolve.ts'
import type { Layer, Settings } from '../config/settings.ts'
import type { StatsOptions } from '../config/store-options.ts'
import { invalid, UndertextError } from '../errors.ts'
import { check } from '../messages/check.ts'
import { isObject } from '../messages/json.ts'
import { Connection, fromDriver, sqliteCode, translateFailure } from '../storage/sqlite/connection.ts'
import { type Database, loadDriver } from '../storage/sqlite/driver.ts'
import { expireAllDead } from '../storage/sqlite/lease.ts'
import { migrate, refuseOthers } from '../storage/sqlite/migrate.ts'
import { finishClearing } from '../storage/sqlite/residue.ts'
import { type SqliteStorage, sqliteStorage } from '../storage/sqlite/storage.ts'
import type { Estimators } from '../storage/storage.ts'
import { summarizerSchema } from '../summarizers/summarizer.ts'
import { BUILT_IN_ESTIMATORS, ESTIMATOR_NAMES, estimatorNamed } from '../tokens/estimators/built-in.ts'
import { type Estimator, isEstimator } from '../tokens/estimators/estimator-schema.ts'
import { isTokenizerName, TOKENIZER_NAMES, tokenizerEstimator } from '../tokens/tokenizer.ts'
import { contextWindowsSchema } from '../tokens/windows.ts'
import { Store } from './store.ts'

/** The mode of a new file: what people said is nobody else's, whatever the umask. */
const PRIVATE = 0o600
/** How long a verb waits for another connection's write, milliseconds. */
const DEFAULT_BUSY_TIMEOUT_MS = 5_000
/** The write-ahead log is cut back to this after a checkpoint, bytes; by default SQLite lets it stay as large as it ever was. */
const JOURNAL_SIZE_LIMIT = 16 * 1024 * 1024

/** The name of a built-in estimator or a tokenizer, or an estimator of the application's own. */
const namedEstimatorSchema = z.custom<Estimator | string>(
  (value) =>
    typeof value === 'string'
      ? estimatorNamed(value) !== undefined || isTokenizerName(value)
      : isEstimator(value),
  `must be an estimator, or one of ${[...ESTIMATOR_NAMES, ...TOKENIZER_NAMES].join(', ')}`,
)
const openSchema = z.strictObject({
  /** Read everything, write nothing. The file must be a store already. */
  readonly: z.boolean().default(false),
  /**
   * What an append survives. "full" (default): a power cut. "normal", two to three times as fast: a crash of the
   * process; after a power cut the last turns may be gone. For files of our own.
   */
  durability: z.enum(['full', 'normal']).default('full'),
  /**
   * Whether the tables may be added to the database of another program. It is needed once; without it such a file is
   * `NOT_A_STORE`, and nothing is written. A connection that is handed in needs no consent.
   */
  adopt: z.boolean().default(false),
  /** How long a verb waits for another connection, milliseconds. Default 5,000. */
  busyTimeoutMs: z.int().nonnegative().max(600_000).default(DEFAULT_BUSY_TIMEOUT_MS),
  /**
   * How new sessions are counted: an estimator, or a name (`neurolink`, `calibrated`, `neuron`, `promptfleet`, `nca`,
   * `o200k_base`, `cl100k_base` …). Default: `calibrated`, which comes closest without a tokenizer (docs/estimators.md);
   * `neurolink` is the formula of the founding documents.
   */
  estimator: namedEstimatorSchema.optional(),
  /** Further estimators, for sessions that were counted with them. The built-in ones are known anyway. */
  estimators: z.array(namedEstimatorSchema).optional(),
  /**
   * Context windows of models the registry does not know, or knows otherwise, tokens: provider to tokens, or provider to
   * model to tokens with `_default` for the others. A session's `config.contextWindows` goes before it.
   */
  contextWindows: contextWindowsSchema.optional(),
  /** Who writes summaries when a call names nobody. Default: the extractive one, which needs no model. */
  summarizer: summarizerSchema.optional(),
  /** Settings of all sessions (docs/configuration.md). A session's own `config` and a call go before them. */
  config: z.custom<Settings & Spellings>(isObject, 'must be an object').optional(),
  /** A file of settings, JSON or TOML; `config` and the environment go before it. Default: what `UNDERTEXT_CONFIG` names. */
  configFile: z.string().min(1).optional(),
  /** Where variables like `UNDERTEXT_THRESHOLD` are read, once. Default: `process.env`; `false`: nowhere. */
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

export type OpenOptions = z.input<typeof openSchema>
type CheckedOptions = z.output<typeof openSchema>

/** A store over SQLite. Underneath everything is done at once, so `needsCompaction` is a plain boolean. */
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

/**
 * Opens a store: a path, `':memory:'`, or a better-sqlite3 connection of the application's own, beside whose
 * tables ours live under a prefix. A connection that is handed in keeps its pragmas and is never closed by us.
 *
 * Throws `INVALID_INPUT`, `NOT_A_STORE`, `STORE_UNAVAILABLE`, `STORE_TOO_NEW`, `STORE_TOO_OLD`, `STORE_BUSY`,
 * `DRIVER_UNSUPPORTED`, `DRIVER_UNAVAILABLE`, `CONNECTION_UNSUITABLE`, `IN_TRANSACTION`, `TOKENIZER_UNAVAILABLE`.
 */
export async function openStore(
  location: string | Database,
  options: OpenOptions = {},
): Promise<SqliteStore> {
  const checked = check(openSchema, options, 'openStore')
  const layers = await layersOf(checked)
  const estimators = await estimatorsOf(checked, resolveLayers(layers).settings.estimator)
  const connection =
    typeof location === 'string' ? await openFile(location, checked) : takeConnection(location, checked)
  return new SqliteStore(sqliteStorage(connection, estimators), { estimators, layers })
}

/** The store-wide settings, weightiest first. Options of `openStore` that are settings stand in the layer of its `config`. */
async function layersOf(options: CheckedOptions): Promise<Layer[]> {
  const { config = {}, env = process.env } = options
  const layers: Layer[] = [{ source: 'store', values: storeLayer(options, config) }]
  if (env !== false) {
    layers.push({ source: 'environment', values: readEnvironment(env) })
    refuseUnknown(unknownVariables(env), options.env !== undefined)
  }
  const fromVariable = env === false ? undefined : env[FILE_VARIABLE] || undefined
  const path = options.configFile ?? fromVariable
  if (path !== undefined) {
    const what = options.configFile === undefined ? FILE_VARIABLE : 'openStore: configFile'
    layers.push({ source: 'file', values: await readConfigFile(path, what) })
  }
  return layers
}

/** Names told already: every store of a process reads the same environment. */
const told = new Set<string>()

/**
 * A variable under our prefix that nothing reads was meant to do something. One that was handed in is refused; of the
 * process's own, which others may have set, it is warned once.
 */
function refuseUnknown(names: readonly string[], isHandedIn: boolean): void {
  if (names.length > 0 && isHandedIn) throw invalid(`openStore: env: ${names[0]} is no setting`)
  for (const name of names) {
    if (told.has(name)) continue
    told.add(name)
    process.emitWarning(`undertext: nothing reads ${name}; docs/configuration.md has the variables`, {
      type: 'UndertextWarning',
      code: 'UNDERTEXT_VARIABLE',
    })
  }
}

function storeLayer(options: CheckedOptions, config: object): Layer['values'] {
  const { estimator, summarizer, contextWindows } = options
  const said = {
    estimator: typeof estimator === 'object' ? estimator.name : estimator,
    summarizer,
    contextWindows,
  }
  const values = readSettings(config, 'openStore: config')
  for (const name of ['estimator', 'summarizer', 'contextWindows'] as const) {
    if (said[name] !== undefined && values[name] !== undefined)
      throw invalid(`openStore: ${name} is given twice, as an option and in config`)
  }
  return { ...values, ...frozenCopy(said) }
}

/** `named` is the estimator the settings name: new sessions are counted by it. */
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
  throw invalid(`openStore: the estimator of the settings must be one of ${names}, or given as an option`)
}

async function openFile(location: string, options: CheckedOptions): Promise<Connection> {
  if (location === '')
    throw invalid("openStore: the location must not be empty; ':memory:' keeps a store in memory")
  if (location.includes('\0')) throw invalid('openStore: a path cannot contain NUL')
  if (location !== ':memory:') refuseImpossible(location, options)
  else if (options.readonly) throw invalid('openStore: a store in memory is empty, so it cannot be read-only')
  const Driver = await loadDriver()
  const { busyTimeoutMs } = options
  const where = { location, busyTimeoutMs, verb: 'openStore' }
  const open = (readonly: boolean): Connection => {
    const database = new Driver(location, { readonly, timeout: busyTimeoutMs })
    return new Connection(database, { ...where, readonly, owned: true })
  }
  let connection: Connection | undefined
  try {
    if (!options.readonly && !/^(:memory:$|file:)/.test(location)) prepareLocation(location, options, open)
    connection = open(options.readonly)
    prepareFile(connection, options)
    return connection
  } catch (error) {
    connection?.close()
    throw translateFailure(error, where)
  }
}

/**
 * Makes a new file for its owner alone: SQLite gives the files beside it the same mode. An existing one of another program is
 * refused before it is opened for writing, which would move its write-ahead log into it.
 */
function prepareLocation(
  location: string,
  { adopt }: CheckedOptions,
  open: (readonly: boolean) => Connection,
): void {
  if (makePrivate(location) || adopt || !hasLog(location)) return
  const connection = open(true)
  try {
    refuseOthers(connection)
  } finally {
    connection.close()
  }
}

/** Makes a file that only its owner may read; returns false when there is one, or none can be made, which SQLite then says. */
function makePrivate(path: string): boolean {
  try {
    const file = openSync(existsSync(path) ? path : endOfLink(path), 'wx', PRIVATE)
    fchmodSync(file, PRIVATE)
    closeSync(file)
    return true
  } catch {
    return false
  }
}

/** Where a link leads that leads to no file yet. */
function endOfLink(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink ? resolve(dirname(path), readlinkSync(path)) : path
}

function hasLog(path: string): boolean {
  try {
    return statSync(`${realpathSync(path)}-wal`).size > 0
  } catch {
    return false
  }
}

/** What the driver would answer with an unhelpful word. */
function refuseImpossible(location: string, { readonly }: CheckedOptions): void {
  const unavailable = (detail: string): UndertextError =>
    new UndertextError('STORE_UNAVAILABLE', { location, detail })
  const found = statOf(location, unavailable)
  if (found?.isDirectory()) throw unavailable('it is a directory.')
  if (found === undefined && readonly)
    throw unavailable('there is no such file, and a read-only store makes none.')
  if (found === undefined && !existsSync(dirname(location))) throw unavailable('its folder does not exist.')
}

function statOf(location: string, unavailable: (detail: string) => UndertextError): Stats | undefined {
  try {
    return statSync(location, { throwIfNoEntry: false })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw unavailable(
      code === 'ENOTDIR' ? 'a file stands where its folder should be.' : `it cannot be looked at (${code}).`,
    )
  }
}

/**
 * Migrates, then switches to the write-ahead log: in that order, because on a fresh file the switch answers
 * "busy" at once when another process is at the same.
 */
function prepareFile(
  connection: Connection,
  { readonly, adopt, durability, busyTimeoutMs }: CheckedOptions,
): void {
  // Without it INSERT OR REPLACE deletes a row without firing the trigger that keeps it.
  connection.pragma('recursive_triggers = on')
  migrate(connection, { adopt })
  if (readonly) return
  useWriteAheadLog(connection, busyTimeoutMs)
  connection.pragma(`synchronous = ${durability}`)
  connection.pragma(`journal_size_limit = ${JOURNAL_SIZE_LIMIT}`)
  finishEarlierWork(connection)
}

/** Finishes what others could not: clearing the files after a removal, and the attempts of processes that died. */
function finishEarlierWork(connection: Connection): void {
  if (connection.readonly) return
  finishClearing(connection, 'openStore')
  expireAllDead(connection)
}

function useWriteAheadLog(connection: Connection, busyTimeoutMs: number): void {
  const deadline = Date.now() + busyTimeoutMs
  for (;;) {
    try {
      connection.pragma('journal_mode = wal')
      return
    } catch (error) {
      // A process that recovers the log of one that was killed gives a code of its own: SQLITE_BUSY_RECOVERY.
      if (!sqliteCode(error)?.startsWith('SQLITE_BUSY') || Date.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

/** Takes over a connection of the application's. What we need and do not find is said, not changed. */
function takeConnection(database: Database, options: CheckedOptions): Connection {
  if (
    typeof database !== 'object' ||
    database === null ||
    typeof database.prepare !== 'function' ||
    typeof database.pragma !== 'function'
  ) {
    throw invalid('openStore: the location must be a path or a better-sqlite3 connection')
  }
  if (!database.open) throw new UndertextError('CONNECTION_UNSUITABLE', { detail: 'it is closed.' })
  if (database.inTransaction) throw new UndertextError('IN_TRANSACTION', { verb: 'openStore' })
  if (database.readonly && !options.readonly) {
    throw new UndertextError('CONNECTION_UNSUITABLE', {
      detail: 'it is read-only; pass { readonly: true } to openStore.',
    })
  }
  const location = database.name
  let busyTimeoutMs = 0
  try {
    // A connection may give integers as BigInt.
    if (!options.readonly && Number(database.pragma('query_only', { simple: true })) === 1) {
      throw new UndertextError('CONNECTION_UNSUITABLE', { detail: 'its pragma query_only is on.' })
    }
    busyTimeoutMs = Number(database.pragma('busy_timeout', { simple: true }))
  } catch (error) {
    throw translateFailure(fromDriver(error, location), { location, busyTimeoutMs, verb: 'openStore' })
  }
  const { readonly } = options
  const connection = new Connection(database, { location, readonly, owned: false, busyTimeoutMs })
  try {
    migrate(connection, { adopt: true })
    finishEarlierWork(connection)
  } catch (error) {
    throw translateFailure(error, { location, busyTimeoutMs, verb: 'openStore' })
  }
  return connection
}

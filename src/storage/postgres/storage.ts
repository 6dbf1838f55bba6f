import { locationOf } from '../location.ts'
import type { Seen } from '../owners.ts'
import { storageOver } from '../sql/storage.ts'
import type { Estimators, Storage } from '../storage.ts'
import { isDistributed } from './citus.ts'
import { PostgresDatabase } from './connection.ts'
import { fromPglite, fromPool, fromUrl, type Pglite, type Pool } from './drivers.ts'
import { readFailure } from './failure.ts'
import { migrate, schemaIdentifier } from './migrate.ts'
import type { PostgresDriver } from './port.ts'

/** The location of a store in PostgreSQL: a URL, a pool of `pg`, an instance of PGlite, or a driver of the application. */
export type PostgresSource = string | Pool | Pglite | PostgresDriver

/** Options of a store in PostgreSQL. */
export type PostgresStoreOptions = {
  readonly schema: string
  readonly prepare: boolean
  readonly readonly: boolean
  readonly adopt: boolean
  readonly busyTimeoutMs: number
  readonly rowSecurity: boolean
}

/** Returns whether a value is one of the sources that are objects. */
export function isPostgresSource(value: unknown): value is Exclude<PostgresSource, string> {
  return typeof value === 'object' && value !== null && kindOf(value) !== undefined
}

function kindOf(value: object): 'driver' | 'pglite' | 'pool' | undefined {
  const has = (name: string): boolean => typeof (value as { [name: string]: unknown })[name] === 'function'
  if (has('acquire') && has('end')) return 'driver'
  if (has('query') && has('exec') && 'waitReady' in value) return 'pglite'
  return has('query') && has('connect') && has('end') && 'totalCount' in value ? 'pool' : undefined
}

/**
 * Opens a store in PostgreSQL and migrates its schema. Closing the store doesn't close connections that were passed in. Throws
 * `DRIVER_UNAVAILABLE`, `STORE_UNAVAILABLE`, `NOT_A_STORE`, `STORE_TOO_NEW`, `STORE_TOO_OLD`.
 */
export async function openPostgres(
  source: PostgresSource,
  options: PostgresStoreOptions,
  estimators: Estimators,
): Promise<Storage> {
  const { schema, busyTimeoutMs } = options
  schemaIdentifier(schema)
  const location = typeof source === 'string' ? locationOf(source) : 'PostgreSQL'
  const driver = await driverOf(source, busyTimeoutMs)
  let isSpread: boolean
  try {
    await migrate(driver, { ...options, location })
    isSpread = await isDistributed(driver, schema)
  } catch (error) {
    if (typeof source === 'string') await driver.end()
    throw readFailure(error, { location, busyTimeoutMs, verb: 'openStore' }).error
  }
  const database = new PostgresDatabase(driver, { ...options, location, estimators, isDistributed: isSpread })
  return storageFor(database)
}

function storageFor(database: PostgresDatabase, seen?: Seen): Storage {
  return storageOver({
    perform: (work) => database.perform(work, seen),
    seenBy: (other) => storageFor(database, other),
    close: () => database.close(),
  })
}

/** How long the server may take for a statement, apart from waiting for locks. */
const ANSWER_TIMEOUT_MS = 60_000

async function driverOf(source: PostgresSource, busyTimeoutMs: number): Promise<PostgresDriver> {
  if (typeof source === 'string')
    return fromUrl(source, { answerTimeoutMs: busyTimeoutMs + ANSWER_TIMEOUT_MS })
  switch (kindOf(source)) {
    case 'pool':
      return fromPool(source as Pool)
    case 'pglite':
      return fromPglite(source as Pglite)
    default:
      return source as PostgresDriver
  }
}

import { locationOf, storeIn } from '../storage/location.ts'
import { hasCitus, tablesOf } from '../storage/postgres/citus.ts'
import { fromUrl } from '../storage/postgres/drivers.ts'
import { readFailure } from '../storage/postgres/failure.ts'
import { type GuardReport, guardReport } from '../storage/postgres/guards.ts'
import { hasTables, schemaIdentifier, schemaVersion } from '../storage/postgres/migrate.ts'
import type { PostgresConnection } from '../storage/postgres/port.ts'

/** What is known of a server without opening a store in it. */
export type ServerFacts = {
  /** Whether the schema has tables, of whatever program. */
  readonly exists: boolean
  /** The version of the server. */
  readonly version: string
  readonly schema: string
  /** `null` without a store. */
  readonly schemaVersion: number | null
  /** Whether statements are prepared. */
  readonly prepared: boolean
}

/** Asks a server of a store. Changes nothing. Throws what `openStore` throws for a server that does not answer. */
export async function serverFacts(url: string): Promise<ServerFacts> {
  const { schema, prepare: prepared } = storeIn(url)
  return asking(url, async (connection) => {
    const { rows } = await connection.query('show server_version', [])
    const found = await schemaVersion({ connection, schema })
    const exists = found > 0 || (await hasTables({ connection, schema }))
    return { exists, version: String(rows[0]?.[0]), schema, schemaVersion: found || null, prepared }
  })
}

/** Where the tables are on a cluster of Citus: on its workers, or all on the coordinator. */
export type Distribution = 'workers' | 'coordinator'

export type StoredOn = {
  readonly sessions: number
  readonly guards: GuardReport
  /** `null` without Citus. */
  readonly distribution: Distribution | null
}

/** The number of sessions in a store, what guards their history, and on which machines it is. */
export async function storedOn(url: string): Promise<StoredOn> {
  const { schema } = storeIn(url)
  return asking(url, async (connection) => {
    const query = `select count(*) from ${schemaIdentifier(schema)}.sessions where staged_by is null`
    const { rows } = await connection.query(query, [])
    const distribution = await distributionIn(connection, schema)
    return { sessions: Number(rows[0]?.[0]), guards: await guardReport(connection, schema), distribution }
  })
}

async function distributionIn(connection: PostgresConnection, schema: string): Promise<Distribution | null> {
  if (!(await hasCitus(connection))) return null
  return (await tablesOf(connection, schema)).distributed.length > 0 ? 'workers' : 'coordinator'
}

async function asking<T>(url: string, work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
  const driver = await fromUrl(url, { connections: 1 })
  try {
    const connection = await driver.acquire()
    try {
      return await work(connection)
    } finally {
      connection.release(false)
    }
  } catch (error) {
    throw readFailure(error, { location: locationOf(url), busyTimeoutMs: 0, verb: 'openStore' }).error
  } finally {
    await driver.end()
  }
}

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { fromUrl } from '../../../src/storage/postgres/drivers.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import { MIGRATIONS } from '../../../src/storage/postgres/migrations.ts'
import type { PostgresConnection, PostgresDriver } from '../../../src/storage/postgres/port.ts'
import { failureOf } from '../../support/failures.ts'
import { beNext, beNow, statementCount } from '../../support/next-version.ts'
import { type Database, databaseOn, newSchema, postgresServer, startPglite } from '../../support/postgres.ts'

/* Migrations that fail at each of their statements, and migrations at once. */

/** What happens to a statement: the query, and the connection. */
type Fault = (
  send: () => ReturnType<PostgresConnection['query']>,
  connection: PostgresConnection,
) => Promise<never>

class Lost extends Error {}

afterEach(() => beNow('postgres'))

const FAULTS: Record<string, Fault> = {
  'not sent': async () => {
    throw new Lost()
  },
  'sent, and the answer lost': async (send) => {
    await send()
    throw new Lost()
  },
}

/** A driver whose statement with this number meets a fault. Says whether it came so far. */
function faulty(
  driver: PostgresDriver,
  at: number,
  fault: Fault,
): PostgresDriver & { readonly met: boolean } {
  let count = 0
  return {
    get met() {
      return count >= at
    },
    acquire: async () => {
      const connection = await driver.acquire()
      return {
        query: (text, values) => {
          const send = () => connection.query(text, values)
          return ++count === at ? fault(send, connection) : send()
        },
        release: (isBroken) => connection.release(isBroken),
      }
    },
    end: () => driver.end(),
  }
}

/** Makes a schema of this version, or removes it: what the migration begins with. */
type Begin = (server: Database, schema: string) => Promise<void>

const FROM_NOTHING: Begin = async (server, schema) => {
  await server.sql(`drop schema if exists ${schema} cascade`)
}
const FROM_THIS: Begin = async (server, schema) => {
  await FROM_NOTHING(server, schema)
  beNow('postgres')
  await migrate(server.driver, { schema, readonly: false })
  beNext('postgres')
}

/** Migrates with the fault at each statement in turn; the next one completes what is there. */
async function atEach(server: Database, fault: Fault, begin: Begin = FROM_NOTHING): Promise<number> {
  const schema = newSchema()
  const objects = async (): Promise<number> =>
    Number(
      (
        await server.sql(
          `select (select count(*) from pg_namespace where nspname = $1) +
             (select count(*) from pg_class where relnamespace = to_regnamespace($1)) +
             (select count(*) from pg_proc where pronamespace = to_regnamespace($1)) +
             (select count(*) from pg_trigger t join pg_class c on c.oid = tgrelid where relnamespace = to_regnamespace($1))`,
          schema,
        )
      )[0]![0],
    )
  await begin(server, schema)
  const before = await objects()
  await migrate(server.driver, { schema, readonly: false })
  const complete = await objects()
  for (let at = 1; ; at++) {
    await begin(server, schema)
    const driver = faulty(server.driver, at, fault)
    if (!(await failsAt(driver, schema))) {
      expect(driver.met).toBe(false)
      return at - 1
    }
    expect([before, complete], `statement ${at}`).toContain(await objects())
    await migrate(server.driver, { schema, readonly: false })
    expect(await objects(), `after statement ${at}`).toBe(complete)
  }
}

async function failsAt(driver: PostgresDriver & { readonly met: boolean }, schema: string): Promise<boolean> {
  try {
    await migrate(driver, { schema, readonly: false })
    return false
  } catch (error) {
    if (!driver.met) throw error
    return true
  }
}

describe('a migration of PGlite', () => {
  let server: Database
  beforeAll(async () => {
    server = await startPglite()
  })
  afterAll(() => server.stop())

  // It migrates once for each statement, so its time grows with the square of their number.
  it.each(Object.entries(FAULTS))(
    'is whole or not at all when a statement is %s',
    async (_, fault) => {
      expect(await atEach(server, fault)).toBeGreaterThan(MIGRATIONS.flat().length)
    },
    240_000,
  )

  it('to the next version is whole or not at all when a statement is not sent', async () => {
    const statements = await atEach(server, FAULTS['not sent']!, FROM_THIS)
    expect(statements).toBeGreaterThan(statementCount('postgres'))
  }, 240_000)
})

const installed = await postgresServer()

describe.skipIf(installed === undefined)('a migration of PostgreSQL', () => {
  let server: Database
  beforeAll(async () => {
    server = await databaseOn(installed!)
  })
  afterAll(() => server.stop())

  it('is whole or not at all when its connection is killed before a statement', async () => {
    const kill: Fault = async (send, connection) => {
      const [pid] = (await connection.query('select pg_backend_pid()', [])).rows[0]!
      await server.sql('select pg_terminate_backend($1)', pid)
      const error = await failureOf(send)
      throw error
    }
    expect(await atEach(server, kill)).toBeGreaterThan(MIGRATIONS.flat().length)
    const statements = await atEach(server, kill, FROM_THIS)
    expect(statements).toBeGreaterThan(statementCount('postgres'))
    // A new database for each statement of all versions.
  }, 240_000)

  it.each(['this', 'next'])('to %s version is made once by four processes at once', async (version) => {
    const script = join(import.meta.dirname, 'migrate-in-process.ts')
    for (let round = 0; round < 3; round++) {
      const schema = newSchema()
      if (version === 'next') await FROM_THIS(server, schema)
      const start = String(Date.now() + 4_000)
      const codes = Array.from({ length: 4 }, () => {
        const args = ['--import', import.meta.resolve('tsx'), script, server.url!, schema, start, version]
        const child = spawn(process.execPath, args, { stdio: 'inherit' })
        return new Promise((resolve) => child.once('close', resolve))
      })
      expect(await Promise.all(codes)).toEqual([0, 0, 0, 0])
      await migrate(server.driver, { schema, readonly: true })
    }
  })

  it('is made once by many at once, whatever isolation is their default', async () => {
    const name = new URL(server.url!).pathname.slice(1)
    await server.sql(`alter database ${name} set default_transaction_isolation = 'repeatable read'`)
    // A setting of a database is for new connections.
    const driver = await fromUrl(server.url!)
    const schema = newSchema()
    await Promise.all(Array.from({ length: 20 }, () => migrate(driver, { schema, readonly: false })))
    await migrate(driver, { schema, readonly: true })
    await driver.end()
  })
})

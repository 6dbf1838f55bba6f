import { afterAll } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { redactionSuite } from '../../store/redaction-suite.ts'
import { type Database, enginesOf, newSchema, postgresServer } from '../../support/postgres.ts'

for (const [name, start] of enginesOf(await postgresServer())) {
  let database: Promise<Database> | undefined
  afterAll(async () => (await database)?.stop())
  redactionSuite(name, async () => {
    database ??= start()
    const { driver, sql } = await database
    const schema = newSchema()
    return {
      open: (options) => openStore({ ...driver, end: async () => {} }, { ...options, schema }),
      bytes: async () => {
        const tables = await sql(
          'select table_name from information_schema.tables where table_schema = $1',
          schema,
        )
        const rows = await Promise.all(tables.map(([table]) => sql(`select * from ${schema}.${table}`)))
        return rows
          .flat(2)
          .map((value) =>
            value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
          )
          .join('\0')
      },
    }
  })
}

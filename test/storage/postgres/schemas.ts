import { beforeEach } from 'vitest'
import type { PostgresDriver } from '../../../src/storage/postgres/port.ts'

/** Returns schemas for the stores of a test: those of the tests before, emptied, because to make the tables takes longer than most tests. */
export function schemasOf(driver: () => PostgresDriver): () => Promise<string> {
  let known = 0
  let used = 0
  beforeEach(() => {
    used = 0
  })
  return async () => {
    const schema = `s${used++}`
    if (used > known) known++
    else await empty(driver(), schema)
    return schema
  }
}

/** Removes all rows of a schema, but its version. */
async function empty(driver: PostgresDriver, schema: string): Promise<void> {
  const connection = await driver.acquire()
  const run = (text: string, ...values: unknown[]) => connection.query(text, values)
  try {
    const { rows } = await run(
      "select table_name::text from information_schema.tables where table_schema = $1 and table_name <> 'meta'",
      schema,
    )
    await run('begin')
    await run("set local citus.propagate_set_commands = 'local'")
    await run("set local undertext.purging = 'on'")
    for (const [table] of rows) await run(`delete from ${schema}.${table}`)
    await run('commit')
  } finally {
    connection.release(false)
  }
}

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { MIGRATIONS } from '../../../src/storage/postgres/migrations.ts'
import { chat } from '../../support/conversation.ts'
import { failureOf } from '../../support/failures.ts'
import { beNext, beNow, NEXT } from '../../support/next-version.ts'
import { type Database, enginesOf, newSchema, postgresServer } from '../../support/postgres.ts'

/* A store in PostgreSQL of another version, and one whose guards are damaged after it was opened. */

const SUPPORTED = MIGRATIONS.length

describe.each(enginesOf(await postgresServer()))('a store in %s', (_, start) => {
  let database: Database
  let schema: string
  beforeAll(async () => {
    database = await start()
  })
  afterAll(() => database.stop())
  beforeEach(() => {
    schema = newSchema()
  })
  const open = (options: object = {}) =>
    openStore({ acquire: () => database.driver.acquire(), end: async () => {} }, { schema, ...options })

  it('of an older version is migrated, and is STORE_TOO_OLD for reading only', async () => {
    await (await open()).append('s', chat(1))
    beNext('postgres')
    try {
      expect(await failureOf(() => open({ readonly: true }))).toMatchObject({
        code: 'STORE_TOO_OLD',
        facts: { found: SUPPORTED, supported: NEXT.postgres },
      })
      const store = await open()
      await store.append('s', chat(1))
      await store.close()
      expect(await (await open({ readonly: true })).getMessages('s')).toHaveLength(4)
    } finally {
      beNow('postgres')
    }
  })

  it('of a newer version is STORE_TOO_NEW, and stays as it is', async () => {
    await (await open()).append('s', chat(1))
    await database.sql(`update ${schema}.meta set value = '${SUPPORTED + 1}'`)
    for (const readonly of [false, true])
      expect(await failureOf(() => open({ readonly }))).toMatchObject({
        code: 'STORE_TOO_NEW',
        facts: { found: SUPPORTED + 1, supported: SUPPORTED },
      })
    expect(await database.sql(`select value from ${schema}.meta where key = 'schema'`)).toEqual([
      [String(SUPPORTED + 1)],
    ])
  })

  it('whose guards are missing, changed or disabled reports each of them', async () => {
    const store = await open()
    await store.append('s', chat(1))
    const found = async (): Promise<string[]> =>
      (await store.sessions.verify('s')).findings.map(({ code, detail }) => `${code} ${detail}`).sort()
    expect(await found()).toEqual([])
    await database.sql(`drop trigger audit_is_kept on ${schema}.audit`)
    await database.sql(`alter table ${schema}.contents disable trigger contents_are_written_once`)
    await database.sql(`drop trigger messages_are_kept on ${schema}.messages`)
    await database.sql(
      `create trigger messages_are_kept before delete on ${schema}.messages for each row when (false) execute function ${schema}.refuse('kept')`,
    )
    expect(await found()).toEqual([
      'GUARD_CHANGED the trigger contents_are_written_once was changed',
      'GUARD_CHANGED the trigger messages_are_kept was changed',
      'GUARD_MISSING the trigger audit_is_kept is missing',
    ])
  })
})

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { storedOn } from '../../../src/cli/store-facts.ts'
import { isUndertextError, type NewMessage, openStore, type Store } from '../../../src/index.ts'
import { fromUrl } from '../../../src/storage/postgres/drivers.ts'
import { guardReport } from '../../../src/storage/postgres/guards.ts'
import { statementsFor } from '../../../src/storage/postgres/migrate.ts'
import { MIGRATIONS } from '../../../src/storage/postgres/migrations.ts'
import type { PostgresDriver } from '../../../src/storage/postgres/port.ts'
import { chat, say } from '../../support/conversation.ts'
import { failureOf } from '../../support/failures.ts'
import { postgresServer, query } from '../../support/postgres.ts'
import { PERMITTED, ROWS, TABLES, WRITTEN_ONCE } from './rows.ts'

/*
 * What is particular to a cluster of Citus. The address is that of the coordinator, as a superuser; two commands kill a worker and start
 * it again. `npm run test:citus` runs the suites of a server there too.
 */

const { UNDERTEXT_CITUS: given, UNDERTEXT_CITUS_KILL: kill, UNDERTEXT_CITUS_START: start } = process.env
if (given === undefined)
  console.log(
    'No cluster of Citus is tested: npm run test:citus does, with the URL of a coordinator in UNDERTEXT_CITUS.',
  )
else if (kill === undefined || start === undefined)
  console.log(
    'No worker of Citus is killed: UNDERTEXT_CITUS_KILL and UNDERTEXT_CITUS_START are the commands that do so.',
  )

const server = given === undefined ? undefined : await postgresServer()

describe.skipIf(server === undefined)('on a cluster', async () => {
  if (server === undefined) return
  const url = await server.newDatabase()
  const schema = 'undertext'

  const OPTIONS = { estimator: 'neurolink', busyTimeoutMs: 30_000 } as const
  let ids = 0
  const newId = (): string => `session ${++ids}`
  const open = async (options: object = {}, from: string | PostgresDriver = url): Promise<Store> => {
    const store = await openStore(from, { ...OPTIONS, ...options })
    onTestFinished(() => store.close())
    return store
  }

  it('the rows of a family are on one worker, ids are spread, and what belongs to no session is local', async () => {
    await open()
    expect((await storedOn(url)).distribution).toBe('workers')
    const placed = await query(
      url,
      `select c.relname, p.partmethod, p.colocationid = (select colocationid from pg_dist_partition where logicalrelid = '${schema}.sessions'::regclass)
       from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid
       where relnamespace = '${schema}'::regnamespace and relkind = 'r'`,
    )
    const WITH_FAMILY =
      'audit blobs circuits claims compactions contents jobs measurements messages notes operations replacements requests searched sessions turns usage words'
    const expected = [
      ...WITH_FAMILY.split(' ').map((table) => [table, 'h', true]),
      ['names', 'h', false],
      ...['calibrations', 'limits', 'meta'].map((table) => [table, null, null]),
    ]
    expect(placed.map((row) => row.join()).sort()).toEqual(expected.map((row) => row.join()).sort())
  })

  describe('the guards', () => {
    const guarded = 'guards'

    it('refuse changes through the coordinator, and to the shards on the workers', async () => {
      const driver = await fromUrl(url, { connections: 1 })
      onTestFinished(() => driver.end())
      await (await open({ schema: guarded })).close()
      const connection = await driver.acquire()
      const { kind } = await guardReport(connection, guarded)
      connection.release(false)
      expect(kind).toBe('triggers')

      const path = `set search_path = ${guarded}`
      await query(url, path, ...ROWS)
      const [place] = await query(
        url,
        `select nodename, nodeport, s.shardid from pg_dist_shard s join pg_dist_placement using (shardid) join pg_dist_node using (groupid)
         where s.shardid = get_shard_id_for_distribution_column('${guarded}.messages', 7)`,
      )
      const worker = new URL(url)
      worker.host = `${place![0]}:${place![1]}`
      const inOrder = await query(
        url,
        `select c.relname, get_shard_id_for_distribution_column(c.oid, 7) from pg_class c where relnamespace = '${guarded}'::regnamespace and relname = any('{${TABLES}}')`,
      )
      const shardOf = new Map(inOrder.map(([table, shard]) => [table as string, `${table}_${shard}`]))
      const ON_SHARDS = [
        path,
        'set citus.enable_manual_changes_to_shards = on',
        'set citus.override_table_visibility = off',
      ]
      const statements = TABLES.flatMap((table) => [
        ...Object.entries(WRITTEN_ONCE[table]!).map(
          ([column, value]) => `update ${table} set ${column} = ${value} where family = 7`,
        ),
        `delete from ${table} where family = 7`,
        `truncate ${table}`,
      ])
      for (const text of statements) {
        // The distribution column cannot be updated at all.
        const isFamily = / set family/.test(text)
        const error = await failureOf(() => query(url, path, text))
        expect(error, text).toMatchObject({ code: isFamily ? '0A000' : 'UT001' })
        const table = TABLES.find((one) => new RegExp(`\\b${one}\\b`).test(text))!
        // Not the column of the same name.
        const onShard = text.replace(
          new RegExp(`(?<=update |from |truncate )${table}\\b`),
          shardOf.get(table)!,
        )
        expect(await failureOf(() => query(worker.href, ...ON_SHARDS, onShard)), onShard).toMatchObject({
          code: 'UT001',
        })
      }
      for (const text of PERMITTED) await query(url, path, text)
    })
  })

  it('a session that another client holds is STORE_BUSY after busyTimeoutMs, though the lock is on a worker', async () => {
    const store = await open({ busyTimeoutMs: 300 })
    const id = newId()
    await store.append(id, chat(1))
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    onTestFinished(() => client.end())
    const [[family]] = (await query(url, `select family from ${schema}.names where id = '${id}'`)) as [
      [string],
    ]
    await client.query('begin')
    await client.query(`select 1 from ${schema}.sessions where family = ${family} for update`)
    for (const write of [() => store.append(id, chat(1)), () => store.sessions.update(id, { title: 'x' })]) {
      const begun = performance.now()
      expect(await codeOf(write())).toBe('STORE_BUSY')
      expect(performance.now() - begun).toBeLessThan(3_000)
    }
    await client.query('rollback')
    await store.append(id, chat(1))
  })

  it('a schema that was made without Citus stays on the coordinator', async () => {
    const local = 'local'
    await query(
      url,
      `create schema ${local}`,
      ...statementsFor(local),
      `insert into ${local}.meta values ('schema', '${MIGRATIONS.length}')`,
    )
    const store = await open({ schema: local })
    await store.append('s', chat(2))
    await store.append('s', keyed('next'))
    expect(await soundTexts(store, 's')).toHaveLength(6)
    expect((await storedOn(`${url}?schema=${local}`)).distribution).toBe('coordinator')
    expect(
      await query(url, `select 1 from pg_dist_partition where logicalrelid = '${local}.sessions'::regclass`),
    ).toEqual([])
  })

  it('a role makes a store if it may have triggers on distributed tables, and is told who permits them', async () => {
    const role = `undertext_test_${randomBytes(4).toString('hex')}`
    const [[database]] = (await query(url, 'select current_database()')) as [[string]]
    await query(url, `create role ${role} login`, `grant create on database "${database}" to ${role}`)
    onTestFinished(async () => {
      await query(url, `drop owned by ${role} cascade`, `drop role ${role}`)
    })
    const plain = new URL(url)
    plain.username = role
    await query(url, `alter role ${role} set citus.enable_unsafe_triggers = off`)
    const error = await failureOf(() => openStore(plain.href, { schema: 'of_role' }))
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('citus.enable_unsafe_triggers = on'),
    })
    await query(url, `alter role ${role} set citus.enable_unsafe_triggers = on`)
    const store = await open({ schema: 'of_role' }, plain.href)
    await store.append('s', chat(1))
    expect(await soundTexts(store, 's')).toHaveLength(2)
    await store.sessions.purge('s')
    expect(await store.sessions.list()).toEqual([])
  })

  it('a worker is not where a store is opened', async () => {
    const worker = new URL(url)
    const [place] = await query(
      url,
      'select nodename, nodeport from pg_dist_node where shouldhaveshards limit 1',
    )
    worker.host = `${place![0]}:${place![1]}`
    expect(await failureOf(() => openStore(worker.href, OPTIONS))).toMatchObject({
      code: 'NOT_A_STORE',
      message: expect.stringContaining('coordinator'),
    })
  })

  it('a view of the last rows of a long session is read by its index on the worker', async () => {
    const texts: [string, readonly unknown[]][] = []
    const driver = await fromUrl(url)
    onTestFinished(() => driver.end())
    const store = await open({}, recording(driver, texts))
    const id = newId()
    for (let part = 0; part < 5; part++) await store.append(id, chat(1_000))
    await store.compactSession(id, { range: { from: 1, to: 9_950 }, summary: 'short' })
    await query(url, `analyze ${schema}.messages`, `analyze ${schema}.contents`)
    texts.length = 0
    expect(await store.getEffectiveHistory(id)).toHaveLength(51)
    const [view] = texts.filter(([text]) => text.includes('.contents'))
    const plan = (await planOf(url, ...view!)).join('\n')
    expect(plan).toContain('Task Count: 1\n')
    expect(plan).toMatch(/Index Scan using visible_\d+ on messages_/)
    expect(plan).toMatch(/Index Scan using contents_pkey_\d+ on contents_/)
    expect(plan).not.toMatch(/Seq Scan|Hash Join|Merge Join/)
  })

  it('an append of plain messages is one call, which goes to the worker', async () => {
    const texts: [string, readonly unknown[]][] = []
    const driver = await fromUrl(url, { connections: 1 })
    onTestFinished(() => driver.end())
    const store = await open({}, recording(driver, texts))
    const id = newId()
    await store.append(id, chat(1))
    texts.length = 0
    await store.append(id, [say('user', 'a "quoted" \\ text, {with} ü'), say('assistant', '')])
    const key = [{ ...say('user', 'keyed'), idempotencyKey: 'k{"' }]
    await store.append(id, key)
    expect(texts.map(([text]) => text)).toEqual([
      expect.stringMatching(/^select .* from "\w+"\.append\(/),
      expect.stringMatching(/^select .* from "\w+"\.append\(/),
    ])
    // Known, so a transaction returns the stored row.
    expect((await store.append(id, key)).messages).toMatchObject([{ position: 5, existing: true }])
    expect((await store.getMessages(id)).slice(2).map(({ content }) => content)).toEqual([
      'a "quoted" \\ text, {with} ü',
      '',
      'keyed',
    ])
    expect((await store.sessions.verify(id)).findings).toEqual([])

    const client = new pg.Client({ connectionString: url })
    await client.connect()
    onTestFinished(() => client.end())
    const notices: string[] = []
    client.on('notice', ({ message }) => notices.push(message ?? ''))
    await client.query('set client_min_messages = debug1')
    await client.query(texts[0]![0], [...texts[0]![1]])
    expect(notices).toContain('pushing down the function call')
  })

  it.runIf(kill !== undefined && start !== undefined)(
    'when a worker is killed under 8 clients, what was acknowledged is there once, and the other worker goes on',
    async () => {
      const stores = await Promise.all(Array.from({ length: 8 }, () => open({ busyTimeoutMs: 3_000 })))
      const sessions = Array.from({ length: 16 }, () => newId())
      for (const id of sessions) await stores[0]!.append(id, pair('first'))
      const acknowledged = new Map<string, string[]>(sessions.map((id) => [id, ['first']]))
      const unknown = new Set<string>()
      const failed: string[] = []
      let isOver = false
      let isDown = false
      const whileDown = new Set<string>()
      const clients = stores.map(async (store, client) => {
        for (let turn = 0; !isOver; turn++) {
          const id = sessions[(client + 8 * turn) % sessions.length]!
          const name = `${client}/${turn}`
          const wasDown = isDown
          try {
            await store.append(id, keyed(name))
            acknowledged.get(id)!.push(name)
            if (wasDown && isDown) whileDown.add(id)
          } catch (error) {
            if (!isUndertextError(error)) throw error
            if ((error.facts as { outcome?: string }).outcome === 'unknown') unknown.add(name)
            failed.push(error.code)
            await sleep(20)
          }
        }
      })
      await sleep(2_000)
      const perform = (command: string): void => void execFileSync('sh', ['-c', command], { stdio: 'ignore' })
      perform(kill!)
      isDown = true
      await sleep(4_000)
      isDown = false
      perform(start!)
      await sleep(3_000)
      isOver = true
      await Promise.all(clients)

      expect(failed.filter((code) => !['STORE_UNAVAILABLE', 'STORE_BUSY'].includes(code))).toEqual([])
      // Families are spread over two workers.
      expect(whileDown.size).toBeGreaterThan(0)
      let count = 0
      for (const [id, names] of acknowledged) {
        count += names.length
        const texts = await soundTexts(stores[0]!, id)
        const stored = texts.filter((text) => text.endsWith(' q')).map((text) => text.slice(0, -2))
        expect(texts).toEqual(stored.flatMap((name) => [`${name} q`, `${name} a`]))
        expect(new Set(stored).size).toBe(stored.length)
        expect(names.filter((name) => !stored.includes(name))).toEqual([])
        expect(stored.filter((name) => !names.includes(name) && !unknown.has(name))).toEqual([])
      }
      expect(count).toBeGreaterThan(100)
      const figures = {
        acknowledged: count,
        failed: failed.length,
        unknown: unknown.size,
        sessions: whileDown.size,
      }
      console.log(`a worker was killed: ${JSON.stringify(figures)}`)
    },
  )
})

/** Notes the statements about rows that are sent. */
function recording(driver: PostgresDriver, texts: [string, readonly unknown[]][]): PostgresDriver {
  return {
    end: async () => {},
    acquire: async () => {
      const connection = await driver.acquire()
      return {
        query: (text, values, name) => {
          texts.push([text, values])
          return connection.query(text, values, name)
        },
        release: (isBroken) => connection.release(isBroken),
      }
    },
  }
}

async function planOf(url: string, text: string, values: readonly unknown[]): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query({
      text: `explain (costs off) ${text}`,
      values: [...values],
      rowMode: 'array',
    })
    return rows.map(([line]) => line as string)
  } finally {
    await client.end()
  }
}

function pair(name: string): NewMessage[] {
  return [say('user', `${name} q`), say('assistant', `${name} a`)]
}

function keyed(name: string): NewMessage[] {
  return pair(name).map((message, n) => ({ ...message, idempotencyKey: `${name}.${n}` }))
}

/** The log of a session, checked: positions without gaps, counters that are those of the rows. */
async function soundTexts(store: Store, id: string): Promise<string[]> {
  const rows = await store.getMessages(id)
  expect(rows.map(({ position }) => position)).toEqual(rows.map((_, index) => index + 1))
  expect((await store.sessions.get(id)).messageCount).toBe(rows.length)
  expect((await store.sessions.verify(id)).findings).toEqual([])
  return rows.map(({ content }) => content as string)
}

/** `done`, or the code of the error. */
async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'done'
  } catch (error) {
    if (isUndertextError(error)) return error.code
    throw error
  }
}

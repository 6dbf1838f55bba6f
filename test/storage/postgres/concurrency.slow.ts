import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isUndertextError, type NewMessage, openStore, type Store } from '../../../src/index.ts'
import type { Job } from '../../../src/storage/jobs.ts'
import { fromPool } from '../../../src/storage/postgres/drivers.ts'
import type { PostgresDriver } from '../../../src/storage/postgres/port.ts'
import { storageOf } from '../../support/apply-stage.ts'
import { chat, say } from '../../support/conversation.ts'
import { postgresServer, query } from '../../support/postgres.ts'
import { randomFrom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'
import { fakeModel, ONLY, waitingModel } from '../contract/support.ts'

/* Many clients of one database, each with its own store and connections, and what is left when a server dies under them. */

const server = await postgresServer()
const CLIENTS = 16
const OPTIONS = { estimator: 'neurolink', busyTimeoutMs: 30_000 } as const
const SUMMARIZE = { ...ONLY.summarize, targetTokens: 0, keepRecentTokens: 64 }

describe.skipIf(server === undefined)('on a server', async () => {
  if (server === undefined) return
  const url = await server.newDatabase()
  let ids = 0
  const newId = (): string => `s${++ids}`

  const open = async (options: object = {}): Promise<Store> => {
    const store = await openStore(url, { ...OPTIONS, ...options })
    onTestFinished(() => store.close())
    return store
  }
  const openMany = (count = CLIENTS): Promise<Store[]> =>
    Promise.all(Array.from({ length: count }, () => open()))

  /** A store that waits, before it locks a session for the first time, until the others wait there too. */
  const openMeeting = async (meet: () => Promise<void>): Promise<Store> => {
    const pool = new pg.Pool({ connectionString: url, pipeline: true })
    pool.on('error', () => {})
    const store = await openStore(meeting(fromPool(pool), meet), OPTIONS)
    onTestFinished(async () => {
      await store.close()
      await pool.end()
    })
    return store
  }

  /** The log of a session, checked: positions without gaps, counters that are those of the rows, tags that follow from the coverage. */
  const soundTexts = async (store: Store, id: string): Promise<string[]> => {
    const rows = (await store.getMessages(id)).filter(({ kind }) => kind === 'message')
    expect(rows.map(({ position }) => position)).toEqual(rows.map((_, index) => index + 1))
    expect((await store.sessions.get(id)).messageCount).toBe(rows.length)
    expect((await store.sessions.verify(id)).findings).toEqual([])
    return rows.map(({ content }) => content as string)
  }

  describe('many clients at once', () => {
    it('make the tables once', async () => {
      const empty = await server.newDatabase()
      const stores = await Promise.all(Array.from({ length: CLIENTS }, () => openStore(empty, OPTIONS)))
      await Promise.all(stores.map((store, n) => store.append(`s${n}`, chat(1))))
      expect(await stores[0]!.sessions.list()).toHaveLength(CLIENTS)
      await Promise.all(stores.map((store) => store.close()))
    })

    it('append to one session without a gap', async () => {
      const id = newId()
      const stores = await openMany()
      await Promise.all(
        stores.map(async (store, client) => {
          for (let turn = 0; turn < 20; turn++) {
            const { messages } = await store.append(id, pair(`${client}/${turn}`))
            expect(messages[1]!.position).toBe(messages[0]!.position + 1)
          }
        }),
      )
      const texts = await soundTexts(stores[0]!, id)
      expect(texts).toHaveLength(640)
      for (let client = 0; client < CLIENTS; client++) {
        const mine = texts.filter((text) => text.startsWith(`${client}/`))
        expect(mine).toEqual(
          Array.from({ length: 20 }, (_, turn) => [`${client}/${turn} q`, `${client}/${turn} a`]).flat(),
        )
      }
    })

    it('append the same keys: each is stored once, and no call fails', async () => {
      const id = newId()
      const stores = await openMany()
      const keyed = (turn: number): NewMessage[] =>
        pair(`turn ${turn}`).map((message, n) => ({ ...message, idempotencyKey: `${turn}.${n}` }))
      const isNew = await Promise.all(
        stores.map(async (store) => {
          const fresh: boolean[] = []
          for (let turn = 0; turn < 20; turn++)
            for (const { existing } of (await store.append(id, keyed(turn))).messages) fresh.push(!existing)
          return fresh
        }),
      )
      expect(await soundTexts(stores[0]!, id)).toEqual(
        Array.from({ length: 20 }, (_, turn) => [`turn ${turn} q`, `turn ${turn} a`]).flat(),
      )
      for (let at = 0; at < 40; at++) expect(isNew.filter((fresh) => fresh[at])).toHaveLength(1)
    })

    it('that expect an empty session: one writes, the others are told', async () => {
      const id = newId()
      const stores = await openMany()
      const codes = await Promise.all(
        stores.map((store, n) => codeOf(store.append(id, pair(`${n}`), { expectedPosition: 0 }))),
      )
      expect(tally(codes)).toEqual({ done: 1, POSITION_CONFLICT: 15 })
      expect(await soundTexts(stores[0]!, id)).toEqual([
        `${codes.indexOf('done')} q`,
        `${codes.indexOf('done')} a`,
      ])
    })

    it('create one session: one does, the others are told', async () => {
      const id = newId()
      const stores = await openMany()
      const codes = await Promise.all(stores.map((store) => codeOf(store.sessions.create({ id }))))
      expect(tally(codes)).toEqual({ done: 1, SESSION_EXISTS: 15 })
      await stores[0]!.append(id, chat(1))
      expect(await soundTexts(stores[1]!, id)).toHaveLength(2)
    })

    it('write 500 sessions in turn', async () => {
      const stores = await openMany()
      const nameOf = (n: number): string => `many ${n}`
      await Promise.all(
        stores.map(async (store, client) => {
          // Each session gets a message of four clients, which meet at some of them.
          for (let n = 0; n < 500; n++)
            if ((n + client) % 4 === 0) await store.append(nameOf(n), [say('user', `${client}`)])
        }),
      )
      for (let n = 0; n < 500; n++) {
        const texts = await soundTexts(stores[0]!, nameOf(n))
        const expected = Array.from({ length: CLIENTS }, (_, client) => client).filter(
          (client) => (n + client) % 4 === 0,
        )
        expect(texts.map(Number).sort((a, b) => a - b)).toEqual(expected)
      }
    })

    it('append while another compacts, and nothing is lost', async () => {
      const id = newId()
      const [compacting, ...writing] = await openMany(9)
      await compacting!.append(id, chat(20))
      let isWriting = true
      const compactions = (async () => {
        let made = 0
        for (let round = 0; isWriting || round < 2; round++) {
          const code = await codeOf(compacting!.compactSession(id, { ...SUMMARIZE, summarizer: fakeModel() }))
          if (code === 'done') made++
          else expect(code).toBe('STALE_PLAN')
        }
        return made
      })()
      await Promise.all(
        writing.map(async (store, client) => {
          for (let turn = 0; turn < 20; turn++) await store.append(id, pair(`${client}/${turn}`))
        }),
      )
      isWriting = false
      expect(await compactions).toBeGreaterThan(0)
      expect(await soundTexts(compacting!, id)).toHaveLength(40 + 8 * 40)
      expect((await compacting!.listCompactions(id)).some(({ status }) => status === 'active')).toBe(true)
    })
  })

  describe('two clients that meet at the lock', () => {
    it('claim a job: exactly one has it', async () => {
      const id = newId()
      const plain = await open()
      await plain.append(id, chat(2))
      const request = { config: {}, replans: 0 }
      await storageOf(plain).jobs.enqueue(id, { id: `job ${id}`, request, notBefore: 0 }, false)
      const meet = barrier(2)
      const claims = await Promise.all(
        ['one', 'two'].map(async (runId) => {
          const claim = { runId, holder: `machine ${runId}`, expiresAt: Date.now() + 60_000 }
          return storageOf(await openMeeting(meet)).jobs.claim(id, claim, 3)
        }),
      )
      const winner = claims.findIndex((claim) => claim !== undefined)
      expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1)
      const stored: Job = await plain.jobs.get(`job ${id}`)
      expect(stored).toMatchObject({ state: 'running', attempts: 1, runId: ['one', 'two'][winner] })
    })

    it('take the lease of a session: exactly one has it, and the other sees whose it is', async () => {
      const id = newId()
      await (await open()).append(id, chat(2))
      const meet = barrier(2)
      const runs = ['one', 'two']
      const inTheWay = await Promise.all(
        runs.map(async (runId) => {
          const lease = { runId, holder: `machine ${runId}`, expiresAt: Date.now() + 60_000 }
          return storageOf(await openMeeting(meet)).takeLease(id, lease)
        }),
      )
      const winner = inTheWay.indexOf(undefined)
      expect(inTheWay[1 - winner]).toMatchObject({ runId: runs[winner], holder: `machine ${runs[winner]}` })
    })

    it('undo one compaction: one changes the session', async () => {
      const id = newId()
      const plain = await open()
      await plain.append(id, chat(6))
      const run = await plain.compactSession(id, { range: { from: 1, to: 6 }, summary: 'short' })
      const meet = barrier(2)
      const undone = await Promise.all(
        [0, 1].map(async () => (await openMeeting(meet)).undoCompaction(id, run!.compactions[0]!.id)),
      )
      expect(undone.map(({ changed }) => changed).sort()).toEqual([false, true])
      expect(await plain.getEffectiveHistory(id)).toHaveLength(12)
      await soundTexts(plain, id)
      expect((await plain.sessions.audit(id)).filter(({ event }) => event === 'undone')).toHaveLength(1)
    })
  })

  it('purges of a family, its appends and what forks bring back never wait for each other in a circle', async () => {
    const name = new URL(url).pathname.slice(1)
    const deadlocks = async (): Promise<number> =>
      Number((await query(url, `select deadlocks from pg_stat_database where datname = '${name}'`))[0]![0])
    const before = await deadlocks()
    const random = randomFrom(SEED)
    const shuffled = <T>(list: readonly T[]): T[] =>
      list
        .map((one) => [random(), one] as const)
        .sort(([a], [b]) => a - b)
        .map(([, one]) => one)
    const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(url, OPTIONS)))
    const [store] = stores as [Store]
    /** Two messages that share their images with all others, in either order. */
    const images = (): NewMessage[] =>
      shuffled(['a', 'b']).map((letter) => ({
        role: 'user',
        content: [{ type: 'image', image: Buffer.from(letter.repeat(5_000)).toString('base64') }],
      }))
    for (let round = 0; round < 12; round++) {
      const [origin, child, sibling, grandchild] = [newId(), newId(), newId(), newId()] as const
      await store.append(origin, [...chat(10), ...images()])
      await store.compactSession(origin, { range: { from: 1, to: 4 }, summary: 'Short.' })
      await store.sessions.fork(origin, { id: child })
      await store.sessions.fork(origin, { id: sibling })
      await store.append(child, images())
      await store.sessions.fork(child, { id: grandchild })
      const [kept = child] = shuffled([child, sibling, grandchild])
      const length = (await store.sessions.get(kept)).messageCount
      const forks = round % 4 === 0 && kept === sibling ? 'purge' : 'keep'
      const purged = shuffled([origin, child, sibling, grandchild].filter((id) => id !== kept))
      const works = [
        ...purged.map(
          (id) => (one: Store) => one.sessions.purge(id, { forks: id === origin ? 'keep' : forks }),
        ),
        ...[1, 2, 3].map(() => (one: Store) => one.append(kept, images())),
        (one: Store) => one.sessions.bringBack(kept, { text: 'Done.' }),
      ]
      const outcomes = await Promise.all(
        shuffled(works).map((work, n) =>
          work(stores[n % stores.length]!).then(
            () => 'done',
            (error) => (isUndertextError(error) ? error.code : String(error)),
          ),
        ),
      )
      // A session may be gone already, or the one that it was a fork of.
      const expected = ['done', 'SESSION_NOT_FOUND', 'INVALID_INPUT']
      expect(outcomes.filter((one) => !expected.includes(one))).toEqual([])
      expect((await store.sessions.get(kept)).messageCount).toBe(length + 6)
      expect((await store.sessions.verify(kept)).findings).toEqual([])
      await store.sessions.purge(kept)
    }
    const left = await query(url, 'select 1 from undertext.blobs')
    // A server reports its counters when a connection ends.
    for (const one of stores) await one.close()
    expect(left).toEqual([])
    expect(await deadlocks()).toBe(before)
  })

  it('a run whose machine is gone is taken over when its lease ends, and changes nothing later', async () => {
    const id = newId()
    const [gone, next] = await openMany(2)
    await gone!.append(id, chat(6))
    const model = waitingModel('of the machine that was gone')
    const lost = codeOf(gone!.compactSession(id, { ...SUMMARIZE, summarizer: model.summarizer }))
    await model.asked
    // A run of this process is known to be alive; one of another machine only by the database's clock.
    await query(url, `update undertext.sessions set lease_holder = 'another machine' where id = '${id}'`)
    const again = { ...SUMMARIZE, waitMs: 0, summarizer: fakeModel('of the next machine') }
    expect(await codeOf(next!.compactSession(id, again))).toBe('COMPACTION_IN_PROGRESS')
    await query(
      url,
      `update undertext.sessions set lease_expires = (extract(epoch from statement_timestamp()) * 1000)::bigint - 1 where id = '${id}'`,
    )
    expect((await next!.compactSession(id, again))!.compacted).toBe(true)
    const statuses = async (): Promise<string[]> =>
      (await next!.listCompactions(id)).map(({ status }) => status).sort()
    expect(await statuses()).toEqual(['active', 'expired'])
    model.answer()
    expect(await lost).toBe('STALE_PLAN')
    expect(await statuses()).toEqual(['aborted', 'active'])
    const [summary] = await next!.getEffectiveHistory(id)
    expect(summary).toMatchObject({ kind: 'summary' })
    expect(JSON.stringify(summary)).toContain('of the next machine')
    await soundTexts(next!, id)
  })

  it.runIf(server.killHard !== undefined).each([1, 2])(
    'when backends and then the server are killed under 8 clients, what was acknowledged is there once (%s)',
    async (round) => {
      const random = randomFrom(SEED + round)
      const shared = newId()
      const stores = await openMany(8)
      const acknowledged = new Map<string, string[]>()
      const unknown = new Set<string>()
      const failed: string[] = []
      let isOver = false
      const clients = stores.map(async (store, client) => {
        const own = `${shared} of ${client}`
        for (let turn = 0; !isOver; turn++) {
          const id = turn % 2 === 0 ? shared : own
          const name = `${client}/${turn}`
          try {
            await store.append(id, pair(name))
            acknowledged.set(id, [...(acknowledged.get(id) ?? []), name])
          } catch (error) {
            if (!isUndertextError(error)) throw error
            if ((error.facts as { outcome?: string }).outcome === 'unknown') unknown.add(name)
            failed.push(error.code)
            await sleep(20)
          }
        }
      })
      await sleep(300)
      for (let kill = 0; kill < 25; kill++) {
        await query(
          url,
          `select pg_terminate_backend(pid) from pg_stat_activity
           where backend_type = 'client backend' and pid <> pg_backend_pid() order by md5(pid || '${random()}') limit 2`,
        )
        await sleep(random() * 60)
      }
      await server.killHard!()
      await sleep(200)
      await server.start()
      await sleep(1_000)
      isOver = true
      await Promise.all(clients)

      expect(failed.filter((code) => !['STORE_UNAVAILABLE', 'STORE_BUSY'].includes(code))).toEqual([])
      const count = { acknowledged: 0, unknown: unknown.size, failed: failed.length }
      for (const [id, names] of acknowledged) {
        count.acknowledged += names.length
        const texts = await soundTexts(stores[0]!, id)
        const stored = texts.filter((text) => text.endsWith(' q')).map((text) => text.slice(0, -2))
        expect(texts).toEqual(stored.flatMap((name) => [`${name} q`, `${name} a`]))
        expect(new Set(stored).size).toBe(stored.length)
        expect(names.filter((name) => !stored.includes(name))).toEqual([])
        // A call that failed without a doubt wrote nothing.
        expect(stored.filter((name) => !names.includes(name) && !unknown.has(name))).toEqual([])
      }
      expect(count.acknowledged).toBeGreaterThan(100)
      console.log(`kills ${round}: ${JSON.stringify(count)}`)
    },
  )
})

function pair(name: string): NewMessage[] {
  return [say('user', `${name} q`), say('assistant', `${name} a`)]
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

function tally(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

/** Resolves for all when so many wait. */
function barrier(count: number): () => Promise<void> {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    if (--count <= 0) open()
    return opened
  }
}

function meeting(driver: PostgresDriver, meet: () => Promise<void>): PostgresDriver {
  let hasMet = false
  let turn = Promise.resolve()
  return {
    end: () => driver.end(),
    acquire: async () => {
      const connection = await driver.acquire()
      return {
        query: (text, values, name) => {
          if (!hasMet && text.includes('for no key update')) {
            hasMet = true
            turn = turn.then(meet)
          }
          // The statements after it stay behind it.
          return turn.then(() => connection.query(text, values, name))
        },
        release: (isBroken) => connection.release(isBroken),
      }
    },
  }
}

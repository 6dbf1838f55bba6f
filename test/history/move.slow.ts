import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { moveStore } from '../../src/transfer/index.ts'
import { outcomeOf, SESSION, sequence } from '../random/differential.ts'
import { live, standing, turned } from '../storage/written/story.ts'
import { storageOf } from '../support/apply-stage.ts'
import { type Bundled, bundle } from '../support/bundled.ts'
import { chat, say } from '../support/conversation.ts'
import { postgresServer, query } from '../support/postgres.ts'
import { SEED } from '../support/seed.ts'
import { newFile, newFolder } from '../support/temporary.ts'
import { everythingOf } from './support.ts'

const server = await postgresServer()
const RUNS = process.env.LONG === '1' ? 500 : 12

let program: Bundled
beforeAll(async () => {
  program = await bundle('test/history/move-in-process.ts')
})
afterAll(() => program.remove())

const open: Store[] = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

async function opened(location: string, schema?: string): Promise<Store> {
  const store = await openStore(location, schema === undefined ? {} : { schema })
  open.push(store)
  return store
}

/** Everything of a session of a random sequence; `null` when it made none. */
async function allOf(store: Store): Promise<unknown> {
  if ((await store.getContextStats(SESSION)) === null) return null
  return {
    everything: await everythingOf(store, SESSION),
    stats: await store.getContextStats(SESSION),
    jobs: await store.jobs.list(SESSION),
  }
}

/** The views as each compaction in force is undone, newest first, and then all are redone. */
async function viewsOf(store: Store): Promise<unknown> {
  if ((await store.getContextStats(SESSION)) === null) return null
  const active = (await store.listCompactions(SESSION)).filter(({ status }) => status === 'active')
  const seen: unknown[] = []
  const turn = async (verb: 'undoCompaction' | 'redoCompaction', id: string): Promise<void> => {
    const options = { cascade: true, ...(verb === 'undoCompaction' && { both: true }) }
    const code = await store[verb](SESSION, id, options).then(
      ({ changed }) => changed,
      (error: { code?: string }) => error.code,
    )
    seen.push([code, await store.getEffectiveHistory(SESSION)])
  }
  for (const { id } of active.toReversed()) await turn('undoCompaction', id)
  for (const { id } of active) await turn('redoCompaction', id)
  return seen
}

describe.skipIf(server === undefined)('over a server', () => {
  it(
    `${RUNS} random stores are the same in PostgreSQL and back in a file (seed ${SEED})`,
    async () => {
      const url = await server!.newDatabase()
      let schemas = 0
      const check = fc.asyncProperty(sequence, fc.nat({ max: 15 }), async (steps, at) => {
        const [source, there] = [
          await openStore(':memory:'),
          await openStore(url, { schema: `m${schemas++}` }),
        ]
        const back = await openStore(':memory:')
        try {
          for (const [index, one] of steps.entries()) {
            await outcomeOf(source, one)
            // Once in the middle, so that the later copy replaces this one.
            if (index === at)
              for (const [from, to] of [
                [source, there],
                [there, back],
              ] as const)
                await moveStore(from, to)
          }
          for (const [from, to] of [
            [source, there],
            [there, back],
          ] as const)
            expect(await moveStore(from, to)).toMatchObject({ refused: 0 })
          const all = await allOf(source)
          for (const store of [there, back]) expect(await allOf(store)).toEqual(all)
          const views = await viewsOf(source)
          for (const store of [there, back]) expect(await viewsOf(store)).toEqual(views)
        } finally {
          for (const store of [source, there, back]) await store.close()
        }
      })
      const result = await fc.check(check, { numRuns: RUNS })
      if (result.failed) console.error(JSON.stringify(result.counterexample), result.errorInstance)
      expect(result.failed ? fc.defaultReportMessage(result) : undefined).toBeUndefined()
    },
    RUNS * 20_000,
  )

  it('the views of a whole store after each undo and redo are the same', async () => {
    const [source, there, other] = [
      await opened(newFile()),
      await opened(await server!.newDatabase()),
      await opened(await server!.newDatabase(), 'another'),
    ]
    await live(source)
    await moveStore(source, there)
    await moveStore(there, other)
    const [kept, views] = [await standing(source), await turned(source)]
    for (const store of [there, other]) {
      expect(await standing(store)).toEqual(kept)
      expect(await turned(store)).toEqual(views)
    }
  })

  // In the first session, between two, in a copy that replaces another, and after all messages.
  it.each([300, 700, 1_300, 2_300])(
    'a process killed after %i messages leaves complete sessions, and the next continues',
    async (messages) => {
      const url = await server!.newDatabase()
      const file = newFile()
      for (const [to, from] of [
        [url, file],
        [newFile(), url],
      ] as const) {
        if (from === file) {
          const source = await openStore(file)
          for (const id of ['a', 'b', 'c', 'd']) await source.append(id, chat(300))
          await source.compactSession('b', { range: { from: 1, to: 20 }, summary: 'One.' })
          await source.close()
        }
        await killedAfter(from, to, messages)
        const [source, there] = [await opened(from), await opened(to)]
        const seen = (await there.sessions.list()).map(({ id }) => id).reverse()
        expect(['a', 'b', 'c', 'd'].slice(0, seen.length)).toEqual(seen)
        for (const id of seen) expect(await everythingOf(there, id)).toEqual(await everythingOf(source, id))
        expect(await storageOf(there).importsInProgress()).toHaveLength(1)
        expect(await moveStore(source, there)).toMatchObject({
          copied: 4 - seen.length,
          unchanged: seen.length,
          refused: 0,
        })
        for (const id of ['a', 'b', 'c', 'd'])
          expect(await everythingOf(there, id)).toEqual(await everythingOf(source, id))
        expect(await storageOf(there).importsInProgress()).toEqual([])
      }
    },
  )

  it('a process killed while it replaces a copy leaves the old copy', async () => {
    const [url, file] = [await server!.newDatabase(), newFile()]
    const source = await opened(file)
    const there = await opened(url)
    await source.append('a', chat(300))
    await moveStore(source, there)
    const before = await everythingOf(there, 'a')
    await source.append('a', chat(300))
    await killedAfter(file, url, 700)
    expect(await everythingOf(there, 'a')).toEqual(before)
    expect(await moveStore(source, there)).toMatchObject({ replaced: 1 })
    expect(await everythingOf(there, 'a')).toEqual(await everythingOf(source, 'a'))
    expect(await query(url, 'select count(distinct family) from undertext.messages')).toEqual([['1']])
  })

  it('readers and writers of both stores go on while it moves', async () => {
    const [source, there] = [await opened(newFile()), await opened(await server!.newDatabase())]
    await source.append('a', chat(900))
    await there.append('theirs', [say('user', 'x')])
    const view = await source.getEffectiveHistory('a')
    let reads = 0
    let isMoving = true
    const reading = (async () => {
      while (isMoving) {
        expect(await source.getEffectiveHistory('a')).toEqual(view)
        expect((await there.sessions.list()).map(({ id }) => id).filter((id) => id !== 'a')).toEqual([
          'theirs',
        ])
        await there.append('theirs', [say('user', 'y')])
        await source.append('other', [say('user', 'z')])
        reads += 1
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    })()
    const moving = moveStore(source, there).finally(() => {
      isMoving = false
    })
    expect(await moving).toMatchObject({ refused: 0 })
    await reading
    expect(reads).toBeGreaterThan(3)
    expect(await there.getEffectiveHistory('a')).toEqual(view)
  })
})

/** Runs a move in a process of its own, which is killed after some messages. */
async function killedAfter(from: string, to: string, messages: number): Promise<void> {
  const child = spawn(process.execPath, [program.script, from, to, String(messages)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = await once(child.stdout, 'data')
  expect(String(said)).toBe('waiting\n')
  child.kill('SIGKILL')
  await once(child, 'close')
}

it('the memory of a move does not grow with the messages of a session', async () => {
  const heaps: number[] = []
  for (const rounds of [2_000, 12_000]) {
    const file = join(newFolder(), 'chats.db')
    const source = await openStore(file)
    for (let at = 0; at < rounds; at += 1_000) await source.append('a', chat(1_000, 400))
    await source.close()
    const child = spawn(process.execPath, ['--expose-gc', program.script, file, newFile()], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.on('data', (data) => {
      said += String(data)
    })
    await once(child, 'close')
    const { heap, copied, messages } = JSON.parse(said)
    expect([copied, messages]).toEqual([1, 2 * rounds])
    heaps.push(heap)
  }
  console.log(`heap: ${heaps.map((bytes) => `${(bytes / 1e6).toFixed(1)} MB`).join(', ')}`)
  expect(heaps[1]! - heaps[0]!).toBeLessThan(10_000_000)
})

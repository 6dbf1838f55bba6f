import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { openStore, type Summarizer } from '../../src/index.ts'
import type { StoreSettings } from '../../src/store/context.ts'
import { Store } from '../../src/store/store.ts'
import { storageOf } from '../support/apply-stage.ts'
import { type Bundled, bundle } from '../support/bundled.ts'
import { chat } from '../support/conversation.ts'
import { late } from '../support/late.ts'
import { newFile } from '../support/temporary.ts'

const DAY = 24 * 60 * 60 * 1_000
const S = 's'
const ONLY_SUMMARY = {
  targetTokens: 300,
  keepRecentTokens: 100,
  enablePrune: false,
  enableDeduplicate: false,
  enableTruncate: false,
} as const

let bundled: Bundled
let file: string
let closing: (() => unknown)[]
beforeAll(async () => {
  bundled = await bundle('test/processes/lease-child.ts')
})
afterAll(() => bundled.remove())
beforeEach(() => {
  file = newFile()
  closing = []
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(openIn = openStore): Promise<Store> {
  const store = await openIn(file, { durability: 'normal', estimator: 'neurolink' })
  closing.push(() => store.close())
  return store
}

async function openFull(): Promise<Store> {
  const store = await open()
  await store.append(S, chat(20, 20))
  return store
}

/** A summarizer that answers when it is told to. */
function held(): {
  readonly summarizer: Summarizer
  readonly asked: () => number
  readonly answer: () => void
} {
  let asked = 0
  let answer = (): void => undefined
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const summarize = async (): Promise<{ text: string }> => {
    asked += 1
    await answered
    return { text: 'In short.' }
  }
  return { summarizer: { name: 'slow', usesModel: true, summarize }, asked: () => asked, answer }
}

type Child = {
  readonly process: ChildProcess
  readonly says: () => Promise<string>
  readonly goOn: () => void
}

/** A process that compacts or imports; in a PID namespace of its own, with a clock that is ahead. */
function child(work: 'compact' | 'import', options: { isApart?: boolean; aheadMs?: number } = {}): Child {
  const { isApart = false, aheadMs = 0 } = options
  const node = [process.execPath, bundled.script, work, file, `${aheadMs}`]
  const [command, ...args] = isApart ? ['unshare', '--pid', '--fork', '--kill-child', ...node] : node
  const started = spawn(command!, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(started.stdout)[Symbol.asyncIterator]()
  closing.push(() => started.kill('SIGKILL'))
  return {
    process: started,
    says: async () => String((await lines.next()).value),
    goOn: () => started.stdin.write('\n'),
  }
}

/** One statement past the store. */
function write(sql: string, ...values: readonly unknown[]): number {
  const database = new BetterSqlite3(file)
  const { changes } = database.prepare(sql).run(...values)
  database.close()
  return changes
}

function read(sql: string): unknown {
  const database = new BetterSqlite3(file, { readonly: true })
  const value = database.prepare(sql).pluck().get()
  database.close()
  return value
}

const LEASE_ENDS = "select lease_expires from undertext_sessions where id = 's'"
const STAGED = "select count(*) from undertext_sessions where id like '~import/%'"

/** An import of this process that goes on until it is told to end. */
function slowImport(store: Store): {
  readonly begun: Promise<void>
  readonly end: () => Promise<string>
} {
  let begin = (): void => undefined
  let end = (): void => undefined
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  async function* events() {
    for (let at = 1; at <= 2_000; at++)
      yield {
        type: 'message' as const,
        message: { role: 'user' as const, content: `m${at}`, idempotencyKey: `k${at}` },
      }
    begin()
    await ended
  }
  const done = store.sessions.import(events(), { id: 'imported', source: 'elsewhere' })
  return {
    begun,
    end: async () => {
      end()
      return (await done).status
    },
  }
}

const canUnshare = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0

describe('a lease in a storage that returns 20 ms late', () => {
  it('counts before its taker knows that it has it', async () => {
    const first = await openFull()
    const second = await open()
    const asLate = (store: Store): Store => {
      const { estimators } = store as unknown as {
        estimators: StoreSettings['estimators']
      }
      return new Store(late(storageOf(store), { before: () => 0, after: () => 20 }), { estimators })
    }
    const model = held()
    const config = { ...ONLY_SUMMARY, summarizer: model.summarizer, waitMs: 5_000 }
    setTimeout(model.answer, 400)
    const one = asLate(first).compactSession(S, config)
    await new Promise((resolve) => setTimeout(resolve, 15))
    const [a, b] = await Promise.all([one, asLate(second).compactSession(S, config)])
    expect(model.asked()).toBe(1)
    expect(a).toMatchObject({ compacted: true })
    expect(b).toMatchObject({ compacted: false, reason: 'NOTHING_TO_COMPACT' })
  })
})

describe('two copies of the package in one process', () => {
  it('respect the lease and the import of each other', async () => {
    const store = await openFull()
    vi.resetModules()
    const copy = (await import('../../src/index.ts')).openStore
    expect(copy).not.toBe(openStore)
    const other = await open(copy as typeof openStore)
    const model = held()
    const run = store.compactSession(S, { ...ONLY_SUMMARY, summarizer: model.summarizer })
    const importing = slowImport(store)
    await importing.begun
    await vi.waitFor(() => expect(model.asked()).toBe(1))
    const second = other.compactSession(S, { ...ONLY_SUMMARY, summarizer: model.summarizer, waitMs: 0 })
    await expect(second).rejects.toMatchObject({ code: 'COMPACTION_IN_PROGRESS' })
    await other.sessions.import([], { id: 'another', source: 'elsewhere' })
    expect(await importing.end()).toBe('imported')
    model.answer()
    expect(await run).toMatchObject({ compacted: true })
    expect(model.asked()).toBe(1)
  })
})

describe.skipIf(!canUnshare)('a process with the same host name in another PID namespace', () => {
  it('does not take a live lease, whose process it cannot see', async () => {
    const store = await openFull()
    const model = held()
    const run = store.compactSession(S, { ...ONLY_SUMMARY, summarizer: model.summarizer })
    await vi.waitFor(() => expect(model.asked()).toBe(1))
    const other = child('compact', { isApart: true })
    expect(await other.says()).toBe('ended COMPACTION_IN_PROGRESS')
    model.answer()
    expect(await run).toMatchObject({ compacted: true })
  })

  it('does not remove an import that is running', async () => {
    const store = await open()
    const importing = slowImport(store)
    await importing.begun
    const other = child('import', { isApart: true })
    expect(await other.says()).toBe('at work')
    expect(read(STAGED)).toBe(2)
    expect(await importing.end()).toBe('imported')
  })

  it('and a lease it left with a clock 30 days ahead ends within 15 seconds', async () => {
    const store = await openFull()
    const other = child('compact', { isApart: true, aheadMs: 30 * DAY })
    expect(await other.says()).toBe('at work')
    expect(read(LEASE_ENDS)).toBeGreaterThan(Date.now() + 29 * DAY)
    other.process.kill('SIGKILL')
    await once(other.process, 'exit')
    const compact = () => store.compactSession(S, { targetTokens: 300, enableSummarize: false, waitMs: 0 })
    await expect(compact()).rejects.toMatchObject({ code: 'COMPACTION_IN_PROGRESS' })
    expect(read(LEASE_ENDS)).toBeLessThanOrEqual(Date.now() + 15_000)
    const { now } = Date
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 16_000)
    expect(await compact()).toMatchObject({ compacted: true })
  })
})

describe('a process whose clock is 30 days ahead', () => {
  it('does not take a live lease', async () => {
    const store = await openFull()
    const model = held()
    const run = store.compactSession(S, { ...ONLY_SUMMARY, summarizer: model.summarizer })
    await vi.waitFor(() => expect(model.asked()).toBe(1))
    const other = child('compact', { aheadMs: 30 * DAY })
    expect(await other.says()).toBe('ended COMPACTION_IN_PROGRESS')
    model.answer()
    expect(await run).toMatchObject({ compacted: true })
  })

  it('does not remove an import that is running', async () => {
    const store = await open()
    const importing = slowImport(store)
    await importing.begun
    const other = child('import', { aheadMs: 30 * DAY })
    expect(await other.says()).toBe('at work')
    expect(read(STAGED)).toBe(2)
    expect(await importing.end()).toBe('imported')
  })

  it('holds up no job: not one it queued, and not one it was at for longer than a minute', async () => {
    const store = await openFull()
    const { jobId } = await store.jobs.start(S, { targetTokens: 300 })
    await store.jobs.whenIdle(S)
    const then = Date.now() + 30 * DAY
    write("update undertext_jobs set state = 'queued', not_before = ?, changed_at = ?", then, then)
    expect(await store.jobs.whenIdle(S, { timeoutMs: 10_000 })).toBe(true)
    expect(await store.jobs.get(jobId)).toMatchObject({ state: 'done' })
    write(
      "update undertext_jobs set state = 'running', run = 'r', holder = 'otherhost/1/0/1', expires = ?",
      then,
    )
    await store.jobs.start(S)
    expect(await store.jobs.whenIdle(S, { timeoutMs: 200 })).toBe(false)
    expect(read('select expires from undertext_jobs')).toBeLessThanOrEqual(Date.now() + 60_000)
    const { now } = Date
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 121_000)
    expect(await store.jobs.whenIdle(S, { timeoutMs: 10_000 })).toBe(true)
    expect(await store.jobs.get(jobId)).toMatchObject({ state: 'done' })
  })

  it('keeps no circuit open', async () => {
    const summarize = async (): Promise<never> => {
      throw new Error('down')
    }
    const store = await openFull()
    const config = { ...ONLY_SUMMARY, summarizer: { name: 'down', usesModel: true, summarize } }
    for (let run = 1; run <= 3; run++) await store.compactSession(S, { ...config, trigger: 'auto' })
    await expect(store.jobs.start(S, config)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
    const then = Date.now() + 30 * DAY
    write('update undertext_circuits set open_until = ?, changed_at = ?', then + 300_000, then)
    const model = held()
    model.answer()
    const summarizer = { ...model.summarizer, name: 'down' }
    expect(await store.compactSession(S, { ...config, summarizer, trigger: 'auto' })).toMatchObject({
      compacted: true,
    })
  })
})

describe('a process that is paused', () => {
  it('in the middle of an import continues it after any time', async () => {
    const other = child('import')
    expect(await other.says()).toBe('at work')
    other.process.kill('SIGSTOP')
    const past = Date.now() - 2 * DAY
    const asOfThen =
      'update undertext_sessions set updated_at = ?, lease_expires = ? where staged_by is not null'
    expect(write(asOfThen, past, past)).toBe(1)
    const store = await open()
    await store.sessions.import([], { id: 'another', source: 'elsewhere' })
    expect(read(STAGED)).toBe(1)
    other.process.kill('SIGCONT')
    other.goOn()
    expect(await other.says()).toBe('ended imported')
    expect((await store.sessions.get('imported')).messageCount).toBe(2_000)
    expect((await store.sessions.verify('imported')).findings).toEqual([])
  })

  it('for longer than its lease cannot commit, and another compacts without it', async () => {
    const store = await openFull()
    const other = child('compact')
    expect(await other.says()).toBe('at work')
    other.process.kill('SIGSTOP')
    // As if a minute had passed since the last renewal.
    expect(write("update undertext_sessions set lease_expires = ? where id = 's'", Date.now() - 1)).toBe(1)
    const model = held()
    model.answer()
    const config = { ...ONLY_SUMMARY, summarizer: model.summarizer, waitMs: 0 }
    expect(await store.compactSession(S, config)).toMatchObject({ compacted: true })
    other.process.kill('SIGCONT')
    other.goOn()
    expect(await other.says()).toBe('ended STALE_PLAN')
  })
})

describe.each([
  ['two stores of one process', async () => open()],
  ['one store', async (first: Store) => first],
] as const)('a second run of %s', (_, secondOf) => {
  async function busy() {
    const store = await openFull()
    const second = await secondOf(store)
    const model = held()
    const run = store.compactSession(S, { ...ONLY_SUMMARY, summarizer: model.summarizer }).catch((e) => e)
    await vi.waitFor(() => expect(model.asked()).toBe(1))
    return { second, run, ...model }
  }

  it('is refused when waitMs is over', async () => {
    const { second, run, answer, summarizer, asked } = await busy()
    const began = performance.now()
    for (const enableTruncate of [false, true]) {
      const config = { ...ONLY_SUMMARY, enableTruncate, summarizer, waitMs: 60 }
      await expect(second.compactSession(S, config)).rejects.toMatchObject({ code: 'COMPACTION_IN_PROGRESS' })
    }
    expect(performance.now() - began).toBeGreaterThan(100)
    expect(asked()).toBe(1)
    answer()
    expect(await run).toMatchObject({ compacted: true })
  })

  it('of the stages that need no model is refused as well', async () => {
    const { second, run, answer } = await busy()
    const config = { targetTokens: 300, enableSummarize: false, waitMs: 60 }
    await expect(second.compactSession(S, config)).rejects.toMatchObject({ code: 'COMPACTION_IN_PROGRESS' })
    answer()
    expect(await run).toMatchObject({ compacted: true })
  })

  it('continues without the model when whenBusy is set', async () => {
    const { second, run, answer, summarizer, asked } = await busy()
    const config = { targetTokens: 300, keepRecentTokens: 100, summarizer, waitMs: 60 }
    expect(await second.compactSession(S, { ...config, whenBusy: 'withoutModel' })).toMatchObject({
      compacted: true,
      stagesUsed: ['truncate'],
    })
    expect(asked()).toBe(1)
    answer()
    expect(await run).toMatchObject({ code: 'STALE_PLAN' })
  })

  it('waits within waitMs, and finds the work done', async () => {
    const { second, run, answer, summarizer, asked } = await busy()
    setTimeout(answer, 100)
    const config = { ...ONLY_SUMMARY, summarizer, waitMs: 5_000, targetTokens: 301 }
    expect(await second.compactSession(S, config)).toMatchObject({ reason: 'NOTHING_TO_COMPACT' })
    expect(await run).toMatchObject({ compacted: true })
    expect(asked()).toBe(1)
  })
})

import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { modelSummarizer, openStore, type Store, type Summarizer, UndertextError } from '../../src/index.ts'
import { storageOf } from '../support/apply-stage.ts'
import { chat } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

const S = 's'
const SUMMARY = {
  targetTokens: 300,
  keepRecentTokens: 100,
  enablePrune: false,
  enableDeduplicate: false,
  enableTruncate: false,
} as const

let file: string
let store: Store
beforeEach(async () => {
  file = newFile()
  store = await openStore(file, { durability: 'normal', estimator: 'neurolink' })
  await store.append(S, chat(20, 20))
})
afterEach(async () => {
  await store.close()
})

describe('an attempt whose process died', () => {
  /** One that a process was at which no other can be any more: its number is above all there are. */
  async function leaveRunning(): Promise<void> {
    const storage = storageOf(store)
    const snapshot = (await storage.snapshot(S, 'openai'))!
    const run = { runId: 'dead', trigger: 'manual', actor: undefined, reason: undefined } as const
    await storage.noteAttempt(snapshot, run, {
      id: 'attempt',
      view: snapshot.view,
      rows: snapshot.view.rows.slice(0, 4),
      summarizer: 'model',
    })
    const database = new BetterSqlite3(file)
    database
      .prepare(
        "update undertext_sessions set lease_run = 'dead', lease_holder = 'otherhost/1/0/1', lease_expires = ? where id = 's'",
      )
      .run(Date.now() - 1)
    database.close()
    expect(await statuses()).toEqual(['running'])
  }
  async function statuses(of = store): Promise<string[]> {
    return (await of.listCompactions(S)).map(({ status }) => status)
  }
  const noModel = { targetTokens: 300, enableSummarize: false } as const

  it.each([
    ['a run that asks no model', () => store.compactSession(S, noModel)],
    ['a run that finds nothing to do', () => store.compactSession(S, { ...noModel, targetTokens: 100_000 })],
    ['a run that may ask no model', () => store.compactSession(S, { ...noModel, withoutModel: true })],
    ['sessions.verify', () => store.sessions.verify(S)],
    ['sessions.verify with repair', () => store.sessions.verify(S, { repair: true })],
  ])('has expired after %s', async (_, act) => {
    await leaveRunning()
    await act()
    expect((await statuses())[0]).toBe('expired')
    const expired = (await store.sessions.audit(S)).filter(({ event }) => event === 'expired')
    expect(expired).toMatchObject([{ compactionId: 'attempt', runId: 'dead' }])
  })

  it('has expired when the store is opened again, and not before its lease is over', async () => {
    await leaveRunning()
    const database = new BetterSqlite3(file)
    const lease = database.prepare('update undertext_sessions set lease_expires = ?')
    lease.run(Date.now() + 50_000)
    const early = await openStore(file, { estimator: 'neurolink' })
    expect(await statuses(early)).toEqual(['running'])
    await early.close()
    lease.run(Date.now() - 1)
    database.close()
    const reading = await openStore(file, { readonly: true })
    expect(await statuses(reading)).toEqual(['running'])
    await reading.close()
    const late = await openStore(file, { estimator: 'neurolink' })
    expect(await statuses(late)).toEqual(['expired'])
    await late.close()
  })

  it('one that is still running in this process does not expire', async () => {
    let answer = (): void => undefined
    let begin = (): void => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const summarize = (): Promise<{ text: string }> =>
      new Promise((resolve) => {
        answer = () => resolve({ text: 'In short.' })
        begin()
      })
    const run = store.compactSession(S, { ...SUMMARY, summarizer: { name: 'm', usesModel: true, summarize } })
    await begun
    await store.sessions.verify(S, { repair: true })
    const other = await openStore(file, { estimator: 'neurolink' })
    await store.compactSession(S, { withoutModel: true, targetTokens: 100_000 })
    expect(await statuses()).toEqual(['running'])
    await other.close()
    answer()
    expect(await run).toMatchObject({ compacted: true })
  })
})

describe('a model that was never called', () => {
  const generate = async (): Promise<never> => expect.unreachable()
  /** Fails before it announces a call. */
  const unbuildable: Summarizer = {
    ...modelSummarizer({ name: 'm', generate }),
    summarize: async () => {
      throw new TypeError('no prompt')
    },
  }
  const unlimited: Summarizer = {
    ...modelSummarizer({ name: 'm', generate }),
    inputTokensFor: () => {
      throw new TypeError('no limit')
    },
  }

  it.each([
    ['whose prompt cannot be built', unbuildable],
    ['whose limit cannot be told', unlimited],
  ])('%s is in no record, and opens no circuit', async (_, summarizer) => {
    for (let run = 1; run <= 4; run++) {
      const result = await store.compactSession(S, { ...SUMMARY, summarizer, trigger: 'auto' })
      expect(result).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED' })
      expect(result!.failed).toMatchObject([{ error: 'TypeError' }])
    }
    expect(await store.listCompactions(S)).toEqual([])
    expect(await store.sessions.audit(S)).toEqual([])
    expect(await storageOf(store).circuits.circuit(S)).toBeUndefined()
  })

  it('since its call was aborted while it waited is in no record', async () => {
    const database = new BetterSqlite3(file)
    database
      .prepare(
        "update undertext_sessions set lease_run = 'r', lease_holder = 'otherhost/1', lease_expires = ? where id = 's'",
      )
      .run(Date.now() + 50_000)
    database.close()
    const summarizer = modelSummarizer({ name: 'm', generate })
    const signal = AbortSignal.timeout(30)
    for (const trigger of ['manual', 'auto'] as const) {
      const run = store.compactSession(S, { ...SUMMARY, summarizer, trigger, signal })
      await expect(run).rejects.toMatchObject({ code: 'ABORTED' })
    }
    expect(await store.listCompactions(S)).toEqual([])
    expect(await storageOf(store).circuits.circuit(S)).toBeUndefined()
  })

  it('and one that was called, and failed, is on record, and opens the circuit', async () => {
    const failing = modelSummarizer({
      name: 'm',
      maxRetries: 0,
      generate: async () => {
        expect((await store.listCompactions(S)).at(-1)).toMatchObject({ status: 'running' })
        throw new TypeError('no')
      },
    })
    for (let run = 1; run <= 3; run++)
      await store.compactSession(S, { ...SUMMARY, summarizer: failing, trigger: 'auto' })
    expect((await store.listCompactions(S)).map(({ status }) => status)).toEqual([
      'failed',
      'failed',
      'failed',
    ])
    expect((await storageOf(store).circuits.circuit(S))!.openUntil).toBeGreaterThan(Date.now())
  })
})

it('a summarizer that does not wait for the record of its call ends no process: the run throws why it was not recorded', async () => {
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  vi.spyOn(storageOf(store), 'noteAttempt').mockImplementationOnce(async () => {
    throw new UndertextError('STORE_FULL', { detail: 'SQLITE_FULL' })
  })
  const summarizer: Summarizer = {
    name: 'hasty',
    usesModel: true,
    announcesCalls: true,
    summarize: async ({ calling }) => {
      void calling?.()
      await new Promise((resolve) => setImmediate(resolve))
      return { text: 'In short.' }
    },
  }
  await expect(store.compactSession(S, { ...SUMMARY, summarizer })).rejects.toMatchObject({
    code: 'STORE_FULL',
  })
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})

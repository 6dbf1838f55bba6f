import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { ONLY } from '../storage/contract/support.ts'
import { say } from '../support/conversation.ts'
import { CANARY, dumpOf, expectFailure, failureOf } from '../support/failures.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { crowd, expectOutcomes, freshFolder, openAtOnce, storeOf } from './shared-file.ts'
import { TURN_LENGTH, turnOf } from './turns.ts'

let fleet: Fleet
beforeAll(async () => {
  fleet = await startFleet(8)
})
afterAll(() => fleet.end())

let place: ReturnType<typeof freshFolder>
let file: string
beforeEach(() => {
  place = freshFolder()
  file = join(place.folder, 'chats.db')
})
afterEach(() => place.remove())

describe('many processes on one file', () => {
  test('four on one session: two append, one compacts, one reads', () =>
    crowd(fleet, file, ['s'], { appenders: 2, compactors: 1, undoers: 0, readers: 1 }, 30))

  test('eight on one session: three append, two compact, one undoes and redoes, two read', () =>
    crowd(fleet, file, ['s'], { appenders: 3, compactors: 2, undoers: 1, readers: 2 }, 30))

  test('eight on six sessions', () =>
    crowd(
      fleet,
      file,
      ['s', 't', 'u', 'v', 'w', 'x'],
      { appenders: 5, compactors: 1, undoers: 1, readers: 1 },
      8,
    ))

  test('eight open one new file at once, five times', () => openAtOnce(fleet, place.folder, 5))
})

describe('a summary that several ask for', () => {
  const config = { ...ONLY.summarize, targetTokens: 500, keepRecentTokens: 200 }
  const calls = (log: string): number =>
    existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0

  test('is paid for once: the others wait and find the work done', async () => {
    await storeOf(file, 's', 20)
    const log = join(place.folder, 'calls')
    const outcomes = await Promise.all(
      fleet.members.slice(0, 4).map((member) => member.do('summarize', { file, session: 's', log, config })),
    )
    expect(outcomes.sort()).toEqual([
      'NOTHING_TO_COMPACT',
      'NOTHING_TO_COMPACT',
      'NOTHING_TO_COMPACT',
      'compacted',
    ])
    expect(calls(log)).toBe(1)
    const store = await openStore(file)
    expect((await store.listCompactions('s')).map(({ status, cost }) => [status, cost])).toEqual([
      ['active', 1],
    ])
    expect((await store.sessions.verify('s')).findings).toEqual([])
    await store.close()
  })

  test('is paid for once also when no caller waits', async () => {
    await storeOf(file, 's', 20)
    const log = join(place.folder, 'calls')
    const argument = { file, session: 's', log, config: { ...config, waitMs: 0 } }
    const outcomes = await Promise.all(
      fleet.members.slice(0, 4).map((member) => member.do('summarize', argument)),
    )
    // Who comes when the first is done already finds nothing to do.
    expect(outcomes.filter((outcome) => outcome === 'compacted')).toHaveLength(1)
    expectOutcomes(Object.fromEntries(outcomes.map((outcome) => [outcome, 1])), [
      'compacted',
      'COMPACTION_IN_PROGRESS',
      'NOTHING_TO_COMPACT',
    ])
    expect(calls(log)).toBe(1)
  })
})

describe('a process that holds the write lock', () => {
  const BUSY_MS = 120
  /** What a refusal may take longer than its limit: a loaded machine, and SQLite's steps of 100 ms. */
  const MARGIN_MS = 4_000

  /** Runs something while another process holds the lock of the file. */
  async function whileHeld<T>(act: () => Promise<T>): Promise<T> {
    await fleet.members[0]!.do('hold', { file })
    try {
      return await act()
    } finally {
      await fleet.members[0]!.do('release', {})
    }
  }

  async function timed(act: () => Promise<unknown>): Promise<number> {
    const start = performance.now()
    await act()
    return performance.now() - start
  }

  let store: Store
  let ids: readonly string[]
  let active: string
  let undone: string
  beforeEach(async () => {
    await storeOf(file, 's', 12)
    store = await openStore(file, { busyTimeoutMs: BUSY_MS })
    ids = (await store.getMessages('s')).map(({ id }) => id)
    active = (await store.compactSession('s', { range: { from: 1, to: 4 }, summary: 'x' }))!.runId
    undone = (await store.compactSession('s', { range: { from: 5, to: 8 }, summary: 'x' }))!.runId
    await store.undoCompaction('s', undone)
  })
  afterEach(() => store.close())

  test('makes every writing verb end STORE_BUSY within its limit; nothing is written; after it all succeed', async () => {
    const verbs: Record<string, () => Promise<unknown>> = {
      createSession: () => store.sessions.create({ id: 'new' }),
      updateSession: () => store.sessions.update('s', { title: 'x' }),
      archiveSession: () => store.sessions.archive('s'),
      append: () => store.append('s', turnOf('late', 1)),
      'append to a new session': () => store.append('t', turnOf('late', 1)),
      pin: () => store.messages.pin('s', [ids[40]!]),
      unpin: () => store.messages.unpin('s', [ids[40]!]),
      hideMessages: () => store.compactions.hide('s', [ids[20]!]),
      recordProviderCompaction: () =>
        store.compactions.recordProvider('s', {
          appliedEdits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 90 }],
        }),
      undoCompaction: () => store.undoCompaction('s', active),
      redoCompaction: () => store.redoCompaction('s', undone),
      compactSession: () => store.compactSession('s', { ...ONLY.truncate, targetTokens: 600 }),
      reestimate: () => store.sessions.reestimate('s'),
      'verifySession with repair': () => store.sessions.verify('s', { repair: true }),
      purgeSession: () => store.sessions.purge('s'),
    }
    const other = new BetterSqlite3(file, { readonly: true })
    const before = dumpOf(other)
    await whileHeld(async () => {
      for (const [name, act] of Object.entries(verbs)) {
        const took = await timed(async () => expectFailure(await failureOf(act), 'STORE_BUSY', name))
        expect(took, name).toBeGreaterThan(BUSY_MS * 0.8)
        expect(took, name).toBeLessThan(BUSY_MS + MARGIN_MS)
      }
    })
    expect(dumpOf(other)).toBe(before)
    other.close()
    for (const act of Object.values(verbs)) await act()
  })

  test('does not block readers', async () => {
    // With no time to wait, any wait would be an error.
    const open = (readonly: boolean): Promise<Store> => openStore(file, { readonly, busyTimeoutMs: 0 })
    const reader = await open(false)
    const read = async (): Promise<unknown[]> => [
      await reader.sessions.get('s'),
      await reader.sessions.list(),
      await reader.getMessages('s'),
      await reader.getEffectiveHistory('s', { provenance: true }),
      await reader.renderHistory('s', { provider: 'anthropic' }),
      await reader.getContextStats('s'),
      reader.needsCompaction('s'),
      (await reader.previewCompaction('s', { ...ONLY.truncate, targetTokens: 600 }))!.tokensAfter,
      await reader.listCompactions('s'),
      await reader.sessions.audit('s'),
      await reader.sessions.verify('s'),
    ]
    const before = await read()
    await whileHeld(async () => {
      expect(await read()).toEqual(before)
      // A store that is there is opened without writing.
      for (const readonly of [false, true]) await (await open(readonly)).close()
    })
    await reader.close()
  })

  test('ends a run that calls a model with STORE_BUSY before the call, and when it cannot be committed', async () => {
    let asked = 0
    const config = { ...ONLY.summarize, targetTokens: 200, keepRecentTokens: 200 }
    const model = (during: () => Promise<unknown>) => ({
      name: 'fake',
      usesModel: true,
      summarize: async () => {
        asked += 1
        await during()
        return { text: 'In short.' }
      },
    })
    const before = await store.getEffectiveHistory('s')
    await whileHeld(async () => {
      const run = (): Promise<unknown> =>
        store.compactSession('s', { ...config, summarizer: model(async () => 0) })
      expect(await timed(async () => expectFailure(await failureOf(run), 'STORE_BUSY'))).toBeLessThan(
        BUSY_MS + MARGIN_MS,
      )
    })
    expect(asked).toBe(0)
    const hold = (): Promise<unknown> => fleet.members[0]!.do('hold', { file })
    const error = await failureOf(() => store.compactSession('s', { ...config, summarizer: model(hold) }))
    await fleet.members[0]!.do('release', {})
    expectFailure(error, 'STORE_BUSY')
    expect(await store.getEffectiveHistory('s')).toEqual(before)
    // The lease nobody could give back is in nobody's way.
    const again = await store.compactSession('s', { ...config, waitMs: 0, summarizer: model(async () => 0) })
    expect(again).toMatchObject({ compacted: true })
    expect((await store.listCompactions('s')).map(({ status }) => status)).not.toContain('running')
    expect((await store.sessions.verify('s')).findings).toEqual([])
  })

  test('makes opening a file that is no store yet end STORE_BUSY within the limit', async () => {
    file = join(place.folder, 'new.db')
    await whileHeld(async () => {
      const open = (): Promise<unknown> => openStore(file, { busyTimeoutMs: BUSY_MS })
      const took = await timed(async () => expectFailure(await failureOf(open), 'STORE_BUSY'))
      expect(took).toBeGreaterThan(BUSY_MS * 0.8)
      expect(took).toBeLessThan(BUSY_MS + MARGIN_MS)
    })
    const made = await openStore(file, { busyTimeoutMs: BUSY_MS })
    await made.append('s', [say('user', 'x')])
    await made.close()
  })
})

describe('a purge', () => {
  test('while others append, compact and hold a preview leaves nothing of what it purged', async () => {
    const [appender, compactor, previewer, purger] = fleet.members
    await storeOf(file, 's', 20)
    const config = { ...ONLY.truncate, targetTokens: 600 }
    expect(await previewer!.do('preview', { file, session: 's', config })).toBe('previewed')
    const incarnation = await incarnationOf('s')
    const compacting = compactor!.do('compact', { file, session: 's', name: 'compactor', configs: [config] })
    const appending = appender!.do('append', { file, sessions: ['s'], name: 'sender', turns: 40, pauseMs: 4 })
    const purged = await purger!.do('purge', { file, session: 's', times: 8 })
    const { sent, outcomes } = await appending
    compactor!.stop()
    expectOutcomes(await compacting, [
      'compacted',
      'no session',
      'NOTHING_TO_COMPACT',
      'NO_PROGRESS',
      'STALE_PLAN',
      'SESSION_NOT_FOUND',
    ])
    expect(outcomes).toEqual({ appended: 40 })
    expectOutcomes(purged, ['purged', 'SESSION_NOT_FOUND'])
    expect(purged.purged).toBeGreaterThan(0)
    expect(await previewer!.do('apply', {})).toBe('STALE_PLAN')

    const store = await openStore(file)
    // What stands is what came after the last purge: a session of its own, whole from position 1.
    expect((await store.sessions.get('s')).incarnation).not.toBe(incarnation)
    const log = (await store.getMessages('s')).filter(({ position }) => position !== undefined)
    expect(log.map(({ position }) => position)).toEqual(log.map((_, at) => at + 1))
    const last = sent.slice(-log.length / TURN_LENGTH)
    expect(log.map(({ role, content }) => ({ role, content }))).toEqual(
      last.flatMap(({ turn }) => turnOf('sender', turn)),
    )
    expect((await store.sessions.verify('s')).findings).toEqual([])
    await store.sessions.purge('s')
    await store.close()
    expectNothingLeft()
  })

  test('while a model writes a summary leaves nothing of it in the session that comes after', async () => {
    await storeOf(file, 's', 20)
    const store = await openStore(file)
    const summarize = async (): Promise<{ text: string }> => {
      await fleet.members[0]!.do('purge', { file, session: 's', times: 1 })
      await fleet.members[0]!.do('append', { file, sessions: ['s'], name: 'other', turns: 1, pauseMs: 0 })
      return { text: 'In short.' }
    }
    const config = { ...ONLY.summarize, targetTokens: 500, keepRecentTokens: 200 }
    const summarizer = { name: 'fake', usesModel: true, summarize }
    expectFailure(await failureOf(() => store.compactSession('s', { ...config, summarizer })), 'STALE_PLAN')
    expect(await store.listCompactions('s')).toEqual([])
    expect(await store.sessions.audit('s')).toEqual([])
    expect(await store.getEffectiveHistory('s')).toHaveLength(TURN_LENGTH)
    await store.close()
  })

  async function incarnationOf(session: string): Promise<string> {
    const store = await openStore(file, { readonly: true })
    const { incarnation } = await store.sessions.get(session)
    await store.close()
    return incarnation
  }

  /** The tables hold no word and no row of any session; only the receipts stay. */
  function expectNothingLeft(): void {
    const database = new BetterSqlite3(file, { readonly: true })
    expect(dumpOf(database)).not.toContain(CANARY)
    for (const table of ['sessions', 'messages', 'contents', 'compactions', 'replacements', 'blobs'])
      expect(database.prepare(`select count(*) from undertext_${table}`).pluck().get(), table).toBe(0)
    const audit = database.prepare('select distinct session, event from undertext_audit').raw().all()
    expect(audit).toEqual([[0, 'purged']])
    database.close()
  }
})

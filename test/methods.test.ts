import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { openStore, type Store } from '../src/index.ts'
import { ENABLING, KILLED_VERBS, prepare } from './crashes/operations.ts'
import { filledDatabase } from './crashes/trials.ts'
import { S, VERBS } from './crashes/verbs.ts'
import { CALLS, callMethod, furnish, methodOf } from './fuzz/verbs.ts'
import { REPETITIONS } from './storage/contract/repetitions.ts'
import { dumpOf } from './support/failures.ts'
import {
  HOOKS,
  holderOf,
  methodOfRow,
  READING_STORE_METHODS,
  WRITING_ADAPTER_METHODS,
  WRITING_STORE_METHODS,
} from './support/methods.ts'

/* The tables of the tests are complete: each writing method of a store and of an adapter has a row in each of them. */

/** Methods without a row in a table, with the reason. */
const WITHOUT = {
  failing: {
    beginTurn: 'writes only a claim, which runs out; what a turn writes has rows of the storage',
    'privacy.applyRetention':
      'many transactions, each of which is whole: test/retention/processes.slow.ts kills it between and within them',
    search: 'writes only its index; test/crashes/failing-searches.slow.ts lets its statements fail',
    withOverflowRecovery: 'limits.learn, and then compactSession: each has a row',
    'chatStore.resume':
      'stores the message as save does, and then prepares the request: a failure of that leaves the message stored',
    'UndertextSessionStore.delete UndertextSessionStore.restore':
      'several transactions, each of which is a row of the store: append, rewind or undo, and archive',
    'UndertextSessionStore.listSessionSummaries': 'keeps what it read with sessions.update',
    'privacy.eraseOwner': 'several transactions: sessions.purge, and one that erases names',
    'jobs.start': 'its rows are "queue a job", "take up a job" and "end a job" of the storage',
  },
  killed: {
    'sessions.create': 'one statement, which "append a batch" to a new session contains',
    previewCompaction: 'writes only attempts at summaries, as "summarize by a slow model" does',
    'prepareRequest withOverflowRecovery': 'they write through compactSession, as "pipeline" does',
    recordResponse:
      'it writes through append and requests.recordUsage, as "append by keys" and "report usage" do',
    'limits.learn': 'writes what "learn a limit" writes',
    'limits.forget': 'one statement',
    'sessions.import': 'test/import/killed.slow.ts kills it',
    'privacy.eraseOwner': 'each session is purged as "purge" does',
    beginTurn: 'test/processes/killed-turns.slow.ts kills it',
    'jobs.start jobs.cancel': 'test/background kills the process of a job',
    'privacy.applyRetention': 'test/retention/processes.slow.ts kills it',
    'privacy.purgeText': 'test/crashes/purge-text.slow.ts kills it',
    'sessions.verify': 'the killed sessions are verified, and repaired only when they are damaged',
  },
  repeated: {
    prepareRequest: 'does not store the prompt, so its ids and keys write nothing',
  },
} as const

const named = (table: object): ReadonlySet<string> =>
  new Set(Object.keys(table).flatMap((key) => key.split(' ')))

/** Notes the methods that are called on a store, also by itself. */
function note(store: Store, called: Set<string>): void {
  for (const full of WRITING_STORE_METHODS) {
    const [holder, name] = holderOf(store, full)
    const method = Reflect.get(holder, name) as (...args: unknown[]) => unknown
    const noting = (...args: unknown[]): unknown => {
      called.add(full)
      return method.apply(holder, args)
    }
    Object.defineProperty(holder, name, { value: noting, configurable: true })
  }
}

const OPTIONS = { env: false, estimator: 'neurolink' } as const

/** A database, and a store over it. */
async function openCopy(image: Buffer) {
  const database = new BetterSqlite3(image)
  return { database, store: await openStore(database, OPTIONS) }
}

const missingOf = (methods: readonly string[], covered: Iterable<string>, without: object): string[] => {
  const known = new Set([...covered, ...named(without)])
  return methods.filter((name) => !known.has(name))
}

it('the methods that are not listed as reading are the writing ones: no valid call of a reading method writes', async () => {
  const first = new BetterSqlite3(':memory:')
  const filled = await furnish(await openStore(first, OPTIONS), 's')
  const image = first.serialize()
  const reading = Object.entries(CALLS).filter(([row]) => READING_STORE_METHODS.includes(methodOf(row)))
  for (const [row, argsOf] of reading) {
    const { database, store } = await openCopy(image)
    const before = dumpOf(database)
    await callMethod(store, methodOf(row), argsOf({ ...filled, store }))
    expect(dumpOf(database) === before, `${row} writes nothing`).toBe(true)
  }
  expect(new Set(reading.map(([row]) => methodOf(row))).size).toBe(READING_STORE_METHODS.length)
})

describe('each writing method has a row', () => {
  it('in the table of verbs whose statements fail', async () => {
    const covered = new Set<string>()
    for (const verb of VERBS) {
      const adapter = WRITING_ADAPTER_METHODS.find((name) => name === methodOfRow(verb.name))
      if (adapter !== undefined) covered.add(adapter)
      if (adapter !== undefined || /^(chatStore|Undertext)/.test(verb.name)) continue
      const { database, store } = await openCopy(await filledDatabase())
      const arranged = (await verb.arrange?.(store, database)) as never
      note(store, covered)
      await verb.act(store, arranged)
      database.close()
    }
    const all = [...WRITING_STORE_METHODS, ...WRITING_ADAPTER_METHODS]
    expect(missingOf(all, covered, WITHOUT.failing)).toEqual([])
  })

  it('in the table of verbs that are killed', async () => {
    const covered = new Set<string>()
    for (const verb of KILLED_VERBS) {
      const { database, store } = await openCopy(await filledDatabase())
      for (const [number, one] of [...(ENABLING[verb] ?? []), verb].entries()) {
        const act = await prepare(store, { number, verb: one, session: S, picks: [3, 1, 4] })
        if (one === verb) note(store, covered)
        await act?.()
      }
      database.close()
    }
    expect(missingOf(WRITING_STORE_METHODS, covered, WITHOUT.killed)).toEqual([])
  })

  it('in the table of repeated calls, when a caller can give an id, a key or a position', () => {
    const rows = new Set(Object.keys(REPETITIONS).map(methodOfRow))
    const given = /"(?:id|idempotencyKey|operationId|expectedPosition)":/
    const shown = (row: string): string => {
      // Only what a caller gives: the fixture stays unknown.
      const unknown = new Proxy({}, { get: () => 'x' }) as never
      try {
        return JSON.stringify(CALLS[row]!(unknown), (_, one) => (typeof one === 'function' ? undefined : one))
      } catch {
        return ''
      }
    }
    const repeatable = Object.keys(CALLS)
      .filter((row) => WRITING_STORE_METHODS.includes(methodOf(row)) && given.test(shown(row)))
      .map(methodOf)
    expect(repeatable.length).toBeGreaterThan(6)
    expect(missingOf(repeatable, rows, WITHOUT.repeated)).toEqual([])
    const methods = [...WRITING_STORE_METHODS, ...WRITING_ADAPTER_METHODS, ...HOOKS]
    expect([...rows].filter((name) => !methods.includes(name))).toEqual([])
  })
})

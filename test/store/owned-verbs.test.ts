import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { isUndertextError, openStore, type Store } from '../../src/index.ts'
import { CALLS, callMethod, type Fixture, furnish, methodOf } from '../fuzz/verbs.ts'
import { LISTENING, STORE_METHODS } from '../support/methods.ts'
import { databaseOn, postgresServer, startPglite } from '../support/postgres.ts'
import { newFile } from '../support/temporary.ts'

/*
 * Every method of a store, called in the store of an owner with the ids of another owner's things, of things without an owner, and of
 * things that no longer exist: the outcome is the same, and nothing of others changes. The rows are the table of valid calls, which is
 * compared with the classes.
 */

/** Methods that concern no owner. */
const WITHOUT_ROWS: ReadonlySet<string> = new Set([
  ...[...LISTENING, 'close', 'forOwner'],
  // What was learned of models is shared.
  ...['limits.set', 'limits.list', 'limits.forget'],
])
const ROWS = Object.keys(CALLS).filter((row) => !WITHOUT_ROWS.has(methodOf(row)))

it('every method has a row', () => {
  const rows = new Set(Object.keys(CALLS).map(methodOf))
  expect(STORE_METHODS.filter((name) => !rows.has(name) && !WITHOUT_ROWS.has(name))).toEqual([])
})

const server = await postgresServer()
const OPTIONS = { env: false, estimator: 'neurolink' } as const
const ENGINES: readonly (readonly [string, () => Promise<Store>])[] = [
  ['SQLite', () => openStore(newFile(), OPTIONS)],
  [
    server === undefined ? 'PGlite' : 'PostgreSQL',
    async () => {
      const { driver } = await (server === undefined ? startPglite() : databaseOn(server))
      return openStore(driver, OPTIONS)
    },
  ],
]

describe.each(ENGINES)('in %s, the store of an owner', (_, open) => {
  let store: Store
  const of: { [whose: string]: Fixture } = {}
  beforeAll(async () => {
    store = await open()
    for (const whose of ['foreign', 'unowned', 'missing']) of[whose] = await furnish(store, `s-${whose}`)
    for (const id of ['s-unowned', 's-unowned fork']) await store.sessions.update(id, { owner: null })
    await store.notes.forget(of.missing!.noteId, { purge: true })
    await store.sessions.purge('s-missing', { forks: 'purge' })
  }, 60_000)
  afterAll(() => store.close())

  test.each(ROWS)('%s finds nothing of others', async (row) => {
    const before = await othersIn(store)
    const [foreign, unowned, missing] = await Promise.all(
      ['foreign', 'unowned', 'missing'].map((whose, at) =>
        outcomeOf(store.forOwner(`ann ${at} of ${row}`), row, of[whose]!),
      ),
    )
    expect(foreign).toEqual(missing)
    expect(unowned).toEqual(missing)
    expect(await othersIn(store)).toEqual(before)
  })
})

/** What the store holds of others: everything that an export of their sessions contains, their notes and jobs. */
async function othersIn(store: Store): Promise<unknown[]> {
  const found: unknown[] = [await store.notes.list({ owner: 'o', all: true })]
  for (const id of ['s-foreign', 's-foreign fork', 's-unowned', 's-unowned fork']) {
    const own = id.startsWith('s-foreign') ? store.forOwner('o') : store
    for await (const record of own.sessions.export(id)) if (record.type !== 'header') found.push(record)
    found.push(await own.jobs.list(id))
  }
  return found
}

/** The value or the error of a call, without ids and times. */
async function outcomeOf(own: Store, row: string, fixture: Fixture): Promise<unknown> {
  const { owner } = await own.sessions.create({ id: 'own' })
  const ids = [
    fixture.fork,
    fixture.s,
    owner!,
    ...Object.values(fixture).filter((id) => typeof id === 'string'),
  ]
  const plain = (text: string): string =>
    ids
      .reduce((rest, id) => rest.replaceAll(id, 'ID'), text)
      .replaceAll(
        /[0-9a-f]{8}-[0-9a-f-]{27}|[\w-]{16}(?=:\d)|(?<=incarnation":")[\w-]+|\b\d{13}\b|\d+\.\d+/g,
        'X',
      )
  const given = CALLS[row]!({ ...fixture, store: own })
  try {
    const value = await callMethod(
      own,
      methodOf(row),
      given.map((one) => withOwner(one, owner!)) as unknown[],
    )
    return plain(JSON.stringify(value) ?? 'undefined')
  } catch (error) {
    if (!isUndertextError(error)) throw error
    return { code: error.code, message: plain(error.message) }
  }
}

/** The argument with the owner of the store in place of the option `owner`. */
function withOwner(value: unknown, owner: string): unknown {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return 'owner' in value ? { ...value, owner } : value
}

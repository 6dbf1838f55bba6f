import BetterSqlite3 from 'better-sqlite3'
import { expect } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { recordsOf } from '../history/support.ts'
import { call, result, say } from '../support/conversation.ts'
import { type Fixture, furnish } from './verbs.ts'

/* A store of several people. What is of Bob, or of nobody, holds a secret that stands in no argument of any test. */

export const SECRET = 'S3CR3T-of-the-safe'
const IMAGE = Buffer.from(`${SECRET} `.repeat(1_000)).toString('base64')
/** As text, and as base64, whose beginning repeats. */
const TELLS = [SECRET, IMAGE.slice(0, 60)]

export const PEOPLE = ['ann', 'bob', 'nobody'] as const
export type Person = (typeof PEOPLE)[number]
export const OPTIONS = { env: false, estimator: 'neurolink' } as const

/** The store in which a person's sessions are found. */
export const storeOf = (store: Store, whose: Person): Store =>
  whose === 'nobody' ? store : store.forOwner(whose)

const first = new BetterSqlite3(':memory:')
const filling = await openStore(first, OPTIONS)
const fixtures = {} as { [whose in Person]: Fixture }
for (const whose of PEOPLE) {
  const fixture = await furnish(filling, `${whose}-s`)
  for (const id of [fixture.s, fixture.fork])
    await filling.sessions.update(id, { owner: whose === 'nobody' ? null : whose })
  fixtures[whose] = fixture
}
for (const whose of ['bob', 'nobody'] as const) await hide(storeOf(filling, whose), whose)
/** What names something of others: ids, keys and hashes. */
export const FOREIGN: readonly string[] = [
  ...new Set([...(await namesOf('bob')), ...(await namesOf('nobody'))]),
]
const image = first.serialize()

/** Puts the secret into everything of a session that holds text. */
async function hide(store: Store, whose: 'bob' | 'nobody'): Promise<void> {
  const { s } = fixtures[whose]
  const { position } = await store.append(s, [
    { ...say('user', `The combination is ${SECRET}.`), id: `${whose}-id`, idempotencyKey: `${whose}-key` },
    { ...call(`${whose}-call`, 'run', { secret: SECRET }), metadata: { secret: SECRET } },
    result(`${whose}-call`, `${SECRET} `.repeat(3_000), 'run'),
    {
      role: 'user',
      content: [
        { type: 'image', image: IMAGE, mediaType: 'image/png' },
        { type: 'text', text: SECRET },
      ],
    },
    say('assistant', `The combination is ${SECRET}, again and again. ${'word '.repeat(200)}`),
  ])
  await store.compactSession(s, { range: { from: position, to: position }, summary: `${SECRET}.` })
  await store.sessions.update(s, { title: SECRET, metadata: { secret: SECRET } })
  await store.notes.add(`The combination is ${SECRET}.`, { session: s, key: 'secret' })
  if (whose === 'bob') await store.notes.add(`The combination is ${SECRET}.`, { owner: 'bob' })
  const request = await store.prepareRequest(s, { system: `${SECRET} `.repeat(1_000), prompt: SECRET })
  await store.requests.recordUsage(s, { inputTokens: 900, request })
  await store.search('combination', { session: s })
}

async function namesOf(whose: 'bob' | 'nobody'): Promise<string[]> {
  const store = storeOf(filling, whose)
  const { s, fork } = fixtures[whose]
  const names: string[] = ['bob', s, fork, 'm1', `${whose}-id`, `${whose}-key`, `${whose}-call`]
  for (const record of await recordsOf(store, s)) {
    const { id, run, sha256, incarnation } = record as { readonly [name: string]: unknown }
    for (const name of [id, run, sha256, incarnation]) if (typeof name === 'string') names.push(name)
  }
  for (const { id } of await store.getEffectiveHistory(s)) names.push(id)
  for (const { id } of await store.requests.list(s)) names.push(id)
  for (const { id } of await store.notes.list({ session: s, all: true })) names.push(id)
  const blobs = first.prepare('select lower(hex(hash)) from undertext_blobs').pluck().all() as string[]
  return [...names, ...blobs, fixtures[whose].jobId, fixtures[whose].cursor].filter(
    (name) => !name.includes(SECRET),
  )
}

/** A copy of the store of all. */
export type Ground = {
  readonly store: Store
  readonly database: BetterSqlite3.Database
  readonly fixtures: { readonly [whose in Person]: Fixture }
  /** Whether something was written since the copy was made. */
  readonly isTouched: () => boolean
  readonly close: () => Promise<void>
}

export async function newGround(of: Buffer = image): Promise<Ground> {
  const database = new BetterSqlite3(of)
  const store = await openStore(database, OPTIONS)
  const changes = database.prepare('select total_changes()').pluck()
  const before = changes.get()
  return {
    ...{ store, database, fixtures, isTouched: () => changes.get() !== before },
    close: async () => {
      await store.close()
      database.close()
    },
  }
}

/** An empty store, as bytes from which others are made. */
export async function emptyImage(): Promise<Buffer> {
  const database = new BetterSqlite3(':memory:')
  await (await openStore(database, OPTIONS)).close()
  return database.serialize()
}

/** All texts in a value, those of errors and bytes included. A value may be deeper than the stack. */
function textOf(value: unknown): string {
  const texts: string[] = []
  const seen = new Set<unknown>()
  for (let open = [value]; open.length > 0; ) {
    const one = open.pop()
    if (typeof one === 'string') texts.push(one)
    if (typeof one !== 'object' || one === null || seen.has(one)) continue
    seen.add(one)
    if (one instanceof Uint8Array) texts.push(Buffer.from(one).toString('latin1'))
    else if (one instanceof Map || one instanceof Set) open = [...open, ...(one as Iterable<unknown>)]
    // The message and the cause of an error are its own keys, too. An argument that comes back may refuse to be read.
    else
      try {
        for (const key of Reflect.ownKeys(one)) {
          texts.push(String(key))
          open.push((one as Record<PropertyKey, unknown>)[key])
        }
      } catch {}
  }
  return texts.join('\n')
}

/** Fails if a value says anything of the secret. */
export function expectNoSecret(value: unknown, what: string): void {
  const text = textOf(value)
  expect(
    TELLS.filter((tell) => text.includes(tell)),
    what,
  ).toEqual([])
}

/** Everything of others that a store exports. */
export async function othersIn(store: Store): Promise<string> {
  const found: unknown[] = [await store.notes.list({ owner: 'bob', all: true })]
  for (const whose of ['bob', 'nobody'] as const)
    for (const id of [fixtures[whose].s, fixtures[whose].fork]) {
      const [, ...records] = await recordsOf(storeOf(store, whose), id)
      found.push(records, await storeOf(store, whose).jobs.list(id))
    }
  return JSON.stringify(found)
}

/** Everything that a store says of a session. */
export async function everythingIn(store: Store, id: string): Promise<unknown[]> {
  const requests = await store.requests.list(id)
  const calls = await store.messages.toolCalls(id)
  return [
    await store.sessions.get(id, { counts: true }),
    await recordsOf(store, id),
    await store.getMessages(id),
    await store.getEffectiveHistory(id, { provenance: true }),
    await store.renderHistory(id, { provider: 'anthropic' }),
    await Promise.all(requests.map((one) => store.requests.get(id, one.id).catch((error: unknown) => error))),
    calls,
    await store.notes.list({ session: id, all: true }),
    await store.listCompactions(id),
    await store.sessions.audit(id, { limit: 1_000 }),
    await store.sessions.forks(id),
    await store.search('combination', { session: id }),
  ]
}

import fc from 'fast-check'
import { expect } from 'vitest'
import { isUndertextError, type Moment, type OpenOptions, openStore, Store } from '../../src/index.ts'
import { estimatorNamed } from '../../src/tokens.ts'
import { outcomeOf, PREVIEWING, SESSION, type Step, sequence } from '../random/differential.ts'
import { storageOf } from '../support/apply-stage.ts'

/*
 * Random sequences of verbs on a session that is forked at random moments: a fork has the view of the moment, no change of one session
 * is visible in another, an undo does the same in both, and a purge takes nothing from the others.
 */

/** Steps before the fork, then what happens to which of the sessions. */
export type Story = {
  readonly before: readonly Step[]
  readonly after: readonly { readonly pick: number; readonly step: Step; readonly fork: boolean }[]
  readonly purges: readonly { readonly pick: number; readonly forks: 'keep' | 'purge' }[]
}

export const story: fc.Arbitrary<Story> = fc.record({
  before: sequence,
  after: fc
    .tuple(
      sequence,
      fc.array(fc.record({ pick: fc.nat(), fork: fc.boolean() }), { minLength: 16, maxLength: 16 }),
    )
    .map(([steps, choices]) =>
      steps
        // It is a stage beside the store.
        .filter(({ verb }) => verb !== 'drop')
        .slice(0, 8)
        .map((step, at) => ({ step, ...choices[at]! })),
    ),
  purges: fc.array(fc.record({ pick: fc.nat(), forks: fc.constantFrom('keep' as const, 'purge' as const) }), {
    minLength: 2,
    maxLength: 5,
  }),
})

type Open = (options: OpenOptions) => Promise<Store>

export async function checkStory(
  { before, after, purges }: Story,
  open: Open = (options) => openStore(':memory:', options),
): Promise<void> {
  const config = before.length % 2 === 0 ? PREVIEWING : {}
  const layers = [{ source: 'store' as const, values: config }]
  const store = await open({ estimator: 'neurolink', config })
  try {
    const past: Past[] = []
    for (const step of before) {
      await outcomeOf(store, step)
      const one = await pastOf(store)
      if (one !== undefined) past.push(one)
    }
    if ((await store.getContextStats(SESSION)) === null) return
    await forkOf(store, SESSION, 'f0')
    let sessions = [SESSION, 'f0']
    await checkTurns(store, SESSION, 'f0')
    for (const [at, one] of past.entries()) await checkPast(store, one, `past${at}`)
    for (const [at, { pick, step, fork }] of after.entries()) {
      const id = sessions[pick % sessions.length]!
      const others = sessions.filter((one) => one !== id)
      const states = await statesOf(store, others)
      await outcomeOf(calling(store, id, layers), step)
      expect(await statesOf(store, others), `others after step ${at} ${step.verb}`).toEqual(states)
      if (fork) {
        await forkOf(store, id, `f${sessions.length}`)
        sessions.push(`f${sessions.length}`)
      }
    }
    for (const id of sessions) expect((await store.verifySession(id)).findings, id).toEqual([])
    for (const { pick, forks } of purges) {
      if (sessions.length === 0) break
      const id = sessions[pick % sessions.length]!
      const gone = [id, ...(forks === 'purge' ? await below(store, id) : [])]
      sessions = sessions.filter((one) => !gone.includes(one))
      const states = await statesOf(store, sessions)
      await store.purgeSession(id, { forks, clearFiles: false })
      expect(await statesOf(store, sessions), `the others after the purge of ${id}`).toEqual(states)
      for (const one of sessions) expect((await store.verifySession(one)).findings, one).toEqual([])
    }
  } finally {
    await store.close()
  }
}

/** A moment of the session of the sequences, and its view then. */
type Past = { readonly moment: Moment; readonly view: unknown }

async function pastOf(store: Store): Promise<Past | undefined> {
  if ((await store.getContextStats(SESSION)) === null) return undefined
  const { incarnation, messageCount } = await store.getSession(SESSION)
  const last = (await store.getAuditLog(SESSION, { limit: 10_000 })).at(-1)
  const moment =
    last !== undefined && (await store.getMoment(SESSION, { audit: last.no })).position === messageCount
      ? { audit: last.no }
      : { afterMessage: messageCount }
  const view = await store.getEffectiveHistory(SESSION, { provenance: true })
  return { moment, view: withNames(view, incarnation, new Map()) }
}

/** A fork at a moment has its view, is sound, and knows its own past. */
async function checkPast(store: Store, { moment, view }: Past, id: string): Promise<void> {
  const { incarnation } = await store.forkSession(SESSION, { id, at: moment })
  const compactions = await store.listCompactions(id)
  const names = new Map(compactions.map((one) => [one.id, one.copiedFrom!] as const))
  const now = await store.getEffectiveHistory(id, { provenance: true })
  expect(withNames(now, incarnation, names), `the view at ${JSON.stringify(moment)}`).toEqual(view)
  expect((await store.verifySession(id)).findings).toEqual([])
  for (const one of compactions) {
    const turn = one.status === 'active' ? 'undoCompaction' : 'redoCompaction'
    await store[turn](id, one.id, { cascade: true }).catch((error: unknown) => {
      if (!isUndertextError(error)) throw error
    })
    expect((await store.verifySession(id)).findings).toEqual([])
  }
  await store.purgeSession(id, { forks: 'keep', clearFiles: false })
}

/** Forks a session, and compares what both show. */
async function forkOf(store: Store, id: string, fork: string): Promise<void> {
  const session = await store.forkSession(id, { id: fork })
  expect(session.forkedFrom).toEqual({ sessionId: id, position: session.messageCount })
  expect(await stateOf(store, fork)).toEqual(await stateOf(store, id))
  for (const one of [id, fork]) expect((await store.verifySession(one)).findings, one).toEqual([])
}

async function below(store: Store, id: string): Promise<string[]> {
  const forks = await store.listForks(id)
  return (await Promise.all(forks.map(async (fork) => [fork.id, ...(await below(store, fork.id))]))).flat()
}

/** Undoes, in two new forks of both, each compaction with what builds on it, and redoes it: both do the same. */
async function checkTurns(store: Store, id: string, fork: string): Promise<void> {
  const copies = (await store.listCompactions(fork)).map((one) => [one.copiedFrom!, one.id] as const)
  for (const [at, [original, copy]] of copies.entries()) {
    if (at % 3 !== 0) continue
    for (const [verb, options] of [
      ['undoCompaction', { cascade: true, both: true }],
      ['redoCompaction', { cascade: true }],
    ] as const) {
      const turn = async (session: string, compaction: string): Promise<unknown> => {
        try {
          const { rows, parts } = await store[verb](session, compaction, options)
          return { rows, parts }
        } catch (error) {
          if (isUndertextError(error)) return error.code
          throw error
        }
      }
      expect(await turn(fork, copy), `${verb} of ${at}`).toEqual(await turn(id, original))
      expect(await stateOf(store, fork), `after ${verb} of ${at}`).toEqual(await stateOf(store, id))
    }
  }
}

async function statesOf(store: Store, ids: readonly string[]): Promise<unknown[]> {
  return Promise.all(ids.map((id) => stateOf(store, id)))
}

/** All that a session shows, without what a copy has of its own. */
export async function stateOf(store: Store, id: string): Promise<unknown> {
  const { incarnation, messageCount, visibleCount, visibleSizes, hidden, activeCompactions } =
    await store.getSession(id)
  const compactions = (await store.listCompactions(id)).filter(
    ({ status }) => status === 'active' || status === 'undone',
  )
  const names = new Map(compactions.map((one, at) => [one.id, `c${at}`] as const))
  const view = await store.getEffectiveHistory(id, { provenance: true })
  const rows = await store.getMessages(id, { shown: true })
  return withNames(
    {
      view,
      rows: rows.map(({ copiedFrom: _, ...row }) => row),
      figures: { messageCount, visibleCount, visibleSizes, hidden, activeCompactions },
      compactions: compactions.map(({ status, kind, coverage, replaced, requires }) => ({
        ...{ status, kind, coverage, replaced, requires },
      })),
    },
    incarnation,
    names,
  )
}

function withNames(value: unknown, incarnation: string, names: ReadonlyMap<string, string>): unknown {
  const text = JSON.stringify(value, (_, one) => (typeof one === 'string' ? (names.get(one) ?? one) : one))
  return JSON.parse(text.replaceAll(`"${incarnation}:`, '":'))
}

/** A store over the same storage, whose verbs about the session of the sequences are about another. */
function calling(
  store: Store,
  id: string,
  layers: NonNullable<ConstructorParameters<typeof Store>[1]['layers']>,
): Store {
  const estimator = estimatorNamed('neurolink')!
  const estimators = { standard: estimator, byName: new Map([[estimator.name, estimator]]) }
  return new Store(renaming(storageOf(store), id), { estimators, layers })
}

function renaming<T extends object>(storage: T, id: string): T {
  return new Proxy(storage, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value === 'object' && value !== null) return renaming(value, id)
      if (typeof value !== 'function') return value
      return (first: unknown, ...rest: unknown[]) =>
        value.call(target, first === SESSION ? id : first, ...rest)
    },
  })
}

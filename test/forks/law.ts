import fc from 'fast-check'
import { expect, vi } from 'vitest'
import { listIn } from '../../src/core/messages/json.ts'
import { estimatorNamed } from '../../src/core/tokens/index.ts'
import { isUndertextError, type Moment, type OpenOptions, openStore } from '../../src/index.ts'
import type { StoreSettings } from '../../src/store/context.ts'
import { Store } from '../../src/store/store.ts'
import { outcomeOf, PREVIEWING, SESSION, type Step, sequence } from '../random/differential.ts'
import { checkRequests, checkSearch, type Sent, send } from '../random/reading.ts'
import { storageOf } from '../support/apply-stage.ts'
import { expectSessionAccepted, providerOfStep } from '../support/requests.ts'

/*
 * Random sequences of verbs on a session that is forked at random moments: a fork has the view of the moment, what is done to it has the
 * same outcome as in the original, no change of one session is visible in another, and a purge takes nothing from the others: neither
 * rows nor recorded requests nor words of the search.
 */

/** Steps before the fork, those in the fork and its original alike, then what happens to which of the sessions. */
export type Story = {
  readonly before: readonly Step[]
  readonly alike: readonly Step[]
  readonly after: readonly After[]
  readonly purges: readonly { readonly pick: number; readonly forks: 'keep' | 'purge' }[]
}

type After = {
  readonly pick: number
  readonly step: Step
  /** Whether the session is then forked, and whether its conclusion is brought back to what it is a fork of. */
  readonly fork: boolean
  readonly back: boolean
}

export const story: fc.Arbitrary<Story> = fc.record({
  before: sequence,
  // The outcome of these depends on what was measured and answered before the fork, which a fork does not have.
  alike: sequence.map((steps) =>
    steps
      .filter(({ verb }) => verb !== 'drop' && verb !== 'report')
      .map((step) => (step.verb === 'rewind' ? { ...step, operation: 12 } : step))
      .slice(0, 6),
  ),
  after: fc
    .tuple(
      sequence,
      fc.array(fc.record({ pick: fc.nat(), fork: fc.boolean(), back: fc.boolean() }), {
        minLength: 16,
        maxLength: 16,
      }),
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
  { before, alike, after, purges }: Story,
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
    await forkOf(store, SESSION, 'fork')
    let sessions = [SESSION, 'fork']
    await checkTurns(store, SESSION, 'fork')
    vi.useFakeTimers({ toFake: ['Date'] })
    for (const [at, step] of alike.entries()) {
      const [original, copy] = [SESSION, 'fork'].map((id) => calling(store, id, layers))
      expect(await outcomeOf(copy!, step), `alike ${at} ${step.verb}`).toEqual(
        await outcomeOf(original!, step),
      )
      expect(await stateOf(store, 'fork'), `alike ${at} ${step.verb}`).toEqual(await stateOf(store, SESSION))
    }
    vi.useRealTimers()
    for (const [at, one] of past.entries()) await checkPast(store, one, `past${at}`)
    const sent = new Map<string, Sent[]>()
    for (const [at, { pick, step, fork, back }] of after.entries()) {
      const id = sessions[pick % sessions.length]!
      const others = sessions.filter((one) => one !== id)
      const states = await statesOf(store, others)
      await outcomeOf(calling(store, id, layers), step)
      listIn(sent, id).push(await send(store, id, at))
      expect(await statesOf(store, others), `others after step ${at} ${step.verb}`).toEqual(states)
      if (back && id !== SESSION) await checkBringBack(store, id, sessions)
      if (at % 3 === 0) await checkSearch(store, id)
      if (fork) {
        // No digits: the search finds the parts of a name, and a conclusion names its fork.
        const name = `fork${'x'.repeat(sessions.length)}`
        await forkOf(store, id, name)
        sessions.push(name)
      }
    }
    const checkSound = async (): Promise<void> => {
      for (const id of sessions) {
        expect((await store.sessions.verify(id)).findings, id).toEqual([])
        await checkRequests(store, id, sent.get(id) ?? [])
        await checkSearch(store, id)
      }
    }
    await checkSound()
    for (const { pick, forks } of purges) {
      if (sessions.length === 0) break
      const id = sessions[pick % sessions.length]!
      const gone = [id, ...(forks === 'purge' ? await below(store, id) : [])]
      sessions = sessions.filter((one) => !gone.includes(one))
      const states = await statesOf(store, sessions)
      await store.sessions.purge(id, { forks, clearFiles: false })
      expect(await statesOf(store, sessions), `the others after the purge of ${id}`).toEqual(states)
      await checkSound()
    }
  } finally {
    vi.useRealTimers()
    await store.close()
  }
}

/** A moment of the session of the sequences, and its view then. */
type Past = { readonly moment: Moment; readonly view: unknown }

async function pastOf(store: Store): Promise<Past | undefined> {
  if ((await store.getContextStats(SESSION)) === null) return undefined
  const { incarnation, messageCount } = await store.sessions.get(SESSION)
  const last = (await store.sessions.audit(SESSION, { limit: 10_000 })).at(-1)
  const moment =
    last !== undefined && (await store.messages.moment(SESSION, { audit: last.no })).position === messageCount
      ? { audit: last.no }
      : { afterMessage: messageCount }
  const view = await store.getEffectiveHistory(SESSION, { provenance: true })
  return { moment, view: withNames(view, incarnation, new Map()) }
}

/** A fork at a moment has its view, is sound, and knows its own past. */
async function checkPast(store: Store, { moment, view }: Past, id: string): Promise<void> {
  const { incarnation } = await store.sessions.fork(SESSION, { id, at: moment })
  const compactions = await store.listCompactions(id)
  const names = new Map(compactions.map((one) => [one.id, one.copiedFrom!] as const))
  const now = await store.getEffectiveHistory(id, { provenance: true })
  expect(withNames(now, incarnation, names), `the view at ${JSON.stringify(moment)}`).toEqual(view)
  expect((await store.sessions.verify(id)).findings).toEqual([])
  for (const one of compactions) {
    const turn = one.status === 'active' ? 'undoCompaction' : 'redoCompaction'
    await store[turn](id, one.id, { cascade: true }).catch((error: unknown) => {
      if (!isUndertextError(error)) throw error
    })
    expect((await store.sessions.verify(id)).findings).toEqual([])
  }
  await store.sessions.purge(id, { forks: 'keep', clearFiles: false })
}

/** Forks a session, and compares what both show. */
async function forkOf(store: Store, id: string, fork: string): Promise<void> {
  const session = await store.sessions.fork(id, { id: fork })
  expect(session.forkedFrom).toEqual({ sessionId: id, position: session.messageCount })
  expect(await stateOf(store, fork)).toEqual(await stateOf(store, id))
  for (const one of [id, fork]) expect((await store.sessions.verify(one)).findings, one).toEqual([])
  await expectSessionAccepted(store, fork, fork, providerOfStep(session.messageCount))
}

/** The conclusion of a fork is a new last message of its original, and nothing else changes anywhere. */
async function checkBringBack(store: Store, id: string, sessions: readonly string[]): Promise<void> {
  const { sessionId: original } = (await store.sessions.get(id)).forkedFrom!
  const others = sessions.filter((one) => one !== original)
  const states = await statesOf(store, others)
  const before = await store.getEffectiveHistory(original)
  const { messageId, position } = await store.sessions.bringBack(id, { text: 'so it is' })
  expect(await statesOf(store, others)).toEqual(states)
  const view = await store.getEffectiveHistory(original)
  expect(view.slice(0, -1)).toEqual(before)
  expect(view.at(-1)).toMatchObject({ id: messageId, position })
  expect(position).toBe((await store.sessions.get(original)).messageCount)
}

async function below(store: Store, id: string): Promise<string[]> {
  const forks = await store.sessions.forks(id)
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
    await store.sessions.get(id)
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
function calling(store: Store, id: string, layers: NonNullable<StoreSettings['layers']>): Store {
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

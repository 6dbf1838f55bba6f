import { expect, vi } from 'vitest'
import {
  type ContextStats,
  type HistoryRecord,
  isUndertextError,
  type Moment,
  type OpenOptions,
  openStore,
  type Store,
  type StoredMessage,
  type ViewMessage,
} from '../../src/index.ts'
import { outcomeOf, PREVIEWING, SESSION, type Step } from './differential.ts'
import { checkRequests, checkSearch, type Sent, send } from './reading.ts'
import { checkTimeline } from './timeline.ts'

/*
 * Random sequences of verbs, after each of which the view, the rows and the figures are remembered together with the moments that name
 * this state. At the end every one of these moments still gives what was remembered, also in a restored copy. The same holds for a request
 * that was recorded after each, a search finds what is there, and the timeline has the figures of its moments.
 */

type Open = (options: OpenOptions) => Promise<Store>

/** What the verbs returned at one time. */
type State = {
  readonly view: readonly ViewMessage[]
  readonly rows: readonly StoredMessage[]
  readonly figures: unknown
}

type Remembered = State & {
  readonly at: Moment
  /** How many entries the audit had, if the moment names one: a copy has other numbers. */
  readonly entry?: number
}

const START = Date.UTC(2026, 0, 1)
const STEP = 1_000

export async function checkMoments(
  steps: readonly Step[],
  open: Open = (options) => openStore(':memory:', options),
): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'], now: START })
  const options = { config: steps.length % 2 === 0 ? PREVIEWING : {} }
  const store = await open(options)
  try {
    const { remembered, sent } = await play(store, steps)
    await checkAll(store, remembered, 'as it is')
    if (sent.length > 0) {
      await checkRequests(store, SESSION, sent)
      await checkSearch(store, SESSION)
    }
    const records: HistoryRecord[] = []
    if (remembered.length > 0) for await (const one of store.sessions.export(SESSION)) records.push(one)
    await checkCopy(records, remembered, await open(options), 'restored', sent)
    if (remembered.length > 0) await checkTimeline(store, SESSION)
  } finally {
    vi.useRealTimers()
    await store.close()
  }
}

async function play(
  store: Store,
  steps: readonly Step[],
): Promise<{ remembered: Remembered[]; sent: Sent[] }> {
  const remembered: Remembered[] = []
  const sent: Sent[] = []
  let before = await snapshotOf(store)
  for (const [index, step] of steps.entries()) {
    vi.setSystemTime(START + index * STEP)
    await outcomeOf(store, step)
    const after = await snapshotOf(store)
    if (after === undefined) continue
    remembered.push(...(await momentsOf(store, step, before, after)))
    remembered.push({ ...after.state, at: { time: START + index * STEP + STEP / 2 } })
    before = after
    sent.push(await send(store, SESSION, index))
    // The index is extended while rows come and go.
    if (index % 4 === 3) await checkSearch(store, SESSION)
  }
  return { remembered, sent }
}

type Snapshot = {
  readonly state: State
  readonly position: number
  /** Numbers of the audit's entries, and ids of the compactions. */
  readonly entries: readonly number[]
  readonly compactions: readonly { readonly id: string; readonly runId: string; readonly kind: string }[]
}

async function snapshotOf(store: Store): Promise<Snapshot | undefined> {
  try {
    const { messageCount } = await store.sessions.get(SESSION)
    const audit = await store.sessions.audit(SESSION)
    const compactions = await store.listCompactions(SESSION)
    return {
      state: await stateAt(store, undefined),
      position: messageCount,
      entries: audit.map(({ no }) => no),
      compactions: compactions.filter(({ status }) => status === 'active' || status === 'undone'),
    }
  } catch (error) {
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) return undefined
    throw error
  }
}

async function stateAt(store: Store, at: Moment | undefined): Promise<State> {
  const stats = await store.getContextStats(SESSION, undefined, undefined, { at })
  return {
    view: await store.getEffectiveHistory(SESSION, { provenance: true, at }),
    rows: await store.getMessages(SESSION, { shown: true, at }),
    figures: stats && figuresOf(stats),
  }
}

function figuresOf({
  sizes,
  messageCount,
  storedMessages,
  hidden,
  activeCompactions,
}: ContextStats): unknown {
  return { sizes, messageCount, storedMessages, hidden, activeCompactions }
}

/** The moments that name the state after a step, and those that name the one before it. */
async function momentsOf(
  store: Store,
  step: Step,
  before: Snapshot | undefined,
  after: Snapshot,
): Promise<Remembered[]> {
  const found: Remembered[] = []
  const known = new Set(before?.compactions.map(({ id }) => id))
  const made = after.compactions.filter(({ id }) => !known.has(id))
  const isLonger = after.position > (before?.position ?? 0)
  const last = after.entries.at(-1)
  if (
    last !== undefined &&
    (await store.messages.moment(SESSION, { audit: last })).position === after.position
  )
    found.push({ ...after.state, at: { audit: last }, entry: after.entries.length })
  if (isLonger && (step.verb === 'append' || step.verb === 'rewind')) {
    found.push({ ...after.state, at: { afterMessage: after.position } })
    const message = after.state.rows.findLast(({ position }) => position === after.position)!
    found.push({ ...after.state, at: { afterMessage: message.id } })
  }
  if (isLonger && step.verb === 'append' && before !== undefined)
    found.push({ ...before.state, at: { beforeMessage: before.position + 1 } })
  const runs = new Set(made.map(({ runId }) => runId))
  if (runs.size !== 1 || (isLonger && step.verb !== 'append')) return found
  const names = made.length === 1 ? [made[0]!.id, made[0]!.runId] : [...runs]
  for (const name of names) {
    // A preview came with its message, in the middle of what was appended.
    if (before !== undefined && !isLonger) found.push({ ...before.state, at: { beforeCompaction: name } })
    found.push({ ...after.state, at: { afterCompaction: name } })
  }
  return found
}

async function checkAll(store: Store, remembered: readonly Remembered[], which: string): Promise<void> {
  const entries = remembered.length === 0 ? [] : await store.sessions.audit(SESSION)
  for (const { at, entry, ...state } of remembered) {
    const moment = entry === undefined ? at : { audit: entries[entry - 1]!.no }
    expect(await stateAt(store, moment), `${which}: ${JSON.stringify(at)}`).toEqual(state)
  }
}

async function checkCopy(
  records: readonly HistoryRecord[],
  remembered: readonly Remembered[],
  store: Store,
  which: string,
  sent?: readonly Sent[],
): Promise<void> {
  try {
    if (remembered.length === 0) return
    await store.sessions.import(records)
    await checkAll(store, remembered, which)
    if (sent === undefined) return
    await checkRequests(store, SESSION, sent)
    await checkSearch(store, SESSION)
    await checkTimeline(store, SESSION)
  } finally {
    await store.close()
  }
}

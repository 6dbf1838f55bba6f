import { isUndertextError } from '../core/errors.ts'
import type { Storage } from '../storage/storage.ts'
import type { CompactionEvent } from '../store/events.ts'
import { type Store, storageOf } from '../store/store.ts'
import type { LiveState } from './verbs.ts'

/*
 * What changes in a store, also by other processes. Only heads of sessions are read, so a look takes the same time at any length. Connections
 * that watch the same session share one watch.
 */

/** Milliseconds between two looks, so that a change is seen within a second. */
const PERIOD_MS = 400
/** Looks at the list take at most this share of the time, so that a slow database has time for other work. */
const MAX_LIST_SHARE = 0.1
/** Sessions that are looked at in each period. If more are watched, looks are rarer, so that open pages don't wear out the store. */
const SESSIONS_A_PERIOD = 100
/** Milliseconds until the next look after one that failed. */
const RETRY_MS = 2_000

/** Returns the milliseconds until the next look at a session, while this many are watched. */
export function waitFor(watched: number): number {
  return PERIOD_MS * Math.max(1, watched / SESSIONS_A_PERIOD)
}

type Watcher = {
  state(state: LiveState): void
  progress(event: CompactionEvent): void
  /** The store was closed. */
  end(): void
}

class Watch {
  readonly #store: Store
  readonly #session: string | undefined
  readonly #watched: () => number
  readonly #stop: () => void
  readonly watchers = new Set<Watcher>()
  #timer: NodeJS.Timeout | undefined
  #last: { readonly state: LiveState; readonly text: string } | undefined

  constructor(store: Store, session: string | undefined, watched: () => number) {
    this.#store = store
    this.#session = session
    this.#watched = watched
    this.#stop = store.on('compaction', (event) => {
      if (session === undefined || event.sessionId === session)
        for (const watcher of this.watchers) watcher.progress(event)
    })
    this.#start()
  }

  add(watcher: Watcher): void {
    this.watchers.add(watcher)
    if (this.#last !== undefined) watcher.state(this.#last.state)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#stop()
    this.watchers.clear()
  }

  #start(): void {
    this.#run().catch(() => this.#end())
  }

  #end(): void {
    for (const watcher of [...this.watchers]) watcher.end()
  }

  async #run(): Promise<void> {
    const begun = performance.now()
    let waitMs = RETRY_MS
    try {
      const session = this.#session
      const state = await (session === undefined
        ? listState(this.#store)
        : sessionState(this.#store, session))
      const text = JSON.stringify(state)
      if (text !== this.#last?.text) {
        this.#last = { state, text }
        for (const watcher of this.watchers) watcher.state(state)
      }
      waitMs = waitFor(this.#watched())
      if (session === undefined) waitMs = Math.max(waitMs, (performance.now() - begun) / MAX_LIST_SHARE)
    } catch (error) {
      if (isUndertextError(error, 'STORE_CLOSED')) return this.#end()
      // A store that is busy now answers later.
    }
    if (this.watchers.size > 0) this.#timer = setTimeout(() => this.#start(), waitMs).unref()
  }
}

/** The watches of a handler: one for each store and session that someone watches. */
export class Watches {
  readonly #watches = new WeakMap<Store, Map<string, Watch>>()
  #count = 0

  /** Watches a session, or the list. Returns a function that ends it. */
  add(store: Store, session: string | undefined, watcher: Watcher): () => void {
    const ofStore = this.#watches.get(store) ?? new Map<string, Watch>()
    this.#watches.set(store, ofStore)
    const key = session ?? ''
    const watch = ofStore.get(key) ?? this.#begin(store, session)
    ofStore.set(key, watch)
    watch.add(watcher)
    return () => {
      watch.watchers.delete(watcher)
      if (watch.watchers.size > 0 || ofStore.get(key) !== watch) return
      watch.close()
      ofStore.delete(key)
      this.#count--
    }
  }

  #begin(store: Store, session: string | undefined): Watch {
    const watch = new Watch(store, session, () => this.#count)
    this.#count++
    return watch
  }
}

async function listState(store: Store): Promise<LiveState> {
  const [newest] = await storageOf(store).listSessions({ archived: false, limit: 1 })
  return { newest: newest && JSON.stringify([newest.incarnation, newest.version, newest.messageCount]) }
}

/** Reads at once, because a server may be far away. */
async function sessionState(store: Store, id: string): Promise<LiveState> {
  const storage = storageOf(store)
  const [session, point, turn, run, newestRequest] = await Promise.all([
    storage.session(id),
    storage.present(id),
    isHeld(() => storage.turns.active(id)),
    isHeld(() => storage.leaseInTheWay(id)),
    newestRequestOf(storage, id),
  ])
  if (session === undefined || point === undefined) return { session: null }
  const { version, viewEpoch, messageCount } = session
  return { session: { version, viewEpoch, messageCount, auditNo: point.audit, newestRequest, turn, run } }
}

/** The audit and the version don't change when a request or the place of its answer is recorded. */
async function newestRequestOf(storage: Storage, id: string): Promise<string | undefined> {
  try {
    const [newest] = await storage.requests(id, { order: 'backward', limit: 1 })
    return newest && JSON.stringify([newest.id, newest.answer])
  } catch (error) {
    // It was purged meanwhile, or never existed.
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) return undefined
    throw error
  }
}

/** A claim that can't be read holds nothing: its session was purged meanwhile, or a read-only store can't end a claim that expired. */
async function isHeld(claim: () => unknown): Promise<boolean> {
  try {
    return (await claim()) !== undefined
  } catch {
    return false
  }
}

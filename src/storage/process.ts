import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { threadId } from 'node:worker_threads'

/**
 * The duration of a lease or a claim without renewal, and the interval of renewals, in milliseconds. The duration is short because a user's
 * turn may wait for the lease of a dead process; a live process loses its lease only if its event loop is blocked for twelve seconds.
 */
export const LEASE_MS = 15_000
export const RENEW_MS = 3_000
/** How long to watch for a renewal, in milliseconds, if the holder may be alive but its lease ended long ago by the clock. */
const WATCH_MS = 20_000
/** The possible difference, in milliseconds, between the process start times that two threads compute. */
const START_TOLERANCE_MS = 2_000
/** The maximum number of leases whose first sight is remembered. */
const MAX_SIGHTINGS = 10_000

/** The start of this process by the clock since boot, which can't be set back. */
const STARTED = Math.round(monotonicMs() - process.uptime() * 1000)

/** The scope of process ids: a boot of a machine, and a namespace in it. */
type Place = { readonly boot: string; readonly namespace: string }
const OWN_PLACE = placeOf()

/** The shared state of all copies of this package in one thread: their identity and the live runs. */
type Shared = { readonly holder: string; readonly runs: Set<string> }
const SHARED_KEY = Symbol.for('undertext.holder')
const shared = sharedOf(globalThis as Realm)

/**
 * The identity of this thread: boot, namespace of process ids, realm, process, thread, and start of the process. The start and the
 * namespace are needed because a restarted process may reuse the id of a dead one, and two containers may share host name and process ids.
 */
export const LEASE_HOLDER = shared.holder

/** The runs of this thread that hold a lease, in any copy of the package. */
export const liveRuns = shared.runs

type Realm = { [SHARED_KEY]?: Shared }

function sharedOf(realm: Realm): Shared {
  const place = [OWN_PLACE.boot, OWN_PLACE.namespace, randomUUID(), process.pid, threadId, STARTED]
  realm[SHARED_KEY] ??= { holder: place.join('/'), runs: new Set() }
  return realm[SHARED_KEY]
}

/** The name of a job's run among the live runs. It differs from the run's own name because a claim outlives the lease of its run. */
export function claimName(runId: string): string {
  return `job/${runId}`
}

/** The holder of a lease. `run` is its name among the live runs of its thread. */
export type Held = { readonly holder: string; readonly run: string; readonly expiresAt: number }

/** When each end of a lease was first seen, by a monotonic clock. */
const sights = new Map<string, { readonly expiresAt: number; readonly at: number }>()

/**
 * Returns whether a lease is valid. If the holder can be observed, its state decides. Otherwise the clock decides, and because the clock
 * may be wrong, a lease without renewals is valid for `LEASE_MS` after it was first seen, whatever its end; a lease that ended long ago, of
 * a process that may be alive, is invalid only after no renewal was seen. With `byClock`, the database's clock alone decides about any
 * other holder.
 */
export function isHeld(held: Held, byClock = false): boolean {
  if (byClock && held.holder !== LEASE_HOLDER) return Date.now() < held.expiresAt
  const seen = whereabouts(held)
  if (seen === 'live' || seen === 'gone') return seen === 'live'
  const over = Date.now() - held.expiresAt
  if (over < 0) return unchangedFor(held) < LEASE_MS
  return seen === 'there' && over > LEASE_MS && unchangedFor(held) < WATCH_MS
}

/**
 * Returns whether the remains of a holder can be removed: the holder is known to be dead, or it can't be observed and has renewed nothing
 * for `silentMs`.
 */
export function isGivenUp(held: Held, silentMs: number): boolean {
  const seen = whereabouts(held)
  if (seen !== 'there' && seen !== 'elsewhere') return seen === 'gone'
  if (seen === 'there' && partsOf(held.holder)?.isHere === true) return false
  if (Date.now() - held.expiresAt <= silentMs) return false
  return seen === 'elsewhere' || unchangedFor(held) >= WATCH_MS
}

/** Returns how long the end of a lease has been unchanged, in milliseconds. */
function unchangedFor({ holder, run, expiresAt }: Held): number {
  const key = `${holder} ${run}`
  const now = monotonicMs()
  const seen = sights.get(key)
  if (seen?.expiresAt === expiresAt) return now - seen.at
  sights.delete(key)
  sights.set(key, { expiresAt, at: now })
  if (sights.size > MAX_SIGHTINGS) sights.delete(sights.keys().next().value!)
  return 0
}

/**
 * `live`: running in this thread. `gone`: the run or its process no longer exists. `there`: its process exists, or may exist, on this
 * machine. `elsewhere`: it can't be observed.
 */
function whereabouts({ holder, run }: Held): 'live' | 'gone' | 'there' | 'elsewhere' {
  if (holder === LEASE_HOLDER) return liveRuns.has(run) ? 'live' : 'gone'
  const parts = partsOf(holder)
  if (parts === undefined) return 'elsewhere'
  if (!parts.isHere) return parts.isThisBoot ? 'there' : 'elsewhere'
  if (parts.pid !== process.pid) return processExists(parts.pid) ? 'there' : 'gone'
  // This is another thread or realm of this process, or a dead process with the same id.
  return Math.abs(parts.startedBefore) <= START_TOLERANCE_MS ? 'there' : 'gone'
}

type Parts = {
  readonly pid: number
  /** How much later its process started than this one, in milliseconds. */
  readonly startedBefore: number
  /** Whether its process ids have the same scope as those of this process. */
  readonly isHere: boolean
  readonly isThisBoot: boolean
}

/** Returns the parsed identity of a holder; `undefined` for an unknown format. */
function partsOf(holder: string): Parts | undefined {
  const all = holder.split('/')
  if (all.length !== 6) return undefined
  const [boot, namespace, , pid, , start] = all
  const isThisBoot = boot === OWN_PLACE.boot
  return {
    pid: Number(pid),
    startedBefore: Number(start) - STARTED,
    isThisBoot,
    isHere: isThisBoot && namespace === OWN_PLACE.namespace,
  }
}

/** Without namespaces of process ids, the scope is the machine. An unknown scope equals no other scope. */
function placeOf(): Place {
  if (process.platform !== 'linux') return { boot: encodeURIComponent(hostname()), namespace: 'all' }
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return { boot, namespace: encodeURIComponent(readlinkSync('/proc/self/ns/pid')) }
  } catch {
    return { boot: 'unknown', namespace: randomUUID() }
  }
}

/** Milliseconds since boot: the same for all processes of a machine, and never set back. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { threadId } from 'node:worker_threads'

/** How long a lease or a claim holds without being renewed, and how often it is renewed, milliseconds. */
export const LEASE_MS = 60_000
export const RENEW_MS = 15_000
/** A holder that may be alive is watched this long for a renewal when the clock says that its lease ended long ago, milliseconds. */
const WATCH_MS = 20_000
/** Two threads that work out when their process started may differ by this much, milliseconds. */
const START_TOLERANCE_MS = 2_000
/** Leases whose first sight is remembered; more of them at once are not expected. */
const MOST_SIGHTS = 10_000

/** When this process started: by the clock of the machine's boot, which no user sets, and by the calendar. */
const STARTED = Math.round(monotonicMs() - process.uptime() * 1000)
const STARTED_AT = Math.round(Date.now() - process.uptime() * 1000)

/** Where process ids mean what they mean here: a boot of a machine, and a namespace in it. */
type Place = { readonly boot: string; readonly namespace: string }
const HERE = placeOf()

/** What the copies of this package in one thread share: who they are, and the runs that are at work. */
type Shared = { readonly holder: string; readonly runs: Set<string> }
const SHARED_KEY = Symbol.for('undertext.holder.v2')
const shared = sharedOf(globalThis as Realm)

/**
 * Who this thread is to others: boot, namespace of process ids, realm, process, thread, and when the process started. Two containers may
 * have the same host name and the same process ids; a restarted process may have the id of the one that died.
 */
export const LEASE_HOLDER = shared.holder

/** The runs of this thread that hold a lease now, whichever copy of the package makes them. */
export const liveRuns = shared.runs

type Realm = { [SHARED_KEY]?: Shared }

function sharedOf(realm: Realm): Shared {
  const place = [HERE.boot, HERE.namespace, randomUUID(), process.pid, threadId, STARTED]
  realm[SHARED_KEY] ??= { holder: ['v2', ...place].join('/'), runs: new Set() }
  return realm[SHARED_KEY]
}

/** What a job's run is called among the live ones: the claim outlives the lease of the run itself. */
export function claimName(runId: string): string {
  return `job/${runId}`
}

/** Somebody who has a lease: `run` is what it is called among the live runs of its thread. */
export type Held = { readonly holder: string; readonly run: string; readonly expiresAt: number }

/** When a value of a lease was seen first, by a clock that only goes forward. */
const sights = new Map<string, { readonly expiresAt: number; readonly at: number }>()

/**
 * Whether a lease still counts. What can be seen of its holder decides first. Else the clock does, which may be wrong: a lease that is not
 * renewed counts for `LEASE_MS` after it was seen first, however late its end is, and one that ended long ago, of a process that may be
 * there, only ends when no renewal is seen.
 */
export function isHeld(held: Held): boolean {
  const seen = whereabouts(held)
  if (seen === 'live' || seen === 'gone') return seen === 'live'
  const over = Date.now() - held.expiresAt
  if (over < 0) return unchangedFor(held) < LEASE_MS
  return seen === 'there' && over > LEASE_MS && unchangedFor(held) < WATCH_MS
}

/**
 * Whether what a holder left can be removed for good. Only a holder that is seen to be gone has left it; one that cannot be seen, when it
 * has renewed nothing for `silentMs`.
 */
export function isGivenUp(held: Held, silentMs: number): boolean {
  const seen = whereabouts(held)
  if (seen !== 'there' && seen !== 'elsewhere') return seen === 'gone'
  if (seen === 'there' && partsOf(held.holder)?.isHere === true) return false
  if (Date.now() - held.expiresAt <= silentMs) return false
  return seen === 'elsewhere' || unchangedFor(held) >= WATCH_MS
}

/** How long a lease has been seen with this end, milliseconds. */
function unchangedFor({ holder, run, expiresAt }: Held): number {
  const key = `${holder} ${run}`
  const now = monotonicMs()
  const seen = sights.get(key)
  if (seen?.expiresAt === expiresAt) return now - seen.at
  sights.delete(key)
  sights.set(key, { expiresAt, at: now })
  if (sights.size > MOST_SIGHTS) sights.delete(sights.keys().next().value!)
  return 0
}

/**
 * `live`: at work in this thread. `gone`: no such run, or no such process. `there`: its process is there, or may be on this machine.
 * `elsewhere`: nothing can be seen of it.
 */
function whereabouts({ holder, run }: Held): 'live' | 'gone' | 'there' | 'elsewhere' {
  if (holder === LEASE_HOLDER) return liveRuns.has(run) ? 'live' : 'gone'
  const parts = partsOf(holder)
  if (parts === undefined) return 'elsewhere'
  if (!parts.isHere) return parts.isThisBoot ? 'there' : 'elsewhere'
  if (parts.pid !== process.pid) return processExists(parts.pid) ? 'there' : 'gone'
  // Another thread or realm of this process; or a process of this id that is gone.
  return Math.abs(parts.startedBefore) <= START_TOLERANCE_MS ? 'there' : 'gone'
}

type Parts = {
  readonly pid: number
  /** By how much its process started later than this one, milliseconds. */
  readonly startedBefore: number
  /** Whether its process ids are those seen here. */
  readonly isHere: boolean
  readonly isThisBoot: boolean
}

/** What a holder says of itself; `undefined` for one that says nothing we know. */
function partsOf(holder: string): Parts | undefined {
  const all = holder.split('/')
  if (all[0] !== 'v2' || all.length !== 7) return earlierPartsOf(all)
  const [, boot, namespace, , pid, , start] = all
  const isThisBoot = boot === HERE.boot
  return {
    pid: Number(pid),
    startedBefore: Number(start) - STARTED,
    isThisBoot,
    isHere: isThisBoot && namespace === HERE.namespace,
  }
}

/** The holders of version 0.1.0: host, process, thread, start. */
function earlierPartsOf(all: readonly string[]): Parts | undefined {
  const [start = '', , pid = '', ...host] = all.toReversed()
  if (host.reverse().join('/') !== hostname() || !/^\d+$/.test(pid) || !/^\d+$/.test(start)) return undefined
  return { pid: Number(pid), startedBefore: Number(start) - STARTED_AT, isThisBoot: true, isHere: true }
}

/** Where there are no namespaces of process ids, the machine is the place. One that cannot be told is nobody else's. */
function placeOf(): Place {
  if (process.platform !== 'linux') return { boot: encodeURIComponent(hostname()), namespace: 'all' }
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return { boot, namespace: encodeURIComponent(readlinkSync('/proc/self/ns/pid')) }
  } catch {
    return { boot: 'unknown', namespace: randomUUID() }
  }
}

/** Milliseconds since some moment; on one machine the same for all processes, and never set back. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it is there, and somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

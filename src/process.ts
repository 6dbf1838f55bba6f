import { hostname } from 'node:os'
import { threadId } from 'node:worker_threads'

/** When this process started, milliseconds since 1970. */
const STARTED_AT = Math.round(Date.now() - process.uptime() * 1000)
/** Two threads that work out when their process started may differ by this much, milliseconds. */
const START_TOLERANCE_MS = 2_000

/**
 * Who this thread is to others: host, process, thread, and when the process started. A restarted container has
 * the same host and process id as the one that died, so the start tells them apart.
 */
export const LEASE_HOLDER = `${hostname()}/${process.pid}/${threadId}/${STARTED_AT}`

/** The runs of this thread that hold a lease now. A lease of this thread that is not among them is dead. */
export const liveRuns = new Set<string>()

/** What a job's run is called among the live ones: the claim outlives the lease of the run itself. */
export function claimName(runId: string): string {
  return `job/${runId}`
}

/** Whether whoever holds a lease can still be at work, as far as can be seen from here. */
export function isHolderAlive(holder: string, runId: string): boolean {
  if (holder === LEASE_HOLDER) return liveRuns.has(runId)
  const [start = '', , pid = '', ...host] = holder.split('/').reverse()
  if (host.reverse().join('/') !== hostname() || !/^\d+$/.test(pid) || !/^\d+$/.test(start)) return true
  // Another thread of this process; or a process of this id that is gone.
  if (Number(pid) === process.pid) return Math.abs(Number(start) - STARTED_AT) <= START_TOLERANCE_MS
  return processExists(Number(pid))
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

import { hostname } from 'node:os'

/**
 * Who this process is to others: host, process id, and when it started. A restarted container has the same host
 * and id as the one that died, so the start tells them apart.
 */
export const LEASE_HOLDER = `${hostname()}/${process.pid}/${Math.round(Date.now() - process.uptime() * 1000)}`

/** The runs of this process that hold a lease now. A lease of this process that is not among them is dead. */
export const liveRuns = new Set<string>()

/** Whether whoever holds a lease can still be at work, as far as can be seen from here. */
export function isHolderAlive(holder: string, runId: string): boolean {
  if (holder === LEASE_HOLDER) return liveRuns.has(runId)
  const [start = '', pid = '', ...host] = holder.split('/').reverse()
  if (host.reverse().join('/') !== hostname() || !/^\d+$/.test(pid) || !/^\d+$/.test(start)) return true
  return Number(pid) !== process.pid && processExists(Number(pid))
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

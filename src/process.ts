import { hostname } from 'node:os'

/** Who this process is to others: a lease of a process that is gone is worth nothing. */
export const LEASE_HOLDER = `${hostname()}/${process.pid}`

import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'
import { UndertextError } from '../../errors.ts'

export type Database = BetterSqlite3.Database
export type Statement = BetterSqlite3.Statement<unknown[], unknown>

/**
 * Says why a pair of driver and Node cannot work, or `undefined`. Driver 13 is built for Node 22 and later and
 * crashes the process on Node 20; that must not happen before a sentence was said.
 */
export function driverProblem(driver: string, node: string): string | undefined {
  const driverMajor = Number.parseInt(driver, 10)
  const nodeMajor = Number.parseInt(node, 10)
  if (driverMajor >= 13 && nodeMajor < 22)
    return 'Install better-sqlite3@12 (npm install better-sqlite3@^12.11.1), or use Node 22 or later.'
  if (driverMajor < 12) return 'Install better-sqlite3@^12.11.1 on Node 20, or ^13.2.0 on Node 22 and later.'
  return undefined
}

/** Loads better-sqlite3, once it is known that it can be loaded here. Throws `DRIVER_UNSUPPORTED`. */
export async function loadDriver(): Promise<typeof BetterSqlite3> {
  const { version } = createRequire(import.meta.url)('better-sqlite3/package.json') as { version: string }
  const advice = driverProblem(version, process.versions.node)
  if (advice !== undefined) {
    throw new UndertextError('DRIVER_UNSUPPORTED', { driver: version, node: process.versions.node, advice })
  }
  return (await import('better-sqlite3')).default
}

import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'
import type BetterSqlite3 from 'better-sqlite3'
import { openStore, type Store } from '../../src/index.ts'
import { type Operation, prepare } from './operations.ts'
import { interceptStatements } from './statements.ts'

/*
 * A process that works on a store until it is killed. It is told what to do in one line, and says in one line each
 * what it begins and what was acknowledged: written at once, so that nothing said is lost with it.
 */

export type Job = {
  readonly file: string
  readonly durability: 'full' | 'normal'
  readonly operations: readonly Operation[]
  /** Dies during this operation, or while it opens the store: after so long, or at its nth statement. */
  readonly death: {
    readonly during: number | 'opening'
    readonly afterMs?: number
    readonly atStatement?: number
  }
}

export type Report =
  | { readonly event: 'ready' | 'end' }
  | { readonly event: 'begun' | 'skipped'; readonly number: number | 'opening' }
  | {
      readonly event: 'done'
      readonly number: number | 'opening'
      readonly outcome: unknown
      readonly ms: number
      readonly statements: number
    }

const say = (report: Report): unknown => writeSync(1, `${JSON.stringify(report)}\n`)
const die = (): unknown => process.kill(process.pid, 'SIGKILL')

/** Kills the process from another thread, at a moment within SQLite's own code too. */
const killer = {
  isDue: new Int32Array(new SharedArrayBuffer(4)),
  ms: new Float64Array(new SharedArrayBuffer(8)),
}
const killerSource = `const { isDue, ms } = require('node:worker_threads').workerData
  Atomics.wait(isDue, 0, 0)
  const end = performance.now() + ms[0]
  while (performance.now() < end);
  process.kill(process.pid, 'SIGKILL')`
new Worker(killerSource, { eval: true, workerData: killer }).unref()

let statements = 0
let deadline = Number.POSITIVE_INFINITY

function countStatements(): void {
  const Database = createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite3
  interceptStatements(Database.prototype, (_, execute) => {
    statements += 1
    if (statements === deadline && deadline % 2 === 0) die()
    const answer = execute()
    if (statements === deadline) die()
    return answer
  })
}

async function during<T>(number: number | 'opening', job: Job, act: () => Promise<T>): Promise<T> {
  const { death } = job
  const isLast = death.during === number
  say({ event: 'begun', number })
  statements = 0
  if (isLast && death.afterMs !== undefined) {
    killer.ms[0] = death.afterMs
    Atomics.store(killer.isDue, 0, 1)
    Atomics.notify(killer.isDue, 0)
  }
  if (isLast && death.atStatement !== undefined) deadline = death.atStatement
  const start = performance.now()
  const answer = await act()
  // It had fewer statements: then this is the last moment at which nobody knows that it was done.
  if (isLast && death.atStatement !== undefined) die()
  const ms = performance.now() - start
  say({ event: 'done', number, outcome: number === 'opening' ? null : (answer ?? null), ms, statements })
  return answer
}

async function work(job: Job): Promise<void> {
  if (job.death.atStatement !== undefined) countStatements()
  const store: Store = await during('opening', job, () => openStore(job.file, { durability: job.durability }))
  for (const operation of job.operations) {
    const act = await prepare(store, operation)
    if (act === undefined) say({ event: 'skipped', number: operation.number })
    else await during(operation.number, job, act)
  }
  say({ event: 'end' })
}

say({ event: 'ready' })
createInterface({ input: process.stdin }).once('line', (line) => {
  void work(JSON.parse(line) as Job)
})

import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import type BetterSqlite3 from 'better-sqlite3'
import { isUndertextError, openStore } from '../../src/index.ts'
import { OPENING, type Paying, pay } from './paying.ts'
import { interceptStatements } from './statements.ts'

/*
 * A process that pays a model for a summary and dies, or is suspended, when it has the answer. What it says is written at once,
 * so that nothing said is lost with it.
 */

export type PayingJob = {
  readonly file: string
  readonly how: Paying
  /** After so many answers … */
  readonly answers: number
  /** … it is killed before so many further statements were executed, 0 for none; or it is suspended at once. */
  readonly fate: { readonly killedAfter: number } | 'suspended'
}

export type PayingReport =
  | { readonly event: 'ready' | 'answered' }
  | { readonly event: 'ended'; readonly statements: number; readonly outcome: string }

const say = (report: PayingReport): unknown => writeSync(1, `${JSON.stringify(report)}\n`)
const die = (): unknown => process.kill(process.pid, 'SIGKILL')

let left = Number.POSITIVE_INFINITY
let statements = 0
let isCounting = false

/** Preparing a statement does nothing to the file, so only those that are executed count. */
function countStatements(): void {
  const Database = createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite3
  interceptStatements(Database.prototype, (sql, execute) => {
    if (!isCounting || sql.startsWith('prepare: ')) return execute()
    if (left === 0) die()
    left -= 1
    statements += 1
    return execute()
  })
}

async function work({ file, how, answers, fate }: PayingJob): Promise<void> {
  countStatements()
  const store = await openStore(file, OPENING)
  let heard = 0
  const answered = (): void => {
    say({ event: 'answered' })
    heard += 1
    if (heard !== answers) return
    isCounting = true
    if (fate === 'suspended') process.kill(process.pid, 'SIGSTOP')
    else left = fate.killedAfter
  }
  let outcome = 'done'
  try {
    await pay(store, how, answered)
  } catch (error) {
    outcome = isUndertextError(error) ? error.code : String(error)
  }
  say({ event: 'ended', statements, outcome })
  if (fate !== 'suspended') die()
  await store.close()
  process.exit()
}

say({ event: 'ready' })
createInterface({ input: process.stdin }).once('line', (line) => {
  void work(JSON.parse(line) as PayingJob)
})

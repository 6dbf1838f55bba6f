import { rmSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect } from 'vitest'
import { openStore } from '../../src/index.ts'
import { randomFrom } from '../support/random.ts'
import type { Job, Report } from './child.ts'
import type { Children } from './children.ts'
import type { Operation } from './operations.ts'

const PROCESSES = 3
/** Making the tables takes about as many statements and, with others at the same, as many milliseconds. */
const STATEMENTS = 90
const MOST_MS = 40

/**
 * Several processes make one new file at once, and some are killed while they do: the others work on, and the file is
 * a store that holds what was acknowledged. Answers how many died while they were opening it.
 */
export async function creationRound(children: Children, seed: number): Promise<number> {
  const random = randomFrom(seed)
  const file = join(children.folder, `created-${seed}.db`)
  children.prepare(PROCESSES)
  const deaths = 1 + Math.floor(random() * PROCESSES)
  const jobs = Array.from({ length: PROCESSES }, (_, index): Job => {
    const atStatement = 1 + Math.floor(random() * STATEMENTS)
    const afterMs = random() * MOST_MS
    const how = random() < 0.5 ? { atStatement } : { afterMs }
    return {
      file,
      durability: seed % 2 === 0 ? 'full' : 'normal',
      operations: [1, 2, 3].map(
        (number): Operation => ({
          number: index * 10 + number,
          verb: 'append one',
          session: 'shared',
          picks: [0, 0, 0],
        }),
      ),
      death: index < deaths ? { during: 'opening', ...how } : { during: -1 },
    }
  })
  const said = await Promise.all(jobs.map((job) => children.run(job)))
  const what = `seed ${seed}, ${JSON.stringify(jobs.map(({ death }) => death))}`

  const acknowledged = said.flatMap((reports) => numbersOf(reports, 'done'))
  const begun = said.flatMap((reports) => numbersOf(reports, 'begun'))
  for (const reports of said.slice(deaths)) expect(numbersOf(reports, 'done'), what).toHaveLength(3)
  for (const report of said.flat())
    if (report.event === 'done' && report.number !== 'opening')
      expect(report.outcome, what).toMatchObject({ existing: 0 })

  const store = await openStore(file)
  const { position } = await store.append('shared', [{ role: 'user', content: 'Still there?' }])
  const messages = await store.getMessages('shared')
  const stored = messages
    .slice(0, -1)
    .map(({ content }) => Number(/^#(\d+) one$/.exec(content as string)![1]))
  expect(new Set(stored).size, what).toBe(stored.length)
  expect(position, what).toBe(stored.length + 1)
  for (const number of acknowledged) expect(stored, `${what}: acknowledged`).toContain(number)
  for (const number of stored) expect(begun, `${what}: never begun`).toContain(number)
  expect((await store.sessions.verify('shared')).findings, what).toEqual([])
  await store.close()
  const database = new BetterSqlite3(file)
  expect(database.pragma('integrity_check', { simple: true }), what).toBe('ok')
  expect(database.pragma('journal_mode', { simple: true }), what).toBe('wal')
  database.close()
  for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(file + ending, { force: true })
  return said.filter((reports) => reports.at(-1)?.event === 'begun' && reports.length === 1).length
}

function numbersOf(reports: readonly Report[], event: 'begun' | 'done'): number[] {
  return reports.flatMap((report) =>
    report.event === event && typeof report.number === 'number' ? [report.number] : [],
  )
}

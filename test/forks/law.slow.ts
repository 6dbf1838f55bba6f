import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { postgresServer } from '../support/postgres.ts'
import { SEED } from '../support/seed.ts'
import { checkStory, story } from './law.ts'

const RUNS = process.env.LONG === '1' ? 1_000 : 24
const server = await postgresServer()

async function check(
  runs: number,
  one: (found: Parameters<typeof checkStory>[0]) => Promise<void>,
): Promise<void> {
  const result = await fc.check(fc.asyncProperty(story, one), { numRuns: runs })
  if (result.failed) console.error(JSON.stringify(result.counterexample), result.errorInstance)
  expect(result.failed ? fc.defaultReportMessage(result) : undefined).toBeUndefined()
}

it(`forks in SQLite keep the law in ${RUNS} random stories (seed ${SEED})`, async () => {
  await check(RUNS, (one) => checkStory(one))
}, 600_000)

it.skipIf(server === undefined)(
  `forks in PostgreSQL keep the law in ${RUNS / 4} random stories (seed ${SEED})`,
  async () => {
    const url = await server!.newDatabase()
    let schemas = 0
    await check(RUNS / 4, (one) =>
      checkStory(one, (options) => openStore(url, { ...options, schema: `s${schemas++}` })),
    )
  },
  600_000,
)

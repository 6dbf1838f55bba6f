import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { postgresServer } from '../support/postgres.ts'
import { SEED } from '../support/seed.ts'
import { sequence } from './differential.ts'
import { checkMoments } from './moments.ts'

const isLong = process.env.LONG === '1'
const server = await postgresServer()

async function check(runs: number, open?: Parameters<typeof checkMoments>[1]): Promise<void> {
  const result = await fc.check(
    fc.asyncProperty(sequence, (steps) => checkMoments(steps, open)),
    { numRuns: runs },
  )
  if (result.failed) console.error(JSON.stringify(result.counterexample), result.errorInstance)
  expect(result.failed ? fc.defaultReportMessage(result) : undefined).toBeUndefined()
}

describe(`every past moment gives what was returned then (seed ${SEED})`, () => {
  it('in SQLite', () => check(isLong ? 3_000 : 50), 300_000)

  it.skipIf(server === undefined)(
    'in PostgreSQL',
    async () => {
      const url = await server!.newDatabase()
      let schemas = 0
      await check(isLong ? 500 : 8, (options) => openStore(url, { ...options, schema: `s${schemas++}` }))
    },
    300_000,
  )
})

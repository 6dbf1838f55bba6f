import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { postgresServer } from '../support/postgres.ts'
import { SEED } from '../support/seed.ts'
import { checkSequence, sequence } from './differential.ts'

const RUNS = process.env.LONG === '1' ? 2_000 : 20

const server = await postgresServer()

it.skipIf(server === undefined)(
  `PostgreSQL and the pure model agree on ${RUNS} random sequences (seed ${SEED})`,
  async () => {
    const url = await server!.newDatabase()
    let schemas = 0
    const check = fc.asyncProperty(sequence, (steps) =>
      checkSequence(steps, (options) => openStore(url, { ...options, schema: `s${schemas++}` })),
    )
    const result = await fc.check(check, { numRuns: RUNS })
    if (result.failed) console.error(JSON.stringify(result.counterexample), result.errorInstance)
    expect(result.failed ? fc.defaultReportMessage(result) : undefined).toBeUndefined()
  },
  Math.max(300_000, RUNS * 2_000),
)

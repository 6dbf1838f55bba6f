import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isUndertextError } from '../../src/index.ts'
import { expectFailure } from '../support/failures.ts'
import { exportOf, FUNCTIONS, ONLY_VALID, WITHOUT_ROW } from './functions.ts'
import { spoiled, spoilings } from './mutations.ts'

/* Public functions that take data: spoiled arguments give a result or an error of this package. */

const rejected: unknown[] = []
const note = (reason: unknown): unknown => rejected.push(reason)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => void process.off('unhandledRejection', note))

const ROOT = join(import.meta.dirname, '..', '..')

it('each exported function of each entry has a row, or a reason to have none', async () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  }
  const files = Object.values(exports).flatMap((to) => (typeof to === 'string' ? [] : [to.default]))
  const sources = files.map((file) => join(ROOT, file.replace('./dist/', 'src/').replace(/js$/, 'ts')))
  const entries = await Promise.all(sources.map((source) => import(source) as Promise<object>))
  const names = entries.flatMap((entry) =>
    Object.entries(entry).flatMap(([name, value]) => (typeof value === 'function' ? [name] : [])),
  )
  const known = [...Object.keys(FUNCTIONS).map(exportOf), ...Object.keys(WITHOUT_ROW)]
  expect([...new Set(known)].sort()).toEqual([...new Set(names)].sort())
})

describe('spoiled arguments give a result or an UndertextError:', () => {
  for (const [name, { call, args }] of Object.entries(FUNCTIONS)) {
    const act = async (...given: readonly unknown[]): Promise<unknown> => call(...(given as never[]))
    it(name, async () => {
      await expect(act(...args()), 'the valid call').resolves.not.toThrow()
      if (ONLY_VALID.has(name)) return
      await fc.assert(
        fc.asyncProperty(spoilings, async (given) => {
          const failure = await act(...spoiled(args(), given)).then(
            () => undefined,
            (error: unknown) => ({ error }),
          )
          expect(rejected.splice(0), 'rejections that nothing handles').toEqual([])
          if (failure === undefined) return
          expectFailure(failure.error, isUndertextError(failure.error) ? failure.error.code : 'INVALID_INPUT')
        }),
        { numRuns: 60 },
      )
    })
  }
})

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isUndertextError } from '../../src/index.ts'
import { expectFailure } from '../support/failures.ts'
import { FUNCTIONS } from './functions.ts'
import { spoiled, spoilings } from './mutations.ts'

/* Public functions that take data: spoiled arguments give a result or an error of this package. */

const rejected: unknown[] = []
const note = (reason: unknown): unknown => rejected.push(reason)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => void process.off('unhandledRejection', note))

describe('spoiled arguments give a result or an UndertextError:', () => {
  for (const [name, { call, args }] of Object.entries(FUNCTIONS)) {
    const act = async (...given: readonly unknown[]): Promise<unknown> => call(...(given as never[]))
    it(name, async () => {
      await expect(act(...args()), 'the valid call').resolves.not.toThrow()
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

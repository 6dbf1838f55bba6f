import { describe, expect, it } from 'vitest'
import {
  getContextOverflowProvider,
  isContextOverflowError,
  parseProviderOverflowDetails,
} from '../../../src/index.ts'
import { OTHERS, OVERFLOWS } from './labelled.ts'

describe.each([['collected first', OVERFLOWS, OTHERS]] as const)('%s', (_, overflows, others) => {
  it.each(overflows.map((entry, i) => [i, entry] as const))(
    'is an overflow: %i',
    (_i, [error, provider, actual, budget]) => {
      const found = parseProviderOverflowDetails(error)
      expect({
        overflow: isContextOverflowError(error),
        provider: getContextOverflowProvider(error),
        actual: found?.actualTokens,
        budget: found?.budgetTokens,
        error,
      }).toEqual({ overflow: true, provider, actual, budget, error })
    },
  )

  it.each(others.map((error, i) => [i, error] as const))('is something else: %i', (_i, error) => {
    expect([isContextOverflowError(error), error]).toEqual([false, error])
    expect(getContextOverflowProvider(error)).toBeNull()
    expect(parseProviderOverflowDetails(error)).toBeNull()
  })
})

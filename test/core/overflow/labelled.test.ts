import { describe, expect, it } from 'vitest'
import {
  getContextOverflowProvider,
  isContextOverflowError,
  parseProviderOverflowDetails,
} from '../../../src/compat/overflow.ts'
import { OTHERS, OVERFLOWS } from './labelled.ts'
import { LAST_OTHERS, LAST_OVERFLOWS } from './labelled-last.ts'
import { LATER_OTHERS, LATER_OVERFLOWS } from './labelled-later.ts'
import { PROBE_OTHERS, PROBE_OVERFLOWS } from './labelled-probe.ts'

describe.each([
  ['collected first', OVERFLOWS, OTHERS],
  ['set aside', LATER_OVERFLOWS, LATER_OTHERS],
  ['made up', PROBE_OVERFLOWS, PROBE_OTHERS],
  ['collected last', LAST_OVERFLOWS, LAST_OTHERS],
] as const)('%s', (_, overflows, others) => {
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

it.each([
  'The response was cut because the maximum number of tokens was reached.',
  'The response was truncated because it reached the maximum number of tokens',
  'The model stopped because it exceeded the maximum number of tokens it could generate',
  'Error: Token has exceeded its maximum lifetime',
  'Token length exceeds the limit in Authorization header',
])('is something else, found by trying: %s', (error) => {
  expect(isContextOverflowError(error)).toBe(false)
})

it('has enough of both', () => {
  const count = (...lists: readonly (readonly unknown[])[]) =>
    lists.reduce((sum, list) => sum + list.length, 0)
  expect(count(OVERFLOWS, LATER_OVERFLOWS)).toBeGreaterThanOrEqual(120)
  expect(count(OTHERS, LATER_OTHERS)).toBeGreaterThanOrEqual(100)
})

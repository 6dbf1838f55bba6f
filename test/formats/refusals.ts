import { isUndertextError } from '../../src/core/errors.ts'

/** The problems of an `INVALID_INPUT` that a call throws. */
export function failureOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (isUndertextError(error, 'INVALID_INPUT')) return error.facts.problems
    throw error
  }
  return 'nothing was thrown'
}

import { isUndertextError } from '../errors.ts'

/** What a verb answers; `undefined` when there is no such session (yet). Any other error is thrown on. */
export async function unlessUnknown<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) return undefined
    throw error
  }
}

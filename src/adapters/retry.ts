import { type ErrorCode, isUndertextError } from '../core/errors.ts'

/**
 * Repeats an attempt as long as it fails with one of these errors, because another writer was first; at most `limit` times. `attempt`
 * receives whether it is the last.
 */
export async function withRetries<T>(
  limit: number,
  codes: readonly ErrorCode[],
  attempt: (isLast: boolean) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt(tries >= limit)
    } catch (error) {
      if (tries >= limit || !codes.some((code) => isUndertextError(error, code))) throw error
    }
  }
}

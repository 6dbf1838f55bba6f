import { readCall } from '../../config/layers.ts'
import type { CheckedCall } from '../../config/settings.ts'
import { isUndertextError } from '../../errors.ts'
import { type JsonObject, jsonProblem } from '../../messages/json.ts'

/** What of a call can be stored: plain data. A summarizer, stages of one's own and a signal stay in this process. */
export function storableCall(call: CheckedCall): JsonObject {
  const entries = Object.entries(call).filter(([, value]) => isPlain(value))
  return Object.fromEntries(entries) as JsonObject
}

function isPlain(value: unknown): boolean {
  if (value === undefined) return false
  return jsonProblem(value) === undefined
}

/**
 * The call a job was stored with. Another version of this package may have stored what this one refuses; then the settings in force count
 * alone.
 */
export function storedCall(config: JsonObject): CheckedCall {
  try {
    return readCall(config, 'compactInBackground')
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    return {}
  }
}

/** The call of a job that was ordered: it may summarize, whether or not automatic runs may. */
export function asOrdered(call: CheckedCall): CheckedCall {
  return { enableAutoSummarize: true, ...call }
}

import { errorName, isUndertextError } from '../../../core/errors.ts'
import { type JsonObject, jsonProblem } from '../../../core/messages/json.ts'
import { readCall } from '../../config/read-settings.ts'
import type { CheckedCall } from '../../config/settings.ts'
import type { CompactionResult } from '../result.ts'

/* What the run of a job is called with, and what becomes of the job after it. */

/** Runs of one job, one whose process died included. */
export const MAX_ATTEMPTS = 3
/** Jobs that may follow one whose plan was stale. */
export const MAX_REPLANS = 2
/** Milliseconds before the second attempt; doubled for each further one. */
const RETRY_MS = 2_000
/** Milliseconds before another attempt when another run was active. */
const BUSY_MS = 5_000

/** The part of a call that can be stored: plain data. A summarizer, stages and a signal stay in this process. */
export function storableCall(call: CheckedCall): JsonObject {
  const entries = Object.entries(call).filter(([, value]) => jsonProblem(value) === undefined)
  return Object.fromEntries(entries) as JsonObject
}

/** The stored call of a job. One that this version refuses, because another version stored it, counts as empty. */
export function storedCall(config: JsonObject): CheckedCall {
  try {
    return readCall(config, 'jobs.start')
  } catch (error) {
    if (!isUndertextError(error, 'INVALID_INPUT')) throw error
    return {}
  }
}

/** The call of a requested job, which may summarize even where automatic runs may not. */
export function asRequested(call: CheckedCall): CheckedCall {
  return { enableAutoSummarize: true, ...call }
}

/** What becomes of a job after a run. */
export type Outcome =
  | { readonly kind: 'done'; readonly result: CompactionResult | null; readonly code: string | undefined }
  /** Tried again after `afterMs` milliseconds. `isUncounted`: the run is not counted as an attempt. */
  | {
      readonly kind: 'again'
      readonly code: string
      readonly afterMs: number
      readonly isUncounted: boolean
    }
  | { readonly kind: 'failed' | 'stale'; readonly code: string }
  /** The run was ended from outside. */
  | { readonly kind: 'aborted' }
  /** The storage is closed or unavailable, so nothing can be recorded. The job is resumed when its claim has expired. */
  | { readonly kind: 'lost'; readonly error: unknown }

/** `attempt`: the number of the run, from 1. */
export function outcomeOfResult(result: CompactionResult | null, attempt: number): Outcome {
  if (result?.reason === 'SUMMARY_FAILED') return retry(result.failed[0]?.error ?? result.reason, attempt)
  return { kind: 'done', result, code: result?.reason }
}

export function outcomeOfError(error: unknown, attempt: number): Outcome {
  const code = errorName(error)
  if (!isUndertextError(error)) return retry(code, attempt)
  if (code === 'ABORTED') return { kind: 'aborted' }
  if (code === 'STALE_PLAN') return { kind: 'stale', code }
  if (code === 'STORE_BUSY' || code === 'COMPACTION_IN_PROGRESS')
    return { kind: 'again', code, afterMs: BUSY_MS, isUncounted: true }
  if (code.startsWith('STORE_')) return { kind: 'lost', error }
  return retry(code, attempt)
}

function retry(code: string, attempt: number): Outcome {
  if (attempt >= MAX_ATTEMPTS) return { kind: 'failed', code }
  return { kind: 'again', code, afterMs: RETRY_MS * 2 ** (attempt - 1), isUncounted: false }
}

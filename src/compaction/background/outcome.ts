import { errorName, isUndertextError } from '../../errors.ts'
import type { CompactionResult } from '../result.ts'

/** How often a job is tried: one whose process died counts as a try. */
export const MOST_ATTEMPTS = 3
/** How often a job whose plan went stale is followed by another. */
export const MOST_REPLANS = 2
/** The wait before the second try, milliseconds; it doubles with each. */
const RETRY_MS = 2_000
/** When a session that somebody else compacts is looked at again, milliseconds. */
const BUSY_MS = 5_000

/** What is to become of a job after a try. */
export type Outcome =
  | { readonly kind: 'done'; readonly result: CompactionResult | null; readonly code: string | undefined }
  /** To be tried again after so many milliseconds. `isUncounted`: it was not the job's fault. */
  | {
      readonly kind: 'again'
      readonly code: string
      readonly afterMs: number
      readonly isUncounted: boolean
    }
  | { readonly kind: 'failed' | 'stale'; readonly code: string }
  /** The run was ended from outside. */
  | { readonly kind: 'aborted' }
  /** Nothing can be noted: the storage is closed or out of reach. The job is taken up when its claim is over. */
  | { readonly kind: 'lost'; readonly error: unknown }

/** `attempt`: the number of the try. */
export function outcomeOfResult(result: CompactionResult | null, attempt: number): Outcome {
  if (result?.reason === 'SUMMARY_FAILED') return again(result.failed[0]?.error ?? result.reason, attempt)
  return { kind: 'done', result, code: result?.reason }
}

export function outcomeOfError(error: unknown, attempt: number): Outcome {
  const code = errorName(error)
  if (!isUndertextError(error)) return again(code, attempt)
  if (code === 'ABORTED') return { kind: 'aborted' }
  if (code === 'STALE_PLAN') return { kind: 'stale', code }
  if (code === 'STORE_BUSY' || code === 'COMPACTION_IN_PROGRESS')
    return { kind: 'again', code, afterMs: BUSY_MS, isUncounted: true }
  if (code.startsWith('STORE_')) return { kind: 'lost', error }
  return again(code, attempt)
}

function again(code: string, attempt: number): Outcome {
  if (attempt >= MOST_ATTEMPTS) return { kind: 'failed', code }
  return { kind: 'again', code, afterMs: RETRY_MS * 2 ** (attempt - 1), isUncounted: false }
}

import type { ContextStats } from '../../compaction/stats.ts'
import type { Sink } from '../command.ts'
import { count, time } from '../output/figures.ts'

/** Where the figure of the request comes from, as a sentence. */
export function sourceOfEstimate(
  { source, measured, estimated, estimator, calibration }: ContextStats,
  out: Sink,
): string {
  const own = `the estimator ${estimator} alone says ${count(estimated)}`
  switch (source) {
    case 'measured':
      return `the provider's own report of this request (${time(measured?.at ?? 0, out)}); ${own}`
    case 'measured+estimated':
      return `the provider's last report (${count(measured?.inputTokens ?? 0)} tokens, ${time(measured?.at ?? 0, out)}) and an estimate of what came since; ${own}`
    case 'calibrated':
      return `the estimator ${estimator}, corrected by ${calibration.ratio.toFixed(3)} as ${count(calibration.samples)} reports of this model showed; ${own}`
    case 'estimated':
      return `the estimator ${estimator}; no provider has reported on this model yet`
  }
}

/** Why the window is what it is. */
export function sourceOfWindow({ contextWindow: { source, entry } }: ContextStats): string {
  const name = entry === undefined ? '' : `, entry ${entry}`
  switch (source) {
    case 'learned':
      return 'learnt from an overflow error of the provider'
    case 'session':
      return `the session's own table${name}`
    case 'store':
      return `the settings of the store${name}`
    case 'package':
      return `the package @pydantic/genai-prices${name}`
    case 'registry':
      return `the founding table of models${name}`
    case 'default':
      return 'nobody knows this model; the default'
  }
}

/** Why so much is kept free for the answer. */
export function sourceOfReserve({ outputReserve: { source } }: ContextStats): string {
  switch (source) {
    case 'maxTokens':
      return 'maxTokens, as asked for'
    case 'share':
      return 'a share of the window, for nobody said maxTokens'
    case 'most':
      return 'the most that is kept, for nobody said maxTokens'
  }
}

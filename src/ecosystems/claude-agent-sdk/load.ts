import { isNotFound, standingFor, UndertextError } from '../../errors.ts'
import type { FoldSessionSummary } from './types.ts'

let loaded: Promise<FoldSessionSummary> | undefined

/**
 * The SDK's `foldSessionSummary`, loaded when it is first needed. Rejects with `CLAUDE_AGENT_SDK_UNAVAILABLE` when the SDK is missing,
 * broken, or a version without it; `originalErrorOf` has why.
 */
export function loadFold(): Promise<FoldSessionSummary> {
  loaded ??= load()
  return loaded
}

async function load(): Promise<FoldSessionSummary> {
  let module: Record<string, unknown>
  try {
    // By its name and inside this `try`: a bundler then brings it along where it is installed, and builds where it is not.
    module = (await import('@anthropic-ai/claude-agent-sdk')) as Record<string, unknown>
  } catch (error) {
    const isMissing = isNotFound(error)
    const detail = isMissing ? 'it is not installed.' : 'it cannot be loaded.'
    throw standingFor(new UndertextError('CLAUDE_AGENT_SDK_UNAVAILABLE', { detail }), error)
  }
  const { foldSessionSummary } = module
  if (typeof foldSessionSummary !== 'function') {
    const detail = 'the version that is installed has no foldSessionSummary.'
    throw new UndertextError('CLAUDE_AGENT_SDK_UNAVAILABLE', { detail })
  }
  return foldSessionSummary as FoldSessionSummary
}

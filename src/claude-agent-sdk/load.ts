import { standingFor, UndertextError } from '../errors.ts'
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
    // In a variable, so that types are not looked for where it is not installed.
    const name = '@anthropic-ai/claude-agent-sdk'
    module = (await import(name)) as Record<string, unknown>
  } catch (error) {
    const isMissing = (error as { code?: unknown } | null)?.code === 'ERR_MODULE_NOT_FOUND'
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

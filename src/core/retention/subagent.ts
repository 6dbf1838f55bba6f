import { isObject, type JsonObject } from '../messages/json.ts'

/**
 * Returns whether the metadata of a session names a session that called it as a subagent: `undertext.subagentOf` (an id), which an
 * application sets, `agentId` of an imported transcript of Claude Code, or the `subpath` of a transcript of the Claude Agent SDK.
 */
export function isSubagent(metadata: JsonObject | undefined): boolean {
  const own = fieldsOf(metadata?.undertext)
  const imported = fieldsOf(metadata?.['claude-code'])
  const stored = fieldsOf(fieldsOf(metadata?.['claude-agent-sdk']).key)
  return (
    typeof own.subagentOf === 'string' ||
    (typeof imported.sessionId === 'string' && typeof imported.agentId === 'string') ||
    typeof stored.subpath === 'string'
  )
}

function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  return isObject(value) ? value : {}
}

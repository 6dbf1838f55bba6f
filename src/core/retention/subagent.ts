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

/**
 * Returns the id of the session that called a session as a subagent, if its metadata names one. The agents of Claude Code are named after
 * it: `ID/agent-…`.
 */
export function callerOf({
  id,
  metadata,
}: {
  readonly id: string
  readonly metadata: JsonObject | undefined
}): string | undefined {
  const { subagentOf } = fieldsOf(metadata?.undertext)
  if (typeof subagentOf === 'string') return subagentOf
  const { sessionId, agentId } = fieldsOf(metadata?.['claude-code'])
  if (typeof sessionId !== 'string' || typeof agentId !== 'string') return undefined
  const end = [`${sessionId}/agent-${agentId}`, `agent-${agentId}`].find((one) => id.endsWith(one))
  return end === undefined ? undefined : id.slice(0, -end.length) + sessionId
}

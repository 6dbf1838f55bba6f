import type { SessionStoreEntry } from '../../../src/adapters/claude-agent-sdk/index.ts'
import { answers, asks, beside, brings, says } from '../../claude-agent-sdk/entries.ts'

/* Entries of Claude Code with short uuids, one after the other. */

/** An entry of a short uuid that follows another. */
export const entry = (
  uuid: string,
  parentUuid: string | null,
  made: SessionStoreEntry,
  rest: object = {},
) => ({
  ...made,
  uuid,
  parentUuid,
  ...rest,
})
export const user = (uuid: string, parentUuid: string | null) => entry(uuid, parentUuid, asks(uuid))
export const answer = (uuid: string, parentUuid: string | null, id = uuid) => {
  const made = says(uuid)
  return entry(uuid, parentUuid, { ...made, message: { ...(made.message as object), id } })
}
export const call = (uuid: string, parentUuid: string, id = uuid) => {
  const made = answers({ type: 'tool_use', id: `t-${uuid}`, name: 'Read', input: {} })
  return entry(uuid, parentUuid, { ...made, message: { ...(made.message as object), id } })
}
export const result = (uuid: string, parentUuid: string, caller: string) =>
  entry(uuid, parentUuid, brings(`t-${caller}`, uuid))
export const boundary = (
  uuid: string,
  logicalParentUuid: string,
  compactMetadata: object = { trigger: 'auto' },
) => ({
  ...beside.boundary,
  uuid,
  parentUuid: null,
  logicalParentUuid,
  compactMetadata,
})
export const summary = (uuid: string, parentUuid: string | null) =>
  entry(uuid, parentUuid, asks(uuid), { isCompactSummary: true, isVisibleInTranscriptOnly: true })

/** Two turns. */
export const LINE = [user('u1', null), answer('a1', 'u1'), user('u2', 'a1'), answer('a2', 'u2')]

import type { JsonObject } from '../../messages/json.ts'
import type { Session } from '../../storage/storage.ts'
import { keptFor } from '../wire.ts'
import { CLAUDE_AGENT_SDK } from './key.ts'
import type { TranscriptStore } from './types.ts'

/*
 * What the adapter keeps in the metadata of a session, under its own name:
 *
 * - `key`: the transcript's key, for people who look at it;
 * - `summary`: the SDK's summary, and how far it was folded;
 * - `deleted`: whether something of it was deleted, so that its entries may come again.
 */

/** What is kept in a session's metadata. */
export function keptOf({ metadata }: Pick<Session, 'metadata'>): JsonObject {
  return keptFor(CLAUDE_AGENT_SDK, metadata) ?? {}
}

/** Changes some of it. The metadata are read again right before, so that what the application set meanwhile stays. */
export async function keepIn(store: TranscriptStore, id: string, fields: JsonObject): Promise<void> {
  const session = await store.getSession(id)
  const kept = { ...keptOf(session), ...fields }
  await store.updateSession(id, { metadata: { ...session.metadata, [CLAUDE_AGENT_SDK]: kept } })
}

import { createHash } from 'node:crypto'
import type { Message, Store } from '../../src/index.ts'

/** How a session stands: what a model would be sent now, in figures and as a fingerprint of its very bytes. */
export type Standing = {
  readonly messages: number
  readonly tokens: number
  readonly hash: string
  /** The same of what is stored: every message of the log as it was written, hidden or not. */
  readonly storedHash: string
  /** Raised by every change of the session. */
  readonly version: number
}

export async function standingOf(store: Store, sessionId: string): Promise<Standing> {
  const view = await store.getEffectiveHistory(sessionId)
  const stats = await store.getContextStats(sessionId)
  const { version } = await store.sessions.get(sessionId)
  const stored = (await store.getMessages(sessionId)).filter(({ kind }) => kind === 'message')
  return {
    messages: view.length,
    tokens: stats?.breakdown.conversationHistory ?? 0,
    hash: hashOf(view),
    storedHash: hashOf(
      stored.map(({ id, role, content, metadata }) => ({ id, role, content, ...(metadata && { metadata }) })),
    ),
    version,
  }
}

/** SHA-256 of messages as JSON. */
export function hashOf(messages: readonly Message[]): string {
  return createHash('sha256').update(JSON.stringify(messages)).digest('hex')
}

/** A fingerprint short enough for a table. */
export function shortHash(hash: string): string {
  return hash.slice(0, 12)
}

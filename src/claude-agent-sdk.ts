/*
 * What concerns the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`, an optional peer): the entry
 * `undertext/claude-agent-sdk`.
 */

export { decodeName, encodeName, keyOfSession } from './claude-agent-sdk/key.ts'
export {
  type SessionStoreOptions,
  UndertextSessionStore,
  undertextSessionStore,
} from './claude-agent-sdk/session-store.ts'
export type {
  FoldSessionSummary,
  ListedSession,
  SessionKey,
  SessionStoreEntry,
  SessionSummaryEntry,
  TranscriptStore,
} from './claude-agent-sdk/types.ts'

/*
 * What concerns the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`, an optional peer): the entry
 * `undertext/claude-agent-sdk`.
 */

export type {
  FoldSessionSummary,
  ListedSession,
  SessionKey,
  SessionStoreEntry,
  SessionSummaryEntry,
  TranscriptStore,
} from './ecosystems/claude-agent-sdk/entry.ts'
export { decodeName, encodeName, keyOfSession } from './ecosystems/claude-agent-sdk/entry.ts'
export {
  type SessionStoreOptions,
  UndertextSessionStore,
  undertextSessionStore,
} from './ecosystems/claude-agent-sdk/session-store.ts'

/* The entry `undertext/claude-agent-sdk`: adapters for the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`, an optional peer). */

export type {
  FoldSessionSummary,
  ListedSession,
  SessionKey,
  SessionStoreEntry,
  SessionSummaryEntry,
  TranscriptStore,
} from './entry.ts'
export { decodeName, encodeName, keyOfSession } from './entry.ts'
export {
  type SessionStoreOptions,
  UndertextSessionStore,
  undertextSessionStore,
} from './session-store.ts'

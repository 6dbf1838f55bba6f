/*
 * What Claude Code left on the disk, in a store: brought in, listed, deleted, and had back. Run it with Node 22.18 or newer, or
 * with tsx; no key and no network:
 *
 *   npm install undertext @anthropic-ai/claude-agent-sdk
 *   node import.ts                                  a session made up for this
 *   node import.ts ~/my-project <session id>        one of yours; its files are only read
 *
 * STORE names another file than chats.db.
 */
import {
  deleteSession,
  getSessionMessages,
  importSessionToStore,
  listSessions,
} from '@anthropic-ai/claude-agent-sdk'
import { openStore } from 'undertext'
import { keyOfSession, undertextSessionStore } from 'undertext/claude-agent-sdk'
import { madeUpSession } from './made-up-session.ts'

const [folder, session] = process.argv.slice(2)
const { dir, sessionId } =
  folder !== undefined && session !== undefined ? { dir: folder, sessionId: session } : madeUpSession()

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const store = await openStore(process.env.STORE ?? 'chats.db')
const sessionStore = undertextSessionStore({ store, actor: 'example' })

await importSessionToStore(sessionId, sessionStore, { dir })
for (const { summary } of await listSessions({ dir, sessionStore })) print(`listed: ${summary}`)

// To the store it is a conversation like any other.
const { id, messageCount } = (await store.sessions.list())[0]!
const { messages } = await store.renderHistory(id, { provider: 'anthropic' })
print(`${messageCount} entries, ${messages.length} messages for a model`)
const stats = await store.getContextStats(id, 'anthropic', 'claude-sonnet-4-5')
print(`about ${stats!.estimatedInputTokens} tokens`)

// The SDK deletes. Nothing is lost by it.
await deleteSession(sessionId, { dir, sessionStore })
print(`deleted: ${(await listSessions({ dir, sessionStore })).length} sessions`)
await sessionStore.restore(keyOfSession(id)!)
print(`restored: ${(await getSessionMessages(sessionId, { dir, sessionStore })).length} messages`)
for (const { event, actor } of await store.sessions.audit(id))
  print(`  ${event}${actor === undefined ? '' : ` by ${actor}`}`)
await store.close()

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type NewMessage, openStore } from 'undertext'
import { type AnthropicMessage, fromAnthropic } from 'undertext/anthropic'
import { agentSession } from './conversation.ts'
import type { Folder } from './folder.ts'

const CODING_SESSION = '../../../shared/corpus/coding-session.anthropic.jsonl'

/** A real coding session where the shared test data is, else a made-up one. */
export function sessionToStore(): { readonly name: string; readonly messages: NewMessage[] } {
  const path = fileURLToPath(new URL(CODING_SESSION, import.meta.url))
  if (!existsSync(path)) return { name: 'a made-up session', messages: agentSession(1_000) }
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  const transcript = lines.map((line) => JSON.parse(line) as AnthropicMessage)
  return { name: 'the coding session of the corpus', messages: fromAnthropic(transcript) }
}

/** Bytes of the file that holds a session, over the bytes of its contents as compact JSON. */
export async function fileSize(folder: Folder): Promise<{ readonly name: string; readonly ratio: number }> {
  const { name, messages } = sessionToStore()
  const store = await openStore(folder.file('size.db'))
  await store.append('s', messages)
  await store.close()
  const content = messages.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one.content)), 0)
  return { name, ratio: folder.bytes('size.db') / content }
}

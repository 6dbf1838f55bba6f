/*
 * A chat of `useChat` that is kept on the server. Run it with Node 22.18 or newer, or with tsx; no key and no network is needed:
 *
 *   npm install undertext ai zod
 *   node chat.ts
 *
 * STORE names another file than chats.db. Run it twice: the second run loads the chat and goes on where the first ended.
 */
import { Chat } from './browser.ts'
import { chats, POST, store } from './route.ts'

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const text = (chat: Chat): string =>
  (chat.lastMessage?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')

// What a page does when it is opened: a new chat, or the one its address names.
const [known] = await store.sessions.list()
const id = known?.id ?? (await chats.create())
const chat = new Chat(id, await chats.load(id), POST)
print(`${chat.messages.length} messages loaded`)

for (const question of [
  'My name is Ada and I live in Turin.',
  'How is the weather where I live?',
  'What is my name?',
]) {
  await chat.sendMessage({ text: question })
  print(`> ${question}\n${text(chat)}`)
}

// The last answer once more. The one it replaces is hidden, and can be given back.
await chat.regenerate()
print(`once more: ${text(chat)}`)
for (const { id: compaction, kind, rowsHidden } of await store.listCompactions(id))
  print(
    `${kind}: ${rowsHidden} row taken back, undoCompaction('…', '${compaction.slice(0, 8)}…') gives it back`,
  )

const { messageCount, visibleCount } = await store.sessions.get(id)
print(`${(await chats.load(id)).length} messages, ${messageCount} rows stored, ${visibleCount} in the view`)
await store.close()

import type { UIMessage } from 'ai'
import { openStore, type Store } from 'undertext'
import { type ChatStore, chatStore } from 'undertext/ai-sdk'

type Chats = { readonly store: Store; readonly chats: ChatStore<UIMessage> }

let opened: Promise<Chats> | undefined

/** One store for the process, opened by the first request: `next build` imports this module too. After a failure the next request tries again. */
export function openChats(): Promise<Chats> {
  opened ??= open().catch((error: unknown) => {
    opened = undefined
    throw error
  })
  return opened
}

async function open(): Promise<Chats> {
  const store = await openStore(process.env.STORE ?? 'chats.db')
  return { store, chats: chatStore<UIMessage>(store) }
}

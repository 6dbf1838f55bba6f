import { connection } from 'next/server'
import { isUndertextError } from 'undertext'
import { openChats } from './chats'
import { Conversation } from './conversation'

const ID = 'my-chat'

export default async function Page() {
  // The store is read at each request, not while the application is built.
  await connection()
  const { chats } = await openChats()
  const messages = await chats.load(ID).catch((error: unknown) => {
    if (isUndertextError(error, 'SESSION_NOT_FOUND')) return []
    throw error
  })
  return <Conversation id={ID} messages={messages} />
}

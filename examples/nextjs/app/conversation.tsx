'use client'

import { useChat } from '@ai-sdk/react'
import type { UIMessage } from 'ai'

export function Conversation(chat: { id: string; messages: UIMessage[] }) {
  const { messages, sendMessage } = useChat(chat)
  return (
    <form action={(form) => sendMessage({ text: String(form.get('text')) })}>
      {messages.map(({ id, role, parts }) => (
        <p key={id}>
          {role}: {parts.map((part) => (part.type === 'text' ? part.text : ''))}
        </p>
      ))}
      <input name="text" />
    </form>
  )
}

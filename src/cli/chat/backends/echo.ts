import { type Message, partsOf } from '../../../messages/message.ts'
import { type Backend, textReply } from './backend.ts'

/** Says again what was said, without a network: to try things out, and to look after a session without asking a model. */
export function echoBackend(names: { readonly provider?: string; readonly model?: string } = {}): Backend {
  return {
    kind: 'echo',
    title: 'the offline echo',
    ...names,
    async ask({ messages, signal, onText }) {
      signal.throwIfAborted()
      const text = wordsOf(messages.findLast(({ role }) => role === 'user'))
      if (text !== '') onText(text)
      return textReply(text, { stopReason: 'stop' })
    },
  }
}

function wordsOf(message: Message | undefined): string {
  if (message === undefined) return ''
  return partsOf(message)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
}

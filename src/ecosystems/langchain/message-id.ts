import { type Message, partsOf } from '../../messages/message.ts'
import { keptFor } from '../wire.ts'
import { LANGCHAIN } from './types.ts'

/** The id LangChain knows a message by, where it was read with one. A tool's message keeps it with its result. */
export function messageIdOf(message: Message): string | undefined {
  const [first] = partsOf(message)
  const fields =
    first?.type === 'tool-result'
      ? keptFor(LANGCHAIN, first.providerOptions)
      : keptFor(LANGCHAIN, message.metadata)
  return typeof fields?.id === 'string' && fields.id !== '' ? fields.id : undefined
}

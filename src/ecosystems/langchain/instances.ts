import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from '@langchain/core/messages'
import type { Message } from '../../messages/message.ts'
import type { ConversionOptions } from '../conversion.ts'
import { writeMessages } from './to-langchain.ts'

/**
 * A class of message. Each takes the fields its messages are stored with; their types are LangChain's own and
 * not one.
 */
type MessageClass = new (fields: never) => BaseMessage

const CLASSES: ReadonlyMap<string, MessageClass> = new Map<string, MessageClass>([
  ['human', HumanMessage],
  ['ai', AIMessage],
  ['system', SystemMessage],
  ['tool', ToolMessage],
  ['function', FunctionMessage],
  ['generic', ChatMessage],
  ['remove', RemoveMessage],
  ['HumanMessageChunk', HumanMessageChunk],
  ['AIMessageChunk', AIMessageChunk],
  ['SystemMessageChunk', SystemMessageChunk],
  ['ToolMessageChunk', ToolMessageChunk],
  ['FunctionMessageChunk', FunctionMessageChunk],
  ['ChatMessageChunk', ChatMessageChunk],
])

/**
 * Neutral messages as LangChain's own instances: of the class they were read from, with the same fields; see
 * `toLangChainStored` for what becomes of messages from elsewhere. Values are shared with what was given.
 *
 * Throws `INVALID_INPUT` for a list that is none and for a part of an unknown type.
 */
export function toLangChain(messages: readonly Message[], options?: ConversionOptions): BaseMessage[] {
  return writeMessages(messages, options).map(({ type, data, className }) => {
    const Class = CLASSES.get(className ?? type) ?? HumanMessage
    // The constructors fill in what is absent, in the object itself: this one is nobody else's.
    return new Class(data as never)
  })
}

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
import type { Message } from '../../core/messages/message.ts'
import { readMessages } from '../../core/messages/message-check.ts'
import type { ConversionOptions } from '../conversion.ts'
import { writeMessages } from './to-langchain.ts'

/** A class of message. Each takes the fields its messages are stored with; LangChain has no common type for these. */
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
 * Converts neutral messages to instances of LangChain's classes: of the class they were read from, with the same fields; see
 * `toLangChainStored` for messages of other origins. Values are shared with the input.
 *
 * Throws `INVALID_INPUT` for an invalid list and for a part of an unknown type.
 */
export function toLangChain(messages: readonly Message[], options?: ConversionOptions): BaseMessage[] {
  return readMessages(messages, 'toLangChain', () => {
    return writeMessages(messages, options).map(({ type, data, className }) => {
      const Class = CLASSES.get(className ?? type) ?? HumanMessage
      // The constructors add absent fields to the object itself: this one is not shared.
      return new Class(data as never)
    })
  })
}

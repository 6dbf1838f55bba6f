import type { PlainMessage } from '../model/message-parts.ts'
import { fieldOf } from './tool-slots.ts'

/** Fields of the messages that are joined; the rest is not looked at. */
type Mergeable = PlainMessage & {
  readonly tool_calls?: unknown
  readonly metadata?: unknown
  readonly pinned?: unknown
}

/**
 * Messages of one role as one message: texts joined by a blank line, lists of parts and of calls one behind the
 * other. Other fields are those of the first; `metadata.mergedMessages` counts the messages.
 */
export function mergeTurns(messages: readonly PlainMessage[]): PlainMessage {
  const all: readonly Mergeable[] = messages
  const [first] = all
  const calls = all.flatMap(({ tool_calls: some }) => (Array.isArray(some) ? (some as unknown[]) : []))
  const mergedMessages = all.reduce((sum, message) => sum + countOf(message), 0)
  return {
    ...first!,
    content: mergeContents(all.map(({ content }) => content)),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(all.some(({ pinned }) => pinned === true) && { pinned: true }),
    metadata: { ...(first?.metadata as object | undefined), mergedMessages },
  } as PlainMessage
}

function countOf({ metadata }: Mergeable): number {
  const count = fieldOf(metadata, 'mergedMessages')
  return typeof count === 'number' ? count : 1
}

function mergeContents(contents: readonly unknown[]): unknown {
  if (contents.some((content) => Array.isArray(content))) {
    return contents.flatMap((content): unknown[] => {
      if (Array.isArray(content)) return content
      return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : []
    })
  }
  const texts = contents.filter((content) => typeof content === 'string')
  const spoken = texts.filter((text) => text !== '')
  return spoken.length > 0 ? spoken.join('\n\n') : (texts[0] ?? null)
}

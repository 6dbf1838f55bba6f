import { isDeepStrictEqual } from 'node:util'
import { type Message, partsOf, type ToolCallPart } from '../../messages/message.ts'

/**
 * The ids of open calls at the end of a history by the ids a provider's rendering gave them, where these are others. `shown` is
 * that rendering, `own` one with the calls' own ids.
 */
export function ownIdsOf(shown: readonly Message[], own: readonly Message[]): ReadonlyMap<string, string> {
  const [renamed, calls] = [openCalls(shown), openCalls(own)]
  const isSame = ({ toolName, input }: ToolCallPart, i: number): boolean =>
    toolName === calls[i]?.toolName && isDeepStrictEqual(input, calls[i].input)
  if (renamed.length !== calls.length || !renamed.every(isSame)) return new Map()
  return new Map(renamed.map(({ toolCallId }, i) => [toolCallId, calls[i]!.toolCallId]))
}

/** Messages whose results of such calls name the calls by their own ids. */
export function answeringOwn(messages: readonly Message[], ownIds: ReadonlyMap<string, string>): Message[] {
  if (ownIds.size === 0) return [...messages]
  const asked = new Set<string>()
  return messages.map((message) => {
    const parts = partsOf(message)
    for (const part of parts) if (part.type === 'tool-call') asked.add(part.toolCallId)
    const content = parts.map((part) => {
      const own = part.type === 'tool-result' && !asked.has(part.toolCallId) && ownIds.get(part.toolCallId)
      return own ? { ...part, toolCallId: own } : part
    })
    return content.some((part, i) => part !== parts[i]) ? { ...message, content } : message
  })
}

function openCalls(messages: readonly Message[]): ToolCallPart[] {
  const answered = new Set<string>()
  for (const message of messages.toReversed()) {
    const parts = partsOf(message)
    for (const part of parts) if (part.type === 'tool-result') answered.add(part.toolCallId)
    if (message.role !== 'tool')
      return parts
        .filter((part) => part.type === 'tool-call')
        .filter(({ toolCallId }) => !answered.has(toolCallId))
  }
  return []
}

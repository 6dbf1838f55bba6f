import { indexMessage } from '../../src/core/model/message-parts.ts'
import { View } from '../../src/core/model/view.ts'
import { neurolinkEstimator } from '../../src/core/tokens/measure.ts'
import type { Message, Part, ViewMessage } from '../../src/index.ts'

/**
 * Recorded messages are a few letters long, and a summary must be smaller than what it stands for. So replays
 * make them longer by this much, and take it off again before they compare.
 */
export const PADDING = '.'.repeat(400)

/** The view that planning would see of a session of these messages. */
export function planningView(messages: readonly Omit<ViewMessage, 'createdAt'>[]): View {
  const rows = messages.map(({ id, kind, role, content }, at) => ({
    key: at + 1,
    id,
    kind,
    role,
    position: at + 1,
    anchor: at + 1,
    ordinal: 0,
    pinned: false,
    shown: [],
    ...indexMessage({ content }, neurolinkEstimator),
  }))
  return new View(rows, neurolinkEstimator, 'openai')
}

/** What a history says in one line a message: its role, and of each part the kind, and the id or the words. */
export function shapeOf(messages: readonly Message[]): string[] {
  return messages.map(({ role, content }) => {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
    return `${role}: ${parts.map(shapeOfPart).join(', ')}`
  })
}

function shapeOfPart(part: Part): string {
  switch (part.type) {
    case 'tool-call':
      return `call ${part.toolCallId}${part.providerOptions === undefined ? '' : ` ${JSON.stringify(part.providerOptions)}`}`
    case 'tool-result':
      return `${part.output.type.startsWith('error') ? 'failed ' : ''}result ${part.toolCallId}`
    case 'text':
    case 'reasoning':
      return `${part.type} ${JSON.stringify(part.text)}`
    default:
      return part.type
  }
}

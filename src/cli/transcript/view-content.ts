import type { StoredMessage } from '../../messages/message.ts'
import { withReplacements } from '../../messages/overlay.ts'

/** What the view has of a row that was read with the texts it shows; of one that is hidden the original. */
export function viewContent({ content, hidden, shown }: StoredMessage): StoredMessage['content'] {
  if (hidden || shown === undefined) return content
  const texts = new Map(shown.map(({ part, text }) => [part, text] as const))
  return withReplacements(content, (part) => texts.get(part))
}

import { type Part, partsOf, type ViewMessage } from '../messages/message.ts'

/** Returns the name of the tool whose result is in the message at a position. */
type NameOf = (callId: string, position: number) => Promise<string | undefined>

/**
 * A view in which results without a name and without a visible call have the name of their tool: they are rendered as text, and a model
 * must know what the text is. A rewind may have hidden the call before its result came. `nameOf` is only called for those.
 */
export async function withToolNames(
  view: readonly ViewMessage[],
  nameOf: NameOf,
): Promise<readonly ViewMessage[]> {
  const open = new Map<string, number>()
  const named = new Map<number, readonly Part[]>()
  for (const [index, row] of view.entries()) {
    if (typeof row.content === 'string') continue
    for (const [at, part] of row.content.entries()) {
      if (part.type === 'tool-call') open.set(part.toolCallId, (open.get(part.toolCallId) ?? 0) + 1)
      if (part.type !== 'tool-result') continue
      const calls = open.get(part.toolCallId) ?? 0
      open.set(part.toolCallId, Math.max(0, calls - 1))
      if (calls > 0 || part.toolName !== undefined || row.position === undefined) continue
      const toolName = await nameOf(part.toolCallId, row.position)
      if (toolName !== undefined)
        named.set(index, (named.get(index) ?? partsOf(row)).with(at, { ...part, toolName }))
    }
  }
  if (named.size === 0) return view
  return view.map((row, index) => ({ ...row, content: named.get(index) ?? row.content }) as ViewMessage)
}

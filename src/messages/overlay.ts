import { type Part, partsOf, withOutputText } from './message.ts'

/** The texts that a plan shows in place of parts, by row and part. */
export function textsByRow<R extends { readonly key: number }>(
  replacements: readonly { readonly row: R; readonly part: number; readonly text: string }[],
): Iterable<readonly [row: R, texts: ReadonlyMap<number, string>]> {
  const rows = new Map<number, readonly [R, Map<number, string>]>()
  for (const { row, part, text } of replacements) {
    const found = rows.get(row.key) ?? [row, new Map<number, string>()]
    rows.set(row.key, found)
    found[1].set(part, text)
  }
  return rows.values()
}

/** A content with other texts laid over some of its parts. A part no text may lie over stays. */
export function withReplacements(
  content: string | readonly Part[],
  textOf: (part: number) => string | undefined,
): string | readonly Part[] {
  if (typeof content === 'string') return textOf(0) ?? content
  return partsOf({ content }).map((part, index) => {
    const text = textOf(index)
    return text === undefined ? part : overlaid(part, text)
  })
}

/**
 * One part with another text laid over it. Reasoning and what only a provider reads can be shown as nothing, whatever
 * the text: reasoning loses its signature with it, which is of its text. The part stays, so that no index moves.
 */
export function overlaid(part: Part, text: string): Part {
  switch (part.type) {
    case 'text':
      return { ...part, text }
    case 'tool-result':
      return { ...part, output: withOutputText(part.output, text) }
    case 'reasoning':
      return { type: 'reasoning', text: '' }
    case 'provider':
      return { type: 'text', text: '' }
    case 'image':
    case 'file':
      return { type: 'text', text }
    case 'tool-call':
      return part
  }
}

/** Whether a text may be shown in place of a part: any for texts and tool results, some words for images and files, nothing at all for the two others. */
export function mayShow(part: Part, text: string): boolean {
  if (part.type === 'text' || part.type === 'tool-result') return true
  if (part.type === 'image' || part.type === 'file') return text !== ''
  return text === '' && (part.type === 'reasoning' || part.type === 'provider')
}

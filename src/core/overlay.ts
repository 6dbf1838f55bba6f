import { type Part, partsOf, withOutputText } from './message.ts'

/** A content with other texts laid over some of its text parts and tool results. A part no text may lie over stays. */
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

/** One part with another text laid over it. */
export function overlaid(part: Part, text: string): Part {
  if (part.type === 'tool-result') return { ...part, output: withOutputText(part.output, text) }
  return part.type === 'text' ? { ...part, text } : part
}

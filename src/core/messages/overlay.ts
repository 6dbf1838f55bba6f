import { tombstoneOf, withoutTombstone } from '../retention/tombstone.ts'
import { isObject, parsedJson } from './json.ts'
import { isReasoning, type Part, partsOf, withOutputText } from './message.ts'

/** Returns the texts that a plan shows in place of parts, by row and part. */
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

/** Returns a content in which texts replace some parts. */
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

/** Returns whether nothing is left of a text or of reasoning: a compaction replaced it with nothing, or retention removed it. */
export function isEmptied(part: Part, isReplaced: boolean): boolean {
  if ((part.type !== 'text' && part.type !== 'reasoning') || part.text !== '') return false
  return isReplaced || tombstoneOf(part) !== undefined
}

/**
 * Returns a part that shows a text in place of its content. Reasoning and provider parts become empty, whatever the text. Reasoning and
 * texts lose the provider's notes on the original text: signatures, item ids, citations, marks. A tool call keeps its name and id and
 * gets the text as its input if the text is the JSON of an object; otherwise it becomes a text. The part stays in place, so that indexes
 * stay valid.
 */
export function overlaid(part: Part, text: string): Part {
  switch (part.type) {
    case 'text':
      return { type: 'text', text }
    case 'tool-result':
      // What the view shows doesn't change when its original is removed.
      return withoutTombstone({ ...part, output: withOutputText(part.output, text) })
    case 'reasoning':
      return { type: 'reasoning', text: '' }
    case 'provider':
      return { type: isReasoning(part) ? 'reasoning' : 'text', text: '' }
    case 'image':
    case 'file':
      return { type: 'text', text }
    case 'tool-call': {
      const { type, toolCallId, toolName, providerExecuted } = part
      const input = parsedJson(text)
      if (!isObject(input)) return { type: 'text', text }
      return {
        type,
        toolCallId,
        toolName,
        input,
        ...(providerExecuted !== undefined && { providerExecuted }),
      }
    }
  }
}

/**
 * Returns whether a part may show this text: any text for texts and tool results; a non-empty text for images, files and tool calls; only
 * the empty text for reasoning and provider parts.
 */
export function mayShow(part: Part, text: string): boolean {
  if (part.type === 'text' || part.type === 'tool-result') return true
  if (part.type === 'image' || part.type === 'file' || part.type === 'tool-call') return text !== ''
  return text === '' && (part.type === 'reasoning' || part.type === 'provider')
}

import { isObject } from '../../messages/json.ts'
import type { ToolUse } from '../../messages/pairing.ts'

/* What a content in the form of Anthropic's API says of itself, before it is read as a message. */

/** The words of a content, its texts in paragraphs. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const texts = content.flatMap((block: unknown) =>
    isObject(block) && typeof block.text === 'string' && block.type === 'text' ? [block.text] : [],
  )
  return texts.join('\n\n')
}

/** The calls and results among the blocks of Anthropic's API in a content, by their place. */
export function useOfBlocks(content: unknown): ToolUse | undefined {
  if (!Array.isArray(content)) return undefined
  const idsOf = (type: string, field: string): { part: number; id: string }[] =>
    content.flatMap((block: unknown, part) => {
      const id = isObject(block) && block.type === type ? block[field] : undefined
      return typeof id === 'string' ? [{ part, id }] : []
    })
  const use = { calls: idsOf('tool_use', 'id'), results: idsOf('tool_result', 'tool_use_id') }
  return use.calls.length + use.results.length === 0 ? undefined : use
}

import type { Sizes } from '../../core/tokens/measure.ts'

/* Tokens by category. */

/** The categories of a request, in the order in which they are stacked, with their color in style.css (`--cat-KEY`). */
export const CATEGORIES = [
  { key: 'system', label: 'System' },
  { key: 'tools', label: 'Tool definitions' },
  { key: 'text', label: 'Text' },
  { key: 'reasoning', label: 'Reasoning' },
  { key: 'toolCalls', label: 'Tool calls' },
  { key: 'toolResults', label: 'Tool results' },
  { key: 'media', label: 'Images and files' },
  { key: 'other', label: 'Other' },
] as const
export type Category = (typeof CATEGORIES)[number]['key']
export type ByCategory = { readonly [C in Category]?: number }

export const sumOf = (parts: ByCategory): number =>
  CATEGORIES.reduce((sum, { key }) => sum + (parts[key] ?? 0), 0)

/** Divides the tokens of a view among the categories of its sizes, so that they add up to them. */
export function tokensByCategory(sizes: Sizes, tokens: number): ByCategory {
  const sum = sizes.text + sizes.reasoning + sizes.toolCalls + sizes.toolResults + sizes.media
  const part = (value: number): number => (sum === 0 ? 0 : (value / sum) * tokens)
  return {
    text: sum === 0 ? tokens : part(sizes.text),
    reasoning: part(sizes.reasoning),
    toolCalls: part(sizes.toolCalls),
    toolResults: part(sizes.toolResults),
    media: part(sizes.media),
  }
}

import type { Message, Part, ProviderPart } from './message.ts'

/*
 * The block in an answer whose provider compacted the conversation. Anthropic's documentation ("Compaction", `compact_20260112`) has `{
 * type: 'compaction', content }`, where a null content means that the compaction failed; OpenAI's documentation of the same name has `{
 * type: 'compaction', id, encrypted_content }`.
 */

/** A compaction block, readable or opaque. */
export type CompactionBlock = {
  /** The provider of the part. */
  readonly provider: string
  /** The summary; `undefined` if only the provider can read it. */
  readonly text: string | undefined
}

/** Reads a part as a provider's compaction block; `undefined` for every other part, and for a block that failed. */
export function compactionBlock(part: Part | undefined): CompactionBlock | undefined {
  if (part?.type !== 'provider') return undefined
  const { provider, data } = part
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return undefined
  const { type, content, encrypted_content } = data as { readonly [name: string]: unknown }
  if (type !== 'compaction') return undefined
  if (typeof content === 'string' && content !== '') return { provider, text: content }
  const isOpaque = content === undefined && typeof encrypted_content === 'string' && encrypted_content !== ''
  return isOpaque ? { provider, text: undefined } : undefined
}

/** Returns whether a part is a block that only its provider can read. */
export function isUnreadable(part: Part): boolean {
  const block = compactionBlock(part)
  return block !== undefined && block.text === undefined
}

/** Returns the index of the last compaction block of a content, the one in force; `undefined` if there is none. */
export function lastBlockOf(content: string | readonly Part[]): number | undefined {
  if (typeof content === 'string') return undefined
  const index = content.findLastIndex((part) => compactionBlock(part) !== undefined)
  return index === -1 ? undefined : index
}

/** Returns the block of a row that a compaction of kind `provider` inserted; `undefined` for all other rows. */
export function blockOfSummary(row: {
  readonly kind: string
  readonly content: string | readonly Part[]
}): (CompactionBlock & { readonly part: ProviderPart }) | undefined {
  if (row.kind !== 'summary' || typeof row.content === 'string') return undefined
  const [part] = row.content
  const block = compactionBlock(part)
  return block && { ...block, part: part as ProviderPart }
}

/** The text that replaces an unreadable block. */
export const UNREADABLE_SUMMARY =
  '[Earlier messages were compacted in a form that only their provider can read]'

/** Returns a message whose blocks are replaced with their texts. */
export function withReadableBlocks<T extends Message>(message: T): T {
  const { content } = message
  if (typeof content === 'string' || lastBlockOf(content) === undefined) return message
  const readable = content.map((part): Part => {
    const block = compactionBlock(part)
    return block === undefined ? part : { type: 'text', text: block.text ?? UNREADABLE_SUMMARY }
  })
  return { ...message, content: readable }
}

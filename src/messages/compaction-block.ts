import type { Message, Part, ProviderPart } from './message.ts'

/*
 * The block a provider leaves in an answer when it compacted the conversation itself. Sources: Anthropic's page
 * "Compaction" (`compact_20260112`): `{ type: 'compaction', content }`, where a content of null says that it failed and
 * the block stands for nothing; OpenAI's page of the same name: `{ type: 'compaction', id, encrypted_content }`.
 */

/** What a block stands for, to be read by everybody, or by its provider only. */
export type CompactionBlock = {
  /** The name that is kept with the part. */
  readonly provider: string
  /** The summary; `undefined` when only the provider can read it. */
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

/** Whether a part is a block that only its provider can read: to everybody else it says nothing. */
export function isUnreadable(part: Part): boolean {
  const block = compactionBlock(part)
  return block !== undefined && block.text === undefined
}

/** Which part of a content is its last compaction block: the one that counts. `undefined` when there is none. */
export function lastBlockOf(content: string | readonly Part[]): number | undefined {
  if (typeof content === 'string') return undefined
  for (let part = content.length - 1; part >= 0; part--)
    if (compactionBlock(content[part]) !== undefined) return part
  return undefined
}

/** The block of a row that a compaction of kind `provider` inserted; `undefined` for all other rows. */
export function blockOfSummary(row: {
  readonly kind: string
  readonly content: string | readonly Part[]
}): (CompactionBlock & { readonly part: ProviderPart }) | undefined {
  if (row.kind !== 'summary' || typeof row.content === 'string') return undefined
  const [part] = row.content
  const block = compactionBlock(part)
  return block && { ...block, part: part as ProviderPart }
}

/** What stands for a block that cannot be read. */
export const UNREADABLE_SUMMARY =
  '[Earlier messages were compacted in a form that only their provider can read]'

/** A message with its blocks as text, for whoever is to read it. */
export function withReadableBlocks<T extends Message>(message: T): T {
  const { content } = message
  if (typeof content === 'string' || lastBlockOf(content) === undefined) return message
  const readable = content.map((part): Part => {
    const block = compactionBlock(part)
    return block === undefined ? part : { type: 'text', text: block.text ?? UNREADABLE_SUMMARY }
  })
  return { ...message, content: readable }
}

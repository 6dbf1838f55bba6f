import {
  blockOfSummary,
  type CompactionBlock,
  compactionBlock,
  lastBlockOf,
  UNREADABLE_SUMMARY,
} from '../messages/compaction-block.ts'
import type { Part, ViewMessage } from '../messages/message.ts'
import { canonicalProvider } from '../tokens/providers.ts'
import { type Draft, type Note, redraft } from './draft.ts'

/*
 * Blocks of providers that compacted a conversation themselves. One that a compaction recorded stands in a row of its own.
 * One that still stands in its message counts only where nothing it could stand for stands before it; anywhere else
 * what it stands for is sent, and the block would make its provider ignore that.
 */

/** What of a message is shown, and the summary row that goes before it. */
type SettledRow = { readonly summary?: ViewMessage; readonly row?: ViewMessage }

/**
 * A message whose blocks are settled, for a provider of this one name. `isFirst`: nothing but system messages stands
 * before it. A row without blocks is answered as it is.
 */
export function settleBlocks(row: ViewMessage, isFirst: boolean, provider: string, note: Note): SettledRow {
  const last = row.kind === 'message' && row.role === 'assistant' ? lastBlockOf(row.content) : undefined
  if (last === undefined) return { row }
  const parts = row.content as readonly Part[]
  const block = compactionBlock(parts[last])!
  if (isFirst && block.provider === provider) return { row }
  note({ kind: isFirst ? 'block-as-summary' : 'block-dropped', messageId: row.id })
  const rest = parts.filter((part) => compactionBlock(part) === undefined)
  return {
    ...(isFirst && { summary: { ...row, kind: 'summary' as const, content: [parts[last]!] } }),
    ...(rest.length > 0 && { row: { ...row, content: rest } }),
  }
}

/**
 * Whether a view is sent with a block of this provider in it: one that a compaction recorded, or one in the first message. A
 * block in a message that is appended later is neither, so appending changes nothing here.
 */
export function beginsWithBlock(view: readonly ViewMessage[], provider: string): boolean {
  const name = canonicalProvider(provider)
  if (view.some((row) => blockOfSummary(row)?.provider === name)) return true
  const first = view.find(({ kind, role }) => kind !== 'message' || role !== 'system')
  if (first?.kind !== 'message' || typeof first.content === 'string') return false
  const last = lastBlockOf(first.content)
  return last !== undefined && compactionBlock(first.content[last])?.provider === name
}

/** How a summary row that holds a block is shown to a provider: as the block itself, or as a text. */
export function presentBlock(
  row: ViewMessage,
  provider: string,
  note: Note,
): { readonly native: Part } | { readonly text: string } | undefined {
  const block = blockOfSummary(row)
  if (block === undefined) return undefined
  if (block.provider === provider) return { native: block.part }
  return { text: readable(row.id, block, note) }
}

function readable(messageId: string, { text }: CompactionBlock, note: Note): string {
  if (text === undefined) note({ kind: 'block-unreadable', messageId })
  return text ?? UNREADABLE_SUMMARY
}

/**
 * Puts a native block before everything but the system messages at the head (`head` of them): its provider ignores what
 * stands before it, and what is still there (a pinned message) is meant to be seen. Of several blocks the last counts.
 */
export function blockFirst(
  drafts: readonly Draft[],
  natives: readonly Draft[],
  head: number,
  note: Note,
): readonly Draft[] {
  const block = natives.at(-1)
  if (block === undefined) return drafts
  const at = drafts.indexOf(block)
  if (at === head) return drafts
  const moved: Draft[] = []
  for (const draft of drafts.slice(head, at)) {
    const rest = draft.parts.filter((part) => compactionBlock(part) === undefined)
    if (rest.length < draft.parts.length) note({ kind: 'block-dropped', messageId: draft.id })
    if (rest.length === 0 && draft.parts.length > 0) continue
    note({ kind: 'moved-behind-block', messageId: draft.id })
    moved.push(rest.length === draft.parts.length ? draft : redraft(draft, draft.message.role, rest))
  }
  return [...drafts.slice(0, head), block, ...moved, ...drafts.slice(at + 1)]
}

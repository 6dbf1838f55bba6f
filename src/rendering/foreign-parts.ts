import { blockOfSummary, compactionBlock } from '../messages/compaction-block.ts'
import type { Part, ProviderPart, ToolResultPart, ViewMessage } from '../messages/message.ts'
import { readsPartsOf, UNREAD } from '../tokens/providers.ts'
import type { Note } from './draft.ts'

/*
 * Parts that only their provider understands go to that provider only. Whatever writes a request leaves those of others
 * out, so they are taken out before anything is arranged: a message must not turn out empty when all is settled.
 */

/** For whom parts are kept: a provider, and further names whose parts are read. */
type PartReader = { readonly provider: string; readonly alsoReads?: readonly string[] }

/**
 * A view without the parts that only other providers read; messages that held nothing else are left out. Compaction
 * blocks of the assistant's stay, since they become summaries (blocks.ts). Rows without such parts are answered as they
 * are.
 */
export function withoutForeignParts(
  view: readonly ViewMessage[],
  reader: PartReader,
  note: Note,
): readonly ViewMessage[] {
  return view.flatMap((row) => {
    const { content } = row
    if (typeof content === 'string' || blockOfSummary(row) !== undefined) return [row]
    const parts = readableParts(row, content, reader, note)
    if (parts === content) return [row]
    if (parts.length > 0 || row.kind !== 'message') return [{ ...row, content: parts }]
    note({ kind: 'empty-message-dropped', messageId: row.id })
    return []
  })
}

function readableParts(
  { id: messageId, kind, role }: ViewMessage,
  content: readonly Part[],
  reader: PartReader,
  note: Note,
): readonly Part[] {
  const mayHoldBlocks = kind === 'message' && role === 'assistant'
  let changed = false
  const parts = content.flatMap((part): readonly Part[] => {
    if (part.type === 'tool-result') {
      const result = readableResult(part, reader, messageId, note)
      changed ||= result !== part
      return [result]
    }
    if (!isForeign(part, reader) || (mayHoldBlocks && compactionBlock(part) !== undefined)) return [part]
    note({ kind: 'foreign-part-dropped', messageId })
    changed = true
    return []
  })
  return changed ? parts : content
}

function readableResult(
  result: ToolResultPart,
  reader: PartReader,
  messageId: string,
  note: Note,
): ToolResultPart {
  const { output, toolCallId } = result
  if (output.type !== 'content' || !output.value.some((item) => isForeign(item, reader))) return result
  const value = output.value.filter((item) => {
    if (!isForeign(item, reader)) return true
    note({ kind: 'foreign-part-dropped', messageId, toolCallId })
    return false
  })
  return { ...result, output: { ...output, value } }
}

function isForeign(part: Part, { provider, alsoReads = [] }: PartReader): part is ProviderPart {
  if (part.type !== 'provider' || readsPartsOf(provider, part.provider)) return false
  return part.provider === UNREAD || !alsoReads.includes(part.provider)
}

/*
 * What of an entry of Claude Code's says where it stands in its conversation. Format: the files themselves, and what the Claude Agent SDK
 * (`getSessionMessages`) makes of them.
 */
import { isSpoken } from '../../ecosystems/claude-agent-sdk/entry.ts'
import { isObject, type JsonObject } from '../../messages/json.ts'
import { textIn } from './entry-fields.ts'
import { useOfBlocks } from './transcript.ts'

export type Facts = {
  readonly uuid: string
  /** The entry it follows; `null` for one that says it follows none. */
  readonly parent: string | null | undefined
  /** Of another conversation, a subagent's: no part of this one. */
  readonly isBeside: boolean
  readonly isSpoken: boolean
  readonly compaction: 'boundary' | 'summary' | undefined
  readonly logicalParent: string | undefined
  /** What a compaction kept, in order, and what it stands behind. */
  readonly preserved: Preserved | undefined
  /** Lines of one answer share it. */
  readonly messageId: string | undefined
  readonly calls: readonly string[]
  readonly results: readonly string[]
}

export type Preserved = {
  readonly anchor: string
  readonly uuids: readonly string[]
  /** Whether `uuids` are only the first and the last, and what lies between is found by parents. */
  readonly isSegment: boolean
}

/** The facts of an entry; `undefined` for one without a uuid, which stands nowhere. */
export function factsOf(entry: JsonObject, isMain: boolean): Facts | undefined {
  const { uuid, parentUuid, logicalParentUuid, type, subtype, message, isSidechain } = entry
  if (typeof uuid !== 'string' || uuid === '') return undefined
  const { id, content } = isObject(message) ? message : { id: undefined, content: undefined }
  const isBoundary = type === 'system' && subtype === 'compact_boundary'
  const isSummary = type === 'user' && entry.isCompactSummary === true
  const use = useOfBlocks(content)
  return {
    uuid,
    parent: parentUuid === null ? null : textIn(parentUuid),
    isBeside: isMain && isSidechain === true,
    isSpoken: !isSummary && isSpoken(entry, isMain),
    compaction: isBoundary ? 'boundary' : isSummary ? 'summary' : undefined,
    logicalParent: textIn(logicalParentUuid),
    preserved: isBoundary ? preservedOf(entry.compactMetadata) : undefined,
    messageId: type === 'assistant' ? textIn(id) : undefined,
    calls: use?.calls.map((call) => call.id) ?? [],
    results: use?.results.map((result) => result.id) ?? [],
  }
}

function preservedOf(metadata: unknown): Preserved | undefined {
  if (!isObject(metadata)) return undefined
  const { preservedMessages: messages, preservedSegment: segment } = metadata
  if (isObject(messages) && typeof messages.anchorUuid === 'string' && Array.isArray(messages.uuids)) {
    const uuids = messages.uuids.filter((uuid) => typeof uuid === 'string')
    return uuids.length === 0 ? undefined : { anchor: messages.anchorUuid, uuids, isSegment: false }
  }
  if (!isObject(segment)) return undefined
  const { anchorUuid, headUuid, tailUuid } = segment
  if (typeof anchorUuid !== 'string' || typeof headUuid !== 'string' || typeof tailUuid !== 'string')
    return undefined
  return { anchor: anchorUuid, uuids: [headUuid, tailUuid], isSegment: true }
}

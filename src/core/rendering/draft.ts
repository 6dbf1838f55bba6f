import { blockOfSummary, compactionBlock } from '../messages/compaction-block.ts'
import {
  isUnsent,
  type Message,
  type Part,
  type ProviderPart,
  partsOf,
  type Role,
  type ToolResultPart,
  type ViewMessage,
} from '../messages/message.ts'
import { readsPartsOf } from '../tokens/providers.ts'

/**
 * Where a summary is shown. `inline`: at its position in the view. `after-system`: after the leading system messages. `first`: before
 * them, or after them if the role of the summary would separate them from the start. `in-system`: within the text of the last leading
 * system message, whatever role is requested.
 */
export const SUMMARY_PLACES = ['inline', 'after-system', 'first', 'in-system'] as const
/** Where a rendered history places summaries. */
export type SummaryPlace = (typeof SUMMARY_PLACES)[number]

/** A view split into leading system messages, summaries that move to the head, and the rest. */
type PartedView = {
  /** The system messages at the beginning of the view. */
  readonly leading: readonly ViewMessage[]
  /** The summaries to move, oldest first. */
  readonly summaries: readonly ViewMessage[]
  readonly rest: readonly ViewMessage[]
}

/**
 * Splits a view; returns `undefined` if it has no summary to move. A summary that contains more than text stays in place: media and
 * provider parts don't belong at the head.
 *
 * The leading messages end at the first row that is not a system message, so messages appended later change nothing here.
 */
export function partSummaries(view: readonly ViewMessage[]): PartedView | undefined {
  const summaries = view.filter(isMovable)
  if (summaries.length === 0) return undefined
  const end = view.findIndex(({ kind, role }) => kind !== 'message' || role !== 'system')
  return {
    leading: view.slice(0, end),
    summaries,
    rest: view.slice(end).filter((row) => !isMovable(row)),
  }
}

function isMovable(row: ViewMessage): boolean {
  if (row.kind !== 'summary') return false
  const parts = partsOf(row)
  return (
    parts.every(({ type }) => type === 'text') &&
    parts.some((part) => part.type === 'text' && part.text.trim() !== '')
  )
}

/**
 * The kinds of changes that a rendering makes:
 *
 * - `result-added`: a call had no result; a result that states this was added after it.
 * - `result-moved`: a result was moved directly after its call, in the order of the calls.
 * - `result-as-text`: a result whose call is not in the view became plain text.
 * - `duplicate-dropped`: a second result of the same call was dropped.
 * - `call-renamed`: a call and its result got an id that the provider accepts.
 * - `calls-divided`: a message has more calls than the provider accepts in one; it became several, each with the results of its calls.
 * - `call-as-text`: a call outside an assistant message became plain text.
 * - `reasoning-dropped`: reasoning was dropped because no message follows it or it was outside an assistant message; signed reasoning
 *   also because it was at the end of a message, had a broken signature, or came from another response in a merged message.
 * - `reasoning-invalid`: a block of reasoning was left out, because its model accepts it only after exactly the content it was made
 *   after, and earlier content has changed since. One change per block.
 * - `reasoning-moved`: signed reasoning that followed a text in a message with a call was moved to the beginning of the message.
 * - `empty-message-dropped`, `empty-text-dropped`: an empty message or text was dropped.
 * - `foreign-part-dropped`: a part that only another provider can read was dropped.
 * - `media-as-text`: an image or file became a text, because the provider doesn't read its type, cannot load it from its address, or
 *   accepts no media from the assistant; or because it has more pixels or bytes than the provider accepts.
 * - `image-resized`: an image that is larger than the provider accepts was replaced with the smaller one that `resizeImage` returned.
 * - `media-type-changed`: the stated media type of an image was corrected to that of its bytes.
 * - `failure-unmarked`: the result of a failed tool contains more than text, which the provider refuses; it is sent whole, and a text
 *   that states the failure replaces the mark.
 * - `characters-replaced`: a lone surrogate (half an emoji) became U+FFFD.
 * - `input-as-object`: the input of a call became an object: an empty object, the object in its text, or `{ arguments }` with the text;
 *   or the object assembled from the pieces that Gemini streamed.
 * - `input-shortened`: the long texts of an input were cut, because it is longer than the provider accepts.
 * - `tool-renamed`: the name of a tool in a call or a result became one that the provider accepts.
 * - `mark-dropped`: a cache mark of an earlier request was dropped.
 * - `repetition-dropped`: an item id or a signature that repeats an earlier message's was dropped, together with its part if that cannot
 *   be sent without it.
 * - `hosted-use-dropped`: a call of a provider-run tool was dropped because its result is missing, or a result because its call is
 *   missing.
 * - `space-trimmed`: white space at the end of the last message was dropped, because it is the assistant's.
 * - `merged`: a message was merged into the one before it, or reasoning into the message after it.
 * - `role-changed`: a system message, or text in a tool message, became a user message.
 * - `block-dropped`: a compaction block of a provider was dropped, because the messages that it replaces are shown or a later block is in
 *   force.
 * - `block-as-summary`: a compaction block of another provider became a summary before the message.
 * - `block-unreadable`: a text replaces a compaction block that only another provider can read.
 * - `moved-behind-block`: a message was moved after a compaction block, because the provider ignores everything before it.
 * - `user-added`, `assistant-added`: a short message was added where the provider requires one.
 */
export type MendKind =
  | 'result-added'
  | 'result-moved'
  | 'result-as-text'
  | 'duplicate-dropped'
  | 'call-renamed'
  | 'calls-divided'
  | 'call-as-text'
  | 'reasoning-dropped'
  | 'reasoning-invalid'
  | 'reasoning-moved'
  | 'empty-message-dropped'
  | 'empty-text-dropped'
  | 'foreign-part-dropped'
  | 'media-as-text'
  | 'image-resized'
  | 'media-type-changed'
  | 'failure-unmarked'
  | 'characters-replaced'
  | 'input-as-object'
  | 'input-shortened'
  | 'tool-renamed'
  | 'mark-dropped'
  | 'repetition-dropped'
  | 'hosted-use-dropped'
  | 'space-trimmed'
  | 'merged'
  | 'role-changed'
  | 'block-dropped'
  | 'block-as-summary'
  | 'block-unreadable'
  | 'moved-behind-block'
  | 'user-added'
  | 'assistant-added'

/** One change of a rendering. Contains ids only, never text of the conversation. */
export type Mend = {
  readonly kind: MendKind
  /** The id of the changed message of the view; for an added message, of the one next to it. */
  readonly messageId: string
  /** The id of the call, as it is stored. */
  readonly toolCallId?: string
}

/** Receives each change. */
export type Note = (mend: Mend) => void

/** A message being rendered, with the id of its message in the view. */
export type Draft = {
  readonly id: string
  readonly message: Message
  readonly parts: readonly Part[]
  /** The messages of the view that the draft shows, in order; absent for added messages, summaries and markers. */
  readonly rows?: readonly ViewMessage[]
}

export function draftOf(id: string, message: Message, rows?: readonly ViewMessage[]): Draft {
  return { id, message, parts: partsOf(message), ...(rows !== undefined && { rows }) }
}

/** Returns the rows of drafts; `undefined` if one of them shows something else. */
export function rowsOf(drafts: readonly Draft[]): readonly ViewMessage[] | undefined {
  const rows = drafts.flatMap((draft) => draft.rows ?? [])
  return drafts.every((draft) => draft.rows !== undefined) ? rows : undefined
}

/** Returns the draft with another role or other parts; the same draft, with its metadata, if nothing differs. */
export function redraft(draft: Draft, role: Role, parts: readonly Part[]): Draft {
  const same = role === draft.message.role && sameParts(parts, draft.parts)
  return same ? draft : draftOf(draft.id, { role, content: parts }, draft.rows)
}

function sameParts(parts: readonly Part[], before: readonly Part[]): boolean {
  return parts.length === before.length && parts.every((part, index) => part === before[index])
}

/*
 * Parts that only one provider understands are sent to that provider only. They are removed before messages are
 * arranged, so that no message becomes empty later.
 */

/** The provider whose parts are kept, and further names whose parts are read. */
type PartReader = { readonly provider: string; readonly alsoReads?: readonly string[] }

/**
 * Returns a view without the parts that only other providers can read; messages left empty are dropped. Compaction blocks of the
 * assistant stay, because they become summaries (`settleBlocks`). Rows without such parts are returned unchanged.
 */
export function withoutForeignParts(
  view: readonly ViewMessage[],
  reader: PartReader,
  note: Note,
): readonly ViewMessage[] {
  if (!view.some(holdsProviderPart)) return view
  return view.flatMap((row) => {
    const { content } = row
    if (typeof content === 'string' || !holdsProviderPart(row) || blockOfSummary(row) !== undefined)
      return [row]
    const parts = readableParts(row, content, reader, note)
    if (parts === content) return [row]
    if (parts.length > 0 || row.kind !== 'message') return [{ ...row, content: parts }]
    note({ kind: 'empty-message-dropped', messageId: row.id })
    return []
  })
}

function holdsProviderPart({ content }: Message): boolean {
  if (typeof content === 'string') return false
  return content.some(
    (part) =>
      part.type === 'provider' ||
      (part.type === 'tool-result' &&
        part.output.type === 'content' &&
        part.output.value.some(({ type }) => type === 'provider')),
  )
}

function readableParts(
  { id: messageId, kind, role }: ViewMessage,
  content: readonly Part[],
  reader: PartReader,
  note: Note,
): readonly Part[] {
  const mayHoldBlocks = kind === 'message' && role === 'assistant'
  const parts = content.flatMap((part): readonly Part[] => {
    if (part.type === 'tool-result') return [readableResult(part, reader, messageId, note)]
    if (!isForeign(part, reader) || (mayHoldBlocks && compactionBlock(part) !== undefined)) return [part]
    note({ kind: 'foreign-part-dropped', messageId })
    return []
  })
  return sameParts(parts, content) ? content : parts
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
  return isUnsent(part.provider) || !alsoReads.includes(part.provider)
}

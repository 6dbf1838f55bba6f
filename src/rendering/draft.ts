import { blockOfSummary, compactionBlock } from '../messages/compaction-block.ts'
import {
  type Message,
  type Part,
  type ProviderPart,
  partsOf,
  type Role,
  type ToolResultPart,
  type ViewMessage,
} from '../messages/message.ts'
import { readsPartsOf, UNREAD } from '../tokens/providers.ts'

/**
 * Where a summary is shown. `inline`: where it stands in the view. `after-system`: behind the system messages at the
 * head. `first`: before those; behind them in a role that would part them from the head. `in-system`: within the text
 * of the last of them, as the system's whatever role is asked for. Source: checklist C-08.
 */
export const SUMMARY_PLACES = ['inline', 'after-system', 'first', 'in-system'] as const
export type SummaryPlace = (typeof SUMMARY_PLACES)[number]

/** A view without the summaries that are to stand at its head. */
type PartedView = {
  /** The system messages the view begins with. */
  readonly leading: readonly ViewMessage[]
  /** Oldest first. */
  readonly summaries: readonly ViewMessage[]
  readonly rest: readonly ViewMessage[]
}

/**
 * Takes the summaries out of a view; `undefined` when it has none to be moved. One that shows more than text stays
 * where it is: a picture or what only a provider reads does not belong to the head.
 *
 * What counts as leading ends at the first row that is something else, so messages appended later change nothing here.
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
 * What a rendering changed:
 *
 * - `result-added`: a call had no result; one that says so was put behind it.
 * - `result-moved`: a result was put directly behind its call, in the order of the calls.
 * - `result-as-text`: a result whose call is not in the view became plain text.
 * - `duplicate-dropped`: a second result of an answered call was left out.
 * - `call-renamed`: a call and its result got an id the provider accepts.
 * - `call-as-text`: a call outside an assistant message became plain text.
 * - `reasoning-dropped`: reasoning with nothing behind it, or of somebody else than an assistant, was left out.
 * - `empty-message-dropped`, `empty-text-dropped`: left out since it says nothing.
 * - `foreign-part-dropped`: a part that only another provider reads was left out.
 * - `media-as-text`: an image or file of the assistant's became a word, where the provider takes none from it.
 * - `merged`: a message was joined to the one before it, or reasoning to the message it leads to.
 * - `role-changed`: a system message, or words in a tool message, became the user's.
 * - `block-dropped`: a provider's compaction block was left out, since what it stands for is shown, or a later one counts.
 * - `block-as-summary`: another provider's block in a message became a summary before it.
 * - `block-unreadable`: in place of a block that only another provider can read stands a text that says so.
 * - `moved-behind-block`: a message was put behind the block of a provider that ignores what stands before it.
 * - `user-added`, `assistant-added`: a short message was put in where the provider wants somebody to speak.
 */
export type MendKind =
  | 'result-added'
  | 'result-moved'
  | 'result-as-text'
  | 'duplicate-dropped'
  | 'call-renamed'
  | 'call-as-text'
  | 'reasoning-dropped'
  | 'empty-message-dropped'
  | 'empty-text-dropped'
  | 'foreign-part-dropped'
  | 'media-as-text'
  | 'merged'
  | 'role-changed'
  | 'block-dropped'
  | 'block-as-summary'
  | 'block-unreadable'
  | 'moved-behind-block'
  | 'user-added'
  | 'assistant-added'

/** One change of a rendering: ids only, never text of the conversation. */
export type Mend = {
  readonly kind: MendKind
  /** The message of the view it was made for; of an added one, the message it stands beside. */
  readonly messageId: string
  /** The id of the call as it is stored. */
  readonly toolCallId?: string
}

/** Takes note of a change. */
export type Note = (mend: Mend) => void

/** A message on its way to a provider, with the id of the message of the view it came from. */
export type Draft = { readonly id: string; readonly message: Message; readonly parts: readonly Part[] }

export function draftOf(id: string, message: Message): Draft {
  return { id, message, parts: partsOf(message) }
}

/** The draft with another role or other parts; itself, with its metadata, when nothing is different. */
export function redraft(draft: Draft, role: Role, parts: readonly Part[]): Draft {
  const same =
    role === draft.message.role &&
    parts.length === draft.parts.length &&
    parts.every((part, index) => part === draft.parts[index])
  return same ? draft : draftOf(draft.id, { role, content: parts })
}

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

import {
  blockOfSummary,
  compactionBlock,
  lastBlockOf,
  UNREADABLE_SUMMARY,
} from '../messages/compaction-block.ts'
import { isObject, type JsonObject } from '../messages/json.ts'
import { type Message, type Part, partsOf, textsOf, type ViewMessage } from '../messages/message.ts'
import { isEmptied } from '../messages/overlay.ts'
import { canonicalProvider, type ProviderProfile } from '../tokens/providers.ts'
import { type Draft, draftOf, type Note, partSummaries, redraft } from './draft.ts'
import {
  framed,
  type InsertedRole,
  type InsertedRowOptions,
  SUMMARY_SEPARATOR,
  summaryStyleOf,
} from './summary-heading.ts'

/**
 * Gives every row of a view its displayed role, place and text: the options determine those of summaries and markers, and system messages
 * after the head become user messages where the provider requires it.
 */
export function presentRows(
  view: readonly ViewMessage[],
  profile: ProviderProfile,
  options: RowOptions,
  note: Note,
): readonly Draft[] {
  const { place, role } = summaryStyleOf(options)
  // The provider ignores everything before its own block, so nothing is moved there.
  const isInline = place === 'inline' || beginsWithBlock(view, blockReader(options))
  const parted = isInline ? undefined : partSummaries(view)
  if (parted === undefined)
    return presentInPlace(view, { atHead: true, isFirst: true }, profile, options, note)

  const { leading, summaries, rest } = parted
  const system = leading.map((row) => draftOf(row.id, plainMessage(row), [row]))
  const present = (row: ViewMessage): Draft => draftOf(row.id, presentSummary(row, role, options))
  // A system message after a user message would be sent as a user message, so system messages come first.
  const isFirst = place === 'first' && (role === 'system' || profile.systemInside)
  const head =
    place === 'in-system'
      ? withinSystem(system, summaries, options)
      : isFirst
        ? [...summaries.map(present), ...system]
        : [...system, ...summaries.map(present)]
  const atHead = place === 'in-system' || role === 'system'
  return [...head, ...presentInPlace(rest, { atHead, isFirst: false }, profile, options, note)]
}

type RowOptions = InsertedRowOptions & { readonly provider: string; readonly alsoReads?: readonly string[] }

/**
 * Returns the provider whose compaction blocks are sent unchanged. LangChain's messages have no place for a block, so a summary replaces
 * it.
 */
function blockReader({ provider, alsoReads = [] }: RowOptions): string {
  return alsoReads.includes('langchain') ? '' : canonicalProvider(provider)
}

/** `atHead`: only system messages precede the row. `isFirst`: nothing that a compaction block could replace has been shown yet. */
function presentInPlace(
  rows: readonly ViewMessage[],
  start: { readonly atHead: boolean; readonly isFirst: boolean },
  profile: ProviderProfile,
  options: RowOptions,
  note: Note,
): readonly Draft[] {
  const provider = blockReader(options)
  const drafts: Draft[] = []
  let { atHead, isFirst } = start
  /** The number of system messages at the head. */
  let head = 0
  let native: Draft | undefined

  const presentInserted = (row: ViewMessage): void => {
    atHead = false
    const block = blockOfSummary(row)
    if (block?.provider === provider) {
      native = draftOf(row.id, { role: 'assistant', content: [block.part] })
      drafts.push(native)
    } else if (row.kind === 'summary') {
      if (block !== undefined && block.text === undefined)
        note({ kind: 'block-unreadable', messageId: row.id })
      const shown = block === undefined ? row : { ...row, content: block.text ?? UNREADABLE_SUMMARY }
      const role = allowedRole(summaryStyleOf(options).role, profile)
      drafts.push(draftOf(row.id, presentSummary(shown, role, options)))
    } else drafts.push(draftOf(row.id, presentMarker(row, profile, options)))
  }

  for (const stored of rows) {
    const shown = withoutEmptied(stored)
    if (shown === undefined) continue
    const { summary, row } = settleBlocks(shown, isFirst, provider, note)
    if (summary !== undefined) presentInserted(summary)
    if (shown.kind !== 'message' || shown.role !== 'system') isFirst = false
    if (row === undefined) continue
    if (row.kind !== 'message') {
      presentInserted(row)
      continue
    }
    const source = [row === shown ? stored : row]
    atHead &&= row.role === 'system'
    if (atHead) head += 1
    if (row.role !== 'system' || atHead || profile.systemInside) {
      drafts.push(draftOf(row.id, plainMessage(row), source))
      continue
    }
    note({ kind: 'role-changed', messageId: row.id })
    drafts.push(draftOf(row.id, { role: 'user', content: row.content }, source))
  }
  return native === undefined ? drafts : blockFirst(drafts, native, head, note)
}

const NOT_REPLACED: ReadonlySet<number> = new Set()

/**
 * Returns a row without the texts and reasoning of which nothing is left; this is not a mend. Results stay, because they answer a call.
 * Returns `undefined` if nothing is left.
 */
function withoutEmptied(row: ViewMessage): ViewMessage | undefined {
  const { replacedParts, content } = row
  if (typeof content === 'string') return row
  const replaced = replacedParts === undefined ? NOT_REPLACED : new Set(replacedParts)
  if (!content.some((part, index) => isEmptied(part, replaced.has(index)))) return row
  const left = content.filter((part, index) => !isEmptied(part, replaced.has(index)))
  return left.length === 0 ? undefined : { ...row, content: left }
}

function plainMessage({ role, content, metadata }: Message): Message {
  const sendable = metadata === undefined ? undefined : sendableMetadata(metadata)
  return sendable === undefined ? { role, content } : { role, content, metadata: sendable }
}

/** The message fields that OpenAI accepts in a request. */
const OPENAI_FIELDS = new Set(['role', 'content', 'name', 'refusal', 'audio', 'tool_calls', 'function_call'])

/**
 * Returns the metadata of a message without a provider's response fields (usage, model, times …). They are stored there when a message is
 * read, and the converters write them back, but a request with them is refused. The application's metadata is never sent and stays
 * unchanged.
 */
function sendableMetadata(metadata: JsonObject): JsonObject | undefined {
  if (!Object.hasOwn(metadata, 'anthropic') && !Object.hasOwn(metadata, 'openai')) return metadata
  const { anthropic: _, openai, ...rest } = metadata
  const fields = isObject(openai) ? Object.entries(openai) : []
  const kept = fields.filter(([name]) => OPENAI_FIELDS.has(name))
  const sendable = kept.length === 0 ? rest : { ...rest, openai: Object.fromEntries(kept) }
  return Object.keys(sendable).length === 0 ? undefined : sendable
}

function presentSummary(row: ViewMessage, role: InsertedRole, options: InsertedRowOptions): Message {
  const text = textsOf(row).join('\n\n')
  if (text.trim() === '') return { role, content: text }
  return withMedia(role, framed(text, options), row)
}

/** Returns the system messages, with the summaries appended to the last one. */
function withinSystem(
  system: readonly Draft[],
  summaries: readonly ViewMessage[],
  options: InsertedRowOptions,
): Draft[] {
  const block = framed(summaries.map((row) => textsOf(row).join('\n\n')).join(SUMMARY_SEPARATOR), options)
  const last = system.at(-1)
  if (last === undefined || !last.parts.every(({ type }) => type === 'text'))
    return [...system, draftOf(summaries[0]!.id, { role: 'system', content: block })]
  const { content } = last.message
  const joined =
    typeof content === 'string'
      ? content.trim() === ''
        ? block
        : `${content}\n\n${block}`
      : [...last.parts, { type: 'text' as const, text: block }]
  return [...system.slice(0, -1), draftOf(last.id, { role: 'system', content: joined })]
}

function presentMarker(row: ViewMessage, profile: ProviderProfile, options: InsertedRowOptions): Message {
  const role = allowedRole(options.markerRole ?? 'system', profile)
  if (options.markerText !== undefined) return { role, content: options.markerText }
  return withMedia(role, textsOf(row).join('\n\n'), row)
}

function allowedRole(wanted: InsertedRole, profile: ProviderProfile): InsertedRole {
  return wanted === 'system' && !profile.systemInside ? 'user' : wanted
}

/** Returns the text, followed by the media and provider parts of the row. Inserted rows contain no tool use or reasoning. */
function withMedia(role: InsertedRole, text: string, row: ViewMessage): Message {
  const media = partsOf(row).filter(
    (part) => part.type === 'image' || part.type === 'file' || part.type === 'provider',
  )
  const parts: Part[] = [{ type: 'text', text }, ...media]
  return { role, content: media.length === 0 ? text : parts }
}

/*
 * Compaction blocks of providers that compacted a conversation themselves. A recorded block has its own row. A block that is still in its
 * message is only used if nothing that it could replace precedes it: otherwise the replaced messages are sent too, and the block would
 * make its provider ignore them.
 */

/** The part of a message that is shown, preceded by its summary row. */
type SettledRow = { readonly summary?: ViewMessage; readonly row?: ViewMessage }

/**
 * Returns a message whose compaction blocks are kept, dropped or turned into a summary, for the provider with this canonical name.
 * `isFirst`: only system messages precede it. A row without blocks is returned unchanged.
 */
function settleBlocks(row: ViewMessage, isFirst: boolean, provider: string, note: Note): SettledRow {
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
 * Returns whether a view is sent with a compaction block of this provider: a recorded block, or a block in the first message. A block in
 * a message that is appended later is neither, so appending changes nothing here.
 */
function beginsWithBlock(view: readonly ViewMessage[], name: string): boolean {
  if (view.some((row) => blockOfSummary(row)?.provider === name)) return true
  const first = view.find(({ kind, role }) => kind !== 'message' || role !== 'system')
  if (first?.kind !== 'message' || typeof first.content === 'string') return false
  const last = lastBlockOf(first.content)
  return last !== undefined && compactionBlock(first.content[last])?.provider === name
}

/**
 * Moves the native block before everything except the `head` leading system messages: its provider ignores everything before it, and the
 * messages that are still shown (such as pinned ones) should be read. If there are several blocks, the last is given.
 */
function blockFirst(drafts: readonly Draft[], block: Draft, head: number, note: Note): readonly Draft[] {
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

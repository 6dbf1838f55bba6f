import type { JsonObject } from '../json.ts'
import { type Message, type Part, partsOf, type ViewMessage } from '../message.ts'
import { canonicalProvider, type ProviderProfile } from '../providers.ts'
import { blockFirst, presentBlock, settleBlocks } from './blocks.ts'
import { type Draft, draftOf, type Note } from './draft.ts'

/** Whose words a summary or a marker can be shown as. */
export type InsertedRole = 'system' | 'user' | 'assistant'

/** Manners of showing a summary, named after the systems they come from; `tags` puts it between two tags. */
export type SummaryPreset = 'neurolink' | 'neuron' | 'nca' | 'promptfleet' | 'tags'

export type InsertedRowOptions = {
  /** Default: the preset's role, else `system`; `user` where the provider takes no system message inside. */
  readonly summaryRole?: InsertedRole
  /** Stands above the summary, with a blank line between. Default: the preset's; empty: none. */
  readonly summaryHeader?: string
  /** Default: `system`; `user` where the provider takes no system message inside. */
  readonly markerRole?: InsertedRole
  /** Default: the marker's own content. */
  readonly markerText?: string
  /** Default: `neurolink`. */
  readonly preset?: SummaryPreset
}

type Manner = { readonly role: InsertedRole; readonly before: string; readonly after: string }

const MANNERS: { readonly [P in SummaryPreset]: Manner } = {
  neurolink: { role: 'system', before: 'Previous conversation summary:\n\n', after: '' },
  neuron: { role: 'user', before: '[Summary of earlier conversation]\n', after: '' },
  nca: { role: 'system', before: '## Conversation Summary (Earlier Context)\n\n', after: '' },
  promptfleet: { role: 'system', before: 'Previously in this conversation:\n', after: '' },
  tags: { role: 'system', before: '<condensed-summary>\n', after: '\n</condensed-summary>' },
}

/**
 * Gives every row of a view the role and the words it is shown with: summaries and markers as the options say,
 * and system messages that are no longer at the head as the user's, where the provider wants that.
 */
export function presentRows(
  view: readonly ViewMessage[],
  profile: ProviderProfile,
  options: InsertedRowOptions & { readonly provider: string },
  note: Note,
): readonly Draft[] {
  const provider = canonicalProvider(options.provider)
  const drafts: Draft[] = []
  const natives: Draft[] = []
  let atHead = true
  /** System messages at the head. */
  let head = 0
  /** Nothing was shown yet that a compaction block could stand for. */
  let isFirst = true

  const presentInserted = (row: ViewMessage): void => {
    atHead = false
    const block = presentBlock(row, provider, note)
    if (block !== undefined && 'native' in block) {
      const draft = draftOf(row.id, { role: 'assistant', content: [block.native] })
      natives.push(draft)
      drafts.push(draft)
    } else if (row.kind === 'summary') {
      const shown = block === undefined ? row : { ...row, content: block.text }
      drafts.push(draftOf(row.id, presentSummary(shown, profile, options)))
    } else drafts.push(draftOf(row.id, presentMarker(row, profile, options)))
  }

  for (const stored of view) {
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
    atHead &&= row.role === 'system'
    if (atHead) head += 1
    if (row.role !== 'system' || atHead || profile.systemInside) {
      drafts.push(draftOf(row.id, plainMessage(row)))
      continue
    }
    note({ kind: 'role-changed', messageId: row.id })
    drafts.push(draftOf(row.id, { role: 'user', content: row.content }))
  }
  return blockFirst(drafts, natives, head, note)
}

/**
 * A row without the parts that are shown as nothing: they say nothing, and are no mend. Results are answers and stay.
 * `undefined` when nothing is left.
 */
function withoutEmptied(row: ViewMessage): ViewMessage | undefined {
  const { replacedParts, content } = row
  if (replacedParts === undefined || typeof content === 'string') return row
  const replaced = new Set(replacedParts)
  const isEmptied = (part: Part, index: number): boolean =>
    (part.type === 'text' || part.type === 'reasoning') && part.text === '' && replaced.has(index)
  if (!content.some(isEmptied)) return row
  const left = content.filter((part, index) => !isEmptied(part, index))
  return left.length === 0 ? undefined : { ...row, content: left }
}

function plainMessage({ role, content, metadata }: Message): Message {
  const sendable = metadata === undefined ? undefined : sendableMetadata(metadata)
  return sendable === undefined ? { role, content } : { role, content, metadata: sendable }
}

/** What of a message's fields OpenAI's form takes back in a request. */
const OPENAI_FIELDS = new Set(['role', 'content', 'name', 'refusal', 'audio', 'tool_calls', 'function_call'])

/**
 * A message that came from a provider keeps that provider's fields in its metadata (usage, model, times …), and
 * the converters give them back. In a request they would be refused, so only what belongs there stays. The
 * application's own metadata is never sent and stays as it is.
 */
function sendableMetadata(metadata: JsonObject): JsonObject | undefined {
  if (!Object.hasOwn(metadata, 'anthropic') && !Object.hasOwn(metadata, 'openai')) return metadata
  const { anthropic: _, openai, ...rest } = metadata
  const fields =
    typeof openai === 'object' && openai !== null && !Array.isArray(openai) ? Object.entries(openai) : []
  const kept = fields.filter(([name]) => OPENAI_FIELDS.has(name))
  const sendable = kept.length === 0 ? rest : { ...rest, openai: Object.fromEntries(kept) }
  return Object.keys(sendable).length === 0 ? undefined : sendable
}

function presentSummary(row: ViewMessage, profile: ProviderProfile, options: InsertedRowOptions): Message {
  const { summaryHeader, preset = 'neurolink' } = options
  const manner = MANNERS[preset]
  const role = allowedRole(options.summaryRole ?? manner.role, profile)
  const text = textOf(row)
  if (text.trim() === '') return { role, content: text }

  const framed =
    preset === 'tags' || summaryHeader === undefined ? `${manner.before}${text}${manner.after}` : text
  return withMedia(role, summaryHeader ? `${summaryHeader}\n\n${framed}` : framed, row)
}

function presentMarker(row: ViewMessage, profile: ProviderProfile, options: InsertedRowOptions): Message {
  const role = allowedRole(options.markerRole ?? 'system', profile)
  if (options.markerText !== undefined) return { role, content: options.markerText }
  return withMedia(role, textOf(row), row)
}

function allowedRole(wanted: InsertedRole, profile: ProviderProfile): InsertedRole {
  return wanted === 'system' && !profile.systemInside ? 'user' : wanted
}

function textOf(row: ViewMessage): string {
  return partsOf(row)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n\n')
}

/** The text, and behind it what else the row shows. Inserted rows hold no tool use and no reasoning. */
function withMedia(role: InsertedRole, text: string, row: ViewMessage): Message {
  const media = partsOf(row).filter(
    (part) => part.type === 'image' || part.type === 'file' || part.type === 'provider',
  )
  const parts: Part[] = [{ type: 'text', text }, ...media]
  return { role, content: media.length === 0 ? text : parts }
}

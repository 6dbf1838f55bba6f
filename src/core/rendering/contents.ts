import { lastBlockOf } from '../messages/compaction-block.ts'
import { stringifyJson } from '../messages/json.ts'
import {
  endsInResult,
  isFailed,
  isReasoning,
  isResult,
  mediaWord,
  outputText,
  type Part,
  type Role,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from '../messages/message.ts'
import type { ProviderProfile } from '../tokens/providers.ts'
import { type Draft, draftOf, type Note, redraft, rowsOf } from './draft.ts'
import { isVisibleContent, oneResponse, type Responses } from './reasoning.ts'

/** The text of the user message that is added if the first remaining message is from the assistant. */
export const CONTINUATION_TEXT = '[Conversation continues]'
/** The text of the assistant message that some providers need between tool results and the next user message. */
const RESULTS_READ_TEXT = '[Tool results received]'

/**
 * Makes user and assistant alternate where the provider requires it: the first turn is the user's, and consecutive messages of one side
 * are merged, tool results first. System messages stay unchanged. `spoken` is the id of the last row that is not a system message: if
 * none of these rows is left, the list would have no messages and be refused.
 */
export function arrangeTurns(
  drafts: readonly Draft[],
  profile: ProviderProfile,
  responses: Responses,
  spoken: string | undefined,
  note: Note,
): readonly Draft[] {
  const opened = profile.firstMustBeUser ? openWithUser(drafts, spoken, note) : drafts
  if (!profile.strictAlternation) return opened
  if (profile.userAfterResults)
    return mergeRuns(
      opened,
      ({ message }) => (message.role === 'assistant' ? 'assistant' : 'user'),
      responses,
      note,
    )
  return answerResults(mergeRuns(opened.flatMap(splitResults), sideWithResults, responses, note), note)
}

function openWithUser(drafts: readonly Draft[], spoken: string | undefined, note: Note): readonly Draft[] {
  const first = drafts.findIndex(({ message }) => message.role !== 'system')
  const opening = drafts[first]
  if (opening === undefined && spoken !== undefined) {
    note({ kind: 'user-added', messageId: spoken })
    return [...drafts, draftOf(spoken, { role: 'user', content: CONTINUATION_TEXT })]
  }
  if (opening?.message.role !== 'assistant') return drafts
  // The provider of a compaction block accepts it as the first message. No other provider receives one.
  if (lastBlockOf(opening.parts) !== undefined) return drafts
  note({ kind: 'user-added', messageId: opening.id })
  return drafts.toSpliced(first, 0, draftOf(opening.id, { role: 'user', content: CONTINUATION_TEXT }))
}

/** The side of a message. Results are a separate side, one message each, if a user message cannot follow them directly. */
type Side = 'assistant' | 'user' | 'results'

function sideWithResults({ message, parts }: Draft): Side {
  if (message.role === 'assistant') return 'assistant'
  return message.role === 'tool' || parts.every(isResult) ? 'results' : 'user'
}

function mergeRuns(
  drafts: readonly Draft[],
  sideOf: (draft: Draft) => Side,
  responses: Responses,
  note: Note,
): Draft[] {
  const runs: Draft[][] = []
  for (const draft of drafts) {
    const run = runs.at(-1)
    const side = sideOf(draft)
    const joins =
      run !== undefined && ![run[0]!, draft].some(isSystem) && sideOf(run[0]!) === side && side !== 'results'
    if (joins) note({ kind: 'merged', messageId: draft.id })
    if (joins) run.push(draft)
    else runs.push([draft])
  }
  return runs.map((run) => {
    if (run.length === 1) return run[0]!
    return mergeRun(run[0]!.message.role === 'assistant' ? oneResponse(run, responses, note) : run)
  })
}

function isSystem({ message }: Draft): boolean {
  return message.role === 'system'
}

/** Merges a run into one message; results come first in a user message. */
function mergeRun(run: readonly Draft[]): Draft {
  const { id, message } = run[0]!
  const content = run.flatMap((draft) => draft.parts)
  const rows = rowsOf(run)
  if (run.every((draft) => draft.message.role === message.role))
    return draftOf(id, { role: message.role, content }, rows)
  const words = content.filter((part) => !isResult(part))
  return draftOf(id, { role: 'user', content: [...content.filter(isResult), ...words] }, rows)
}

function splitResults(draft: Draft): readonly Draft[] {
  if (draft.message.role !== 'user') return [draft]
  const results = draft.parts.filter(isResult)
  if (results.length === 0 || results.length === draft.parts.length) return [draft]
  const words = draft.parts.filter((part) => !isResult(part))
  return [
    draftOf(draft.id, { role: 'tool', content: results }),
    draftOf(draft.id, { role: 'user', content: words }),
  ]
}

/**
 * Adds an assistant text between tool results and the next user message: to the message of a provider-run tool, or else as a new message.
 */
function answerResults(drafts: readonly Draft[], note: Note): Draft[] {
  const answered: Draft[] = []
  for (const draft of drafts) {
    const before = answered.at(-1)
    const speaks =
      before !== undefined && ![before, draft].some(isSystem) && sideWithResults(draft) === 'user'
    if (speaks && sideWithResults(before) === 'results') {
      note({ kind: 'assistant-added', messageId: draft.id })
      answered.push(draftOf(draft.id, { role: 'assistant', content: RESULTS_READ_TEXT }))
    } else if (speaks && endsInResult(before.parts)) {
      note({ kind: 'assistant-added', messageId: draft.id })
      const value: Part = { type: 'text', text: RESULTS_READ_TEXT }
      answered[answered.length - 1] = redraft(before, 'assistant', [...before.parts, value])
    }
    answered.push(draft)
  }
  return answered
}

/**
 * Removes content that a message cannot contain: empty text where the provider refuses it, and reasoning and calls outside assistant
 * messages. Messages left empty are dropped.
 */
export function cleanContents(drafts: readonly Draft[], profile: ProviderProfile, note: Note): Draft[] {
  const kept: Draft[] = []
  for (const draft of drafts) {
    if (!draft.parts.some((part) => isReasoning(part) || isVisibleContent(part, profile))) {
      note({ kind: 'empty-message-dropped', messageId: draft.id })
      continue
    }
    const cleaned = cleanDraft(draft, profile, note)
    if (cleaned.parts.length > 0) kept.push(cleaned)
  }
  return kept
}

function cleanDraft(draft: Draft, profile: ProviderProfile, note: Note): Draft {
  if (draft.parts.every((part) => isClean(part, draft.message.role, profile))) return draft
  const { role } = draft.message
  const isRefused = (text: string): boolean => !profile.emptyText && text.trim() === ''

  const parts = draft.parts.flatMap((part): readonly Part[] => {
    if (part.type === 'text' && isRefused(part.text)) {
      note({ kind: 'empty-text-dropped', messageId: draft.id })
      return []
    }
    if (isReasoning(part) && role !== 'assistant') {
      note({ kind: 'reasoning-dropped', messageId: draft.id })
      return []
    }
    if (part.type === 'tool-call' && role !== 'assistant') {
      note({ kind: 'call-as-text', messageId: draft.id, toolCallId: part.toolCallId })
      return [callAsText(part)]
    }
    if ((part.type === 'image' || part.type === 'file') && role === 'assistant' && !profile.assistantMedia) {
      note({ kind: 'media-as-text', messageId: draft.id })
      return [{ type: 'text', text: mediaWord(part) }]
    }
    if (part.type === 'tool-result' && !profile.emptyText)
      return [unmarkedResult(cleanResult(part, draft.id, note), profile, draft.id, note)]
    return [part]
  })

  const spoken =
    role === 'tool' && parts.some((part) => part.type !== 'provider' && part.type !== 'tool-result')
  if (!spoken || parts.some((part) => part.type === 'tool-result')) return redraft(draft, role, parts)
  note({ kind: 'role-changed', messageId: draft.id })
  return redraft(draft, 'user', parts)
}

/** Returns whether a part stays unchanged, whatever is beside it. */
function isClean(part: Part, role: Role, profile: ProviderProfile): boolean {
  switch (part.type) {
    case 'text':
      return role !== 'tool' && (profile.emptyText || part.text.trim() !== '')
    case 'reasoning':
    case 'tool-call':
      return role === 'assistant'
    case 'image':
    case 'file':
      return role !== 'tool' && (role !== 'assistant' || profile.assistantMedia)
    case 'tool-result':
      return profile.emptyText || !(holdsEmptyText(part) || isRefusedFailure(part, profile))
    case 'provider':
      return role === 'assistant' || !isReasoning(part)
  }
}

/** Returns whether a part is a result that contains a text without a visible character. */
export function holdsEmptyText(part: Part): boolean {
  if (part.type !== 'tool-result' || part.output.type !== 'content') return false
  return part.output.value.some((item) => item.type === 'text' && item.text.trim() === '')
}

function cleanResult(result: ToolResultPart, messageId: string, note: Note): ToolResultPart {
  const { output } = result
  if (output.type !== 'content' || !holdsEmptyText(result)) return result
  note({ kind: 'empty-text-dropped', messageId, toolCallId: result.toolCallId })
  const value = output.value.filter((item) => item.type !== 'text' || item.text.trim() !== '')
  return { ...result, output: { ...output, value } }
}

/**
 * Shows calls and results as text, for a request without tools to a provider that then accepts neither. Each result already follows its
 * call.
 */
export function toolUseAsText(drafts: readonly Draft[], note: Note): readonly Draft[] {
  return drafts.map((draft) => {
    const { id: messageId, parts } = draft
    const { role } = draft.message
    if (!parts.some(({ type }) => type === 'tool-call' || type === 'tool-result')) return draft
    const shown = parts.flatMap((part): readonly Part[] => {
      if (part.type !== 'tool-call' && part.type !== 'tool-result') return [part]
      const { toolCallId } = part
      note({ kind: part.type === 'tool-call' ? 'call-as-text' : 'result-as-text', messageId, toolCallId })
      if (part.type === 'tool-call') return [callAsText(part)]
      const asParts = resultAsParts(part)
      // Results of provider-run tools are in an assistant message, which cannot contain media.
      return role === 'assistant' ? asParts.map(withoutMedia) : asParts
    })
    return redraft(draft, role === 'tool' ? 'user' : role, shown)
  })
}

function withoutMedia(part: Part): Part {
  return part.type === 'image' || part.type === 'file' ? { type: 'text', text: mediaWord(part) } : part
}

function callAsText({ toolName, input }: ToolCallPart): TextPart {
  return { type: 'text', text: `[Call of tool ${toolName}] ${stringifyJson(input)}` }
}

/** The first text of a failure that cannot be marked as one. */
const FAILURE_TEXT = '[The tool failed]'

/** Returns whether a result is marked as failed and contains content that its provider doesn't accept from a failed call. */
function isRefusedFailure({ output }: ToolResultPart, { failedMedia }: ProviderProfile): boolean {
  return (
    !failedMedia &&
    output.type === 'content' &&
    output.isError === true &&
    !output.value.every((item) => item.type === 'text')
  )
}

/** Returns the result without its failure mark, if the provider refuses the mark together with the content. */
function unmarkedResult(
  result: ToolResultPart,
  profile: ProviderProfile,
  messageId: string,
  note: Note,
): ToolResultPart {
  const { output } = result
  if (output.type !== 'content' || !isRefusedFailure(result, profile)) return result
  note({ kind: 'failure-unmarked', messageId, toolCallId: result.toolCallId })
  const value = [{ type: 'text', text: FAILURE_TEXT } as const, ...output.value]
  return { ...result, output: { type: 'content', value } }
}

/** Returns the text and the media of a result whose call is not in the view, as parts of a user message. */
export function resultAsParts({ toolName, output }: ToolResultPart): Part[] {
  const kind = isFailed(output) ? 'Failed result' : 'Result'
  const text = `[${kind} of tool ${toolName ?? 'unknown'}] ${outputText(output)}`
  const media =
    output.type === 'content'
      ? output.value.filter((item) => item.type === 'image' || item.type === 'file')
      : []
  return [{ type: 'text', text }, ...media]
}

import { stringifyJson } from '../messages/json.ts'
import {
  isFailed,
  mediaWord,
  outputText,
  type Part,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from '../messages/message.ts'
import type { ProviderProfile } from '../tokens/providers.ts'
import { type Draft, draftOf, type Note, redraft } from './draft.ts'

/**
 * Takes out of each message what it cannot hold: empty text where the provider refuses it, reasoning and calls
 * of somebody else than an assistant. Messages that then say nothing are left out.
 */
export function cleanContents(drafts: readonly Draft[], profile: ProviderProfile, note: Note): Draft[] {
  const kept: Draft[] = []
  for (const draft of drafts) {
    if (!draft.parts.some((part) => part.type === 'reasoning' || saysSomething(part, profile))) {
      note({ kind: 'empty-message-dropped', messageId: draft.id })
      continue
    }
    const cleaned = cleanDraft(draft, profile, note)
    if (cleaned.parts.length > 0) kept.push(cleaned)
  }
  return kept
}

/** Whether a part is more than reasoning and more than empty text. */
function saysSomething(part: Part, profile: ProviderProfile): boolean {
  if (part.type === 'text') return profile.emptyText ? part.text !== '' : part.text.trim() !== ''
  return part.type !== 'reasoning'
}

function cleanDraft(draft: Draft, profile: ProviderProfile, note: Note): Draft {
  const { role } = draft.message
  const hasWords = draft.parts.some((part) => part.type === 'text' && part.text.trim() !== '')
  const isRefused = (text: string): boolean =>
    !profile.emptyText && (text === '' || (text.trim() === '' && !hasWords))

  const parts = draft.parts.flatMap((part): readonly Part[] => {
    if (part.type === 'text' && isRefused(part.text)) {
      note({ kind: 'empty-text-dropped', messageId: draft.id })
      return []
    }
    if (part.type === 'reasoning' && role !== 'assistant') {
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
    if (part.type === 'tool-result' && !profile.emptyText) return [cleanResult(part, draft.id, note)]
    return [part]
  })

  const spoken =
    role === 'tool' && parts.some((part) => part.type !== 'provider' && part.type !== 'tool-result')
  if (!spoken || parts.some((part) => part.type === 'tool-result')) return redraft(draft, role, parts)
  note({ kind: 'role-changed', messageId: draft.id })
  return redraft(draft, 'user', parts)
}

/** A result without empty pieces of text. */
function cleanResult(result: ToolResultPart, messageId: string, note: Note): ToolResultPart {
  const { output } = result
  if (output.type !== 'content' || !output.value.some((item) => item.type === 'text' && item.text === ''))
    return result
  note({ kind: 'empty-text-dropped', messageId, toolCallId: result.toolCallId })
  const value = output.value.filter((item) => item.type !== 'text' || item.text !== '')
  return { ...result, output: { ...output, value } }
}

/** What a result says, as words and pictures of a user: for a result whose call is not there. */
export function resultAsParts({ toolName, output }: ToolResultPart): Part[] {
  const kind = isFailed(output) ? 'Failed result' : 'Result'
  const text = `[${kind} of tool ${toolName ?? 'unknown'}] ${outputText(output)}`
  const media =
    output.type === 'content'
      ? output.value.filter((item) => item.type === 'image' || item.type === 'file')
      : []
  return [{ type: 'text', text }, ...media]
}

function callAsText({ toolName, input }: ToolCallPart): TextPart {
  return { type: 'text', text: `[Call of tool ${toolName}] ${stringifyJson(input)}` }
}

/**
 * Settles messages that hold nothing but reasoning. One directly before another assistant message is the head of
 * the same turn and joins it; any other has nothing behind it and is left out.
 */
export function settleReasoning(drafts: readonly Draft[], profile: ProviderProfile, note: Note): Draft[] {
  const kept: Draft[] = []
  let waiting: Draft[] = []
  const dropWaiting = (): void => {
    for (const { id } of waiting) note({ kind: 'reasoning-dropped', messageId: id })
    waiting = []
  }

  for (const draft of drafts) {
    const silent = !draft.parts.some((part) => saysSomething(part, profile))
    if (silent && draft.parts.some((part) => part.type === 'reasoning')) {
      waiting.push(draft)
    } else if (silent) {
      note({ kind: 'empty-text-dropped', messageId: draft.id })
    } else if (draft.message.role === 'assistant' && waiting.length > 0) {
      for (const { id } of waiting) note({ kind: 'merged', messageId: id })
      const lead = waiting.flatMap(({ parts }) => parts.filter((part) => part.type === 'reasoning'))
      kept.push(draftOf(draft.id, { role: 'assistant', content: [...lead, ...draft.parts] }))
      waiting = []
    } else {
      dropWaiting()
      kept.push(draft)
    }
  }
  dropWaiting()
  return kept
}

import { z } from 'zod'
import { headOf } from '../messages/characters.ts'
import { check } from '../messages/check.ts'
import type { Part } from '../messages/message.ts'
import { checkMessageList } from '../messages/message-check.ts'
import { SUMMARY_SEPARATOR } from '../rendering/summary-heading.ts'
import { estimateTokens } from '../tokens/measure.ts'
import { resultText } from './prompts.ts'
import type { Summarizer } from './summarizer.ts'

/** The maximum characters of the summary, of a user's or assistant's text, and of a tool result, as in PromptFleet. */
export const SNIPPETS_CHARS = 500
const SPEECH_CHARS = 100
const TOOL_CHARS = 80

const optionsSchema = z.strictObject({
  /** The maximum characters (UTF-16 units) before the ending. Default 500. */
  maxChars: z.int().nonnegative().default(SNIPPETS_CHARS),
})
/** Options of `summarizeInSnippets`. */
export type SnippetOptions = z.input<typeof optionsSchema>

/** A message in neutral form, in OpenAI's form, or in NeuroLink's flat form. */
type SnippetMessage = {
  readonly role: string
  readonly content: string | readonly { readonly type: string }[]
}

/**
 * Returns the beginnings of messages and tool results, one line each: `[user] …`, `[assistant] …`, `[tool result] …`. System
 * messages and empty texts are left out. A shortened text ends in `...` and is never cut inside a character.
 *
 * Throws `INVALID_INPUT`.
 */
export function summarizeInSnippets(
  messages: readonly SnippetMessage[],
  options: SnippetOptions = {},
): string {
  const { maxChars } = check(optionsSchema, options, 'summarizeInSnippets')
  checkMessageList(messages, 'summarizeInSnippets')
  let summary = ''
  for (const message of messages) {
    for (const line of snippetLines(message)) summary += summary === '' ? line : `\n${line}`
    if (summary.length > maxChars) break
  }
  return cut(summary, maxChars)
}

/**
 * PromptFleet's summary without a model, as a summarizer: the earlier summaries, a line `---`, and `summarizeInSnippets`. Above the
 * requested size, the oldest summaries are dropped first.
 */
export const snippetSummarizer: Summarizer = {
  name: 'snippets',
  usesModel: false,
  summarize({ messages, previousSummary, maxTokens }) {
    const spoken = messages.filter(({ kind }) => kind === 'message')
    const earlier = messages
      .filter(({ kind }) => kind === 'summary')
      .flatMap(({ content }) => textOf(content))
    const summaries = [
      ...(previousSummary ?? '').split(SUMMARY_SEPARATOR),
      ...earlier,
      summarizeInSnippets(spoken),
    ].filter((text) => text !== '')
    while (summaries.length > 1 && estimateTokens(summaries.join(SUMMARY_SEPARATOR)) > maxTokens)
      summaries.shift()
    return { text: summaries.join(SUMMARY_SEPARATOR) }
  },
}

function snippetLines({ role, content }: SnippetMessage): string[] {
  const lines: string[] = []
  const say = (label: string, text: string, max: number): void => {
    if (text !== '') lines.push(`[${label}] ${cut(text, max)}`)
  }
  if (role === 'user' || role === 'assistant') say(role, textOf(content), SPEECH_CHARS)
  if (role === 'tool' || role === 'tool_result') say('tool result', textOf(content), TOOL_CHARS)
  if (role !== 'system') for (const output of outputsOf(content)) say('tool result', output, TOOL_CHARS)
  return lines
}

/** The text parts of a message. */
function textOf(content: SnippetMessage['content']): string {
  if (typeof content === 'string') return content
  const texts: string[] = []
  for (const part of content as readonly { readonly type: string; readonly text?: unknown }[])
    if (part.type === 'text' && typeof part.text === 'string' && part.text !== '') texts.push(part.text)
  return texts.join('\n')
}

/** Tool results in neutral parts. */
function outputsOf(content: SnippetMessage['content']): string[] {
  if (typeof content === 'string') return []
  return (content as readonly Part[]).flatMap((part) =>
    part.type === 'tool-result' ? [resultText(part.output)] : [],
  )
}

function cut(text: string, max: number): string {
  return text.length > max ? `${headOf(text, max)}...` : text
}

import { z } from 'zod'
import { headOf } from '../messages/characters.ts'
import { check } from '../messages/check.ts'
import type { Part } from '../messages/message.ts'
import { checkMessageList } from '../messages/message-check.ts'
import { SUMMARY_SEPARATOR } from '../rendering/rows.ts'
import { estimateTokens } from '../tokens/tokens.ts'
import { resultText } from './prompts.ts'
import type { Summarizer } from './summarizer.ts'

/** Most characters of the whole, of a text of the user's or the assistant's, and of a tool's. Source: seed 001's crate, checklist S1-U15. */
export const SNIPPETS_CHARS = 500
const SPEECH_CHARS = 100
const TOOL_CHARS = 80

const optionsSchema = z.strictObject({
  /** Most characters (UTF-16 units) before the ending. Default 500. */
  maxChars: z.int().nonnegative().default(SNIPPETS_CHARS),
})
export type SnippetOptions = z.input<typeof optionsSchema>

/** A message to be told in snippets: neutral, in OpenAI's form, or the flat one of seed 003. */
type Told = {
  readonly role: string
  readonly content: string | readonly { readonly type: string }[]
}

/**
 * The beginnings of what was said and of what tools answered, a line each: `[user] …`, `[assistant] …`, `[tool result] …`.
 * System messages and empty texts are left out. What is cut ends in `...`, never inside a character.
 *
 * Throws `INVALID_INPUT`. Source: seed 001's crate, golden PHM-01 to PHM-09.
 */
export function summarizeInSnippets(messages: readonly Told[], options: SnippetOptions = {}): string {
  const { maxChars } = check(optionsSchema, options, 'summarizeInSnippets')
  checkMessageList(messages, 'summarizeInSnippets')
  let summary = ''
  for (const message of messages) {
    for (const line of linesOf(message)) summary += summary === '' ? line : `\n${line}`
    if (summary.length > maxChars) break
  }
  return cut(summary, maxChars)
}

/**
 * PromptFleet's summary without a model, as a summarizer: `summarizeInSnippets`, behind the summaries so far and a line
 * `---`. When all that is more than was asked for, the oldest summaries go first.
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

function linesOf({ role, content }: Told): string[] {
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
function textOf(content: Told['content']): string {
  if (typeof content === 'string') return content
  const texts: string[] = []
  for (const part of content as readonly { readonly type: string; readonly text?: unknown }[])
    if (part.type === 'text' && typeof part.text === 'string' && part.text !== '') texts.push(part.text)
  return texts.join('\n')
}

/** What tools answered, in neutral parts. */
function outputsOf(content: Told['content']): string[] {
  if (typeof content === 'string') return []
  return (content as readonly Part[]).flatMap((part) =>
    part.type === 'tool-result' ? [resultText(part.output)] : [],
  )
}

function cut(text: string, max: number): string {
  return text.length > max ? `${headOf(text, max)}...` : text
}

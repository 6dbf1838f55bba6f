import { createHash } from 'node:crypto'
import { estimateTokens } from '../../tokens/tokens.ts'
import { callsText, type PromptMessage, partText, resultText } from '../prompts.ts'
import { oneLine, shortenMiddle } from '../text.ts'

/*
 * What is to be summarized, as text that cannot be taken for anything else. Lines that divide it begin with a mark that occurs nowhere
 * in it, so no message can end the material, begin another message, or pose as the earlier summary.
 */

/** Letters and digits of a mark. Few: each message repeats it. That it occurs nowhere else is looked up, not hoped for. */
const MARK_LENGTH = 8
/** What the line above each message takes: a mark, a number, who said it. */
export const MESSAGE_LINE_TOKENS = estimateTokens(
  `${'0'.repeat(MARK_LENGTH)} MESSAGE 1000, from: assistant\n`,
)
/** Longest role shown, characters. */
const ROLE_CHARS = 40

/** A message as a summarizer is shown it. */
export type MaterialMessage = PromptMessage & { readonly kind?: string }

type Material = {
  readonly messages: readonly MaterialMessage[]
  readonly previousSummary: string
  readonly files: { readonly read: readonly string[]; readonly modified: readonly string[] }
}

/** Messages whose text is not empty, as blocks: who speaks, and what was said. */
type Block = { readonly from: string; readonly text: string }

/**
 * A message as text: images and files as placeholders, calls with name and arguments, results of tools with at most
 * `maxOutputChars` characters, from both ends. Reasoning is left out.
 */
function blockOf(message: MaterialMessage, maxOutputChars: number): Block {
  const { content, role } = message
  // Each by itself: of many answers in one message none may be the middle that is left out.
  const limited = (text: string): string => (role === 'tool' ? shortenMiddle(text, maxOutputChars) : text)
  const parts =
    typeof content === 'string'
      ? [limited(content)]
      : content.map((part) =>
          part.type === 'tool-result' ? answerText(part, maxOutputChars) : limited(partText(part)),
        )
  const text = [...parts, ...callsText(message.tool_calls)].filter((some) => some !== '').join('\n')
  const who = message.kind === 'summary' ? 'earlier summary' : oneLine(role).slice(0, ROLE_CHARS)
  return { from: who, text }
}

function answerText(part: { readonly [field: string]: unknown }, maxOutputChars: number): string {
  const { toolName, output } = part
  const { type } = (output ?? {}) as { readonly type?: unknown }
  const what = type === 'error-text' || type === 'error-json' ? 'error' : 'result'
  const text = shortenMiddle(resultText(output), maxOutputChars)
  return `[${what} of ${typeof toolName === 'string' ? toolName : ''}] ${text}`
}

/** A mark that none of the texts contains. The same texts give the same mark. */
function markFor(texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\0')
  const seed = hash.digest('hex')
  for (let attempt = 0; ; attempt++) {
    const mark = createHash('sha256').update(`${seed}${attempt}`).digest('hex').slice(0, MARK_LENGTH)
    if (!texts.some((text) => text.includes(mark))) return mark
  }
}

/** The material between marked lines, and the mark. */
export function renderMaterial(
  { messages, previousSummary, files }: Material,
  maxOutputChars: number,
): { readonly text: string; readonly mark: string } {
  const blocks = messages.map((message) => blockOf(message, maxOutputChars)).filter(({ text }) => text !== '')
  // As JSON, so that a path of several lines is still one.
  const lists = [...files.read, ...files.modified].map((path) => JSON.stringify(path))
  const mark = markFor([previousSummary, ...lists, ...blocks.flatMap(({ from, text }) => [from, text])])
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [`${mark} ${title}`, ...lines]
  const [read, modified] = [lists.slice(0, files.read.length), lists.slice(files.read.length)]
  const lines = [
    ...section('EARLIER SUMMARY', previousSummary === '' ? [] : [previousSummary]),
    ...section('FILES READ', read),
    ...section('FILES CHANGED', modified),
    ...blocks.flatMap(({ from, text }, at) => [`${mark} MESSAGE ${at + 1}, from: ${from}`, text]),
    `${mark} END OF THE MATERIAL`,
  ]
  return { text: lines.join('\n'), mark }
}

import { z } from 'zod'
import { check } from '../../messages/check.ts'
import { checkMessageList } from '../../messages/message-list.ts'
import { ANSWER_PROBLEMS, SUMMARY_SECTIONS } from '../summarizer.ts'
import { oneLine } from '../text.ts'
import { levelInstruction, MERGE, PROMPT_VERSION, RETRY, SYSTEM, sectionInstruction } from './instructions.ts'
import { type MaterialMessage, renderMaterial } from './material.ts'

/** Tokens a summary may take where nothing else is said: the most that a run asks a model for. Source: checklist F5. */
const DEFAULT_MAX_TOKENS = 4_000
/**
 * Words asked for a token allowed. English prose has some 0.75 words a token; paths, code and other languages have fewer.
 */
const WORDS_PER_TOKEN = 0.6
const LEAST_WORDS = 20
/** Characters of one tool output that a model is shown, half from each end. */
export const MAX_OUTPUT_CHARS = 8_000

const paths = z.array(z.string()).readonly()
const optionsSchema = z.strictObject({
  /** The summary that the messages follow, to be merged in. */
  previousSummary: z.string().optional(),
  /** How many summaries deep: 0 for a summary of messages. */
  level: z.int().nonnegative().optional(),
  /** Titles of the sections, in order. Default: `SUMMARY_SECTIONS`. */
  sections: z.array(z.string().min(1)).min(1).readonly().optional(),
  /** Most tokens of the summary. Default 4,000. */
  maxTokens: z.int().positive().optional(),
  /** Files that were read and changed in the messages. */
  files: z.strictObject({ read: paths, modified: paths }).optional(),
  /** Why an answer before this one was not taken. */
  retryOf: z.enum(ANSWER_PROBLEMS).optional(),
  /** Most characters of one tool output, UTF-16 units. Default 8,000. */
  maxOutputChars: z.int().nonnegative().optional(),
})
/** What `buildSummarizationPrompt` can be told. */
export type SummarizationPromptOptions = z.input<typeof optionsSchema>

/** What a model is sent for a summary. */
export type SummarizationPrompt = {
  readonly system: string
  readonly prompt: string
  /** Which wording this is. */
  readonly promptVersion: string
  /** Most words that were asked for. */
  readonly maxWords: number
}

/**
 * The prompt for a summary of messages: what they say between lines with a mark that occurs nowhere in it, then every section wanted, the
 * length, and, with an earlier summary, how to merge it (its rules word for word). The same input gives the same bytes.
 * `maxTokens` in tokens, `maxOutputChars` in UTF-16 units. Throws `INVALID_INPUT`. Source: checklist S2-055, C-01.
 */
export function buildSummarizationPrompt(
  messages: readonly MaterialMessage[],
  options: SummarizationPromptOptions = {},
): SummarizationPrompt {
  const checked = check(optionsSchema, options, 'buildSummarizationPrompt')
  checkMessageList(messages, 'buildSummarizationPrompt')
  return summarizationPrompt(messages, checked)
}

/** The same, unchecked. */
export function summarizationPrompt(
  messages: readonly MaterialMessage[],
  options: SummarizationPromptOptions,
): SummarizationPrompt {
  const { previousSummary = '', level = 0, maxTokens = DEFAULT_MAX_TOKENS, retryOf } = options
  const { files = { read: [], modified: [] }, maxOutputChars = MAX_OUTPUT_CHARS } = options
  const sections = (options.sections ?? SUMMARY_SECTIONS).map(oneLine)
  const hasPrevious = previousSummary.trim() !== ''
  const material = { messages, previousSummary: hasPrevious ? previousSummary : '', files }
  const { text, mark } = renderMaterial(material, maxOutputChars)
  const maxWords = wordsFor(maxTokens)
  const named = files.read.length + files.modified.length > 0
  const prompt = [
    `The mark is ${mark}. What follows, up to the line "${mark} END OF THE MATERIAL", is the material.`,
    text,
    [
      'That was all of the material; the instructions go on here.',
      levelInstruction(level),
      ...(hasPrevious ? [MERGE] : []),
      ...(named ? ['Name the files that were read and changed by their paths, where they matter.'] : []),
    ].join(' '),
    sectionInstruction(sections, hasPrevious, level > 0),
    ...(retryOf === undefined ? [] : [RETRY[retryOf]]),
    `Write at most ${maxWords} words.`,
  ].join('\n\n')
  return { system: SYSTEM, prompt, promptVersion: PROMPT_VERSION, maxWords }
}

/** Words to ask for, so that the text takes no more than so many tokens. */
function wordsFor(maxTokens: number): number {
  const words = Math.floor(maxTokens * WORDS_PER_TOKEN)
  return words < LEAST_WORDS ? Math.max(1, words) : words - (words % 10)
}

import { commandsIn } from '../messages/text-commands.ts'
import { extractiveSummarizer } from './extractive.ts'
import type { AnswerProblem, Summarizer, SummaryAnswer } from './summarizer.ts'

/** Only a text up to this many characters counts as a refusal, or as an instruction: a longer one has content. */
const REFUSAL_CHARS = 400
/** The beginnings of a refusal, in English. */
const REFUSAL =
  /^(?:(?:i['’]?m|i am) (?:really |very |so )?sorry\b|sorry,|i apologi[sz]e\b|unfortunately, i\b|(?:i['’]?m|i am) (?:unable|not able|not allowed|not permitted)\b|i (?:can(?:no|['’])t|cannot|could not|couldn['’]t|won['’]t|will not|must decline|have to decline)\b)/i
/** A line of a summary: a heading or an item of a list. */
const SUMMARY_LINE = /^\s{0,3}(?:#{1,6}\s|[-*•]\s|\d{1,3}[.)]\s|\*\*)/m

/** What a writer announces or demands instead of a record: "I'll summarize …", "Continue with …", "You are a …", "Ignore all …". */
const INSTRUCTION = new RegExp(
  [
    '^(?:(?:ok(?:ay)?|sure|certainly|understood|got it|alright|of course|now|first)[,.!:]? {0,3}){0,3}(?:',
    "(?:i['’]ll|i will|i(?:['’]m| am) going to|i (?:need|have|want|should) ?(?:to)?|let me|let['’]s|we (?:need|have|should|must) ?(?:to)?) {0,3}(?:now |first |just |then ){0,2}(?:summari[sz]e|write|produce|create|provide|generate|read|look|check|review|analy[sz]e|start|begin|continue|think|call|use|output|answer|respond)\\b",
    '|(?:please )?(?:summari[sz]e|write (?:a|the) summary|continue (?:with|working|the|from|where)|proceed (?:with|to)|follow (?:the|these)|ignore (?:all|any|the|your|previous)|disregard)\\b',
    '|you (?:are (?:an? |the |now )|must\\b|should\\b|will now\\b|need to\\b)|your (?:task|job|role) is\\b',
    ')',
  ].join(''),
  'i',
)
/** The beginning of a call in the notation of a model's template, or of a message in the name of the system. */
const PROTOCOL =
  /^(?:<\/?(?:function_calls|tool_calls?|tool_use|invoke|function|antml:|system|system-reminder|tool_response|tool_result)[\s=:>]|\[TOOL_CALLS\]|<[|｜](?:tool|python_tag|im_start|start|channel|system|recipient)|✿FUNCTION✿|```tool_(?:code|call)|(?:assistant )?to=[\w.]{1,80}|functions\.\w)/i

/** The tags around reasoning that a model writes into its text. */
const THINKING = ['think', 'thinking', 'thought', 'reasoning', 'analysis', 'scratchpad'] as const

/**
 * Judges a model's answer: returns the text without the reasoning that some models write before it, or the reason why it is not a
 * summary. A text that was cut by its limit is not a summary, because the rules come last. Only English refusals are known, and only
 * short texts without a heading or a list count as one; a finish reason identifies the others.
 */
export function judgeAnswer(
  answer: SummaryAnswer | undefined,
): { readonly text: string } | { readonly problem: AnswerProblem } {
  const shown = typeof answer?.text === 'string' ? answer.text : ''
  const reason = reasonOf(answer)
  if (reason === 'content-filter') return { problem: 'SUMMARY_REFUSED' }
  const text = withoutThinking(shown)
  if (text === '') {
    // Reasoning used up the limit, or the text consists of reasoning only.
    const hasThought =
      shown.trim() !== '' || (typeof answer?.reasoning === 'string' && answer.reasoning.trim() !== '')
    return { problem: hasThought ? 'SUMMARY_REASONING_ONLY' : 'EMPTY_SUMMARY' }
  }
  if (reason === 'length') return { problem: 'SUMMARY_CUT' }
  if (isRefusal(text)) return { problem: 'SUMMARY_REFUSED' }
  if (isProtocol(text) || isInstruction(text)) return { problem: 'SUMMARY_NOT_A_RECORD' }
  return { text }
}

/** The finish reasons that matter, in the spellings of the AI SDK and of the providers. */
function reasonOf(answer: SummaryAnswer | undefined): 'length' | 'content-filter' | undefined {
  switch (answer?.finishReason) {
    case 'length':
    case 'max_tokens':
    case 'max_output_tokens':
    case 'MAX_TOKENS':
      return 'length'
    case 'content-filter':
    case 'content_filter':
    case 'refusal':
    case 'SAFETY':
    case 'PROHIBITED_CONTENT':
      return 'content-filter'
    default:
      return undefined
  }
}

/** The text after complete blocks of reasoning at its beginning; empty when such a block is not closed. */
function withoutThinking(shown: string): string {
  let text = shown.trim()
  for (;;) {
    const tag = THINKING.find((name) => text.slice(0, name.length + 2).toLowerCase() === `<${name}>`)
    if (tag === undefined) return text
    const end = closing(text, tag)
    if (end === undefined) return ''
    text = text.slice(end).trim()
  }
}

function closing(text: string, tag: string): number | undefined {
  const close = `</${tag}>`
  const at = text.indexOf(close)
  return at === -1 ? undefined : at + close.length
}

function isRefusal(text: string): boolean {
  return text.length <= REFUSAL_CHARS && REFUSAL.test(text) && !SUMMARY_LINE.test(text)
}

/** Whether a text is the call of a tool, or a message of the system, with at most a short sentence beside it. */
function isProtocol(text: string): boolean {
  if (PROTOCOL.test(text)) return true
  const { form, text: rest } = commandsIn(text, undefined)
  return (form === 'marked' || form === 'thought') && rest.length <= REFUSAL_CHARS && !SUMMARY_LINE.test(rest)
}

/** Whether a short text tells someone what to do, or what the writer is about to do. */
function isInstruction(text: string): boolean {
  return text.length <= REFUSAL_CHARS && INSTRUCTION.test(text) && !SUMMARY_LINE.test(text)
}

/** The summarizer of a run, and the requested model when it cannot be used. */
type ChosenSummarizer = {
  readonly summarizer: Summarizer
  /** The requested provider and model (`vertex:gemini-2.5-flash`) when the summarizer cannot use them. */
  readonly insteadOf?: string
}

/**
 * Chooses the summarizer when a config names a provider and a model for summaries: the given summarizer if it can use them, else the
 * extractive one, and then the result names the requested model. A summarizer without `canUse` is assumed to be able.
 */
export function chosenSummarizer(
  given: Summarizer | undefined,
  provider: string | undefined,
  model: string | undefined,
): ChosenSummarizer {
  const asked = { ...(provider && { provider }), ...(model && { model }) }
  const insteadOf = [asked.provider, asked.model].filter((name) => name !== undefined).join(':')
  const summarizer = given ?? extractiveSummarizer
  const canWrite = summarizer !== extractiveSummarizer && summarizer.canUse?.(asked) !== false
  if (canWrite) return { summarizer }
  if (insteadOf !== '') return { summarizer: extractiveSummarizer, insteadOf }
  return summarizer === extractiveSummarizer
    ? { summarizer }
    : { summarizer: extractiveSummarizer, insteadOf: summarizer.name }
}

import { commandsIn } from '../messages/text-commands.ts'
import { extractiveSummarizer } from './extractive.ts'
import type { AnswerProblem, Summarizer, SummaryAnswer } from './summarizer.ts'

/** Only a text up to this many characters counts as a refusal, or as an instruction: a longer one has content. */
const REFUSAL_CHARS = 400
/** The beginnings of a refusal: English, German, French, Spanish, Portuguese, Russian, Chinese, Japanese. */
const REFUSAL = new RegExp(
  [
    "^(?:(?:(?:i['’]?m|i am) (?:really |very |so )?sorry|sorry,|i apologi[sz]e|unfortunately, i|(?:i['’]?m|i am) (?:unable|not able|not allowed|not permitted)|i (?:can(?:no|['’])t|cannot|could not|couldn['’]t|won['’]t|will not|must decline|have to decline))(?!\\p{L})",
    '(?:es )?tut mir (?:sehr )?leid(?!\\p{L})|entschuldigung,|leider (?:kann|darf|ist es mir)(?!\\p{L})|ich (?:kann|darf|werde) (?:(?:das|dies\\w{0,2}|dabei|ihnen|dir|die|den|diese\\w?)(?!\\p{L})[^.!?\\n]{0,120} )?nicht(?!\\p{L})|ich bin nicht in der lage(?!\\p{L})',
    'désolée?[\\s,.!]|je suis (?:vraiment )?désolée?(?!\\p{L})|je ne (?:peux|suis) pas(?!\\p{L})|malheureusement, je ne(?!\\p{L})',
    'lo siento(?!\\p{L})|lamentablemente, no(?!\\p{L})|no puedo(?!\\p{L})|no me es posible(?!\\p{L})',
    'desculpe(?!\\p{L})|sinto muito(?!\\p{L})|infelizmente,? não(?!\\p{L})|(?:eu )?não posso(?!\\p{L})',
    'извините|к сожалению, я(?!\\p{L})|я не (?:могу|имею)',
    '(?:非常|很|十分)?(?:抱歉|对不起|對不起)|我(?:无法|不能|無法)',
    '(?:大変|誠に)?申し訳(?:あり|ござい)|すみませんが|恐れ入りますが)',
  ].join('|'),
  'iu',
)
/** A line of a summary: a heading or an item of a list. */
const SUMMARY_LINE = /^\s{0,3}(?:#{1,6}\s|[-*•]\s|\d{1,3}[.)]\s|\*\*)/m

/** What a writer announces or demands instead of a record: "I'll summarize …", "Continue with …", "You are a …", "Ignore all …". */
const INSTRUCTION = new RegExp(
  [
    '^(?:(?:ok(?:ay)?|sure|certainly|understood|got it|alright|of course|now|first)[,.!:]? {0,3}){0,3}(?:',
    "(?:i['’]ll|i will|i(?:['’]m| am) going to|i (?:need|have|want|should) ?(?:to)?|let me|let['’]s|we (?:need|have|should|must) ?(?:to)?) {0,3}(?:now |first |just |then ){0,2}(?:summari[sz]e|write|produce|create|provide|generate|read|look|check|review|analy[sz]e|start|begin|continue|think|call|use|output|answer|respond)\\b",
    '|(?:please )?(?:summari[sz]e|write (?:a|the) summary|continue (?:with|working|the|from|where)|proceed (?:with|to)|follow (?:the|these)|ignore (?:all|any|the|your|previous)|disregard)\\b',
    '|you (?:are (?:an? |the |now )|must\\b|should\\b|will now\\b|need to\\b)|your (?:task|job|role) is\\b',
    "|ich werde (?:jetzt|nun|zuerst|zunächst)\\b|du (?:musst|bist (?:jetzt|ein\\w?))\\b|je vais (?:maintenant|d['’]abord)\\b|tu dois\\b|(?:ahora )?voy a \\p{L}{1,20}r\\b|debes\\b|vou agora\\b|(?:я сейчас|сейчас я)\\s|(?:现在)?我(?:现在|将要?|先来?|来)(?:总结|读取|查看|调用|检查)|你(?:必须|现在是)|(?:それでは|これから)[^。\\n]{0,80}ます)",
  ].join(''),
  'iu',
)
/** The beginning of a call in the notation of a model's template, or of a message in the name of the system. */
const PROTOCOL =
  /^(?:<\/?(?:function_calls|tool_calls?|tool_use|invoke|function|antml:|system|system-reminder|tool_response|tool_result)[\s=:>]|\[TOOL_CALLS\]|<minimax:tool_call|<seed:tool_call|<[|｜](?:tool|python_tag|im_start|start|channel|system|recipient|DSML|assistant|action_start|plugin)|✿FUNCTION✿|```tool_(?:code|call)|\[?\s{0,20}\{(?=[\s\S]{0,300}"(?:function_?call|tool_calls|arguments|args|input)"\s{0,20}:)|(?:assistant )?to=[\w.]{1,80}|functions\.\w)/i

/** The tags around reasoning that a model writes into its text. */
const THINKING = ['think', 'thinking', 'thought', 'reasoning', 'analysis', 'scratchpad'] as const

/**
 * Judges a model's answer: returns the text without the reasoning that some models write before it, or the reason why it is not a
 * summary. A text that was cut by its limit is not a summary, because the rules come last. Refusals are known in the most common
 * languages, and only short texts without a heading or a list count as one; a finish reason identifies the others.
 */
export function judgeAnswer(
  answer: SummaryAnswer | undefined,
): { readonly text: string } | { readonly problem: AnswerProblem } {
  const shown = typeof answer?.text === 'string' ? answer.text : ''
  const reason = answer?.finishReason ?? ''
  if (FILTERED.test(reason)) return { problem: 'SUMMARY_REFUSED' }
  const text = withoutThinking(shown)
  if (text === '') {
    // Reasoning used up the limit, or the text consists of reasoning only.
    const hasThought =
      shown.trim() !== '' || (typeof answer?.reasoning === 'string' && answer.reasoning.trim() !== '')
    return { problem: hasThought ? 'SUMMARY_REASONING_ONLY' : 'EMPTY_SUMMARY' }
  }
  if (CUT.test(reason)) return { problem: 'SUMMARY_CUT' }
  if (isBrief(text) && REFUSAL.test(text)) return { problem: 'SUMMARY_REFUSED' }
  if (isProtocol(text) || (isBrief(text) && INSTRUCTION.test(text)))
    return { problem: 'SUMMARY_NOT_A_RECORD' }
  return { text }
}

/** The finish reasons that matter, in the spellings of the AI SDK and of the providers. */
const CUT = /^(?:length|max_tokens|max_output_tokens|MAX_TOKENS)$/
const FILTERED = /^(?:content[-_]filter|refusal|SAFETY|PROHIBITED_CONTENT)$/

/** The text after complete blocks of reasoning at its beginning; empty when such a block is not closed. */
function withoutThinking(shown: string): string {
  let text = afterReasoning(shown.trim())
  for (;;) {
    const tag = THINKING.find((name) => text.slice(0, name.length + 2).toLowerCase() === `<${name}>`)
    if (tag === undefined) return text
    const end = text.search(new RegExp(`</${tag}>`, 'i'))
    if (end < 0) return ''
    text = text.slice(end + tag.length + 3).trim()
  }
}

/** The text after reasoning whose beginning is in the prompt: some templates end with `<think>`. */
function afterReasoning(text: string): string {
  const end = /(?:^|\n)[ \t]{0,8}<\/think(?:ing)?>[ \t]{0,8}(?:\n|$)/i.exec(text)
  if (end === null) return text
  const before = text.slice(0, end.index)
  return /<think|```/i.test(before) ? text : text.slice(end.index + end[0].length).trim()
}

/** Whether a text is short and has no line of a summary. */
function isBrief(text: string): boolean {
  return text.length <= REFUSAL_CHARS && !SUMMARY_LINE.test(text)
}

/** Whether a text is the call of a tool, or a message of the system, with at most a short sentence beside it. */
function isProtocol(text: string): boolean {
  if (PROTOCOL.test(text)) return true
  const { form, text: rest } = commandsIn(text, undefined)
  // A sentence that only quotes a call goes on after it.
  const isLast = form === 'marked' && /(?:[>}\])`]|REPLACE)\s{0,20}$/.test(text.slice(-40))
  return isLast && isBrief(rest)
}

/**
 * Chooses the summarizer when a config names a provider and a model for summaries: the given summarizer if it can use them, else the
 * extractive one, and then the result names the requested model. A summarizer without `canUse` is assumed to be able.
 */
export function chosenSummarizer(
  given: Summarizer | undefined,
  provider: string | undefined,
  model: string | undefined,
): { readonly summarizer: Summarizer; readonly insteadOf?: string } {
  const asked = { ...(provider && { provider }), ...(model && { model }) }
  const named = Object.values(asked).join(':')
  if (given !== undefined && given !== extractiveSummarizer && given.canUse?.(asked) !== false)
    return { summarizer: given }
  const insteadOf = named || given?.name
  return insteadOf === undefined || insteadOf === extractiveSummarizer.name
    ? { summarizer: extractiveSummarizer }
    : { summarizer: extractiveSummarizer, insteadOf }
}

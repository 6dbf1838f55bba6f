import { readFileSync } from 'node:fs'
import { type ChatMessage, extractiveSummarizer, type Message } from 'undertext'
import { estimateTokens } from 'undertext/tokens'
import { ToolCallReader } from '../../src/core/summarizers/digest.ts'
import { SUMMARY_SECTIONS } from '../../src/core/summarizers/summarizer.ts'
import { type Conversation, corpusPath, readConversations } from './conversations.ts'
import { identifiersOf, Words } from './identifiers.ts'
import { keptIn, LOOK_AHEAD } from './measure.ts'
import { textOf, wordsOfAssistant } from './parts.ts'
import { type Answer, answer, questionsAt } from './questions.ts'
import { aligned } from './table.ts'
import { tokensOf } from './window.ts'

/*
 * Summaries that models wrote when clients compacted real sessions, beside offline summaries of the same
 * messages and size. The summary is the whole view.
 *
 * Claude Code's session ends where its summary was written, so what was needed next is unknown; the other
 * conversations of the file are other sessions without a summary. The coding session goes on after both of
 * its own.
 */

/** A summary that a model wrote after so many messages. */
type Reference = { readonly afterMessages: number; readonly summary: string }

/** Compares the summaries of models in the corpus with offline ones, and returns the table. */
export async function compareReferences(): Promise<string> {
  // The first of the file begins with the request that the summary quotes.
  const [claude] = readConversations(corpusPath('claude-code.openai.jsonl')).conversations
  const summary = readFileSync(corpusPath('claude-code.reference-summary.txt'), 'utf8')
  const [coding] = readConversations(corpusPath('coding-session.anthropic.jsonl')).conversations
  const summaries = readFileSync(corpusPath('coding-session.summaries.json'), 'utf8')
  const table = aligned([
    ['summary', 'tokens', 'written', 'used later', 'files', 'right', 'wrong'],
    ...(await compare(claude!, [{ afterMessages: claude!.messages.length, summary }])),
    ...(await compare(coding!, JSON.parse(summaries) as Reference[])),
  ])
  return `${table}\n${LEGEND}`
}

const LEGEND = `written: identifiers that the assistant wrote, each as often as it has messages with it
used later: identifiers that the assistant uses in the ${LOOK_AHEAD} messages after the summary
files: changed files whose base names the summary has
right, wrong: questions about facts; their lookup reads lines of offline summaries and not the prose of models
`

/** Two rows for each summary. As the models did, the offline summarizer goes on from its last summary. */
async function compare(
  { name, messages }: Conversation,
  references: readonly Reference[],
): Promise<string[][]> {
  const rows: string[][] = []
  let [from, previousSummary] = [0, '']
  for (const { afterMessages, summary } of references) {
    const sources = messages.slice(from, afterMessages)
    const calls = new ToolCallReader()
    for (const message of sources) calls.add(message as Message)
    const { text } = await extractiveSummarizer.summarize({
      sessionId: name,
      messages: sources.map((message) => ({ ...(message as Message), kind: 'message' })),
      previousSummary,
      sections: SUMMARY_SECTIONS,
      maxTokens: estimateTokens(summary),
      files: calls.files(),
    })
    rows.push([`${name} at ${afterMessages}, by a model`, ...figuresOf(summary, messages, afterMessages)])
    rows.push([`${name} at ${afterMessages}, offline`, ...figuresOf(text, messages, afterMessages)])
    from = afterMessages
    previousSummary = text
  }
  return rows
}

function viewOf(summary: string): readonly ChatMessage[] {
  return [{ role: 'system', content: summary }]
}

/** The figures of one summary of the messages before a cut. */
function figuresOf(summary: string, messages: readonly ChatMessage[], cut: number): string[] {
  const before = messages.slice(0, cut)
  const view = viewOf(summary)
  const known = new Words(textOf(before))
  const used = identifiersOf(wordsOfAssistant(messages.slice(cut, cut + LOOK_AHEAD)))
  const later = [...used].filter((identifier) => known.has(identifier))
  const written = before.flatMap((message) => [...identifiersOf(wordsOfAssistant([message]))])
  const questions = questionsAt(before)
  const answers = questions.map((question) => answer(question, view))
  const shareOfAnswers = (said: Answer) =>
    shareOf(answers.filter((one) => one === said).length, answers.length)
  const files = questions.flatMap((one) =>
    one.kind === 'changed' && one.expected === 'yes' ? [one.path] : [],
  )
  const named = files.map((path) => path.slice(path.lastIndexOf('/') + 1))
  return [
    String(tokensOf(view)),
    shareOf(keptIn(view, written), written.length),
    later.length === 0 ? 'unknown' : shareOf(keptIn(view, later), later.length),
    shareOf(keptIn(view, named), named.length),
    shareOfAnswers('right'),
    shareOfAnswers('wrong'),
  ]
}

function shareOf(part: number, all: number): string {
  return `${(part / all).toFixed(3)} of ${all}`
}

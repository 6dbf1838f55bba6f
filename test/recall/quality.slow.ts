import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/index.ts'
import { fromOpenAI } from '../../src/adapters/openai/index.ts'
import { type NewMessage, openStore } from '../../src/index.ts'
import { recallTools } from '../../src/store/recall/index.ts'
import { randomFrom } from '../support/random.ts'
import { sharedPath } from '../support/shared.ts'
import { type LogQuestion, questionsAbout } from './log-questions.ts'
import { madeUpLog } from './made-up-log.ts'
import { callsToFind } from './scripted-model.ts'

/*
 * Facts that compaction to 10 % hides are found again by a scripted model in at most two calls. `claude-code`, and the stories of the
 * made-up log, were not looked at while the tools were made.
 */

const CORPUS = ['coding-session.anthropic', 'claude-code.openai']
/** In the long mode: they take minutes. */
const MORE = [
  'aider.openai',
  'issue-resolver.openai',
  'react-agent.openai',
  'airline-support.openai',
  'retail-support.openai',
  'travel-zh.openai',
]
const [QUESTIONS, LEAST_SHARE] = [200, 0.9]

it.for(process.env.LONG === '1' ? [...CORPUS, ...MORE] : CORPUS)(
  'of %s, at least nine of ten facts are found again',
  { timeout: 600_000 },
  async (name, context) => {
    const path = sharedPath(`corpus/${name}.jsonl`)
    if (path === undefined) return context.skip()
    const lines = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { messages: never })
    await expectFound(
      name,
      name.endsWith('.anthropic')
        ? fromAnthropic(lines as never)
        : lines.flatMap(({ messages }) => fromOpenAI(messages)),
    )
  },
)

it.each(['service', 'story'] as const)(
  'of a made-up log of the kind %s, too',
  async (kind) => {
    const { messages, questions } = madeUpLog(kind, QUESTIONS, randomFrom(11))
    await expectFound(`made-up ${kind}`, messages, questions)
  },
  600_000,
)

async function expectFound(
  name: string,
  messages: readonly NewMessage[],
  given?: readonly LogQuestion[],
): Promise<void> {
  await using store = await openStore(':memory:')
  await store.append('s', messages)
  const { tokensBefore } = (await store.previewCompaction('s'))!
  await store.compactSession('s', { targetTokens: Math.floor(tokensBefore / 10) })
  const view = await store.getEffectiveHistory('s')
  const shown = new Set(
    view.flatMap(({ position, replacedParts }) => (replacedParts ? [] : (position ?? []))),
  )
  const isHidden = (message: number): boolean => !shown.has(message + 1)
  const questions =
    given?.filter(({ message }) => isHidden(message)) ??
    questionsAbout(messages, isHidden, QUESTIONS, randomFrom(7))
  const tools = recallTools(store, 's')
  const counts = [0, 0, 0]
  const missed = new Map<string, number>()
  for (const { question, answer, kind } of questions) {
    expect(question).not.toContain(answer)
    const calls = await callsToFind(tools, question, answer)
    counts[calls]!++
    if (calls === 0) missed.set(kind, (missed.get(kind) ?? 0) + 1)
  }
  const share = (counts[1]! + counts[2]!) / questions.length
  console.info(
    `${name}: ${messages.length} messages, ${questions.length} questions, found ${share.toFixed(3)}, with one call ${(counts[1]! / questions.length).toFixed(3)}, missed ${[...missed].map(([kind, count]) => `${kind} ${count}`).join(', ') || 'none'}`,
  )
  expect(questions.length).toBeGreaterThan(20)
  expect(share).toBeGreaterThanOrEqual(LEAST_SHARE)
}

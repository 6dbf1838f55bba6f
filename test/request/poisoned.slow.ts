import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/index.ts'
import { fromOpenAI } from '../../src/adapters/openai/index.ts'
import type { NewMessage } from '../../src/index.ts'
import { type Answered, answerPoisoned, OWN_HISTORIES } from '../support/poisoned-histories.ts'
import { SEED } from '../support/seed.ts'
import { sharedPath } from '../support/shared.ts'

/** Stretches of recorded conversations, none where they are absent. */
function corpus(): NewMessage[][] {
  const linesOf = (name: string): unknown[] => {
    const path = sharedPath(`corpus/${name}`)
    return path === undefined
      ? []
      : readFileSync(path, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
  }
  const coding = fromAnthropic(linesOf('coding-session.anthropic.jsonl') as never)
  const airline = linesOf('airline-support.openai.jsonl') as { messages?: unknown }[]
  const chats = airline.flatMap(({ messages }) =>
    Array.isArray(messages) ? [fromOpenAI(messages as never)] : [],
  )
  const stretches: NewMessage[][] = []
  for (let at = 0; at < coding.length; at += 20) stretches.push(coding.slice(at, at + 20) as NewMessage[])
  const all = [...stretches, ...chats.slice(0, 20).map((messages) => messages as NewMessage[])]
  // Those that would be compacted test something else.
  return all.filter((messages) => JSON.stringify(messages).length < 60_000)
}

it('300 poisoned histories are all answered, nine in ten by the first call', {
  timeout: 300_000,
}, async () => {
  const bases = [...OWN_HISTORIES, ...corpus()]
  const all: Answered[] = []
  for (let one = 0; one < 300; one++) {
    const seed = SEED * 1_000 + one
    const answered = await answerPoisoned(seed, bases).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error })
    })
    all.push(answered)
  }
  const sum = (of: (one: Answered) => number): number => all.reduce((total, one) => total + of(one), 0)
  console.info({
    byFirstCall: all.filter(({ calls }) => calls === 1).length,
    attempts: sum(({ attempts }) => attempts),
    repairs: sum(({ repairs }) => repairs),
    besides: sum(({ besides }) => besides),
  })
  expect(all.filter(({ calls }) => calls === 1).length).toBeGreaterThanOrEqual(260)
})

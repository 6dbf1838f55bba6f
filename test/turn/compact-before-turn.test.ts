import { expect, it } from 'vitest'
import { assistantMessage, compactBeforeTurn, systemMessage, userMessage } from '../../src/compat/index.ts'
import type { ContextStrategy } from '../../src/index.ts'
import { expectFailure, failureOf } from '../support/failures.ts'

type Said = { readonly role: string; readonly content: string }

/** A strategy that notes what it is asked, counts ten tokens a message, and keeps the newest. */
function spy(limit: number): ContextStrategy<Said> & { readonly calls: unknown[][] } {
  const calls: unknown[][] = []
  return {
    calls,
    tokenEstimate(messages) {
      calls.push(['tokenEstimate', messages])
      return 10 * messages.length
    },
    shouldCompact(messages, tokenCount) {
      calls.push(['shouldCompact', messages, tokenCount])
      return tokenCount > limit
    },
    async compact(messages) {
      calls.push(['compact', messages])
      return messages.slice(-1)
    },
  }
}

const messages = [systemMessage('Be brief.'), userMessage('Hello?'), assistantMessage('Hello.')]

it('makes messages of a text', () => {
  expect(messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello?' },
    { role: 'assistant', content: 'Hello.' },
  ])
})

it('refuses a message of anything else', async () => {
  for (const make of [systemMessage, userMessage, assistantMessage])
    expectFailure(await failureOf(() => make(5 as never)), 'INVALID_INPUT', make.name)
})

it('estimates, decides, compacts', async () => {
  const strategy = spy(29)
  const turn = await compactBeforeTurn(strategy, messages)
  expect(strategy.calls).toEqual([
    ['tokenEstimate', messages],
    ['shouldCompact', messages, 30],
    ['compact', messages],
  ])
  expect(turn.messages).toEqual([messages[2]])
  expect([turn.compacted, turn.tokensBefore, turn.tokensAfter, turn.tokensAfter]).toEqual([true, 30, 10, 10])
  // The figure behind is estimated when it is asked for, once.
  expect(strategy.calls).toHaveLength(4)
})

it('does not compact when the strategy returns false', async () => {
  const strategy = spy(30)
  const turn = await compactBeforeTurn(strategy, messages)
  expect(strategy.calls.map(([name]) => name)).toEqual(['tokenEstimate', 'shouldCompact'])
  expect(turn).toEqual({ messages, compacted: false, tokensBefore: 30, tokensAfter: 30 })
})

it('passes on the error of a strategy', async () => {
  const error = new Error('no model')
  const strategy = { ...spy(0), compact: () => Promise.reject(error) }
  await expect(compactBeforeTurn(strategy, messages)).rejects.toBe(error)
})

it.each<[string, unknown, unknown]>([
  ['no strategy', undefined, messages],
  ['a strategy without compact', { tokenEstimate: () => 1, shouldCompact: () => true }, messages],
  ['an estimate that is no number', { ...spy(0), tokenEstimate: () => Number.NaN }, messages],
  ['a compact that answers no list', { ...spy(0), compact: () => 'short' }, messages],
  ['messages that are no list', spy(0), 'hello'],
])('refuses %s', async (what, strategy, given) => {
  expectFailure(
    await failureOf(() => compactBeforeTurn(strategy as never, given as never)),
    'INVALID_INPUT',
    what,
  )
})

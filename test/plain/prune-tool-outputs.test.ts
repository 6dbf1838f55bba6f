import { describe, expect, it } from 'vitest'
import { pruneToolOutputs } from '../../src/compat/arrays/index.ts'
import type { ChatMessage } from '../../src/core/model/message-parts.ts'
import { assistant, call, deepFreeze, result, user } from './support.ts'

/*
 * Without a provider a text of n units (4 characters each) is ceil(n × 1.15) tokens; the placeholder, 21
 * characters, is ceil(6 × 1.15) = 7.
 */
const units = (n: number): string => 'x'.repeat(4 * n)
const output = (n: number, tool = 'look'): ChatMessage[] => [call(tool), result(tool, units(n))]
const CLEARED = '[Tool result cleared]'
const ALL = { protectTokens: 0, minimumSavings: 0 }

function cleared(messages: readonly ChatMessage[]): number[] {
  return messages.flatMap(({ content }, index) => (content === CLEARED ? [index] : []))
}

describe('protects the newest outputs, as long as the later ones take less than protectTokens [S3-098 S3-099]', () => {
  // 34,781 units are 39,999 tokens, 34,782 are 40,000.
  it.each([
    { newest: 34_781, cleared: [1] },
    { newest: 34_782, cleared: [1, 3] },
  ])('a newest output of $newest units', ({ newest, cleared: expected }) => {
    const messages = [...output(100), ...output(100), ...output(newest)]
    expect(cleared(pruneToolOutputs(messages, { minimumSavings: 0 }).messages)).toEqual(expected)
  })

  it('whatever the size of the last one protected', () => {
    const messages = [...output(100), ...output(90_000)]
    expect(cleared(pruneToolOutputs(messages, { ...ALL, protectTokens: 1 }).messages)).toEqual([1])
  })
})

it.each([
  { old: 17_396, saved: 19_999, pruned: false },
  { old: 17_397, saved: 20_000, pruned: true },
])('at a saving of $saved pruned is $pruned [S3-100 S3-103 S3-105]', ({ old, saved, pruned }) => {
  const messages = [...output(old), ...output(34_782)]
  const outcome = pruneToolOutputs(messages)
  expect(outcome).toMatchObject({ pruned, tokensSaved: pruned ? saved : 0 })
  expect(cleared(outcome.messages)).toEqual(pruned ? [1] : [])
})

it('leaves results of protected tools, which use up no protection [S3-101]', () => {
  const messages = [...output(100), ...output(100, 'skill'), ...output(100), ...output(90_000, 'skill')]
  expect(cleared(pruneToolOutputs(messages, { protectTokens: 1, minimumSavings: 0 }).messages)).toEqual([1])
  expect(cleared(pruneToolOutputs(messages, { ...ALL, protectedTools: ['look'] }).messages)).toEqual([3, 7])
})

it('knows the tool of a result by its call [S3-101]', () => {
  const messages: ChatMessage[] = [
    { ...call('skill'), toolCallId: 'a' },
    { role: 'tool_result', content: units(100), toolCallId: 'a' },
  ]
  expect(pruneToolOutputs(messages, ALL).pruned).toBe(false)
})

it('counts for the provider [S3-102]', () => {
  // 10,000 units: 11,500 tokens; for anthropic × 1.23: 14,145. The placeholder: 7, and ceil(6 × 1.4145) = 9.
  const messages = [...output(10_000)]
  expect(pruneToolOutputs(messages, ALL).tokensSaved).toBe(11_493)
  expect(pruneToolOutputs(messages, { ...ALL, provider: 'anthropic' }).tokensSaved).toBe(14_136)
})

it('gives the list as it was when nothing is pruned [S3-104]', () => {
  const messages = deepFreeze([...output(100)])
  const outcome = pruneToolOutputs(messages)
  expect(outcome).toEqual({ pruned: false, messages, tokensSaved: 0 })
  expect(outcome.messages).not.toBe(messages)
})

it('changes tool results and nothing else, and of them the content [S3-106]', () => {
  const messages = deepFreeze([
    user(units(500)),
    { ...call('look', { q: units(500) }), extra: 1 },
    { ...result('look', units(500)), extra: 2 },
    assistant(units(500)),
  ])
  const { messages: pruned } = pruneToolOutputs(messages, ALL)
  expect(pruned).toEqual([messages[0], messages[1], { ...messages[2], content: CLEARED }, messages[3]])
  expect(pruned[0]).toBe(messages[0])
})

it('changes one part of a neutral message and no other [S3-106]', () => {
  const part = (id: string, value: string) =>
    ({ type: 'tool-result', toolCallId: id, output: { type: 'text', value } }) as const
  const messages = deepFreeze([
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} }] as const,
    },
    {
      role: 'user',
      content: [part('a', units(500)), { type: 'text', text: units(500) }] as const,
    },
  ])
  const { messages: pruned } = pruneToolOutputs<ChatMessage>(messages, ALL)
  expect(pruned[1]!.content).toEqual([part('a', CLEARED), messages[1]!.content[1]])
})

it('leaves failed results, unless they are asked for, and prunes nothing twice', () => {
  for (const failure of [{ result: { success: false } }, { isError: true }]) {
    const failed = { ...result('look', units(500)), ...failure }
    expect(pruneToolOutputs([call('look'), failed], ALL).pruned).toBe(false)
    const { messages } = pruneToolOutputs([call('look'), failed], { ...ALL, failedResults: true })
    expect(messages).toEqual([call('look'), { ...failed, content: CLEARED }])
  }
  const once = pruneToolOutputs([...output(500)], ALL).messages
  expect(pruneToolOutputs(once, ALL)).toEqual({ pruned: false, messages: once, tokensSaved: 0 })
})

it('counts the images of a result [S3-105]', () => {
  const output = { type: 'content', value: [{ type: 'image', image: 'aGk=' }] } as const
  const messages: ChatMessage[] = [
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'look', output }] },
  ]
  expect(pruneToolOutputs(messages, ALL).tokensSaved).toBe(1_024 - 7)
})

it('passes hidden messages through', () => {
  const hidden = { ...result('look', units(500)), condenseParent: 'c' }
  expect(pruneToolOutputs([hidden], ALL)).toMatchObject({ pruned: false, messages: [hidden] })
})

it('refuses a misspelled option', () => {
  expect(() => pruneToolOutputs([], { protectToken: 1 } as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT' }),
  )
})

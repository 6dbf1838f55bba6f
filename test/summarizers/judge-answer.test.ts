import { expect, it } from 'vitest'
import { judgeAnswer } from '../../src/summarizers/judge-answer.ts'

it.each([
  ['a text', { text: ' # Work\n- done ' }, { text: '# Work\n- done' }],
  ['nothing', undefined, { problem: 'EMPTY_SUMMARY' }],
  ['no text', { text: ' \n' }, { problem: 'EMPTY_SUMMARY' }],
  ['what is no text', { text: 7 as never }, { problem: 'EMPTY_SUMMARY' }],
  ['thoughts apart', { text: '', reasoning: 'hm' }, { problem: 'SUMMARY_REASONING_ONLY' }],
  [
    'thoughts up to the limit',
    { text: '', reasoning: 'hm', finishReason: 'length' },
    { problem: 'SUMMARY_REASONING_ONLY' },
  ],
  [
    'blocks of thoughts',
    { text: '<think>a</think> <thinking>b</thinking>' },
    { problem: 'SUMMARY_REASONING_ONLY' },
  ],
  ['a block that is never closed', { text: '<think>and so on' }, { problem: 'SUMMARY_REASONING_ONLY' }],
  ['thoughts and a text', { text: '<think>a</think>\n<think>b</think>\nWork.' }, { text: 'Work.' }],
  [
    'a text that speaks of them',
    { text: 'The parser drops <think>x</think>.' },
    { text: 'The parser drops <think>x</think>.' },
  ],
  ['a text that was cut', { text: 'Work', finishReason: 'length' }, { problem: 'SUMMARY_CUT' }],
  ['what a filter stopped', { text: 'Work', finishReason: 'content-filter' }, { problem: 'SUMMARY_REFUSED' }],
  ['Anthropic’s refusal', { text: '', finishReason: 'refusal' }, { problem: 'SUMMARY_REFUSED' }],
  ['a refusal', { text: "I'm sorry, but I can't assist with that." }, { problem: 'SUMMARY_REFUSED' }],
  ['another', { text: 'I cannot summarize this conversation.' }, { problem: 'SUMMARY_REFUSED' }],
  ['a third', { text: 'Unfortunately, I am unable to help.' }, { problem: 'SUMMARY_REFUSED' }],
] as const)('%s', (_, answer, expected) => {
  expect(judgeAnswer(answer)).toEqual(expected)
})

it('a summary that describes a refusal is not one', () => {
  for (const text of [
    'The user asked for a key; the assistant said: I cannot help with that.',
    "I'm sorry was all the assistant said.\n\n## Pending Tasks\n- answer the customer",
    `I can't reproduce the failure. ${'The tests were run again. '.repeat(20)}`,
    'I canned the fruit.',
  ])
    expect(judgeAnswer({ text })).toEqual({ text: text.trim() })
})

it('takes time that grows with the text alone', () => {
  const long = '<think>'.repeat(200_000)
  expect(judgeAnswer({ text: long })).toEqual({ problem: 'SUMMARY_REASONING_ONLY' })
  const many = '<think></think>'.repeat(2_000)
  expect(judgeAnswer({ text: `${many}Work.` })).toEqual({ text: 'Work.' })
})

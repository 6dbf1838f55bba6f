import { expect, it } from 'vitest'
import { composite, dropReasoning, slidingWindow, summarizeOlder } from '../../src/compat/arrays/index.ts'
import type { ChatMessage, Summarizer } from '../../src/index.ts'

const turn = (at: number): ChatMessage[] => [
  { role: 'user', content: `question ${at}` },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: `thought ${at}` },
      { type: 'text', text: `answer ${at}` },
    ],
  },
]

it('leaves out the reasoning of older turns, and no part besides', async () => {
  const messages = [...turn(1), ...turn(2), ...turn(3)]
  const kept = await dropReasoning({ keepTurns: 1 }).compact(messages)
  expect(kept.map(({ content }) => content)).toEqual([
    'question 1',
    [{ type: 'text', text: 'answer 1' }],
    'question 2',
    [{ type: 'text', text: 'answer 2' }],
    'question 3',
    messages[5]!.content,
  ])
})

it.each(['', null])(
  'keeps calls, results and empty messages of other forms (content %j)',
  async (content) => {
    const call = { id: 'c1', type: 'function', function: { name: 't', arguments: '{}' } }
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: '' },
      { role: 'assistant', content: 'done' },
      ...turn(2),
      ...turn(3),
    ] as never as ChatMessage[]
    const kept = await dropReasoning().compact(messages)
    expect(kept.map(({ role }) => role)).toEqual(messages.map(({ role }) => role))
    expect(kept.slice(0, 4)).toEqual(messages.slice(0, 4))
  },
)

it('a composite passes its options to the strategies in it that lack them', async () => {
  const asked: string[] = []
  const named = (name: string): Summarizer => ({
    name,
    usesModel: true,
    summarize: () => {
      asked.push(name)
      return { text: `by ${name}` }
    },
  })
  const messages = Array.from(
    { length: 8 },
    (_, at): ChatMessage => ({
      role: at % 2 ? 'assistant' : 'user',
      content: `message ${at} `.repeat(20),
    }),
  )
  const outer = { summarizer: named('outer'), summaryPreset: 'neuron' } as const
  const inherited = composite({ ...outer, stages: [summarizeOlder({ keepLast: 2 })] })
  const { messages: kept } = await inherited.apply(messages, 200)
  expect(kept[0]).toMatchObject({ role: 'user', content: '[Summary of earlier conversation]\nby outer' })
  const own = composite({ ...outer, stages: [summarizeOlder({ keepLast: 2, summarizer: named('inner') })] })
  await own.apply(messages, 200)
  expect(asked).toEqual(['outer', 'inner'])
})

it('a window in a composite counts by the estimator of the composite', async () => {
  const messages = Array.from(
    { length: 40 },
    (_, at): ChatMessage => ({
      role: at % 2 ? 'assistant' : 'user',
      content: '你好世界'.repeat(20),
    }),
  )
  const chain = composite({ estimator: 'calibrated', stages: [slidingWindow({ fitBudget: true })] })
  const alone = slidingWindow({ fitBudget: true, estimator: 'calibrated' })
  const [one, other] = await Promise.all([chain.apply(messages, 1_000), alone.apply(messages, 1_000)])
  expect(one.overBudget).toBe(false)
  expect(one.hidden).toEqual(other.hidden)
})

import { Agent, run, setTracingDisabled, tool, Usage } from '@openai/agents'
import { assistantMessage, functionCall, modelResponse, ScriptedModel } from '@openai/agents/testing'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../src/index.ts'

setTracingDisabled(true)

type Output = ReturnType<typeof assistantMessage> | ReturnType<typeof functionCall>
const answer = (...output: Output[]) =>
  modelResponse({
    output,
    usage: new Usage({ requests: 1, inputTokens: 50, outputTokens: 7, totalTokens: 57 }),
  })
const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: z.object({ at: z.string() }),
  execute: ({ at }) => `seen ${at}`,
})

it.each([false, true])(
  'each answer of a turn with several steps has its request, streamed: %s',
  async (stream) => {
    await using store = await openStore(':memory:')
    const session = new UndertextSession({ store, sessionId: 's', provider: 'openai', model: 'made-up-1' })
    const model = new ScriptedModel([
      answer(assistantMessage('First.')),
      answer(
        assistantMessage('I look twice.'),
        functionCall('look', { at: 'x' }, { callId: 'c1' }),
        functionCall('look', { at: 'y' }, { callId: 'c2' }),
      ),
      answer(functionCall('look', { at: 'z' }, { callId: 'c3' })),
      answer(assistantMessage('Done.')),
    ])
    const agent = new Agent({
      name: 'A',
      instructions: 'Be brief.',
      model: session.recovering(model),
      tools: [look],
    })
    for (const question of ['One?', 'Two?']) {
      const result = await run(agent, question, { session, stream: stream as never })
      await (result as { completed?: Promise<void> }).completed
    }
    // One?, First., Two?, I look twice., two calls and their results, a call and its result, Done.
    const requests = await store.requests.list('s')
    expect(requests.map(({ answerPositions }) => answerPositions)).toEqual([
      [2, 2],
      [4, 6],
      [9, 9],
      [11, 11],
    ])
    const rows = await store.getMessages('s')
    expect(rows).toHaveLength(11)
    for (const [at, { id, answerPositions }] of requests.entries()) {
      const [first, last] = answerPositions!
      for (const { id: answer } of rows.slice(first - 1, last)) {
        const seen = await store.requests.get('s', { answer })
        expect({ id: seen.id, matches: seen.matches, messages: seen.messages.length }).toEqual({
          ...{ id, matches: true },
          messages: model.calls[at]!.request.input.length,
        })
      }
    }
    for (const answer of [1, 3, 7, 8, 10])
      await expect(store.requests.get('s', { answer })).rejects.toMatchObject({ code: 'REQUEST_NOT_FOUND' })
  },
)

it('an answer that was not stored leaves its request to no later, equal answer', async () => {
  await using store = await openStore(':memory:')
  const session = new UndertextSession({ store, sessionId: 's', provider: 'openai', model: 'made-up-1' })
  const same = [1, 2, 3].map(() => answer(assistantMessage('OK.')))
  const model = new ScriptedModel([answer(assistantMessage('Hi.')), ...same])
  let isRejected = false
  const agent = new Agent({
    name: 'A',
    model: session.recovering(model),
    outputGuardrails: [
      { name: 'g', execute: async () => ({ tripwireTriggered: isRejected, outputInfo: {} }) },
    ],
  })
  await run(agent, 'Zero?', { session })
  isRejected = true
  await expect(run(agent, 'One?', { session })).rejects.toThrow()
  isRejected = false
  await run(agent, 'Two?', { session })
  await run(agent, 'Three?', { session })
  // Zero?, Hi., One?, Two?, OK., Three?, OK.
  const requests = await store.requests.list('s')
  expect(requests.map(({ answerPositions }) => answerPositions)).toEqual([[2, 2], undefined, [5, 5], [7, 7]])
  for (const [answer, question] of [
    [5, 'Two?'],
    [7, 'Three?'],
  ] as const)
    expect((await store.requests.get('s', { answer })).messages.at(-1)).toMatchObject({ content: question })
})

it.each(['calls', 'ids', 'questions'])(
  'runs at the same time with equal texts differ by their %s',
  async (what) => {
    await using store = await openStore(':memory:')
    const session = new UndertextSession({ store, sessionId: 's', provider: 'openai', model: 'made-up-1' })
    const answerOf = (name: string) => {
      const message = assistantMessage('OK.')
      if (what === 'ids') return answer({ ...message, id: name })
      return what === 'calls'
        ? answer(message, functionCall('look', { at: name }, { callId: name }))
        : answer(message)
    }
    const model = session.recovering(new ScriptedModel([answerOf('one'), answerOf('two')]))
    await session.getItems()
    const inputs = ['One?', 'Two?'].map((content) => [{ type: 'message', role: 'user', content }])
    const outputs = await Promise.all(
      inputs.map(
        async (input) => (await model.getResponse({ input, tools: [], modelSettings: {} } as never)).output,
      ),
    )
    const isAlone = what !== 'questions'
    for (const at of [0, 1]) await session.addItems([...(isAlone ? [] : inputs[at]!), ...outputs[at]!])
    const length = what === 'ids' ? 1 : 2
    const requests = await store.requests.list('s')
    const [first, last] = [1 + (isAlone ? 0 : 1), length]
    expect(requests.map(({ answerPositions }) => answerPositions)).toEqual([
      [first, last],
      [first + length, last + length],
    ])
    for (const [at, { id }] of requests.entries())
      expect((await store.requests.get('s', id)).messages.at(-1)).toMatchObject({
        content: ['One?', 'Two?'][at],
      })
  },
)

it('equal answers of calls at the same time have no requests when nothing else differs', async () => {
  await using store = await openStore(':memory:')
  const session = new UndertextSession({ store, sessionId: 's', provider: 'openai', model: 'made-up-1' })
  const model = session.recovering(
    new ScriptedModel([answer(assistantMessage('OK.')), answer(assistantMessage('OK.'))]),
  )
  await session.getItems()
  const ask = (content: string) =>
    model.getResponse({
      input: [{ type: 'message', role: 'user', content }],
      tools: [],
      modelSettings: {},
    } as never)
  const [{ output }] = await Promise.all([ask('One?'), ask('Two?')])
  await session.addItems(output)
  expect((await store.requests.list('s')).map(({ answerPositions }) => answerPositions)).toEqual([
    undefined,
    undefined,
  ])
})

it('steps that say the same and are stored at once have their own requests', async () => {
  await using store = await openStore(':memory:')
  const session = new UndertextSession({ store, sessionId: 's', provider: 'openai', model: 'made-up-1' })
  const looking = (callId: string) =>
    answer(assistantMessage('OK.'), functionCall('look', { at: callId }, { callId }))
  const model = new ScriptedModel([looking('c1'), looking('c2'), answer(assistantMessage('OK.'))])
  const agent = new Agent({ name: 'A', model: session.recovering(model), tools: [look] })
  await run(agent, 'Look.', { session })
  // Look., OK. with a call, its result, OK. with a call, its result, OK.
  expect((await store.requests.list('s')).map(({ answerPositions }) => answerPositions)).toEqual([
    [2, 3],
    [5, 6],
    [8, 8],
  ])
})

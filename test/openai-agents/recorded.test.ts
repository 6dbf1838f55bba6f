import { Agent, run, setTracingDisabled, tool, Usage } from '@openai/agents'
import { assistantMessage, functionCall, modelResponse, ScriptedModel } from '@openai/agents/testing'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { openStore } from '../../src/index.ts'
import { UndertextSession } from '../../src/openai-agents.ts'

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
    const requests = await store.listRequests('s')
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
        const seen = await store.getRequest('s', { answer })
        expect({ id: seen.id, matches: seen.matches, messages: seen.messages.length }).toEqual({
          ...{ id, matches: true },
          messages: model.calls[at]!.request.input.length,
        })
      }
    }
    for (const answer of [1, 3, 7, 8, 10])
      await expect(store.getRequest('s', { answer })).rejects.toMatchObject({ code: 'REQUEST_NOT_FOUND' })
  },
)

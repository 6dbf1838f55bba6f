import { Agent, MemorySession, run, type Session, setTracingDisabled, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { afterAll, expect, it } from 'vitest'
import { z } from 'zod'
import { openStore } from '../../src/index.ts'
import { UndertextSession } from '../../src/openai-agents.ts'

setTracingDisabled(true)
const store = await openStore(':memory:')
afterAll(() => store.close())

/** An agent whose answers are blocked until one is harmless. */
async function talkTo(session: Session): Promise<unknown[]> {
  const model = new ScriptedModel([
    [functionCall('look', { at: 'x' }, { callId: 'c1' })],
    [assistantMessage('The secret is 7.')],
    [assistantMessage('Nothing to see.')],
  ])
  const agent = new Agent({
    name: 'Guarded',
    model,
    tools: [
      tool({
        name: 'look',
        description: 'Looks.',
        parameters: z.object({ at: z.string() }),
        execute: () => 'seven',
      }),
    ],
    outputGuardrails: [
      {
        name: 'no secrets',
        execute: async ({ agentOutput }) => ({
          outputInfo: {},
          tripwireTriggered: JSON.stringify(agentOutput).includes('secret'),
        }),
      },
    ],
  })
  const told: unknown[] = []
  for (const question of ['Tell me.', 'Anything?']) {
    try {
      told.push((await run(agent, question, { session })).finalOutput)
    } catch (error) {
      told.push((error as Error).name)
    }
    told.push(await session.getItems())
  }
  return told
}

it('a blocked answer leaves the same history as with the sessions of the SDK', async () => {
  const theirs = await talkTo(new MemorySession({ sessionId: 's' }))
  const ours = await talkTo(new UndertextSession({ store, sessionId: 's' }))
  expect(ours).toEqual(theirs)
  expect(theirs[2]).toBe('Nothing to see.')
})

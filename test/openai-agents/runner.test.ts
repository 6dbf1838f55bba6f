import { Agent, MemorySession, run, type Session, setTracingDisabled, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { afterAll, expect, it } from 'vitest'
import { z } from 'zod'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../src/index.ts'
import { asRecord } from '../support/record.ts'

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

it('the transactions of blocked answers reach the session', async () => {
  const applied: string[] = []
  class Watched extends UndertextSession {
    override async applyHistoryTransaction(
      ...args: Parameters<UndertextSession['applyHistoryTransaction']>
    ): Promise<void> {
      applied.push(args[0].transaction.type)
      await super.applyHistoryTransaction(...args)
    }
  }
  await talkTo(new Watched({ store, sessionId: 'watched' }))
  expect(applied).toContain('append_items')
})

it('compacts after a turn, and the run counts what the summary took', async () => {
  const small = await openStore(':memory:', { contextWindows: { openai: { tiny: 4_000 } } })
  const summarizer = {
    name: 'm',
    usesModel: true,
    summarize: () => ({ text: 'They talked.', usage: { inputTokens: 90, outputTokens: 5 } }),
  }
  const session = new UndertextSession({
    store: small,
    sessionId: 's',
    compact: { summarizer },
    provider: 'openai',
    model: 'tiny',
  })
  const story = 'Once upon a time there was a light by the sea. '.repeat(60)
  const steps = Array.from({ length: 6 }, () => [assistantMessage(story)])
  const agent = new Agent({ name: 'Teller', model: new ScriptedModel(steps) })
  let summed = 0
  for (let turn = 1; turn <= 6; turn++) {
    const { state } = await run(agent, `Story ${turn}, please.`, { session })
    summed += state.usage.totalTokens
  }
  const summaries = (await small.listCompactions('s')).filter(({ kind }) => kind === 'condense')
  expect(summaries.length).toBeGreaterThan(0)
  expect(summed).toBe(95 * summaries.length)
  const [first] = await session.getItems()
  expect(first).toMatchObject({ role: 'user', content: asRecord('They talked.') })
  await small.close()
})

import {
  Agent,
  type AgentInputItem,
  type ModelProvider,
  Runner,
  run,
  setTracingDisabled,
  tool,
  Usage,
} from '@openai/agents'
import {
  assistantMessage,
  functionCall,
  modelError,
  modelResponse,
  ScriptedModel,
  type ScriptedModelInput,
} from '@openai/agents/testing'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../src/index.ts'

setTracingDisabled(true)

const words = 'It had seemed simple enough in the morning. '
const overflow = (): Error =>
  Object.assign(
    new Error(
      "400 This model's maximum context length is 8192 tokens. However, your messages resulted in 30000 tokens.",
    ),
    { status: 400, code: 'context_length_exceeded' },
  )
const usage = () =>
  new Usage({
    requests: 1,
    inputTokens: 5_000,
    outputTokens: 7,
    totalTokens: 5_007,
    inputTokensDetails: { cached_tokens: 1_000 },
  })
type Output = ReturnType<typeof assistantMessage> | ReturnType<typeof functionCall>
const answer = (...output: Output[]): ScriptedModelInput => modelResponse({ output, usage: usage() })
const done = (): ScriptedModelInput => answer(assistantMessage('Done.'))

type Store = Awaited<ReturnType<typeof openStore>>
async function tellMuch(store: Store): Promise<void> {
  for (let at = 0; at < 20; at++)
    await store.forOwner('ann').append('s', [
      { role: 'user', content: words.repeat(40) },
      { role: 'assistant', content: words.repeat(40) },
    ])
}
const sessionOf = (store: Store): UndertextSession =>
  new UndertextSession({ store, sessionId: 's', provider: 'openai', model: 'made-up-1', owner: 'ann' })

const inputsOf = (model: ScriptedModel): AgentInputItem[][] =>
  model.calls.map(({ request }) => request.input as AgentInputItem[])
const timesSaid = (items: readonly AgentInputItem[], said: string): number =>
  items.filter((item) => JSON.stringify(item).includes(said)).length

async function expectRecovered(store: Store, model: ScriptedModel): Promise<void> {
  const inputs = inputsOf(model)
  expect(inputs).toHaveLength(2)
  const [whole, shorter] = inputs.map((input) => JSON.stringify(input).length)
  expect(shorter!).toBeLessThan(whole! * 0.7)
  expect(inputs.map((input) => timesSaid(input, 'And now?'))).toEqual([1, 1])
  expect(model.calls.map(({ request }) => request.systemInstructions)).toEqual(['Be brief.', 'Be brief.'])
  expect(await store.sessions.get('s')).toMatchObject({
    provider: 'openai',
    model: 'made-up-1',
    owner: 'ann',
    // 40 messages from before, the question and the answer.
    messageCount: 42,
  })
  expect((await store.listCompactions('s')).map(({ trigger }) => trigger)).toContain('overflow')
  expect(await store.limits.list()).toMatchObject([{ provider: 'openai', model: 'made-up-1', tokens: 8_192 }])
  expect((await store.requests.usage('s')).models).toMatchObject([
    { model: 'made-up-1', requests: 1, inputTokens: 4_000, cacheReadTokens: 1_000, outputTokens: 7 },
  ])
  expect((await store.sessions.verify('s')).findings).toEqual([])
}

it('a run recovers from an overflow, and records usage, provider, model and owner', async () => {
  await using store = await openStore(':memory:')
  await tellMuch(store)
  const session = sessionOf(store)
  const model = new ScriptedModel([modelError(overflow()), done()])
  const agent = new Agent({ name: 'A', instructions: 'Be brief.', model: session.recovering(model) })
  expect((await run(agent, 'And now?', { session })).finalOutput).toBe('Done.')
  await expectRecovered(store, model)
})

it('a stream recovers before anything of it was passed on', async () => {
  await using store = await openStore(':memory:')
  await tellMuch(store)
  const session = sessionOf(store)
  const model = new ScriptedModel([modelError(overflow()), done()])
  const agent = new Agent({ name: 'A', instructions: 'Be brief.', model: session.recovering(model) })
  const streamed = await run(agent, 'And now?', { session, stream: true })
  await streamed.completed
  expect(streamed.finalOutput).toBe('Done.')
  await expectRecovered(store, model)
})

it('models by name recover through the provider of a runner, also in the middle of a turn', async () => {
  await using store = await openStore(':memory:')
  await tellMuch(store)
  const session = new UndertextSession({ store, sessionId: 's' })
  const model = new ScriptedModel([
    answer(functionCall('look', { at: 'x' }, { callId: 'c1' })),
    modelError(overflow()),
    done(),
  ])
  const asked: (string | undefined)[] = []
  const provider: ModelProvider = {
    getModel: (name) => {
      asked.push(name)
      return model
    },
  }
  const look = tool({
    name: 'look',
    description: 'Looks.',
    parameters: z.object({ at: z.string() }),
    execute: () => 'seven',
  })
  const agent = new Agent({ name: 'A', model: 'made-up-2', tools: [look] })
  const runner = new Runner({ modelProvider: session.recovering(provider), tracingDisabled: true })
  expect((await runner.run(agent, 'And now?', { session })).finalOutput).toBe('Done.')
  expect(new Set(asked)).toEqual(new Set(['made-up-2']))
  const inputs = inputsOf(model)
  expect(inputs.map((input) => timesSaid(input, 'And now?'))).toEqual([1, 1, 1])
  expect(inputs.map((input) => timesSaid(input, 'seven'))).toEqual([0, 1, 1])
  expect(JSON.stringify(inputs[2]).length).toBeLessThan(JSON.stringify(inputs[1]).length * 0.7)
  expect(await store.sessions.get('s')).toMatchObject({ provider: 'openai', model: 'made-up-2' })
  expect((await store.requests.usage('s')).models).toMatchObject([{ model: 'made-up-2', requests: 2 }])
  // 40 messages from before, question, call, result and answer.
  expect((await store.sessions.get('s')).messageCount).toBe(44)
})

it('the first turn of a session is recorded, too', async () => {
  await using store = await openStore(':memory:')
  const session = sessionOf(store)
  const agent = new Agent({ name: 'A', model: session.recovering(new ScriptedModel([done()])) })
  await run(agent, 'Hi', { session })
  expect(await store.sessions.get('s')).toMatchObject({
    provider: 'openai',
    model: 'made-up-1',
    owner: 'ann',
    messageCount: 2,
  })
  expect((await store.requests.usage('s')).total).toMatchObject({ requests: 1, inputTokens: 4_000 })
})

it('an input that a filter changed is sent as it is, and its error comes back', async () => {
  await using store = await openStore(':memory:')
  await tellMuch(store)
  const session = sessionOf(store)
  const refusal = overflow()
  const model = new ScriptedModel([modelError(refusal)])
  const agent = new Agent({ name: 'A', model: session.recovering(model) })
  const callModelInputFilter = ({
    modelData,
  }: {
    modelData: { input: AgentInputItem[]; instructions?: string }
  }) => ({ ...modelData, input: modelData.input.slice(1) })
  await expect(run(agent, 'And now?', { session, callModelInputFilter })).rejects.toBe(refusal)
  expect(model.calls).toHaveLength(1)
  expect(await store.listCompactions('s')).toEqual([])
})

it('owner, provider and model are recorded without a model that recovers, and never replaced', async () => {
  await using store = await openStore(':memory:')
  await store.sessions.create({ id: 's', owner: 'ann' })
  await sessionOf(store).addItems([{ role: 'user', content: 'Hi' }])
  expect(await store.sessions.get('s')).toMatchObject({
    owner: 'ann',
    provider: 'openai',
    model: 'made-up-1',
  })
  const other = new UndertextSession({ store, sessionId: 's', provider: 'mistral', owner: 'eve' })
  // The session of another owner with this id is another session.
  await other.addItems([{ role: 'user', content: 'Hi' }])
  expect(await store.forOwner('eve').sessions.get('s')).toMatchObject({
    provider: 'mistral',
    messageCount: 1,
  })
  expect(await store.forOwner('ann').sessions.get('s')).toMatchObject({
    owner: 'ann',
    provider: 'openai',
    model: 'made-up-1',
  })
})

it('refuses what is neither a model nor a provider of models', async () => {
  await using store = await openStore(':memory:')
  expect(() => sessionOf(store).recovering({} as never)).toThrow('must be a model or a model provider')
})

it('a session compacts after a turn by default once usage has reached the threshold', async () => {
  await using store = await openStore(':memory:', { contextWindows: { openai: { tiny: 4_000 } } })
  const talk = async (sessionId: string, compact?: false): Promise<number> => {
    const options = {
      store,
      sessionId,
      provider: 'openai',
      model: 'tiny',
      ...(compact === false && { compact }),
    }
    const session = new UndertextSession(options)
    const steps = Array.from({ length: 6 }, () => [assistantMessage(words.repeat(40))])
    const agent = new Agent({ name: 'A', model: new ScriptedModel(steps) })
    for (let turn = 0; turn < 6; turn++) await run(agent, words.repeat(40), { session })
    return (await store.listCompactions(sessionId)).length
  }
  expect(await talk('default')).toBeGreaterThan(0)
  expect(await talk('never', false)).toBe(0)
})

import { tool as langchainTool, type StructuredToolInterface } from '@langchain/core/tools'
import { Agent, tool as agentsTool, type FunctionTool, invokeFunctionTool, RunContext } from '@openai/agents'
import { generateText, jsonSchema, stepCountIs } from 'ai'
import { expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { agentsTools, aiSdkTools, langchainTools, recallTools } from '../../src/store/recall/index.ts'
import { scripted } from '../ai-sdk/models.ts'

async function storeWith(text: string): Promise<Store> {
  const store = await openStore(':memory:')
  await store.append('s', [{ role: 'user', content: text }])
  return store
}

it('are tools of the AI SDK: generateText calls them with what the model passes', async () => {
  await using store = await storeWith('The harbour code is 7731.')
  const model = scripted([
    [
      {
        type: 'tool-call',
        toolCallId: 'c1',
        toolName: 'search_history',
        input: JSON.stringify({ query: 'harbour code' }),
      },
    ],
    [{ type: 'text', text: 'It is 7731.' }],
  ] as never)
  const { steps, text } = await generateText({
    model,
    prompt: 'What is the harbour code?',
    tools: aiSdkTools(recallTools(store, 's', { notes: true, makeRoom: true }), jsonSchema),
    stopWhen: stepCountIs(3),
  })
  expect(steps[0]!.toolResults[0]!.output).toContain('The harbour code is 7731.')
  expect(text).toBe('It is 7731.')
  const [first] = model.calls
  expect(first!.tools!.map(({ name }) => name)).toHaveLength(5)
  expect(JSON.stringify(first!.tools)).toContain('"query"')
})

it('are tools of the OpenAI Agents SDK', async () => {
  await using store = await storeWith('The harbour code is 7731.')
  const tools = agentsTools(recallTools(store, 's'), agentsTool) as FunctionTool[]
  const agent = new Agent({ name: 'Friend', tools })
  expect((await agent.getAllTools(new RunContext())).map(({ name }) => name)).toContain('read_history')
  const [search] = tools
  const answer = await invokeFunctionTool({
    tool: search!,
    runContext: new RunContext(),
    input: JSON.stringify({ query: 'harbour code' }),
  })
  expect(answer).toContain('The harbour code is 7731.')
})

it('are tools of LangChain', async () => {
  await using store = await storeWith('The harbour code is 7731.')
  const [search] = langchainTools(recallTools(store, 's'), langchainTool) as StructuredToolInterface[]
  expect(search!.name).toBe('search_history')
  expect(await search!.invoke({ query: 'harbour code' })).toContain('The harbour code is 7731.')
})

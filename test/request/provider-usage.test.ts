import { expect, it } from 'vitest'
import { openStore, type ResponseInput } from '../../src/index.ts'
import { say } from '../support/conversation.ts'

type Tokens = readonly [input: number, read: number, written: number, output: number]

async function recorded(usage: unknown, provider: string): Promise<Tokens | string | undefined> {
  await using store = await openStore(':memory:')
  const response = { prompt: 'Hello', messages: [say('assistant', 'Hi')], usage, provider }
  const { usageProblem, appended } = await store.recordResponse('s', response as ResponseInput)
  expect(appended.messages).toHaveLength(2)
  const { total } = await store.requests.usage('s')
  if (usageProblem !== undefined) return usageProblem
  return [total.inputTokens, total.cacheReadTokens, total.cacheCreationTokens, total.outputTokens]
}

const chat = {
  prompt_tokens: 1_000,
  completion_tokens: 20,
  total_tokens: 1_020,
  prompt_tokens_details: { cached_tokens: 600 },
}
const responses = {
  input_tokens: 1_000,
  output_tokens: 20,
  total_tokens: 1_020,
  input_tokens_details: { cached_tokens: 600 },
}
const anthropic = {
  input_tokens: 100,
  output_tokens: 20,
  cache_read_input_tokens: 600,
  cache_creation_input_tokens: 300,
}
const gemini = {
  promptTokenCount: 1_000,
  candidatesTokenCount: 15,
  thoughtsTokenCount: 5,
  cachedContentTokenCount: 600,
  totalTokenCount: 1_020,
}

const CASES: readonly (readonly [string, string, unknown, Tokens])[] = [
  ['Chat Completions', 'openai', { id: 'c', model: 'gpt-5', choices: [], usage: chat }, [400, 600, 0, 20]],
  ['its usage', 'openai', chat, [400, 600, 0, 20]],
  ['Chat Completions of another provider', 'my-proxy', { usage: chat }, [400, 600, 0, 20]],
  ['Responses', 'openai', { object: 'response', usage: responses }, [400, 600, 0, 20]],
  [
    'the last event of a stream of Responses',
    'openai',
    { response: { usage: responses } },
    [400, 600, 0, 20],
  ],
  ['Anthropic', 'anthropic', { type: 'message', usage: anthropic }, [100, 600, 300, 20]],
  ['its usage without a cache', 'anthropic', { input_tokens: 100, output_tokens: 20 }, [100, 0, 0, 20]],
  ['Gemini', 'google', { candidates: [], usageMetadata: gemini }, [400, 600, 0, 20]],
  [
    'Bedrock Converse',
    'bedrock',
    { usage: { inputTokens: 100, outputTokens: 20, totalTokens: 720, cacheReadInputTokens: 600 } },
    [100, 600, 0, 20],
  ],
  [
    'AI SDK 5',
    'openai',
    { text: '', usage: { inputTokens: 1_000, outputTokens: 20, totalTokens: 1_020, cachedInputTokens: 600 } },
    [400, 600, 0, 20],
  ],
  [
    'AI SDK 6, with a promise as streams have it',
    'openai',
    {
      usage: Promise.resolve({
        inputTokens: 1_000,
        inputTokenDetails: { noCacheTokens: 100, cacheReadTokens: 600, cacheWriteTokens: 300 },
        outputTokens: 20,
        totalTokens: 1_020,
      }),
    },
    [100, 600, 300, 20],
  ],
  [
    'a model of the AI SDK',
    'openai',
    {
      usage: {
        inputTokens: { total: 1_000, noCache: 400, cacheRead: 600, cacheWrite: undefined },
        outputTokens: { total: 20 },
      },
    },
    [400, 600, 0, 20],
  ],
  [
    'LangChain',
    'anthropic',
    {
      usage_metadata: {
        input_tokens: 1_000,
        output_tokens: 20,
        total_tokens: 1_020,
        input_token_details: { cache_read: 600, cache_creation: 300 },
      },
    },
    [100, 600, 300, 20],
  ],
  [
    'OpenAI Agents',
    'openai',
    { usage: { inputTokens: 1_000, outputTokens: 20, inputTokensDetails: [{ cached_tokens: 600 }] } },
    [400, 600, 0, 20],
  ],
  ['Ollama', 'ollama', { message: {}, prompt_eval_count: 1_000, eval_count: 20 }, [1_000, 0, 0, 20]],
  ['Cohere', 'cohere', { usage: { tokens: { input_tokens: 1_000, output_tokens: 20 } } }, [1_000, 0, 0, 20]],
  [
    'Cohere, version 1',
    'cohere',
    {
      text: '',
      meta: { billed_units: { input_tokens: 900 }, tokens: { input_tokens: 1_000, output_tokens: 20 } },
    },
    [1_000, 0, 0, 20],
  ],
  [
    'DeepSeek',
    'deepseek',
    { usage: { prompt_tokens: 1_000, completion_tokens: 20, prompt_cache_hit_tokens: 600 } },
    [400, 600, 0, 20],
  ],
  [
    'LiteLLM',
    'litellm',
    { usage: { ...chat, cache_read_input_tokens: 600, cache_creation_input_tokens: 300 } },
    [100, 600, 300, 20],
  ],
  ['the last chunk of a stream of Groq', 'groq', { choices: [], x_groq: { usage: chat } }, [400, 600, 0, 20]],
  [
    'the metadata of a stream of Bedrock Converse',
    'bedrock',
    { metadata: { usage: { inputTokens: 1_000, outputTokens: 20, totalTokens: 1_020 } } },
    [1_000, 0, 0, 20],
  ],
  [
    'LangChain, its older form',
    'openai',
    { response_metadata: { tokenUsage: { promptTokens: 1_000, completionTokens: 20 } } },
    [1_000, 0, 0, 20],
  ],
  ['vLLM', 'vllm', { usage: { ...chat, prompt_tokens_details: null } }, [1_000, 0, 0, 20]],
  [
    'figures of our own',
    'openai',
    { inputTokens: 400, cacheReadTokens: 600, outputTokens: 20 },
    [400, 600, 0, 20],
  ],
]

it.each(CASES)('%s: its usage is read out of what came', async (_, provider, usage, tokens) => {
  expect(await recorded(usage, provider)).toEqual(tokens)
})

it('a usage that cannot be read is reported, and the messages are recorded', async () => {
  const throwing = {
    get usage(): never {
      throw new Error('no')
    },
  }
  const bad = [{}, { usage: null }, 'many', 7, { inputTokens: -1 }, { usage: { prompt_tokens: 'x' } }]
  for (const usage of [...bad, throwing, { usage: Promise.reject(new Error('cut off')) }])
    expect(await recorded(usage, 'openai')).toBe('unreadable')
  expect(await recorded(undefined, 'openai')).toEqual([0, 0, 0, 0])
})

it('costs are by list price, cache reads and writes apart, and unknown where no price is', async () => {
  await using store = await openStore(':memory:')
  await store.append('s', [say('user', 'x')])
  const record = (provider: string, model: string, read: number, input = 400): Promise<unknown> =>
    store.requests.recordUsage('s', {
      provider,
      model,
      inputTokens: input,
      cacheReadTokens: read,
      outputTokens: 20,
    })
  await record('openai', 'gpt-4o', 600)
  await record('ollama', 'llama3', 0)
  const { total, models } = await store.requests.usage('s')
  // 2.50, 1.25 and 10 dollars a million.
  const dollars = (400 * 2.5 + 600 * 1.25 + 20 * 10) / 1e6
  expect(models.map(({ cost }) => cost)).toEqual([null, expect.closeTo(dollars, 10)])
  expect(total).toMatchObject({ cost: expect.closeTo(dollars, 10), unpricedRequests: 1 })
})

it('a price that rises above a size is that of a single request, not of all together', async () => {
  await using store = await openStore(':memory:')
  await store.append('s', [say('user', 'x')])
  // 2.5 dollars a million in all, above 200,000 tokens in one request 2.50 instead of 1.25.
  for (let at = 0; at < 4; at++)
    await store.requests.recordUsage('s', {
      provider: 'google',
      model: 'gemini-2.5-pro',
      inputTokens: 100_000,
    })
  expect((await store.requests.usage('s')).total.cost).toBeCloseTo(0.5, 10)
})

import { expect, it } from 'vitest'
import { openStore, type Store, type UsageWarningEvent } from '../../src/index.ts'
import { historyTokens } from '../storage/contract/support.ts'
import { say, units } from '../support/conversation.ts'

const model = { provider: 'ollama', model: 'llama3' }

async function told(store: Store): Promise<UsageWarningEvent[]> {
  const events: UsageWarningEvent[] = []
  store.on('usageWarning', (event) => events.push(event))
  return events
}

it('a server that cuts the prompt to its window without an error is noticed, and its reports teach nothing', async () => {
  await using store = await openStore(':memory:', { estimator: 'neurolink' })
  const events = await told(store)
  await store.append('s', [say('user', units(8_000))])
  const honest = await store.requests.recordUsage('s', { ...model, inputTokens: historyTokens(8_000, 1) })
  expect(honest.warning).toBeUndefined()
  for (let turn = 1; turn <= 5; turn++) {
    await store.append('s', [say('assistant', units(2_000)), say('user', units(10_000))])
    const { warning, calibration } = await store.requests.recordUsage('s', { ...model, inputTokens: 4_096 })
    const expectedTokens = historyTokens(8_000 + turn * 12_000, 1 + 2 * turn)
    expect(warning).toMatchObject({ code: 'USAGE_FAR_BELOW_ESTIMATE', reportedTokens: 4_096, expectedTokens })
    expect(calibration.ratio).toBe(1)
    expect(events.at(-1)).toMatchObject({ sessionId: 's', ...model, reportedTokens: 4_096, expectedTokens })
    const stats = (await store.getContextStats('s', 'ollama', 'llama3'))!
    expect(stats.measured).toMatchObject({ inputTokens: 4_096, isFarBelow: true })
    expect(stats).toMatchObject({ estimatedInputTokens: expectedTokens, source: 'estimated' })
  }
  expect(events).toHaveLength(5)
  expect(JSON.stringify(events)).not.toContain('xxxx')
})

it('a true report afterwards counts at once', async () => {
  await using store = await openStore(':memory:', { estimator: 'neurolink' })
  await store.append('s', [say('user', units(20_000))])
  const tokens = historyTokens(20_000, 1)
  await store.requests.recordUsage('s', { ...model, inputTokens: 4_096 })
  expect((await store.requests.recordUsage('s', { ...model, inputTokens: tokens })).warning).toBeUndefined()
  const stats = (await store.getContextStats('s', 'ollama', 'llama3'))!
  expect(stats).toMatchObject({ estimatedInputTokens: tokens, source: 'measured' })
  expect(stats.measured).not.toHaveProperty('isFarBelow')
})

it('what came from a cache, small requests, other languages and overflows raise no alarm', async () => {
  await using store = await openStore(':memory:')
  const events = await told(store)
  await store.append('s', [say('user', units(20_000))])
  await store.requests.recordUsage('s', { provider: 'anthropic', inputTokens: 4, cacheReadTokens: 19_000 })
  await store.append('small', [say('user', units(100))])
  await store.requests.recordUsage('small', { inputTokens: 10 })
  // Chinese: about 0.7 tokens a character with today's tokenizers.
  await store.append('zh', [say('user', '今天天气很好我们一起去公园散步吧'.repeat(1_000))])
  for (const provider of ['openai', 'anthropic', 'ollama'])
    await store.requests.recordUsage('zh', { provider, inputTokens: 11_200 })
  await store.append('code', [say('user', '  if (a) {\n    return b\n  }\n'.repeat(1_000))])
  await store.requests.recordUsage('code', { inputTokens: 11_000 })
  await store.limits.learn('s', 'prompt is too long: 9000 tokens > 8000 maximum')
  expect(events).toEqual([])
})

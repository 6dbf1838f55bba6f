import { describe, expect, test } from 'vitest'
import { resolveModelProfile } from '../../src/core/tokens/index.ts'
import { openStore } from '../../src/index.ts'
import { chat } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

const gpt4 = { provider: 'openai', model: 'gpt-4' }

describe('figures learnt in use', () => {
  test('after 20 reports of 1.3 times the estimate stats rise by about 30 percent, and the trigger comes earlier [F5-05]', async () => {
    const store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.append('s', chat(30, 40))
    await store.append('other', chat(35, 40))
    const estimated = (await store.getContextStats('s', 'openai', 'gpt-4'))!.estimatedInputTokens
    const other = (await store.getContextStats('other', 'openai', 'gpt-4'))!
    expect(other.shouldCompact).toBe(false)
    for (let report = 0; report < 20; report++)
      await store.requests.recordUsage('s', { ...gpt4, inputTokens: Math.round(1.3 * estimated) })
    const after = (await store.getContextStats('other', 'openai', 'gpt-4'))!
    const ratio = after.estimatedInputTokens / other.estimatedInputTokens
    expect(ratio).toBeGreaterThan(1.25)
    expect(ratio).toBeLessThan(1.35)
    expect(after.shouldCompact).toBe(true)
    await store.close()
  })

  test('a wild report is bounded [F5-06]', async () => {
    const store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.append('s', chat(30, 40))
    await store.append('other', chat(30, 40))
    const { estimatedInputTokens } = (await store.getContextStats('other', 'openai', 'gpt-4'))!
    for (let report = 0; report < 5; report++)
      await store.requests.recordUsage('s', { ...gpt4, inputTokens: 100 * estimatedInputTokens })
    const after = (await store.getContextStats('other', 'openai', 'gpt-4'))!
    expect(after.estimatedInputTokens).toBeLessThanOrEqual(2 * estimatedInputTokens + 1)
    await store.close()
  })

  test('a limit an error names changes the next check and the profile, also after reopening [F5-07]', async () => {
    const file = newFile('limits.db')
    const store = await openStore(file, { durability: 'normal' })
    await store.append('s', chat(2))
    const gpt4o = ['openai', 'gpt-4o'] as const
    const before = (await store.getContextStats('s', ...gpt4o))!
    expect(before.profile.contextWindow).toEqual({ value: 128_000, source: 'package' })
    const error =
      "This model's maximum context length is 100000 tokens. However, you requested 120000 tokens."
    await store.limits.learn('s', error, { provider: gpt4o[0], model: gpt4o[1] })
    for (const one of [store, await openStore(file)]) {
      const after = (await one.getContextStats('s', ...gpt4o))!
      expect(after.contextWindow).toMatchObject({ tokens: 100_000, source: 'learned' })
      expect(after.profile).toMatchObject({
        contextWindow: { value: 100_000, source: 'learned' },
        outputReserve: { value: 35_000, source: 'share' },
        availableInputTokens: 65_000,
        targetTokens: { value: 26_000, source: 'share' },
      })
      expect(after.availableInputTokens).toBe(65_000)
      await one.close()
    }
  })
})

describe('stats and their profile', () => {
  test('name the profile, and where each figure came from [F5-10]', async () => {
    const store = await openStore(':memory:', {
      estimator: 'neurolink',
      contextWindows: { ollama: 32_000 },
    })
    await store.append('s', chat(2))
    const stats = (await store.getContextStats('s', 'Anthropic', 'claude-sonnet-4-20250514'))!
    const pure = resolveModelProfile('anthropic', 'claude-sonnet-4-20250514')
    expect(stats.profile).toEqual({ ...pure, estimator: { value: 'neurolink', source: 'session' } })
    expect(stats.profile.name).toBe('anthropic/claude-sonnet-4-0')
    for (const [name, figure] of Object.entries(stats.profile)) {
      if (['name', 'provider', 'model', 'availableInputTokens'].includes(name)) continue
      expect(figure, name).toEqual({ value: expect.anything(), source: expect.any(String) })
    }
    // They are the figures the stats themselves go by.
    expect(stats.availableInputTokens).toBe(stats.profile.availableInputTokens)
    expect(stats.outputReserve.tokens).toBe(stats.profile.outputReserve.value)
    expect(stats.threshold).toBe(stats.profile.threshold.value)

    const told = (await store.getContextStats('s', 'ollama', 'llama', {
      maxOutputTokens: 2_000,
      threshold: 0.5,
    }))!
    expect(told.profile).toMatchObject({
      name: 'ollama/_default',
      contextWindow: { value: 32_000, source: 'store' },
      outputReserve: { value: 2_000, source: 'override' },
      threshold: { value: 0.5, source: 'override' },
      availableInputTokens: 30_000,
    })
    await store.sessions.update('s', { config: { contextWindows: { ollama: { llama: 16_000 } } } })
    expect((await store.getContextStats('s', 'ollama', 'llama'))!.profile).toMatchObject({
      name: 'ollama/llama',
      contextWindow: { value: 16_000, source: 'session' },
    })
    await store.close()
  })

  test('share one profile as long as nothing changes, and it is immutable', async () => {
    const store = await openStore(':memory:')
    await store.append('s', chat(2))
    const first = (await store.getContextStats('s', 'openai', 'gpt-4o'))!
    await store.append('s', chat(2))
    const second = (await store.getContextStats('s', 'openai', 'gpt-4o'))!
    expect(second.profile).toBe(first.profile)
    expect(() => {
      ;(first.profile.target as { value: number }).value = 1
    }).toThrow(TypeError)
    await store.limits.set({ provider: 'openai', model: 'gpt-4o', tokens: 90_000, kind: 'input' })
    const third = (await store.getContextStats('s', 'openai', 'gpt-4o'))!
    // Of the window 83,200 tokens are left, less than the provider takes.
    expect(third.profile).toMatchObject({
      inputLimit: { value: 90_000, source: 'learned' },
      availableInputTokens: 83_200,
    })
    await store.close()
  })

  test('a run goes by the figures of the profile', async () => {
    const store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.append('s', chat(80, 60))
    const { profile } = (await store.getContextStats('s', 'openai', 'gpt-4'))!
    const run = (await store.compactSession('s', gpt4))!
    expect(run.targetTokens).toBe(profile.targetTokens.value)
    await store.close()
  })
})

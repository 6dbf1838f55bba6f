import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contextManagementTypes } from '../../src/adapters/anthropic/index.ts'
import {
  calibratedEstimator,
  MODEL_CONTEXT_WINDOWS,
  type ModelOverrides,
  resolveModelProfile,
} from '../../src/core/tokens/index.ts'
import { type Figure, isUndertextError, openStore, validateHistory } from '../../src/index.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'
import { readGolden } from '../support/golden.ts'

describe('the window of a profile', () => {
  it('is that of the registry with the preset neurolink, for every entry and for dated names [F5-01]', () => {
    const { windows } = readGolden<{
      windows: Record<string, Record<string, number>>
    }>('context-windows')
    let entries = 0
    for (const [provider, models] of Object.entries(windows)) {
      for (const [model, value] of Object.entries(models)) {
        const { contextWindow, name } = resolveModelProfile(
          provider,
          model === '_default' ? undefined : model,
          { preset: 'neurolink' },
        )
        expect(contextWindow, `${provider} ${model}`).toEqual({ value, source: 'registry' })
        expect(name).toBe(`${provider}/${model}`)
        // The longest name that a dated one begins with is its own, or one that is longer still.
        if (model !== '_default')
          expect(
            resolveModelProfile(provider, `${model}-2024-11-30`, { preset: 'neurolink' }).contextWindow.value,
          ).toBe(value)
        entries++
      }
    }
    expect(entries).toBeGreaterThanOrEqual(61)
  })

  it('is by the longest name [F5-02]', () => {
    const preset = 'neurolink'
    const window = (model: string): unknown =>
      resolveModelProfile('openai', model, { preset }).contextWindow.value
    expect(window('o1-mini-2024-09-12')).toBe(128_000)
    expect(window('gpt-4.1-2025-04-14')).toBe(1_047_576)
    expect(resolveModelProfile('openai', 'o1-mini-2024-09-12', { preset }).name).toBe('openai/o1-mini')
    // Providers go by their other names too.
    expect(resolveModelProfile('Vertex_AI', 'gemini-1.5-pro-002', { preset })).toMatchObject({
      name: 'vertex/gemini-1.5-pro',
      provider: 'vertex',
      contextWindow: { value: 2_097_152 },
    })
    // The AI SDK's names: `anthropic.messages` is anthropic, which wants turns and ids of its own form.
    const sdkNames = [
      'anthropic.messages',
      'google.vertex.chat',
      'vertex.anthropic.messages',
      'openai.responses',
    ]
    expect(sdkNames.map((name) => resolveModelProfile(name, 'x').provider)).toEqual([
      'anthropic',
      'vertex',
      'vertex',
      'openai',
    ])
    expect(resolveModelProfile('my.company', 'x').provider).toBe('my.company')
    expect(resolveModelProfile('nobody', 'nothing')).toMatchObject({
      name: 'default',
      contextWindow: { value: 128_000, source: 'default' },
      roles: { source: 'default' },
    })
  })

  it('is overridden for a model and for a whole provider [F5-03]', () => {
    const contextWindows = { openai: { 'gpt-4': 64_000 }, ollama: 32_000 }
    const window = (provider: string, model?: string, more: ModelOverrides = {}): unknown =>
      resolveModelProfile(provider, model, { contextWindows, ...more }).contextWindow
    expect(window('openai', 'gpt-4-0613')).toEqual({ value: 64_000, source: 'override' })
    expect(window('openai', 'gpt-4o')).toEqual({ value: 64_000, source: 'override' })
    expect(window('openai', 'o3')).toEqual({ value: 200_000, source: 'package' })
    expect(window('ollama', 'whatever')).toEqual({ value: 32_000, source: 'override' })
    expect(window('openai', 'gpt-4', { contextWindow: 9_000 })).toEqual({ value: 9_000, source: 'override' })
  })
})

describe('figures', () => {
  it('of Claude Sonnet 4 and of GPT-4, computed manually', () => {
    // 200,000 less the most of a reserve; then 40, 25 and 10 %.
    expect(resolveModelProfile('anthropic', 'claude-sonnet-4-20250514')).toEqual({
      name: 'anthropic/claude-sonnet-4-0',
      provider: 'anthropic',
      model: 'claude-sonnet-4-20250514',
      contextWindow: { value: 200_000, source: 'package' },
      outputReserve: { value: 64_000, source: 'most' },
      availableInputTokens: 136_000,
      estimator: { value: 'neurolink', source: 'default' },
      charactersPerToken: { value: 4, source: 'estimator' },
      multiplier: { value: 1.23, source: 'estimator' },
      margin: { value: 1.15, source: 'estimator' },
      threshold: { value: 0.8, source: 'default' },
      target: { value: 0.4, source: 'default' },
      targetTokens: { value: 54_400, source: 'share' },
      keepRecentTokens: { value: 50_400, source: 'share' },
      pruneProtectTokens: { value: 34_000, source: 'share' },
      pruneMinimumSavings: { value: 13_600, source: 'share' },
      summaryMaxTokens: { value: 4_000, source: 'most' },
      roles: { value: ['user', 'assistant', 'tool'], source: 'provider' },
      strictAlternation: { value: true, source: 'provider' },
      firstMustBeUser: { value: true, source: 'provider' },
      toolPairing: { value: true, source: 'provider' },
      contextManagement: {
        value: ['clear_tool_uses_20250919', 'clear_thinking_20251015'],
        source: 'provider',
      },
      serverCompacts: { value: false, source: 'provider' },
    })
    // 8,192 less 35 % of it, rounded up: 5,324.
    expect(resolveModelProfile('openai', 'gpt-4')).toMatchObject({
      outputReserve: { value: 2_868, source: 'share' },
      availableInputTokens: 5_324,
      targetTokens: { value: 2_129, source: 'share' },
      // 2,129 less what a summary may take: 500.
      keepRecentTokens: { value: 1_629, source: 'share' },
      pruneProtectTokens: { value: 1_331, source: 'share' },
      pruneMinimumSavings: { value: 532, source: 'share' },
      summaryMaxTokens: { value: 500, source: 'least' },
      strictAlternation: { value: false, source: 'provider' },
      serverCompacts: { value: true, source: 'provider' },
    })
    expect(resolveModelProfile('google-ai', 'gemini-2.5-pro')).toMatchObject({
      pruneProtectTokens: { value: 40_000, source: 'most' },
      pruneMinimumSavings: { value: 20_000, source: 'most' },
      contextManagement: { value: [] },
      serverCompacts: { value: false },
    })
  })

  it('can each be overridden, and report it', () => {
    const overrides = {
      inputLimit: 50_000,
      maxOutputTokens: 1_000,
      threshold: 0.5,
      target: 0.4,
      targetTokens: 7_000,
      keepRecentTokens: 1,
      pruneProtectTokens: 2,
      pruneMinimumSavings: 3,
      summaryMaxTokens: 4,
      roles: ['user' as const],
      strictAlternation: true,
      firstMustBeUser: true,
      toolPairing: false,
      contextManagement: ['compact_20260112'],
      contextWindow: 90_000,
    }
    const profile = resolveModelProfile('openai', 'gpt-4o', { ...overrides, estimator: calibratedEstimator })
    for (const [name, value] of Object.entries(overrides)) {
      const figure = profile[(name === 'maxOutputTokens' ? 'outputReserve' : name) as keyof typeof profile]
      expect(figure as Figure<unknown>, name).toEqual({ value, source: 'override' })
    }
    expect(profile.estimator).toEqual({ value: 'calibrated', source: 'override' })
    expect(profile.serverCompacts).toEqual({ value: true, source: 'override' })
    // 89,000 are left of the window, and the provider takes 50,000 of input.
    expect(profile.availableInputTokens).toBe(50_000)
    // A target that is given decides how much of the newest stays: all but the 4,000 of a summary.
    expect(resolveModelProfile('openai', 'gpt-4o', { targetTokens: 7_000 }).keepRecentTokens.value).toBe(
      3_000,
    )
  })

  it('bad input is refused', () => {
    const refused = (act: () => unknown): void => {
      let error: unknown
      try {
        act()
      } catch (thrown) {
        error = thrown
      }
      expect(isUndertextError(error, 'INVALID_INPUT')).toBe(true)
    }
    refused(() => resolveModelProfile(''))
    refused(() => resolveModelProfile(5 as never))
    refused(() => resolveModelProfile('openai', 5 as never))
    refused(() => resolveModelProfile('openai', 'x', { treshold: 1 } as never))
    refused(() => resolveModelProfile('openai', 'x', { threshold: 2 }))
    refused(() => resolveModelProfile('openai', 'x', { estimator: 'nobody' as never }))
    refused(() => resolveModelProfile('openai', 'x', { contextWindow: 0 }))
    expect(resolveModelProfile('__proto__', 'constructor').contextWindow.value).toBe(128_000)
  })

  it('are whole and within what is available, for any window and reserve', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4_000_000 }),
        fc.option(fc.nat(4_000_000), { nil: undefined }),
        (contextWindow, maxOutputTokens) => {
          const profile = resolveModelProfile('openai', 'x', { contextWindow, maxOutputTokens })
          const available = profile.availableInputTokens
          expect(available).toBe(Math.max(0, contextWindow - profile.outputReserve.value))
          for (const name of ['targetTokens', 'keepRecentTokens', 'pruneProtectTokens'] as const) {
            expect(Number.isInteger(profile[name].value)).toBe(true)
            expect(profile[name].value).toBeLessThanOrEqual(available)
          }
          expect(profile.pruneMinimumSavings.value).toBeLessThanOrEqual(available / 10)
        },
      ),
    )
  })

  it('with a window of 8,192 pruning can act [F5-04]', async () => {
    const { pruneMinimumSavings, availableInputTokens } = resolveModelProfile('openai', 'gpt-4')
    expect(pruneMinimumSavings.value).toBeLessThanOrEqual(availableInputTokens / 10)
    const store = await openStore(':memory:', { estimator: 'neurolink' })
    // Results of 1,150 tokens each, five of them: the newest that is over 1,331 in sum stays, three go.
    for (let turn = 0; turn < 5; turn++)
      await store.append('s', [say('user', 'go'), call(`c${turn}`, 'run'), result(`c${turn}`, units(1_000))])
    const run = await store.compactSession('s', {
      provider: 'openai',
      model: 'gpt-4',
      enableDeduplicate: false,
      enableSummarize: false,
      enableTruncate: false,
    })
    expect(run!.stagesUsed).toEqual(['prune'])
    await store.close()
  })
})

describe('what servers compact by themselves', () => {
  it.each([
    ['anthropic', 'claude-opus-4-6', 3],
    ['anthropic', 'claude-sonnet-4-6', 3],
    ['anthropic', 'claude-opus-4-7-20260401', 3],
    ['anthropic', 'claude-sonnet-5', 3],
    ['anthropic', 'anthropic/claude-opus-4.6', 3],
    ['anthropic', 'claude-mythos-preview', 3],
    ['anthropic', 'claude-opus-4-5-20251101', 2],
    ['anthropic', 'claude-haiku-4-5-20251001', 2],
    ['anthropic', 'claude-opus-4-20250514', 2],
    ['anthropic', 'claude-3-7-sonnet-20250219', 0],
    ['anthropic', undefined, 3],
    ['bedrock', 'us.anthropic.claude-opus-4-6-v1', 3],
    ['amazon-bedrock', 'meta.llama3-70b-instruct-v1:0', 0],
    ['bedrock', undefined, 0],
    ['vertex', 'claude-sonnet-4-5@20250929', 2],
    ['vertex', 'gemini-2.5-pro', 0],
    ['openai', 'gpt-5', 1],
    ['azure', undefined, 1],
    ['ollama', 'llama3', 0],
  ])('%s %s: %i', (provider, model, count) => {
    expect(contextManagementTypes(provider, model)).toHaveLength(count)
  })
})

it('forms of a profile are those that validateHistory asks for', () => {
  const after = [...chat(1), say('system', 'behind others'), ...chat(1)] as never
  const doubled = [say('user', 'a'), say('user', 'b'), say('assistant', 'c')] as never
  const late = [say('assistant', 'a'), say('user', 'b')] as never
  for (const provider of [...Object.keys(MODEL_CONTEXT_WINDOWS), 'nobody']) {
    const { roles, strictAlternation, firstMustBeUser } = resolveModelProfile(provider)
    const codes = (messages: never): string[] => validateHistory(messages, provider).map(({ code }) => code)
    expect(codes(after).includes('SYSTEM_INSIDE'), provider).toBe(!roles.value.includes('system'))
    expect(codes(doubled).includes('ADJACENT_SAME_ROLE'), provider).toBe(strictAlternation.value)
    expect(codes(late).includes('FIRST_NOT_USER'), provider).toBe(firstMustBeUser.value)
  }
})

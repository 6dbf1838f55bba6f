import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  type ContextWindows,
  checkContextBudget,
  getAvailableInputTokens,
  getContextWindowSize,
  getOutputReserve,
  MODEL_CONTEXT_WINDOWS,
} from '../../src/core/tokens/index.ts'
import { isUndertextError } from '../../src/index.ts'
import { readGolden } from '../support/golden.ts'
import { sharedPath } from '../support/shared.ts'

const documented = sharedPath('golden/neurolink-9.10.0/context_windows.json')

describe('context-windows', () => {
  const { windows, cases } = readGolden<{
    windows: Record<string, Record<string, number>>
    cases: { id: string; op: string; input: never[]; expected: number }[]
  }>('context-windows')
  const functions: Record<string, (...input: never[]) => number> = {
    getContextWindowSize,
    getOutputReserve,
    getAvailableInputTokens,
  }

  it('is the registry, entry by entry', () => {
    expect(MODEL_CONTEXT_WINDOWS).toEqual(windows)
    for (const [provider, models] of Object.entries(windows)) {
      for (const [model, tokens] of Object.entries(models))
        expect(getContextWindowSize(provider, model), `${provider} ${model}`).toBe(tokens)
      expect(getContextWindowSize(provider)).toBe(models._default)
    }
  })

  it.each(cases)('$id $op', ({ op, input, expected }) => {
    expect(functions[op]!(...input)).toBe(expected)
  })
})

describe.skipIf(documented === undefined)('golden/neurolink-9.10.0/context_windows.json', () => {
  const { cases } = (
    documented === undefined ? { cases: [] } : JSON.parse(readFileSync(documented, 'utf8'))
  ) as { cases: { provider: string; model: string; window: number }[] }

  it('is what every entry resolves to', () => {
    expect(cases.length).toBeGreaterThan(50)
    for (const { provider, model, window } of cases)
      expect(getContextWindowSize(provider, model), `${provider} ${model}`).toBe(window)
  })
})

describe('windows', () => {
  it('are those of the longest name that fits, whatever the order of the table', () => {
    expect(getContextWindowSize('openai', 'o1-mini-2024-09-12')).toBe(128_000)
    expect(getContextWindowSize('openai', 'gpt-4.1-2025-04-14')).toBe(1_047_576)
    expect(getContextWindowSize('openai', 'gpt-4.1-mini-2025-04-14')).toBe(1_047_576)
    const table = { mine: { a: 1, 'a-b-c': 3, 'a-b': 2, _default: 9 } }
    expect(
      ['a-x', 'a-b-x', 'a-b-c-x', 'b'].map((model) => getContextWindowSize('mine', model, table)),
    ).toEqual([1, 2, 3, 9])
  })

  it('are found under the other names of a provider', () => {
    for (const name of ['Anthropic', ' anthropic ', 'ANTHROPIC'])
      expect(getContextWindowSize(name, 'unheard-of')).toBe(200_000)
    expect(getContextWindowSize('google', 'gemini-1.5-pro-002')).toBe(2_097_152)
    expect(getContextWindowSize('google', 'models/gemini-1.5-pro')).toBe(2_097_152)
    expect(getContextWindowSize('vertex-ai', 'gemini-1.5-pro')).toBe(2_097_152)
    expect(getContextWindowSize('amazon-bedrock', 'us.amazon.nova-pro-v1:0')).toBe(300_000)
    for (const name of ['azure-openai', 'azure_openai', 'azureOpenAI'])
      expect(getContextWindowSize(name, 'gpt-4')).toBe(8_192)
    for (const name of ['vertex_ai', 'Google AI', 'google_genai', 'google-ai-studio'])
      expect(getContextWindowSize(name, 'gemini-1.5-pro')).toBe(2_097_152)
    expect(getContextWindowSize('mistral-ai', 'codestral-latest')).toBe(256_000)
    expect(getContextWindowSize('bedrock_converse', 'amazon.nova-pro-v1:0')).toBe(300_000)
    // One nobody knows keeps its signs.
    expect(getContextWindowSize('my_gateway', 'x', { my_gateway: 5_000 })).toBe(5_000)
  })

  it('are found for names in other case, in a path or an ARN, and of fine-tunes', () => {
    // Each of these was the provider's default: 128,000 for a model of 8,192.
    expect(getContextWindowSize('openai', 'GPT-4')).toBe(8_192)
    expect(getContextWindowSize('openai', 'ft:gpt-3.5-turbo-0125:acme::abc')).toBe(16_385)
    expect(getContextWindowSize('openai', 'openai/gpt-4')).toBe(8_192)
    expect(getContextWindowSize('vertex', 'publishers/google/models/gemini-1.5-pro-002')).toBe(2_097_152)
    const arn = 'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0'
    expect(getContextWindowSize('bedrock', arn)).toBe(300_000)
    // The same case goes before a longer name in another.
    const table = { mine: { Big: 1, 'big-model': 2 } }
    expect(getContextWindowSize('mine', 'Big-model', table)).toBe(1)
    expect(getContextWindowSize('mine', 'BIG-MODEL', table)).toBe(2)
  })

  it('of a model or of a whole provider can be overridden, and the rest stays', () => {
    const overrides: ContextWindows = {
      openai: { 'gpt-4o': 64_000 },
      Ollama: 8_000,
      'my-gateway': { _default: 5_000 },
    }
    expect(getContextWindowSize('openai', 'gpt-4o-2024-08-06', overrides)).toBe(64_000)
    expect(getContextWindowSize('openai', 'gpt-4', overrides)).toBe(8_192)
    expect(getContextWindowSize('ollama', 'any', overrides)).toBe(8_000)
    expect(getContextWindowSize('my-gateway', 'any', overrides)).toBe(5_000)
    expect(getAvailableInputTokens('ollama', undefined, 1_000, overrides)).toBe(7_000)
    expect(checkContextBudget({ provider: 'openai', contextWindow: 1_000 }).availableInputTokens).toBe(650)
  })

  it('never come from what objects inherit', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(getContextWindowSize(name, name, {})).toBe(128_000)
      expect(getContextWindowSize('openai', name, { openai: {} })).toBe(128_000)
    }
    const own = JSON.parse('{"__proto__": {"__proto__": 7}}') as ContextWindows
    expect(getContextWindowSize('__proto__', '__proto__', own)).toBe(7)
  })

  it('that are invalid are rejected', () => {
    const wrong = [
      { _default: 100_000 },
      null,
      [],
      'x',
      { a: 0 },
      { a: -1 },
      { a: 1.5 },
      { a: { b: '1' } },
      { a: [1] },
      { a: null },
    ]
    for (const table of wrong) {
      let error: unknown
      try {
        getContextWindowSize('a', 'b', table as never)
      } catch (thrown) {
        error = thrown
      }
      expect(isUndertextError(error, 'INVALID_INPUT'), JSON.stringify(table)).toBe(true)
    }
  })
})

import { readFileSync } from 'node:fs'
import { calcPrice, type MatchLogic } from '@pydantic/genai-prices'
import { expect, it } from 'vitest'
import { resolveModelProfile } from '../../src/core/tokens/index.ts'
import { packageProvider, packageWindow } from '../../src/core/tokens/package-windows.ts'
import { openStore } from '../../src/index.ts'
import { say } from '../support/conversation.ts'
import { DATA_FILE, dataFile, packageProviders } from './generate.ts'

type Window = { tokens: number; source: string; entry?: string }

async function windowIn(options: object, provider: string, model: string): Promise<Window> {
  await using store = await openStore(':memory:', options)
  await store.append('s', [say('user', 'x')])
  return (await store.getContextStats('s', provider, model))!.contextWindow
}

it('the generated windows are those of the installed package', async () => {
  const { version } = JSON.parse(
    readFileSync('node_modules/@pydantic/genai-prices/package.json', 'utf8'),
  ) as { version: string }
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies: Record<string, string>
  }
  expect(dependencies['@pydantic/genai-prices']).toBe(version)
  const file = readFileSync(DATA_FILE, 'utf8')
  expect(file).toBe(await dataFile())
  expect(file).toContain(`@pydantic/genai-prices ${version}`)
})

it('every name the package has a rule for gets the window that the package gives it', async () => {
  let windows = 0
  for (const { id, models, fallback_model_providers = [] } of await packageProviders()) {
    if (packageProvider(id) !== id) continue
    for (const name of models.flatMap(({ id: model, match }) => [model, ...namesIn(match)])) {
      const ids = [id, ...fallback_model_providers]
      const found = ids.map((providerId) => calcPrice({}, name, { providerId })?.model.context_window ?? 0)
      const listed = found.find((tokens) => tokens > 0)
      // A name with an owner before it may have the owner's window where this provider lists none.
      if (listed !== undefined || !name.includes('/'))
        expect(packageWindow(id, name)?.tokens, `${id} ${name}`).toBe(listed)
      if (found[0]! > 0) windows++
    }
  }
  expect(windows).toBeGreaterThan(1_000)
})

/** The texts of a rule: names, and parts of names, that are tried as names. */
function namesIn(match: MatchLogic): readonly string[] {
  if ('or' in match) return match.or.flatMap(namesIn)
  if ('and' in match) return match.and.flatMap(namesIn)
  return Object.values(match) as string[]
}

it('a store has the windows that providers document for their current models', async () => {
  const cases = [
    ['openai', 'gpt-5', 400_000, 'package', 'gpt-5'],
    ['openai', 'gpt-5-mini-2025-08-07', 400_000, 'package', 'gpt-5-mini'],
    ['azure', 'gpt-5', 400_000, 'package', 'gpt-5'],
    ['gateway', 'openai/gpt-5', 400_000, 'package', 'gpt-5'],
    ['litellm', 'openai/gpt-5', 400_000, 'package', 'gpt-5'],
    ['anthropic', 'claude-sonnet-4-5-20250929', 200_000, 'package', 'claude-sonnet-4-5'],
    ['vertex', 'claude-sonnet-4-5@20250929', 200_000, 'package', 'claude-sonnet-4-5'],
    ['google', 'models/gemini-2.5-flash', 1_048_576, 'package', 'gemini-2.5-flash'],
    ['xai', 'grok-4', 256_000, 'package', 'grok-4-0709'],
    // The package has these models and no window for them.
    ['google', 'gemini-2.5-pro', 1_048_576, 'registry', 'gemini-2.5-pro'],
    ['mistral', 'mistral-large-latest', 128_000, 'registry', 'mistral-large-latest'],
    // The founding table, where it is corrected.
    ['mistral', 'mistral-medium-latest', 128_000, 'registry', 'mistral-medium-latest'],
    ['openai', 'gpt-5-of-tomorrow', 400_000, 'registry', 'gpt-5'],
    // Ollama's own default, whatever the model could read; its cloud gives the whole window.
    ['ollama', 'llama3.2', 4_096, 'registry', '_default'],
    ['ollama', 'gpt-oss:20b', 4_096, 'registry', '_default'],
    ['ollama', 'gpt-oss:120b-cloud', 128_000, 'registry', '_default'],
  ] as const
  for (const [provider, model, tokens, source, entry] of cases)
    expect(await windowIn({}, provider, model), `${provider} ${model}`).toEqual({ tokens, source, entry })
  expect(await windowIn({}, 'nobody', 'nothing')).toEqual({ tokens: 128_000, source: 'default' })
})

it('models are known by the names that gateways, clouds and SDKs give them', async () => {
  const cases = [
    ['openrouter', 'openai/gpt-5-mini:online', 400_000, 'package', 'openai/gpt-5-mini'],
    ['openrouter', 'deepseek/deepseek-r1:free', 64_000, 'package', 'deepseek-reasoner'],
    ['openrouter', 'openrouter/google/gemini-2.5-pro', 1_048_576, 'package', 'google/gemini-2.5-pro'],
    // OpenRouter's list has it no more; its owner's has.
    ['openrouter', 'anthropic/claude-3.5-sonnet:beta', 200_000, 'package', 'claude-3-5-sonnet'],
    [
      'bedrock',
      'arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-pro-v1:0',
      300_000,
      'package',
      'amazon.nova-pro-v1:0',
    ],
    // The version at the end of a name of Bedrock's is no variant.
    ['bedrock', 'us.amazon.nova-micro-v1:0', 128_000, 'package', 'amazon.nova-micro-v1:0'],
    ['openai', 'gpt-4.5-preview-2025-02-27', 128_000, 'registry', 'gpt-4.5'],
    ['google.vertex.chat', 'gemini-2.5-pro', 1_048_576, 'registry', 'gemini-2.5-pro'],
    ['mistral.chat', 'mistral-large-latest', 128_000, 'registry', 'mistral-large-latest'],
    ['azure', 'production-chat', 128_000, 'registry', '_default'],
  ] as const
  for (const [provider, model, tokens, source, entry] of cases)
    expect(await windowIn({}, provider, model), `${provider} ${model}`).toEqual({ tokens, source, entry })
})

it('the preset neurolink reads the founding table first, as it was printed', async () => {
  const neurolink = { config: { preset: 'neurolink' } }
  expect(await windowIn(neurolink, 'openai', 'gpt-5')).toEqual({
    tokens: 1_047_576,
    source: 'registry',
    entry: 'gpt-5',
  })
  expect(await windowIn(neurolink, 'xai', 'grok-4')).toMatchObject({ tokens: 256_000, source: 'package' })
  const window = (preset?: 'neurolink'): unknown =>
    resolveModelProfile('openai', 'gpt-5', { preset }).contextWindow
  expect(window()).toEqual({ value: 400_000, source: 'package' })
  expect(window('neurolink')).toEqual({ value: 1_047_576, source: 'registry' })
})

it("the caller's tables come first, then what a provider's error named, then the package", async () => {
  await using store = await openStore(':memory:', { contextWindows: { openai: { 'gpt-5': 300_000 } } })
  await store.append('s', [say('user', 'x')])
  const window = async (model: string): Promise<Window> =>
    (await store.getContextStats('s', 'openai', model))!.contextWindow
  expect(await window('gpt-5')).toMatchObject({ tokens: 300_000, source: 'store' })
  await store.limits.set({ provider: 'openai', model: 'gpt-5', tokens: 350_000 })
  expect(await window('gpt-5')).toMatchObject({ tokens: 300_000, source: 'store' })
  // What the provider itself named is better known than what a table says, in both directions.
  const learnt = async (model: string, tokens: number): Promise<Window> => {
    await store.limits.set({ provider: 'anthropic', model, tokens })
    return (await store.getContextStats('s', 'anthropic', model))!.contextWindow
  }
  expect(await learnt('claude-sonnet-4-0', 150_000)).toEqual({ tokens: 150_000, source: 'learned' })
  expect(await learnt('claude-sonnet-4-5', 500_000)).toEqual({ tokens: 500_000, source: 'learned' })
  // And proof against a table of the caller's that says too much.
  await store.limits.set({ provider: 'openai', model: 'gpt-5', tokens: 250_000 })
  expect(await window('gpt-5')).toEqual({ tokens: 250_000, source: 'learned' })
})

it('a compaction plans for the window that the stats show', async () => {
  for (const [preset, available] of [
    // 400,000 and 1,047,576 less 64,000.
    ['default', 336_000],
    ['neurolink', 983_576],
  ] as const) {
    await using store = await openStore(':memory:', { config: { preset } })
    await store.append('s', [say('user', 'x')])
    const preview = await store.previewCompaction('s', { provider: 'openai', model: 'gpt-5', target: 1 })
    expect(preview!.targetTokens).toBeLessThanOrEqual(available)
    expect(preview!.targetTokens).toBeGreaterThan(available * 0.99)
  }
})

import { expect, it } from 'vitest'
import { beforeTurn } from '../../src/compat/index.ts'
import { isUndertextError, openStore, type WindowAssumedEvent } from '../../src/index.ts'
import { chat, say, units } from '../support/conversation.ts'

const windows = { openai: { 'gpt-4o': 60_000 }, ollama: 8_000 }

it('windows: the session before the store before the package before the registry, and what was learnt when it is lower', async () => {
  await using store = await openStore(':memory:', { contextWindows: windows })
  await store.append('s', [say('user', 'x')])
  const windowOf = async (provider: string, model?: string): Promise<unknown> =>
    (await store.getContextStats('s', provider, model))!.contextWindow
  expect(await windowOf('openai', 'gpt-4o')).toEqual({ tokens: 60_000, source: 'store', entry: 'gpt-4o' })
  expect(await windowOf('openai', 'gpt-4')).toEqual({ tokens: 8_192, source: 'package', entry: 'gpt-4' })
  expect(await windowOf('openai')).toEqual({ tokens: 128_000, source: 'registry', entry: '_default' })
  expect(await windowOf('Ollama', 'llama3')).toEqual({ tokens: 8_000, source: 'store', entry: '_default' })
  await store.sessions.update('s', { config: { contextWindows: { openai: 50_000 } } })
  expect(await windowOf('openai', 'gpt-4o')).toEqual({ tokens: 50_000, source: 'session', entry: '_default' })
  await store.limits.set({ provider: 'openai', model: 'gpt-4o', tokens: 55_000 })
  expect(await windowOf('openai', 'gpt-4o')).toMatchObject({ source: 'session' })
  await store.limits.set({ provider: 'openai', model: 'gpt-4o', tokens: 40_000 })
  expect(await windowOf('openai', 'gpt-4o')).toEqual({ tokens: 40_000, source: 'learned' })
})

it("a store's window decides when compaction is due, and how far it goes", async () => {
  await using store = await openStore(':memory:', { contextWindows: windows, estimator: 'neurolink' })
  // 60 messages of 100 units: 6,900 tokens and 264 of framing. 8,000 leaves 5,200 for the input.
  await store.append('s', chat(30, 100))
  expect(await store.needsCompaction('s', 'openai')).toBe(false)
  expect(await store.needsCompaction('s', 'ollama')).toBe(true)
  const done = await store.compactSession('s', { provider: 'ollama', model: 'llama3' })
  expect(done!.targetTokens).toBe(2_080)
  expect(done!.reachedTarget).toBe(true)
  expect(await store.needsCompaction('s', 'ollama')).toBe(false)
})

it('reports the source of the reserve for the answer', async () => {
  await using store = await openStore(':memory:')
  await store.append('s', [say('user', units(10))])
  const reserve = async (provider: string, maxOutputTokens?: number): Promise<unknown> =>
    (await store.getContextStats('s', provider, undefined, { maxOutputTokens }))!.outputReserve
  expect(await reserve('openai')).toEqual({ tokens: 44_800, source: 'share' })
  expect(await reserve('anthropic')).toEqual({ tokens: 64_000, source: 'most' })
  expect(await reserve('anthropic', 8_000)).toEqual({ tokens: 8_000, source: 'maxOutputTokens' })
})

it('rejects invalid windows', async () => {
  for (const contextWindows of [{ openai: 0 }, { openai: { x: -1 } }, { openai: 'large' }, []]) {
    const error = await openStore(':memory:', { contextWindows: contextWindows as never }).catch(
      (e: unknown) => e,
    )
    expect(isUndertextError(error, 'INVALID_INPUT')).toBe(true)
  }
})

it.each([
  ['ollama', 4_096],
  ['ollama.chat', 4_096],
  ['llama.cpp', 128_000],
  ['llamacpp', 128_000],
  ['vllm', 128_000],
  ['vllm.chat', 128_000],
  ['lmstudio', 128_000],
  ['lmstudio.chat', 128_000],
  ['litellm', 128_000],
] as const)('the assumed window of a model of %s is reported once', async (provider, tokens) => {
  await using store = await openStore(':memory:')
  const events: WindowAssumedEvent[] = []
  store.on('windowAssumed', (event) => events.push(event))
  for (let turn = 0; turn < 2; turn++)
    await store.prepareRequest('s', { provider, model: 'qwen3:8b', prompt: 'Hi' })
  expect(events).toMatchObject([{ provider, model: 'qwen3:8b', tokens }])
})

it('an assumed window is reported once per model and store, when a request is made', async () => {
  await using store = await openStore(':memory:', { contextWindows: { 'my-gateway': 9_000 } })
  const events: WindowAssumedEvent[] = []
  store.on('windowAssumed', (event) => events.push(event))
  const prepare = (provider: string, model?: string) =>
    store.prepareRequest('s', { provider, prompt: 'Hi', ...(model !== undefined && { model }) })
  // Figures alone warn of nothing.
  await store.append('s', [say('user', 'x')])
  await store.getContextStats('s', 'ollama', 'llama3.2')
  expect(events).toEqual([])
  for (let turn = 0; turn < 2; turn++) {
    await prepare('ollama', 'llama3.2')
    await beforeTurn(store, 's', { provider: 'lm-studio', model: 'qwen' })
    // Known: by the package, the store's own table, and without a model.
    await prepare('openai', 'gpt-4o')
    await prepare('my-gateway', 'any')
    await prepare('ollama')
  }
  expect(
    events.map(({ sessionId, provider, model, tokens }) => [sessionId, provider, model, tokens]),
  ).toEqual([
    ['s', 'ollama', 'llama3.2', 4_096],
    ['s', 'lm-studio', 'qwen', 128_000],
  ])
  expect(events[0]!.message).toContain('pass contextWindows to openStore')
  // After an overflow error the window is known.
  await store.limits.set({ provider: 'other', model: 'm', tokens: 8_000 })
  await prepare('other', 'm')
  expect(events).toHaveLength(2)
})

it('without a listener it is one warning of the process', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error): void => void warnings.push(warning)
  process.on('warning', listen)
  try {
    await using store = await openStore(':memory:')
    for (let turn = 0; turn < 2; turn++)
      await store.prepareRequest('s', { provider: 'ollama', model: 'llama3.2', prompt: 'Hi' })
    await new Promise((resolve) => setImmediate(resolve))
    const own = warnings.filter((one) => (one as { code?: string }).code === 'UNDERTEXT_WINDOW')
    expect(own.map(({ message }) => message)).toEqual([
      'The context window of ollama/llama3.2 is unknown, so 4096 tokens are assumed: pass contextWindows to openStore.',
    ])
  } finally {
    process.off('warning', listen)
  }
})

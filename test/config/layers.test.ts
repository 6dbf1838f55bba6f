import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openStore, PRESETS } from '../../src/index.ts'
import { Configuration, DEFAULTS, resolveLayers } from '../../src/store/config/resolve.ts'
import type { Layer, LayerValues } from '../../src/store/config/settings.ts'
import { PRESET_NAMES, SETTING_NAMES } from '../../src/store/config/settings.ts'
import { refusal } from '../storage/contract/support.ts'
import { storageOf } from '../support/apply-stage.ts'
import { chat } from '../support/conversation.ts'
import { CASES, S } from './cases.ts'

const SOURCES = ['call', 'session', 'store', 'environment', 'file'] as const

/** Layers that say some settings, each with a value of its own. */
const randomLayers = fc
  .tuple(
    ...SOURCES.map(() =>
      fc.record(
        {
          target: fc.double({ min: 0, max: 1, noNaN: true }),
          summaryHeader: fc.string(),
          maxOutputTokens: fc.nat(),
          enablePrune: fc.boolean(),
          prunePlaceholder: fc.string({ minLength: 1 }),
          maxRetainedMessages: fc.nat(),
          warningLevels: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
          preset: fc.constantFrom(...PRESET_NAMES),
        },
        { requiredKeys: [] },
      ),
    ),
  )
  .map((all) => all.map((values, at): Layer => ({ source: SOURCES[at]!, values: values as LayerValues })))

describe('layers', () => {
  it('count in their order, each setting by itself, with the preset and the defaults beneath', () => {
    fc.assert(
      fc.property(randomLayers, (layers) => {
        const { settings, sources } = resolveLayers(layers)
        const preset = layers.find(({ values }) => values.preset !== undefined)?.values.preset ?? 'default'
        expect(settings.preset).toBe(preset)
        const beneath: Layer[] = [
          { source: 'preset', values: PRESETS[preset] },
          { source: 'default', values: DEFAULTS },
        ]
        for (const name of [
          'summaryHeader',
          'maxOutputTokens',
          'enablePrune',
          'prunePlaceholder',
          'maxRetainedMessages',
          'warningLevels',
          'target',
        ] as const) {
          const first = [...layers, ...beneath].find(({ values }) => values[name] !== undefined)
          expect(settings[name]).toEqual(first?.values[name])
          expect(sources[name]).toBe(first?.source ?? 'default')
        }
      }),
    )
  })

  it('set a figure as a share or in tokens: the higher layer counts', () => {
    const by = (...values: LayerValues[]): unknown => {
      const { threshold, thresholdTokens } = resolveLayers(
        values.map((one, at) => ({ source: SOURCES[at]!, values: one })),
      ).settings
      return { threshold, thresholdTokens }
    }
    expect(by({ thresholdTokens: 5 })).toEqual({ threshold: undefined, thresholdTokens: 5 })
    expect(by({ threshold: 0.5 }, { thresholdTokens: 5 })).toEqual({
      threshold: 0.5,
      thresholdTokens: undefined,
    })
    expect(by({ thresholdTokens: 5 }, { threshold: 0.5 })).toEqual({
      threshold: undefined,
      thresholdTokens: 5,
    })
    expect(by({ threshold: 0.5, thresholdTokens: 5 })).toEqual({ threshold: 0.5, thresholdTokens: 5 })
    // Seed 004's percent is the threshold where nothing as weighty says one.
    expect(by({ autoSummarizeThreshold: 90 }, { threshold: 0.5 })).toMatchObject({ threshold: 0.9 })
    expect(by({ threshold: 0.5 }, { autoSummarizeThreshold: 90 })).toMatchObject({ threshold: 0.5 })
    expect(by({ preset: 'nca' })).toMatchObject({ threshold: 0.75 })
  })

  it('join their tables of windows, whatever the providers are called', () => {
    const windows = (table: object): LayerValues => ({ contextWindows: table as never })
    const { contextWindows } = resolveLayers([
      { source: 'store', values: windows({ openai: { a: 1 }, ollama: 2, ['__proto__']: 7 }) },
      { source: 'file', values: windows({ openai: { a: 3, b: 4 }, ollama: { c: 5 }, mistral: 6 }) },
    ]).settings
    expect(Object.entries(contextWindows!).sort()).toEqual([
      ['__proto__', 7],
      ['mistral', 6],
      ['ollama', 2],
      ['openai', { a: 1, b: 4 }],
    ])
  })

  it('of a session are read once for an object that stays the same', () => {
    const configuration = new Configuration([])
    const config = { threshold: 0.5 }
    expect(configuration.ofSession(config)).toBe(configuration.ofSession(config))
    expect(configuration.ofSession({ mine: 1 })).toBe(configuration.ofStore)
  })
})

describe('getConfig', () => {
  it('returns the source of each setting', async () => {
    await using store = await openStore(':memory:', {
      env: { UNDERTEXT_TARGET: '0.4', UNDERTEXT_THRESHOLD: '0.7' },
      config: { preset: 'nca', threshold: 0.9 },
      summarizer: CASES.summarizer.value as never,
    })
    await store.sessions.create({
      id: S,
      provider: 'anthropic',
      model: 'm',
      config: { maxOutputTokens: 5, mine: true },
    })
    const { settings, sources } = await store.sessions.config(S)
    expect(settings).toMatchObject({
      maxOutputTokens: 5,
      threshold: 0.9,
      target: 0.4,
      maxRetainedMessages: 50,
      enablePrune: true,
      provider: 'anthropic',
      model: 'm',
    })
    expect(sources).toMatchObject({
      maxOutputTokens: 'session',
      threshold: 'store',
      summarizer: 'store',
      target: 'environment',
      maxRetainedMessages: 'preset',
      enablePrune: 'default',
      provider: 'session',
      model: 'session',
    })
    expect(Object.keys(sources).sort()).toEqual([...SETTING_NAMES].sort())
    expect((await store.sessions.config()).settings.maxOutputTokens).toBeUndefined()
    expect((await store.sessions.config()).sources.provider).toBe('default')
    await refusal(store.sessions.config('nobody'), 'SESSION_NOT_FOUND')
    await refusal(store.sessions.config(5 as never), 'INVALID_INPUT')
  })

  it('cannot be changed through its results or the given options', async () => {
    const config = { summarySections: ['a'], contextWindows: { ollama: { m: 5 } } }
    await using store = await openStore(':memory:', { env: false, config })
    config.summarySections.push('b')
    config.contextWindows.ollama.m = 6
    const answered = (await store.sessions.config()).settings as Record<string, unknown>
    expect(answered).toMatchObject({ summarySections: ['a'], contextWindows: { ollama: { m: 5 } } })
    answered.threshold = 0.1
    expect(() => (answered.summarySections as string[]).push('c')).toThrow(TypeError)
    expect((await store.sessions.config()).settings.threshold).toBe(0.8)
  })
})

describe("a session's config", () => {
  it('must be settings where it has their names, and may be anything else', async () => {
    await using store = await openStore(':memory:', { env: false })
    const mine = { theme: 'dark', memory: 'none', tools: ['a'], provider: 5, conversationMemory: 'x' }
    await store.sessions.create({ id: S, config: mine })
    expect((await store.sessions.get(S)).config).toEqual(mine)
    for (const config of [
      { threshold: 2 },
      { threshold: null },
      { enablePruning: 'yes' },
      { conversationMemory: { contextCompaction: { threshold: -1 } } },
      { memory: { context: { auto_summarize_threshold: 101 } } },
      { stages: ['nothing'] },
      { stages: [] },
      { preset: 'claude' },
      { enablePrune: true, enablePruning: false },
      { contextWindows: { openai: 0 } },
    ]) {
      await refusal(store.sessions.create({ config: config as never }), 'INVALID_INPUT')
      await refusal(store.sessions.update(S, { config: config as never }), 'INVALID_INPUT')
    }
    expect((await store.sessions.get(S)).config).toEqual(mine)
    expect(await store.sessions.list()).toHaveLength(1)
  })

  it('that was written past the checks counts as far as it can be read', async () => {
    await using store = await openStore(':memory:', { env: false })
    await store.sessions.create({ id: S })
    const past = { threshold: 'high', maxOutputTokens: 7, enablePrune: true, enablePruning: false }
    // The storage takes any JSON.
    await storageOf(store).updateSession(S, { config: past })
    const { settings } = await store.sessions.config(S)
    expect(settings).toMatchObject({ threshold: 0.8, maxOutputTokens: 7, enablePrune: true })
  })

  it('changes what counts at once, also beside another session with the same', async () => {
    await using store = await openStore(':memory:', { env: false })
    for (const id of ['a', 'b']) {
      await store.sessions.create({ id, config: { thresholdTokens: 1 } })
      await store.append(id, chat(1))
    }
    expect([store.needsCompaction('a'), store.needsCompaction('b')]).toEqual([true, true])
    await store.sessions.update('a', { config: { thresholdTokens: 1_000 } })
    expect([store.needsCompaction('a'), store.needsCompaction('b')]).toEqual([false, true])
    await store.sessions.update('b', { config: null })
    expect(store.needsCompaction('b')).toBe(false)
  })

  it('names the estimator a session is counted by; the store must have it', async () => {
    await using store = await openStore(':memory:', { env: false })
    const estimatorOf = async (config: object): Promise<string> =>
      (await store.sessions.create({ config: config as never })).estimator
    expect(await estimatorOf({})).toBe('calibrated')
    expect(await estimatorOf({ preset: 'nca' })).toBe('nca')
    expect(await estimatorOf({ preset: 'default' })).toBe('calibrated')
    expect(await estimatorOf({ preset: 'neurolink' })).toBe('neurolink')
    expect(await estimatorOf({ preset: 'nca', estimator: 'neuron' })).toBe('neuron')
    await refusal(store.sessions.create({ config: { estimator: 'o200k_base' } }), 'INVALID_INPUT')
    const config = { preset: 'nca' }
    await store.sessions.create({ id: 'one', config })
    config.preset = 'neuron'
    expect((await store.sessions.create({ id: 'two', config })).estimator).toBe('neuron')
  })
})

describe('the estimator of a store', () => {
  it.each([
    [{}, 'calibrated'],
    [{ config: { preset: 'nca' } }, 'nca'],
    [{ config: { preset: 'nca' }, estimator: 'neurolink' }, 'neurolink'],
    [{ config: { preset: 'nca', estimator: 'neuron' } }, 'neuron'],
    [{ env: { UNDERTEXT_PRESET: 'promptfleet' } }, 'promptfleet'],
    [{ env: { UNDERTEXT_ESTIMATOR: 'cl100k_base' } }, 'cl100k_base'],
  ])('%j', async (options, name) => {
    await using store = await openStore(':memory:', { env: false, ...(options as object) })
    expect((await store.sessions.create()).estimator).toBe(name)
    expect((await store.append('s', chat(1))).position).toBe(2)
    expect((await store.sessions.get('s')).estimator).toBe(name)
  })

  it('must exist, and is given once', async () => {
    await refusal(openStore(':memory:', { env: false, config: { estimator: 'nobody' } }), 'INVALID_INPUT')
    for (const twice of [
      { estimator: 'nca', config: { estimator: 'neuron' } },
      { contextWindows: { a: 1 }, config: { contextWindows: { a: 1 } } },
      {
        summarizer: CASES.summarizer.value as never,
        config: { summarizer: CASES.summarizer.value as never },
      },
    ])
      await refusal(openStore(':memory:', { env: false, ...twice }), 'INVALID_INPUT')
  })
})

describe('provider and model of a store', () => {
  it('are the defaults of a session; a model belongs to its provider', async () => {
    await using store = await openStore(':memory:', {
      env: false,
      config: { provider: 'anthropic', model: 'm' },
    })
    const of = async (fields: object): Promise<unknown> => {
      const { id } = await store.sessions.create(fields)
      await store.append(id, chat(1))
      const { provider, model } = (await store.getContextStats(id))!
      return [provider, model]
    }
    expect(await of({})).toEqual(['anthropic', 'm'])
    expect(await of({ provider: 'Anthropic' })).toEqual(['Anthropic', 'm'])
    expect(await of({ provider: 'openai' })).toEqual(['openai', undefined])
    expect(await of({ model: 'own' })).toEqual(['anthropic', 'own'])
    const { id } = await store.sessions.create()
    await store.append(id, chat(30, 100))
    expect((await store.renderHistory(id)).messages).toHaveLength(60)
    await store.requests.recordUsage(id, { inputTokens: 5_000 })
    expect((await store.getContextStats(id, 'anthropic', 'm'))!.measured?.inputTokens).toBe(5_000)
  })
})

describe('openStore', () => {
  it.each([
    ['a name nobody knows', { config: { treshold: 0.5 } }, /Unrecognized key: "treshold"/],
    ['a value that cannot be', { config: { threshold: 2 } }, /threshold/],
    ['a config that is no object', { config: 'x' }, /config/],
    ['a file that is no path', { configFile: 5 }, /configFile/],
    ['an environment that is none', { env: true }, /env/],
    ['a fact of a call', { config: { trigger: 'auto' } }, /Unrecognized key: "trigger"/],
  ])('refuses %s', async (_, options, message) => {
    const failure = await refusal(openStore(':memory:', options as never), 'INVALID_INPUT')
    expect(String(failure)).toMatch(message)
  })
})

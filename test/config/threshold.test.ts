import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { afterTurn } from '../../src/compat/index.ts'
import { type OpenOptions, openStore, type PrepareRequestOptions, type Settings } from '../../src/index.ts'
import { readEnvironment } from '../../src/store/config/environment.ts'
import { newFile } from '../support/temporary.ts'

/** 100 messages of about 100 tokens, and a window that they fill to about 75 %. */
const MESSAGES = Array.from({ length: 100 }, (_, at) => ({
  role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
  content: `message ${at} ${'and so on '.repeat(36)}`,
}))
const WINDOW = { contextWindows: { openai: 14_000 }, maxOutputTokens: 0, background: false }

/** The usage after one automatic run; the next turn makes none. */
async function usageAfter(
  store: OpenOptions['config'],
  call: PrepareRequestOptions = {},
  session: OpenOptions['config'] = {},
  options: OpenOptions = {},
): Promise<number> {
  const opened = await openStore(':memory:', { ...options, config: { ...WINDOW, ...store } })
  try {
    await opened.sessions.create({ id: 's', config: session as never })
    await opened.append('s', MESSAGES)
    const { stats, compacted } = await opened.prepareRequest('s', call)
    expect(compacted).toBe(true)
    await opened.append('s', MESSAGES.slice(0, 2))
    expect((await opened.prepareRequest('s', call)).compacted).toBe(false)
    return stats.usageRatio
  } finally {
    await opened.close()
  }
}

function fileOf(text: string): string {
  const file = newFile()
  writeFileSync(file, text)
  return file
}

it.each([
  ['the store', () => usageAfter({ threshold: 0.3 })],
  ['the session', () => usageAfter({}, {}, { threshold: 0.3 })],
  ['the environment', () => usageAfter(readEnvironment({ UNDERTEXT_THRESHOLD: '0.3' }))],
  ['a file in TOML', () => usageAfter({}, {}, {}, { configFile: fileOf('[undertext]\nthreshold = 0.3\n') })],
  ['a file in JSON', () => usageAfter({}, {}, {}, { configFile: fileOf('{ "threshold": 0.3 }') })],
  ['a call', () => usageAfter({}, { threshold: 0.3 })],
  ['a number of tokens', () => usageAfter({ thresholdTokens: 4_200 })],
])('a threshold of 0.3 by %s makes the target 0.15, half of it', async (_, run) => {
  expect(await run()).toBeLessThanOrEqual(0.15 * 1.05)
})

it('an explicit target is used as given, with the threshold of a call too', async () => {
  const usage = await usageAfter({ target: 0.25 }, { threshold: 0.3 })
  expect(usage).toBeLessThanOrEqual(0.25 * 1.05)
  expect(usage).toBeGreaterThan(0.2)
})

it.each<[string, Settings, { threshold?: number }]>([
  ['the store', { threshold: 0.3 }, {}],
  ['a call', {}, { threshold: 0.3 }],
  ['a number of tokens', { thresholdTokens: 4_200 }, {}],
])(
  'a threshold of 0.3 by %s is that of background jobs too: from 0.2625 to 0.15',
  async (_, config, turn) => {
    const store = await openStore(':memory:', {
      config: { ...WINDOW, ...config, background: true, backgroundMinIntervalMs: 0 },
    })
    try {
      let usage = 0
      for (let at = 0; usage < 0.2625; at += 2) {
        await store.append('s', MESSAGES.slice(at, at + 2))
        usage = (await store.getContextStats('s'))!.usageRatio
      }
      // Below the threshold, so that the turn itself does not compact.
      expect(usage).toBeLessThan(0.3)
      expect((await afterTurn(store, 's', turn)).compacted).toBe(false)
      await store.jobs.whenIdle('s')
      expect(await store.jobs.list('s')).toMatchObject([{ state: 'done' }])
      const { usageRatio } = (await store.getContextStats('s'))!
      expect(usageRatio).toBeLessThanOrEqual(0.15 * 1.05)
      await store.append('s', MESSAGES.slice(0, 2))
      expect((await afterTurn(store, 's', turn)).compacted).toBe(false)
      await store.jobs.whenIdle('s')
      expect(await store.jobs.list('s')).toHaveLength(1)
    } finally {
      await store.close()
    }
  },
)

it('compactSession and previewCompaction aim at half of the threshold of their call', async () => {
  const store = await openStore(':memory:', { config: WINDOW })
  try {
    await store.append('s', MESSAGES)
    const preview = (await store.previewCompaction('s', { threshold: 0.3 }))!
    // floor(0.15 × 14,000)
    expect(preview.targetTokens).toBe(2_100)
    expect((await store.compactSession('s', { threshold: 0.3 }))!.targetTokens).toBe(2_100)
    expect((await store.getContextStats('s'))!.usageRatio).toBeLessThanOrEqual(0.15 * 1.05)
  } finally {
    await store.close()
  }
})

import { expect, it } from 'vitest'
import { readEnvironment } from '../../src/config/environment.ts'
import { type OpenOptions, openStore, type PrepareRequestOptions } from '../../src/index.ts'

/** 100 messages of about 100 tokens, and a window that they fill to about 75 %. */
const MESSAGES = Array.from({ length: 100 }, (_, at) => ({
  role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
  content: `message ${at} ${'and so on '.repeat(36)}`,
}))
const WINDOW = { contextWindows: { openai: 14_000 }, maxTokens: 0, background: false }

/** The usage after one automatic run. */
async function usageAfter(
  store: OpenOptions['config'],
  call: PrepareRequestOptions = {},
  session: OpenOptions['config'] = {},
): Promise<number> {
  const opened = await openStore(':memory:', { config: { ...WINDOW, ...store } })
  try {
    await opened.createSession({ id: 's', config: session as never })
    await opened.append('s', MESSAGES)
    const { stats, compacted } = await opened.prepareRequest('s', call)
    expect(compacted).toBe(true)
    return stats.usageRatio
  } finally {
    await opened.close()
  }
}

it.each([
  ['the store', () => usageAfter({ threshold: 0.3 })],
  ['the session', () => usageAfter({}, {}, { threshold: 0.3 })],
  ['the environment', () => usageAfter(readEnvironment({ UNDERTEXT_THRESHOLD: '0.3' }))],
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

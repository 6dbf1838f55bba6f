import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { say, units } from '../support/conversation.ts'

describe('an overflow that is the first report of a model', () => {
  it('leaves room for a history, and no compaction is due after the requested one', async () => {
    await using store = await openStore(':memory:', { estimator: 'neurolink' })
    await store.sessions.create({ id: 's', provider: 'openai', model: 'gpt-4o' })
    for (let turn = 0; turn < 40; turn++)
      await store.append('s', [say('user', units(1_100)), say('assistant', units(1_100))])
    await store.append('s', [say('user', units(10))])
    const { estimated } = (await store.getContextStats('s'))!
    const size = Math.round(1.9 * estimated)
    const error = new Error(
      `This model's maximum context length is 128000 tokens. However, your messages resulted in ${size} tokens.`,
    )
    expect((await store.limits.learn('s', error)).isOverflow).toBe(true)
    const result = (await store.compactSession('s', { trigger: 'overflow' }))!
    expect(result.targetTokens).toBeGreaterThan(4_000)
    expect(result).toMatchObject({ reachedTarget: true, fits: true })
    expect(await store.needsCompaction('s')).toBe(false)
  })
})

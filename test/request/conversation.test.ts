import { describe, expect, it } from 'vitest'
import { estimateMessagesTokens } from '../../src/core/tokens/index.ts'
import { openStore, type PreparedRequest, validateHistory } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'

const GOAL = 'Build a parser for invoices in TypeScript.'
const RULE = 'You must never use eval, and amounts are always in cents.'

describe('a conversation of ten times the window', () => {
  it('runs to its end, and the first request is still in the view [S2-001 S2-002 S3-001 S3-002]', async () => {
    const window = 3_000
    const store = await openStore(':memory:', {
      estimator: 'neurolink',
      contextWindows: { openai: window },
      env: false,
    })
    const compactions: string[] = []
    store.on('compaction', ({ phase }) => {
      compactions.push(phase)
    })
    let said = 0
    let turns = 0
    let request: PreparedRequest
    for (; said < 10 * window; turns++) {
      const prompt = turns === 0 ? `${GOAL} ${RULE}` : `Step ${turns}: ${units(60)}`
      request = await store.prepareRequest('s', { prompt, maxOutputTokens: 400 })
      const tokens = estimateMessagesTokens(request.messages, 'openai')
      expect(tokens).toBeLessThanOrEqual(window - 400)
      expect(validateHistory(request.messages, 'openai')).toEqual([])
      const { next } = await store.recordResponse('s', {
        request,
        messages: [call(`c${turns}`, 'read', { path: `src/${turns % 7}.ts` })],
        usage: { inputTokens: tokens, outputTokens: 20 },
        stopReason: 'tool_calls',
      })
      expect(next).toBe('tools')
      await store.append('s', [result(`c${turns}`, `file ${turns} ${units(150)}`)])
      request = await store.prepareRequest('s', { maxOutputTokens: 400 })
      expect(request.prompt).toEqual([])
      const { final } = await store.recordResponse('s', {
        request,
        messages: [say('assistant', `Done with step ${turns}. ${units(120)}`)],
        stopReason: 'stop',
      })
      expect(final).toBe(true)
      said += 340
    }
    expect(compactions.filter((phase) => phase === 'completed').length).toBeGreaterThan(4)
    const { messages } = await store.renderHistory('s')
    const shown = JSON.stringify(messages)
    expect(shown).toContain('parser for invoices')
    expect(shown).toContain('never use eval')
    expect(shown).toContain('always in cents')
    // Everything is stored, and everything comes back.
    expect((await store.sessions.get('s')).messageCount).toBe(4 * turns)
    for (const { id } of (await store.listCompactions('s')).toReversed()) await store.undoCompaction('s', id)
    expect(await store.getEffectiveHistory('s')).toHaveLength(4 * turns)
    await store.close()
  })
})

describe('the preset nca', () => {
  it('no request over 75 percent goes out, and on average they are less than half [S4-01 S4-46 S4-47]', async () => {
    const store = await openStore(':memory:', { config: { preset: 'nca' }, env: false })
    const sizes: number[] = []
    const whole: number[] = []
    let said = 0
    for (let turn = 0; turn < 48; turn++) {
      const prompt = `Request ${turn}: ${units(400)}`
      const request = await store.prepareRequest('s', { prompt })
      expect(request.stats.contextWindowTarget).toBe(32_000)
      expect(request.usage.ratio).toBeLessThan(0.75)
      sizes.push(request.tokensAfter)
      const answer = say('assistant', `Answer ${turn}: ${units(1_600)}`)
      await store.recordResponse('s', { request, messages: [answer] })
      // What all that was said would take, as the same estimator counts it.
      said += estimateMessagesTokens([say('user', prompt), answer], 'openai', 'nca')
      whole.push(said)
    }
    const average = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0) / all.length
    expect(Math.max(...whole)).toBeGreaterThan(3 * 32_000 * 0.75)
    expect(average(sizes)).toBeLessThan(average(whole) / 2)
    await store.close()
  })
})

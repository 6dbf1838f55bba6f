import { describe, expect, test } from 'vitest'
import { call, result, say, units } from '../../support/conversation.ts'
import { type Contract, historyTokens, refusal, S } from './support.ts'

/** What providers report, and what stats make of it. Figures by hand: see `historyTokens`. */
export function describeReadings({ open, openBoth }: Contract): void {
  describe('readings', () => {
    const ASKED = historyTokens(1_000, 1)

    test('a report is what stats return for the same request, with its source', async () => {
      const store = await open()
      await store.append(S, [say('user', units(1_000))])
      expect(await store.getContextStats(S)).toMatchObject({
        estimatedInputTokens: ASKED,
        estimated: ASKED,
        source: 'estimated',
        measured: null,
        calibration: { ratio: 1, samples: 0 },
      })
      expect(await store.requests.recordUsage(S, { inputTokens: 1_400 })).toEqual({
        recorded: true,
        provider: 'openai',
        estimator: 'neurolink',
        inputTokens: 1_400,
        estimatedTokens: ASKED,
        countedTokens: 1_400,
        calibration: { ratio: 1, samples: 1 },
        limitRefuted: false,
      })
      const stats = await store.getContextStats(S)
      expect(stats).toMatchObject({
        estimatedInputTokens: 1_400,
        usageRatio: 1_400 / 83_200,
        estimated: ASKED,
        source: 'measured',
        measured: { inputTokens: 1_400, isCurrent: true },
        breakdown: { conversationHistory: ASKED, systemPrompt: 0, unseen: 1_400 - ASKED },
      })
    })

    test('the system prompt and tools of the last request count where the call names none', async () => {
      const store = await open()
      await store.append(S, [say('user', units(1_000)), say('assistant', units(10))])
      expect((await store.getContextStats(S))!.fixed).toEqual({ tokens: 0, source: 'none' })
      const system = units(100) // 115 + 4
      const tools = [{ name: 'x'.repeat(89) }] // 100 characters of JSON: 25
      await store.requests.recordUsage(S, { model: 'small', inputTokens: ASKED + 144, system, tools })
      // Of another model, whose reports are unknown: the estimate and the fixed part of the session.
      const whole = historyTokens(1_010, 2)
      expect(await store.getContextStats(S)).toMatchObject({
        estimatedInputTokens: whole + 144,
        estimated: whole + 144,
        breakdown: { conversationHistory: whole, systemPrompt: 0, toolDefinitions: 0, unseen: 144 },
        fixed: { tokens: 144, source: 'last-request' },
      })
      // What the call names is what counts, also when it is empty.
      expect(await store.getContextStats(S, 'openai', undefined, { system: units(20) })).toMatchObject({
        estimatedInputTokens: whole + 27,
        fixed: { tokens: 27, source: 'given' },
      })
      expect(await store.getContextStats(S, 'openai', undefined, { tools: [] })).toMatchObject({
        estimatedInputTokens: whole,
        fixed: { tokens: 0, source: 'given' },
      })
      // A request that is prepared without tools has none.
      const { stats } = await store.prepareRequest(S)
      expect(stats).toMatchObject({ estimatedInputTokens: whole, fixed: { tokens: 0, source: 'given' } })
    })

    test('the fixed part is as large after a compaction as it was before', async () => {
      const store = await open()
      await store.append(S, [say('user', units(1_000)), say('assistant', units(10)), say('user', units(10))])
      const tools = [{ name: 'x'.repeat(39_989) }] // 40,000 characters of JSON: 10,000
      const asked = historyTokens(1_020, 3)
      await store.requests.recordUsage(S, { inputTokens: asked + 10_000, tools })
      expect((await store.getContextStats(S))!.estimatedInputTokens).toBe(asked + 10_000)
      const [first] = await store.getMessages(S)
      await store.compactions.hide(S, [first!.id])
      expect(await store.getContextStats(S)).toMatchObject({
        estimatedInputTokens: historyTokens(20, 2) + 10_000,
        fixed: { tokens: 10_000, source: 'last-request' },
      })
    })

    test('what is appended afterwards is estimated on top of it', async () => {
      const store = await open()
      await store.append(S, [say('user', units(1_000))])
      await store.requests.recordUsage(S, { inputTokens: 1_500 })
      await store.append(S, [say('assistant', units(200))])
      const added = historyTokens(1_200, 2) - ASKED
      expect(await store.getContextStats(S)).toMatchObject({
        estimatedInputTokens: 1_500 + added,
        source: 'measured+estimated',
      })
    })

    test('an answer that is appended already was not in the request', async () => {
      const store = await open()
      await store.append(S, [say('user', units(1_000)), say('assistant', units(200))])
      const { estimatedTokens } = await store.requests.recordUsage(S, { inputTokens: 1_500 })
      expect(estimatedTokens).toBe(ASKED)
      await store.append(S, [say('user', units(50)), call('c', 'f'), result('c', units(10))])
      // Up to the result, which the next request carries; "f" is a unit and so is "{}".
      expect((await store.requests.recordUsage(S, { inputTokens: 2_000 })).estimatedTokens).toBe(
        historyTokens(1_000 + 200 + 50 + 2 + 10, 5),
      )
      expect((await store.requests.recordUsage(S, { inputTokens: 2_000, position: 3 })).estimatedTokens).toBe(
        historyTokens(1_250, 3),
      )
    })

    test('a report is stale as soon as the view is another', async () => {
      const store = await open()
      const messages = Array.from({ length: 8 }, (_, at) =>
        say(at % 2 === 0 ? 'user' : 'assistant', units(500)),
      )
      await store.append(S, messages)
      await store.requests.recordUsage(S, { inputTokens: 5_000 })
      // The answer at the end was not in the request.
      const sent = historyTokens(3_500, 7)
      const compacted = await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'In short.' })
      expect(compacted?.compacted).toBe(true)
      // "In short." is 9 characters, 3 units. What was unseen then is taken to be there still.
      const left = historyTokens(4 * 500 + 3, 5)
      expect(await store.getContextStats(S)).toMatchObject({
        estimatedInputTokens: left + 5_000 - sent,
        source: 'calibrated',
        measured: { inputTokens: 5_000, isCurrent: false },
      })
      await store.requests.recordUsage(S, { inputTokens: 3_000 })
      expect(await store.getContextStats(S)).toMatchObject({
        source: 'measured+estimated',
        measured: { inputTokens: 3_000, isCurrent: true },
      })
    })

    test('a report that came late, of a view that is gone, is not kept', async () => {
      const store = await open()
      const { messages } = await store.append(S, [say('user', units(100)), say('user', units(100))])
      const { viewEpoch } = await store.sessions.get(S)
      await store.compactions.hide(S, [messages[0]!.id])
      expect(await store.requests.recordUsage(S, { inputTokens: 300, viewEpoch })).toMatchObject({
        recorded: false,
      })
      expect(await store.getContextStats(S)).toMatchObject({ measured: null, source: 'estimated' })
      const now = await store.sessions.get(S)
      expect(
        await store.requests.recordUsage(S, { inputTokens: 300, viewEpoch: now.viewEpoch }),
      ).toMatchObject({
        recorded: true,
      })
    })

    test('reports of one model move its figures in all sessions, and no other model', async () => {
      const { store, reopen } = await openBoth()
      await store.append(S, [say('user', units(1_000))])
      await store.append('other', [say('user', units(4_000))])
      // F5: twenty reports of 1.3 times the estimate.
      const model = { provider: 'openai', model: 'gpt-4o' }
      for (let at = 0; at < 20; at++)
        await store.requests.recordUsage(S, { ...model, inputTokens: Math.round(1.3 * ASKED) })
      const raw = historyTokens(4_000, 1)
      const check = async (over: typeof store): Promise<void> => {
        const stats = await over.getContextStats('other', 'openai', 'gpt-4o')
        expect(stats!.source).toBe('calibrated')
        expect(stats!.calibration.samples).toBe(20)
        expect(stats!.estimatedInputTokens / raw).toBeCloseTo(1.3, 2)
        expect((await over.getContextStats('other', 'openai', 'gpt-4o-mini'))!.estimatedInputTokens).toBe(raw)
        expect((await over.getContextStats('other', 'azure', 'gpt-4o'))!.estimatedInputTokens).toBe(raw)
        // 128,000 less the reserve of 44,800, of it 80 %: the trigger comes at 66,560 true tokens.
        const threshold = (1.25 * raw) / 83_200
        expect(await over.needsCompaction('other', 'openai', 'gpt-4o', { threshold })).toBe(true)
        expect(await over.needsCompaction('other', 'openai', 'gpt-4o-mini', { threshold })).toBe(false)
      }
      await check(store)
      if (reopen !== undefined) await check(await reopen())
    })

    test('one wild report is bounded', async () => {
      const store = await open()
      await store.append(S, [say('user', units(1_000))])
      await store.append('other', [say('user', units(1_000))])
      for (const times of [1, 1, 1, 1, 100])
        await store.requests.recordUsage(S, { provider: 'openai', inputTokens: times * ASKED })
      expect((await store.getContextStats(S))!.estimatedInputTokens).toBeLessThanOrEqual(2 * ASKED)
      expect((await store.getContextStats('other', 'openai'))!.estimatedInputTokens).toBe(ASKED)
      // It says what was reported all the same.
      expect((await store.getContextStats(S))!.measured).toMatchObject({ inputTokens: 100 * ASKED })
    })

    test('planning reduces the true size to the target, not the estimated one', async () => {
      const store = await open()
      const turns = Array.from({ length: 40 }, (_, at) =>
        say(at % 2 === 0 ? 'user' : 'assistant', units(500)),
      )
      // The provider makes two tokens of each estimated one, and is told of from the first turn on.
      for (let at = 0; at < turns.length; at += 2) {
        await store.append(S, [turns[at]!])
        const estimated = (await store.getContextStats(S))!.estimated
        await store.requests.recordUsage(S, { inputTokens: 2 * estimated })
        await store.append(S, [turns[at + 1]!])
      }
      expect((await store.getContextStats(S))!.calibration.ratio).toBe(2)
      const config = { targetTokens: 20_000, enableSummarize: false, enablePrune: false } as const
      const done = await store.compactSession(S, config)
      expect(done).toMatchObject({ compacted: true, reachedTarget: true })
      expect(done!.tokensAfter).toBeLessThanOrEqual(10_000)
      expect(done!.tokensAfter).toBeGreaterThan(8_000)
      expect((await store.getContextStats(S))!.estimatedInputTokens).toBeLessThanOrEqual(20_000)
    })

    test('providers go by one name; cache reads and writes belong to the input', async () => {
      const store = await open()
      await store.append(S, [say('user', units(1_000))])
      const { inputTokens, provider } = await store.requests.recordUsage(S, {
        provider: ' Google ',
        model: 'gemini-2.5-pro',
        inputTokens: 100,
        cacheReadTokens: 1_000,
        cacheCreationTokens: 300,
      })
      expect([inputTokens, provider]).toEqual([1_400, 'google-ai'])
      expect((await store.getContextStats(S, 'google-ai', 'gemini-2.5-pro'))!.measured).toMatchObject({
        inputTokens: 1_400,
      })
    })

    test('reports are refused where they cannot be', async () => {
      const store = await open()
      await refusal(store.requests.recordUsage('nobody', { inputTokens: 1 }), 'SESSION_NOT_FOUND')
      await store.append(S, [say('user', 'x')])
      for (const inputTokens of [-1, 1.5, Number.NaN, 2_000_000_000, undefined as never])
        await refusal(store.requests.recordUsage(S, { inputTokens }), 'INVALID_INPUT')
      await refusal(store.requests.recordUsage(S, { inputTokens: 1, input: 2 } as never), 'INVALID_INPUT')
      expect((await store.getContextStats(S))!.measured).toBeNull()
    })

    test('a report of 0 tokens is ignored, however often it comes', async () => {
      const store = await open()
      await store.append(S, [say('user', units(1_000))])
      for (let at = 0; at < 3; at++)
        expect(
          (await store.requests.recordUsage(S, { inputTokens: 0, cacheReadTokens: null })).recorded,
        ).toBe(false)
      expect(await store.getContextStats(S)).toMatchObject({
        estimatedInputTokens: ASKED,
        measured: null,
        calibration: { samples: 0 },
      })
    })

    test('a purge takes the reports of the session with it', async () => {
      const store = await open()
      await store.append(S, [say('user', units(1_000))])
      await store.requests.recordUsage(S, { inputTokens: 1_500 })
      await store.sessions.purge(S)
      await store.append(S, [say('user', units(1_000))])
      expect((await store.getContextStats(S))!.measured).toBeNull()
    })
  })

  describe('limits', () => {
    test('one that was learnt counts before the tables of this package, in all sessions and after reopening', async () => {
      const { store, reopen } = await openBoth()
      await store.append(S, [say('user', 'x')])
      const windowOf = async (over: typeof store, model = 'gpt-4o'): Promise<unknown> =>
        (await over.getContextStats(S, 'openai', model))!.contextWindow
      expect(await windowOf(store)).toEqual({ tokens: 128_000, source: 'package', entry: 'gpt-4o' })
      expect(await store.limits.set({ provider: 'OpenAI', model: 'gpt-4o', tokens: 100_000 })).toBe(100_000)
      expect(await store.limits.set({ provider: 'openai', model: 'gpt-4o', tokens: 110_000 })).toBe(100_000)
      await store.limits.set({ provider: 'openai', model: 'gpt-4', tokens: 50_000 })
      for (const over of reopen === undefined ? [store] : [store, await reopen()]) {
        expect(await windowOf(over)).toEqual({ tokens: 100_000, source: 'learned' })
        expect(await windowOf(over, 'gpt-4')).toEqual({ tokens: 50_000, source: 'learned' })
        // 100,000 less 35 % for the answer.
        expect((await over.getContextStats(S, 'openai', 'gpt-4o'))!.availableInputTokens).toBe(65_000)
        expect(await over.limits.list()).toMatchObject([
          { provider: 'openai', model: 'gpt-4', tokens: 50_000 },
          { provider: 'openai', model: 'gpt-4o', tokens: 100_000 },
        ])
      }
      expect(await store.limits.forget('openai', 'gpt-4o')).toBe(true)
      expect(await store.limits.forget('openai', 'gpt-4o')).toBe(false)
      expect(await windowOf(store)).toMatchObject({ tokens: 128_000 })
    })

    test('one is forgotten when a larger request went through', async () => {
      const store = await open()
      await store.append(S, [say('user', units(70_000))])
      await store.limits.set({ provider: 'openai', model: 'gpt-4o', tokens: 70_000 })
      const model = { provider: 'openai', model: 'gpt-4o' }
      expect((await store.requests.recordUsage(S, { ...model, inputTokens: 69_000 })).limitRefuted).toBe(
        false,
      )
      expect((await store.requests.recordUsage(S, { ...model, inputTokens: 80_000 })).limitRefuted).toBe(true)
      expect(await store.limits.list()).toEqual([])
    })

    test('an overflow error teaches the limit it names, and the size', async () => {
      const { store, reopen } = await openBoth()
      await store.append(S, [say('user', units(90_000))])
      const asked = historyTokens(90_000, 1)
      const error = Object.assign(
        new Error(
          "This model's maximum context length is 100000 tokens. However, your messages resulted in 121000 tokens. Please reduce the length of the messages.",
        ),
        { status: 400, code: 'context_length_exceeded' },
      )
      const model = { provider: 'openai', model: 'gpt-4o' }
      expect(await store.limits.learn(S, error, model)).toMatchObject({
        isOverflow: true,
        reading: { provider: 'openai', kind: 'tokens', tokens: 121_000, limit: 100_000 },
        usage: { recorded: true, inputTokens: 121_000, estimatedTokens: asked, limitRefuted: false },
        learnedLimit: { tokens: 100_000, kind: 'window' },
      })
      for (const over of reopen === undefined ? [store] : [store, await reopen()]) {
        expect(await over.getContextStats(S, 'openai', 'gpt-4o')).toMatchObject({
          estimatedInputTokens: 121_000,
          source: 'measured',
          contextWindow: { tokens: 100_000, source: 'learned' },
          shouldCompact: true,
        })
      }
      // A second overflow names no limit and does not take the first one away.
      const bare = new Error('prompt is too long: 130000 tokens')
      expect(await store.limits.learn(S, bare, model)).toMatchObject({ isOverflow: true })
      expect(await store.limits.list()).toMatchObject([{ tokens: 100_000 }])
    })

    test('a limit of the input alone leaves the window as it is', async () => {
      const store = await open()
      await store.append(S, [say('user', units(100))])
      const model = { provider: 'google-ai', model: 'gemini-2.5-pro' }
      const error = 'The input token count (600000) exceeds the maximum number of tokens allowed (500000).'
      expect(await store.limits.learn(S, error, model)).toMatchObject({
        learnedLimit: { tokens: 500_000, kind: 'input' },
      })
      expect(await store.getContextStats(S, model.provider, model.model)).toMatchObject({
        contextWindow: { tokens: 1_048_576, source: 'registry' },
        inputLimit: 500_000,
        availableInputTokens: 500_000,
      })
      // With most of the window for the answer, that is what counts.
      const { availableInputTokens } = (await store.getContextStats(S, model.provider, model.model, {
        maxOutputTokens: 1_000_000,
      }))!
      expect(availableInputTokens).toBe(48_576)
      expect(await store.requests.recordUsage(S, { ...model, inputTokens: 510_000 })).toMatchObject({
        limitRefuted: true,
      })
      expect(await store.limits.list()).toEqual([])
    })

    test('the provider of the error counts where none is given', async () => {
      const store = await open()
      await store.append(S, [say('user', units(100))])
      await store.limits.learn(S, 'prompt is too long: 210000 tokens > 200000 maximum')
      expect(await store.limits.list()).toMatchObject([{ provider: 'anthropic', tokens: 200_000 }])
    })

    test('an error that is no overflow teaches nothing, and neither does a figure that cannot be', async () => {
      const store = await open()
      await store.append(S, [say('user', units(100))])
      const limited = Object.assign(
        new Error('Rate limit reached: Limit 30000, Requested 31000 tokens per min'),
        {
          status: 429,
        },
      )
      expect(await store.limits.learn(S, limited)).toEqual({ isOverflow: false })
      expect(await store.limits.learn(S, undefined)).toEqual({ isOverflow: false })
      // Two tokens are no window.
      const odd = new Error(
        "This model's maximum context length is 2 tokens. However, you requested 9 tokens",
      )
      expect(await store.limits.learn(S, odd)).not.toHaveProperty('learnedLimit')
      expect(await store.limits.list()).toEqual([])
      await refusal(store.limits.learn('nobody', odd), 'SESSION_NOT_FOUND')
      await refusal(store.limits.learn(S, odd, { inputTokens: 5 } as never), 'INVALID_INPUT')
    })

    test('impossible ones are refused', async () => {
      const store = await open()
      for (const tokens of [0, -5, 1.5, Number.POSITIVE_INFINITY])
        await refusal(store.limits.set({ provider: 'openai', tokens }), 'INVALID_INPUT')
      await refusal(store.limits.set({ provider: '', tokens: 5 }), 'INVALID_INPUT')
      expect(await store.limits.list()).toEqual([])
    })

    test("a session's own windows go before the registry", async () => {
      const store = await open()
      const windows = { openai: { 'gpt-4o': 50_000 }, 'my-gateway': 20_000 }
      await store.sessions.create({ id: S, config: { contextWindows: windows } })
      await store.append(S, [say('user', 'x')])
      const windowOf = async (provider: string, model?: string): Promise<unknown> =>
        (await store.getContextStats(S, provider, model))!.contextWindow
      expect(await windowOf('openai', 'gpt-4o-2024-08-06')).toEqual({
        tokens: 50_000,
        source: 'session',
        entry: 'gpt-4o',
      })
      expect(await windowOf('openai', 'gpt-4')).toMatchObject({ tokens: 8_192, source: 'package' })
      expect(await windowOf('My-Gateway', 'any')).toMatchObject({ tokens: 20_000, source: 'session' })
      expect(await windowOf('nobody')).toEqual({ tokens: 128_000, source: 'default' })
      const wrong = { contextWindows: { openai: { 'gpt-4o': '50k' } } }
      await refusal(store.sessions.update(S, { config: wrong }), 'INVALID_INPUT')
      await store.sessions.update(S, { config: null })
      expect(await windowOf('openai', 'gpt-4o')).toMatchObject({ tokens: 128_000 })
    })
  })
}

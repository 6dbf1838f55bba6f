import { describe, expect, test } from 'vitest'
import { estimateMessagesTokens } from '../../../src/core/tokens/index.ts'
import { call, calls, chat, failure, result, say, units } from '../../support/conversation.ts'
import {
  appendAll,
  type Contract,
  everything,
  historyTokens,
  ONLY,
  refusal,
  S,
  shape,
  standing,
} from './support.ts'

export function describeReading({ open, keeps }: Contract): void {
  describe('getMessages', () => {
    test('pages forwards and backwards', async () => {
      const store = await open()
      await appendAll(store, chat(5))
      const positions = async (options: Parameters<typeof store.getMessages>[1]): Promise<unknown[]> =>
        (await store.getMessages(S, options)).map(({ position }) => position)
      expect(await positions({})).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      expect(await positions({ limit: 4 })).toEqual([1, 2, 3, 4])
      expect(await positions({ limit: 4, after: 4 })).toEqual([5, 6, 7, 8])
      expect(await positions({ limit: 4, after: 8 })).toEqual([9, 10])
      expect(await positions({ after: 10 })).toEqual([])
      expect(await positions({ order: 'backward', limit: 3 })).toEqual([10, 9, 8])
      expect(await positions({ order: 'backward', limit: 3, before: 8 })).toEqual([7, 6, 5])
      expect(await positions({ order: 'backward', before: 1 })).toEqual([])
      expect(await positions({ after: 2, before: 6 })).toEqual([3, 4, 5])
      expect(await positions({ after: 2, before: 6, limit: 1, order: 'backward' })).toEqual([5])
      expect(await positions({ after: Number.MAX_SAFE_INTEGER })).toEqual([])
      expect(
        await positions({ before: Number.MAX_SAFE_INTEGER, limit: Number.MAX_SAFE_INTEGER }),
      ).toHaveLength(10)
    })

    test('rows that compactions inserted come with the message before them', async () => {
      const store = await open()
      await appendAll(store, chat(5))
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'First.' })
      await store.compactSession(S, { range: { from: 1, to: 6 }, summary: 'Both.' })
      const places = async (options: Parameters<typeof store.getMessages>[1]): Promise<unknown[]> =>
        (await store.getMessages(S, options)).map(({ position, kind }) => position ?? kind)
      expect(await places({ limit: 4 })).toEqual([1, 2, 3, 4, 'summary'])
      expect(await places({ limit: 2, after: 4 })).toEqual([5, 6, 'summary'])
      expect(await places({ order: 'backward', limit: 2, before: 7 })).toEqual(['summary', 6, 5])
      // Page by page it is the whole.
      const whole = await store.getMessages(S)
      const pages = []
      for (let after = 0; after < 10; after += 3)
        pages.push(...(await store.getMessages(S, { after, limit: 3 })))
      expect(pages).toEqual(whole)
      expect(await store.getMessages(S, { order: 'backward' })).toEqual([...whole].reverse())
    })

    test('of an empty session nothing, of an unknown one an error', async () => {
      const store = await open()
      await store.sessions.create({ id: S })
      expect(await store.getMessages(S)).toEqual([])
      expect(await store.getEffectiveHistory(S, { provenance: true })).toEqual([])
      expect((await store.renderHistory(S)).messages).toEqual([])
      await refusal(store.getMessages('nobody'), 'SESSION_NOT_FOUND')
      await refusal(store.getEffectiveHistory('nobody'), 'SESSION_NOT_FOUND')
      await refusal(store.renderHistory('nobody'), 'SESSION_NOT_FOUND')
    })
  })

  describe('provenance', () => {
    test('goes down to the originals, through summaries of summaries', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(6))
      await store.compactions.hide(S, [ids[2]!])
      await store.compactSession(S, { range: { from: 2, to: 5 }, summary: 'Inner.' })
      await store.compactSession(S, { range: { from: 1, to: 8 }, summary: 'Outer.' })
      const view = await store.getEffectiveHistory(S, { provenance: true })
      // 3 was hidden by hand before, so the summary does not stand for it.
      expect(view.map(({ positions }) => positions)).toEqual([
        [
          [1, 2],
          [4, 8],
        ],
        [[9, 9]],
        [[10, 10]],
        [[11, 11]],
        [[12, 12]],
      ])
      expect((await store.getEffectiveHistory(S))[0]).not.toHaveProperty('positions')
    })
  })

  describe('pins', () => {
    test('count what they change', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(3))
      expect(await store.messages.pin(S, [ids[0]!, ids[1]!, ids[0]!])).toBe(2)
      expect(await store.messages.pin(S, [ids[0]!, ids[2]!])).toBe(1)
      expect((await store.getMessages(S)).map(({ pinned }) => pinned)).toEqual([
        true,
        true,
        true,
        false,
        false,
        false,
      ])
      expect(await store.messages.unpin(S, [ids[0]!, ids[3]!])).toBe(1)
      const { version } = await store.sessions.get(S)
      expect(await store.messages.unpin(S, [ids[0]!])).toBe(0)
      expect((await store.sessions.get(S)).version).toBe(version)
      if (keeps.audit) {
        const log = await store.sessions.audit(S)
        expect(log.map(({ event, detail }) => [event, detail?.count, detail?.messageIds])).toEqual([
          ['pinned', 2, [ids[0], ids[1]]],
          ['pinned', 1, [ids[2]]],
          ['unpinned', 1, [ids[0]]],
        ])
        // The second call named the first message, which was pinned already.
        const [first] = log
        const then = await store.getMessages(S, { at: { audit: first!.no } })
        expect(then.map(({ pinned }) => pinned)).toEqual([true, true, false, false, false, false])
      }
    })

    test('are all or nothing', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(3))
      const before = await everything(store)
      const error = await refusal(store.messages.pin(S, [ids[0]!, 'nobody']), 'MESSAGE_NOT_FOUND')
      expect(error.facts).toEqual({ sessionId: S, messageId: 'nobody' })
      expect(await everything(store)).toEqual(before)
      await refusal(store.messages.pin('nobody', ['x']), 'SESSION_NOT_FOUND')
    })

    test('may be put on what is hidden and on summaries', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(6))
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'x' })
      expect(await store.messages.pin(S, [ids[0]!])).toBe(1)
      const [summary] = await store.getEffectiveHistory(S)
      expect(await store.messages.pin(S, [summary!.id])).toBe(1)
      await refusal(store.compactSession(S, { range: { from: 1, to: 8 }, summary: 'y' }), 'ILLEGAL_BOUNDARY')
    })
  })

  describe('hideMessages', () => {
    test('hides what is named, undoably', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(4))
      const before = await standing(store)
      const hidden = await store.compactions.hide(S, [ids[5]!, ids[2]!, ids[2]!], {
        actor: 'anna',
        reason: 'wrong',
      })
      expect(hidden).toMatchObject({ kind: 'manual', status: 'active', rowsHidden: 2, rowsInserted: 0 })
      expect(hidden).toMatchObject({ actor: 'anna', reason: 'wrong', trigger: 'manual', insertedIds: [] })
      expect(await shape(store)).toEqual([1, 2, 4, 5, 7, 8])
      expect((await store.getContextStats(S))!.hidden).toEqual({ condensed: 0, truncated: 0, manual: 2 })
      expect((await store.getMessages(S))[2]).toMatchObject({ hidden: true, truncationParent: hidden.id })
      await store.undoCompaction(S, hidden.id)
      expect(await standing(store)).toEqual(before)
    })

    test('a call goes with its result, a batch as one', async () => {
      const store = await open()
      const ids = await appendAll(store, [
        say('user', 'go'),
        calls(['a', 'run'], ['b', 'run']),
        result('a', 'A'),
        failure('b', 'B'),
        say('assistant', 'done'),
        say('user', 'again'),
        call('a', 'run'),
        result('a', 'A'),
        say('assistant', 'done'),
      ])
      const parted = async (...at: number[]): Promise<unknown> =>
        (
          await refusal(
            store.compactions.hide(
              S,
              at.map((index) => ids[index]!),
            ),
            'ILLEGAL_BOUNDARY',
          )
        ).facts.messageIds
      expect(await parted(1)).toEqual([ids[2], ids[3]])
      expect(await parted(2)).toEqual([ids[1], ids[3]])
      expect(await parted(1, 2)).toEqual([ids[3]])
      // The same id again is another pair: by position first.
      expect(await parted(6)).toEqual([ids[7]])
      await store.compactions.hide(S, [ids[1]!, ids[2]!, ids[3]!])
      expect(await shape(store)).toEqual([1, 5, 6, 7, 8, 9])
    })

    test('reasoning goes with the tool loop it belongs to', async () => {
      const store = await open()
      const ids = await appendAll(store, [
        say('user', 'go'),
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'Hm.' },
            { type: 'tool-call', toolCallId: 'a', toolName: 'run', input: {} },
          ],
        },
        result('a', 'A'),
        call('b', 'run'),
        result('b', 'B'),
        say('assistant', 'done'),
      ])
      const error = await refusal(store.compactions.hide(S, [ids[3]!, ids[4]!]), 'ILLEGAL_BOUNDARY')
      expect(error.facts.messageIds).toEqual([ids[1], ids[2]])
      await store.compactions.hide(S, [ids[1]!, ids[2]!, ids[3]!, ids[4]!])
    })

    test('what must stay stays', async () => {
      const store = await open()
      const ids = await appendAll(store, [
        say('system', 'Be brief.'),
        ...chat(4),
        say('user', 'go'),
        call('a', 'run'),
      ])
      await store.messages.pin(S, [ids[1]!])
      await store.compactSession(S, { range: { from: 4, to: 7 }, summary: 'x' })
      const summary = (await store.getEffectiveHistory(S)).find(({ kind }) => kind === 'summary')!
      const before = await everything(store)
      await refusal(store.compactions.hide(S, [ids[0]!]), 'ILLEGAL_BOUNDARY')
      await refusal(store.compactions.hide(S, [ids[1]!]), 'ILLEGAL_BOUNDARY')
      await refusal(store.compactions.hide(S, [summary.id]), 'ILLEGAL_BOUNDARY')
      const waiting = await refusal(store.compactions.hide(S, [ids[10]!]), 'PENDING_TOOL_CALLS')
      expect(waiting.facts.messageIds).toEqual([ids[10]])
      await refusal(store.compactions.hide(S, [ids[2]!, 'nobody']), 'MESSAGE_NOT_FOUND')
      await refusal(store.compactions.hide('nobody', ['x']), 'SESSION_NOT_FOUND')
      expect(await everything(store)).toEqual(before)
    })

    test('what is hidden already is refused as stale', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(4))
      await store.compactions.hide(S, [ids[2]!])
      const before = await everything(store)
      const error = await refusal(store.compactions.hide(S, [ids[2]!, ids[3]!]), 'STALE_PLAN')
      expect(error.facts.messageIds).toEqual([ids[2]])
      expect(await everything(store)).toEqual(before)
    })

    test('a marker may be hidden', async () => {
      const store = await open()
      await appendAll(store, chat(8))
      await store.compactSession(S, { ...ONLY.truncate, targetTokens: 200 })
      const marker = (await store.getEffectiveHistory(S)).find(({ kind }) => kind === 'marker')!
      await store.compactions.hide(S, [marker.id])
      expect(await shape(store)).not.toContain('marker')
    })
  })

  describe('stats', () => {
    test('null without messages, and no need to compact', async () => {
      const store = await open()
      expect(await store.getContextStats('nobody')).toBeNull()
      expect(await store.needsCompaction('nobody')).toBe(false)
      expect(await store.compactSession('nobody')).toBeNull()
      await store.sessions.create({ id: S })
      expect(await store.getContextStats(S)).toBeNull()
      expect(await store.needsCompaction(S)).toBe(false)
      expect(await store.compactSession(S)).toBeNull()
    })

    test('computed manually', async () => {
      const store = await open()
      await appendAll(store, [
        say('user', 'Hello there'), // 11 characters: 3
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'Hm, well' }, // 8: 2
            { type: 'text', text: 'I look' }, // 6: 2
            { type: 'tool-call', toolCallId: 'a', toolName: 'read', input: { p: 'a' } }, // 4: 1, {"p":"a"} 9: 3
          ],
        },
        result('a', 'nine char'), // 9: 3
        { role: 'user', content: [{ type: 'image', image: 'aGk=' }] }, // 1,024
      ])
      const stats = await store.getContextStats(S)
      expect(stats).toMatchObject({
        sizes: {
          text: 5,
          reasoning: 2,
          toolCalls: 4,
          toolResults: 3,
          media: 1_024,
          images: 1,
          mediaBytes: 4,
        },
        messageCount: 4,
        storedMessages: 4,
        activeCompactions: 0,
        provider: 'openai',
        estimator: 'neurolink',
        withinBudget: true,
        shouldCompact: false,
        // ceil(14 × 1.15) = 17, 16 of framing, 24, 1,024.
        estimatedInputTokens: 1_081,
        // 128,000 - min(64,000, 44,800).
        availableInputTokens: 83_200,
      })
      expect(stats!.usageRatio).toBe(1_081 / 83_200)
      expect(stats).not.toHaveProperty('model')
      // anthropic: ceil(14 × 1.23 × 1.15) = ceil(19.803) = 20; 200,000 - 64,000.
      expect(await store.getContextStats(S, 'anthropic', 'claude-sonnet-4-20250514')).toMatchObject({
        estimatedInputTokens: 1_084,
        availableInputTokens: 136_000,
        model: 'claude-sonnet-4-20250514',
      })
    })

    test('count what is about to be sent', async () => {
      const store = await open()
      await appendAll(store, chat(1))
      const stats = await store.getContextStats(S, 'openai', 'gpt-4', {
        system: units(100), // 115 + 4
        prompt: units(20), // 23 + 4
        tools: [{ name: 'x'.repeat(89) }], // 100 characters of JSON: 25
        files: [{ content: units(40) }], // 46
        maxOutputTokens: 1_000,
      })
      expect(stats!.breakdown).toEqual({
        systemPrompt: 119,
        conversationHistory: historyTokens(20, 2),
        currentPrompt: 27,
        toolDefinitions: 25,
        fileAttachments: 46,
      })
      expect(stats!.estimatedInputTokens).toBe(historyTokens(20, 2) + 119 + 27 + 25 + 46)
      expect(stats!.availableInputTokens).toBe(7_192)
    })

    test('compaction is due at exactly 80 %', async () => {
      const store = await open()
      const answer = { maxOutputTokens: 2_867 }
      // gpt-4 with 2,867 for the answer: 8,192 - 2,867 = 5,325 available, 80 % of it 4,260. Two messages: 32 of framing, so 4,228 for text:
      // 3,676 units are 4,227.4, 3,675 are 4,226.25.
      await appendAll(store, [say('user', units(3_675)), say('assistant', '')])
      expect((await store.getContextStats(S, 'openai', 'gpt-4', answer))!.estimatedInputTokens).toBe(4_259)
      expect(await store.needsCompaction(S, 'openai', 'gpt-4', answer)).toBe(false)
      await appendAll(store, [say('user', units(3_675)), say('assistant', 'x')], 'other')
      expect(await store.getContextStats('other', 'openai', 'gpt-4', answer)).toMatchObject({
        estimatedInputTokens: 4_260,
        usageRatio: 0.8,
        shouldCompact: true,
      })
      expect(await store.needsCompaction('other', 'openai', 'gpt-4', answer)).toBe(true)
      expect(await store.needsCompaction('other', 'openai', 'gpt-4', { ...answer, threshold: 0.81 })).toBe(
        false,
      )
      expect(await store.needsCompaction(S, 'openai', 'gpt-4', { ...answer, prompt: 'x' })).toBe(true)
    })

    test("use the session's own provider and model", async () => {
      const store = await open()
      await store.sessions.create({ id: S, provider: 'openai', model: 'gpt-4' })
      await appendAll(store, chat(1))
      expect(await store.getContextStats(S)).toMatchObject({ model: 'gpt-4', availableInputTokens: 5_324 })
      // Another provider does not get this one's model.
      expect(await store.getContextStats(S, 'anthropic')).toMatchObject({ availableInputTokens: 136_000 })
      expect(await store.getContextStats(S, undefined, 'gpt-4o')).toMatchObject({
        availableInputTokens: 83_200,
      })
    })

    test('equal the pure function on the same rows, after whatever happened', async () => {
      const store = await open()
      const agree = async (): Promise<void> => {
        const view = await store.getEffectiveHistory(S)
        for (const provider of ['openai', 'anthropic', 'mistral', 'somebody']) {
          const stats = await store.getContextStats(S, provider)
          expect(stats!.breakdown.conversationHistory).toBe(estimateMessagesTokens(view, provider))
        }
      }
      await appendAll(
        store,
        Array.from({ length: 12 }, (_, at) => [
          say('user', `question ${at} ${'ä'.repeat(at * 7)}`),
          call(`c${at}`, 'read', { path: `src/${at % 2}.ts` }),
          result(`c${at}`, 'line\n'.repeat(40 + at)),
          say('assistant', 'x'.repeat(at * 13)),
        ]).flat(),
      )
      await agree()
      const run = await store.compactSession(S, {
        targetTokens: 300,
        pruneProtectTokens: 100,
        pruneMinimumSavings: 0,
        summaryMaxTokens: 80,
        keepRecentTokens: 200,
      })
      expect(run!.stagesUsed.length).toBeGreaterThan(1)
      await agree()
      for (const { id } of run!.compactions.toReversed()) {
        await store.undoCompaction(S, id, { cascade: true })
        await agree()
      }
      await store.redoCompaction(S, run!.compactions[0]!.id)
      await agree()
    })

    test('report what is hidden by what', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(9))
      await store.compactions.hide(S, [ids[16]!])
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'x' })
      await store.compactSession(S, { ...ONLY.truncate, targetTokens: 200 })
      const stats = await store.getContextStats(S)
      const rows = await store.getMessages(S)
      expect(stats!.hidden.manual).toBe(1)
      expect(stats!.hidden.condensed).toBe(4)
      expect(stats!.hidden.truncated).toBe(rows.filter(({ hidden }) => hidden).length - 5)
      expect(stats).toMatchObject({ storedMessages: 18, activeCompactions: 3 })
      expect(stats!.messageCount).toBe(rows.filter(({ hidden }) => !hidden).length)
    })
  })
}

import { describe, expect, test } from 'vitest'
import type { CompactionConfig } from '../../../src/index.ts'
import { call, chat, result, say, units } from '../../support/conversation.ts'
import { appendAll, type Contract, fakeModel, ONLY, refusal, S, shape, standing, texts } from './support.ts'

/** Everything above target, only stage 3. */
const all: CompactionConfig = { ...ONLY.summarize, targetTokens: 0 }

export function describeSummarize({ open, keeps }: Contract): void {
  describe('summarize', () => {
    test('replaces everything before the newest turns that fit', async () => {
      const store = await open()
      // 6 turns of two messages, 10 units each: a message is ceil(11.5) + 4 = 16 tokens.
      const ids = await appendAll(store, chat(6))
      const summarizer = fakeModel('They counted to four.')
      const run = await store.compactSession(S, { ...all, summarizer, keepRecentTokens: 64 })
      expect(await shape(store)).toEqual(['summary', 9, 10, 11, 12])
      expect(run).toMatchObject({ compacted: true, stagesUsed: ['summarize'] })
      expect(run!.compactions).toMatchObject([{ kind: 'condense', rowsHidden: 8, rowsInserted: 1 }])
      const [summary] = await store.getEffectiveHistory(S, { provenance: true })
      expect(summary).toMatchObject({
        kind: 'summary',
        role: 'system',
        content: 'They counted to four.',
        condenseId: run!.compactions[0]!.id,
        positions: [[1, 8]],
      })
      expect(summary!.position).toBeUndefined()
      const rows = await store.getMessages(S)
      expect(rows.map((row) => row.condenseParent)).toEqual([
        ...Array.from({ length: 8 }, () => run!.compactions[0]!.id),
        ...Array.from({ length: 5 }, () => undefined),
      ])
      expect(rows.slice(0, 8).map(({ id }) => id)).toEqual(ids.slice(0, 8))
      expect(summarizer.requests).toHaveLength(1)
      expect(summarizer.requests[0]!.messages).toEqual(
        chat(4).map(({ role, content }) => ({
          kind: 'message',
          role,
          content: [{ type: 'text', text: content }],
        })),
      )
    })

    test('one token less of room keeps one turn less', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      await store.compactSession(S, { ...all, summarizer: fakeModel(), keepRecentTokens: 63 })
      expect(await shape(store)).toEqual(['summary', 11, 12])
    })

    test('keeps the newest turn even when it is larger than the tail may be', async () => {
      const store = await open()
      await appendAll(store, [...chat(3, 100), say('user', units(300)), say('assistant', units(300))])
      await store.compactSession(S, {
        ...all,
        targetTokens: 900,
        summarizer: fakeModel(),
        keepRecentTokens: 10,
        summaryMaxTokens: 100,
      })
      expect(await shape(store)).toEqual(['summary', 7, 8])
    })

    test('cuts inside the newest turn when that alone does not fit the target', async () => {
      const store = await open()
      const loops = Array.from({ length: 6 }, (_, at) => [
        call(`c${at}`, 'run'),
        result(`c${at}`, units(100)),
      ]).flat()
      await appendAll(store, [say('user', 'go'), ...loops])
      await store.compactSession(S, {
        ...all,
        targetTokens: 500,
        summarizer: fakeModel(),
        keepRecentTokens: 300,
        summaryMaxTokens: 100,
      })
      const view = await shape(store)
      expect(view[0]).toBe('summary')
      // Two loops of 115 + 4 and a call of ceil(2.3) + 4 each fit 300 tokens, three do not.
      expect(view.slice(1)).toEqual([10, 11, 12, 13])
    })

    test('never parts a call from its result', async () => {
      const store = await open()
      await appendAll(store, [
        ...chat(2),
        say('user', 'look'),
        call('a', 'run'),
        say('user', 'and hurry'),
        result('a', units(50)),
        say('assistant', 'done'),
        ...chat(1),
      ])
      for (let keepRecentTokens = 0; keepRecentTokens <= 250; keepRecentTokens += 25) {
        const run = await store.compactSession(S, { ...all, summarizer: fakeModel(), keepRecentTokens })
        const view = await shape(store)
        expect(view.includes(6), `kept ${keepRecentTokens}`).toBe(view.includes(8))
        if (run!.compacted) await store.undoCompaction(S, run!.runId)
      }
    })

    test('leaves histories of four messages alone', async () => {
      const store = await open()
      await appendAll(store, chat(2))
      const run = await store.compactSession(S, { ...all, summarizer: fakeModel(), keepRecentTokens: 0 })
      expect(run).toMatchObject({ compacted: false, reason: 'NO_PROGRESS' })
    })

    test('with a ratio, keeps the number of the seed: a share, rounded up, at least four', async () => {
      const kept = async (turns: number, keepRecentRatio: number): Promise<number> => {
        const store = await open()
        await appendAll(store, chat(turns))
        await store.compactSession(S, { ...all, summarizer: fakeModel(), keepRecentRatio })
        return (await shape(store)).filter((place) => typeof place === 'number').length
      }
      // ceil(20 × 0.3) = 6; ceil(22 × 0.3) = 7; ceil(10 × 0.3) = 3, at least 4; none asked for, at least 4.
      expect(await kept(10, 0.3)).toBe(6)
      expect(await kept(11, 0.3)).toBe(7)
      expect(await kept(5, 0.3)).toBe(4)
      expect(await kept(5, 0)).toBe(4)
    })

    test('merges an earlier summary: the next one replaces it and receives it', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const first = await store.compactSession(S, {
        ...all,
        summarizer: fakeModel('First part.'),
        keepRecentTokens: 64,
      })
      await appendAll(store, chat(4))
      const summarizer = fakeModel('First and second part.')
      const second = await store.compactSession(S, { ...all, summarizer, keepRecentTokens: 64 })
      // 12 messages and 8 more: the tail is 17–20.
      expect(await shape(store)).toEqual(['summary', 17, 18, 19, 20])
      expect(summarizer.requests[0]!.previousSummary).toBe('First part.')
      expect(summarizer.requests[0]!.messages.map(({ kind }) => kind)).not.toContain('summary')
      const [entry] = await store.getEffectiveHistory(S, { provenance: true })
      expect(entry!.positions).toEqual([[1, 16]])
      const rows = await store.getMessages(S)
      const inner = rows.find(({ condenseId }) => condenseId === first!.compactions[0]!.id)!
      expect(inner).toMatchObject({ hidden: true, condenseParent: second!.compactions[0]!.id, anchor: 8 })
      // Originals keep their own parent.
      expect(rows[0]!.condenseParent).toBe(first!.compactions[0]!.id)
    })

    test('a pinned message in the middle parts the history in two summaries', async () => {
      const store = await open()
      // 8 turns of 100 units a message, so that the second range is worth a summary.
      const ids = await appendAll(store, chat(8, 100))
      await store.messages.pin(S, [ids[6]!])
      const summarizer = fakeModel(({ messages }) => `Summary of ${messages.length}.`)
      const run = await store.compactSession(S, { ...all, summarizer, keepRecentTokens: 240 })
      expect(await texts(store)).toEqual([
        'Summary of 6.',
        chat(8, 100)[6]!.content,
        'Summary of 7.',
        chat(8, 100)[14]!.content,
        chat(8, 100)[15]!.content,
      ])
      expect(run!.compactions.map(({ kind }) => kind)).toEqual(['condense', 'condense'])
      await store.undoCompaction(S, run!.runId)
      expect(await shape(store)).toEqual(Array.from({ length: 16 }, (_, at) => at + 1))
    })

    test('system messages and waiting calls stay', async () => {
      const store = await open()
      await appendAll(store, [say('system', 'Be brief.'), ...chat(5), say('user', 'look'), call('a', 'run')])
      await store.compactSession(S, { ...all, summarizer: fakeModel(), keepRecentTokens: 0 })
      expect(await shape(store)).toEqual([1, 'summary', 12, 13])
    })

    test('a call without a result stays until a later request is answered, and gets its result when it comes', async () => {
      const store = await open()
      // What the user writes in the meantime is no reason to give the call up.
      await appendAll(store, [
        ...chat(3),
        say('user', 'look'),
        call('slow', 'run'),
        ...Array.from({ length: 6 }, () => say('user', units(60))),
      ])
      const summarizer = fakeModel()
      // A message of 60 units is 69 + 4 = 73 tokens.
      await store.compactSession(S, { ...all, summarizer, keepRecentTokens: 146 })
      // The call separates the summary of what is before it from that of what follows it.
      expect(await shape(store)).toEqual(['summary', 8, 'summary', 13, 14])
      expect(JSON.stringify(summarizer.requests)).not.toContain('slow')
      const statusOf = async (): Promise<unknown> =>
        (await store.messages.toolCalls(S)).map(({ callId, status, shown }) => [callId, status, shown])
      expect(await statusOf()).toEqual([['slow', 'pending', 'full']])

      await appendAll(store, [result('slow', 'it came')])
      expect(await statusOf()).toEqual([['slow', 'ok', 'full']])
      const { messages, mends } = await store.renderHistory(S, { provider: 'anthropic' })
      expect(mends.map(({ kind }) => kind)).not.toContain('result-as-text')
      const at = messages.findIndex(({ role }) => role === 'assistant')
      expect(messages[at]).toEqual(call('slow', 'run'))
      expect((messages[at + 1]!.content as readonly unknown[])[0]).toMatchObject({
        type: 'tool-result',
        toolCallId: 'slow',
        output: { value: 'it came' },
      })

      // The next run replaces the pair together with the summaries around it.
      await appendAll(store, chat(2))
      await store.compactSession(S, { ...all, summarizer, keepRecentTokens: 32 })
      expect(await shape(store)).toEqual(['summary', 18, 19])
      expect(JSON.stringify(summarizer.requests.at(-1))).toContain('it came')
    })

    test('an abandoned call is summarized, and its late result is text until the call is visible again', async () => {
      const store = await open()
      await appendAll(store, [say('user', 'look'), call('slow', 'search'), ...chat(4, 60)])
      const run = await store.compactSession(S, { ...all, summarizer: fakeModel(), keepRecentTokens: 146 })
      expect(await shape(store)).toEqual(['summary', 9, 10])
      await appendAll(store, [result('slow', 'it came')])
      const shown = async (): Promise<readonly string[]> => {
        const { messages, mends } = await store.renderHistory(S, { provider: 'anthropic' })
        expect(JSON.stringify(messages)).toContain('it came')
        if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
        return mends.map(({ kind }) => kind)
      }
      expect(await shown()).toContain('result-as-text')
      expect(JSON.stringify(await store.renderHistory(S, { provider: 'anthropic' }))).toContain(
        '[Result of tool search] it came',
      )
      await store.undoCompaction(S, run!.runId)
      expect(await shown()).not.toContain('result-as-text')
      // The pair is whole now, so the summary may not hide the call alone.
      await refusal(store.redoCompaction(S, run!.runId), 'INPUT_NOT_VISIBLE')
      await store.compactSession(S, { range: { from: 1, to: 11 }, summary: 'x' })
      expect(await shape(store)).toEqual(['summary'])
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test('a result whose call was rewound is shown with the name of its tool', async () => {
      const store = await open()
      const ids = await appendAll(store, [say('user', 'look'), call('slow', 'search')])
      await store.rewind(S, { from: { beforeMessage: ids[1]! } })
      await appendAll(store, [result('slow', 'it came')])
      const { messages } = await store.renderHistory(S, { provider: 'openai' })
      expect(JSON.stringify(messages)).toContain('[Result of tool search] it came')
      const request = await store.prepareRequest(S, { provider: 'openai', prompt: 'Go on.' })
      expect(JSON.stringify(request.messages)).toContain('[Result of tool search] it came')
    })

    test('long ranges come in chunks that fit the summarizer, each with the summary so far', async () => {
      const store = await open()
      await appendAll(store, chat(8, 100))
      let count = 0
      // A message is ceil(115) + 4 + 24 = 143 tokens by itself; three of them fit 430.
      const summarizer = fakeModel(() => `Part ${++count}.`, { maxInputTokens: 430 })
      await store.compactSession(S, { ...all, summarizer, keepRecentTokens: 240 })
      expect(summarizer.requests.map(({ messages }) => messages.length)).toEqual([3, 3, 3, 3, 2])
      expect(summarizer.requests.map(({ previousSummary }) => previousSummary)).toEqual([
        undefined,
        'Part 1.',
        'Part 2.',
        'Part 3.',
        'Part 4.',
      ])
      expect((await texts(store))[0]).toBe('Part 5.')
    })

    test('a summary not smaller than what it replaces changes nothing', async () => {
      const store = await open()
      await appendAll(store, chat(5))
      const before = await standing(store)
      // 8 messages of 10 units: ceil(92) + 32 = 124 tokens. 105 units: ceil(120.75) = 121, and 4: 125.
      const range = { from: 1, to: 8 }
      const refused = await store.compactSession(S, { range, summary: units(105) })
      expect(refused).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED', tokensSaved: 0 })
      expect(refused!.failed).toMatchObject([{ status: 'rejected', error: 'SUMMARY_NOT_SMALLER' }])
      // 104 units: ceil(119.6) + 4 = 124 tokens: as many, so not smaller either.
      expect(await store.compactSession(S, { range, summary: units(104) })).toMatchObject({
        compacted: false,
      })
      expect(await standing(store)).toEqual(before)
      // 103 units: ceil(118.45) + 4 = 123.
      expect(await store.compactSession(S, { range, summary: units(103) })).toMatchObject({ compacted: true })
      if (keeps.audit) {
        const statuses = (await store.listCompactions(S)).map(({ status, error }) => [status, error])
        expect(statuses).toEqual([
          ['rejected', 'SUMMARY_NOT_SMALLER'],
          ['rejected', 'SUMMARY_NOT_SMALLER'],
          ['active', undefined],
        ])
      }
    })

    test('exactly a range is condensed, with the text given', async () => {
      const store = await open()
      await appendAll(store, chat(5))
      const run = await store.compactSession(S, { range: { from: 3, to: 6 }, summary: 'Two turns.' })
      expect(await shape(store)).toEqual([1, 2, 'summary', 7, 8, 9, 10])
      expect((await texts(store))[2]).toBe('Two turns.')
      expect(run!.compactions).toMatchObject([{ kind: 'condense', rowsHidden: 4 }])
      // A range beyond the end covers what is there.
      await store.compactSession(S, { range: { from: 9, to: 1_000_000 }, summary: 'End.' })
      expect(await shape(store)).toEqual([1, 2, 'summary', 7, 8, 'summary'])
    })

    test('a range meets the laws', async () => {
      const store = await open()
      const ids = await appendAll(store, [
        say('system', 'Be brief.'),
        say('user', units(20)),
        call('a', 'run'),
        result('a', units(20)),
        say('assistant', units(20)),
        say('user', units(20)),
        say('assistant', units(20)),
        say('user', 'look'),
        call('b', 'run'),
      ])
      await store.messages.pin(S, [ids[5]!])
      const before = await standing(store)
      const condense = (from: number, to: number): Promise<unknown> =>
        store.compactSession(S, { range: { from, to }, summary: 'x' })
      const why = async (from: number, to: number): Promise<readonly string[]> =>
        (await refusal(condense(from, to), 'ILLEGAL_BOUNDARY')).facts.messageIds
      expect(await why(1, 5)).toEqual([ids[0]])
      expect(await why(2, 3)).toEqual([ids[3]])
      expect(await why(4, 5)).toEqual([ids[2]])
      expect(await why(5, 7)).toEqual([ids[5]])
      expect(await why(10, 12)).toEqual([])
      expect((await refusal(condense(7, 9), 'PENDING_TOOL_CALLS')).facts.messageIds).toEqual([ids[8]])
      expect(await standing(store)).toEqual(before)
      await condense(2, 5)
      expect(await shape(store)).toEqual([1, 'summary', 6, 7, 8, 9])
    })

    test('a summary without text for a range must not be blank', async () => {
      const store = await open()
      await appendAll(store, chat(5))
      const run = await store.compactSession(S, { range: { from: 1, to: 4 }, summary: ' \n' })
      expect(run).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED' })
      expect(run!.failed).toMatchObject([{ status: 'failed', error: 'EMPTY_SUMMARY' }])
    })

    test('the extractive summarizer needs no model and is the default', async () => {
      const store = await open()
      await appendAll(store, [say('user', 'Please never touch the file secrets.env.'), ...chat(10, 60)])
      const run = await store.compactSession(S, { ...all, keepRecentTokens: 200, summaryMaxTokens: 400 })
      expect(run!.stagesUsed).toEqual(['summarize'])
      const [compaction] = await store.listCompactions(S)
      expect(compaction!.summarizer).toBe('extractive')
      expect((await texts(store))[0]).toContain('secrets.env')
    })
  })
}

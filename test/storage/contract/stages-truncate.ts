import { describe, expect, test } from 'vitest'
import { CUT_ENDING, TRUNCATION_MARKER } from '../../../src/compat/arrays/index.ts'
import type { CompactionConfig, NewMessage } from '../../../src/index.ts'
import { call, chat, result, say, units } from '../../support/conversation.ts'
import {
  appendAll,
  type Contract,
  fakeModel,
  historyTokens,
  ONLY,
  S,
  shape,
  standing,
  texts,
} from './support.ts'

/** The marker has 75 characters: 19 units. */
const MARKER_UNITS = 19
const FIRST_EXCHANGE = [1, 2]

export function describeTruncate({ open }: Contract): void {
  describe('truncate', () => {
    const truncate = (targetTokens: number, more: CompactionConfig = {}): CompactionConfig => ({
      ...ONLY.truncate,
      targetTokens,
      ...more,
    })

    test('a pinned marker stays, beside the marker of a later truncation', async () => {
      const store = await open()
      await appendAll(store, chat(8, 100))
      await store.compactSession(S, truncate(700))
      const marker = (await store.getEffectiveHistory(S)).find(({ kind }) => kind === 'marker')!
      await store.messages.pin(S, [marker.id])
      await appendAll(store, chat(8, 100))
      const run = await store.compactSession(S, truncate(700))
      expect(run).toMatchObject({ compacted: true, reachedTarget: true })
      const markers = (await store.getEffectiveHistory(S)).filter(({ kind }) => kind === 'marker')
      expect(markers.map(({ id }) => id === marker.id)).toEqual([true, false])
      await store.compactSession(S, { ...truncate(400), truncationFraction: 0.5 })
      expect((await store.getEffectiveHistory(S)).some(({ id }) => id === marker.id)).toBe(true)
    })

    test('a request beside results of tools stays, and the calls with it', async () => {
      const store = await open()
      const answered = (id: string, words: string): NewMessage => ({
        role: 'user',
        content: [
          { type: 'tool-result', toolCallId: id, output: { type: 'text', value: units(5) } },
          { type: 'text', text: words },
        ],
      })
      // In the newest turn.
      await appendAll(store, [
        say('user', 'Go'),
        call('a', 'run'),
        answered('a', 'And mind the gap'),
        call('b', 'run'),
        result('b', units(500)),
        say('assistant', 'Done'),
      ])
      await store.compactSession(S, truncate(historyTokens(200, 6)))
      expect(await shape(store)).toEqual([1, 2, 3, 'marker', 6])
      // In the first exchange, the beginning of which is not there.
      await appendAll(
        store,
        [
          call('a', 'run'),
          answered('a', 'Go'),
          call('b', 'run'),
          result('b', units(500)),
          say('assistant', 'Done'),
          say('user', 'More'),
          say('assistant', 'Yes'),
        ],
        'other',
      )
      await store.compactSession('other', truncate(historyTokens(200, 6)))
      expect(await shape(store, 'other')).toEqual([1, 2, 'marker', 6, 7])
    })

    test('hides the oldest turns after the first exchange, whole, until it fits', async () => {
      const store = await open()
      // 9 turns, 18 messages of 10 units. Without turns 2–4 and with the marker: 120 + 19 units in 13 rows.
      await appendAll(store, chat(9))
      const target = historyTokens(120 + MARKER_UNITS, 13)
      const run = await store.compactSession(S, truncate(target))
      expect(await shape(store)).toEqual([
        ...FIRST_EXCHANGE,
        'marker',
        ...Array.from({ length: 10 }, (_, at) => at + 9),
      ])
      expect(run).toMatchObject({
        compacted: true,
        stagesUsed: ['truncate'],
        tokensAfter: target,
        reachedTarget: true,
      })
      const marker = (await store.getEffectiveHistory(S, { provenance: true }))[2]
      expect(marker).toMatchObject({
        kind: 'marker',
        content: TRUNCATION_MARKER,
        isTruncationMarker: true,
        truncationId: run!.compactions[0]!.id,
        positions: [[3, 8]],
      })
      const rows = await store.getMessages(S)
      expect(
        rows.filter(({ truncationParent }) => truncationParent === run!.compactions[0]!.id),
      ).toHaveLength(6)
    })

    test('one token less hides one turn more', async () => {
      const store = await open()
      await appendAll(store, chat(9))
      await store.compactSession(S, truncate(historyTokens(120 + MARKER_UNITS, 13) - 1))
      expect(await shape(store)).toEqual([
        ...FIRST_EXCHANGE,
        'marker',
        ...Array.from({ length: 8 }, (_, at) => at + 11),
      ])
    })

    test('a marker appears once, however often it truncates', async () => {
      const store = await open()
      await appendAll(store, chat(9))
      await store.compactSession(S, truncate(historyTokens(120 + MARKER_UNITS, 13)))
      const middle = await standing(store)
      const second = await store.compactSession(S, truncate(historyTokens(60 + MARKER_UNITS, 7)))
      expect(await shape(store)).toEqual([...FIRST_EXCHANGE, 'marker', 15, 16, 17, 18])
      await store.undoCompaction(S, second!.runId)
      expect(await standing(store)).toEqual(middle)
    })

    test('without a marker on request, or with another text', async () => {
      const store = await open()
      await appendAll(store, chat(9))
      const run = await store.compactSession(S, truncate(historyTokens(120, 12), { truncationMarker: false }))
      expect(await shape(store)).toEqual([
        ...FIRST_EXCHANGE,
        ...Array.from({ length: 10 }, (_, at) => at + 9),
      ])
      await store.undoCompaction(S, run!.runId)
      await store.compactSession(S, truncate(200, { truncationMarker: '(cut)' }))
      expect((await texts(store))[2]).toBe('(cut)')
    })

    test('keeps pinned and system messages, waiting calls and the newest turn', async () => {
      const store = await open()
      const ids = await appendAll(store, [
        say('system', 'Be brief.'),
        ...chat(6),
        say('user', 'look'),
        call('a', 'run'),
      ])
      await store.messages.pin(S, [ids[7]!])
      await store.compactSession(S, truncate(0))
      // The first exchange is larger than half of no target, so only its request stays.
      expect(await shape(store)).toEqual([1, 2, 8, 'marker', 14, 15])
    })

    test('never hides a live summary', async () => {
      const store = await open()
      await appendAll(store, chat(8))
      await store.compactSession(S, { range: { from: 3, to: 6 }, summary: 'Two turns.' })
      await store.compactSession(S, truncate(0))
      expect(await texts(store)).toContain('Two turns.')
      expect(await shape(store)).toEqual([1, 'summary', 'marker', 15, 16])
    })

    test('within one endless turn it hides the oldest calls with their results', async () => {
      const store = await open()
      const loops = Array.from({ length: 6 }, (_, at) => [
        call(`c${at}`, 'run'),
        result(`c${at}`, units(100)),
      ]).flat()
      await appendAll(store, [say('user', 'go'), ...loops])
      // A loop: "run" 1, "{}" 1 and 100 units. Left: the request and the answer to it, the newest loop, the marker.
      await store.compactSession(S, truncate(historyTokens(1 + 204 + MARKER_UNITS, 6)))
      expect(await shape(store)).toEqual([1, 2, 3, 'marker', 12, 13])
    })

    test('with a fraction, hides the share of the messages of the seed', async () => {
      const hidden = async (turns: number, truncationFraction: number): Promise<number> => {
        const store = await open()
        await appendAll(store, chat(turns, 50))
        await store.compactSession(S, truncate(0, { truncationFraction }))
        return (await store.getContextStats(S))!.hidden.truncated
      }
      // floor(18 × 0.5) = 9, made even: 8. floor(20 × 0.5) = 10. floor(8 × 0.3) = 2.
      expect(await hidden(10, 0.5)).toBe(8)
      expect(await hidden(11, 0.5)).toBe(10)
      expect(await hidden(5, 0.3)).toBe(2)
      expect(await hidden(5, 0)).toBe(0)
      expect(await hidden(5, 1)).toBe(8)
    })

    test('does not make a history larger for the sake of a marker', async () => {
      const store = await open()
      await appendAll(store, [
        say('user', 'a'),
        say('assistant', 'b'),
        say('user', 'c'),
        say('assistant', 'd'),
        say('user', 'e'),
      ])
      expect(await store.compactSession(S, truncate(0))).toMatchObject({
        compacted: false,
        reason: 'NO_PROGRESS',
      })
    })

    test('a truncation inside the span of a condensation is undone with it, not before', async () => {
      const store = await open()
      await appendAll(store, chat(9))
      const cutOff = await store.compactSession(S, truncate(historyTokens(120 + MARKER_UNITS, 13)))
      const condensed = await store.compactSession(S, {
        ...ONLY.summarize,
        targetTokens: 0,
        keepRecentTokens: 32,
        summarizer: fakeModel(),
      })
      expect(await shape(store)).toEqual(['summary', 17, 18])
      const [summary] = await store.getEffectiveHistory(S, { provenance: true })
      // The marker it covers stands for 3–8.
      expect(summary!.positions).toEqual([[1, 16]])
      await expect(store.undoCompaction(S, cutOff!.runId)).rejects.toMatchObject({
        code: 'HAS_ACTIVE_DEPENDENTS',
        facts: { dependents: [condensed!.compactions[0]!.id] },
      })
    })
  })

  describe('emergency cut', () => {
    /** A window of 128,000 with all but 1,000 tokens kept free for the answer: 1,000 available. */
    const cut: CompactionConfig = {
      enablePrune: false,
      enableDeduplicate: false,
      enableSummarize: false,
      maxOutputTokens: 127_000,
      targetTokens: 0,
    }

    test('cuts the largest contents first, all to one length, until the request fits', async () => {
      const store = await open()
      await appendAll(store, [
        say('user', 'go'),
        say('assistant', units(600, 'a')),
        say('user', units(400, 'b')),
        say('assistant', units(100, 'c')),
      ])
      const run = await store.compactSession(S, cut)
      // 1,000 - 24 - 16 = 960 tokens for text: 834 units (959.1). "go" 1, c 100: 733 for a and b, 366 each.
      const expected = (letter: string): string =>
        `${letter.repeat(366 * 4 - CUT_ENDING.length)}${CUT_ENDING}`
      expect(await texts(store)).toEqual(['go', expected('a'), expected('b'), units(100, 'c')])
      expect(run).toMatchObject({ fits: true, tokensAfter: historyTokens(1 + 732 + 100, 4) })
      expect(run!.compactions).toMatchObject([{ kind: 'cut', partsReplaced: 2 }])
    })

    test('its undo is exact', async () => {
      const store = await open()
      await appendAll(store, [say('user', units(2_000)), say('assistant', units(2_000))])
      const before = await standing(store)
      const run = await store.compactSession(S, cut)
      expect(run!.compacted).toBe(true)
      expect(await standing(store)).not.toEqual(before)
      const after = await standing(store)
      await store.undoCompaction(S, run!.compactions[0]!.id)
      expect(await standing(store)).toEqual(before)
      await store.redoCompaction(S, run!.compactions[0]!.id)
      expect(await standing(store)).toEqual(after)
    })

    test('a request says of which messages the model receives the beginning only, until the cut is undone', async () => {
      const store = await open()
      const ids = await appendAll(store, [
        say('user', 'go'),
        say('assistant', units(600, 'a')),
        say('user', units(400, 'b')),
        say('assistant', units(100, 'c')),
      ])
      const shortened = async () => (await store.prepareRequest(S, { auto: false })).cut
      expect(await shortened()).toBeUndefined()
      const run = await store.compactSession(S, cut)
      expect(await shortened()).toEqual([
        { messageId: ids[1], parts: [0] },
        { messageId: ids[2], parts: [0] },
      ])
      await store.undoCompaction(S, run!.compactions[0]!.id)
      expect(await shortened()).toBeUndefined()
    })

    test('leaves code points whole', async () => {
      const store = await open()
      for (const lead of ['', 'x', 'xy', 'xyz']) {
        const session = `s${lead}`
        await store.append(session, [say('user', lead + '😀'.repeat(4_000))])
        await store.compactSession(session, cut)
        const [text] = await texts(store, session)
        expect(text!.isWellFormed(), `with ${lead.length} characters before`).toBe(true)
        expect(text!.endsWith(CUT_ENDING)).toBe(true)
        expect(text!.length).toBeGreaterThan(3_000)
      }
    })

    test('results of tools are cut, pinned messages and system messages are not', async () => {
      const store = await open()
      const ids = await appendAll(store, [
        say('system', units(200, 's')),
        say('user', units(200, 'u')),
        call('a', 'run'),
        result('a', units(2_000, 'r')),
        say('assistant', 'ok'),
      ])
      await store.messages.pin(S, [ids[1]!])
      const run = await store.compactSession(S, { ...cut, truncationMarker: false })
      const all = await texts(store)
      expect(all[0]).toBe(units(200, 's'))
      expect(all[1]).toBe(units(200, 'u'))
      expect(run!.fits).toBe(true)
    })

    test('is not made when it is switched off', async () => {
      const store = await open()
      await appendAll(store, [say('user', units(2_000)), say('assistant', units(2_000))])
      const run = await store.compactSession(S, { ...cut, emergencyCut: false })
      expect(run).toMatchObject({ compacted: false, reason: 'NO_PROGRESS', fits: false })
    })
  })
}

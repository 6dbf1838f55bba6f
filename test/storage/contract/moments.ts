import { describe, expect, test } from 'vitest'
import type { Moment } from '../../../src/index.ts'
import { call, chat, result, say, units } from '../../support/conversation.ts'
import { appendAll, type Contract, refusal, S } from './support.ts'

export function describeMoments({ open, keeps }: Contract): void {
  describe.skipIf(!keeps.audit)('moments', () => {
    test('every way to name a moment gives the view of then', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(4))
      const whole = await store.getEffectiveHistory(S)
      const result = await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'Short.' })
      const compacted = await store.getEffectiveHistory(S)
      const { id, runId } = await store.compactions.get(S, result!.compactions[0]!.id)
      const made = (await store.sessions.audit(S)).at(-1)!.no
      await appendAll(store, [say('user', 'more')])
      await store.undoCompaction(S, id)
      const undone = (await store.sessions.audit(S)).at(-1)!.no

      const viewAt = async (at: Moment) => store.getEffectiveHistory(S, { at })
      for (const at of [{ afterMessage: 8 }, { afterMessage: ids[7]! }, { beforeCompaction: id }])
        expect(await viewAt(at), JSON.stringify(at)).toEqual(whole)
      for (const at of [
        ...[{ beforeMessage: 9 }, { audit: made }, { afterCompaction: id }, { afterCompaction: runId }],
        { afterMessage: compacted[0]!.id },
      ])
        expect(await viewAt(at), JSON.stringify(at)).toEqual(compacted)
      expect(await viewAt({ audit: undone })).toEqual(await store.getEffectiveHistory(S))
      expect(await viewAt({ beforeMessage: 1 })).toEqual([])
      expect((await viewAt({ afterMessage: 3 })).map(({ position }) => position)).toEqual([1, 2, 3])
      expect(await viewAt({ time: 0 })).toEqual([])
      expect(await viewAt({ time: new Date(Date.now() + 60_000) })).toEqual(
        await store.getEffectiveHistory(S),
      )
      expect(Object.keys(await viewAt({ audit: made }))).toEqual(Object.keys(compacted))
    })

    test('renderings, figures and rows are those of then, and name the point', async () => {
      const store = await open()
      await appendAll(store, chat(4))
      const before = {
        rendering: await store.renderHistory(S),
        stats: (await store.getContextStats(S))!,
        rows: await store.getMessages(S, { shown: true }),
      }
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'Short.' })
      await store.messages.pin(S, [before.rows[7]!.id])
      const at = { afterMessage: 8 }
      const point = { position: 8, auditNo: 0 }
      expect(await store.renderHistory(S, { at })).toEqual({ ...before.rendering, moment: point })
      expect(await store.getContextStats(S, undefined, undefined, { at })).toEqual({
        ...before.stats,
        moment: point,
      })
      expect(await store.getMessages(S, { shown: true, at })).toEqual(before.rows)
      expect(await store.messages.moment(S, at)).toEqual({ ...point, time: before.rows[7]!.createdAt })
      // By pages and without hidden rows, like the rows of today.
      const { no } = (await store.sessions.audit(S)).at(-1)!
      for (const page of [
        { visible: true },
        { after: 2, limit: 4 },
        { order: 'backward', limit: 3 },
      ] as const)
        expect(await store.getMessages(S, { ...page, at: { audit: no } })).toEqual(
          await store.getMessages(S, page),
        )
    })

    test('a preview belongs to the message that it shortens', async () => {
      const store = await open()
      const messages = [
        say('user', 'go'),
        call('c', 'run'),
        result('c', units(4_000)),
        say('assistant', 'ok'),
      ]
      await store.sessions.update((await store.sessions.create({ id: S })).id, {
        config: { maxToolOutputBytes: 400 },
      })
      const { preview } = await store.append(S, messages)
      const view = await store.getEffectiveHistory(S)
      expect(view[2]!.replacedParts).toEqual([0])
      expect(await store.getEffectiveHistory(S, { at: { afterMessage: 3 } })).toEqual(view.slice(0, 3))
      expect(await store.getEffectiveHistory(S, { at: { afterCompaction: preview!.compactionId } })).toEqual(
        view,
      )
      const before = { beforeCompaction: preview!.compactionId }
      expect(await store.getEffectiveHistory(S, { at: before })).toEqual(view.slice(0, 2))
    })

    test('the moment before a rewind is that before what it undid', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(4))
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'Short.' })
      const compacted = await store.getEffectiveHistory(S)
      const { compactionId } = await store.rewind(S, {
        from: { beforeMessage: ids[6]! },
        append: [say('user', 'again')],
      })
      const rewound = await store.getEffectiveHistory(S)
      expect(await store.getEffectiveHistory(S, { at: { beforeCompaction: compactionId! } })).toEqual(
        compacted,
      )
      expect(await store.getEffectiveHistory(S, { at: { afterMessage: 9 } })).toEqual(rewound)
      const after = await store.getEffectiveHistory(S, { at: { afterCompaction: compactionId! } })
      expect(after).toEqual(rewound.slice(0, -1))
    })

    test('a diff names what appeared, disappeared and changed, with the compactions', async () => {
      const store = await open()
      await appendAll(store, [
        ...[say('user', units(9)), call('c', 'run'), result('c', units(4_000)), say('assistant', 'a')],
        ...chat(3),
      ])
      const condensed = (await store.compactSession(S, { range: { from: 4, to: 6 }, summary: 'Short.' }))!
      const { id } = condensed.compactions[0]!
      const pruned = (await store.compactSession(S, {
        stages: [{ stage: 'clear_tool_results', keep: 0 }],
        targetTokens: 0,
      }))!
      await appendAll(store, [say('user', 'new')])
      const diff = await store.messages.diff(S, { beforeCompaction: id })
      const short = diff.changes.map(({ change, position, kind, compactionId }) => [
        ...[change, position ?? kind, compactionId],
      ])
      expect(short).toEqual([
        ['changed', 3, undefined],
        ['disappeared', 4, id],
        ['disappeared', 5, id],
        ['disappeared', 6, id],
        ['appeared', 'summary', id],
        ['appeared', 11, undefined],
      ])
      expect(diff.changes[0]!.parts).toEqual([{ part: 0, before: null, after: pruned.compactions[0]!.id }])
      expect(diff.rows).toEqual({ before: 10, after: 9 })
      expect(diff.tokens.after).toBe((await store.getContextStats(S))!.breakdown.conversationHistory)
      // The other way round.
      const back = await store.messages.diff(S, { afterMessage: 11 }, { beforeCompaction: id })
      expect(back.changes.map(({ change }) => change)).toEqual([
        ...['changed', 'appeared', 'appeared', 'appeared', 'disappeared', 'disappeared'],
      ])
      expect(back.tokens).toEqual({ before: diff.tokens.after, after: diff.tokens.before })
    })

    test('refuses moments that the session does not have', async () => {
      const store = await open()
      await appendAll(store, chat(1))
      await appendAll(store, chat(1), 'other')
      await store.compactions.hide('other', [(await store.getMessages('other'))[0]!.id])
      const [entry] = await store.sessions.audit('other')
      const view = (at: unknown) => store.getEffectiveHistory(S, { at: at as Moment })
      await refusal(view({ afterMessage: 3 }), 'MESSAGE_NOT_FOUND')
      await refusal(view({ beforeMessage: 'nobody' }), 'MESSAGE_NOT_FOUND')
      await refusal(view({ afterCompaction: 'none' }), 'COMPACTION_NOT_FOUND')
      await refusal(view({ beforeCompaction: entry!.compactionId! }), 'COMPACTION_NOT_FOUND')
      await refusal(view({ audit: entry!.no + 1_000 }), 'INVALID_INPUT')
      await refusal(view({ afterMessage: 0 }), 'INVALID_INPUT')
      await refusal(view({ afterMessage: 1, audit: 1 }), 'INVALID_INPUT')
      await refusal(view({}), 'INVALID_INPUT')
      await refusal(store.messages.moment('nobody', { time: 0 }), 'SESSION_NOT_FOUND')
      expect(await store.getContextStats('nobody', undefined, undefined, { at: { time: 0 } })).toBe(null)
    })
  })
}

import { describe, expect, test } from 'vitest'
import type { ExpandedRow, ExpandedSummary, Store } from '../../../src/index.ts'
import { call, chat, result, say, units } from '../../support/conversation.ts'
import { appendAll, type Contract, ONLY, refusal, S } from './support.ts'

/** Condenses a range; answers the summary's id. */
async function condense(store: Store, from: number, to: number, summary: string): Promise<string> {
  const run = await store.compactSession(S, { range: { from, to }, summary })
  const { insertedIds } = await store.compactions.get(S, run!.compactions[0]!.id)
  return insertedIds[0]!
}

/** A tree in short: positions of messages, and of summaries their text with what is beneath. */
function outline(row: ExpandedRow): unknown {
  if (row.kind === 'message') return row.positions[0]
  return row.children === undefined ? row.content : [row.content, ...row.children.map(outline)]
}

export function describeExpand({ open, openBoth }: Contract): void {
  describe('expand and getSources', () => {
    test('return the right rows at every level [F1-07]', async () => {
      const store = await open()
      const messages = chat(6).map((message, at) => ({ ...message, createdAt: 1_000 + at }))
      await appendAll(store, messages)
      const first = await condense(store, 1, 4, 'First.')
      const second = await condense(store, 5, 8, 'Second.')
      // From the first to the last message it stands for: both summaries and two messages.
      const outer = await condense(store, 1, 10, 'Outer.')
      expect(outline(await store.messages.expand(S, outer))).toEqual(['Outer.', 'First.', 'Second.', 9, 10])
      expect(outline(await store.messages.expand(S, outer, { depth: 2 }))).toEqual([
        'Outer.',
        ['First.', 1, 2, 3, 4],
        ['Second.', 5, 6, 7, 8],
        9,
        10,
      ])
      expect(outline(await store.messages.expand(S, outer, { depth: 99 }))).toEqual(
        outline(await store.messages.expand(S, outer, { depth: 2 })),
      )
      expect(outline(await store.messages.expand(S, second))).toEqual(['Second.', 5, 6, 7, 8])

      const compactions = await store.listCompactions(S)
      const { children, ...row } = await store.messages.expand(S, outer)
      expect(row).toMatchObject({
        kind: 'summary',
        id: outer,
        content: 'Outer.',
        compactionId: compactions[2]!.id,
        level: 0,
        positions: [1, 10],
        times: [1_000, 1_009],
        messages: 10,
        descendants: 12,
        // "Outer." is 2 units; a message 10. A margin of 1.15, and 4 tokens of framing each.
        tokens: 3 + 4,
        sourceTokens: 115 + 40,
      })
      expect(children![1]).toMatchObject({
        id: second,
        compactionId: compactions[1]!.id,
        positions: [5, 8],
        times: [1_004, 1_007],
        messages: 4,
        descendants: 4,
        sourceTokens: 46 + 16,
      })
      expect(children![1]).not.toHaveProperty('children')
      expect(children![2]).toEqual({
        kind: 'message',
        id: (await store.getMessages(S, { after: 8, limit: 1 })).find(({ position }) => position === 9)!.id,
        role: 'user',
        content: messages[8]!.content,
        createdAt: 1_008,
        positions: [9, 9],
        times: [1_008, 1_008],
        tokens: 12 + 4,
      })
      const all = (await store.getMessages(S)).filter(({ position }) => position !== undefined)
      expect(await store.messages.expand(S, outer, { flat: true })).toEqual(all.slice(0, 10))
      expect(await store.messages.expand(S, first, { flat: true })).toEqual(all.slice(0, 4))
      expect(await store.messages.expand(S, outer, { flat: true, after: 3, limit: 4 })).toEqual(
        all.slice(3, 7),
      )
      expect(await store.messages.expand(S, outer, { flat: true, after: 10 })).toEqual([])
    })

    test('are the same when compactions were undone [F1-06 F1-07]', async () => {
      const { store, reopen } = await openBoth()
      await appendAll(store, chat(6))
      const inner = await condense(store, 1, 4, 'Inner.')
      const outer = await condense(store, 1, 8, 'Outer.')
      const whole = await store.messages.expand(S, outer, { depth: 2 })
      const ids = (await store.listCompactions(S)).map(({ id }) => id)
      await store.undoCompaction(S, ids[1]!)
      expect(await store.messages.expand(S, outer, { depth: 2 })).toEqual(whole)
      await store.undoCompaction(S, ids[0]!)
      // Now another summary has taken the same messages.
      const other = await condense(store, 3, 6, 'Other.')
      expect(await store.messages.expand(S, outer, { depth: 2 })).toEqual(whole)
      expect(outline(await store.messages.expand(S, inner))).toEqual(['Inner.', 1, 2, 3, 4])
      expect(outline(await store.messages.expand(S, other))).toEqual(['Other.', 3, 4, 5, 6])
      expect((await store.messages.expand(S, outer, { flat: true })).map(({ position }) => position)).toEqual(
        [1, 2, 3, 4, 5, 6, 7, 8],
      )
      if (reopen) expect(await (await reopen()).messages.expand(S, outer, { depth: 2 })).toEqual(whole)
    })

    test('leave out what was hidden before, and go through markers', async () => {
      const store = await open()
      const ids = await appendAll(store, [...chat(1), ...chat(8, 40)])
      await store.compactions.hide(S, [ids[1]!])
      await store.compactSession(S, { ...ONLY.truncate, targetTokens: 700 })
      const view = await store.getEffectiveHistory(S)
      const at = view.findIndex(({ kind }) => kind === 'marker')
      expect(at).toBeGreaterThan(0)
      const last = view[at + 2]!.position!
      const outer = await condense(store, 1, last, 'All.')
      const { children, positions, messages, descendants } = await store.messages.expand(S, outer, {
        depth: 2,
      })
      const marker = children!.find(({ kind }) => kind === 'marker') as ExpandedSummary
      expect(marker.children!.every(({ kind }) => kind === 'message')).toBe(true)
      expect(positions).toEqual([1, last])
      // All but the message hidden by hand; the marker is one row more.
      expect(messages).toBe(last - 1)
      expect(descendants).toBe(last)
      const sources = await store.messages.expand(S, outer, { flat: true })
      expect(sources.map(({ position }) => position)).toEqual(
        Array.from({ length: last }, (_, index) => index + 1).filter((position) => position !== 2),
      )
      // A marker is no summary.
      await refusal(store.messages.expand(S, marker.id), 'INVALID_INPUT')
      await refusal(store.messages.expand(S, marker.id, { flat: true }), 'INVALID_INPUT')
    })

    test('show originals, also of what is replaced', async () => {
      const store = await open()
      const old = `old ${units(400)}`
      await appendAll(store, [
        say('user', 'go'),
        call('a', 'run'),
        result('a', old),
        ...chat(2),
        call('b', 'run'),
        result('b', units(50)),
        ...chat(2),
      ])
      const before = await store.getContextStats(S)
      await store.compactSession(S, {
        ...ONLY.prune,
        targetTokens: 0,
        pruneProtectTokens: 40,
        pruneMinimumSavings: 0,
      })
      expect((await store.getContextStats(S))!.sizes).not.toEqual(before!.sizes)
      const summary = await condense(store, 1, 7, 'Ran a.')
      const { children, sourceTokens } = await store.messages.expand(S, summary)
      expect(children![2]!.content).toEqual([
        { type: 'tool-result', toolCallId: 'a', output: { type: 'text', value: old } },
      ])
      // 401 units of 1.15, and the framing of a message.
      expect(children![2]!.tokens).toBe(462 + 4)
      // "go" 1, the call "run" 1 and "{}" 1, the result 401, four messages of 10 each: 444.
      expect(sourceTokens).toBe(Math.ceil(444 * 1.15) + 7 * 4)
    })

    test('a deep chain of rolling summaries', async () => {
      const store = await open()
      await appendAll(store, chat(40))
      let id = ''
      for (let to = 2; to <= 60; to += 2) id = await condense(store, 1, to, `Up to ${to}.`)
      const whole = await store.messages.expand(S, id, { depth: 100 })
      expect(whole).toMatchObject({ level: 0, messages: 60, descendants: 60 + 29, positions: [1, 60] })
      let depth = 0
      for (let row: ExpandedRow | undefined = whole; row?.kind === 'summary'; row = row.children?.[0]) depth++
      expect(depth).toBe(30)
      expect(
        (await store.messages.expand(S, id, { flat: true })).map(({ position }) => position),
      ).toHaveLength(60)
    })

    test('refuse what is not there and what is no summary', async () => {
      const store = await open()
      const [id] = await appendAll(store, chat(2))
      for (const options of [{ depth: 1 }, { flat: true as const }]) {
        await refusal(store.messages.expand('nobody', 'x', options as never), 'SESSION_NOT_FOUND')
        const { facts } = await refusal(store.messages.expand(S, 'x', options as never), 'MESSAGE_NOT_FOUND')
        expect(facts).toEqual({ sessionId: S, messageId: 'x' })
        await refusal(store.messages.expand(S, id!, options as never), 'INVALID_INPUT')
      }
    })
  })
}

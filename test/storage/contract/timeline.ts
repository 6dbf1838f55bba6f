import { describe, expect, test } from 'vitest'
import type { Store, Timeline } from '../../../src/index.ts'
import { call, chat, result, say, units } from '../../support/conversation.ts'
import { appendAll, type Contract, historyTokens, refusal, S } from './support.ts'

/** The size of the context at every answer. */
export function describeTimeline({ open, keeps }: Contract): void {
  describe.skipIf(!keeps.audit)('the timeline', () => {
    test('has the view before each answer, and the log as if nothing had been compacted', async () => {
      const store = await open()
      const rows = [10, 20, 30, 40, 50, 60].map((size, at) =>
        say(at % 2 === 0 ? 'user' : 'assistant', units(size)),
      )
      await appendAll(store, rows)
      expect(shortOf(await store.messages.timeline(S))).toEqual([
        [2, 1, 10, historyTokens(10, 1), historyTokens(10, 1)],
        [4, 3, 60, historyTokens(60, 3), historyTokens(60, 3)],
        [6, 5, 150, historyTokens(150, 5), historyTokens(150, 5)],
      ])

      const { compactions } = (await store.compactSession(S, {
        range: { from: 1, to: 4 },
        summary: units(5),
      }))!
      const made = (await store.sessions.audit(S)).at(-1)!.no
      await appendAll(store, [say('user', units(70)), say('assistant', units(80))])
      await store.undoCompaction(S, compactions[0]!.id)
      const undone = (await store.sessions.audit(S)).at(-1)!.no
      const [id] = await appendAll(store, [say('assistant', units(90))])
      const { points, answers } = await store.messages.timeline(S, { from: 8 })
      expect(answers).toBe(2)
      // The summary, then messages 5 to 7; all 8 messages after the undo.
      expect(shortOf({ points, answers })).toEqual([
        [8, 4, 5 + 180, historyTokens(185, 4), historyTokens(280, 7)],
        [9, 8, 360, historyTokens(360, 8), historyTokens(360, 8)],
      ])
      expect(points.map(({ auditNo }) => auditNo)).toEqual([made, undone])
      const last = (await store.getMessages(S)).find((message) => message.id === id)!
      expect(points[1]).toEqual({
        ...{ answer: 9, position: 8, auditNo: undone, time: last.createdAt, rows: 8 },
        sizes: (await store.getContextStats(S, undefined, undefined, { at: { beforeMessage: 9 } }))!.sizes,
        ...{ tokens: historyTokens(360, 8), logTokens: historyTokens(360, 8) },
      })
    })

    test('has at each answer the figures of the moment before it', async () => {
      const store = await open()
      await store.append(S, chat(3))
      await store.compactSession(S, { range: { from: 1, to: 3 }, summary: 'Short.' })
      await store.append(S, [
        ...[call('c', 'read', { path: 'a.ts' }), result('c', units(900)), say('assistant', units(9))],
        ...chat(2),
      ])
      await store.compactSession(S, { stages: [{ stage: 'clear_tool_results', keep: 0 }], targetTokens: 0 })
      await store.append(S, chat(1))
      await store.rewind(S, { from: { beforeMessage: 12 }, append: chat(2) })
      await store.compactSession(S, { range: { from: 4, to: 6 }, summary: 'Shorter.' })
      await store.undoCompaction(S, (await store.listCompactions(S)).at(-1)!.id)
      await store.append(S, [say('assistant', 'Done.')])
      const { points } = await store.messages.timeline(S)
      // Rewound answers were answers too.
      const answers = (await store.getMessages(S)).filter(({ role }) => role === 'assistant')
      expect(points.map(({ answer }) => answer)).toEqual(answers.flatMap(({ position }) => position ?? []))
      for (const { answer, rows, sizes, tokens } of points) {
        const at = { beforeMessage: answer }
        const stats = await store.getContextStats(S, undefined, undefined, { at })
        expect({ rows, sizes }, `answer ${answer}`).toEqual({
          rows: stats!.messageCount,
          sizes: stats!.sizes,
        })
        expect(tokens).toBe((await store.messages.diff(S, at, at)).tokens.before)
      }
    })

    test('shows an output shortened from the message on that came with it', async () => {
      const store = await open()
      await store.sessions.create({ id: S, config: { maxToolOutputBytes: 400 } })
      const messages = [
        ...[say('user', 'go'), call('c', 'run'), result('c', units(4_000)), say('assistant', 'ok')],
      ]
      const { preview } = await store.append(S, messages)
      expect(preview!.parts).toBe(1)
      const at = { afterMessage: 3 }
      const { sizes } = (await store.getContextStats(S, undefined, undefined, { at }))!
      const { points } = await store.messages.timeline(S)
      expect(points.map(({ answer, auditNo }) => [answer, auditNo])).toEqual([
        [2, 0],
        [4, 0],
      ])
      expect(points[1]!.sizes).toEqual(sizes)
      expect(sizes.toolResults).toBeLessThan(200)
      expect(points[1]!.logTokens).toBeGreaterThan(4_000)
    })

    test('has the compactions of a recorded request, even if others came before its answer', async () => {
      const store = await open()
      await store.append(S, chat(3, 100))
      const request = await store.prepareRequest(S, { prompt: units(50) })
      await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'Short.' })
      const { requestId } = await store.recordResponse(S, { request, messages: [say('assistant', 'So.')] })
      await store.append(S, [say('user', 'And?'), say('assistant', 'So.')])
      const { points } = await store.messages.timeline(S, { from: 8 })
      expect(points).toMatchObject([
        { answer: 8, position: 7, auditNo: 0, rows: 7, requestId },
        { answer: 10, position: 9, rows: 6 },
      ])
      // Six messages of the conversation, and the prompt.
      expect(points[0]!.sizes.text).toBe(650)
      expect(points[1]).not.toHaveProperty('requestId')
    })

    test('is sampled at even distances, with the first and the last answer', async () => {
      const store = await open()
      await store.append(S, chat(10))
      const answersOf = async (options: Parameters<Store['messages']['timeline']>[1]) => {
        const { points, answers } = await store.messages.timeline(S, options)
        return [points.map(({ answer }) => answer), answers]
      }
      expect(await answersOf({ points: 4 })).toEqual([[2, 8, 14, 20], 10])
      expect(await answersOf({ points: 2, from: 3, to: 13 })).toEqual([[4, 12], 5])
      expect(await answersOf({ from: 4, to: 8 })).toEqual([[4, 6, 8], 3])
      expect(await answersOf({ from: 20, to: 100 })).toEqual([[20], 1])
      expect(await answersOf({ from: 21 })).toEqual([[], 0])
    })

    test('has no point for silent messages, and none in a session without answers', async () => {
      const store = await open()
      await store.append(S, [say('user', 'Hi'), { role: 'assistant', content: [] }])
      expect(await store.messages.timeline(S)).toEqual({ points: [], answers: 0 })
      await refusal(store.messages.timeline('nobody'), 'SESSION_NOT_FOUND')
      for (const options of [{ points: 1 }, { points: 5_001 }, { from: 0 }, { to: 1.5 }, { at: 1 }])
        await refusal(store.messages.timeline(S, options as never), 'INVALID_INPUT')
    })
  })
}

/** Answer, rows, units of text, tokens, and tokens of the log. */
function shortOf({ points }: Timeline): number[][] {
  return points.map(({ answer, rows, sizes, tokens, logTokens }) => [
    ...[answer, rows, sizes.text, tokens, logTokens],
  ])
}

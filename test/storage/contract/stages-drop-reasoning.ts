import { describe, expect, test } from 'vitest'
import { dropReasoning } from '../../../src/compat/arrays/index.ts'
import type { Plan } from '../../../src/core/model/plan.ts'
import type { View } from '../../../src/core/model/view.ts'
import { NO_SIZES } from '../../../src/core/tokens/measure.ts'
import { type NewMessage, type Part, validateHistory } from '../../../src/index.ts'
import { applyPlanned, applyStage } from '../../support/apply-stage.ts'
import { result, say, units } from '../../support/conversation.ts'
import { appendAll, type Contract, historyTokens, refusal, S } from './support.ts'

const signed = (size: number): Part => ({
  type: 'reasoning',
  text: units(size, 'r'),
  providerOptions: { anthropic: { signature: 'sig' } },
})
const called = (id: string): Part => ({ type: 'tool-call', toolCallId: id, toolName: 'run', input: {} })
/** 39 characters of JSON: 10 units. */
const redacted: Part = {
  type: 'provider',
  provider: 'anthropic',
  data: { type: 'redacted_thinking', data: 'x' },
}
const assistant = (...content: Part[]): NewMessage => ({ role: 'assistant', content })

/** Two turns: a loop of two calls and its answer, then a loop that is still open. */
const LOOPS: readonly NewMessage[] = [
  say('user', units(5)),
  assistant(signed(4), called('c1')),
  result('c1', units(6)),
  assistant(signed(3), redacted, called('c2')),
  result('c2', units(7)),
  assistant(signed(2), { type: 'text', text: units(8) }),
  say('user', units(9)),
  assistant(signed(1), called('c3')),
  result('c3', units(10)),
]
/** Texts 5 + 6 + 7 + 8 + 9 + 10, three calls of `run` with `{}` at 1 + 1. */
const REST = 45 + 6
const NOTHING: Part = { type: 'reasoning', text: '' }

/** Shows nothing in place of one part of the row at a place in the view. */
const emptying =
  (...places: readonly (readonly [index: number, part: number, reasoning: number])[]) =>
  (view: View): Plan => ({
    kind: 'prune',
    hide: [],
    replace: places.map(([index, part, reasoning]) => ({
      row: view.rows[index]!,
      part,
      text: '',
      saved: { ...NO_SIZES, reasoning },
    })),
    requires: [],
    params: {},
  })

export function describeDropReasoning({ open, openBoth, keeps }: Contract): void {
  describe('dropping reasoning', () => {
    test('shows nothing in its place in older turns, and no signature; undone it is back', async () => {
      const { store, reopen } = await openBoth()
      await appendAll(store, LOOPS)
      const before = await store.getEffectiveHistory(S)
      const id = await applyStage(store, dropReasoning(), S)
      const view = await store.getEffectiveHistory(S)
      expect(view.map(({ content }) => content)).toEqual([
        units(5),
        [NOTHING, called('c1')],
        LOOPS[2]!.content,
        [NOTHING, NOTHING, called('c2')],
        LOOPS[4]!.content,
        [NOTHING, { type: 'text', text: units(8) }],
        units(9),
        LOOPS[7]!.content,
        LOOPS[8]!.content,
      ])
      expect(view[3]!.replacedParts).toEqual([0, 1])
      expect(await store.compactions.get(S, id!)).toMatchObject({
        kind: 'prune',
        partsReplaced: 4,
        rowsHidden: 0,
      })
      const tokens = async (): Promise<number> =>
        (await store.getContextStats(S, 'openai'))!.breakdown.conversationHistory
      expect(await tokens()).toBe(historyTokens(REST + 1, 9))
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
      if (reopen) expect(await (await reopen()).getEffectiveHistory(S)).toEqual(view)

      await store.undoCompaction(S, id!)
      expect(await store.getEffectiveHistory(S)).toEqual(before)
      expect(await tokens()).toBe(historyTokens(REST + 4 + 3 + 10 + 2 + 1, 9))
      await store.redoCompaction(S, id!)
      expect(await store.getEffectiveHistory(S)).toEqual(view)
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test('is sent to a strict provider without a trace, the open loop with its reasoning', async () => {
      const store = await open()
      await appendAll(store, LOOPS)
      await applyStage(store, dropReasoning(), S)
      for (const provider of ['anthropic', 'openai', 'mistral']) {
        const { messages, mends } = await store.renderHistory(S, { provider })
        expect(validateHistory(messages, provider)).toEqual([])
        expect(mends.filter(({ kind }) => kind !== 'call-renamed' && kind !== 'assistant-added')).toEqual([])
        expect(JSON.stringify(messages)).not.toContain('rrrrrrrr')
        const kept = messages.flatMap(({ content }) =>
          typeof content === 'string' ? [] : content.filter(({ type }) => type === 'reasoning'),
        )
        expect(kept).toEqual([signed(1)])
        expect(JSON.stringify(messages)).not.toContain('"text":""')
      }
    })

    test('keeps the given number of turns, at least the newest', async () => {
      const store = await open()
      await appendAll(store, LOOPS)
      expect(await applyStage(store, dropReasoning({ keepTurns: 2 }), S)).toBeUndefined()
      for (const options of [{ keepTurns: 0 }, { keepTurns: 1.5 }, { keep: 1 }])
        await refusal(async () => dropReasoning(options as never), 'INVALID_INPUT')
    })

    test('leaves a loop with a pinned message alone, and what shows a replacement', async () => {
      const store = await open()
      const ids = await appendAll(store, LOOPS)
      await store.messages.pin(S, [ids[3]!])
      const first = await applyStage(store, dropReasoning(), S)
      expect((await store.compactions.get(S, first!)).replaced).toEqual([
        { messageId: ids[5], position: 6, part: 0 },
      ])
      await store.messages.unpin(S, [ids[3]!])
      const second = await applyStage(store, dropReasoning(), S)
      expect((await store.compactions.get(S, second!)).partsReplaced).toBe(3)
      expect(await applyStage(store, dropReasoning(), S)).toBeUndefined()
    })

    test('of an open loop, or of part of a loop, is refused', async () => {
      const store = await open()
      const ids = await appendAll(store, LOOPS)
      const open1 = await refusal(applyPlanned(store, S, emptying([7, 0, 1])), 'ILLEGAL_BOUNDARY')
      expect(open1.facts.messageIds).toEqual([ids[7]])
      const half = await refusal(applyPlanned(store, S, emptying([1, 0, 4])), 'ILLEGAL_BOUNDARY')
      expect(half.facts.messageIds).toEqual([ids[3]])
      await applyPlanned(store, S, emptying([1, 0, 4], [3, 0, 3]))
      // An answer closes the loop.
      await appendAll(store, [say('assistant', 'done')])
      await applyPlanned(store, S, emptying([7, 0, 1]))
    })

    test('shows no words in place of reasoning', async () => {
      const store = await open()
      await appendAll(store, LOOPS)
      const worded = (view: View): Plan => {
        const plan = emptying([5, 0, 2])(view)
        return { ...plan, replace: plan.replace.map((one) => ({ ...one, text: 'thought' })) }
      }
      await refusal(applyPlanned(store, S, worded), 'ILLEGAL_BOUNDARY')
    })

    test('is not redone over a loop that is open again', async () => {
      const store = await open()
      const ids = await appendAll(store, LOOPS)
      const id = await applyStage(store, dropReasoning(), S)
      await store.undoCompaction(S, id!)
      const hidden = await store.compactions.hide(S, ids.slice(5))
      const error = await refusal(store.redoCompaction(S, id!), 'INPUT_NOT_VISIBLE')
      expect(error.facts.missing).toEqual([ids[1], ids[3]])
      await store.undoCompaction(S, hidden.id)
      await store.redoCompaction(S, id!)
    })

    test('newer reasoning that is bound to what precedes it is still sent, with and without records of its requests', async () => {
      const model = { provider: 'anthropic', model: 'claude-opus-5-5' } as const
      const answer = (turn: number): NewMessage =>
        assistant(
          {
            type: 'reasoning',
            text: `thought ${turn}`,
            providerOptions: { anthropic: { signature: `sig${turn}` } },
          },
          { type: 'text', text: `answer ${turn}` },
        )
      for (const isRecorded of [true, false]) {
        const store = await open()
        await store.sessions.create({ id: S, ...model })
        for (let turn = 1; turn <= 4; turn++) {
          const request = await store.prepareRequest(S, { prompt: `question ${turn}` })
          if (isRecorded) await store.recordResponse(S, { request, messages: [answer(turn)] })
          else await appendAll(store, [say('user', `question ${turn}`), answer(turn)])
        }
        const sent = async (): Promise<string[]> => {
          const { messages } = await store.prepareRequest(S, { prompt: 'another question' })
          return messages.flatMap(({ content }) =>
            typeof content === 'string'
              ? []
              : content.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])),
          )
        }
        const all = [1, 2, 3, 4].map((turn) => `thought ${turn}`)
        expect(await sent()).toEqual(all)
        const id = await applyStage(store, dropReasoning({ keepTurns: 2 }), S)
        expect(await sent()).toEqual(all.slice(2))
        await store.undoCompaction(S, id!)
        expect(await sent()).toEqual(all)
      }
    })

    test('in place of a part it is the newest replacement that counts', async () => {
      const store = await open()
      await appendAll(store, LOOPS)
      const first = await applyPlanned(store, S, emptying([5, 0, 2]))
      const again = (view: View): Plan => {
        const plan = emptying([5, 0, 2])(view)
        const none = { ...NO_SIZES, reasoning: 2 }
        return { ...plan, replace: plan.replace.map((one) => ({ ...one, instead: none })) }
      }
      const second = await applyPlanned(store, S, again)
      for (const id of [first, second]) {
        await store.undoCompaction(S, id)
        if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
      }
      for (const id of [second, first]) {
        await store.redoCompaction(S, id)
        if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
      }
      expect((await store.getEffectiveHistory(S))[5]!.content).toEqual([
        NOTHING,
        { type: 'text', text: units(8) },
      ])
    })
  })
}

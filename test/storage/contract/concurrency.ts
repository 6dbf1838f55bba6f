import { describe, expect, test } from 'vitest'
import type { CompactionConfig, NewMessage } from '../../../src/index.ts'
import { call, chat, result, say, units } from '../../support/conversation.ts'
import {
  appendAll,
  type Contract,
  everything,
  fakeModel,
  historyTokens,
  ONLY,
  refusal,
  S,
  shape,
  standing,
  texts,
  waitingModel,
} from './support.ts'

const summarize: CompactionConfig = { ...ONLY.summarize, targetTokens: 0, keepRecentTokens: 64 }

/** Turns with a result each, so that pruning finds something before the summary. */
const LOOPS: NewMessage[] = Array.from({ length: 5 }, (_, at) => [
  say('user', `question ${at} ${units(10)}`),
  call(`c${at}`, 'run'),
  result(`c${at}`, units(50)),
  say('assistant', units(10)),
]).flat()

export function describeConcurrency({ open, keeps }: Contract): void {
  describe('while a summary is written', () => {
    test('appends continue and stay visible', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const model = waitingModel()
      const run = store.compactSession(S, { ...summarize, summarizer: model.summarizer })
      await model.asked
      await appendAll(store, [say('user', 'by the way'), say('assistant', 'yes?')])
      model.answer()
      const done = await run
      expect(await shape(store)).toEqual(['summary', 9, 10, 11, 12, 13, 14])
      expect(done!.messages).toEqual(await store.getEffectiveHistory(S))
      // The figures are those of what the run did: 21 characters of summary are 6 units.
      expect(done!.tokensAfter).toBe(historyTokens(40 + 6, 5))
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    const disturbances: Record<string, (store: Awaited<ReturnType<typeof open>>, ids: string[]) => unknown> =
      {
        'a message is hidden': (store, ids) => store.compactions.hide(S, [ids[2]!]),
        'a message is pinned': (store, ids) => store.messages.pin(S, [ids[2]!]),
        'an undo brings messages back': async (store) => {
          const [hidden] = await store.listCompactions(S)
          await store.undoCompaction(S, hidden!.id)
        },
        'the session is purged and made anew': async (store) => {
          await store.sessions.purge(S)
          await appendAll(store, chat(6))
        },
        'the session is purged': (store) => store.sessions.purge(S),
      }
    for (const [name, disturb] of Object.entries(disturbances)) {
      test(`${name}: the plan is stale and nothing is changed`, async () => {
        const store = await open()
        const ids = await appendAll(store, chat(6))
        await store.compactions.hide(S, [ids[4]!, ids[5]!])
        const model = waitingModel()
        const run = store.compactSession(S, { ...summarize, summarizer: model.summarizer })
        await model.asked
        await disturb(store, ids)
        const purged = name.includes('purged')
        const before = name.endsWith('purged') ? undefined : await standing(store)
        model.answer()
        await refusal(run, 'STALE_PLAN')
        if (before === undefined) {
          await refusal(store.sessions.get(S), 'SESSION_NOT_FOUND')
          return
        }
        expect(await standing(store)).toEqual(before)
        // The one that was purged and the one that has its id now are two: nothing of the first is in the second.
        if (purged) expect(await store.listCompactions(S)).toEqual([])
        else if (keeps.audit) {
          const attempts = (await store.listCompactions(S)).filter(({ kind }) => kind === 'condense')
          expect(attempts).toMatchObject([{ status: 'aborted', error: 'STALE_PLAN', summarizer: 'fake' }])
        }
        // And the way is free again.
        const again = await store.compactSession(S, { ...summarize, summarizer: fakeModel() })
        expect(again!.compacted).toBe(true)
        if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
      })
    }

    test('a change in the kept tail is no reason to refuse', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(6))
      const model = waitingModel()
      const run = store.compactSession(S, { ...summarize, summarizer: model.summarizer })
      await model.asked
      await store.messages.pin(S, [ids[10]!])
      await store.compactions.hide(S, [ids[8]!])
      model.answer()
      expect((await run)!.compacted).toBe(true)
      expect(await shape(store)).toEqual(['summary', 10, 11, 12])
    })
  })

  describe('runs at the same time', () => {
    test('two calls with the same request share one run', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const model = waitingModel()
      const config = { ...summarize, summarizer: model.summarizer }
      const first = store.compactSession(S, config)
      const second = store.compactSession(S, { ...config })
      await model.asked
      model.answer()
      const [a, b] = await Promise.all([first, second])
      expect(model.summarizer.requests).toHaveLength(1)
      expect(a).toEqual(b)
      expect((await store.listCompactions(S)).filter(({ status }) => status === 'active')).toHaveLength(1)
    })

    test('calls with another summarizer of the same name do not share it', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const model = waitingModel('From the first.')
      const other = fakeModel('From the second.')
      const first = store.compactSession(S, { ...summarize, summarizer: model.summarizer })
      await model.asked
      const second = store.compactSession(S, { ...summarize, keepRecentTokens: 32, summarizer: other })
      model.answer()
      expect((await first)!.compacted).toBe(true)
      expect((await second)!.compacted).toBe(true)
      expect(other.requests).toHaveLength(1)
      expect(other.requests[0]!.previousSummary).toBe('From the first.')
    })

    test('another request waits for the first and then finds its work done', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const model = waitingModel()
      const first = store.compactSession(S, { ...summarize, summarizer: model.summarizer })
      await model.asked
      const other = fakeModel()
      const second = store.compactSession(S, { ...summarize, targetTokens: 150, summarizer: other })
      model.answer()
      expect((await first)!.compacted).toBe(true)
      expect(await second).toMatchObject({ compacted: false, reason: 'NOTHING_TO_COMPACT' })
      expect(other.requests).toHaveLength(0)
    })

    test('runs of different sessions do not wait for each other', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      await appendAll(store, chat(6), 'other')
      const model = waitingModel()
      const first = store.compactSession(S, { ...summarize, summarizer: model.summarizer })
      await model.asked
      expect(await store.compactSession('other', { ...summarize, summarizer: fakeModel() })).toMatchObject({
        compacted: true,
      })
      model.answer()
      await first
    })

    test.skipIf(!keeps.leases)(
      'an overflow does not wait for it: it continues with the stages that need no model',
      async () => {
        const store = await open()
        await appendAll(store, chat(20, 20))
        const model = waitingModel()
        const first = store.compactSession(S, { ...summarize, summarizer: model.summarizer })
        const settled = first.then(
          () => 'done',
          (error: { code?: string }) => error.code,
        )
        await model.asked
        const other = fakeModel()
        let overflow: unknown
        try {
          overflow = await store.compactSession(S, {
            trigger: 'overflow',
            targetTokens: 400,
            summarizer: other,
          })
        } finally {
          model.answer()
          await settled
        }
        expect(overflow).toMatchObject({ compacted: true, stagesUsed: ['truncate'], reachedTarget: true })
        expect(other.requests).toHaveLength(0)
        expect(await settled).toBe('STALE_PLAN')
      },
    )
  })

  describe('an aborted or failed run', () => {
    test('an aborted call ends at once, though the summarizer ignores the signal', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const before = await standing(store)
      const model = waitingModel()
      const controller = new AbortController()
      const run = store.compactSession(S, {
        ...summarize,
        summarizer: model.summarizer,
        signal: controller.signal,
      })
      await model.asked
      controller.abort(new Error('no more'))
      await refusal(run, 'ABORTED')
      expect(model.summarizer.requests[0]!.signal!.aborted).toBe(true)
      expect(await standing(store)).toEqual(before)
      if (keeps.audit) {
        expect(await store.listCompactions(S)).toMatchObject([{ status: 'aborted', error: 'ABORTED' }])
      }
      model.answer()
      expect(await store.compactSession(S, { ...summarize, summarizer: fakeModel() })).toMatchObject({
        compacted: true,
      })
    })

    test('a signal that was aborted before ends it before the summarizer is called', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const summarizer = fakeModel()
      await refusal(
        store.compactSession(S, { ...summarize, summarizer, signal: AbortSignal.abort() }),
        'ABORTED',
      )
      expect(summarizer.requests).toHaveLength(0)
    })

    test.skipIf(!keeps.audit)('what was paid is on record as soon as it is paid', async () => {
      const store = await open()
      await appendAll(store, chat(8, 100))
      let asked = 0
      const seen: unknown[] = []
      const summarizer = {
        ...fakeModel(),
        maxInputTokens: 300,
        summarize: async () => {
          const [attempt] = await store.listCompactions(S)
          seen.push([attempt!.status, attempt!.cost, attempt!.usage, attempt!.model])
          asked += 1
          return { text: 'Short.', cost: 0.25, usage: { outputTokens: 3 }, model: `small-${asked}` }
        },
      }
      await store.compactSession(S, { ...summarize, summarizer })
      expect(asked).toBeGreaterThan(2)
      expect(seen.slice(0, 3)).toEqual([
        ['running', undefined, undefined, undefined],
        ['running', 0.25, { outputTokens: 3 }, 'small-1'],
        ['running', 0.5, { outputTokens: 6 }, 'small-2'],
      ])
      expect((await store.listCompactions(S))[0]).toMatchObject({ status: 'active', cost: 0.25 * asked })
    })

    test('what an accepted summary cost is noted though the run ended in an error', async () => {
      const store = await open()
      const ids = await appendAll(store, chat(8, 100))
      await store.messages.pin(S, [ids[6]!])
      const controller = new AbortController()
      let asked = 0
      const summarizer = fakeModel(() => {
        if (++asked === 2) controller.abort()
        return { text: 'Short.', cost: 0.25 }
      })
      await refusal(
        store.compactSession(S, {
          ...summarize,
          keepRecentTokens: 240,
          summarizer,
          signal: controller.signal,
        }),
        'ABORTED',
      )
      if (keeps.audit) {
        const [first] = await store.listCompactions(S)
        expect(first).toMatchObject({ status: 'aborted', cost: 0.25 })
      }
    })
  })

  describe('a summarizer that does not do its work', () => {
    const kinds: Record<string, { answer: () => unknown; error: string; status?: string }> = {
      throws: {
        answer: () => {
          throw new TypeError('CANARY said so')
        },
        error: 'TypeError',
      },
      'throws with a code': {
        answer: () => {
          throw Object.assign(new Error('CANARY'), { code: 'RATE_LIMITED' })
        },
        error: 'RATE_LIMITED',
      },
      'throws a text': {
        answer: () => {
          throw 'CANARY'
        },
        error: 'string',
      },
      'throws under a telling name': {
        answer: () => {
          throw Object.assign(new Error('x'), { name: 'CANARY is what they said' })
        },
        error: expect.not.stringContaining('CANARY') as string,
      },
      'answers nothing': { answer: () => '', error: 'EMPTY_SUMMARY' },
      'answers blanks': { answer: () => ' \n\t', error: 'EMPTY_SUMMARY' },
      'answers null': { answer: () => null, error: 'EMPTY_SUMMARY' },
      'answers a number': { answer: () => 5, error: 'EMPTY_SUMMARY' },
      'answers something longer': {
        answer: () => units(2_000),
        error: 'SUMMARY_NOT_SMALLER',
        status: 'rejected',
      },
    }
    for (const [name, { answer, error, status = 'failed' }] of Object.entries(kinds)) {
      test(`${name}: it is noted, nothing is changed, the next stage takes over`, async () => {
        const store = await open()
        await appendAll(store, chat(8, 20))
        const before = await standing(store)
        const run = await store.compactSession(S, { ...summarize, summarizer: fakeModel(answer) })
        expect(run).toMatchObject({ compacted: false, reason: 'SUMMARY_FAILED', tokensSaved: 0 })
        expect(run!.failed).toMatchObject([{ status, error }])
        expect(await standing(store)).toEqual(before)
        if (keeps.audit) {
          expect(await store.listCompactions(S)).toMatchObject([{ status, error, rowsInserted: 0 }])
          expect(JSON.stringify(await store.listCompactions(S))).not.toContain('CANARY')
          expect(JSON.stringify(await store.sessions.audit(S))).not.toContain('CANARY')
        }
        const next = await store.compactSession(S, {
          ...summarize,
          enableTruncate: true,
          targetTokens: 300,
          summarizer: fakeModel(answer),
        })
        expect(next).toMatchObject({ compacted: true, stagesUsed: ['truncate'], reachedTarget: true })
        if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
      })
    }

    test('hangs: it is abandoned after its time', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const run = await store.compactSession(S, {
        ...summarize,
        summaryTimeoutMs: 30,
        summarizer: fakeModel(() => new Promise(() => undefined)),
      })
      expect(run!.failed).toMatchObject([{ status: 'failed', error: 'SUMMARY_TIMEOUT' }])
    })

    test('a very long time to wait is a long time', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      for (const summaryTimeoutMs of [2 ** 31, 2 ** 33, Number.MAX_SAFE_INTEGER]) {
        const summarizer = fakeModel(async () => {
          await new Promise((resolve) => setTimeout(resolve, 30))
          return 'Short.'
        })
        const run = await store.compactSession(S, { ...summarize, summaryTimeoutMs, summarizer })
        expect(run!.failed, String(summaryTimeoutMs)).toEqual([])
        await store.undoCompaction(S, run!.runId)
      }
    })

    test('the extractive one steps in when that is allowed', async () => {
      const store = await open()
      await appendAll(store, chat(10, 60))
      const summarizer = fakeModel(() => {
        throw new Error('down')
      })
      const run = await store.compactSession(S, { ...summarize, summarizer, offlineFallback: true })
      expect(run).toMatchObject({ compacted: true, stagesUsed: ['summarize'] })
      expect(run!.failed).toHaveLength(1)
      const active = (await store.listCompactions(S)).filter(({ status }) => status === 'active')
      expect(active.map((one) => one.summarizer)).toEqual(['extractive'])
    })

    test('invalid figures are not stored, and nothing stays running', async () => {
      const odd: unknown[] = [
        { text: 'ok', model: { name: 'x' } },
        { text: 'ok', model: 5 },
        { text: 'ok', promptVersion: ['1'] },
        { text: 'ok', cost: 'dear' },
        { text: 'ok', cost: Number.NaN },
        { text: 'ok', usage: 5 },
        { text: 'ok', usage: { inputTokens: 1n } },
        { text: 'ok', usage: { inputTokens: Number.POSITIVE_INFINITY } },
        { text: 'ok', model: 'nul \0 and \ud800' },
      ]
      for (const [index, answer] of odd.entries()) {
        const store = await open()
        await appendAll(store, chat(6))
        const before = (await standing(store)) as { view: unknown }
        const run = await store.compactSession(S, { ...summarize, summarizer: fakeModel(() => answer) })
        if (!run!.compacted)
          expect(await store.getEffectiveHistory(S, { provenance: true })).toEqual(before.view)
        if (!keeps.audit) continue
        for (const one of await store.listCompactions(S)) {
          expect(one.status, `answer ${index}`).not.toBe('running')
          expect(['undefined', 'string'], `answer ${index}`).toContain(typeof one.model)
          expect(['undefined', 'string'], `answer ${index}`).toContain(typeof one.promptVersion)
          expect(one.promptVersion).not.toBe('1.0')
          expect(['undefined', 'number'], `answer ${index}`).toContain(typeof one.cost)
          expect(one.model?.includes('\0'), `answer ${index}`).not.toBe(true)
          expect(one.model).not.toBe('5.0')
        }
      }
    })

    test('a text of any characters is kept as it is', async () => {
      const store = await open()
      await appendAll(store, chat(6))
      const text = 'NUL \0, lone \ud800 and 😀'
      await store.compactSession(S, { ...summarize, summarizer: fakeModel(text) })
      expect((await texts(store))[0]).toBe(text)
    })
  })

  describe('plans without a model', () => {
    test('verbs that run at the same time all come out right', async () => {
      const store = await open()
      const ids = await appendAll(store, LOOPS)
      await Promise.all([
        store.compactSession(S, {
          ...ONLY.prune,
          targetTokens: 0,
          pruneProtectTokens: 0,
          pruneMinimumSavings: 0,
        }),
        store.messages.pin(S, [ids[2]!]),
        store.append(S, [say('user', 'more')]),
        store.compactions.hide(S, [ids[0]!]),
        store.compactSession(S, { ...ONLY.truncate, targetTokens: 300 }),
      ])
      expect((await texts(store)).at(-1)).toBe('more')
      if (keeps.verify) expect((await store.sessions.verify(S)).findings).toEqual([])
      for (const { id } of (await store.listCompactions(S)).reverse())
        await store.undoCompaction(S, id, { cascade: true })
      expect(await shape(store)).toEqual(Array.from({ length: 21 }, (_, at) => at + 1))
    })

    test('a refused verb leaves no trace', async () => {
      const store = await open()
      const ids = await appendAll(store, LOOPS)
      const before = await everything(store)
      await refusal(store.compactions.hide(S, [ids[1]!]), 'ILLEGAL_BOUNDARY')
      await refusal(store.compactSession(S, { range: { from: 2, to: 2 }, summary: 'x' }), 'ILLEGAL_BOUNDARY')
      expect(await everything(store)).toEqual(before)
    })
  })
}

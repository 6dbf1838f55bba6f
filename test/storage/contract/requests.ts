import { describe, expect, test } from 'vitest'
import {
  type HistoryRecord,
  isUndertextError,
  type Moment,
  type NewMessage,
  type PreparedRequest,
  type RenderedRequest,
  type Store,
} from '../../../src/index.ts'
import { call, result, say, units } from '../../support/conversation.ts'
import { randomFrom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'
import { type Contract, refusal, S } from './support.ts'

const TOOLS = [{ name: 'read', parameters: { type: 'object', properties: { path: { type: 'string' } } } }]
const USAGE = { inputTokens: 500, cacheReadTokens: 40, outputTokens: 12 }

/** What a model sees of a request, as text: the bytes that must be the same later. */
function sentOf({ system, tools, messages }: Pick<PreparedRequest, 'system' | 'tools' | 'messages'>): string {
  return JSON.stringify([system, tools, messages], (_, value: unknown) =>
    value instanceof Uint8Array ? `bytes ${Buffer.from(value).toString('hex')}` : value,
  )
}

/** Prepares a request, and records an answer; answers its id and what was sent. */
async function ask(
  store: Store,
  options: Parameters<Store['prepareRequest']>[1] = {},
  answer: readonly NewMessage[] = [say('assistant', 'Done.')],
): Promise<{ readonly id: string; readonly sent: string }> {
  const request = await store.prepareRequest(S, options)
  const { requestId } = await store.recordResponse(S, { request, messages: answer, usage: USAGE })
  return { id: requestId!, sent: sentOf(request) }
}

async function expectSame(store: Store, all: readonly { id: string; sent: string }[], id = S): Promise<void> {
  const seen: RenderedRequest[] = []
  for (const one of all) seen.push(await store.requests.get(id, one.id))
  expect(seen.map(sentOf)).toEqual(all.map(({ sent }) => sent))
  expect(seen.every(({ matches, reason }) => matches && reason === undefined)).toBe(true)
}

/** Requests to a model: recorded with their answers, and rendered again. */
export function describeRequests({ open, openBoth, keeps }: Contract): void {
  if (!keeps.histories) return
  describe('recorded requests', () => {
    test('are what the figures of their moment, and of later ones of the same view, are measured by', async () => {
      const store = await open()
      await store.append(S, [say('user', 'first'), say('assistant', 'one')])
      const { id } = await ask(store, { provider: 'anthropic', model: 'claude-sonnet-4', prompt: 'second' })
      await store.append(S, [say('user', units(4_000))])
      const of = { provider: 'anthropic', model: 'claude-sonnet-4' }
      const at = async (moment: Moment, { provider, model } = of) =>
        store.getContextStats(S, provider, model, { at: moment })
      // 500 and 40 tokens of the cache.
      const asked = await at({ request: id })
      expect(asked).toMatchObject({ messageCount: 2, source: 'measured', estimatedInputTokens: 540 })
      expect(asked?.measured).toMatchObject({ inputTokens: 540, isCurrent: true })
      const prompted = await at({ afterMessage: 3 })
      expect(prompted).toMatchObject({ messageCount: 3, source: 'measured', estimatedInputTokens: 540 })
      const later = await at({ afterMessage: 5 })
      expect(later).toMatchObject({ messageCount: 5, source: 'measured+estimated' })
      expect(later!.estimatedInputTokens).toBeGreaterThan(540)
      expect((await at({ afterMessage: 2 }, { ...of, model: 'gpt-4o' }))?.measured).toBeNull()
      // The report is of a request with the third message.
      expect((await at({ afterMessage: 2 }))?.measured).toBeNull()
      expect((await at({ afterMessage: 3 }, { ...of, provider: 'openai' }))?.measured).toBeNull()

      await store.compactSession(S, { range: { from: 1, to: 2 }, summary: 'Short.' })
      const [made] = await store.listCompactions(S)
      expect((await at({ afterCompaction: made!.id }))?.measured).toBeNull()
      expect((await at({ beforeCompaction: made!.id }))?.measured).toMatchObject({ inputTokens: 540 })
    })

    test('have their moment, their model, their usage and the positions of prompt and answer', async () => {
      const store = await open()
      await store.append(S, [say('user', 'first'), say('assistant', 'one')])
      const request = await store.prepareRequest(S, {
        provider: 'anthropic',
        model: 'claude-sonnet-4',
        prompt: 'second',
        system: 'Be brief.',
        tools: TOOLS,
        summaryRole: 'user',
      })
      expect(request).toMatchObject({ position: 2, audit: 0, rendering: { provider: 'anthropic' } })
      const { requestId, appended } = await store.recordResponse(S, {
        request,
        messages: [call('c', 'read', { path: 'a' }), result('c', 'text')],
        usage: USAGE,
      })
      const { incarnation } = await store.sessions.get(S)
      expect(requestId).toBe(`${incarnation}:r1`)
      const entry = {
        id: requestId,
        sessionId: S,
        provider: 'anthropic',
        model: 'claude-sonnet-4',
        position: 2,
        audit: 0,
        rendering: { provider: 'anthropic', summaryRole: 'user' },
        renderer: 2,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        promptPositions: [3, 3],
        answerPositions: [4, 5],
        usage: USAGE,
        // 500 tokens at 3 dollars per million, 40 from the cache at 0.30, 12 of output at 15.
        cost: expect.closeTo(0.001692, 9),
        at: expect.any(Number),
      }
      expect(await store.requests.list(S)).toEqual([entry])
      const seen = await store.requests.get(S, requestId!)
      const { messages, system, tools } = request
      expect(seen).toEqual({
        ...entry,
        ...{ system, tools, messages },
        prompt: [expect.objectContaining({ role: 'user', content: 'second' })],
        matches: true,
      })
      for (const answer of [4, 5, appended.messages[1]!.id, appended.messages[2]!.id])
        expect((await store.requests.get(S, { answer })).id).toBe(requestId)
      for (const answer of [1, 3, 6]) {
        const error = await refusal(store.requests.get(S, { answer }), 'REQUEST_NOT_FOUND')
        expect(error.facts).toEqual({ sessionId: S, request: String(answer) })
      }
    })

    test('have an answer that is stored by another call, once', async () => {
      const store = await open()
      await store.append(S, [say('user', 'first')])
      const request = await store.prepareRequest(S, {})
      const { requestId } = await store.requests.recordUsage(S, { ...USAGE, request })
      const { messages } = await store.append(S, [say('assistant', 'one'), say('assistant', 'two')])
      await refusal(store.requests.get(S, { answer: 2 }), 'REQUEST_NOT_FOUND')
      // Not in the log, and not after the moment of the request.
      for (const range of [
        [3, 4],
        [1, 2],
      ] as const)
        expect(await store.requests.recordAnswer(S, requestId!, range)).toBe(false)
      expect(await store.requests.recordAnswer(S, requestId!, [2, 3])).toBe(true)
      expect(await store.requests.recordAnswer(S, requestId!, [2, 2])).toBe(false)
      for (const { id } of messages)
        expect(await store.requests.get(S, { answer: id })).toMatchObject({
          id: requestId,
          answerPositions: [2, 3],
          matches: true,
        })
      await refusal(store.requests.recordAnswer(S, `${requestId}0`, [2, 3]), 'REQUEST_NOT_FOUND')
      await refusal(store.requests.recordAnswer('other', requestId!, [2, 3]), 'SESSION_NOT_FOUND')
      await refusal(store.requests.recordAnswer(S, requestId!, [3, 2]), 'INVALID_INPUT')
    })

    test('answer with what is new: a message that was known keeps the request that it had', async () => {
      const store = await open()
      const known: NewMessage = { ...say('assistant', 'known'), idempotencyKey: 'k' }
      const ids = [await ask(store, { prompt: 'first' }, [known])]
      await store.append(S, [say('user', 'between')])
      ids.push(
        await ask(store, { prompt: 'second' }, [known, say('assistant', 'new'), say('assistant', 'newer')]),
      )
      // first, known, between, second, new, newer
      expect((await store.requests.list(S)).map(({ answerPositions }) => answerPositions)).toEqual([
        [2, 2],
        [5, 6],
      ])
      for (const [answer, at] of [
        [2, 0],
        [5, 1],
        [6, 1],
      ] as const)
        expect((await store.requests.get(S, { answer })).id).toBe(ids[at]!.id)
      for (const answer of [1, 3, 4]) await refusal(store.requests.get(S, { answer }), 'REQUEST_NOT_FOUND')
    })

    test('are the same bytes after compactions, undos, redos, rewinds and appends, and in another process', async () => {
      const { store, reopen } = await openBoth()
      const all: { id: string; sent: string }[] = []
      await store.append(S, [say('user', `${units(300)} first`), say('assistant', units(300))])
      all.push(
        await ask(store, { prompt: 'second', system: 'Be brief.' }, [call('c', 'read', { path: 'a' })]),
      )
      all.push(await ask(store, { prompt: [result('c', units(900), 'read')], tools: TOOLS }))
      await store.compactSession(S, { range: { from: 1, to: 2 }, summary: 'They greeted.' })
      all.push(await ask(store, { prompt: 'third', summaryRole: 'user' }))
      const [{ runId } = { runId: '' }] = await store.listCompactions(S)
      await store.undoCompaction(S, runId)
      all.push(await ask(store, { prompt: 'fourth' }))
      await store.redoCompaction(S, runId)
      all.push(await ask(store, { prompt: 'fifth', system: 'Be brief.' }))
      const last = (await store.getMessages(S)).findLast(({ role }) => role === 'user')!
      const rewound = await store.rewind(S, {
        from: { beforeMessage: last.id },
        append: [say('user', 'instead')],
      })
      expect(rewound.rowsHidden).toBe(2)
      await store.messages.pin(S, [(await store.getEffectiveHistory(S)).at(-1)!.id])
      all.push(await ask(store))
      await store.compactSession(S, { stages: ['truncate'], target: 0.0001 })
      all.push(await ask(store, { prompt: 'last' }))
      await expectSame(store, all)
      if (reopen !== undefined) await expectSame(await reopen(), all)
      expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test('are the same bytes whatever happens in between, in any order', async () => {
      const store = await open()
      const random = randomFrom(SEED)
      const pick = (count: number): number => Math.floor(random() * count)
      const all: { id: string; sent: string }[] = []
      const tried = async (work: () => Promise<unknown>): Promise<void> => {
        try {
          await work()
        } catch (error) {
          if (!isUndertextError(error)) throw error
        }
      }
      const someCompaction = async (status: string): Promise<string> => {
        const found = (await store.listCompactions(S)).filter((one) => one.status === status)
        return found[pick(found.length)]?.id ?? 'none'
      }
      let number = 0
      const steps: (() => Promise<unknown>)[] = [
        async () => all.push(await ask(store, { prompt: `question ${number} ${units(pick(60))}` })),
        async () =>
          all.push(
            await ask(store, { system: `system ${pick(3)}`, ...(pick(2) === 0 && { tools: TOOLS }) }, [
              call(`c${number}`, 'read', { path: `${pick(2)}.ts` }),
              result(`c${number}`, `out ${pick(2)} ${units(80)}`, 'read'),
            ]),
          ),
        () => store.append(S, [say('user', `more ${number}`)]),
        () => store.compactSession(S, { stages: ['prune'], keepRecentTurns: 1, target: 0.0001 } as never),
        () => store.compactSession(S, { stages: ['deduplicate'], target: 0.0001 }),
        () => store.compactSession(S, { stages: ['truncate'], target: 0.0001 }),
        async () => {
          const { messageCount } = await store.sessions.get(S)
          const from = 1 + pick(messageCount)
          return store.compactSession(S, { range: { from, to: from + pick(4) }, summary: `sum ${number}` })
        },
        async () => store.undoCompaction(S, await someCompaction('active'), { cascade: true, both: true }),
        async () => store.redoCompaction(S, await someCompaction('undone'), { cascade: true }),
        async () => {
          const view = await store.getEffectiveHistory(S)
          const row = view[pick(view.length)]!
          await store.rewind(S, { from: { beforeMessage: row.id }, append: [say('user', `other ${number}`)] })
        },
        async () => store.messages.pin(S, [(await store.getMessages(S))[pick(2)]!.id]),
      ]
      await ask(store, { prompt: 'begin' })
      for (number = 1; number <= 60; number++) await tried(steps[pick(steps.length)]!)
      expect(all.length).toBeGreaterThan(4)
      await expectSame(store, all)
      expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test('hold what the log does not: a prompt that was not stored, files and bytes', async () => {
      const store = await open()
      await store.append(S, [say('user', 'first')])
      const files = [
        { path: 'a.ts', content: `export const a = ${'"é\n" + '.repeat(400)}1` },
        { path: 'b.ts', content: 'export const b = 2' },
      ]
      const image: NewMessage = {
        role: 'user',
        content: [{ type: 'image', image: new Uint8Array([1, 2, 255]), mediaType: 'image/png' }],
      }
      const request = await store.prepareRequest(S, { prompt: [image, say('user', 'What is it?')], files })
      const first = await store.recordResponse(S, {
        request,
        prompt: 'What is it?',
        messages: [say('assistant', 'Two constants.')],
      })
      const again = await store.prepareRequest(S, { prompt: [image, say('user', 'And now?')], files })
      const second = await store.recordResponse(S, { request: again, messages: [say('assistant', 'Still.')] })
      await expectSame(store, [
        { id: first.requestId!, sent: sentOf(request) },
        { id: second.requestId!, sent: sentOf(again) },
      ])
      const seen = await store.requests.get(S, first.requestId!)
      expect(seen.promptPositions).toBeUndefined()
      expect(seen.prompt).toEqual(request.prompt)
      expect(seen.files).toMatchObject({
        included: [
          { path: 'a.ts', how: 'kept' },
          { path: 'b.ts', how: 'kept' },
        ],
        dropped: [],
      })
      expect(JSON.stringify(seen.files)).not.toContain('export')
      expect((await store.requests.get(S, second.requestId!)).promptPositions).toEqual([4, 5])
      expect((await store.sessions.verify(S)).findings).toEqual([])
    })

    test('are recorded once for messages with idempotency keys, and never without a request', async () => {
      const store = await open()
      const request = await store.prepareRequest(S, {
        prompt: { ...say('user', 'Hi'), idempotencyKey: 'q' } as NewMessage,
      })
      const response = {
        request,
        messages: [{ ...say('assistant', 'Hello'), idempotencyKey: 'a' } as NewMessage],
        usage: USAGE,
      }
      expect((await store.recordResponse(S, response)).requestId).toBeDefined()
      expect((await store.recordResponse(S, response)).requestId).toBeUndefined()
      const without = await store.recordResponse(S, {
        prompt: 'More',
        messages: [say('assistant', 'Yes')],
        usage: USAGE,
      })
      expect(without.requestId).toBeUndefined()
      expect(await store.requests.list(S)).toHaveLength(1)
    })

    test('come back from JSON, and without a usage', async () => {
      const store = await open()
      const prepared = await store.prepareRequest(S, { prompt: 'Hi', system: 'Be brief.', tools: TOOLS })
      const request = JSON.parse(JSON.stringify(prepared)) as PreparedRequest
      const { requestId } = await store.recordResponse(S, { request, messages: [say('assistant', 'Hello')] })
      await expectSame(store, [{ id: requestId!, sent: sentOf(prepared) }])
      expect((await store.requests.list(S))[0]).not.toHaveProperty('usage')
    })

    test('say when the messages that were sent are others', async () => {
      const store = await open()
      const request = await store.prepareRequest(S, { prompt: 'Hi' })
      const changed = { ...request, messages: [say('user', 'Something else')] as PreparedRequest['messages'] }
      const { requestId } = await store.recordResponse(S, {
        request: changed,
        messages: [say('assistant', 'Hello')],
      })
      expect(await store.requests.get(S, requestId!)).toMatchObject({
        matches: false,
        reason: 'history',
        messages: request.messages,
      })
    })

    test('are recorded with a usage alone, where others store the answer', async () => {
      const store = await open()
      await store.append(S, [say('user', 'first')])
      const request = await store.prepareRequest(S, { prompt: 'second', tools: TOOLS })
      const { requestId } = await store.requests.recordUsage(S, { ...USAGE, request })
      await store.append(S, [say('user', 'second'), say('assistant', 'Yes')])
      await expectSame(store, [{ id: requestId!, sent: sentOf(request) }])
      expect((await store.requests.list(S))[0]).not.toHaveProperty('answerPositions')
    })

    test('come in pages, oldest first or newest first', async () => {
      const store = await open()
      const ids: string[] = []
      for (const prompt of ['a', 'b', 'c', 'd', 'e']) ids.push((await ask(store, { prompt })).id)
      const idsOf = async (options: Parameters<Store['requests']['list']>[1]) =>
        (await store.requests.list(S, options)).map(({ id }) => id)
      expect(await idsOf({ limit: 2 })).toEqual(ids.slice(0, 2))
      expect(await idsOf({ limit: 2, after: ids[1]! })).toEqual(ids.slice(2, 4))
      expect(await idsOf({ after: ids[3]! })).toEqual(ids.slice(4))
      expect(await idsOf({ after: ids[4]! })).toEqual([])
      const [a, b, c, d, e] = ids
      expect(await idsOf({ order: 'backward', limit: 2 })).toEqual([e, d])
      expect(await idsOf({ order: 'backward', limit: 2, before: d! })).toEqual([c, b])
      expect(await idsOf({ order: 'backward', before: a! })).toEqual([])
      expect(await idsOf({ after: a!, before: d! })).toEqual([b, c])
    })

    test('are compared with the one before, or with another earlier one', async () => {
      const store = await open()
      const ids: string[] = []
      for (const prompt of ['a', 'b', 'c']) ids.push((await ask(store, { prompt })).id)
      const of = async (id: string, earlier?: string) =>
        store.requests.compare(S, id, earlier === undefined ? {} : { with: earlier })
      expect(await of(ids[0]!)).toEqual({ request: ids[0], causes: ['first'] })
      expect(await of(ids[2]!)).toMatchObject({ before: ids[1], causes: [], messages: { same: 3, after: 5 } })
      expect(await of(ids[2]!, ids[0])).toMatchObject({ before: ids[0], causes: [], messages: { same: 1 } })
      await refusal(of(ids[0]!, ids[2]), 'INVALID_INPUT')

      const run = await store.compactSession(S, { range: { from: 1, to: 4 }, summary: 'They spoke.' })
      const { id } = await ask(store, { prompt: 'd' })
      expect(await of(id)).toMatchObject({
        causes: ['compaction'],
        compactionIds: run!.compactions.map((one) => one.id),
      })
      await refusal(store.requests.compare('unknown', id), 'SESSION_NOT_FOUND')
    })

    test('are not taken for those of another session of the same id', async () => {
      const store = await open()
      const { id } = await ask(store, { prompt: 'secret', system: 'Be brief.' })
      const old = await store.prepareRequest(S, { prompt: 'more' })
      await store.sessions.purge(S)
      await refusal(store.requests.list(S), 'SESSION_NOT_FOUND')
      const { requestId } = await store.recordResponse(S, { request: old, messages: [say('assistant', 'x')] })
      expect(requestId).toBeUndefined()
      expect(await store.requests.list(S)).toEqual([])
      await refusal(store.requests.get(S, id), 'REQUEST_NOT_FOUND')
      for (const side of ['after', 'before'])
        await refusal(store.requests.list(S, { [side]: id }), 'REQUEST_NOT_FOUND')
    })

    test('are exported and restored, also under another id', async () => {
      const store = await open()
      await store.append(S, [say('user', `${units(300)} first`), say('assistant', units(300))])
      await store.messages.pin(S, [(await store.getMessages(S))[1]!.id])
      const all = [await ask(store, { prompt: 'second', system: 'Be brief.', tools: TOOLS })]
      await store.compactSession(S, { stages: ['truncate'], target: 0.0001 })
      all.push(await ask(store, { prompt: 'third', system: 'Be brief.', tools: TOOLS }))
      const request = await store.prepareRequest(S, { prompt: 'not stored' })
      const usage = await store.requests.recordUsage(S, { ...USAGE, request })
      all.push({ id: usage.requestId!, sent: sentOf(request) })
      const records: HistoryRecord[] = []
      for await (const record of store.sessions.export(S)) records.push(record)
      expect(records[0]).toMatchObject({ type: 'header', version: 1 })
      const byType = (type: string) => records.filter((one) => one.type === type).length
      expect([byType('request'), byType('piece')]).toEqual([3, 3])
      await store.sessions.import(records, { id: 'copy' })
      const { incarnation } = await store.sessions.get('copy')
      const copies = all.map(({ sent }, index) => ({ sent, id: `${incarnation}:r${index + 1}` }))
      await expectSame(store, copies, 'copy')
      await store.sessions.purge(S)
      await expectSame(store, copies, 'copy')
      expect(await store.sessions.import(records)).toMatchObject({ existing: false })
      await expectSame(store, all)
      expect(await store.sessions.import(records)).toMatchObject({ existing: true })
      expect((await store.sessions.verify(S)).findings).toEqual([])
      expect((await store.sessions.verify('copy')).findings).toEqual([])
    })

    test('are refused with bad input, before anything is written', async () => {
      const store = await open()
      await store.append(S, [say('user', 'first')])
      const request = await store.prepareRequest(S)
      const messages = [say('assistant', 'x')]
      for (const wrong of [
        { audit: -1 },
        { audit: 'x' },
        { rendering: 'x' },
        { messages: 'x' },
        { files: 7 },
        { sessionId: 'other' },
      ]) {
        const given = { ...request, ...wrong } as never
        await refusal(store.recordResponse(S, { request: given, messages }), 'INVALID_INPUT')
        await refusal(store.requests.recordUsage(S, { ...USAGE, request: given }), 'INVALID_INPUT')
      }
      expect((await store.sessions.get(S)).messageCount).toBe(1)
      for (const key of ['', 7, {}, { answer: 0 }, { answer: 1.5 }, { answer: 1, id: 'x' }, null])
        await refusal(store.requests.get(S, key as never), 'INVALID_INPUT')
      await refusal(store.requests.get(S, { answer: 'nobody' }), 'MESSAGE_NOT_FOUND')
      await refusal(store.requests.get('nowhere', 'x'), 'SESSION_NOT_FOUND')
      for (const id of ['x', `${(await store.sessions.get(S)).incarnation}:r0`, ':r1'])
        await refusal(store.requests.get(S, id), 'REQUEST_NOT_FOUND')
      for (const options of [{ limit: 0 }, { limit: 10_001 }, { after: '' }, { order: 'newest' }])
        await refusal(store.requests.list(S, options as never), 'INVALID_INPUT')
    })
  })
}

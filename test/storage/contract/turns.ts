import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { NewMessage, Store, Turn, TurnDraft } from '../../../src/index.ts'
import { SEED } from '../../support/seed.ts'
import { type Contract, refusal, S, texts } from './support.ts'

const user = (content: string): NewMessage => ({ role: 'user', content })
const says = (text: string): NewMessage => ({ role: 'assistant', content: [{ type: 'text', text }] })
const calls = (toolCallId: string): NewMessage => ({
  role: 'assistant',
  content: [{ type: 'tool-call', toolCallId, toolName: 'pay', input: { euros: 5 } }],
})
const result = (toolCallId: string): NewMessage => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, toolName: 'pay', output: { type: 'text', value: 'paid' } }],
})
const NOTE = '[This answer was interrupted before its end.]'

export function describeTurns({ open, openBoth }: Contract): void {
  describe('turns', () => {
    let store: Store
    beforeEach(async () => {
      store = await open()
      await store.append(S, [user('Hello')])
    })

    /** Begins a turn, flushes a draft and leaves it, as a crash does. */
    const left = async (...messages: readonly NewMessage[]): Promise<Turn> => {
      const turn = await store.beginTurn(S)
      await turn.flush(messages)
      await turn.end()
      return turn
    }

    test('an answer ends its turn, and the next one begins', async () => {
      const turn = await store.beginTurn(S)
      expect(turn).toMatchObject({ sessionId: S, draft: undefined })
      expect(await store.sessions.activeTurn(S)).toBe(turn.id)
      await turn.flush([says('Hi')])
      const { appended, final } = await turn.finish({ messages: [says('Hi there')], stopReason: 'stop' })
      expect([appended.position, final]).toEqual([2, true])
      expect(await store.sessions.activeTurn(S)).toBeUndefined()
      expect(await texts(store)).toEqual(['Hello', 'Hi there'])
      const next = await store.beginTurn(S, { waitMs: 0 })
      expect(next.draft).toBeUndefined()
      expect(next.id).not.toBe(turn.id)
      await next.end()
    })

    test('a second turn waits for the first, or is refused', async () => {
      const first = await store.beginTurn(S)
      expect((await refusal(store.beginTurn(S, { waitMs: 0 }), 'TURN_IN_PROGRESS')).facts).toEqual({
        sessionId: S,
        turnId: first.id,
        expiresAt: expect.any(Number),
      })
      await refusal(store.beginTurn(S, { waitMs: 60 }), 'TURN_IN_PROGRESS')
      const second = store.beginTurn(S, { waitMs: 30_000 })
      await first.finish({ messages: [says('one')] })
      await (await second).finish({ messages: [says('two')] })
      expect(await texts(store)).toEqual(['Hello', 'one', 'two'])
    })

    test('of turns that begin at once, one runs at a time', async () => {
      let running = 0
      const most: number[] = []
      await Promise.all(
        Array.from({ length: 6 }, async (_, at) => {
          const turn = await store.beginTurn(S, { waitMs: 30_000 })
          most.push(++running)
          await turn.flush([says('…')])
          running--
          await turn.finish({ messages: [says(String(at))] })
        }),
      )
      expect(most).toEqual([1, 1, 1, 1, 1, 1])
      expect((await texts(store)).slice(1).sort()).toEqual(['0', '1', '2', '3', '4', '5'])
    })

    test('a signal ends the wait, and other sessions have their own turns', async () => {
      await store.append('other', [user('Hello')])
      const first = await store.beginTurn(S)
      const signal = AbortSignal.timeout(30)
      await refusal(store.beginTurn(S, { waitMs: 30_000, signal }), 'ABORTED')
      await (await store.beginTurn('other', { waitMs: 0 })).end()
      await first.end()
    })

    test('a turn that was taken over writes nothing more', async () => {
      const first = await store.beginTurn(S)
      await first.flush([says('half')])
      const second = await store.beginTurn(S, { takeOver: true })
      expect(second.draft?.messages).toEqual([says('half')])
      const lost = { sessionId: S, turnId: first.id }
      expect((await refusal(first.flush([says('more')]), 'TURN_LOST')).facts).toEqual(lost)
      await refusal(first.append([says('more')]), 'TURN_LOST')
      await refusal(first.finish({ messages: [says('whole')] }), 'TURN_LOST')
      await refusal(first.rewind({ from: 'start', append: [user('again')] }), 'TURN_LOST')
      await refusal(first.dropDraft(), 'TURN_LOST')
      await refusal(first.keepDraft(), 'TURN_LOST')
      await refusal(first.claimCall('c'), 'TURN_LOST')
      await first.end()
      expect(await texts(store)).toEqual(['Hello'])
      await refusal(store.beginTurn(S, { waitMs: 0 }), 'TURN_IN_PROGRESS')
      await second.end()
    })

    test('a turn without a call for idleMs is taken over, and goes on if none was', async () => {
      const first = await store.beginTurn(S, { idleMs: 1 })
      await first.flush([says('half')])
      // The heartbeat notices it.
      const second = await store.beginTurn(S, { waitMs: 10_000 })
      await refusal(first.finish({ messages: [says('late')] }), 'TURN_LOST')
      await second.end()
    }, 20_000)

    test('a finish that is repeated appends once', async () => {
      const turn = await store.beginTurn(S)
      const answer = { messages: [calls('c'), result('c'), says('Done')], stopReason: 'stop' }
      const first = await turn.finish(answer)
      const again = await turn.finish(answer)
      expect(again.appended.messages).toEqual(
        first.appended.messages.map((message) => ({ ...message, existing: true })),
      )
      await refusal(turn.finish({ messages: [says('other')] }), 'TURN_LOST')
      expect((await store.getMessages(S)).length).toBe(4)
      const next = await store.beginTurn(S)
      expect((await turn.finish(answer)).appended.position).toBe(4)
      await next.finish({ messages: [says('Done')] })
      expect(await texts(store)).toEqual(['Hello', '<tool-call>', 'paid', 'Done', 'Done'])
    })

    test('an answer that is refused leaves the turn and its draft', async () => {
      const turn = await store.beginTurn(S)
      await turn.flush([says('half')])
      await refusal(turn.finish({ messages: [says('a')], expectedPosition: 7 }), 'POSITION_CONFLICT')
      await refusal(store.beginTurn(S, { waitMs: 0 }), 'TURN_IN_PROGRESS')
      await turn.end()
      const next = await store.beginTurn(S)
      expect(next.draft?.messages).toEqual([says('half')])
      await next.end()
    })

    test('a draft is replaced, and is in no list, view, statistic or export', async () => {
      const before = [await store.getContextStats(S), await store.getMessages(S), await store.sessions.get(S)]
      const turn = await store.beginTurn(S)
      await turn.flush([says('XYZZY one')])
      await turn.flush([says('XYZZY one two'), calls('c')])
      expect([
        await store.getContextStats(S),
        await store.getMessages(S),
        await store.sessions.get(S),
      ]).toEqual(before)
      expect(await texts(store)).toEqual(['Hello'])
      expect(JSON.stringify(await store.renderHistory(S, { provider: 'openai' }))).not.toContain('XYZZY')
      expect(JSON.stringify(await store.prepareRequest(S))).not.toContain('XYZZY')
      await turn.end()
      const next = await store.beginTurn(S)
      expect(next.draft).toEqual({
        turnId: turn.id,
        messages: [says('XYZZY one two'), calls('c')],
        position: 1,
        flushedAt: expect.any(Number),
      } satisfies TurnDraft)
      await next.end()
    })

    test('a draft comes back as it was flushed: bytes, metadata and unusual texts', async () => {
      const messages: NewMessage[] = [
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'NUL \0, half \ud800, −0' },
            { type: 'file', data: new Uint8Array([0, 1, 255]), mediaType: 'application/pdf' },
            { type: 'file', data: 'QUJD'.repeat(600), mediaType: 'application/pdf' },
            { type: 'tool-call', toolCallId: 'c', toolName: 't', input: { zero: -0, nested: [null, 'é'] } },
          ],
          metadata: { own: { undertext: 1 } },
          createdAt: 5,
        },
        { role: 'assistant', content: 'a plain text' },
      ]
      await left(...messages)
      const next = await store.beginTurn(S)
      expect(next.draft?.messages).toEqual(messages)
      await next.end()
    })

    test('a draft is offered until it is kept; then it is a broken answer', async () => {
      await left(says('It begins with'))
      await (await store.beginTurn(S)).end()
      const turn = await store.beginTurn(S)
      expect(turn.draft?.messages).toEqual([says('It begins with')])
      expect((await turn.keepDraft())?.position).toBe(2)
      expect(await turn.keepDraft()).toBeUndefined()
      const [, answer] = await store.getMessages(S)
      expect(answer).toMatchObject({
        role: 'assistant',
        content: [
          { type: 'text', text: 'It begins with' },
          { type: 'text', text: NOTE },
        ],
        metadata: { undertext: { brokenOff: 'stopped', added: [1] } },
      })
      await turn.finish({ messages: [says('Whole')] })
      const next = await store.beginTurn(S)
      expect(next.draft).toBeUndefined()
      await next.end()
      expect(await texts(store)).toEqual(['Hello', `It begins with${NOTE}`, 'Whole'])
    })

    test('a draft is dropped', async () => {
      await left(says('half'))
      const turn = await store.beginTurn(S)
      await turn.dropDraft()
      await turn.dropDraft()
      expect(await turn.keepDraft()).toBeUndefined()
      await turn.end()
      const next = await store.beginTurn(S)
      expect(next.draft).toBeUndefined()
      await next.finish({ messages: [says('Whole')] })
      expect(await texts(store)).toEqual(['Hello', 'Whole'])
    })

    test('a turn keeps its own draft when its user stops it', async () => {
      const turn = await store.beginTurn(S)
      await turn.flush([says('half')])
      await turn.keepDraft()
      await turn.flush([says('again half')])
      await turn.keepDraft()
      await turn.end()
      expect(await texts(store)).toEqual(['Hello', `half${NOTE}`, `again half${NOTE}`])
    })

    test('an open call of a kept draft is rendered with a result that says it has none', async () => {
      await left(says('Let me pay.'), calls('c'))
      const turn = await store.beginTurn(S)
      await turn.keepDraft()
      await turn.append([user('And?')])
      const [row] = (await store.getMessages(S)).slice(2)
      expect(row).toMatchObject({
        content: calls('c').content,
        metadata: { undertext: { brokenOff: 'stopped' } },
      })
      const { messages, mends } = await store.renderHistory(S, { provider: 'openai' })
      expect(mends).toContainEqual({ kind: 'result-added', messageId: row!.id, toolCallId: 'c' })
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant', 'tool', 'user'])
      await turn.end()
    })

    test('steps are appended within a turn, and remove its draft', async () => {
      const turn = await store.beginTurn(S)
      await turn.flush([calls('c')])
      await turn.append([calls('c'), result('c')], { expectedPosition: 1 })
      await turn.flush([says('Don')])
      await turn.rewind({ from: { beforeMessage: 2 }, append: [says('Other')] })
      await turn.end()
      const next = await store.beginTurn(S)
      expect(next.draft).toBeUndefined()
      await next.end()
      expect(await texts(store)).toEqual(['Hello', 'Other'])
    })

    test('a call is claimed once, and not at all after its result', async () => {
      const turn = await store.beginTurn(S)
      await refusal(turn.claimCall('c'), 'TOOL_CALL_NOT_FOUND')
      await turn.append([calls('c')])
      expect(await Promise.all([turn.claimCall('c'), turn.claimCall('c')])).toEqual([true, false])
      await turn.end()
      const next = await store.beginTurn(S)
      expect(await next.claimCall('c')).toBe(false)
      expect(await next.claimCall('c', { again: true })).toBe(true)
      await next.append([result('c')])
      expect(await next.claimCall('c')).toBe(false)
      expect(await next.claimCall('c', { again: true })).toBe(false)
      // A later call may have the same id.
      await next.append([calls('c')])
      expect(await next.claimCall('c')).toBe(true)
      await next.end()
    })

    test('purge ends a turn and removes its draft and its claims', async () => {
      const turn = await store.beginTurn(S)
      await turn.append([calls('c')])
      await turn.claimCall('c')
      await turn.flush([says('half')])
      await store.sessions.purge(S)
      await refusal(turn.flush([says('more')]), 'SESSION_NOT_FOUND')
      await turn.end()
      await store.append(S, [user('Hello'), calls('c')])
      await refusal(turn.flush([says('more')]), 'TURN_LOST')
      const next = await store.beginTurn(S)
      expect(next.draft).toBeUndefined()
      expect(await next.claimCall('c')).toBe(true)
      await next.end()
    })

    test('an unknown session has no turns', async () => {
      await refusal(store.beginTurn('unknown'), 'SESSION_NOT_FOUND')
      await refusal(store.beginTurn('unknown', { takeOver: true }), 'SESSION_NOT_FOUND')
      expect(await store.sessions.list()).toHaveLength(1)
    })

    test('await using ends a turn', async () => {
      {
        await using turn = await store.beginTurn(S)
        await turn.flush([says('half')])
      }
      await (await store.beginTurn(S, { waitMs: 0 })).end()
    })

    test('after any sequence of operations, the log is what the answers, the steps and the kept drafts make it', async () => {
      const operation = fc.oneof(
        ...['begin', 'takeOver', 'keep', 'drop', 'end'].map((does) => fc.record({ does: fc.constant(does) })),
        ...['flush', 'step', 'finish', 'repeat'].map((does) =>
          fc.record({ does: fc.constant(does), text: fc.constantFrom('a', 'b', 'c', 'd') }),
        ),
      )
      let session = 0
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { maxLength: 14 }), async (operations) => {
          const id = `p${session++}`
          await store.append(id, [user('q')])
          const log = ['q']
          let draft: string | undefined
          let holder: Turn | undefined
          let turn: Turn | undefined
          const finished = new Map<Turn, string>()
          for (const one of operations as { does: string; text?: string }[]) {
            const text = one.text ?? ''
            const attempt = async (work: () => Promise<unknown>, then: () => void): Promise<void> => {
              if (turn === undefined) return
              if (turn !== holder) await refusal(work(), 'TURN_LOST')
              else {
                await work()
                then()
              }
            }
            const current = turn!
            if (one.does === 'begin' || one.does === 'takeOver') {
              const options = one.does === 'begin' ? { waitMs: 0 } : { takeOver: true }
              if (one.does === 'begin' && holder !== undefined) {
                await refusal(store.beginTurn(id, options), 'TURN_IN_PROGRESS')
                continue
              }
              const begun = await store.beginTurn(id, options)
              expect(begun.draft?.messages).toEqual(draft === undefined ? undefined : [says(draft)])
              // Sometimes the turn that was taken over is used again.
              turn = holder !== undefined && operations.length % 2 === 0 ? turn : begun
              holder = begun
            } else if (one.does === 'flush') {
              await attempt(
                () => current.flush([says(text)]),
                () => {
                  draft = text
                },
              )
            } else if (one.does === 'step') {
              await attempt(
                () => current.append([says(text)]),
                () => {
                  log.push(text)
                  draft = undefined
                },
              )
            } else if (one.does === 'finish') {
              const isRepeat = current !== undefined && finished.get(current) === text
              if (isRepeat) await current.finish({ messages: [says(text)] })
              else {
                await attempt(
                  () => current.finish({ messages: [says(text)] }),
                  () => {
                    log.push(text)
                    draft = undefined
                    finished.set(current, text)
                    holder = undefined
                  },
                )
              }
            } else if (one.does === 'repeat') {
              const [[before, said] = []] = finished
              if (before !== undefined) await before.finish({ messages: [says(said!)] })
            } else if (one.does === 'drop') {
              await attempt(
                () => current.dropDraft(),
                () => {
                  draft = undefined
                },
              )
            } else if (one.does === 'keep' && turn !== undefined && turn === holder) {
              const kept = await turn.keepDraft()
              expect(kept === undefined).toBe(draft === undefined)
              if (draft !== undefined) log.push(`${draft}${NOTE}`)
              draft = undefined
            } else if (one.does === 'end' && turn !== undefined) {
              await turn.end()
              if (turn === holder) holder = undefined
            }
          }
          await holder?.end()
          expect(await texts(store, id)).toEqual(log)
          const last = await store.beginTurn(id, { waitMs: 0 })
          expect(last.draft?.messages).toEqual(draft === undefined ? undefined : [says(draft)])
          await last.end()
        }),
        { numRuns: 30, seed: SEED },
      )
    }, 60_000)

    test('another store of the same data waits too', async () => {
      const { store: first, reopen } = await openBoth()
      if (reopen === undefined) return
      await first.append(S, [user('Hello')])
      const second = await reopen()
      const turn = await first.beginTurn(S)
      await turn.flush([says('half')])
      await refusal(second.beginTurn(S, { waitMs: 100 }), 'TURN_IN_PROGRESS')
      const next = second.beginTurn(S, { waitMs: 30_000 })
      await turn.finish({ messages: [says('Whole')] })
      expect((await next).draft).toBeUndefined()
      await (await next).end()
      // A store that is closed holds nothing: its turns end with it.
      const held = await first.beginTurn(S)
      await held.flush([says('half')])
      await first.close()
      await held.end()
      const last = await second.beginTurn(S, { waitMs: 0 })
      expect(last.draft?.messages).toEqual([says('half')])
      await last.end()
      await second.close()
    }, 30_000)
  })
}

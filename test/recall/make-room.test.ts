import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { makeRoom } from '../../src/store/recall/index.ts'
import { call, result, say } from '../support/conversation.ts'

describe('make_room up to a position', () => {
  let store: Store
  beforeEach(async () => {
    store = await openStore(':memory:')
    for (let turn = 0; turn < 20; turn++)
      await store.append('s', [
        say('user', `Question ${turn}. ${'word '.repeat(200)}`),
        say('assistant', 'An answer.'),
      ])
  })
  afterEach(() => store.close())

  const upTo = (upToPosition: number) =>
    makeRoom(store, 's', { reason: 'r', upToPosition, summary: 'Earlier questions.' })
  const pin = async (position: number): Promise<void> => {
    const [message] = await store.getMessages('s', { after: position - 1, limit: 1 })
    await store.messages.pin('s', [message!.id])
  }
  const visible = async (): Promise<(number | undefined)[]> =>
    (await store.getEffectiveHistory('s')).map(({ position }) => position)
  /** Positions, a summary as undefined. */
  const from = (first: number): number[] => Array.from({ length: 41 - first }, (_, at) => first + at)

  it('hides what follows the last pinned message before it, and says what stays', async () => {
    await pin(1)
    const answer = await upTo(20)
    expect(answer.room!.rowsHidden).toBe(19)
    expect(await visible()).toEqual([1, undefined, ...from(21)])
    const again = await upTo(30)
    expect(again.room!.rowsHidden).toBe(11)
    expect(await visible()).toEqual([1, undefined, ...from(31)])
  })

  it('names the position with which what is before a pinned message is hidden', async () => {
    await pin(5)
    const answer = await upTo(20)
    expect(await visible()).toEqual([1, 2, 3, 4, 5, undefined, ...from(21)])
    expect(answer.text).toContain(
      'Position 5 stays, because it is pinned. To hide the messages before it, pass upToPosition 4.',
    )
    await upTo(4)
    expect(await visible()).toEqual([undefined, 5, undefined, ...from(21)])
  })

  it('keeps a system message', async () => {
    await store.append('system', [
      say('system', 'Be brief.'),
      ...from(1).map((at) => say(at % 2 ? 'user' : 'assistant', 'word '.repeat(50))),
    ])
    const answer = await makeRoom(store, 'system', { reason: 'r', upToPosition: 11, summary: 'Ten.' })
    expect(answer.room!.rowsHidden).toBe(10)
  })

  it('refuses a position of which nothing can be hidden, and names another one', async () => {
    await pin(10)
    expect(await upTo(10)).toMatchObject({
      problem: 'INVALID_INPUT',
      text: 'Position 10 stays, because it is pinned. Choose 9, or a position after 10.',
    })
    expect((await upTo(9)).room!.rowsHidden).toBe(9)
  })

  it('refuses a position within a summary, and names the ends that are possible', async () => {
    await store.compactSession('s', { range: { from: 5, to: 20 }, summary: 'Questions.' })
    const before = await visible()
    expect(await upTo(10)).toMatchObject({
      problem: 'INVALID_INPUT',
      text: 'Position 10 is within a summary of the positions 5 to 20. Choose 4, 20 or a position after 20.',
    })
    expect(await visible()).toEqual(before)
    await upTo(20)
    expect(await visible()).toEqual([undefined, ...from(21)])
  })

  it('keeps the question that is being answered, and calls without results', async () => {
    await store.append('s', [
      say('user', 'The question under way'),
      call('c1', 'make_room', { reason: 'r', upToPosition: 41 }),
    ])
    expect(await upTo(41)).toMatchObject({
      problem: 'INVALID_INPUT',
      text: 'Position 41 stays, because it is the question that you are answering. Choose 40, or a position after 41.',
    })
    for (const position of [42, 400])
      expect(await upTo(position)).toMatchObject({
        problem: 'PENDING_TOOL_CALLS',
        text: 'Calls that wait for a result cannot be hidden. Choose a position before them.',
      })
    expect((await upTo(40)).room!.rowsHidden).toBe(40)
    expect(await visible()).toEqual([undefined, 41, 42])
  })

  it('hides the finished calls of the only question', async () => {
    await store.append('loop', [
      say('user', 'Check all stations.'),
      ...[1, 2, 3].flatMap((at) => [call(`c${at}`, 'check'), result(`c${at}`, 'fine '.repeat(50))]),
      call('c4', 'make_room'),
    ])
    const answer = await makeRoom(store, 'loop', { reason: 'r', upToPosition: 7, summary: 'All fine.' })
    expect(answer.room!.rowsHidden).toBe(6)
    const view = await store.getEffectiveHistory('loop')
    expect(view.map(({ position }) => position)).toEqual([1, undefined, 8])
  })

  it('names the message of a call that a position would separate from its result', async () => {
    await store.append('s', [call('c1', 'read'), result('c1', 'text'), say('user', 'Next?')])
    const { text, problem } = await upTo(41)
    expect(problem).toBe('ILLEGAL_BOUNDARY')
    expect(text).toContain('position 42 belongs to a tool call')
    expect((await upTo(42)).room!.rowsHidden).toBe(42)
  })

  it('cuts the reason of a refusal to the tokens of an answer', async () => {
    const answer = await makeRoom(store, 's', { reason: 'r' }, () => ({ refuse: '不'.repeat(600) }), {
      maxTokens: 300,
    })
    expect(answer.tokens).toBeLessThanOrEqual(300)
    expect(answer.text).toContain('不')
  })
})

import { describe, expect, it } from 'vitest'
import type { ViewMessage } from '../../src/core/messages/message.ts'
import { prefixLaw, type Turning } from '../../src/core/model/reasoning.ts'
import { frameOf, type ReasoningFacts } from '../../src/core/rendering/bound-reasoning.ts'
import { renderBoundView, renderRecorded } from '../../src/core/rendering/render.ts'

const turned = (inForce: boolean, position: number, compaction = 1): Turning => ({
  compaction,
  inForce,
  position,
})

describe('the law for reasoning without a recorded request', () => {
  const law = (turnings: readonly Turning[], first = 2, unknownTo = 0) =>
    prefixLaw({ turnings, touches: new Map([[1, first]]), onlyReasoning: new Set(), unknownTo })
  const at = (position: number) => ({ position, since: position - 1 })

  it('a compaction before the block makes it invalid, and leaves blocks before it and after it valid', () => {
    const isValid = law([turned(true, 8)])
    // It touches the message at 2, and the log ended at 8 when it was made.
    expect([2, 4, 8, 10, 12].map((position) => isValid(at(position)))).toEqual([
      true,
      false,
      false,
      true,
      true,
    ])
  })

  it('undo makes old reasoning valid again, and what was written meanwhile invalid; redo the opposite', () => {
    const undone = [turned(true, 8), turned(false, 12)]
    expect([4, 10, 14].map((position) => law(undone)(at(position)))).toEqual([true, false, true])
    const redone = [...undone, turned(true, 16)]
    expect([4, 10, 14, 18].map((position) => law(redone)(at(position)))).toEqual([false, true, false, true])
  })

  it('a compaction that turned between the prompt and the answer was perhaps not in the request', () => {
    expect(law([turned(true, 8)])(at(9))).toBe(false)
    // Undone again within the same time: before, between and after cannot be told apart.
    expect(law([turned(true, 8), turned(false, 8)])(at(9))).toBe(false)
    // The append of the answer began before it: with the messages at 7 and 8.
    expect(law([turned(true, 6)])({ position: 9, since: 6 })).toBe(false)
    expect(law([turned(true, 6)])({ position: 9, since: 7 })).toBe(true)
  })

  it('what precedes imported messages in their requests is unknown', () => {
    expect([5, 6].map((position) => law([], 2, 5)(at(position)))).toEqual([false, true])
  })

  it('reasoning that is left out invalidates nothing after it; brought back, it invalidates what was made without it', () => {
    const law = (turnings: readonly Turning[]) =>
      prefixLaw({ turnings, touches: new Map([[1, 2]]), onlyReasoning: new Set([1]), unknownTo: 0 })
    expect([4, 10].map((position) => law([turned(true, 8)])(at(position)))).toEqual([true, true])
    const undone = law([turned(true, 8), turned(false, 12)])
    expect([4, 10, 14].map((position) => undone(at(position)))).toEqual([true, false, true])
  })

  it('compactions are judged each by itself', () => {
    const isValid = prefixLaw({
      turnings: [turned(true, 8), turned(true, 8, 2)],
      touches: new Map([
        [1, 7],
        [2, 3],
      ]),
      onlyReasoning: new Set(),
      unknownTo: 0,
    })
    expect([3, 5, 8].map((position) => isValid(at(position)))).toEqual([true, false, false])
  })
})

const OPTIONS = { provider: 'anthropic' }
const NO_FACTS: ReasoningFacts = {
  answers: [],
  isWhole: true,
  last: 100,
  open: [],
  frame: frameOf('s', []),
  law: () => true,
}

const user = (position: number, text = `question ${position}`): ViewMessage => ({
  id: `m${position}`,
  kind: 'message',
  role: 'user',
  position,
  createdAt: position,
  content: text,
})
const answer = (position: number): ViewMessage => ({
  id: `m${position}`,
  kind: 'message',
  role: 'assistant',
  position,
  createdAt: position,
  content: [
    { type: 'reasoning', text: `thought ${position}` },
    { type: 'text', text: `answer ${position}` },
  ],
})
const summary = (text: string): ViewMessage => ({
  id: 'sum',
  kind: 'summary',
  role: 'user',
  createdAt: 1,
  content: text,
  condenseId: 'c',
})

/** Renders a view as the request before an answer, and returns what is recorded of it. */
function recorded(view: readonly ViewMessage[], first: number, facts: ReasoningFacts = NO_FACTS) {
  const { bound } = renderBoundView(view, OPTIONS, facts)!
  return { first, last: first, bound, isFree: false }
}

/** The positions whose reasoning a rendering sends. */
function sent(view: readonly ViewMessage[], facts: ReasoningFacts): number[] {
  const { messages } = renderBoundView(view, OPTIONS, facts)!
  return messages.flatMap(({ content }) =>
    typeof content === 'string'
      ? []
      : content.flatMap((part) => (part.type === 'reasoning' ? [Number(part.text.split(' ')[1])] : [])),
  )
}

describe('a rendering for a model that binds reasoning', () => {
  const log = [user(1), answer(2), user(3), answer(4), user(5), answer(6), user(7)]
  const answers = [2, 4, 6].map((first) => recorded(log.slice(0, first - 1), first))
  const facts = (changes: Partial<ReasoningFacts> = {}): ReasoningFacts => ({
    ...NO_FACTS,
    answers,
    ...changes,
  })

  it('sends all reasoning after what it was made after', () => {
    expect(sent(log, facts())).toEqual([2, 4, 6])
  })

  it('leaves out the blocks after a change and keeps those before it', () => {
    const changed = log.with(2, { ...user(3, 'shown differently'), replacedParts: [0] })
    expect(sent(changed, facts())).toEqual([2])
    const { mends } = renderBoundView(changed, OPTIONS, facts())!
    expect(mends).toEqual([
      { kind: 'reasoning-invalid', messageId: 'm4' },
      { kind: 'reasoning-invalid', messageId: 'm6' },
    ])
  })

  it('keeps what was made after the change, with the left out blocks left out each time', () => {
    const view = [summary('what was said'), user(3), answer(4), user(5), answer(6), user(7)]
    const after = recorded(view, 8, facts())
    const later = [...view, answer(8), user(9)]
    const known = facts({ answers: [...answers, after] })
    expect(sent(later, known)).toEqual([8])
    expect(after.bound.leftOut).toEqual([[4, 6]])
    // The original history again: the old reasoning is valid, what was written meanwhile is not.
    expect(sent([...log, answer(8), user(9)], known)).toEqual([2, 4, 6])
  })

  it('a record of left out blocks names no block that was sent, when an earlier message comes between them', () => {
    // 4 comes after 6, and is the only one that is valid.
    const view = [user(1), answer(2), user(5), answer(6), user(3), answer(4), user(7), answer(8), user(9)]
    const law = facts({ answers: [], law: ({ position }) => position === 4 })
    const request = renderBoundView(view, OPTIONS, law)!
    expect(sent(view, law)).toEqual([4])
    expect(request.bound.leftOut).toEqual([
      [2, 2],
      [6, 6],
      [8, 8],
    ])
    expect(renderRecorded(view, OPTIONS, 100, request.bound).messages).toEqual(request.messages)
    const next = [...view, answer(10), user(11)]
    const newest = facts({
      isWhole: false,
      answers: [{ first: 10, last: 10, bound: request.bound, isFree: false }],
    })
    expect(sent(next, newest)).toEqual([4, 10])
  })

  it('the newest answer alone decides the same as all answers, or asks for all', () => {
    const view = [summary('what was said'), user(3), answer(4), user(5), answer(6), user(7)]
    const after = recorded(view, 8, facts())
    const later = [...view, answer(8), user(9)]
    const whole = facts({ answers: [...answers, after] })
    const newest = { ...whole, answers: [after], isWhole: false }
    expect(renderBoundView(later, OPTIONS, newest)).toEqual(renderBoundView(later, OPTIONS, whole))
    expect(renderBoundView([...log, answer(8)], OPTIONS, newest)).toBeUndefined()
    expect(renderBoundView(later, OPTIONS, { ...newest, frame: frameOf('other', []) })).toBeUndefined()
  })

  it('another system prompt or other tools make all reasoning invalid; marks and deferred tools do not', () => {
    expect(sent(log, facts({ frame: frameOf('other', []) }))).toEqual([])
    expect(sent(log, facts({ frame: frameOf('s', [{ name: 't' }]) }))).toEqual([])
    expect(sent(log, facts({ frame: frameOf('s', [{ name: 't', defer_loading: true }]) }))).toEqual([2, 4, 6])
    expect(frameOf('s', [{ name: 't', cache_control: { type: 'ephemeral' } }])).toBe(
      frameOf('s', [{ name: 't' }]),
    )
  })

  it('a block whose request was not recorded follows the law, and one of an open request its prefix', () => {
    const onlyFirst = facts({ answers: answers.slice(0, 1), law: ({ position }) => position !== 6 })
    expect(sent(log, onlyFirst)).toEqual([2, 4])
    expect(sent(log, { ...onlyFirst, open: [answers[2]!.bound] })).toEqual([2, 4, 6])
  })

  it('a model that binds nothing wrote blocks that are always valid', () => {
    const changed = log.with(0, user(1, 'x'))
    const free = answers.map((one) => ({ ...one, isFree: true, bound: undefined }))
    expect(sent([summary('x'), ...changed.slice(1)], facts({ answers: free }))).toEqual([2, 4, 6])
  })

  it('a prompt that is not stored is the same as the message that it becomes', () => {
    const { position: _, ...prompt } = { ...user(7), id: 'prompt-1', createdAt: 0 }
    const before = recorded([...log.slice(0, 6), prompt], 8, facts({ last: 6 }))
    expect(before.bound.prefix).toBe(recorded(log, 8, facts()).bound.prefix)
  })

  it('a result that comes late moves before the answers that were made without it', () => {
    const call: ViewMessage = {
      ...answer(2),
      content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 't', input: {} }],
    }
    const pending = [user(1), call, user(3)]
    const made = recorded(pending, 4)
    const result: ViewMessage = {
      id: 'm6',
      kind: 'message',
      role: 'tool',
      position: 6,
      createdAt: 6,
      content: [
        { type: 'tool-result', toolCallId: 'c1', toolName: 't', output: { type: 'text', value: 'r' } },
      ],
    }
    const known = { ...NO_FACTS, answers: [made] }
    expect(sent([...pending, answer(4), user(5)], known)).toEqual([4])
    expect(sent([...pending, answer(4), user(5), result], known)).toEqual([])
  })

  /** A row whose reasoning a compaction emptied. */
  const emptied = (position: number): ViewMessage => ({
    ...answer(position),
    content: [
      { type: 'reasoning', text: '' },
      { type: 'text', text: `answer ${position}` },
    ],
    replacedParts: [0],
  })

  it('the oldest reasoning may be missing, and comes back with an undo', () => {
    const dropped = log.with(1, emptied(2))
    expect(sent(dropped, facts())).toEqual([4, 6])
    expect(sent(dropped.with(3, emptied(4)), facts())).toEqual([6])
    // What was made after reasoning that was there then and is there again follows it.
    const after = recorded(dropped, 8, facts())
    const known = facts({ answers: [...answers, after] })
    expect(sent([...dropped, answer(8)], known)).toEqual([4, 6, 8])
    expect(sent([...log, answer(8)], known)).toEqual([2, 4, 6, 8])
  })

  it('between two blocks none may be missing: the longer chain is sent, of two the later', () => {
    expect(sent(log.with(3, emptied(4)), facts())).toEqual([6])
    const longer = [...log, answer(8), user(9)]
    const known = facts({ answers: [...answers, recorded(log, 8, facts())] })
    expect(sent(longer.with(5, emptied(6)), known)).toEqual([2, 4])
    expect(sent(longer.with(3, emptied(4)), known)).toEqual([6, 8])
  })

  it('reasoning that was made without earlier one does not follow it', () => {
    const without = log.with(1, emptied(2)).with(3, emptied(4)).with(5, emptied(6))
    const after = recorded(without, 8, facts())
    const known = facts({ answers: [...answers, after] })
    expect(sent([...without, answer(8)], known)).toEqual([8])
    expect(sent([...log, answer(8)], known)).toEqual([2, 4, 6])
  })

  it('the newest answer alone decides as all do while the same reasoning is missing', () => {
    const dropped = log.with(1, emptied(2))
    const after = recorded(dropped, 8, facts())
    const whole = facts({ answers: [...answers, after] })
    const newest = { ...whole, answers: [after], isWhole: false }
    const later = [...dropped, answer(8), user(9)]
    expect(renderBoundView(later, OPTIONS, newest)).toEqual(renderBoundView(later, OPTIONS, whole))
    expect(renderBoundView([...log, answer(8), user(9)], OPTIONS, newest)).toBeUndefined()
    expect(renderBoundView(later.with(3, emptied(4)), OPTIONS, newest)).toBeUndefined()
  })

  it('of two answers that became neighbors only the first is in its place', () => {
    expect(sent([user(1), answer(2), answer(4), user(5)], facts())).toEqual([2])
  })

  it('a recorded request is rendered again without what it left out', () => {
    const view = [summary('what was said'), user(3), answer(4), user(5), answer(6), user(7)]
    const { messages, bound } = renderBoundView(view, OPTIONS, facts())!
    expect(renderRecorded(view, OPTIONS, 7, bound).messages).toEqual(messages)
    expect(renderRecorded(view, OPTIONS, 7).messages).not.toEqual(messages)
  })
})

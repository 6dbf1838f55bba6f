import { expect, it } from 'vitest'
import {
  getEffectiveHistory,
  removeTruncationTags,
  TRUNCATION_FRACTION,
  TRUNCATION_MARKER,
  truncateWithSlidingWindow,
} from '../../src/compat/arrays/index.ts'
import type { ChatMessage } from '../../src/core/model/message-parts.ts'
import { call, deepFreeze, places, result, system, talk, user } from './support.ts'

it.each([
  { n: 4, fraction: 1, removed: [] },
  { n: 5, fraction: 0.5, removed: [] },
  { n: 6, fraction: 0.5, removed: [2, 3] },
  { n: 20, fraction: undefined, removed: [2, 3, 4, 5, 6, 7, 8, 9] },
  { n: 20, fraction: 0.5, removed: [2, 3, 4, 5, 6, 7, 8, 9] },
  { n: 20, fraction: 0, removed: [] },
  { n: 8, fraction: 0.34, removed: [2, 3] },
  { n: 7, fraction: 1, removed: [2, 3, 4, 5] },
])('of $n messages at $fraction: $removed [S3-131 S3-132 S3-135]', ({ n, fraction, removed }) => {
  const messages = talk(n)
  const outcome = truncateWithSlidingWindow(messages, fraction === undefined ? {} : { fraction })
  expect(outcome.truncated).toBe(removed.length > 0)
  expect(outcome.messagesRemoved).toBe(removed.length)
  const hidden = outcome.tagged.filter(({ truncationParent }) => truncationParent !== undefined)
  expect(places(hidden, messages)).toEqual(removed)
  expect(TRUNCATION_FRACTION).toBe(0.5)
})

it('gives the first pair, the marker, the kept messages [S3-130 S3-133 S3-137]', () => {
  const messages = talk(10)
  const { messages: left, truncationId } = truncateWithSlidingWindow(messages)
  expect(left).toEqual([
    messages[0],
    messages[1],
    {
      id: `truncation-${truncationId}`,
      role: 'system',
      content: '[Earlier conversation history was truncated to fit within context limits]',
      truncationId,
      isTruncationMarker: true,
    },
    ...messages.slice(6),
  ])
  expect(left[2]!.content).toBe(TRUNCATION_MARKER)
})

it('hides instead of deleting: the tagged list holds everything [S3-129 S3-143 S3-144 S3-147 S3-148 S3-149 S3-U08]', () => {
  const messages = talk(10)
  const { messages: left, tagged, truncationId } = truncateWithSlidingWindow(messages)
  expect(truncationId).toMatch(/^[0-9a-f-]{36}$/)
  expect(tagged.map(({ truncationParent }) => truncationParent === truncationId)).toEqual(
    [0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0].map(Boolean),
  )
  expect(tagged.map(({ isTruncationMarker }) => isTruncationMarker === true).indexOf(true)).toBe(6)
  expect(getEffectiveHistory(tagged)).toEqual(left)
})

it('each truncation has an id of its own [S3-142]', () => {
  const ids = [1, 2].map(() => truncateWithSlidingWindow(talk(10)).truncationId)
  expect(ids[0]).not.toBe(ids[1])
})

it('taking its tags away gives the list that was [S3-151]', () => {
  const messages = deepFreeze(talk(10))
  const { tagged, truncationId } = truncateWithSlidingWindow(messages)
  expect(removeTruncationTags(tagged, truncationId!)).toEqual(messages)
})

it('the first pair is the first two messages that are no system messages [S3-130]', () => {
  const messages = [system('You help.'), ...talk(10)]
  const { messages: left } = truncateWithSlidingWindow(messages)
  expect(places(left, messages)).toEqual([0, 1, 2, -1, 7, 8, 9, 10])
})

it('where the count would part a pair, the next smaller even one that does not [S3-134 S3-136 C-35]', () => {
  // Of 8 behind the first pair, 4; the fourth is a call whose result is the fifth; three would be odd: two.
  const messages: ChatMessage[] = [
    ...talk(5),
    call('look'),
    result('look', 'found'),
    ...talk(3).map((message) => ({ ...message, id: `n${message.id}` })),
  ]
  const { messages: left, messagesRemoved } = truncateWithSlidingWindow(messages)
  expect(messagesRemoved).toBe(2)
  expect(places(left, messages)).toEqual([0, 1, -1, 4, 5, 6, 7, 8, 9])
})

it('a call in the first pair keeps its result, and the count stays even [S3-130 S3-134]', () => {
  const messages: ChatMessage[] = [user('q'), call('look'), result('look', 'found'), ...talk(7)]
  const { messages: left, messagesRemoved } = truncateWithSlidingWindow(messages)
  expect(messagesRemoved).toBe(4)
  expect(left.slice(0, 3)).toEqual(messages.slice(0, 3))
  expect(left.slice(4)).toEqual(messages.slice(7))
})

it('leaves one marker when it is done again over its own result, and undoes one truncation at a time', () => {
  const first = truncateWithSlidingWindow(talk(20))
  const second = truncateWithSlidingWindow(first.tagged)
  expect(second.messages.filter(({ isTruncationMarker }) => isTruncationMarker)).toHaveLength(1)
  // 12 messages and the marker are visible; of the 10 behind the first pair 5, even 4.
  expect(second.messagesRemoved).toBe(4)
  expect(removeTruncationTags(second.tagged, second.truncationId!)).toEqual(first.tagged)
})

it('leaves a marker alone that is far after what goes', () => {
  const far = { role: 'system', content: 'far', truncationId: 'far', isTruncationMarker: true }
  const messages = [...talk(12), far, ...talk(2)]
  const { messages: left } = truncateWithSlidingWindow(messages, { fraction: 0.2 })
  expect(left.map(({ isTruncationMarker }) => isTruncationMarker === true).indexOf(true)).toBe(2)
  expect(left).toContainEqual(far)
})

it('never hides a summary, a pinned message, or a call that waits for its result', () => {
  const summary = { role: 'system', content: 's', condenseId: 'c', metadata: { isSummary: true } }
  const pinned = { ...user('keep'), pinned: true }
  const messages: ChatMessage[] = [summary, ...talk(4), pinned, ...talk(4), user('go'), call('look')]
  const { messages: left } = truncateWithSlidingWindow(messages, { fraction: 1 })
  expect(left).toContainEqual(summary)
  expect(left).toContainEqual(pinned)
  expect(left.at(-1)).toEqual(call('look'))
})

it('takes a marker’s text of the caller’s own, and refuses a misspelled option', () => {
  expect(truncateWithSlidingWindow(talk(10), { marker: '(cut)' }).messages[2]!.content).toBe('(cut)')
  for (const config of [{ ratio: 0.5 }, { fraction: 1.5 }, { fraction: '0.5' }]) {
    expect(() => truncateWithSlidingWindow(talk(10), config as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    )
  }
})

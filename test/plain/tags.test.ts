import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  getEffectiveHistory,
  removeCondensationTags,
  removeTruncationTags,
  tagForCondensation,
  tagForTruncation,
} from '../../src/compat/arrays/effective-history.ts'
import type { ChatMessage } from '../../src/core/model/message-parts.ts'
import { conversations, deepFreeze, talk } from './support.ts'

const condensed = { condenseParent: 'c1' }

it('tags [from, to) for a condensation, toIndex itself not [S3-153]', () => {
  const [m0, m1, m2, m3] = talk(4)
  expect(tagForCondensation([m0!, m1!, m2!, m3!], 1, 3, 'c1')).toEqual([
    m0,
    { ...m1, ...condensed },
    { ...m2, ...condensed },
    m3,
  ])
})

it('tags [from, to) for a truncation, toIndex itself not [S3-154]', () => {
  const [m0, m1, m2] = talk(3)
  expect(tagForTruncation([m0!, m1!, m2!], 0, 2, 't1')).toEqual([
    { ...m0, truncationParent: 't1' },
    { ...m1, truncationParent: 't1' },
    m2,
  ])
})

it.each([
  { from: -3, to: 2, tagged: [0, 1] },
  { from: 2, to: 99, tagged: [2, 3] },
  { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY, tagged: [0, 1, 2, 3] },
  { from: 3, to: 1, tagged: [] },
  { from: 2, to: 2, tagged: [] },
])('limits indexes to the list: [$from, $to) [S3-153 S3-154]', ({ from, to, tagged }) => {
  const messages = talk(4)
  const at = (field: 'condenseParent' | 'truncationParent', list: typeof messages): number[] =>
    list.flatMap((message, index) => (message[field] === undefined ? [] : [index]))
  expect(at('condenseParent', tagForCondensation(messages, from, to, 'c1'))).toEqual(tagged)
  expect(at('truncationParent', tagForTruncation(messages, from, to, 't1'))).toEqual(tagged)
})

it('leaves the one parent a message has, of either kind: nesting comes apart one level at a time [C-12 S3-U11]', () => {
  const [m0, m1, m2, m3] = talk(4)
  const inner: ChatMessage = {
    id: 's1',
    role: 'system',
    content: 'one',
    condenseId: 'c1',
    metadata: { isSummary: true },
  }
  const outer: ChatMessage = {
    id: 's2',
    role: 'system',
    content: 'two',
    condenseId: 'c2',
    metadata: { isSummary: true },
  }
  const once = [...tagForCondensation([m0!, m1!], 0, 2, 'c1'), inner, m2!, m3!]
  const twice = [...tagForCondensation(once, 0, 4, 'c2'), outer]
  expect(twice.map(({ condenseParent }) => condenseParent)).toEqual([
    'c1',
    'c1',
    'c2',
    'c2',
    undefined,
    undefined,
  ])
  expect(getEffectiveHistory(twice)).toEqual([m3, outer])
  expect(getEffectiveHistory(removeCondensationTags(twice, 'c2'))).toEqual([inner, m2, m3])
  expect(removeCondensationTags(removeCondensationTags(twice, 'c2'), 'c1')).toEqual([m0, m1, m2, m3])
  const [truncated] = tagForTruncation([m0!], 0, 1, 't1')
  expect(tagForCondensation([truncated!], 0, 1, 'c1')).toEqual([truncated])
  expect(tagForTruncation(twice, 0, 6, 't1').slice(0, 4)).toEqual(twice.slice(0, 4))
})

it('never makes a summary or marker its own parent', () => {
  const summary = { role: 'system', content: 's', condenseId: 'c1', metadata: { isSummary: true } }
  const marker = { role: 'system', content: 'm', truncationId: 't1', isTruncationMarker: true }
  expect(tagForCondensation([summary], 0, 1, 'c1')).toEqual([summary])
  expect(tagForTruncation([marker], 0, 1, 't1')).toEqual([marker])
})

it('removes only the tags of that id, of that kind [S3-155 S3-157]', () => {
  const [m0, m1, m2] = talk(3)
  const messages = [
    { ...m0!, condenseParent: 'x' },
    { ...m1!, condenseParent: 'y' },
    { ...m2!, truncationParent: 'x' },
  ]
  expect(removeCondensationTags(messages, 'x')).toEqual([m0, messages[1], messages[2]])
  expect(removeTruncationTags(messages, 'x')).toEqual([messages[0], messages[1], m2])
})

it('removes the summary, known by condenseId and metadata.isSummary together [S3-156]', () => {
  const summary = { role: 'system', content: 's', condenseId: 'x', metadata: { isSummary: true } }
  const noSummary = { role: 'system', content: 's', condenseId: 'x', metadata: { isSummary: false } }
  const other = { ...summary, condenseId: 'y' }
  expect(removeCondensationTags([summary, noSummary, other], 'x')).toEqual([noSummary, other])
})

it('removes the marker, known by truncationId and isTruncationMarker together [S3-158]', () => {
  const marker = { role: 'system', content: 'm', truncationId: 'x', isTruncationMarker: true }
  const noMarker = { role: 'system', content: 'm', truncationId: 'x' }
  const other = { ...marker, truncationId: 'y' }
  expect(removeTruncationTags([marker, noMarker, other], 'x')).toEqual([noMarker, other])
})

it('each returns a new array and leaves what it was given alone [S3-159]', () => {
  const messages = deepFreeze(talk(3).map((message) => ({ ...message, extra: { kept: [1] } })))
  const before = structuredClone(messages)
  const results = [
    tagForCondensation(messages, 0, 2, 'c'),
    tagForTruncation(messages, 0, 2, 't'),
    removeCondensationTags(messages, 'c'),
    removeTruncationTags(messages, 't'),
    getEffectiveHistory(messages),
  ]
  for (const result of results) expect(result).not.toBe(messages)
  expect(messages).toEqual(before)
  expect(results[0]![0]!.extra).toEqual({ kept: [1] })
})

it('refuses what is no list, no index, no id', () => {
  const refused = expect.objectContaining({ code: 'INVALID_INPUT' })
  const wrong: (() => unknown)[] = [
    () => tagForCondensation('no list' as never, 0, 1, 'c'),
    () => tagForCondensation([null] as never, 0, 1, 'c'),
    () => tagForCondensation(talk(2), Number.NaN, 1, 'c'),
    () => tagForTruncation(talk(2), 0, '1' as never, 't'),
    () => tagForTruncation(talk(2), 0, 1, ''),
    () => removeCondensationTags(talk(2), ''),
    () => removeTruncationTags(talk(2), 7 as never),
  ]
  for (const attempt of wrong) expect(attempt).toThrow(refused)
})

it('laying tags and taking them away gives the list that was [S3-151]', () => {
  fc.assert(
    fc.property(
      conversations,
      fc.integer({ min: -2, max: 40 }),
      fc.integer({ min: -2, max: 40 }),
      (messages, from, to) => {
        expect(removeCondensationTags(tagForCondensation(messages, from, to, 'new'), 'new')).toEqual(messages)
        expect(removeTruncationTags(tagForTruncation(messages, from, to, 'new'), 'new')).toEqual(messages)
      },
    ),
  )
})

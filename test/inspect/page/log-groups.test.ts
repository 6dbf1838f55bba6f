import { describe, expect, it } from 'vitest'
import type { StoredMessage } from '../../../src/core/messages/message.ts'
import { sharedBar, sharedWords, wholePercent } from '../../../src/inspect/page/comparison-words.ts'
import { hiderOf, lastWindow, logGroups, windowWith } from '../../../src/inspect/page/log-groups.ts'

const row = (position: number, tags: Partial<StoredMessage> = {}): StoredMessage => ({
  ...{ id: `m${position}`, kind: 'message', role: 'user', content: 'x', position, anchor: position },
  ...{ createdAt: 0, pinned: false, hidden: false, ...tags },
})

describe('the log beside a request', () => {
  it('joins neighbors that the same compaction hides', () => {
    const rows = [
      row(1),
      row(2),
      row(3, { hidden: true, condenseParent: 'a' }),
      row(4, { hidden: true, condenseParent: 'a' }),
      row(5, { hidden: true, truncationParent: 'b' }),
      row(6),
    ]
    expect(logGroups(rows).map(({ hiddenBy, rows: all }) => [hiddenBy, all.length])).toEqual([
      [undefined, 2],
      ['a', 2],
      ['b', 1],
      [undefined, 1],
    ])
  })

  it('names what retired a row, and knows that a visible row has no reason', () => {
    expect(hiderOf(row(1, { hidden: true, retiredBy: 'c' }))).toBe('c')
    expect(hiderOf(row(1, { hidden: true }))).toBe('')
    expect(hiderOf(row(1, { condenseParent: 'a' }))).toBeUndefined()
  })

  it('begins at the end, and grows or moves to a chosen position', () => {
    const window = lastWindow(1_000, 100)
    expect(window).toEqual({ after: 900, before: 1_001 })
    expect(windowWith(window, 950, 1_000, 100)).toBe(window)
    expect(windowWith(window, 850, 1_000, 100)).toEqual({ after: 840, before: 1_001 })
    expect(windowWith(window, 3, 1_000, 100)).toEqual({ after: 0, before: 103 })
    expect(windowWith({ after: 0, before: 103 }, 120, 1_000, 100)).toEqual({ after: 0, before: 130 })
    expect(windowWith({ after: 0, before: 103 }, 998, 1_000, 100)).toEqual({ after: 988, before: 1_001 })
    expect(lastWindow(0, 100)).toEqual({ after: 0, before: 1 })
  })
})

describe('what two requests share', () => {
  it('is a share of the later one, and the rest was added or changed', () => {
    expect(sharedBar({ before: 80, after: 100, shared: 80 })).toEqual({
      shared: 0.8,
      rest: 0.2,
      isAdded: true,
    })
    expect(sharedBar({ before: 200, after: 100, shared: 25 })).toEqual({
      shared: 0.25,
      rest: 0.75,
      isAdded: false,
    })
    expect(sharedBar({ before: 5, after: 0, shared: 0 })).toEqual({ shared: 0, rest: 0, isAdded: false })
  })

  it('in words, says whether all of the earlier one can be read', () => {
    expect(sharedWords({ before: 5, after: 5, shared: 5 })).toBe('Both are the same.')
    expect(sharedWords({ before: 5, after: 9, shared: 5 })).toContain('is a prefix of this one')
    expect(sharedWords({ before: 5, after: 9, shared: 4 })).toContain('Only what both share')
  })
})

it('a share is rounded down, so that 100% is all of it', () => {
  expect([1, 0.9999, 0.29, 0].map(wholePercent)).toEqual(['100%', '99%', '29%', '0%'])
})

import { describe, expect, it } from 'vitest'
import {
  hidingOf,
  type Item,
  indexOf,
  itemsOf,
  type ListOptions,
  nextBoundary,
} from '../../../src/inspect/page/conversation-items.ts'
import { choicesFor, shownStretches, versionsOf } from '../../../src/inspect/page/conversation-versions.ts'

type Range = readonly [number, number]
type Place = { readonly anchor: number; readonly ordinal: number }

let clock = 0
function compaction(
  id: string,
  hidden: readonly Range[],
  {
    status = 'active',
    inserted,
    covers = [],
    rewinds,
    at = ++clock,
    changedAt = at,
  }: {
    status?: 'active' | 'undone'
    inserted?: Place
    covers?: readonly Place[]
    rewinds?: true
    at?: number
    changedAt?: number
  } = {},
) {
  return {
    id,
    status,
    createdAt: at,
    changedAt,
    insertedIds: inserted === undefined ? [] : [`summary of ${id}`],
    coverage: {
      hidden: { positions: hidden, inserted: covers },
      beside: { positions: [], inserted: [] },
      inserted,
      openCalls: false,
      ...(rewinds && { rewinds }),
    },
  }
}
const rewind = (id: string, hidden: readonly Range[], more: Parameters<typeof compaction>[2] = {}) =>
  compaction(id, hidden, { ...more, rewinds: true })

const list = (
  messageCount: number,
  compactions: readonly ReturnType<typeof compaction>[],
  more: Partial<ListOptions> = {},
): Item[] =>
  itemsOf({
    messageCount,
    hiding: hidingOf(compactions),
    versions: versionsOf(compactions, messageCount),
    choices: new Map(),
    filter: 'everything',
    toggled: new Set(),
    ...more,
  })

/** `5` for a message, `-5` for a hidden one, other items by kind. */
const short = (items: readonly Item[]): (number | string)[] =>
  items.map((item) =>
    item.kind === 'message'
      ? item.hiddenBy === undefined
        ? item.position
        : -item.position
      : item.kind === 'inserted'
        ? item.id
        : item.kind === 'fold'
          ? `${item.isOpen ? 'open' : 'closed'} ${item.messages}`
          : `version ${item.stretch.from}`,
  )

describe('the list of the conversation', () => {
  it('contains all messages, and each inserted row after the message that it follows', () => {
    const made = compaction('a', [[1, 2]], { inserted: { anchor: 2, ordinal: 1 } })
    expect(short(list(4, [made]))).toEqual([-1, -2, 'summary of a', 3, 4])
  })

  it('folds runs of more than 20 hidden rows, and opens a fold on request', () => {
    const made = compaction('a', [[2, 22]], { inserted: { anchor: 22, ordinal: 1 } })
    expect(short(list(24, [made]))).toEqual([1, 'closed 21', 'summary of a', 23, 24])
    const fold = list(24, [made])[1]!
    const opened = list(24, [made], { toggled: new Set([String(fold.key)]) })
    // 24 messages, the summary and the line of the fold.
    expect(opened).toHaveLength(26)
    expect(short(opened).slice(0, 3)).toEqual([1, 'open 21', -2])
  })

  it('leaves runs of up to 20 rows open, and runs of up to 3 without a line', () => {
    expect(short(list(6, [compaction('a', [[2, 4]])]))).toEqual([1, -2, -3, -4, 5, 6])
    expect(short(list(6, [compaction('a', [[2, 5]])]))).toEqual([1, 'open 4', -2, -3, -4, -5, 6])
  })

  it('folds what a summary of a summary replaces as one run', () => {
    const inner = compaction('a', [[1, 20]], { inserted: { anchor: 20, ordinal: 1 } })
    const outer = compaction('b', [[21, 30]], {
      covers: [{ anchor: 20, ordinal: 1 }],
      inserted: { anchor: 30, ordinal: 1 },
    })
    expect(short(list(31, [inner, outer]))).toEqual(['closed 30', 'summary of b', 31])
  })

  it('keeps runs of two compactions apart', () => {
    expect(short(list(9, [compaction('a', [[1, 4]]), compaction('b', [[5, 8]])]))).toEqual([
      ...['open 4', -1, -2, -3, -4],
      ...['open 4', -5, -6, -7, -8],
      9,
    ])
  })

  it('shows the summary of an undone compaction as hidden, and its messages as visible', () => {
    const undone = compaction('a', [[1, 2]], { status: 'undone', inserted: { anchor: 2, ordinal: 1 } })
    const items = list(3, [undone])
    expect(short(items)).toEqual([1, 2, 'summary of a', 3])
    expect(items[2]).toMatchObject({ hiddenBy: 'a' })
  })

  it('filters what the model sees, and what is hidden', () => {
    const made = compaction('a', [[1, 2]], { inserted: { anchor: 2, ordinal: 1 } })
    expect(short(list(4, [made], { filter: 'view' }))).toEqual(['summary of a', 3, 4])
    expect(short(list(4, [made], { filter: 'hidden' }))).toEqual([-1, -2])
    expect(short(list(4, [made], { matches: ({ key }) => key === 2 || key === 4 }))).toEqual([-2, 4])
  })

  it('finds a message in its closed fold', () => {
    const items = list(24, [compaction('a', [[2, 22]])])
    expect(indexOf(items, 1)).toBe(0)
    expect(indexOf(items, 10)).toBe(1)
    expect(indexOf(items, 24)).toBe(3)
    expect(indexOf(items, 'other')).toBe(-1)
  })

  it('stops at folds, inserted rows and the ends of hidden runs', () => {
    const items = list(6, [compaction('a', [[3, 4]])])
    expect(short(items)).toEqual([1, 2, -3, -4, 5, 6])
    expect(nextBoundary(items, 0, 1)).toBe(2)
    expect(nextBoundary(items, 2, 1)).toBe(4)
    expect(nextBoundary(items, 4, 1)).toBe(-1)
    expect(nextBoundary(items, 5, -1)).toBe(4)
  })

  it('of 100,000 messages has one item for each fold', () => {
    const made = Array.from({ length: 1_000 }, (_, at) => compaction(`c${at}`, [[at * 90 + 1, at * 90 + 30]]))
    // 1,000 folds in place of 30 rows each.
    expect(list(100_000, made)).toHaveLength(100_000 - 30_000 + 1_000)
  })
})

describe('versions', () => {
  const starts = (versions: ReturnType<typeof versionsOf>): (readonly [number, readonly number[]])[] =>
    [...versions]
      .filter(([, all]) => all.length > 1)
      .map(([after, all]) => [after, all.map(({ from }) => from)])

  it('are what a rewind hid, and what followed it', () => {
    const rewound = [rewind('a', [[5, 6]])]
    const versions = versionsOf(rewound, 8)
    expect(starts(versions)).toEqual([[4, [5, 7]]])
    expect(short(list(8, rewound))).toEqual([1, 2, 3, 4, 'version 7', 7, 8])
    expect(short(list(8, rewound, { choices: new Map([[4, 5]]) }))).toEqual([1, 2, 3, 4, 'version 5', -5, -6])
  })

  it('that were chosen are open, however long', () => {
    const chosen = list(50, [rewind('a', [[5, 40]])], { choices: new Map([[4, 5]]) })
    expect(short(chosen).slice(3, 8)).toEqual([4, 'version 5', 'open 36', -5, -6])
  })

  it('do not exist where nothing follows a rewind: what it hid is shown in its place', () => {
    const rewound = [rewind('a', [[3, 4]])]
    expect(starts(versionsOf(rewound, 4))).toEqual([])
    expect(short(list(4, rewound))).toEqual([1, 2, -3, -4])
  })

  it('are three after two rewinds to the same place', () => {
    expect(starts(versionsOf([rewind('a', [[5, 6]]), rewind('b', [[7, 8]])], 10))).toEqual([[4, [5, 7, 9]]])
  })

  it('are three if the second rewind undid the first', () => {
    const first = rewind('a', [[5, 6]], { status: 'undone', at: 100, changedAt: 110 })
    const second = rewind('b', [[5, 8]], { at: 110 })
    expect(starts(versionsOf([first, second], 10))).toEqual([[4, [5, 7, 9]]])
  })

  it('may lie within a version', () => {
    const rewound = [
      rewind('a', [[5, 6]]),
      rewind('b', [
        [3, 4],
        [7, 8],
      ]),
    ]
    expect(starts(versionsOf(rewound, 10))).toEqual([
      [2, [3, 9]],
      [4, [5, 7]],
    ])
    expect(short(list(10, rewound))).toEqual([1, 2, 'version 9', 9, 10])
    const chosen = list(10, rewound, { choices: new Map([[2, 3]]) })
    expect(short(chosen)).toEqual([1, 2, 'version 3', -3, -4, 'version 7', -7, -8])
  })

  it('that the model sees are all shown', () => {
    // 5 and 6 were shown again, together with 7 and 8.
    const both = rewind('a', [[5, 6]], { status: 'undone', at: 200, changedAt: 220 })
    expect(short(list(8, [both]))).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('continue where the conversation went back to an earlier one', () => {
    // 7 and 8 replaced 5 and 6, were rewound, and 9 continues 6.
    const first = rewind('a', [[5, 6]], { status: 'undone', at: 300, changedAt: 320 })
    const second = rewind('b', [[7, 8]], { at: 310 })
    const versions = versionsOf([first, second], 9)
    expect(starts(versions)).toEqual([[4, [5, 7]]])
    expect(shownStretches(versions, new Map()).map(({ from, to }) => [from, to])).toEqual([
      [1, 4],
      [5, 6],
      [9, 9],
    ])
  })

  it('are chosen so that a message in one of them is shown', () => {
    const versions = versionsOf(
      [
        rewind('a', [[5, 6]]),
        rewind('b', [
          [3, 4],
          [7, 8],
        ]),
      ],
      10,
    )
    expect([...choicesFor(versions, new Map(), 6)]).toEqual([
      [4, 5],
      [2, 3],
    ])
    expect([...choicesFor(versions, new Map(), 9)]).toEqual([])
  })
})

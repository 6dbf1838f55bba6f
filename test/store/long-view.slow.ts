import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'

/* The index of a view is read in pages of 20,000 rows. */

it('plans over a view of more rows than a page, summaries at the seams included', async () => {
  await using store = await openStore(':memory:')
  const turns = Array.from({ length: 22_500 }, (_, nth) => [
    { role: 'user' as const, content: `question ${nth}` },
    { role: 'assistant' as const, content: `answer ${nth}` },
  ])
  await store.append('s', turns.flat())
  // Each of these leaves a summary at the anchor it is named after: 2, 20,000 and 20,004.
  for (const [from, to] of [
    [1, 2],
    [19_999, 20_000],
    [20_001, 20_004],
  ] as const) {
    await store.compactSession('s', { range: { from, to }, summary: 'x' })
  }
  expect((await store.sessions.get('s')).visibleCount).toBe(45_000 - 2 - 2 - 4 + 3)

  const all = await store.compactSession('s', { range: { from: 1, to: 45_000 }, summary: 'All of it.' })
  expect(all!.compactions).toMatchObject([{ rowsHidden: 45_000 - 2 - 2 - 4 + 3, rowsInserted: 1 }])
  expect((await store.getEffectiveHistory('s')).map(({ kind }) => kind)).toEqual(['summary'])
  await store.undoCompaction('s', all!.runId)
  expect((await store.sessions.verify('s')).findings).toEqual([])
})

import { expect, it } from 'vitest'
import type { Part } from '../../src/core/messages/message.ts'
import { indexMessage } from '../../src/core/model/message-parts.ts'
import { applyPlan, type PlannedStep } from '../../src/core/model/plan.ts'
import { View } from '../../src/core/model/view.ts'
import type { ViewRow } from '../../src/core/model/view-row.ts'
import { cut } from '../../src/core/stages/cut.ts'
import { keepsGroups } from '../../src/core/stages/cut-points.ts'
import type { StageContext } from '../../src/core/stages/stage.ts'
import { truncate } from '../../src/core/stages/truncate.ts'
import { neurolinkEstimator } from '../../src/core/tokens/measure.ts'
import { openStore } from '../../src/index.ts'

const settings = { truncationFraction: undefined, truncationMarker: undefined } as StageContext['settings']

function rowOf(key: number, role: ViewRow['role'], content: readonly Part[]): ViewRow {
  const index = indexMessage({ content }, neurolinkEstimator)
  const place = { id: `m${key}`, kind: 'message', position: key, anchor: key, ordinal: 0 } as const
  return { key, role, ...place, ...index, pinned: false, shown: [] }
}

const viewOf = (contents: readonly (readonly Part[])[]): View =>
  new View(
    contents.map((content, at) => rowOf(at + 1, 'user', content)),
    neurolinkEstimator,
    'openai',
  )

const metadataOf = (): undefined => undefined

const text = (length: number): Part => ({ type: 'text', text: 'x'.repeat(length) })

function cutTo(
  view: View,
  contents: readonly (readonly Part[])[],
  limitTokens: number,
  no: number,
): PlannedStep {
  const contentOf = (row: ViewRow): readonly Part[] => contents[row.key - 1]!
  const plan = cut.plan(view, { settings, targetTokens: 0, limitTokens, contentOf, metadataOf })
  return applyPlan(view, plan!, no, 1)
}

it('cuts again what was cut for a larger window, from the original', () => {
  const contents = [[text(40_000)]]
  // ceil(10,000 × 1.15) + 28 = 11,528 tokens. 5,778 leave 5,000 units: 5,750 + 28.
  const first = cutTo(viewOf(contents), contents, 5_778, -1)
  expect(first.plan.replace[0]!.saved.text).toBe(5_000)
  expect(first.plan.replace[0]!.instead).toBeUndefined()
  expect(first.after.tokens).toBe(5_778)
  // 1,178 leave 1,000 units: of the original 9,000 are saved, 5,000 of which the first cut saves already.
  const second = cutTo(first.after, contents, 1_178, -2)
  expect(second.plan.replace[0]!.text).toBe(`${'x'.repeat(4_000 - 15)}... [TRUNCATED]`)
  expect(second.plan.replace[0]!.saved.text).toBe(9_000)
  expect(second.plan.replace[0]!.instead!.text).toBe(5_000)
  expect(second.after.tokens).toBe(1_178)
  expect(second.after.rows[0]!.sizes.text).toBe(1_000)
  expect(second.after.rows[0]!.shown).toEqual([{ part: 0, compaction: -2 }])
})

it('parts of one row that were cut before are cut again together, the others beside them', () => {
  const contents = [[text(40_000), text(8_000), text(40_000)]]
  // To 4,000 units each: 4,000 + 2,000 + 4,000 = 10,000 units, 11,528 tokens.
  const first = cutTo(viewOf(contents), contents, 11_528, -1)
  expect(first.plan.replace.map(({ part }) => part)).toEqual([0, 2])
  // To 1,000 units each: 3,000 units, 3,478 tokens.
  const second = cutTo(first.after, contents, 3_478, -2)
  expect(second.after.tokens).toBe(3_478)
  expect(second.plan.replace.map(({ part, saved }) => [part, saved.text])).toEqual([
    [1, 1_000],
    [0, 9_000],
    [2, 9_000],
  ])
  expect(second.after.rows[0]!.sizes.text).toBe(3_000)
})

it('leaves a replacement that is shorter than the level, and what cannot be cut further', () => {
  const contents = [
    [
      { type: 'tool-result', toolCallId: 'c', output: { type: 'text', value: 'y'.repeat(4_000) } },
      text(40_000),
    ],
  ] as const
  const view = viewOf(contents)
  const row = view.rows[0]!
  // The result (1,000 units) shows 6 units instead.
  const shown = { ...row, sizes: { ...row.sizes, toolResults: 6 }, shown: [{ part: 0, compaction: 1 }] }
  const pruned = new View([shown], neurolinkEstimator, 'openai')
  // 500 units of text and 6: ceil(506 × 1.15) = 582, + 28.
  const step = cutTo(pruned, contents, 610, -1)
  expect(step.plan.replace.map(({ part }) => part)).toEqual([1])
  expect(step.after.tokens).toBe(610)
  const bottom = cutTo(pruned, contents, 0, -1)
  expect(bottom.after.rows[0]!.sizes).toMatchObject({ text: 50, toolResults: 6 })
  const contentOf = (): readonly Part[] => contents[0]
  expect(
    cut.plan(bottom.after, { settings, targetTokens: 0, limitTokens: 0, contentOf, metadataOf }),
  ).toBeUndefined()
})

it('a text cut for gpt-4o is cut again for gpt-4', async () => {
  const store = await openStore(':memory:')
  await store.append('s', [{ role: 'user', content: 'x'.repeat(2_000_000) }])
  const large = await store.compactSession('s', { provider: 'openai', model: 'gpt-4o' })
  expect(large).toMatchObject({ compacted: true, fits: true })
  const small = await store.compactSession('s', { provider: 'openai', model: 'gpt-4' })
  expect(small).toMatchObject({ compacted: true, fits: true })
  const stats = await store.getContextStats('s', 'openai', 'gpt-4')
  // 8,192 less floor(8,192 × 0.35) for the answer.
  expect(stats!.estimatedInputTokens).toBeLessThanOrEqual(5_324)
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.undoCompaction('s', small!.runId)
  await store.undoCompaction('s', large!.runId)
  expect((await store.getEffectiveHistory('s'))[0]!.content).toHaveLength(2_000_000)
  expect((await store.sessions.verify('s')).findings).toEqual([])
  await store.close()
})

it('goes through a long loop once, and truncates 150,000 rows', () => {
  const reasoned: Part[] = [
    { type: 'reasoning', text: 'r' },
    { type: 'tool-call', toolCallId: 'c', toolName: 't', input: {} },
  ]
  const loop = Array.from({ length: 20_000 }, (_, at) => rowOf(at + 1, 'assistant', reasoned))
  const view = new View(loop, neurolinkEstimator, '')
  expect(keepsGroups(view, () => true).size).toBe(20_000)

  const says: Part[] = [{ type: 'text', text: 'four' }]
  const asks = rowOf(1, 'user', says)
  const many = Array.from({ length: 150_000 }, (_, at) => rowOf(at + 2, 'assistant', says))
  const talk = new View([asks, ...many, rowOf(150_002, 'user', says)], neurolinkEstimator, '')
  const plan = truncate.plan(talk, {
    settings,
    targetTokens: 100,
    limitTokens: 100,
    contentOf: () => [],
    metadataOf: () => undefined,
  })
  // The first exchange is 2 rows: the request and the first answer.
  expect(plan!.hide).toHaveLength(149_999)
})

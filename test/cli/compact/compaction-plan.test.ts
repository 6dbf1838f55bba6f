import { describe, expect, it } from 'vitest'
import { compactionPlan } from '../../../src/cli/commands/compact/plan.ts'
import type { PlannedCompaction, ViewMessage } from '../../../src/index.ts'

/** A row of the view; tokens are counted as characters here. */
function row(position: number, role: ViewMessage['role'], content: ViewMessage['content']): ViewMessage {
  return { id: `m${position}`, kind: 'message', role, position, createdAt: 0, content }
}

const VIEW: readonly ViewMessage[] = [
  row(1, 'user', 'question'),
  row(2, 'assistant', [{ type: 'tool-call', toolCallId: 'c', toolName: 'read', input: {} }]),
  row(3, 'tool', [{ type: 'tool-result', toolCallId: 'c', output: { type: 'text', value: 'x'.repeat(40) } }]),
  row(4, 'assistant', 'answer'),
  row(5, 'user', 'thanks'),
]

const measure = ({ content }: Pick<ViewMessage, 'content'>): number =>
  typeof content === 'string'
    ? content.length
    : content.reduce((sum, part) => {
        if (part.type === 'text') return sum + part.text.length
        return part.type === 'tool-result' && part.output.type === 'text'
          ? sum + part.output.value.length
          : sum
      }, 0)

const figures = { rowsHidden: 0, partsReplaced: 0, rowsInserted: 0, tokensBefore: 60, tokensAfter: 30 }
const PRUNE: PlannedCompaction = {
  ...figures,
  id: 'p',
  kind: 'prune',
  stage: 'prune',
  hides: [],
  replaces: [{ messageId: 'm3', part: 0, text: 'cleared' }],
}
const CONDENSE: PlannedCompaction = {
  ...figures,
  id: 'c',
  kind: 'condense',
  stage: 'summarize',
  hides: ['m1', 'm2', 'm3'],
  replaces: [],
  inserts: { kind: 'summary', text: 'They read.' },
}

describe('a plan row by row', () => {
  it('follows a row from stage to stage', async () => {
    const { stages, kept } = await compactionPlan([PRUNE, CONDENSE], VIEW, measure, false)
    expect(stages.map(({ stage, rows }) => [stage, rows.map(({ position }) => position)])).toEqual([
      ['prune', [3]],
      ['summarize', [1, 2, 3]],
    ])
    expect(stages[0]?.rows[0]).toEqual({
      messageId: 'm3',
      position: 3,
      kind: 'message',
      role: 'tool',
      tools: ['read'],
      action: 'pruned',
      why: 'an old tool output',
      tokensBefore: 40,
      tokensAfter: 7,
    })
    // What the first stage left is what the second one hides.
    expect(stages[1]?.rows.map(({ tokensBefore, tokensAfter }) => [tokensBefore, tokensAfter])).toEqual([
      [8, 0],
      [0, 0],
      [7, 0],
    ])
    expect(stages[1]?.rows.every(({ action }) => action === 'summarized')).toBe(true)
    expect(stages[1]?.inserts).toEqual({ kind: 'summary', text: 'They read.', pending: false })
    expect(kept.map(({ position, action, tokensAfter }) => [position, action, tokensAfter])).toEqual([
      [4, 'kept', 6],
      [5, 'kept', 6],
    ])
  })

  it('tells apart what is hidden and what is shortened', async () => {
    const truncate: PlannedCompaction = {
      ...figures,
      id: 't',
      kind: 'truncate',
      stage: 'truncate',
      hides: ['m1'],
      replaces: [],
    }
    const cut: PlannedCompaction = {
      ...figures,
      id: 'k',
      kind: 'cut',
      stage: 'cut',
      hides: [],
      replaces: [{ messageId: 'm4', part: 0, text: 'an…' }],
    }
    const rows = (await compactionPlan([truncate, cut], VIEW, measure, false)).stages.flatMap(
      ({ rows }) => rows,
    )
    expect(rows.map(({ action, why }) => [action, why])).toEqual([
      ['hidden', 'among the oldest turns'],
      ['shortened', 'too long for the remaining space'],
    ])
    expect(rows[1]).toMatchObject({ tokensBefore: 6, tokensAfter: 3 })
  })

  it('has no line for a summary that an earlier stage of the run inserts', async () => {
    const again: PlannedCompaction = { ...CONDENSE, id: 'd', hides: ['provisional', 'm4'] }
    const { stages } = await compactionPlan([CONDENSE, again], VIEW, measure, true)
    expect(stages[1]?.rows.map(({ messageId }) => messageId)).toEqual(['m4'])
    expect(stages[1]?.inserts?.pending).toBe(true)
  })
})

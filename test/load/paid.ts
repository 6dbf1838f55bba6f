import { existsSync, readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { Compaction } from '../../src/index.ts'
import type { PaidLine } from './model.ts'

/* What the model was paid for, held to what stands in the store. */

type Asked = Extract<PaidLine, { event: 'asked' }>
type Answered = Extract<PaidLine, { event: 'answered' }>
export type Paid = Omit<Asked, 'event'> & Omit<Answered, 'event'>

/**
 * Reads the model's log. Nobody asks while another's question is open: one session, one summary at a time, whoever asks.
 * So each line that asks is followed by its own answer.
 */
export function readPaid(log: string): Paid[] {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as PaidLine)
  const paid: Paid[] = []
  for (let at = 0; at < lines.length; at += 2) {
    const [asked, answered] = [lines[at]!, lines[at + 1]]
    expect([asked.event, answered?.event, answered?.ask], `line ${at + 1} of the model's log`).toEqual([
      'asked',
      'answered',
      asked.ask,
    ])
    paid.push({ ...(asked as Asked), ...(answered as Answered) })
  }
  return paid
}

export type PaidFigures = {
  readonly asked: number
  /** Good answers that are in force, and those that were paid for and came too late. */
  readonly inForce: number
  readonly tooLate: number
  readonly empty: number
  readonly inflated: number
  readonly withoutAnswer: number
  readonly cost: number
}

/**
 * Every good answer is one compaction, every one that cost something is on record with its cost, and no message went
 * twice into a summary that is in force. `positionOf` says where a label stands.
 */
export function expectPaidOnce(
  paid: readonly Paid[],
  compactions: readonly Compaction[],
  positionOf: ReadonlyMap<string, number>,
): PaidFigures {
  const byAsk = new Map(
    compactions.flatMap((one) =>
      one.promptVersion === undefined ? [] : [[one.promptVersion, one] as const],
    ),
  )
  const askOf = new Map<number, string>()
  const count = { good: 0, empty: 0, inflated: 0, refused: 0, failed: 0, aborted: 0, inForce: 0, cost: 0 }
  for (const { ask, how, cost, labels } of paid) {
    count[how] += 1
    count.cost += cost
    if (how === 'refused' || how === 'failed' || how === 'aborted') continue
    const compaction = byAsk.get(ask)
    expect(compaction, `the summary of question ${ask}, ${how}`).toBeDefined()
    if (how === 'empty') expect(compaction!.status, ask).toBe('failed')
    if (how === 'inflated') expect(compaction!.status, ask).toBe('rejected')
    if (how !== 'good') continue
    expect(['active', 'aborted', 'expired'], ask).toContain(compaction!.status)
    if (compaction!.status !== 'active') continue
    count.inForce += 1
    const hidden = compaction!.coverage.hidden.positions
    for (const label of labels) {
      const position = positionOf.get(label)!
      expect(askOf.get(position), `position ${position} was in two summaries in force`).toBeUndefined()
      askOf.set(position, ask)
      const isCovered = hidden.some(([from, to]) => position >= from && position <= to)
      expect(isCovered, `${ask} was shown position ${position} and stands for it`).toBe(true)
    }
  }
  const recorded = compactions
    .filter(({ summarizer }) => summarizer === 'load')
    .reduce((sum, { cost }) => sum + (cost ?? 0), 0)
  expect(recorded, 'what the audit says all of it cost').toBe(count.cost)
  return {
    asked: paid.length,
    inForce: count.inForce,
    tooLate: count.good - count.inForce,
    empty: count.empty,
    inflated: count.inflated,
    withoutAnswer: count.refused + count.failed + count.aborted,
    cost: count.cost,
  }
}

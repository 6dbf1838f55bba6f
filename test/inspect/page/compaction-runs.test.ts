import { describe, expect, it } from 'vitest'
import { openStore } from '../../../src/index.ts'
import {
  auditOf,
  dependentsOf,
  didWords,
  kindWords,
  runsOf,
  workWords,
} from '../../../src/inspect/page/compaction-runs.ts'
import type { AuditEntry, Compaction } from '../../../src/storage/storage.ts'
import type { Store } from '../../../src/store/store.ts'

const compaction = (id: string, runId: string, fields: Partial<Compaction> = {}): Compaction =>
  ({
    ...{ id, runId, kind: 'prune', status: 'active', params: {}, coverage: {}, createdAt: 5 },
    ...{ tokensBefore: 100, tokensAfter: 80, rowsHidden: 0, partsReplaced: 0, rowsInserted: 0 },
    ...fields,
  }) as unknown as Compaction

describe('runs', () => {
  it('are newest first, with the tokens of what came into force and the cost of all attempts', () => {
    const runs = runsOf([
      compaction('a', 'one', { createdAt: 3 }),
      compaction('b', 'two', { status: 'failed', cost: 0.25, createdAt: 9 }),
      compaction('c', 'two', { tokensBefore: 80, tokensAfter: 60, createdAt: 7 }),
      compaction('d', 'two', { tokensBefore: 60, tokensAfter: 20, cost: 0.5, createdAt: 8 }),
      compaction('e', 'three', { status: 'failed' }),
    ])
    expect(runs.map(({ id, at, compactions }) => [id, at, compactions.map((one) => one.id)])).toEqual([
      ['three', 5, ['e']],
      ['two', 7, ['d', 'c', 'b']],
      ['one', 3, ['a']],
    ])
    expect(runs.map(({ tokens }) => tokens)).toEqual([
      undefined,
      { before: 80, after: 20 },
      { before: 100, after: 80 },
    ])
    expect(runs.map(({ cost }) => cost)).toEqual([undefined, 0.75, undefined])
  })
})

describe('what an undo includes', () => {
  const LINES = Array.from(
    { length: 40 },
    (_, at) => `Line ${at} of a long message about the checkout.`,
  ).join('\n')

  async function talk(store: Store, turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1)
      await store.append('s', [
        { role: 'user', content: `Question ${turn}\n${LINES}` },
        { role: 'assistant', content: `Answer ${turn}\n${LINES}` },
      ])
  }

  async function summarized(store: Store, from: number, to: number): Promise<string> {
    const result = await store.compactSession('s', {
      range: { from, to },
      summary: `Messages ${from} to ${to}.`,
    })
    return result!.compactions[0]!.id
  }

  it('is what the store undoes with a cascade', async () => {
    await using store = await openStore(':memory:', { env: false })
    await talk(store, 8)
    const inner = await summarized(store, 1, 4)
    const beside = await summarized(store, 9, 10)
    const outer = await summarized(store, 1, 6)
    const all = await store.listCompactions('s')
    expect(dependentsOf(all, [inner]).map(({ id }) => id)).toEqual([outer])
    expect(dependentsOf(all, [outer])).toEqual([])
    expect(dependentsOf(all, [beside])).toEqual([])
    const { compactionIds } = await store.undoCompaction('s', inner, { cascade: true })
    expect(compactionIds).toEqual([outer, inner])
    expect(dependentsOf(await store.listCompactions('s'), [inner])).toEqual([])
  })

  it('of a rewind, is nothing if nothing was compacted since', async () => {
    await using store = await openStore(':memory:', { env: false })
    await talk(store, 4)
    const summary = await summarized(store, 1, 4)
    const { compactionId } = await store.rewind('s', { from: { beforeMessage: 3 } })
    const all = await store.listCompactions('s')
    expect(all.find(({ id }) => id === compactionId)!.lifts).toEqual([summary])
    expect(dependentsOf(all, [compactionId!])).toEqual([])
  })
})

describe('words', () => {
  const words = (kind: Compaction['kind'], params: Compaction['params'] = {}): string =>
    kindWords(compaction('a', 'r', { kind, params }))

  it('name the stage if it has another effect than its kind', () => {
    expect(words('condense')).toBe('Summarized')
    expect(words('condense', { stage: 'summarize' })).toBe('Summarized')
    expect(words('prune', { stage: 'media' })).toBe('Replaced old images and files')
    expect(words('truncate', { stage: 'sliding_window' })).toBe(
      'Truncated the oldest messages (sliding_window)',
    )
    expect(kindWords(compaction('a', 'r', { kind: 'manual', coverage: { rewinds: true } as never }))).toBe(
      'Rewind',
    )
  })

  it('say what was done, in singular and plural', () => {
    expect(workWords({ rowsHidden: 2, partsReplaced: 1, rowsInserted: 1 })).toBe(
      '2 rows hidden, 1 part replaced, 1 row written',
    )
    expect(workWords({ rowsHidden: 0, partsReplaced: 0, rowsInserted: 0 })).toBe('nothing changed')
  })
})

describe('what a compaction did', () => {
  it('is nothing for an attempt that never came into force', () => {
    const fields = { rowsHidden: 5, rowsInserted: 1, tokensBefore: 900, tokensAfter: 400 }
    const words = (status: Compaction['status']): string =>
      didWords(compaction('a', 'r', { ...fields, status }))
    expect(words('undone')).toBe('5 rows hidden, 1 row written, −500 tokens')
    expect(words('running')).toBe('working on 5 rows')
    expect(words('failed')).toBe('nothing changed')
  })
})

describe('the audit of a compaction', () => {
  it('has its own entries and those of its whole run', () => {
    const audit = [
      { no: 1, event: 'created', compactionId: 'a', runId: 'r' },
      { no: 2, event: 'created', compactionId: 'b', runId: 'r' },
      { no: 3, event: 'run undone', runId: 'r' },
      { no: 4, event: 'forked' },
    ] as AuditEntry[]
    expect(auditOf(audit, { id: 'a', runId: 'r' }).map(({ no }) => no)).toEqual([1, 3])
  })
})

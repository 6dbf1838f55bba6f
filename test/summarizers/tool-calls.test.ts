import { describe, expect, it } from 'vitest'
import {
  boundDigest,
  type Digest,
  digestToolCalls,
  mergeDigests,
  renderDigest,
} from '../../src/core/summarizers/digest.ts'
import type { SummaryRequest } from '../../src/core/summarizers/summarizer.ts'
import { estimateTokens } from '../../src/core/tokens/measure.ts'
import { openStore } from '../../src/index.ts'
import { assistant, call, failure, type Row, result, user } from './support.ts'

/* What a summary remembers of tool calls: the rows F3 of the checklist. */

/** Thirty calls: 20 reads of 10 files, each twice; 4 edits of one file; 3 commands that fail alike; 3 other ones. */
function thirtyCalls(): Row[] {
  const rows: Row[] = [user('Please do all of it.')]
  const add = (id: number, name: string, input: { [key: string]: string }, output: string, fails = false) => {
    rows.push(assistant('', call(`c${id}`, name, input)), (fails ? failure : result)(`c${id}`, output))
  }
  const long = 'text that was read and takes its room. '.repeat(20)
  for (let i = 0; i < 20; i++) add(i, 'read', { path: `src/file-${i % 10}.ts` }, long)
  for (let i = 20; i < 24; i++) add(i, 'edit', { path: 'src/main.ts', newText: 'x' }, 'replaced')
  for (let i = 24; i < 27; i++) add(i, 'bash', { command: 'npm test' }, 'Error: boom', true)
  for (let i = 27; i < 30; i++) add(i, 'lookup', { query: `word ${i}` }, 'found')
  return rows
}

const CONFIG = { enablePrune: false, enableDeduplicate: false, enableTruncate: false, targetTokens: 500 }

/** The digest in the newest summary of a session. */
async function rememberedBy(store: Awaited<ReturnType<typeof openStore>>): Promise<Digest> {
  const messages = await store.getMessages('s')
  const summary = messages.findLast(({ kind }) => kind === 'summary')
  return (summary!.metadata as unknown as { digest: Digest }).digest
}

/** Rows as a store takes them. */
const stored = (rows: readonly Row[]) => rows.map(({ role, content }) => ({ role, content }))

const calls = ({ entries, omitted }: Digest) => entries.reduce((sum, { count }) => sum + count, omitted)

describe('after a condensation', () => {
  it('the metadata list all thirty calls, equal ones with their count [F3-01]', async () => {
    await using store = await openStore(':memory:')
    await store.append('s', stored([...thirtyCalls(), user('Thanks.'), assistant('Welcome.')]))
    await store.compactSession('s', { ...CONFIG, keepRecentTokens: 60, summaryMaxTokens: 120 })
    const { entries, omitted } = await rememberedBy(store)
    expect(omitted).toBe(0)
    // 10 files, 1 edited file, 1 command, 3 lookups.
    expect(entries).toHaveLength(15)
    expect(entries.filter(({ name }) => name === 'read').map(({ count }) => count)).toEqual(Array(10).fill(2))
    expect(entries.filter(({ name }) => name === 'edit').map(({ count }) => count)).toEqual([4])
    expect(entries.filter(({ status }) => status === 'failed').map(({ count }) => count)).toEqual([3])
    expect(entries.filter(({ name }) => name === 'lookup').map(({ count }) => count)).toEqual([1, 1, 1])
  })

  it('the digest of the upper summary is the merge of the lower one and of what came since [F3-08]', async () => {
    await using store = await openStore(':memory:')
    const later: Row[] = [
      user('Again, please.'),
      assistant('', call('d1', 'edit', { path: 'src/main.ts', newText: 'y' })),
      result('d1', 'replaced '.repeat(100)),
    ]
    await store.append('s', stored([...thirtyCalls(), user('Thanks.'), assistant('Welcome.')]))
    await store.compactSession('s', { ...CONFIG, keepRecentTokens: 60 })
    const lower = await rememberedBy(store)
    await store.append('s', stored([...later, user('And now?'), assistant('Done.')]))
    await store.compactSession('s', { ...CONFIG, targetTokens: 100, keepRecentTokens: 40 })
    expect(await rememberedBy(store)).toEqual(mergeDigests(lower, digestToolCalls(later)))
  })

  it('an undo takes the digest away with its summary [F3-10]', async () => {
    await using store = await openStore(':memory:')
    await store.append('s', stored([...thirtyCalls(), user('Thanks.'), assistant('Welcome.')]))
    const run = await store.compactSession('s', { ...CONFIG, keepRecentTokens: 60 })
    const shown = async () => JSON.stringify(await store.getEffectiveHistory('s'))
    expect(await shown()).toContain('"digest":{"entries":[')
    await store.undoCompaction('s', run!.runId)
    expect(await shown()).not.toContain('"digest"')
    expect(await store.getEffectiveHistory('s')).toHaveLength(63)
  })

  it('a call that waits for its result is not hidden [F3-05]', async () => {
    await using store = await openStore(':memory:')
    await store.append(
      's',
      stored([...thirtyCalls(), assistant('', call('open', 'read', { path: 'src/last.ts' }))]),
    )
    await store.compactSession('s', { ...CONFIG, targetTokens: 0 })
    expect(JSON.stringify(await store.getEffectiveHistory('s'))).toContain('src/last.ts')
  })

  it('an empty answer changes nothing [F3-07]', async () => {
    await using store = await openStore(':memory:')
    await store.append('s', stored([...thirtyCalls(), user('Thanks.'), assistant('Welcome.')]))
    const empty = { name: 'empty', usesModel: true, summarize: () => ({ text: '' }) }
    const run = await store.compactSession('s', { ...CONFIG, summarizer: empty })
    expect(run?.compacted).toBe(false)
    expect(await store.getEffectiveHistory('s')).toHaveLength(63)
  })

  it('the summarizer is given the files that were read and changed [F3-09]', async () => {
    await using store = await openStore(':memory:')
    await store.append('s', stored([...thirtyCalls(), user('Thanks.'), assistant('Welcome.')]))
    const asked: SummaryRequest[] = []
    const spy = {
      name: 'spy',
      usesModel: true,
      summarize: (request: SummaryRequest) => {
        asked.push(request)
        return { text: 'In short.' }
      },
    }
    await store.compactSession('s', { ...CONFIG, keepRecentTokens: 60, summarizer: spy })
    expect(asked[0]?.files).toEqual({
      read: Array.from({ length: 10 }, (_, i) => `src/file-${i}.ts`),
      modified: ['src/main.ts'],
    })
  })
})

describe('the digest', () => {
  const digest = digestToolCalls(thirtyCalls())

  it('has a line for every error and every write [F3-02]', () => {
    const { text } = renderDigest(digest, 1_000)
    expect(text).toMatch(/^- bash npm test ×3 · failed · \d+ tokens · Error: boom$/m)
    expect(text).toMatch(/^- edit src\/main\.ts ×4 · ok/m)
  })

  it('stays within its cap and reports how many calls it omits [F3-06]', () => {
    const { text } = renderDigest(digest, 40)
    expect(estimateTokens(text)).toBeLessThanOrEqual(40)
    expect(text).toMatch(/^- \d+ calls left out$/m)
  })

  it('is bounded as a summary remembers it: errors and writes stay, and the rest is counted', () => {
    const entry = (at: number, effect: 'read' | 'write', status: 'ok' | 'failed') =>
      ({ name: 't', target: `${at}`, status, count: 2, tokens: 1, callIds: [`${at}`], effect }) as const
    const entries = [
      entry(0, 'read', 'failed'),
      entry(1, 'write', 'ok'),
      ...Array.from({ length: 500 }, (_, at) => entry(at + 2, 'read', 'ok')),
    ]
    const bounded = boundDigest({ entries, omitted: 5 })
    expect(bounded.entries).toHaveLength(300)
    expect(bounded.entries.slice(0, 2)).toEqual(entries.slice(0, 2))
    // The oldest reads go: 202 entries of 2 calls, and the 5 from before.
    expect(bounded.omitted).toBe(409)
    expect(bounded.entries[2]?.target).toBe('204')
    expect(calls(bounded)).toBe(calls({ entries, omitted: 5 }))
  })
})

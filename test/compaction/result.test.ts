import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { type PlannedRun, withoutSteps } from '../../src/store/compaction/run.ts'

/** A turn of about 100 tokens by the default estimator. */
const turn = (n: number) =>
  [
    { role: 'user', content: `Question ${n}: ${'what comes next? '.repeat(10)}` },
    { role: 'assistant', content: `Answer ${n}: ${'it is the next one. '.repeat(10)}` },
  ] as const

describe('a result says why the history ends off its target', () => {
  it('KEPT_TOO_LARGE: the newest message alone is larger than the target', async () => {
    const store = await openStore(':memory:')
    await store.append('s', [...turn(1), ...turn(2), { role: 'user', content: 'Read this. '.repeat(1_000) }])
    const preview = await store.previewCompaction('s', { targetTokens: 500 })
    const result = await store.compactSession('s', { targetTokens: 500 })
    expect(preview).toMatchObject({ compacted: true, reachedTarget: false, offTarget: 'KEPT_TOO_LARGE' })
    expect(result).toMatchObject({ compacted: true, reachedTarget: false, offTarget: 'KEPT_TOO_LARGE' })
    await store.close()
  })

  it('NEXT_TOO_LARGE: the message before the tail does not fit into what is left', async () => {
    const store = await openStore(':memory:')
    const large = { role: 'user', content: 'Look at all of this. '.repeat(800) } as const
    await store.append('s', [large, ...turn(1), large, ...turn(2), ...turn(3)])
    const limits = { targetTokens: 1_500, summaryMaxTokens: 300 }
    const result = await store.compactSession('s', { ...limits, enablePrune: false })
    expect(result).toMatchObject({ reachedTarget: true, offTarget: 'NEXT_TOO_LARGE' })
    expect(result!.tokensAfter).toBeLessThan(0.95 * 1_500)
    await store.close()
  })

  it('REMOVED_MORE: the settings keep fewer messages than the target has room for', async () => {
    const store = await openStore(':memory:')
    await store.append('s', Array.from({ length: 40 }, (_, n) => turn(n)).flat())
    const result = await store.compactSession('s', {
      targetTokens: 3_000,
      keepRecentTokens: 300,
      summaryMaxTokens: 200,
    })
    expect(result).toMatchObject({ reachedTarget: true, offTarget: 'REMOVED_MORE' })
    await store.close()
  })

  it('a history within 5 % of its target, and a run that changes nothing, have no reason', async () => {
    const store = await openStore(':memory:')
    await store.append('s', Array.from({ length: 40 }, (_, n) => turn(n)).flat())
    const result = await store.compactSession('s', { targetTokens: 2_000 })
    expect(result!.compacted).toBe(true)
    expect(Math.abs(result!.tokensAfter - 2_000)).toBeLessThanOrEqual(100)
    expect(result!.offTarget).toBeUndefined()
    const idle = await store.compactSession('s', { targetTokens: 2_500 })
    expect(idle).toMatchObject({ compacted: false, reason: 'NOTHING_TO_COMPACT' })
    expect(idle!.offTarget).toBeUndefined()
    await store.close()
  })
})

it('a tail that is larger than the target leaves the summary of the others three tenths of it', async () => {
  const store = await openStore(':memory:')
  const turns = Array.from({ length: 60 }, (_, n) => [
    { role: 'user', content: `Please have a look at src/module${n}.ts, function compute${n}Total.` } as const,
    { role: 'assistant', content: `In src/module${n}.ts, compute${n}Total calls sum${n}Parts.` } as const,
  ])
  await store.append('s', [...turns.flat(), { role: 'user', content: 'Read this. '.repeat(1_000) }])
  const result = (await store.compactSession('s', { targetTokens: 1_000 }))!
  expect(result.offTarget).toBe('KEPT_TOO_LARGE')
  const [summary, ...others] = result.messages
  expect(others).toHaveLength(1)
  const units = String(summary!.content).length
  // About four units a token; the text fills its room to within a line.
  expect(units).toBeGreaterThan(0.2 * 1_000 * 3)
  expect(units).toBeLessThan(0.3 * 1_000 * 5)
  await store.close()
})

describe('requests and rules that alone are too long', () => {
  const words = (start: string, n: number) =>
    `${start} ${Array.from({ length: n }, (_, i) => `item${i}`).join(' ')}.`

  it('are shortened and name their messages, and the result counts them', async () => {
    const store = await openStore(':memory:')
    await store.append('s', [
      { role: 'user', content: words('Please sort the long list of', 200) },
      { role: 'assistant', content: 'Sorted, as you wished.' },
      { role: 'user', content: words('Never delete the entries', 60) },
      { role: 'assistant', content: 'Understood, they stay.' },
      ...Array.from({ length: 20 }, (_, n) => turn(n)).flat(),
    ])
    const result = await store.compactSession('s', { targetTokens: 400 })
    const [summary] = result!.messages.filter(({ kind }) => kind === 'summary')
    expect(summary!.content).toMatch(/First request: "Please sort the long list of item0 .*…" \(message 1\)/)
    expect(summary!.content).toMatch(/User: "Never .*…" \(message 3\)/)
    expect(result!.compactions.at(-1)!.shortened).toBeGreaterThanOrEqual(2)
    const [recorded] = (await store.listCompactions('s')).filter(({ kind }) => kind === 'condense')
    expect(recorded!.params).toMatchObject({ shortened: result!.compactions.at(-1)!.shortened })
    await store.close()
  })

  it('still name their messages after they were summarized again', async () => {
    const store = await openStore(':memory:')
    await store.append('s', [
      { role: 'user', content: 'Good morning, please help me with the shop.' },
      { role: 'assistant', content: 'Gladly. What is it?' },
      { role: 'user', content: words('Never delete the entries', 200) },
      { role: 'assistant', content: 'Understood, they stay.' },
    ])
    for (let round = 0; round < 3; round++) {
      await store.append('s', Array.from({ length: 20 }, (_, n) => turn(100 * round + n)).flat())
      const result = await store.compactSession('s', { targetTokens: 400 })
      const [summary] = result!.messages.filter(({ kind }) => kind === 'summary')
      expect(summary!.content, `${round}`).toMatch(/"Never [^"]*…" \(message 3\)/)
    }
    await store.close()
  })

  it('have no figure when all of them are whole', async () => {
    const store = await openStore(':memory:')
    await store.append('s', Array.from({ length: 40 }, (_, n) => turn(n)).flat())
    const result = await store.compactSession('s', { targetTokens: 2_000 })
    expect(result!.compactions.at(-1)).not.toHaveProperty('shortened')
    await store.close()
  })
})

it('a run whose plans are dropped keeps nothing of them, its summaries’ texts included', () => {
  const view = { tokens: 9 }
  const failed = [{ id: 'f' }]
  const planned = {
    snapshot: { view },
    steps: [{ id: 'c' }],
    pending: [{ summarizer: 'm' }],
    ownTexts: new Map([['c', 'They began.']]),
    after: { tokens: 3 },
    failed,
  } as unknown as PlannedRun
  expect(withoutSteps(planned)).toEqual({
    snapshot: { view },
    steps: [],
    pending: [],
    ownTexts: new Map(),
    after: view,
    failed,
  })
})

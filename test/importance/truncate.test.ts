import { expect, test } from 'vitest'
import { type NewMessage, openStore } from '../../src/index.ts'
import { historyTokens, ONLY, refusal, shape } from '../storage/contract/support.ts'
import { call, failure, result, say, units } from '../support/conversation.ts'

/* Stage 4 in the order of importance: what is worth least goes first. */

/** A text of so many units that begins with some words. */
const padded = (words: string, count: number): string => words.padEnd(4 * count, '.')

const TURNS: NewMessage[] = [
  say('user', padded('first', 20)),
  say('assistant', padded('yes', 20)),
  say('user', padded('You must never rename it', 20)),
  say('assistant', padded('yes', 20)),
  ...Array.from({ length: 3 }, () => [
    say('user', padded('go on', 20)),
    say('assistant', padded('done', 20)),
  ]).flat(),
]

async function truncated(messages: readonly NewMessage[], targetTokens: number, config: object) {
  const store = await openStore(':memory:', { estimator: 'neurolink' })
  await store.append('s', messages)
  const run = await store.compactSession('s', {
    ...ONLY.truncate,
    truncationMarker: false,
    targetTokens,
    ...config,
  })
  return { store, run: run!, shape: await shape(store) }
}

test('the constraint of the second turn stays, the answers of least worth go', async () => {
  // Room for eight of the ten.
  const target = historyTokens(8 * 20, 8)
  const byAge = await truncated(TURNS, target, {})
  expect(byAge.shape).toEqual([1, 2, 5, 6, 7, 8, 9, 10])
  const byWorth = await truncated(TURNS, target, { truncationOrder: 'importance' })
  // 60 points and 30 × 4/10, 6/10 and 8/10: the first two answers behind the first exchange go.
  expect(byWorth.shape).toEqual([1, 2, 3, 5, 7, 8, 9, 10])
  expect(byWorth.run.reachedTarget).toBe(true)
  const [worth] = await byWorth.store.listCompactions('s')
  expect(worth!.params).toEqual({ targetTokens: target, order: 'importance' })
  const [age] = await byAge.store.listCompactions('s')
  expect(age!.params).toEqual({ targetTokens: target })
})

test('within a newest turn that is too large listings go before what was written and what failed', async () => {
  const messages = [
    say('user', padded('build it', 10)),
    // The first exchange stays.
    call('x', 'look'),
    result('x', 'x'),
    call('w', 'write', { path: 'a.ts' }),
    result('w', padded('written', 30)),
    call('l', 'list_files'),
    result('l', padded('a.ts', 30)),
    call('f', 'look'),
    failure('f', padded('gone', 30)),
    call('r', 'look'),
    result('r', padded('there', 30)),
    say('assistant', 'done'),
  ]
  const all = await truncated(messages, 10_000, {})
  const target = all.run.tokensBefore - 10
  expect((await truncated(messages, target, {})).shape).toEqual([1, 2, 3, 6, 7, 8, 9, 10, 11, 12])
  const byWorth = await truncated(messages, target, { truncationOrder: 'importance' })
  expect(byWorth.shape).toEqual([1, 2, 3, 4, 5, 8, 9, 10, 11, 12])
  // 80 + 40 × 10/12 is less than 80 + 40 + 40 × 4/12: the plain look goes next.
  const more = await truncated(messages, target - 50, { truncationOrder: 'importance' })
  expect(more.shape).toEqual([1, 2, 3, 4, 5, 8, 9, 12])
})

test('a given fraction is the rule of seed 003, which goes by age', async () => {
  const fraction = { truncationFraction: 0.25 }
  const target = historyTokens(8 * 20, 8)
  const byAge = await truncated(TURNS, target, fraction)
  const both = await truncated(TURNS, target, { ...fraction, truncationOrder: 'importance' })
  expect(both.shape).toEqual(byAge.shape)
})

test('an order given beside a preset counts more than the share of the preset', async () => {
  const target = historyTokens(8 * 20, 8)
  const preset = { preset: 'neurolink', estimator: 'neurolink' } as const
  const run = async (config: object, call: object) => {
    await using store = await openStore(':memory:', { config: { ...preset, ...config } })
    await store.append('s', TURNS)
    const options = { ...ONLY.truncate, truncationMarker: false, targetTokens: target, ...call } as const
    await store.compactSession('s', options)
    return shape(store)
  }
  // Half of the eight messages behind the first exchange, by age.
  expect(await run({}, {})).toEqual([1, 2, 7, 8, 9, 10])
  const byWorth = [1, 2, 3, 5, 7, 8, 9, 10]
  expect(await run({ truncationOrder: 'importance' }, {})).toEqual(byWorth)
  expect(await run({}, { truncationOrder: 'importance' })).toEqual(byWorth)
  expect(await run({ truncationFraction: 0.5 }, { truncationOrder: 'importance' })).toEqual(byWorth)
  // Whoever says both has the share, which goes by age.
  expect(await run({ truncationOrder: 'importance', truncationFraction: 0.5 }, {})).toEqual([
    1, 2, 7, 8, 9, 10,
  ])
  expect(await run({ truncationOrder: 'importance' }, { truncationFraction: 0.5 })).toEqual([
    1, 2, 7, 8, 9, 10,
  ])
})

test('its undo is exact, and a marker is at the place of the last hidden row', async () => {
  const { store, run } = await truncated(TURNS, historyTokens(8 * 20, 8), {
    truncationOrder: 'importance',
    truncationMarker: '(cut)',
  })
  expect(await shape(store)).toEqual([1, 2, 3, 5, 7, 'marker', 9, 10])
  await store.undoCompaction('s', run.runId)
  expect(await shape(store)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  await store.redoCompaction('s', run.runId)
  expect(await shape(store)).toEqual([1, 2, 3, 5, 7, 'marker', 9, 10])
  expect((await store.sessions.verify('s')).findings).toEqual([])
})

test('an invalid order is rejected', async () => {
  const store = await openStore(':memory:')
  await store.append('s', [say('user', units(5))])
  await refusal(store.compactSession('s', { truncationOrder: 'newest' as never }), 'INVALID_INPUT')
})

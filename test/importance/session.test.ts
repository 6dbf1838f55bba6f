import { expect, test } from 'vitest'
import { type MessageToScore, scoreMessages } from '../../src/compat/arrays/index.ts'
import { openStore } from '../../src/index.ts'
import { ONLY, refusal } from '../storage/contract/support.ts'
import { call, failure, result, say, units } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

const MESSAGES = [
  say('system', 'Be helpful'),
  say('user', 'You must keep applyPlan as it is.'),
  call('a', 'read', { path: 'src/core/plan.ts' }),
  result('a', `export function applyPlan ${units(100)}`),
  call('b', 'bash', { command: 'npm test' }),
  failure('b', 'applyPlan failed'),
  say('assistant', 'Shall I change plan.ts?'),
  say('user', 'yes'),
]

test('a session has the scores of its messages, the same after it was opened again [F2-08]', async () => {
  const file = newFile()
  const store = await openStore(file)
  const { messages } = await store.append('s', MESSAGES)
  const scores = await store.messages.importance('s')
  const pure = scoreMessages(MESSAGES as MessageToScore[])
  expect(scores).toEqual({
    ...pure,
    groups: pure.groups.map((group) => ({
      ...group,
      messageIds: group.indexes.map((index) => messages[index]!.id),
    })),
  })
  expect(await store.messages.importance('s')).toEqual(scores)
  await store.close()
  const again = await openStore(file)
  expect(await again.messages.importance('s')).toEqual(scores)
  await again.close()
})

test('scores are of what is visible, by the originals', async () => {
  const store = await openStore(':memory:')
  const { messages } = await store.append('s', MESSAGES)
  const before = await store.messages.importance('s')
  const prune = { ...ONLY.prune, targetTokens: 0, pruneProtectTokens: 0, pruneMinimumSavings: 0 }
  expect((await store.compactSession('s', prune))!.compacted).toBe(true)
  expect(await store.messages.importance('s')).toEqual(before)

  await store.messages.pin('s', [messages[3]!.id])
  await store.compactSession('s', { range: { from: 5, to: 7 }, summary: 'It failed.' })
  const { groups } = await store.messages.importance('s')
  expect(groups.map(({ role, pinned, messageIds }) => [role, pinned, messageIds.length])).toEqual([
    ['system', false, 1],
    ['user', false, 1],
    ['assistantWithToolCalls', true, 2],
    ['inserted', false, 1],
    ['user', false, 1],
  ])
  await store.close()
})

test('it writes nothing, and a scorer of the application may ask a model or fail', async () => {
  const store = await openStore(':memory:')
  await store.append('s', MESSAGES)
  const { version, viewEpoch } = await store.sessions.get('s')
  const half = await store.messages.importance('s', {
    scorer: { name: 'half', version: '1', score: async (groups) => groups.map(() => 0.5) },
  })
  expect(half.scorer).toEqual({ name: 'half', version: '1' })
  expect(half.groups.map(({ importance }) => importance)).toEqual([1, 0.5, 0.5, 0.5, 0.5, 0.5])
  const failed = await store.messages.importance('s', {
    scorer: { name: 'bad', version: '1', score: () => Promise.reject(new Error('no')) },
  })
  expect(failed.warning).toEqual({ code: 'SCORER_FAILED', scorer: 'bad', why: 'threw' })
  expect(failed.groups).toEqual((await store.messages.importance('s')).groups)
  expect(await store.sessions.get('s')).toMatchObject({ version, viewEpoch })
  await store.close()
})

test('a session without messages has no scores, an unknown one is an error', async () => {
  const store = await openStore(':memory:')
  await store.sessions.create({ id: 'empty' })
  expect((await store.messages.importance('empty')).groups).toEqual([])
  await refusal(store.messages.importance('nobody'), 'SESSION_NOT_FOUND')
  await store.close()
})

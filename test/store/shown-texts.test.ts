import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { call, result, say } from '../support/conversation.ts'

it('returns which texts a row shows, and of which compactions, only on request', async () => {
  const store = await openStore(':memory:')
  await store.append('s', [
    say('user', 'Go.'),
    call('c1', 'ls'),
    result('c1', 'x'.repeat(900), 'ls'),
    say('assistant', 'Done.'),
    say('user', 'And?'),
  ])
  await store.compactSession('s', { stages: [{ stage: 'clear_tool_results', keep: 0 }], targetTokens: 1 })
  const [made] = await store.listCompactions('s')

  const rows = await store.getMessages('s', { shown: true })
  const [, , viewed] = await store.getEffectiveHistory('s')
  const part = (viewed!.content as readonly { output: { value: string } }[])[0]!
  expect(rows.map(({ shown }) => shown)).toEqual([
    undefined,
    undefined,
    [{ part: 0, text: part.output.value, compactionId: made!.id }],
    undefined,
    undefined,
  ])
  expect(rows[2]!.content).toEqual((await store.getMessages('s'))[2]!.content)
  expect((await store.getMessages('s')).some((row) => 'shown' in row)).toBe(false)

  await store.undoCompaction('s', made!.id)
  expect((await store.getMessages('s', { shown: true })).some((row) => 'shown' in row)).toBe(false)
  await store.close()
})

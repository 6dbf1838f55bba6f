import { expect, it } from 'vitest'
import { type CompactionConfig, type NewMessage, openStore, type StageSpec } from '../../src/index.ts'
import { call, result, say } from '../support/conversation.ts'

/** Ten turns with an output of about 1,500 tokens each, the fourth and the last but one from a recall tool. */
function log(name: string): NewMessage[] {
  return Array.from({ length: 10 }, (_, turn): NewMessage[] => {
    const tool = turn === 3 || turn === 8 ? name : 'read_file'
    return [
      say('user', `Question ${turn}`),
      call(`c${turn}`, tool, { turn }),
      result(`c${turn}`, `${turn} word `.repeat(500)),
      say('assistant', 'Good.'),
    ]
  }).flat()
}

/** The turns whose outputs are cleared. */
async function cleared(name: string, config: CompactionConfig): Promise<number[]> {
  await using store = await openStore(':memory:')
  await store.append('s', log(name))
  await store.compactSession('s', config)
  const view = await store.getEffectiveHistory('s')
  return view.flatMap(({ replacedParts, position }) => (replacedParts ? [Math.floor(position! / 4)] : []))
}

const prune: CompactionConfig = {
  enableDeduplicate: false,
  enableSummarize: false,
  enableTruncate: false,
  emergencyCut: false,
  pruneMinimumSavings: 100,
  pruneProtectTokens: 3_000,
}

it('pruning clears what recall tools returned first, and nothing else when that is enough', async () => {
  await using store = await openStore(':memory:')
  await store.append('s', log('search_history'))
  const { tokensBefore } = (await store.previewCompaction('s', { ...prune, targetTokens: 1 }))!
  expect(await cleared('search_history', { ...prune, targetTokens: tokensBefore - 500 })).toEqual([3, 8])
})

it('pruning clears them within the protected recent outputs too, and they protect no others', async () => {
  // Two recent outputs are protected: of turns 9 and 7 with recalled text in turn 8, else of 9 and 8.
  const config = { ...prune, targetTokens: 1 }
  expect(await cleared('mcp__memory__search_history', config)).toEqual([0, 1, 2, 3, 4, 5, 6, 8])
  expect(await cleared('other_tool', config)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
})

it('those of the newest turn stay like other outputs, and so do those of tools that are protected', async () => {
  await using store = await openStore(':memory:')
  await store.append('s', [
    ...log('read_file'),
    say('user', 'And the first?'),
    call('r', 'read_history', {}),
    result('r', 'old words '.repeat(500)),
  ])
  await store.compactSession('s', { ...prune, targetTokens: 1 })
  expect((await store.getMessages('s')).at(-1)!.replacedParts).toBeUndefined()
  const config = { ...prune, targetTokens: 1, pruneProtectedTools: ['search_history'] }
  expect(await cleared('search_history', config)).not.toContain(8)
})

it('clear_tool_results clears them whatever it keeps', async () => {
  const stages: StageSpec[] = [{ stage: 'clear_tool_results', keep: 8 }]
  expect(await cleared('open_history', { stages, targetTokens: 1 })).toEqual([3, 8])
  expect(await cleared('other_tool', { stages, targetTokens: 1 })).toEqual([0, 1])
})

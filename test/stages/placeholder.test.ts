import { expect, it } from 'vitest'
import { type CompactionConfig, openStore, PRUNE_PLACEHOLDER_WITH_SIZE } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'

const S = 's'
const pruneAll = { stages: ['prune'], targetTokens: 1, pruneProtectTokens: 0, pruneMinimumSavings: 0 }
const log = [
  say('user', 'go'),
  call('c1', 'grep'),
  result('c1', units(400)),
  call('c2', 'bash'),
  result('c2', units(800)),
  say('assistant', 'done'),
]

/** What the two results show. */
async function shown(config: CompactionConfig): Promise<string[]> {
  await using store = await openStore(':memory:', { estimator: 'neurolink' })
  await store.append(S, log)
  const run = await store.compactSession(S, { ...pruneAll, ...config })
  expect(run!.compacted).toBe(true)
  expect(await store.verifySession(S)).toMatchObject({ findings: [] })
  return [2, 4].map(
    (at) => (run!.messages[at]!.content as unknown as { output: { value: string } }[]).at(0)!.output.value,
  )
}

it('S2-038 names the size of what was cleared', async () => {
  // 400 and 800 units: times 1.15.
  expect(await shown({ prunePlaceholder: PRUNE_PLACEHOLDER_WITH_SIZE })).toEqual([
    '[Output pruned to save context. Original size: 460 tokens.]',
    '[Output pruned to save context. Original size: 920 tokens.]',
  ])
})

it('names the tool, leaves other braces alone, and may be made by a function', async () => {
  expect(await shown({ prunePlaceholder: '{tool} {other} {tokens}' })).toEqual([
    'grep {other} 460',
    'bash {other} 920',
  ])
  expect(await shown({ prunePlaceholder: ({ tool, toolCallId }) => `${tool}:${toolCallId}` })).toEqual([
    'grep:c1',
    'bash:c2',
  ])
})

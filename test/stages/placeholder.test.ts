import { expect, it } from 'vitest'
import { clearToolResults, PRUNE_PLACEHOLDER_WITH_SIZE } from '../../src/compat/arrays/index.ts'
import { type ChatMessage, type CompactionConfig, openStore } from '../../src/index.ts'
import { call, failure, result, say, units } from '../support/conversation.ts'

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
  expect(await store.sessions.verify(S)).toMatchObject({ findings: [] })
  return [2, 4].map(
    (at) => (run!.messages[at]!.content as unknown as { output: { value: string } }[]).at(0)!.output.value,
  )
}

it('names the size of what was cleared [S2-038]', async () => {
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

const clearAll = { stages: [{ stage: 'clear_tool_results', keep: 0 }], targetTokens: 1 }

it('is the same for clearing: size, tool, a function, and tools whose results stay', async () => {
  expect(await shown({ ...clearAll, prunePlaceholder: '{tool} {tokens}' })).toEqual(['grep 460', 'bash 920'])
  expect(await shown({ ...clearAll, prunePlaceholder: ({ tokens }) => `-${tokens}` })).toEqual([
    '-460',
    '-920',
  ])
  const text = '[tool result cleared]'
  expect(await shown({ ...clearAll, pruneProtectedTools: ['bash'] })).toEqual([text, units(800)])
  // What the stage says itself counts more.
  const own = { stage: 'clear_tool_results', keep: 0, protectedTools: ['grep'], placeholder: '…' }
  expect(
    await shown({ stages: [own], targetTokens: 1, pruneProtectedTools: ['bash'], prunePlaceholder: 'no' }),
  ).toEqual([units(400), '…'])
  // Nobody said it: the tools that pruning protects are not protected from clearing (seed 000).
  await using store = await openStore(':memory:', { env: false, config: { preset: 'neuron' } })
  await store.append(S, [call('a', 'skill'), result('a', units(400)), ...log])
  const run = await store.compactSession(S, { targetTokens: 1 })
  expect(run!.compactions[0]).toMatchObject({ kind: 'prune', partsReplaced: 1 })
})

it('is the same for clearing over arrays, where no cleared result is a failed one', async () => {
  const messages = [call('a', 'grep'), failure('a', units(400)), call('b', 'bash'), failure('b', units(400))]
  const strategy = clearToolResults({ keep: 0, placeholder: '{tool} {tokens}', protectedTools: ['bash'] })
  const cleared = await strategy.compact(messages as ChatMessage[])
  expect(cleared[1]!.content).toMatchObject([{ output: { type: 'text', value: 'grep 460' } }])
  expect(cleared[3]).toEqual(messages[3])
})

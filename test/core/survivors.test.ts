import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'

/* A pointer must not outlive what it points at: planners leave the surviving read alone while the pointer is seen. */

const FILE = Array.from({ length: 60 }, (_, line) => `line ${line + 1} of the file`).join('\n')

async function session() {
  const store = await openStore(':memory:')
  await store.append('s', [
    say('user', 'first'),
    call('a', 'read', { path: 'a.ts' }),
    result('a', FILE),
    say('assistant', 'seen'),
    ...Array.from({ length: 6 }, () => [say('user', units(60)), say('assistant', units(60))]).flat(),
    say('user', 'again'),
    call('b', 'read', { path: 'a.ts' }),
    result('b', FILE),
    say('assistant', 'seen again'),
    ...Array.from({ length: 6 }, () => [say('user', units(60)), say('assistant', units(60))]).flat(),
  ])
  return store
}

it('truncation in the same run keeps the read that the first exchange points at', async () => {
  const store = await session()
  const run = await store.compactSession('s', { enableSummarize: false, targetTokens: 900 })
  expect(run!.stagesUsed).toEqual(['deduplicate', 'truncate'])
  const texts = JSON.stringify(run!.messages)
  expect(texts).toContain('refer to latest read below')
  expect(texts).toContain('line 60 of the file')
  expect((await store.sessions.verify('s')).findings).toEqual([])
})

it('a later pruning leaves it alone while the pointer is seen, and takes it when the pointer is gone', async () => {
  const store = await session()
  const only = {
    enablePrune: false,
    enableDeduplicate: false,
    enableSummarize: false,
    enableTruncate: false,
    targetTokens: 0,
  }
  const prune = { ...only, enablePrune: true, pruneProtectTokens: 0, pruneMinimumSavings: 0 }
  const deduplicated = await store.compactSession('s', { ...only, enableDeduplicate: true })
  expect(deduplicated!.compacted).toBe(true)
  expect((await store.compactSession('s', prune))!.reason).toBe('NO_PROGRESS')
  await store.undoCompaction('s', deduplicated!.runId)
  expect((await store.compactSession('s', prune))!.compactions[0]!.partsReplaced).toBe(2)
})

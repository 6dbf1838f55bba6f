import { AsyncResource } from 'node:async_hooks'
import { expect, it } from 'vitest'
import { openStore, type Store, type Summarizer } from '../../src/index.ts'
import { say } from '../support/conversation.ts'
import { expectFailure, failureOf } from '../support/failures.ts'

const S = 's'

async function filled(write: () => Promise<string>): Promise<Store> {
  const summarizer: Summarizer = {
    name: 'own',
    usesModel: true,
    summarize: async () => ({ text: await write() }),
  }
  const store = await openStore(':memory:', { env: false, summarizer })
  const turns = Array.from({ length: 40 }, (_, i) =>
    say(i % 2 === 0 ? 'user' : 'assistant', 'word '.repeat(200)),
  )
  await store.append(S, turns)
  return store
}

const compacted = (store: Store) => store.compactSession(S, { targetTokens: 2_000 })

it('a summarizer compacts the session of another store, and that one in turn not the first', async () => {
  const outer = await filled(async () => {
    await compacted(inner)
    return 'Outer.'
  })
  let isRefused = false
  const inner = await filled(async () => {
    const error = await failureOf(() => compacted(outer))
    expectFailure(error, 'COMPACTION_IN_PROGRESS')
    expect((error as Error).message).toContain('the run that made this call')
    isRefused = true
    return 'Inner.'
  })
  await compacted(outer)
  expect(isRefused).toBe(true)
  for (const store of [inner, outer]) {
    expect((await store.getEffectiveHistory(S))[0]!.kind).toBe('summary')
    await store.close()
  }
})

it('listeners are outside of the run of their store, and inside of that around it', async () => {
  const refused: string[] = []
  const outer = await filled(async () => {
    await compacted(inner)
    return 'Outer.'
  })
  const inner = await filled(async () => 'Inner.')
  const checks: Promise<unknown>[] = []
  inner.on('compaction', (event) => {
    if (event.phase !== 'started') return
    checks.push(
      compacted(outer).catch((error: { code: string }) => refused.push(error.code)),
      compacted(inner),
    )
  })
  await compacted(outer)
  await Promise.all(checks)
  expect(refused).toEqual(['COMPACTION_IN_PROGRESS'])
  await inner.close()
  await outer.close()
})

it('stores that compacted leave nothing in what every promise carries', async () => {
  const carried = (): number => Object.getOwnPropertySymbols(new AsyncResource('probe')).length
  const once = async (): Promise<void> => {
    const store = await filled(async () => 'In short.')
    await compacted(store)
    await store.close()
  }
  await once()
  const before = carried()
  for (let i = 0; i < 5; i++) await once()
  expect(carried()).toBe(before)
})

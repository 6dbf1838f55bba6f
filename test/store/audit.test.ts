import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'
import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { call, chat, result, say, units } from '../support/conversation.ts'

const Database = createRequire(import.meta.url)('better-sqlite3') as typeof BetterSqlite3

it('reports which parts a prune replaced, undone or not', async () => {
  const store = await openStore(':memory:')
  await store.append('s', [
    say('user', 'go'),
    { ...call('a', 'run'), id: 'calling' },
    { ...result('a', units(200)), id: 'resulting' },
    say('assistant', 'done'),
    ...chat(4),
  ])
  const { runId } = (await store.compactSession('s', {
    enableDeduplicate: false,
    enableSummarize: false,
    enableTruncate: false,
    targetTokens: 0,
    pruneProtectTokens: 0,
    pruneMinimumSavings: 0,
  }))!
  const [pruned] = await store.listCompactions('s', { runId })
  expect(pruned).toMatchObject({
    kind: 'prune',
    replaced: [{ messageId: 'resulting', part: 0 }],
    requires: [],
  })
  expect((await store.compactions.get('s', pruned!.id)).replaced).toEqual(pruned!.replaced)
  await store.undoCompaction('s', pruned!.id)
  expect((await store.compactions.get('s', pruned!.id)).replaced).toEqual(pruned!.replaced)
})

it('reports which copies a deduplication replaced, and the target of their pointers', async () => {
  const store = await openStore(':memory:')
  const text = Array.from({ length: 100 }, (_, line) => `line ${line} of the file`).join('\n')
  const read = (id: string) => [call(id, 'read', { path: 'a.ts' }), { ...result(id, text), id: `of ${id}` }]
  await store.append('s', [
    say('user', 'go'),
    ...read('a'),
    ...read('b'),
    say('assistant', 'done'),
    ...chat(4),
  ])
  await store.compactSession('s', {
    enablePrune: false,
    enableSummarize: false,
    enableTruncate: false,
    targetTokens: 0,
  })
  await store.compactSession('s', { range: { from: 7, to: 8 }, summary: 'x' })
  const [deduplicated, condensed] = await store.listCompactions('s')
  expect(deduplicated).toMatchObject({
    kind: 'deduplicate',
    replaced: [{ messageId: 'of a', part: 0 }],
    requires: [{ messageId: 'of b', part: 0 }],
  })
  expect(condensed).toMatchObject({ kind: 'condense', replaced: [], requires: [] })
})

it('stays under 4 KB a row, whatever things are called', async () => {
  const database = new Database(':memory:')
  const store = await openStore(database)
  const long = (letter: string, at: number): string => `${at}${letter.repeat(1_000 - String(at).length)}`
  const messages = Array.from({ length: 20 }, (_, at) => ({ ...say('user', 'x'), id: long('i', at) }))
  const wide = Array.from({ length: 20 }, (_, at) => ({
    ...say('user', 'x'),
    id: long('水', at).slice(0, 860),
  }))
  await store.append('s', [...messages, ...wide])
  const ids = messages.map(({ id }) => id)
  await store.messages.pin('s', ids)
  await store.messages.unpin('s', ids, { actor: '水'.repeat(1_000), reason: '\u0001'.repeat(1_000) })
  await store.messages.pin(
    's',
    wide.map(({ id }) => id),
    { actor: 'a'.repeat(1_000), reason: 'r'.repeat(1_000) },
  )
  const [pinned, unpinned, pinnedToo] = await store.sessions.audit('s')
  expect(pinned!.detail).toEqual({ count: 20, messageIds: ids.slice(0, 3) })
  expect(unpinned!.detail).toMatchObject({ count: 20 })
  expect(unpinned!.detail).not.toHaveProperty('messageIds')
  expect(pinnedToo!.detail).toEqual({ count: 20, reason: 'r'.repeat(1_000) })

  const session = 's'.repeat(1_000)
  for (const letter of ['a', '水', '\u0001', '😀']) {
    await store.append(session, chat(1))
    const name = letter.repeat(1_000 / letter.length)
    await store.sessions.purge(session, { actor: name, reason: name })
  }
  const rows = database
    .prepare(
      'select session, length(cast(event || coalesce(run, ?) || coalesce(actor, ?) || detail as blob)), detail from undertext_audit',
    )
    .raw()
    .all('', '') as [number, number, string][]
  expect(rows).toHaveLength(7)
  for (const [no, bytes, detail] of rows) {
    expect(bytes).toBeLessThan(4_000)
    if (no === 0) expect(JSON.parse(detail)).toMatchObject({ sessionId: session, messages: 2 })
  }
})

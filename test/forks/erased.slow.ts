import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { openStore, type Store } from '../../src/index.ts'
import { call, result, say, units } from '../support/conversation.ts'
import { newFile } from '../support/temporary.ts'

/* What a purge leaves of sessions that share contents: no byte of a text that no session has, and every text that one has. */

const OF_A = ['zebra-original', 'quagga-output', 'okapi-summary', 'gnu-placeholder']
const OF_B = ['lynx-of-b']
const OF_C = ['puma-of-c']

/** `a` with a long replacement and a summary, its fork `b`, and `c`, a fork of `b`, each with a text of its own. */
async function family(store: Store): Promise<void> {
  const [text, output, summary, placeholder] = OF_A
  await store.append('a', [
    say('user', `${text} ${units(3_000)}`),
    call('c1', 'read'),
    result('c1', `${output} ${units(3_000)}`, 'read'),
    say('assistant', `${text} ${units(50)}`),
    say('user', `${text} again`),
  ])
  await store.compactSession('a', {
    ...{ enableDeduplicate: false, enableSummarize: false, enableTruncate: false, targetTokens: 0 },
    ...{ pruneProtectTokens: 0, pruneMinimumSavings: 0, prunePlaceholder: `${placeholder} ${units(50)}` },
  })
  await store.compactSession('a', { range: { from: 1, to: 4 }, summary: `${summary} ${units(20)}` })
  await store.sessions.fork('a', { id: 'b' })
  await store.append('b', [say('user', `${OF_B[0]} ${units(2_000)}`)])
  await store.sessions.fork('b', { id: 'c' })
  await store.append('c', [say('user', `${OF_C[0]} ${units(2_000)}`)])
  // Its words are in the index of the search.
  await store.search('zebra')
}

function left(file: string): string[] {
  const files = [file, `${file}-wal`].filter((one) => existsSync(one)).map((one) => readFileSync(one))
  return [...OF_A, ...OF_B, ...OF_C].filter((text) => files.some((bytes) => bytes.includes(text)))
}

async function read(store: Store, id: string): Promise<string> {
  const rows = JSON.stringify((await store.getMessages(id)).map(({ content, shown }) => [content, shown]))
  return rows + JSON.stringify(await store.getEffectiveHistory(id))
}

const ORDERS = ['abc', 'acb', 'bac', 'bca', 'cab', 'cba'].map((order) => order.split(''))

it.each(ORDERS)('purged one after the other, forks kept: %s, %s, %s', async (...order) => {
  const file = newFile()
  await using store = await openStore(file)
  await family(store)
  const before = new Map<string, string>()
  for (const id of order) before.set(id, textsOf(await read(store, id)))
  for (const [at, id] of order.entries()) {
    await store.sessions.purge(id, { forks: 'keep' })
    const kept = order.slice(at + 1)
    for (const other of kept) {
      expect(textsOf(await read(store, other)), `${other} after ${id}`).toBe(before.get(other))
      expect((await store.sessions.verify(other)).findings).toEqual([])
    }
    // `b` and `c` have the texts of `a`, and `c` those of `b`.
    const needed = new Set(kept.flatMap((one) => textsWith[one]!))
    expect(left(file), `after ${order.slice(0, at + 1).join(', ')}`).toEqual(
      [...OF_A, ...OF_B, ...OF_C].filter((text) => needed.has(text)),
    )
  }
})

const textsWith: Record<string, readonly string[]> = {
  a: OF_A,
  b: [...OF_A, ...OF_B],
  c: [...OF_A, ...OF_B, ...OF_C],
}

/** Which of the texts a session has, and how much. */
function textsOf(text: string): string {
  return [...OF_A, ...OF_B, ...OF_C].map((one) => text.split(one).length - 1).join()
}

it('purged with its forks, all are gone at once', async () => {
  const file = newFile()
  await using store = await openStore(file)
  await family(store)
  expect(left(file)).toEqual([...OF_A, ...OF_B, ...OF_C])
  await store.sessions.purge('a', { forks: 'purge' })
  expect(await store.sessions.list()).toEqual([])
  expect(left(file)).toEqual([])
})

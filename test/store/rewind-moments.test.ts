import { expect, it } from 'vitest'
import { type NewMessage, openStore, type Store, type UndertextError } from '../../src/index.ts'

/*
 * A rewind restores the view as it was just before a message was appended, compactions included, and its undo restores what was
 * before the rewind. Undoing it after messages were appended needs `both`.
 */

const long = (word: string): string => `${word} `.repeat(200).trim()

/** Ten messages of users and assistants in turn, m1 to m10. */
const TALK: NewMessage[] = Array.from({ length: 10 }, (_, at) => ({
  id: `m${at + 1}`,
  role: at % 2 === 0 ? 'user' : 'assistant',
  content: long(`w${at + 1}`),
}))

const view = async (store: Store): Promise<string[]> =>
  (await store.getEffectiveHistory('s')).map(({ id, kind, content }) =>
    kind === 'summary' ? (content as string) : id,
  )

const statuses = async (store: Store): Promise<string[]> =>
  (await store.listCompactions('s')).map(({ kind, status }) => `${kind} ${status}`)

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing',
    (error: UndertextError) => error.code,
  )

/** Messages in `parts` of the given lengths, with a summary of a range after each. */
async function talked(...summaries: readonly { upTo: number; from: number; to: number }[]): Promise<Store> {
  const store = await openStore(':memory:')
  let done = 0
  for (const { upTo, from, to } of summaries) {
    await store.append('s', TALK.slice(done, upTo))
    done = upTo
    await store.compactSession('s', { range: { from, to }, summary: `S${from}-${to}` })
  }
  if (done < TALK.length) await store.append('s', TALK.slice(done))
  return store
}

const rewound = async (store: Store, messageId: string, keepCompactions = false): Promise<string> =>
  (await store.rewind('s', { from: { beforeMessage: messageId }, keepCompactions })).compactionId!

const clean = async (store: Store): Promise<void> =>
  expect((await store.sessions.verify('s')).findings).toEqual([])

it('rewinds to a message that a summary covers, and its undo restores the summary', async () => {
  const store = await talked({ upTo: 10, from: 1, to: 6 })
  const before = await store.getEffectiveHistory('s')
  expect(await view(store)).toEqual(['S1-6', 'm7', 'm8', 'm9', 'm10'])
  const id = await rewound(store, 'm4')
  expect(await view(store)).toEqual(['m1', 'm2', 'm3'])
  const [summary, rewind] = await store.listCompactions('s')
  expect(rewind).toMatchObject({ kind: 'manual', lifts: [summary!.id], params: { rewind: true } })
  expect(await statuses(store)).toEqual(['condense undone', 'manual active'])
  await clean(store)
  const undone = await store.undoCompaction('s', id)
  expect(undone).toMatchObject({ changed: true, compactionIds: [id], alsoChanged: [summary!.id] })
  expect(await store.getEffectiveHistory('s')).toEqual(before)
  await clean(store)
  await store.redoCompaction('s', id)
  expect(await view(store)).toEqual(['m1', 'm2', 'm3'])
  await clean(store)
})

it('keeps what was in force when the message was appended, and lifts what was made after', async () => {
  const store = await talked({ upTo: 4, from: 1, to: 2 }, { upTo: 8, from: 1, to: 5 })
  expect(await view(store)).toEqual(['S1-5', 'm6', 'm7', 'm8', 'm9', 'm10'])
  const id = await rewound(store, 'm7')
  expect(await view(store)).toEqual(['S1-2', 'm3', 'm4', 'm5', 'm6'])
  await clean(store)
  await store.undoCompaction('s', id)
  expect(await view(store)).toEqual(['S1-5', 'm6', 'm7', 'm8', 'm9', 'm10'])
  // The message was appended after both.
  await rewound(store, 'm9')
  expect(await view(store)).toEqual(['S1-5', 'm6', 'm7', 'm8'])
})

it('keeps compactions that lie entirely before the message on request', async () => {
  const store = await talked({ upTo: 10, from: 1, to: 4 })
  await rewound(store, 'm8', true)
  expect(await view(store)).toEqual(['S1-4', 'm5', 'm6', 'm7'])
  expect(await statuses(store)).toEqual(['condense active', 'manual active'])
  // Not before it any more: the summary covers the message itself.
  await rewound(store, 'm4', true)
  expect(await view(store)).toEqual(['m1', 'm2', 'm3'])
  await clean(store)
})

it('redoes what was undone since the message was appended', async () => {
  const store = await talked({ upTo: 6, from: 1, to: 3 })
  const [summary] = await store.listCompactions('s')
  await store.undoCompaction('s', summary!.id)
  const before = await view(store)
  expect(before).toHaveLength(10)
  const id = await rewound(store, 'm8')
  expect(await view(store)).toEqual(['S1-3', 'm4', 'm5', 'm6', 'm7'])
  expect((await store.compactions.get('s', id)).restores).toEqual([summary!.id])
  await clean(store)
  await store.undoCompaction('s', id)
  expect(await view(store)).toEqual(before)
  expect((await store.compactions.get('s', summary!.id)).status).toBe('undone')
  await store.redoCompaction('s', id)
  expect(await view(store)).toEqual(['S1-3', 'm4', 'm5', 'm6', 'm7'])
  await clean(store)
})

it('restores each of two rewinds by itself, a later one that lifted an earlier one included', async () => {
  const store = await talked({ upTo: 10, from: 1, to: 6 })
  const first = await rewound(store, 'm5')
  expect(await view(store)).toEqual(['m1', 'm2', 'm3', 'm4'])
  await store.append('s', [{ id: 'n1', role: 'user', content: 'new' }])
  const second = await rewound(store, 'm3')
  expect(await view(store)).toEqual(['m1', 'm2'])
  expect((await store.compactions.get('s', second)).lifts).toEqual([first])
  await clean(store)
  await store.undoCompaction('s', second)
  expect(await view(store)).toEqual(['m1', 'm2', 'm3', 'm4', 'n1'])
  await store.undoCompaction('s', first, { both: true })
  expect(await view(store)).toEqual(['S1-6', 'm7', 'm8', 'm9', 'm10', 'n1'])
  await clean(store)
})

it('accepts a message that an earlier rewind hid', async () => {
  const store = await talked()
  await rewound(store, 'm5')
  await store.append('s', [{ id: 'n1', role: 'user', content: 'new' }])
  await rewound(store, 'm8')
  expect(await view(store)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7'])
  await clean(store)
})

it('is not undone alone while a summary made after it covers what it lifted', async () => {
  const store = await talked({ upTo: 10, from: 1, to: 6 })
  const id = await rewound(store, 'm5')
  await store.compactSession('s', { range: { from: 1, to: 2 }, summary: 'S1-2' })
  expect(await view(store)).toEqual(['S1-2', 'm3', 'm4'])
  expect(await codeOf(store.undoCompaction('s', id))).toBe('HAS_ACTIVE_DEPENDENTS')
  await store.undoCompaction('s', id, { cascade: true })
  expect(await view(store)).toEqual(['S1-6', 'm7', 'm8', 'm9', 'm10'])
  await clean(store)
})

it('refuses to undo a rewind after messages were appended, unless both are wanted', async () => {
  const store = await talked()
  const id = await rewound(store, 'm3')
  await store.append('s', [{ id: 'n1', role: 'user', content: 'new' }])
  const error = await store.undoCompaction('s', id).catch((thrown: UndertextError) => thrown)
  expect(error).toMatchObject({ code: 'BRANCH_MOVED', facts: { compactionId: id, messageId: 'n1' } })
  expect(await view(store)).toEqual(['m1', 'm2', 'n1'])
  expect(await codeOf(store.undoCompaction('s', id, { cascade: true }))).toBe('BRANCH_MOVED')
  await store.undoCompaction('s', id, { both: true })
  expect((await view(store)).slice(-2)).toEqual(['m10', 'n1'])
})

it('counts what was appended with the rewind, and rewinds it first for the old version alone', async () => {
  const store = await talked()
  const { compactionId } = await store.rewind('s', {
    from: { beforeMessage: 'm9' },
    append: [{ id: 'n1', role: 'user', content: 'edited' }],
  })
  expect(await codeOf(store.undoCompaction('s', compactionId!))).toBe('BRANCH_MOVED')
  await rewound(store, 'n1')
  await store.undoCompaction('s', compactionId!)
  expect(await view(store)).toEqual(TALK.map(({ id }) => id))
  await clean(store)
})

it('is exported and restored with what it lifts', async () => {
  const store = await talked({ upTo: 10, from: 1, to: 6 })
  const id = await rewound(store, 'm4')
  const records = []
  for await (const record of store.sessions.export('s')) records.push(record)
  const copy = await openStore(':memory:')
  await copy.sessions.import(records)
  await clean(copy)
  expect(await view(copy)).toEqual(['m1', 'm2', 'm3'])
  await copy.undoCompaction('s', id)
  expect(await view(copy)).toEqual(['S1-6', 'm7', 'm8', 'm9', 'm10'])
  await rewound(copy, 'm9')
  expect(await view(copy)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8'])
})

it('redoes by the id of a run what the undo of that run removed, of other runs too', async () => {
  const store = await talked({ upTo: 6, from: 1, to: 2 }, { upTo: 10, from: 1, to: 6 })
  const before = await store.getEffectiveHistory('s')
  const [inner, outer] = await store.listCompactions('s')
  await store.undoCompaction('s', inner!.runId, { cascade: true })
  expect(await view(store)).toHaveLength(10)
  const redone = await store.redoCompaction('s', inner!.runId)
  expect(redone.compactionIds).toEqual([inner!.id, outer!.id])
  expect(redone.unchanged).toBeUndefined()
  expect(await store.getEffectiveHistory('s')).toEqual(before)
})

it('names the members that the id of a run does not redo', async () => {
  const store = await talked({ upTo: 10, from: 1, to: 2 })
  const [one] = await store.listCompactions('s')
  await store.undoCompaction('s', one!.id)
  expect(await store.redoCompaction('s', one!.runId)).toEqual({
    changed: false,
    compactionIds: [],
    rows: 0,
    parts: 0,
    unchanged: [{ compactionId: one!.id, status: 'undone' }],
  })
})

it('names attempts that were never in force', async () => {
  const store = await talked()
  const refusing = {
    name: 'refusing',
    usesModel: true,
    summarize: () => Promise.reject(new Error('no')),
  }
  await store.compactSession('s', {
    targetTokens: 0,
    summarizer: refusing,
    enablePrune: false,
    enableTruncate: false,
  })
  const failed = (await store.listCompactions('s')).find(({ status }) => status === 'failed')!
  for (const verb of ['undoCompaction', 'redoCompaction'] as const)
    expect((await store[verb]('s', failed.id)).unchanged).toEqual([
      { compactionId: failed.id, status: 'failed' },
    ])
})

it('is undone by undoIfFits with what it turned, which the result names', async () => {
  const store = await talked({ upTo: 4, from: 1, to: 2 }, { upTo: 10, from: 5, to: 6 })
  const [, later] = await store.listCompactions('s')
  const rewind = await rewound(store, 'm5')
  expect(await view(store)).toEqual(['S1-2', 'm3', 'm4'])
  const outcome = await store.undoCompaction('s', { ifFits: { kinds: ['manual'] } })
  expect(outcome).toMatchObject({ changed: true, compactionIds: [rewind], alsoChanged: [later!.id] })
  expect(await view(store)).toEqual(['S1-2', 'm3', 'm4', 'S5-6', 'm7', 'm8', 'm9', 'm10'])
  await clean(store)
})

it('that does not fit is undone by undoIfFits with what it had undone', async () => {
  const store = await talked({ upTo: 10, from: 1, to: 6 })
  const rewind = await rewound(store, 'm5')
  const stats = (await store.getContextStats('s'))!
  // Room for what stands, and for one token more.
  const target = (stats.estimatedInputTokens + 1) / stats.availableInputTokens
  const outcome = await store.undoCompaction('s', { ifFits: { kinds: ['manual'], target } })
  expect(outcome).toMatchObject({ changed: false, compactionIds: [], next: { compactionId: rewind } })
  expect(outcome.alsoChanged).toBeUndefined()
  expect(await statuses(store)).toEqual(['condense undone', 'manual active'])
})

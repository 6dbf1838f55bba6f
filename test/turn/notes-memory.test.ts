import { afterEach, beforeEach, expect, it } from 'vitest'
import { HistoryManager, notesMemory } from '../../src/compat/index.ts'
import { type Message, openStore, type Store } from '../../src/index.ts'
import { say } from '../support/conversation.ts'
import { failureOf } from '../support/failures.ts'

let store: Store
beforeEach(async () => {
  store = await openStore(':memory:', { env: false })
  await store.sessions.create({ id: 's', owner: 'anna' })
})
afterEach(() => store.close())

it('stores, recalls and forgets memories as notes of an owner', async () => {
  const memory = notesMemory(store, { owner: 'anna' })
  const stored = await memory.store({
    ...{
      type: 'fact',
      content: 'The port is 8080.',
      sessionId: 'c1',
      key: 'port',
      metadata: { by: 'agent' },
    },
  })
  expect(stored).toEqual({
    ...{ id: expect.any(String), type: 'fact', content: 'The port is 8080.', sessionId: 'c1', owner: 'anna' },
    ...{ key: 'port', metadata: { by: 'agent' }, createdAt: expect.any(Number) },
  })
  await memory.store({ type: 'summary', content: 'They spoke of ports.', sessionId: 'c2' })
  const note = await store.notes.add('A port in Portugal.', { owner: 'anna' })
  expect((await store.notes.list({ owner: 'anna' })).map(({ metadata }) => metadata)).toEqual([
    undefined,
    { type: 'summary', sessionId: 'c2' },
    { by: 'agent', type: 'fact', sessionId: 'c1' },
  ])
  const found = await memory.recall('Which port?', 2)
  expect(found).toHaveLength(2)
  expect(found[0]!.score).toBeGreaterThanOrEqual(found[1]!.score!)
  expect(await memory.recall('port', 5, { type: 'note' })).toMatchObject([{ id: note.id, type: 'note' }])
  expect(await memory.recall('port', 5, { sessionId: 'c1' })).toMatchObject([{ id: stored.id }])
  expect(await memory.recall('zebra', 5)).toEqual([])
  expect(await memory.forget({ type: 'fact' })).toBe(1)
  expect(await memory.forget({ type: 'fact' })).toBe(0)
  expect(await store.notes.list({ query: '8080', owner: 'anna' })).toEqual([])
  expect(await memory.forget()).toBe(2)
})

it('of a session recalls those of its owner too, and forgets only its own', async () => {
  await store.notes.add('Anna drinks tea.', { owner: 'anna' })
  const memory = notesMemory(store, { session: 's' })
  await memory.store({ type: 'fact', content: 'The tea is cold.' })
  expect(await memory.recall('tea', 5)).toHaveLength(2)
  expect(await memory.forget({})).toBe(1)
  expect((await memory.recall('tea', 5)).map(({ content }) => content)).toEqual(['Anna drinks tea.'])
})

it('is the memory of a HistoryManager: summaries of one conversation are recalled in another', async () => {
  const manager = (): HistoryManager<number> =>
    new HistoryManager<number>({
      strategy: { apply: (messages: readonly Message[]) => messages },
      summarizer: () => 'The invoice was rounded down.',
      memory: notesMemory(store, { owner: 'anna' }),
      enableLongTermMemory: true,
    })
  expect(await manager().onTurnComplete([say('user', 'Round it.')], { sessionId: 'c1' })).toEqual({
    summary: 'The invoice was rounded down.',
  })
  const { systemMessage } = await manager().prepareMessages({
    ...{ history: [], currentTurn: [say('user', 'How are invoices rounded?')], budget: 1 },
  })
  expect(systemMessage).toBe('Relevant context from memory:\n- [summary] The invoice was rounded down.\n')
  const [note] = await store.notes.list({ owner: 'anna' })
  expect(note).toMatchObject({ metadata: { type: 'summary', sessionId: 'c1' } })
})

it('takes no other store, owner, memory or filter', async () => {
  const wrong: (() => unknown)[] = [
    () => notesMemory({} as Store, { owner: 'anna' }),
    () => notesMemory(store, {} as { owner: string }),
    () => notesMemory(store, { owner: 'a', session: 's' } as { owner: string }),
    () => notesMemory(store, { owner: 'anna' }).store({ type: '', content: 'x' }),
    () => notesMemory(store, { owner: 'anna' }).store({ type: 'fact', content: ' ' }),
    () => notesMemory(store, { owner: 'anna' }).forget({ kind: 'fact' } as object),
  ]
  for (const act of wrong) expect(await failureOf(act)).toMatchObject({ code: 'INVALID_INPUT' })
})

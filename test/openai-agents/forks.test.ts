import { Agent, run, setTracingDisabled, Usage } from '@openai/agents'
import { assistantMessage, modelResponse, ScriptedModel } from '@openai/agents/testing'
import { expect, it } from 'vitest'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../src/index.ts'
import { answer, call, result, said } from './session-contract.ts'

setTracingDisabled(true)

const ITEMS = [said('a'), call('c1'), result('c1', 'x'), { ...answer('b'), id: 'msg_1' }, said('c')]

it('a fork is a session of its own that a run continues', async () => {
  await using store = await openStore(':memory:')
  const session = new UndertextSession({ store, sessionId: 's', provider: 'openai', model: 'made-up-1' })
  await session.addItems(ITEMS)
  const fork = await session.fork({ at: { afterItem: 'msg_1' }, sessionId: 'f', title: 'Another way' })
  expect(await fork.getSessionId()).toBe('f')
  expect(await fork.getItems()).toEqual(ITEMS.slice(0, 4))
  const model = new ScriptedModel([
    modelResponse({ output: [assistantMessage('Done.')], usage: new Usage() }),
  ])
  const agent = new Agent({ name: 'A', model: fork.recovering(model) })
  expect((await run(agent, 'And now?', { session: fork })).finalOutput).toBe('Done.')
  expect((await fork.getItems()).map((item) => item.type)).toEqual([
    ...ITEMS.slice(0, 4).map(({ type }) => type),
    'message',
    'message',
  ])
  expect(await session.getItems()).toEqual(ITEMS)
  const { title, forkedFrom, provider, model: name } = await store.sessions.get('f')
  expect({ title, forkedFrom, provider, name }).toEqual({
    title: 'Another way',
    forkedFrom: { sessionId: 's', position: 4 },
    provider: 'openai',
    name: 'made-up-1',
  })
})

it('items are named by their places in the list of getItems, in both views', async () => {
  await using store = await openStore(':memory:')
  const session = new UndertextSession({ store, sessionId: 's' })
  const full = new UndertextSession({ store, sessionId: 's', view: 'full' })
  await session.addItems([...ITEMS, said('popped')])
  await session.popItem()
  await session.addItems([said('d')])
  for (const one of [session, full]) {
    const items = await one.getItems()
    expect(items).toEqual([...ITEMS, said('d')])
    for (let at = 0; at < items.length; at++) {
      const [before, after] = [
        await one.fork({ at: { beforeItem: at } }),
        await one.fork({ at: { afterItem: at } }),
      ]
      expect(await before.getItems()).toEqual(items.slice(0, at))
      expect(await after.getItems()).toEqual(items.slice(0, at + 1))
    }
  }
})

it('a fork after an item of a replaced end has the replacement alone', async () => {
  await using store = await openStore(':memory:')
  const session = new UndertextSession({ store, sessionId: 's' })
  await session.addItems(ITEMS)
  await session.applyHistoryTransaction({
    operationId: 'o',
    transaction: {
      type: 'replace_suffix',
      expectedSuffix: ITEMS.slice(3),
      replacement: [said('e'), said('f')],
    } as never,
  })
  const now = [...ITEMS.slice(0, 3), said('e'), said('f')]
  expect(await session.getItems()).toEqual(now)
  expect(await (await session.fork({ at: { afterItem: 3 } })).getItems()).toEqual(now.slice(0, 4))
  expect(await (await session.fork({ at: { beforeItem: 3 } })).getItems()).toEqual(now.slice(0, 3))
  expect(await (await session.fork()).getItems()).toEqual(now)
})

it('an unknown item is an error, and so is a session without items', async () => {
  await using store = await openStore(':memory:')
  const session = new UndertextSession({ store, sessionId: 's' })
  await expect(session.fork()).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  await session.addItems(ITEMS)
  await expect(session.fork({ at: { afterItem: 5 } })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(session.fork({ at: { beforeItem: 'msg_2' } })).rejects.toMatchObject({
    code: 'MESSAGE_NOT_FOUND',
    facts: { sessionId: 's', messageId: 'msg_2' },
  })
  await expect(session.fork({ sessionId: 's' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
  await expect(session.fork({ at: 3 } as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

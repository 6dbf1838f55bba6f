import type {
  AgentInputItem,
  Session,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents'
import { beforeEach, describe, expect, it } from 'vitest'

/** What `MemorySession` can do, and ours with it. */
export type RichSession = Session & SessionHistoryRewriteAwareSession & SessionHistoryTransactionAwareSession

export const said = (text: string): AgentInputItem => ({ type: 'message', role: 'user', content: text })
export const answer = (text: string): AgentInputItem => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
})
export const call = (callId: string, args = '{}'): Extract<AgentInputItem, { type: 'function_call' }> => ({
  type: 'function_call',
  callId,
  name: 'read',
  arguments: args,
})
export const result = (callId: string, output: string): AgentInputItem => ({
  type: 'function_call_result',
  callId,
  name: 'read',
  status: 'completed',
  output: { type: 'text', text: output },
})

const appending = (operationId: string, ...items: AgentInputItem[]) => ({
  operationId,
  transaction: { type: 'append_items' as const, items },
})
const replacing = (operationId: string, expectedSuffix: AgentInputItem[], replacement: AgentInputItem[]) => ({
  operationId,
  transaction: { type: 'replace_suffix' as const, expectedSuffix, replacement },
})

/** What every session of the SDK's must do; the SDK's own is held to it as well. */
export function describeSession(name: string, make: (sessionId: string) => Promise<RichSession>): void {
  describe(name, () => {
    let session: RichSession
    let count = 0
    beforeEach(async () => {
      count += 1
      session = await make(`s-${count}`)
    })

    it('has its id before anything is in it, and no items', async () => {
      expect(await session.getSessionId()).toBe(`s-${count}`)
      expect(await session.getItems()).toEqual([])
      expect(await session.getItems(3)).toEqual([])
      expect(await session.popItem()).toBe(undefined)
      await session.clearSession()
      expect(await session.getItems()).toEqual([])
    })

    it('gives items back in order, with a limit the newest ones', async () => {
      const items = [said('1'), answer('2'), call('c'), result('c', '3'), answer('4')]
      await session.addItems(items.slice(0, 2))
      await session.addItems([])
      await session.addItems(items.slice(2))
      expect(await session.getItems()).toEqual(items)
      expect(await session.getItems(2)).toEqual(items.slice(3))
      expect(await session.getItems(99)).toEqual(items)
      expect(await session.getItems(0)).toEqual([])
      expect(await session.getItems(-1)).toEqual([])
    })

    it('shares nothing with who gave items or got them', async () => {
      const given = [said('1')]
      await session.addItems(given)
      ;(given[0] as { content: string }).content = 'changed'
      const [got] = await session.getItems()
      ;(got as { content: string }).content = 'changed'
      expect(await session.getItems()).toEqual([said('1')])
    })

    it('pops the newest item, again and again', async () => {
      await session.addItems([said('1'), call('c'), result('c', '2')])
      expect(await session.popItem()).toEqual(result('c', '2'))
      expect(await session.popItem()).toEqual(call('c'))
      await session.addItems([answer('3')])
      expect(await session.getItems()).toEqual([said('1'), answer('3')])
      expect(await session.popItem()).toEqual(answer('3'))
      expect(await session.popItem()).toEqual(said('1'))
      expect(await session.popItem()).toBe(undefined)
    })

    it('is cleared, and continues', async () => {
      await session.addItems([said('1'), answer('2')])
      await session.clearSession()
      expect(await session.getItems()).toEqual([])
      await session.addItems([said('3')])
      expect(await session.getItems()).toEqual([said('3')])
    })

    it('replaces a call at its place, and drops others of its id', async () => {
      await session.addItems([said('1'), call('c', '{"a":1}'), result('c', '2'), call('c'), answer('3')])
      await session.applyHistoryMutations({
        mutations: [{ type: 'replace_function_call', callId: 'c', replacement: call('c', '{"a":2}') }],
      })
      expect(await session.getItems()).toEqual([
        said('1'),
        call('c', '{"a":2}'),
        result('c', '2'),
        answer('3'),
      ])
    })

    it('applies mutations one after the other, and none for ids it has not', async () => {
      await session.addItems([call('a'), call('b')])
      await session.applyHistoryMutations({
        mutations: [
          { type: 'replace_function_call', callId: 'a', replacement: call('c') },
          { type: 'replace_function_call', callId: 'c', replacement: call('d') },
          { type: 'replace_function_call', callId: 'x', replacement: call('y') },
        ],
      })
      expect(await session.getItems()).toEqual([call('d'), call('b')])
      await session.applyHistoryMutations({ mutations: [] })
      expect(await session.getItems()).toEqual([call('d'), call('b')])
    })

    it('appends a transaction once', async () => {
      await session.addItems([said('1')])
      await session.applyHistoryTransaction(appending('op', answer('2')))
      await session.addItems([said('3')])
      await session.applyHistoryTransaction(appending('op', answer('2')))
      expect(await session.getItems()).toEqual([said('1'), answer('2'), said('3')])
    })

    it('replaces a suffix once, though it no longer matches', async () => {
      await session.addItems([said('1'), answer('2'), answer('3')])
      const operation = replacing('op', [answer('2'), answer('3')], [answer('4')])
      await session.applyHistoryTransaction(operation)
      await session.applyHistoryTransaction(operation)
      expect(await session.getItems()).toEqual([said('1'), answer('4')])
      await session.addItems([answer('2'), answer('3')])
      await session.applyHistoryTransaction(operation)
      expect(await session.getItems()).toEqual([said('1'), answer('4'), answer('2'), answer('3')])
    })

    it('takes an empty suffix for an append, and an empty replacement for a removal', async () => {
      await session.applyHistoryTransaction(replacing('a', [], [said('1'), answer('2')]))
      await session.applyHistoryTransaction(replacing('b', [answer('2')], []))
      expect(await session.getItems()).toEqual([said('1')])
      await session.applyHistoryTransaction(appending('c'))
      await expect(session.applyHistoryTransaction(appending('c', said('2')))).rejects.toThrow()
      expect(await session.getItems()).toEqual([said('1')])
    })

    it('compares a suffix whatever the order of fields', async () => {
      await session.addItems([{ role: 'user', content: '1', id: 'm', type: 'message' } as AgentInputItem])
      const expected = { type: 'message', id: 'm', content: '1', role: 'user' } as AgentInputItem
      await session.applyHistoryTransaction(replacing('op', [expected], [said('2')]))
      expect(await session.getItems()).toEqual([said('2')])
    })

    it('refuses another transaction under an id, and a suffix that is not there, and changes nothing', async () => {
      const items = [said('1'), answer('2')]
      await session.addItems(items)
      await session.applyHistoryTransaction(replacing('op', [answer('2')], [answer('2')]))
      for (const wrong of [
        appending('op', said('x')),
        replacing('op', [answer('2')], [answer('x')]),
        replacing('op', [said('1'), answer('2')], [answer('2')]),
        replacing('new', [answer('x')], [answer('3')]),
        replacing('new', [said('0'), said('1'), answer('2')], [answer('3')]),
        replacing('new', [said('1')], []),
      ]) {
        await expect(session.applyHistoryTransaction(wrong)).rejects.toThrow()
        expect(await session.getItems()).toEqual(items)
      }
      // What was refused was not remembered.
      await session.applyHistoryTransaction(replacing('new', [answer('2')], [answer('3')]))
      expect(await session.getItems()).toEqual([said('1'), answer('3')])
    })

    it.each([
      [undefined],
      [{}],
      [{ operationId: '', transaction: { type: 'append_items', items: [] } }],
      [{ operationId: ' ', transaction: { type: 'append_items', items: [] } }],
      [{ operationId: 'op' }],
      [{ operationId: 'op', transaction: { type: 'append_items' } }],
      [{ operationId: 'op', transaction: { type: 'append_items', items: [], more: 1 } }],
      [{ operationId: 'op', transaction: { type: 'append_items', items: [{ type: 'function_call' }] } }],
      [{ operationId: 'op', transaction: { type: 'replace_suffix', expectedSuffix: [] } }],
      [{ operationId: 'op', transaction: { type: 'drop_items', items: [] } }],
      [
        {
          operationId: 'op',
          transaction: {
            type: 'append_items',
            items: [{ type: 'unknown', providerData: { at: new Date(0) } }],
          },
        },
      ],
    ])('refuses the transaction %j', async (args) => {
      await session.addItems([said('1')])
      await expect(session.applyHistoryTransaction(args as never)).rejects.toThrow()
      await session.applyHistoryTransaction(appending('op', answer('2')))
      expect(await session.getItems()).toEqual([said('1'), answer('2')])
    })
  })
}

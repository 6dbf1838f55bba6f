import {
  type AgentInputItem,
  isOpenAIResponsesCompactionOwnershipAwareSession,
  isRunContextAwareSession,
  isSessionHistoryRewriteAwareSession,
  isSessionHistoryTransactionAwareSession,
  type OpenAIResponsesCompactionOwnershipAwareSession,
  type RunContextAwareSession,
  type Session,
  type SessionHistoryRewriteAwareSession,
  type SessionHistoryTransactionAwareSession,
} from '@openai/agents'
import { afterAll, expect, expectTypeOf, it } from 'vitest'
import {
  type AgentItem,
  fromAgentItems,
  toAgentItems,
  UndertextSession,
} from '../../src/adapters/openai-agents/index.ts'
import { openStore } from '../../src/index.ts'

const store = await openStore(':memory:')
afterAll(() => store.close())

it('has the types of the SDK: items both ways', () => {
  expectTypeOf<AgentItem>().toExtend<AgentInputItem>()
  expectTypeOf<AgentInputItem>().toExtend<AgentItem>()
  const real: AgentInputItem[] = [{ role: 'user', content: 'Hi' }]
  const ours: AgentItem[] = real
  const back: AgentInputItem[] = toAgentItems(fromAgentItems(ours))
  expect(back).toEqual(real)
})

it('is a session with every capability, by type and by the questions of the SDK', async () => {
  const session = new UndertextSession({ store, sessionId: 's' })
  const plain: Session = session
  const contextual: RunContextAwareSession<{ user: string }> = session
  const rewriting: SessionHistoryRewriteAwareSession = session
  const transactional: SessionHistoryTransactionAwareSession = session
  const compacting: OpenAIResponsesCompactionOwnershipAwareSession = session
  for (const one of [plain, contextual, rewriting, transactional, compacting]) {
    expect(isRunContextAwareSession(one)).toBe(true)
    expect(isSessionHistoryRewriteAwareSession(one)).toBe(true)
    expect(isSessionHistoryTransactionAwareSession(one)).toBe(true)
    expect(isOpenAIResponsesCompactionOwnershipAwareSession(one)).toBe(true)
  }
  const prepared: AgentInputItem | undefined = session.prepareHistoryItemForModelInput({
    role: 'user',
    content: 'a',
  } as AgentInputItem)
  expect(prepared).toEqual({ role: 'user', content: 'a' })
  expect(session.prepareHistoryItemsForPersistenceComparison([prepared])).toEqual([prepared])
  expect(session.preserveReasoningItemIdsForPersistence()).toBe(false)
})

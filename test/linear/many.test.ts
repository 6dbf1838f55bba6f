import { expect, it } from 'vitest'
import { toUIMessages } from '../../src/adapters/ai-sdk/index.ts'
import { fromLangChain } from '../../src/adapters/langchain/index.ts'
import { toOpenAI } from '../../src/adapters/openai/index.ts'
import { toAgentItems } from '../../src/adapters/openai-agents/index.ts'
import { timelineOf } from '../../src/cli/commands/log.ts'
import { type Message, type Part, renderView } from '../../src/index.ts'
import type { AuditEntry, Compaction } from '../../src/storage/storage.ts'
import { planOfRoo } from '../../src/transfer/sources/roo-plan.ts'

/* A list from outside may be longer than the arguments that a call takes, about 120,000. */

const MANY = 150_000
const list = <T>(itemAt: (i: number) => T): T[] => Array.from({ length: MANY }, (_, i) => itemAt(i))
const text = (i: number): Part => ({ type: 'text', text: `${i}` })
const image: Part = { type: 'image', image: 'AAAA', mediaType: 'image/png' }

it('a result without a call, of very many images, becomes the words of its user', () => {
  const value = list(() => image) as never
  const content: Part[] = [
    { type: 'tool-result', toolCallId: 'c', toolName: 'look', output: { type: 'content', value } },
  ]
  const messages = [{ id: 'm', position: 1, kind: 'message', role: 'tool', content }] as never
  const [rendered] = renderView(messages, { provider: 'anthropic' }).messages
  expect(rendered!.content).toHaveLength(MANY + 1)
})

it('a message of very many parts is converted', () => {
  const messages: Message[] = [{ role: 'user', content: list(text) }]
  expect(toAgentItems(messages)).toMatchObject([{ content: { length: MANY } }])
  expect(toUIMessages(messages as never)).toMatchObject([{ parts: { length: MANY } }])
  expect(toOpenAI(messages)).toMatchObject([{ content: { length: MANY } }])
})

it('very many calls of OpenAI in a message of LangChain are read', () => {
  const tool_calls = list((i) => ({
    id: `c${i}`,
    type: 'function',
    function: { name: 'look', arguments: '{}' },
  }))
  const message = { type: 'ai', data: { content: '', additional_kwargs: { tool_calls } } }
  expect(fromLangChain([message] as never)).toMatchObject([{ content: { length: MANY } }])
})

it('a run of very many compactions, and a compaction that was turned very many times, are logged', () => {
  const one = (i: number): Compaction =>
    ({ id: `c${i}`, runId: 'r', status: 'undone', createdAt: MANY - i }) as never
  const audit = list((no): AuditEntry => ({ no, event: 'undone', at: no, compactionId: 'c0' }) as never)
  const { runs } = timelineOf(list(one), audit)
  expect(runs).toMatchObject([{ at: 1, compactions: { length: MANY } }])
  expect(runs[0]!.compactions[0]!.transitions).toHaveLength(MANY)
})

it('very many markers of Roo Code are planned, each with its message', () => {
  const element = { id: undefined, condenseParent: undefined, truncationParent: undefined, use: undefined }
  const elements = Array.from({ length: 30_000 }, (_, i) => [
    { ...element, kind: 'message' as const, truncationParent: `t${i}`, onlyResults: false },
    { ...element, kind: 'marker' as const, id: `t${i}`, onlyResults: false },
  ]).flat()
  const { compactions, notes } = planOfRoo(elements)
  expect(notes).toEqual([])
  expect(compactions).toHaveLength(30_000)
  expect(compactions.at(-1)).toEqual({
    owner: 59_999,
    after: 59_999,
    kind: 'truncate',
    covers: [[30_000, 30_000]],
  })
})

import { expect, it } from 'vitest'
import { fromOpenAI, toOpenAI, toOpenAIResponses } from '../../src/adapters/openai/index.ts'

const ITEM = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' }

it("OpenAI's compaction item goes out as it is to the Responses API, and as a text to Chat Completions, which refuses it", () => {
  const input = [{ role: 'developer', content: 'Rules.' }, ITEM, { role: 'user', content: 'Go on.' }]
  const messages = fromOpenAI(input)
  expect(messages[1]).toEqual({
    role: 'assistant',
    content: [{ type: 'provider', provider: 'openai', data: ITEM }],
  })
  expect(toOpenAIResponses(messages)[1]).toEqual(ITEM)
  expect(toOpenAI(messages)).toEqual([
    { role: 'developer', content: 'Rules.' },
    {
      role: 'user',
      content: '[Earlier messages were compacted in a form that only their provider can read]',
    },
    { role: 'user', content: 'Go on.' },
  ])
})

it('an item without what it carries is refused', () => {
  expect(() => fromOpenAI([{ type: 'compaction', id: 'cmp_1' }])).toThrow(/encrypted_content/)
})

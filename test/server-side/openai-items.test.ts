import { expect, it } from 'vitest'
import { fromOpenAI, toOpenAI } from '../../src/openai.ts'

const ITEM = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' }

it("OpenAI's compaction item comes in and goes out as it is", () => {
  const input = [{ role: 'developer', content: 'Rules.' }, ITEM, { role: 'user', content: 'Go on.' }]
  const messages = fromOpenAI(input)
  expect(messages[1]).toEqual({
    role: 'assistant',
    content: [{ type: 'provider', provider: 'openai', data: ITEM }],
  })
  expect(toOpenAI(messages)).toEqual(input)
})

it('an item without what it carries is refused', () => {
  expect(() => fromOpenAI([{ type: 'compaction', id: 'cmp_1' }])).toThrow(/encrypted_content/)
})

import { expect, it } from 'vitest'
import { joinedTexts, outputText } from '../../src/core/messages/message.ts'

it.each([
  [['context', 'agentId: a'], 'context\nagentId: a'],
  [['a\n', 'b'], 'a\nb'],
  [['', 'a', '', 'b'], 'a\nb'],
  [[], ''],
])('joins the texts %j of several blocks so that words stay apart', (texts, joined) => {
  expect(joinedTexts(texts)).toBe(joined)
})

it('joins the texts of a tool output, without what is between them', () => {
  const image = { type: 'image', image: 'aGk=' } as const
  const value = [{ type: 'text', text: 'a' } as const, image, { type: 'text', text: 'b' } as const]
  expect(outputText({ type: 'content', value })).toBe('a\nb')
})

import { expect, it } from 'vitest'
import { longConversation } from './long-conversation.ts'

it('a long conversation with tools and file reads: every request fits, is valid, and tells what was asked first and every rule', async () => {
  const figures = await longConversation(60, 8_000)
  console.log(figures)
  expect(figures.runs).toBeGreaterThan(3)
})

import { expect, it } from 'vitest'
import { longConversation } from './long-conversation.ts'

it('a long conversation with tools and file reads: every request fits, is valid, and contains the first request and every rule', async () => {
  const figures = await longConversation(50, 8_000)
  expect(figures.runs).toBeGreaterThan(3)
  expect(figures.used).toBeGreaterThan(100)
  // Of what the assistant uses of earlier turns its requests still hold most; with a window of 8,000 tokens not all.
  expect(figures.kept).toBeGreaterThan(0.8)
})

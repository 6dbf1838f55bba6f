import { expect, it } from 'vitest'
import { longConversation } from './long-conversation.ts'

const TURNS = Number(process.env.TURNS ?? 1_000)

it(`a conversation of ${TURNS} turns with tools and file reads`, async () => {
  const figures = await longConversation(TURNS, 32_000)
  console.info(`a long conversation: ${JSON.stringify(figures)}`)
  expect(figures.turns).toBe(TURNS)
  expect(figures.runs).toBeGreaterThan(TURNS / 100)
})

import { expect, it } from 'vitest'
import { runExample } from '../support/run-as-user.ts'

it('the example runs without a key, makes room, still knows the name, and takes a clear back', async () => {
  const printed = await runExample('examples/openai-agents', 'chat.ts')
  expect(printed).toContain('Done: It is sunny in Turin. It is sunny in Oslo.')
  expect(printed).toContain('[compaction')
  expect(printed).toContain('You are Ada.')
  const [, before, again] = /^(\d+) items, cleared, and (\d+) again$/m.exec(printed)!
  expect(again).toBe(before)
  // Seven questions and answers, reasoning, two calls and their results.
  expect(printed).toMatch(/^19 items stored, \d+ in the view$/m)
  // One for each question, and one after the tools.
  expect(printed).toContain('8 calls of the model recorded')
})

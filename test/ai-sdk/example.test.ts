import { expect, it } from 'vitest'
import { startModelServer } from '../support/model-server.ts'
import { runExample } from '../support/run-as-user.ts'

it('the example runs without a key, makes room, and still knows the name', async () => {
  const printed = await runExample('examples/ai-sdk', 'chat.ts')
  expect(printed).toContain('The sun is out.')
  expect(printed).toContain('[compaction')
  expect(printed).toContain('You are Ada.')
  // Six questions and answers, and a call with its result.
  expect(printed).toMatch(/^14 messages stored, \d+ in the view$/m)
})

it("the example talks to a server of OpenAI's kind", async () => {
  const server = await startModelServer([{ text: 'Hello from afar.' }])
  try {
    const printed = await runExample('examples/ai-sdk', 'chat.ts', {
      BASE_URL: server.openaiUrl,
      MODEL: 'any',
    })
    expect(printed).toContain('Hello from afar.')
    expect(printed).toMatch(/^12 messages stored, 12 in the view$/m)
  } finally {
    await server.close()
  }
})

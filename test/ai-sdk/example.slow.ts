import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startModelServer } from '../support/model-server.ts'
import { runExample } from '../support/run-as-user.ts'
import { newFolder } from '../support/temporary.ts'

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

it('the chat is kept over two runs', async () => {
  const folder = newFolder()
  const env = { STORE: join(folder, 'chats.db') }
  const first = await runExample('examples/ai-sdk-chat', 'chat.ts', env)
  expect(first).toContain('0 messages loaded')
  expect(first).toContain('once more: You are Ada.')
  // Three questions and answers, a call with its result, and the answer that was made anew.
  expect(first).toMatch(/^6 messages, 9 rows stored, 8 in the view$/m)
  const second = await runExample('examples/ai-sdk-chat', 'chat.ts', env)
  expect(second).toContain('6 messages loaded')
  expect(second).toMatch(/^12 messages, 18 rows stored, 16 in the view$/m)
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startAnsweringServer } from '../support/answering-server.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'anthropic.md'), 'utf8')
const [CHAT = '', NOTES = ''] = examplesOf(PAGE)

it('has an example that asks and stores with the real SDK', async () => {
  const server = await startAnsweringServer({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [{ type: 'text', text: '42' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 20, output_tokens: 2 },
  })
  try {
    const client = `new Anthropic({ apiKey: 'none', baseURL: ${JSON.stringify(server.url)} })`
    const again = `await ask('session-1', 'Are you sure?')
      console.log(JSON.stringify((await store.getEffectiveHistory('session-1')).map(({ role }) => role)))`
    const printed = await runAsUser(`${CHAT.replace('new Anthropic()', client)}\n${again}`)

    expect(printed).toBe('42\n["user","assistant","user","assistant"]\n')
    const [, second] = server.asked.map(({ body }) => body as { system: string; messages: unknown })
    expect(second?.system).toBe('Be brief.')
    expect(second?.messages).toEqual([
      { role: 'user', content: 'What is 6 times 7?' },
      { role: 'assistant', content: [{ type: 'text', text: '42' }] },
      { role: 'user', content: 'Are you sure?' },
    ])
  } finally {
    await server.close()
  }
})

it('has an example of notes that prints the output shown', async () => {
  const [, said] = /\/\/ (not-sent .+)$/m.exec(NOTES) ?? []
  expect((await runAsUser(NOTES)).trim()).toBe(said)
})

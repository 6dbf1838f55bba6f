import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startAnsweringServer } from '../support/answering-server.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'google.md'), 'utf8')
const [CHAT = '', NOTES = ''] = examplesOf(PAGE)

it('has an example that asks and stores with the real SDK', async () => {
  const parts = [{ text: '42', thoughtSignature: 'c2ln' }]
  const server = await startAnsweringServer({
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
  })
  try {
    const options = `{ apiKey: 'none', httpOptions: { baseUrl: ${JSON.stringify(server.url)} } }`
    const again = `await ask('session-1', 'Are you sure?')
      console.log(JSON.stringify((await store.getEffectiveHistory('session-1')).map(({ role }) => role)))`
    const printed = await runAsUser(`${CHAT.replace('GoogleGenAI({})', `GoogleGenAI(${options})`)}\n${again}`)

    expect(printed).toBe('42\n["user","assistant","user","assistant"]\n')
    const [, second] = server.asked.map(
      ({ body }) => body as { systemInstruction: object; contents: unknown },
    )
    expect(second?.systemInstruction).toMatchObject({ parts: [{ text: 'Be brief.' }] })
    expect(second?.contents).toEqual([
      { role: 'user', parts: [{ text: 'What is 6 times 7?' }] },
      { role: 'model', parts },
      { role: 'user', parts: [{ text: 'Are you sure?' }] },
    ])
  } finally {
    await server.close()
  }
})

it('has an example of notes that prints the output shown', async () => {
  const [, said] = /\/\/ (changed .+)$/m.exec(NOTES) ?? []
  expect((await runAsUser(NOTES)).trim()).toBe(said)
})

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BackendChoice, chooseBackend } from '../../../src/cli/commands/chat/choose-backend.ts'
import { type ModelServer, startModelServer } from '../../support/model-server.ts'
import { newFolder } from '../../support/temporary.ts'

const ENV = { OPENAI_API_KEY: 'key-of-openai', OTHER_KEY: 'another-key' }

describe('the backend', () => {
  let server: ModelServer
  let folder: string
  beforeAll(async () => {
    server = await startModelServer([{ text: 'Hello.' }])
    folder = newFolder()
  })
  afterAll(async () => {
    await server.close()
  })

  const choose = (choice: BackendChoice, known = {}) =>
    chooseBackend(choice, known, { env: ENV, cwd: folder })

  it('is the echo when none is given, independent of the session', async () => {
    const backend = await choose({}, { provider: 'anthropic', model: 'claude-sonnet-4-5' })
    expect(backend).toMatchObject({ kind: 'echo', title: 'the offline echo' })
    expect(backend.provider).toBeUndefined()
  })

  it('counts for a model with the echo', async () => {
    expect(await choose({ echo: true, model: 'openai/gpt-4' })).toMatchObject({
      kind: 'echo',
      provider: 'openai',
      model: 'gpt-4',
    })
  })

  it('is an address, with the model of the session when none is given', async () => {
    expect(await choose({ url: 'http://localhost:1/v1' }, { model: 'llama3.2' })).toMatchObject({
      kind: 'url',
      provider: 'openai',
      model: 'llama3.2',
    })
  })

  async function keySentTo(choice: BackendChoice): Promise<unknown> {
    server.forget()
    const backend = await choose({ url: server.openaiUrl, model: 'm', ...choice })
    await backend.ask({ messages: [], signal: new AbortController().signal, onText: () => {} })
    return server.requests[0]?.headers.authorization
  }

  it('sends the key that is named, else that of OpenAI', async () => {
    expect(await keySentTo({})).toBe('Bearer key-of-openai')
    expect(await keySentTo({ apiKeyEnv: 'OTHER_KEY' })).toBe('Bearer another-key')
  })

  it.each([
    [{ url: 'ftp://x/v1', model: 'm' }, '--url must be an address'],
    [{ url: 'http://me:secret@localhost/v1', model: 'm' }, 'must not contain a user'],
    [{ url: 'http://localhost/v1' }, '--url requires --model'],
    [{ url: 'http://localhost/v1', model: 'm', apiKeyEnv: 'UNSET' }, "UNSET isn't set"],
    [{ apiKeyEnv: 'OTHER_KEY' }, '--api-key-env requires --url'],
    [{ echo: true, url: 'http://localhost/v1' }, '--echo calls no model'],
    [{ model: 'gpt-4o' }, '--model requires a provider'],
    [{ provider: 'anthropic' }, '--provider requires --model'],
  ])('refuses %j', async (choice, sentence) => {
    await expect(choose(choice)).rejects.toMatchObject({
      code: 'WRONG_USE',
      message: expect.stringContaining(sentence),
    })
  })

  it('names the packages that are missing', async () => {
    await expect(choose({ provider: 'made-up', model: 'm' })).rejects.toMatchObject({
      code: 'FAILED',
      message: "Calling made-up needs the AI SDK, but @ai-sdk/made-up isn't installed.",
      hint: 'Install the packages in the folder where you run undertext: npm install ai @ai-sdk/made-up',
    })
    await expect(choose({ provider: 'x', model: 'm', providerPackage: '../evil' })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
  })

  it('asks a provider of the AI SDK, from the folder it is called in', async () => {
    const home = join(folder, 'node_modules', '@ai-sdk', 'homemade')
    mkdirSync(home, { recursive: true })
    writeFileSync(
      join(home, 'package.json'),
      '{ "type": "module", "exports": { ".": { "import": "./own.js" } } }',
    )
    const openai = import.meta.resolve('@ai-sdk/openai')
    writeFileSync(
      join(home, 'own.js'),
      `import { createOpenAI } from ${JSON.stringify(openai)}
const openai = createOpenAI({ baseURL: ${JSON.stringify(server.openaiUrl)}, apiKey: 'none' })
export const homemade = Object.assign((id) => openai.chat(id), { languageModel: (id) => openai.chat(id) })`,
    )
    server.forget()
    server.script([{ text: 'By the SDK.', usage: { inputTokens: 90, cacheReadTokens: 30, outputTokens: 4 } }])
    const backend = await choose({ model: 'homemade/tiny' })
    expect(backend).toMatchObject({ kind: 'ai-sdk', provider: 'openai', model: 'tiny' })
    const pieces: string[] = []
    const reply = await backend.ask({
      system: 'Be brief.',
      messages: [
        { role: 'user', content: 'Run it.' },
        {
          role: 'assistant',
          content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'bash', input: { command: 'ls' } }],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c1',
              toolName: 'bash',
              output: { type: 'text', value: 'a.txt' },
            },
          ],
        },
        { role: 'user', content: 'hi' },
      ],
      signal: new AbortController().signal,
      onText: (text) => pieces.push(text),
    })
    expect(pieces.join('')).toBe('By the SDK.')
    expect(reply).toMatchObject({
      text: 'By the SDK.',
      stopReason: 'stop',
      usage: { inputTokens: 60, cacheReadTokens: 30, outputTokens: 4 },
      calledTools: [],
    })
    expect(reply.messages).toHaveLength(1)
    // A history with calls is refused by some providers where no tools are defined.
    expect(server.requests[0]?.body.tools).toMatchObject([{ function: { name: 'bash' } }])
  })
})

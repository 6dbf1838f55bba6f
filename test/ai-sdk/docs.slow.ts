import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chatStore } from '../../src/adapters/ai-sdk/index.ts'
import { chatOptionsSchema, turnSchema } from '../../src/adapters/ai-sdk/options.ts'
import { buildSummarizationPrompt } from '../../src/compat/index.ts'
import { ANSWER_PROBLEMS } from '../../src/core/summarizers/summarizer.ts'
import { modelSummarizerSchema } from '../../src/store/compaction/model-summarizer.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const SUMMARIES = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'summaries.md'), 'utf8')
const PAGE = SUMMARIES.slice(SUMMARIES.indexOf('## Summaries by models'))

it('names every problem of an answer, every option, and the wording of the prompt', () => {
  for (const problem of ANSWER_PROBLEMS) expect(PAGE).toContain(`| \`${problem}\` |`)
  const shared = Object.keys(modelSummarizerSchema.shape).filter(
    (name) => !['generate', 'provider', 'retryWaitMs', 'canUse'].includes(name),
  )
  for (const name of shared) expect(PAGE).toContain(`| \`${name}\` |`)
  expect(PAGE).toContain(`\`${buildSummarizationPrompt([]).promptVersion}\``)
})

it('has an example that prints the output shown', async () => {
  const [, example = ''] = examplesOf(PAGE)
  const [, said] = /\/\/ (mine .+)$/m.exec(example)!
  const model = `const callYourModel = async (..._: unknown[]) =>
    ({ text: '## Current Work\\n- looking again', usage: { inputTokens: 900, outputTokens: 12 } })`
  expect((await runAsUser(`${model}\n${example}`)).trim()).toBe(said)
})

describe('docs/ai-sdk.md, chats', () => {
  const AI_SDK = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'ai-sdk.md'), 'utf8')
  const CHAT = AI_SDK.slice(AI_SDK.indexOf('## Chats of the AI SDK'))

  it('has a route that answers and stores the chat', async () => {
    const [route = ''] = examplesOf(CHAT)
    const models = join(import.meta.dirname, 'models.ts')
    const code = route.replace(
      "import { openai } from '@ai-sdk/openai'",
      `import { scripted, text } from ${JSON.stringify(models)}\nconst openai = (_: string) => scripted([[text('Hello.')]])`,
    )
    const driver = `
      const chats = await openChats()
      const id = await chats.create()
      const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }
      const request = new Request('http://localhost/', { method: 'POST', body: JSON.stringify({ id, message }) })
      await (await POST(request)).text()
      for (const { role, parts } of await chats.load(id)) console.log(role, JSON.stringify(parts.at(-1)))`
    expect((await runAsUser(code + driver)).trim().split('\n')).toEqual([
      'user {"type":"text","text":"hi"}',
      'assistant {"type":"text","text":"Hello.","state":"done"}',
    ])
  })

  it('has a function that forks a chat before an answer', async () => {
    const code = examplesOf(CHAT).find((example) => example.includes('chats.fork('))!
    const driver = `
      const parts = (text: string) => [{ type: 'text' as const, text }]
      const messages = [
        { id: 'u1', role: 'user' as const, parts: parts('hi') },
        { id: 'a1', role: 'assistant' as const, parts: parts('Hello.') },
      ]
      await chats.save({ chatId: 'old', messages })
      const fork = await branch('old', 'a1')
      console.log(fork.messages.map(({ id }) => id).join(), (await chats.load('old')).length)`
    expect((await runAsUser(code + driver)).trim()).toBe('u1 2')
  })

  it('names every option and every verb', () => {
    const verbs = Object.keys(chatStore({ prepareRequest: () => {} } as never))
    for (const name of verbs) expect(CHAT).toContain(`| \`${name}(`)
    for (const name of [...Object.keys(chatOptionsSchema.shape), ...Object.keys(turnSchema.shape)])
      expect(CHAT).toMatch(new RegExp(`\`${name}\\b`))
  })
})

import { describe, expect, it } from 'vitest'
import { modelSummarizer, openStore } from '../../src/index.ts'

/*
 * The setting `userTools` names tools with which a person answers. It counts wherever results are read: not only where stages leave them.
 */

const ANSWER = 'Deploy to Oslo, and never on a Friday.'
const talk = [
  { role: 'user', content: 'Set up the deployment.' },
  {
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'my_form', input: { question: 'Where?' } }],
  },
  {
    role: 'tool',
    content: [
      { type: 'tool-result', toolCallId: 'c1', toolName: 'my_form', output: { type: 'text', value: ANSWER } },
    ],
  },
  { role: 'assistant', content: `I set it up. ${'Each step is written down. '.repeat(60)}` },
  { role: 'user', content: 'Thanks.' },
  { role: 'assistant', content: 'You are welcome.' },
] as const

describe('an answer through a tool that the setting names', () => {
  const range = { from: 1, to: 4 }

  it('is quoted and a rule of the user in an offline summary, and otherwise an output', async () => {
    const shown = async (config: object): Promise<string> => {
      await using store = await openStore(':memory:')
      await store.append('s', talk)
      await store.compactSession('s', { range, ...config })
      return String((await store.getEffectiveHistory('s'))[0]!.content)
    }
    const quoted = `User: "${ANSWER}" (message 3)`
    expect(await shown({ userTools: ['my_form'] })).toContain(quoted)
    expect(await shown({})).not.toContain('User: "Deploy')
  })

  it('counts also when the session names the tool', async () => {
    await using store = await openStore(':memory:')
    await store.sessions.create({ id: 's', config: { userTools: ['my_form'] } })
    await store.append('s', talk)
    await store.compactSession('s', { range })
    expect(String((await store.getEffectiveHistory('s'))[0]!.content)).toContain(`User: "${ANSWER}"`)
  })

  it('comes to a model as the user’s words', async () => {
    const prompts: string[] = []
    const summarizer = modelSummarizer({
      name: 'scripted',
      maxInputTokens: 50_000,
      generate: ({ prompt }) => {
        prompts.push(prompt)
        return Promise.resolve({ text: `The user wants: ${ANSWER}`, finishReason: 'stop' })
      },
    })
    await using store = await openStore(':memory:', { summarizer })
    await store.append('s', talk)
    await store.compactSession('s', { range, userTools: ['my_form'] })
    expect(prompts[0]).toContain(`from: user, in answer to my_form\n${ANSWER}`)
    expect(prompts[0]).toMatch(/RULES OF THE USER\n.*never on a Friday/)
  })

  it('is shown whole from the beginning, however long', async () => {
    const long = 'Deploy to Oslo. '.repeat(20_000)
    const answer = {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'c1', toolName: 'my_form', output: { type: 'text', value: long } },
      ],
    } as const
    const shown = async (userTools: string[] | undefined): Promise<number> => {
      await using store = await openStore(':memory:')
      await store.sessions.create({ id: 's', ...(userTools && { config: { userTools } }) })
      await store.append('s', [talk[0], talk[1], answer])
      return JSON.stringify(await store.getEffectiveHistory('s')).length
    }
    expect(await shown(['my_form'])).toBeGreaterThan(long.length)
    expect(await shown(undefined)).toBeLessThan(long.length / 2)
  })
})

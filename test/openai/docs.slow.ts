import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { CALLS } from '../../src/adapters/openai/responses-content.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'openai.md'), 'utf8')

it('has an example that runs', async () => {
  const [example = ''] = examplesOf(PAGE)
  const model = `class OpenAI {
    responses = {
      create: async ({ input }: { input: readonly object[] }) => {
        console.log(JSON.stringify(input))
        const content = [{ type: 'output_text', text: 'Nothing.', annotations: [] }]
        return { output: [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }] }
      },
    }
  }`
  const code = example.replace("import OpenAI from 'openai'", '').replace("'chats.db'", "':memory:'")
  const printed = await runAsUser(`${model}
    ${code}
    console.log((await store.getMessages('session-1')).map(({ role }) => role).join())
    await store.close()`)
  expect(printed.trim().split('\n')).toEqual([
    '[{"role":"user","content":"What did we say yesterday?"}]',
    'user,assistant',
  ])
})

it('names every call, and every kind of note', () => {
  for (const type of CALLS.keys()) expect(PAGE).toContain(`\`${String(type)}\``)
  for (const kind of ['kept', 'unread', 'changed', 'not-sent']) expect(PAGE).toContain(`| \`${kind}\` |`)
})

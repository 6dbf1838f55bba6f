import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { COMMANDS } from '../src/cli/commands.ts'
import { examplesOf, runAsUser } from './support/run-as-user.ts'

const REPOSITORY = join(import.meta.dirname, '..')
const README = readFileSync(join(REPOSITORY, 'README.md'), 'utf8')
const CONTRIBUTING = readFileSync(join(REPOSITORY, 'CONTRIBUTING.md'), 'utf8')
const blocks = examplesOf(README)

it('has a first example that prints the output of the README', async () => {
  const [, printed = ''] = /```text\n([\s\S]*?)```/.exec(README) ?? []
  expect(await runAsUser(blocks[0]!)).toBe(printed)
})

it('has at most 150 lines, none over 140 characters', () => {
  const lines = README.trimEnd().split('\n')
  expect(lines.length).toBeLessThanOrEqual(150)
  expect(lines.filter((line) => line.length > 140)).toEqual([])
})

it('gives the commands for a fresh clone', () => {
  expect(README).toContain('`npm ci && npm run demo`')
  expect(README).toContain('`npm ci && npm test`')
})

it('names only commands that there are', () => {
  const commands = [...README.matchAll(/npx undertext ([a-z]+)/g)].map(([, name]) => name!)
  expect(commands.length).toBeGreaterThan(4)
  const known = COMMANDS.map(({ name }) => name)
  for (const name of commands) expect(known).toContain(name)
})

it('runs the example of the AI SDK', async () => {
  const opening = `
    import * as mocks from 'ai/test'
    const { MockLanguageModelV3, MockLanguageModelV4 } = mocks as any
    const count = { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0, text: 10, reasoning: 0 }
    const large = new (MockLanguageModelV4 ?? MockLanguageModelV3)({
      doGenerate: async () => ({
        content: [{ type: 'text', text: 'Nothing yet.' }],
        finishReason: { unified: 'stop' },
        usage: { inputTokens: count, outputTokens: count },
        warnings: [],
      }),
    })
    const openai = () => large`
  const code = blocks[1]!
    .replace("import { openai } from '@ai-sdk/openai'\n", '')
    .replace("'chats.db'", "':memory:'")
  const out = await runAsUser(`${opening}\n${code}
    console.log(text, (await store.getMessages('session-1')).map(({ role }) => role).join())
    await store.close()`)
  expect(out.trim()).toBe('Nothing yet. user,assistant')
})

it('names only scripts that exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const named = [...`${README}${CONTRIBUTING}`.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!)
  expect(named.length).toBeGreaterThan(3)
  for (const name of named) expect(Object.keys(scripts)).toContain(name)
})

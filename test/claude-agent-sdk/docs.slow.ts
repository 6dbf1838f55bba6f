import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { undertextSessionStore } from '../../src/adapters/claude-agent-sdk/index.ts'
import { openStore } from '../../src/index.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'claude-agent-sdk.md'), 'utf8')
const [first = '', second = ''] = examplesOf(PAGE)

it('has a first example that calls Claude Code, here a stand-in that prints its call', async () => {
  const claude = `
    const query = async function* (request: { prompt: string; options: { sessionStore: unknown } }) {
      yield { type: 'result', session_id: typeof request.options.sessionStore, subtype: 'success' }
    }`
  const code = first.replace(/import \{ query \}.*\n/, '').replace("'chats.db'", "':memory:'")
  expect((await runAsUser(`${claude}\n${code}\nawait store.close()`)).trim()).toBe('object success')
})

it('has a second example that prints the output shown', async () => {
  const [, said] = /\/\/ (\d+ null \d+)$/m.exec(second)!
  expect((await runAsUser(second)).trim()).toBe(said)
})

it('names every option, and every function of the SDK that it speaks of', async () => {
  for (const name of ['store', 'actor', 'foldSessionSummary']) expect(PAGE).toContain(`| \`${name}\` |`)
  const sdk: Record<string, unknown> = await import('@anthropic-ai/claude-agent-sdk')
  const sentence = /functions\s+for\s+sessions\s+accept\s+the\s+same\s+object:\s+([^.]+)\./.exec(PAGE)![1]!
  for (const [, name = ''] of sentence.matchAll(/`(\w+)`/g)) expect(sdk[name], name).toBeTypeOf('function')
  const store = await openStore(':memory:')
  expect(undertextSessionStore({ store }).restore).toBeTypeOf('function')
  await store.close()
})

import { expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { assistant, call as called, did, failure, summarize, user } from '../summarizers/support.ts'
import { call, result, say } from '../support/conversation.ts'

const REFUSED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected. The user provided the following reason for the rejection:  use pnpm"

it('prune and clear leave answers and reasons of refusals, and take other outputs', async () => {
  for (const stages of [['prune'], [{ stage: 'clear_tool_results', keep: 0 }]] as const) {
    await using store = await openStore(':memory:', { env: false })
    await store.append('s', [
      say('user', 'go'),
      call('a', 'ask_user', { question: 'Which?' }),
      result('a', 'pnpm '.repeat(400)),
      call('b', 'bash', { command: 'npm i' }),
      result('b', `${REFUSED} ${'please '.repeat(400)}`),
      call('c', 'bash', { command: 'ls' }),
      result('c', 'file '.repeat(400)),
      say('user', 'and?'),
    ])
    await store.compactSession('s', {
      stages: stages as never,
      targetTokens: 1,
      pruneProtectTokens: 0,
      pruneMinimumSavings: 0,
    })
    const shown = JSON.stringify(await store.getEffectiveHistory('s'))
    expect(shown).toContain('pnpm pnpm')
    expect(shown).toContain('please please')
    expect(shown).not.toContain('file file')
  }
})

it('a summary quotes an answer with its question, and a refusal with its reason', () => {
  const text = summarize([
    user('Make the tool installable.'),
    ...did('a', 'AskUserQuestion', { questions: [{ question: 'Which manager?' }] }, 'Never use npm here.'),
    assistant('', called('b', 'bash', { command: 'npm install' })),
    failure('b', REFUSED),
    ...did('c', 'bash', { command: 'ls' }, 'line of output\n'.repeat(400)),
  ])
  expect(text).toContain('"Never use npm here."')
  expect(text).toContain('(asked: Which manager?)')
  expect(text).toContain('User: "Never use npm here."')
  expect(text).toContain('refused by the user: use pnpm')
})

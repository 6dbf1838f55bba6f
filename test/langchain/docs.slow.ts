import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'langchain.md'), 'utf8')

it.each(examplesOf(PAGE).map((example, i) => [i + 1, example] as const))(
  'example %i of the page prints the output shown',
  async (_, example) => {
    const said = [...example.matchAll(/console\.log\(.*\/\/ (.+)$/gm)].map(([, text]) => text)
    expect(said.length).toBeGreaterThan(0)
    expect((await runAsUser(example)).trim().split('\n')).toEqual(said)
  },
)

it('names every option of the history', () => {
  for (const option of [
    'store',
    'sessionId',
    'view',
    'provider',
    'model',
    'owner',
    'compact',
    'actor',
    'lenient',
    'onNote',
  ])
    expect(PAGE).toMatch(new RegExp(`^\\| .*\`${option}\`.* \\|`, 'm'))
})

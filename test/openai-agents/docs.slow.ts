import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { UndertextSession } from '../../src/adapters/openai-agents/index.ts'
import { ITEMS } from '../../src/adapters/openai-agents/item-shapes.ts'
import { sessionSchema } from '../../src/adapters/openai-agents/session-options.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')
const PAGE = readFileSync(join(REPOSITORY, 'docs', 'openai-agents.md'), 'utf8')

/** A model in place of the provider's; the page's code is run as it stands otherwise. */
const MODEL = `import { setTracingDisabled } from '@openai/agents'
import { MockModel } from ${JSON.stringify(join(REPOSITORY, 'examples', 'openai-agents', 'mock-model.ts'))}
setTracingDisabled(true)
`

it.each([0, 1, 2])('example %i prints the output shown', async (index) => {
  const example = examplesOf(PAGE)[index]!.replace(
    'new OpenAIProvider()',
    '{ getModel: () => new MockModel() }',
  )
  const [, said] = /\/\/ (.+)$/m.exec(example)!
  expect((await runAsUser(`${MODEL}\n${example}`)).trim()).toBe(said)
})

it('names every item, every option, and every method that takes something back', () => {
  const results = /_(result|output)$/
  for (const type of ITEMS.keys()) {
    const isOfPair = [
      'computer_call_result',
      'shell_call_output',
      'apply_patch_call_output',
      'program_output',
    ].includes(String(type))
    if (!isOfPair) expect(PAGE).toContain(`\`${String(type)}\``)
    else expect(String(type)).toMatch(results)
  }
  for (const option of Object.keys(sessionSchema.shape)) expect(PAGE).toMatch(new RegExp(`\`${option}\\b`))
  for (const method of [
    'popItem',
    'clearSession',
    'applyHistoryMutations',
    'applyHistoryTransaction',
    'replaceHistoryWithCompaction',
  ] as const) {
    expect(UndertextSession.prototype[method]).toBeTypeOf('function')
    expect(PAGE).toContain(`\`${method}\``)
  }
})

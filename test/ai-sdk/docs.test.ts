import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ANSWER_PROBLEMS, buildSummarizationPrompt } from '../../src/index.ts'
import { modelSummarizerSchema } from '../../src/summarizers/model/model-summarizer.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'models.md'), 'utf8')

it('names every problem of an answer, every option, and the wording of the prompt', () => {
  for (const problem of ANSWER_PROBLEMS) expect(PAGE).toContain(`| \`${problem}\` |`)
  const shared = Object.keys(modelSummarizerSchema.shape).filter(
    (name) => !['generate', 'provider', 'retryWaitMs', 'canUse'].includes(name),
  )
  for (const name of shared) expect(PAGE).toContain(`| \`${name}\` |`)
  expect(PAGE).toContain(`\`${buildSummarizationPrompt([]).promptVersion}\``)
})

it('has an example that prints what it says', async () => {
  const [, example = ''] = examplesOf(PAGE)
  const [, said] = /\/\/ (mine .+)$/m.exec(example)!
  const model = `const callYourModel = async (..._: unknown[]) =>
    ({ text: '## Current Work\\n- looking again', usage: { inputTokens: 900, outputTokens: 12 } })`
  expect((await runAsUser(`${model}\n${example}`)).trim()).toBe(said)
})

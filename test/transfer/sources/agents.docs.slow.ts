import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { examplesOf, runAsUser } from '../../support/run-as-user.ts'

const IMPORTS = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'imports.md'), 'utf8')
const PAGE = IMPORTS.slice(IMPORTS.indexOf('## Sessions of coding agents'))
const [example = ''] = examplesOf(PAGE)

it('has an example that prints the output shown', async () => {
  const said = [...example.matchAll(/\/\/ (.+)$/gm)].map(([, line]) => line)
  expect(said).toHaveLength(3)
  expect((await runAsUser(example)).trim().split('\n')).toEqual(said)
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { documentSchema } from '../../src/transfer/document/options.ts'
import { viewSchema } from '../../src/transfer/export-view.ts'
import { VIEW_FORMATS } from '../../src/transfer/view-formats.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'exports.md'), 'utf8')

it('has an example that prints the output shown', async () => {
  const [example = ''] = examplesOf(PAGE)
  const said = [...example.matchAll(/^\/\/ (.+)$/gm)].map(([, line]) => line)
  expect(said).toHaveLength(2)
  expect((await runAsUser(example)).trim().split('\n')).toEqual(said)
})

it('names every format and every option', () => {
  for (const format of VIEW_FORMATS) expect(PAGE).toMatch(new RegExp(`^\\| \`${format}\``, 'm'))
  const options = [...Object.keys(documentSchema.shape), ...Object.keys(viewSchema.shape)]
  for (const option of options.filter((name) => name !== 'format'))
    expect(PAGE).toContain(`| \`${option}\` |`)
})

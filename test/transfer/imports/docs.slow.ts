import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { SOURCES } from '../../../src/transfer/detect.ts'
import { importFileSchema } from '../../../src/transfer/import-report.ts'
import { examplesOf, runAsUser } from '../../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'imports.md'), 'utf8')

it('the page has examples that print the output shown', async () => {
  const printed = await Promise.all(examplesOf(PAGE).slice(0, 4).map(runAsUser))
  expect(printed.map((lines) => lines.trim().split('\n'))).toEqual([
    ['messages talk 2', 'unchanged 0'],
    ['refused 2 one place cannot be read', 'imported 2 1'],
    ['ann/talk'],
    ['imported 3 applied', "[ 'To Lyon.', 'And when?' ]", 'unchanged'],
  ])
})

it('the page has every source and every option', () => {
  for (const { name } of SOURCES) expect(PAGE).toContain(`| \`${name}\` |`)
  const table = PAGE.slice(PAGE.indexOf('## Options'), PAGE.indexOf('## The report'))
  for (const name of Object.keys(importFileSchema.shape)) expect(table).toContain(`\`${name}\``)
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { REFUSAL_WORDINGS } from '../../../src/core/overflow/refusal-wordings.ts'
import { WORDINGS } from '../../../src/core/overflow/wordings.ts'
import { OTHERS, OVERFLOWS } from './labelled.ts'
import { LAST_OTHERS, LAST_OVERFLOWS } from './labelled-last.ts'
import { LATER_OTHERS, LATER_OVERFLOWS } from './labelled-later.ts'
import { PROBE_OTHERS, PROBE_OVERFLOWS } from './labelled-probe.ts'

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'overflow-errors.md'), 'utf8')

function rowsUnder(heading: string): string[][] {
  const table =
    page
      .slice(page.indexOf(heading))
      .split('\n\n')
      .find((part) => part.startsWith('|')) ?? ''
  const rows = table.trimEnd().split('\n').slice(2)
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  )
}

it('lists the wordings of the code, in their order', () => {
  const listed = WORDINGS.map(({ provider, sample, trust, also }) => [
    provider ?? '–',
    sample.replaceAll('|', '\\|'),
    trust,
    also.join(', '),
  ])
  expect(rowsUnder('## The wordings')).toEqual(listed)
})

it('lists the wordings of refusals, in their order', () => {
  expect(rowsUnder('## Refusals of the content')).toEqual(
    REFUSAL_WORDINGS.map(({ kind, providers, sample }) => [kind, providers, sample.replaceAll('|', '\\|')]),
  )
})

it('counts the labelled sets as they are', () => {
  expect(rowsUnder('## How it was tested').map((row) => [row[1], row[5]])).toEqual(
    [
      [OVERFLOWS, OTHERS],
      [LATER_OVERFLOWS, LATER_OTHERS],
      [PROBE_OVERFLOWS, PROBE_OTHERS],
      [LAST_OVERFLOWS, LAST_OTHERS],
    ].map((lists) => lists.map((list) => String(list!.length))),
  )
})

it('has no wording twice', () => {
  expect(new Set(WORDINGS.map(({ provider, sample }) => `${provider} ${sample}`)).size).toBe(WORDINGS.length)
})

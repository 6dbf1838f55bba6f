import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { normalizeText } from '../../../src/core/overflow/normalize.ts'
import { OVERFLOW_WORDINGS, REFUSAL_WORDINGS } from '../../../src/core/overflow/wordings.ts'
import { readOverflow } from '../../../src/index.ts'
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

/** The text of a sample: N, M, A, B, C, D are numbers, X is a name. */
function textOf(sample: string): string {
  const text = sample.replaceAll('\\|', '|').replaceAll('`', '')
  return normalizeText(text.replace(/\b[NMABCD]\b/g, '12000').replace(/\bX\b/g, 'abc_1'))
}

const overflows = rowsUnder('## The wordings')
const refusals = rowsUnder('## Refusals of the content')

it('has samples that are read as the page says', () => {
  const read = overflows.map(([, sample = '']) => {
    const text = textOf(sample)
    const { kind, providers = [] } = OVERFLOW_WORDINGS.find(({ pattern }) => pattern.test(text)) ?? {}
    expect([sample, readOverflow(text)?.provider]).toEqual([sample, providers[0] ?? null])
    return [providers[0] ?? '–', sample, kind, providers.slice(1).join(', ')]
  })
  expect(read).toEqual(overflows)
})

it('has samples of refusals that are read as the page says', () => {
  for (const [kind, , sample = ''] of refusals) {
    const text = textOf(sample).replaceAll("'", '')
    const first = REFUSAL_WORDINGS.find(({ pattern }) => pattern.test(text))
    expect([sample, first?.kind]).toEqual([sample, kind])
  }
})

/** Rows beside each other with the same values count once. */
function merged(rows: readonly string[]): string[] {
  return rows.filter((row, i) => row !== rows[i - 1])
}

it('lists the wordings of the code in their order: their kinds and providers', () => {
  const ofCode = (wordings: readonly { kind: string; providers: readonly string[] }[]): string[] =>
    merged(wordings.map(({ kind, providers }) => [kind, ...providers].join(', ')))
  const names = (...cells: readonly (string | undefined)[]): string =>
    cells.filter((cell) => cell !== '' && cell !== '–').join(', ')
  expect(merged(overflows.map(([provider, , trust, also]) => names(trust, provider, also)))).toEqual(
    ofCode(OVERFLOW_WORDINGS),
  )
  expect(merged(refusals.map(([kind, providers]) => names(kind, providers)))).toEqual(
    ofCode(REFUSAL_WORDINGS),
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

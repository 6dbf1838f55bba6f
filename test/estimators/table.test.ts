import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sharedPath } from '../support/shared.ts'
import { COLUMNS, contextErrors, corpusRows, type Row, sampleRows } from './measurements.ts'
import { DOCUMENT } from './table.ts'

const hasCorpora = [
  sharedPath('corpus/coding-session.anthropic.jsonl'),
  sharedPath('corpus/airline-support.openai.jsonl'),
].every((path) => path !== undefined)

const document = readFileSync(DOCUMENT, 'utf8')

/** The rows of a published table: the first cell, and the others as numbers. */
function published(mark: string): (readonly [string, readonly number[]])[] {
  const text = document.slice(document.indexOf(`<!-- ${mark} -->`), document.indexOf(`<!-- /${mark} -->`))
  return text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) => line.split('|').slice(1, -1))
    .map(([first = '', ...cells]) => [first.trim(), cells.map(Number)] as const)
}

function expectSame(mark: string, rows: readonly Row[]): void {
  const table = published(mark)
  expect(table.map(([kind]) => kind)).toEqual(rows.map(({ kind }) => kind))
  rows.forEach(({ kind, tokens, errors }, at) => {
    const [, cells = []] = table[at] ?? []
    expect(cells[0], kind).toBe(tokens)
    errors.forEach((error, column) => {
      expect(Math.abs(error - (cells[column + 1] ?? Number.NaN)), `${kind}, ${COLUMNS[column]}`).toBeLessThan(
        0.1,
      )
    })
  })
}

describe('docs/estimators.md', () => {
  it('has the figures of the sample texts', async () => {
    expectSame('samples', await sampleRows())
  })

  it.skipIf(!hasCorpora)('has the figures of the corpora', async () => {
    expectSame('corpus', (await corpusRows())!)
  })

  it.skipIf(!hasCorpora)('has the figures of the context', async () => {
    const found = (await contextErrors())!
    const table = published('context')
    expect(table.map(([name]) => name)).toEqual(found.map(({ name }) => name))
    found.forEach(({ name, median, p5, p95 }, at) => {
      const cells = table[at]?.[1] ?? []
      ;[median, p5, p95].forEach((figure, column) => {
        expect(Math.abs(figure - (cells[column] ?? Number.NaN)), name).toBeLessThan(0.1)
      })
    })
  })
})

describe('calibrated', () => {
  const column = COLUMNS.indexOf('calibrated')

  it('is within 20 % of o200k for every kind of sample, and within 15 % for all but two', async () => {
    const errors = (await sampleRows()).map(
      ({ kind, errors }) => [kind, errors[column] ?? Number.NaN] as const,
    )
    expect(errors.filter(([, error]) => !(Math.abs(error) < 20.05))).toEqual([])
    expect(errors.filter(([, error]) => !(Math.abs(error) <= 15)).map(([kind]) => kind)).toEqual([
      'Hebrew',
      'box drawing',
    ])
  })

  it.skipIf(!hasCorpora)(
    'is within 3 % over the coding session, within 9 % for every kind of part',
    async () => {
      for (const { kind, errors } of (await corpusRows())!)
        expect(Math.abs(errors[column] ?? Number.NaN), kind).toBeLessThanOrEqual(
          kind.endsWith('all of it') ? 3 : 9,
        )
    },
  )

  it.skipIf(!hasCorpora)(
    'predicts the size of the context better than the founding formula does',
    async () => {
      const found = (await contextErrors())!
      const of = (wanted: string) => found.find(({ name }) => name === wanted)
      const [ours, founding] = [of('calibrated'), of('neurolink')]
      expect(Math.abs(ours?.median ?? Number.NaN)).toBeLessThanOrEqual(5)
      expect(Math.abs(founding?.median ?? 0)).toBeGreaterThan(Math.abs(ours?.median ?? Number.NaN))
    },
  )
})

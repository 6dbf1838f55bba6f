import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DEFAULT_WEIGHTS } from '../../src/compat/arrays/index.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const COMPACTION = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'compaction.md'), 'utf8')
const PAGE = COMPACTION.slice(COMPACTION.indexOf('## Importance and pins'))

it('the example prints what the page shows', async () => {
  const [example] = examplesOf(PAGE)
  const said = example!.split('\n').filter((line) => line.startsWith('// '))
  const out = await runAsUser(example!)
  expect(out.trim().split('\n')).toEqual(said.map((line) => line.slice(3)))
})

it('the page has the points of every signal', () => {
  const rows = [...PAGE.matchAll(/^\| `(\w+)` \| ([−\d]+)/gm)].map(([, signal, points]) => [
    signal,
    Number(points!.replace('−', '-')),
  ])
  expect(Object.fromEntries(rows)).toEqual(DEFAULT_WEIGHTS.signals)
})

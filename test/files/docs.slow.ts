import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'files-and-tool-outputs.md')
const blocks = examplesOf(readFileSync(PAGE, 'utf8'))

it('has examples that print the output shown', async () => {
  expect(blocks.length).toBe(4)
  const model =
    "const askYourModel = async (prompt: string, _: AbortSignal) => 'Many words, ' + (prompt.length > 1000)"
  const printed = await Promise.all(blocks.map((code) => runAsUser(`${model}\n${code}`)))
  expect(printed.map((lines) => lines.trim().split('\n'))).toEqual([
    // 214,892 bytes, of which at most 51,200 are shown: more than 163,000 go, and no token has as many as 5.4.
    ['1 true', 'true'],
    // 12 tokens are 10 units, 40 characters: the first sentence has 32.
    ['true true A first sentence of some length....'],
    // 9 × 20 + 90 × 21 + 900 × 22 + 4,001 × 23 bytes, and 4,999 breaks.
    ['true 118892 true', '101 4900'],
    // (128,000 − 4,000 − 60,000) × 0.6 = 38,400 tokens are too few for the large file's 138,000, so it is cut.
    ['true 2 1', 'src/small.ts: kept, docs/large.md: summarized', 'true'],
  ])
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { OVERFLOW_TARGET, PREPARE_WAIT_MS } from '../../src/index.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'requests.md'), 'utf8')

it('S3-011: the page has examples that do what they say', async () => {
  const blocks = examplesOf(PAGE)
  expect(blocks.length).toBe(2)
  const model =
    "const askYourModel = async (..._: unknown[]) => ({ text: 'Answer.', stopReason: 'stop', usage: { inputTokens: 20 } })"
  const printed = await Promise.all(blocks.map((code) => runAsUser(`${model}\n${code}`)))
  expect(printed.map((lines) => lines.trim().split('\n'))).toEqual([
    ['true 2', 'true 4'],
    // 2,000 less the 500 for the answer.
    ['1500 true 0'],
  ])
})

it('the page names the figures as the code has them', () => {
  expect(PAGE).toContain(`**\`waitMs\`** (${PREPARE_WAIT_MS.toLocaleString('en-US')})`)
  expect(PAGE).toContain(`down to ${OVERFLOW_TARGET * 100} percent`)
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { nextStep } from '../../src/core/messages/stop-reason.ts'
import { DEFAULT_WARNING_LEVELS } from '../../src/store/config/settings.ts'
import { STORE_EVENTS } from '../../src/store/events.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const REQUESTS = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'requests.md'), 'utf8')
const PAGE = REQUESTS.slice(REQUESTS.indexOf('## Turn hooks'))
const blocks = examplesOf(PAGE)

it('has examples that print the output shown', async () => {
  expect(blocks.length).toBe(3)
  const model =
    "const askYourModel = async (..._: unknown[]) => ({ text: 'Answer.', stopReason: 'end_turn' })"
  const printed = await Promise.all(blocks.map((code) => runAsUser(`${model}\n${code}`)))
  expect(printed.map((lines) => lines.trim().split('\n'))).toEqual([
    ['1 final false', '2 final true'],
    // 80 messages of some 200 tokens are over 1,000; what is left is less than half.
    ['false VETOED', 'true'],
    [
      'true 40 20',
      'Be brief.',
      '',
      'Previously in this conversation:',
      '[user] One?',
      '[assistant] One.',
      'true',
    ],
  ])
})

it('names every event and every stop reason as the code has them', () => {
  for (const name of STORE_EVENTS) expect(PAGE).toContain(`| \`${name}\` |`)
  const rows = [...PAGE.matchAll(/^\| `(continue|tools)` \| ([^|]*) \|/gm)]
  expect(rows).toHaveLength(2)
  for (const [, next, reasons] of rows)
    for (const [, reason] of reasons!.matchAll(/`([^`]+)`/g)) expect(nextStep(reason)).toBe(next)
  expect(PAGE).toContain(`(\`warningLevels\`, default ${DEFAULT_WARNING_LEVELS.join(' and ')})`)
})

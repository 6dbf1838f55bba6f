import { expect, it } from 'vitest'
import { SUMMARY_SECTIONS } from '../../src/core/summarizers/summarizer.ts'
import { shortenSummary } from '../../src/store/compaction/write-summary.ts'

const RULES = '## Constraints and Established Rules\n- never touch rates.py\n- answer in French'
const WORK = `## Current Work\n${'- a step was taken\n'.repeat(100)}`
const within = (length: number) => (text: string) => text.length <= length

it('is left as it is while it fits', () => {
  const text = `${WORK}\n${RULES}`
  expect(shortenSummary(text, SUMMARY_SECTIONS, within(text.length))).toBe(text)
})

it.each([
  ['at the end', `${WORK}\n${RULES}`],
  ['in the middle', `${WORK}\n${RULES}\n\n${WORK}`],
  ['at the beginning', `${RULES}\n\n${WORK}`],
  ['one level deeper', `${WORK}\n#${RULES}\n\n## Next Step\n- ${'x'.repeat(2_000)}`],
])('the rules stay whole, %s, and the rest loses its middle', (_, text) => {
  const short = shortenSummary(text, SUMMARY_SECTIONS, within(400))
  expect(short.length).toBeLessThanOrEqual(400)
  expect(short.endsWith(RULES)).toBe(true)
  expect(short).toMatch(/\[… \d+ characters left out …\]/)
})

it('takes the section by the title that was requested', () => {
  const text = `${'a'.repeat(500)}\n# User preferences or constraints\n- no tabs\n# Technical discoveries\n${'b'.repeat(500)}`
  const short = shortenSummary(
    text,
    ['User preferences or constraints', 'Technical discoveries'],
    within(200),
  )
  expect(short.endsWith('# User preferences or constraints\n- no tabs')).toBe(true)
})

it('rules that do not fit themselves are shortened like anything else; nothing fits into nothing', () => {
  expect(shortenSummary(`${WORK}${RULES}`, SUMMARY_SECTIONS, within(60)).length).toBeLessThanOrEqual(60)
  expect(shortenSummary(RULES, SUMMARY_SECTIONS, within(0))).toBe('')
  // Nothing but the rules fits.
  expect(shortenSummary(`${WORK}${RULES}`, SUMMARY_SECTIONS, within(RULES.length))).toBe(RULES)
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { clearToolResults, composite, slidingWindow, summarizeOlder } from '../../src/compat/arrays/index.ts'
import { examplesOf, runAsUser } from '../support/run-as-user.ts'

const whole = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'compaction.md'), 'utf8')
const page = whole.slice(whole.indexOf('## Strategies'), whole.indexOf('## Importance and pins'))

describe('docs/compaction.md, strategies', () => {
  it('has a row for each strategy, with cost, quality and best use [S0-85 S0-86 S0-87 S0-88 S0-89]', () => {
    const rows = page
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')))
    const rowOf = (name: string): string[] => rows.find((row) => row[1] === name)!.slice(3)
    expect(rowOf(`\`${slidingWindow({ last: 1 }).name}\``)).toEqual([
      'none',
      'low',
      'short conversations, prototyping',
    ])
    const [cost, quality] = rowOf(`\`${summarizeOlder({ keepLast: 1 }).name}\``)
    expect([cost, quality]).toEqual([expect.stringContaining('one model call'), 'high'])
    expect(rowOf(`\`${clearToolResults({ keep: 1 }).name}\``)).toEqual([
      'none',
      'medium',
      'tool-heavy agents with large outputs',
    ])
    expect(rowOf(`\`${composite({ stages: [] }).name}\``).slice(0, 2)).toEqual(['varies', 'high'])
    expect(rowOf('–')).toEqual([
      'managed by the provider',
      'depends on the provider',
      'users who prefer server management',
    ])
    expect(rows.map((row) => row[1])).toContain(`\`${slidingWindow({ last: 1, summarize: true }).name}\``)
  })

  it('recommends clearing, then dropping, then summarizing [S0-47]', () => {
    expect(page).toContain('Put cheap strategies first: clear tool results, then drop, then summarize.')
  })

  it('has examples that print the output shown', async () => {
    const printed = await Promise.all(examplesOf(page).map((code) => runAsUser(code)))
    expect(printed.map((lines) => lines.trim().split('\n'))).toEqual([
      // The window of ten, with the system message's 7 units: 37 × 1.15 + 11 × 4 + 24 = 111 tokens. Without the oldest two
      // 31 × 1.15 + 9 × 4 + 24 = 96, within 100.
      ['11', '9 22 false clear_tool_results sliding_window sliding_window', 'false'],
      ["[ { role: 'user', content: 'Hi' } ]"],
      ['1 summary summary summary summary', '0 8', '32'],
    ])
  })
})

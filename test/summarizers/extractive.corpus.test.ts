import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fromAnthropic } from '../../src/adapters/anthropic/from-anthropic.ts'
import { digestToolCalls, filesOf, mergeDigests } from '../../src/core/summarizers/digest.ts'
import { estimateTokens } from '../../src/core/tokens/measure.ts'
import { sharedPath } from '../support/shared.ts'
import { type Row, sectionsOf, summarize } from './support.ts'

const path = sharedPath('corpus/coding-session.anthropic.jsonl')

describe.skipIf(path === undefined)('a real coding session', () => {
  const lines = path === undefined ? [] : readFileSync(path, 'utf8').trim().split('\n')
  const rows: Row[] = fromAnthropic(lines.map((line) => JSON.parse(line) as object)).map((message) => ({
    ...message,
    kind: 'message',
  }))
  const root = '/Users/badlogic/workspaces/pi-mono/packages/coding-agent/'

  // Where the session itself was compacted, by a model.
  const first = rows.slice(0, 344)

  it.each([700, 1_500, 4_000])('names the task and what matters most in %i tokens', (maxTokens) => {
    const text = summarize(first, { maxTokens })

    expect(estimateTokens(text)).toBeLessThanOrEqual(maxTokens)
    expect(text).toContain('i feel like this is one big mess and could be refactored to be nicer.')
    expect(text).toContain('WP15')
    expect(text).toContain('i would only want e2e tests for AgentSession, anything else is shitty.')
  })

  it('finds in 4,000 tokens what a model found worth telling', () => {
    const text = summarize(first)
    const sections = sectionsOf(text)

    expect(sections['Primary Request and Intent']?.[0]).toContain(
      "i'm especially interested in code sharing between the different run modes (print/json, rpc, interactive)",
    )
    expect(sections['Key Technical Concepts']).toContain('Branch: `refactor`')
    expect(sections['Key Technical Concepts']?.join('\n')).toContain('bash `npm run check` (')
    for (const file of [
      'src/core/agent-session.ts',
      'src/core/bash-executor.ts',
      'src/core/index.ts',
      'src/modes/print-mode.ts',
      'src/modes/rpc-mode.ts',
      'src/modes/index.ts',
      'src/main-new.ts',
      'src/cli-new.ts',
      'docs/refactor.md',
    ]) {
      expect(sections['Files and Code Sections']?.some((line) => line.startsWith(`\`${file}\` — `))).toBe(
        true,
      )
    }
    expect(sections['Required Files']).toContain(`\`${root}src/core/agent-session.ts\``)
    expect(sections['Pending Tasks']?.[0]).toBe(
      'WP15: Create InteractiveMode (refactor TuiRenderer to use AgentSession)',
    )
    expect(sections['Task Evolution']).toContain('Commit: WP13: Create modes/index.ts barrel export')
    expect(sections['Problem Solving']?.join('\n')).toContain(
      "bash `npm run check` failed, later succeeded: ../coding-agent/src/main-new.ts(499,20): error TS2304: Cannot find name 'join'.",
    )
    const rules = sections['Constraints and Established Rules']?.join('\n')
    expect(rules).toContain('can we make it so we keep the old code around for reference?')
    expect(sections['Next Step']?.join('\n')).toContain('Would you like me to continue with WP15')
  })

  it('keeps them when the session continues and is summarized twice more', () => {
    const second = summarize(rows.slice(344, 598), { previousSummary: summarize(first) })
    const third = summarize(rows.slice(598), { previousSummary: second })

    for (const text of [second, third]) {
      expect(estimateTokens(text)).toBeLessThanOrEqual(4_000)
      expect(text).toContain('i feel like this is one big mess')
      expect(text).toContain('User: "i would only want e2e tests for AgentSession, anything else is shitty."')
      expect(text).toContain('`src/core/agent-session.ts` — written, ')
      // Done meanwhile, and committed.
      expect(sectionsOf(text)['Pending Tasks']?.join('\n')).not.toMatch(/WP1[56]:/)
    }
    expect(third).toContain('src/modes/interactive/interactive-mode.ts')
    expect(sectionsOf(third)['Constraints and Established Rules']?.join('\n')).toContain(
      'can we make it so we keep the old code around for reference?',
    )
  })

  it('lists the files that were changed', () => {
    expect(filesOf(first).modified).toEqual(
      [
        'docs/refactor.md',
        'src/core/bash-executor.ts',
        'src/core/index.ts',
        'src/core/agent-session.ts',
        'src/modes/print-mode.ts',
        'src/modes/rpc-mode.ts',
        'src/modes/index.ts',
        'src/main-new.ts',
        'src/cli-new.ts',
      ].map((file) => root + file),
    )
  })

  it('digests every call once, in parts as in the whole', () => {
    const calls = (from: number, to?: number) => digestToolCalls(rows.slice(from, to))
    const whole = calls(0)

    expect(whole.entries.reduce((sum, { count }) => sum + count, 0)).toBe(454)
    expect(mergeDigests(mergeDigests(calls(0, 344), calls(344, 598)), calls(598))).toEqual(whole)
  })
})

import { describe, expect, it } from 'vitest'
import { usageWarning, warningLines } from '../../../src/cli/commands/chat/reporter.ts'

/** Stats of so many tokens of 200,000, compaction due at a share. */
function statsOf(tokens: number, threshold = 0.8) {
  return {
    estimatedInputTokens: tokens,
    availableInputTokens: 200_000,
    usageRatio: tokens / 200_000,
    threshold,
  }
}

function linesAt(tokens: number, threshold?: number): readonly string[] {
  const warning = usageWarning(statsOf(tokens, threshold), true)
  return warning === undefined ? [] : warningLines(warning)
}

describe('the warning after a turn', () => {
  it('tells the share over 60 percent, and nothing at 60 [S3-323]', () => {
    expect(linesAt(120_000)).toEqual([])
    expect(linesAt(120_001)).toEqual(['Context: 60% used'])
    expect(linesAt(130_000)).toEqual(['Context: 65% used'])
    expect(linesAt(159_999)).toEqual(['Context: 79% used'])
  })

  it('warns from 80 percent on, in two lines, with figures [S3-324 S3-325]', () => {
    const second = 'Auto-compaction will trigger to preserve conversation quality.'
    expect(linesAt(166_000)).toEqual(['Context usage: 83% of window (166,000 / 200,000 tokens)', second])
    expect(linesAt(160_000)).toEqual(['Context usage: 80% of window (160,000 / 200,000 tokens)', second])
  })

  it('warns where compaction is due when that is set otherwise', () => {
    expect(linesAt(100_000, 0.5)[0]).toBe('Context usage: 50% of window (100,000 / 200,000 tokens)')
    expect(linesAt(99_999, 0.5)).toEqual([])
    expect(linesAt(170_000, 0.9)).toEqual(['Context: 85% used'])
    expect(linesAt(180_000, 0.9)[0]).toBe('Context usage: 90% of window (180,000 / 200,000 tokens)')
  })

  it('prints nothing when compaction is off or the usage is unknown [S3-326]', () => {
    expect(usageWarning(statsOf(166_000), false)).toBeUndefined()
    expect(usageWarning(null, true)).toBeUndefined()
  })
})

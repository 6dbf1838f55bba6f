import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  DEDUP_THRESHOLD,
  KEEP_RECENT_RATIO,
  PRUNE_MINIMUM_SAVINGS,
  PRUNE_PLACEHOLDER,
  PRUNE_PROTECT_TOKENS,
  PRUNE_PROTECTED_TOOLS,
  TRUNCATION_FRACTION,
  TRUNCATION_MARKER,
} from '../../src/index.ts'
import { sharedPath } from '../support/shared.ts'

describe('seed-constants', () => {
  const path = sharedPath('golden/strategies/seed-constants.json')

  it.skipIf(path === undefined)('are what the functions use by default', () => {
    const { constants } = JSON.parse(readFileSync(path!, 'utf8')) as {
      constants: { seed: string; name: string; value: unknown }[]
    }
    const value = (name: string): unknown =>
      constants.find((constant) => constant.seed === 'S3' && constant.name === name)?.value
    expect(value('pruneProtectTokens')).toBe(PRUNE_PROTECT_TOKENS)
    expect(value('pruneMinimumSavings')).toBe(PRUNE_MINIMUM_SAVINGS)
    expect(value('pruneProtectedTools')).toEqual(PRUNE_PROTECTED_TOOLS)
    expect(value('cleared placeholder')).toBe(PRUNE_PLACEHOLDER)
    expect(value('DEDUP_THRESHOLD')).toBe(DEDUP_THRESHOLD)
    expect(value('keepRecentRatio')).toBe(KEEP_RECENT_RATIO)
    expect(value('truncationFraction')).toBe(TRUNCATION_FRACTION)
    expect(value('truncation marker')).toBe(TRUNCATION_MARKER)
  })
})

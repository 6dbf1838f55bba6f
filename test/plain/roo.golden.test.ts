import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  type ChatMessage,
  DEDUP_THRESHOLD,
  getEffectiveHistory,
  KEEP_RECENT_RATIO,
  PRUNE_MINIMUM_SAVINGS,
  PRUNE_PLACEHOLDER,
  PRUNE_PROTECT_TOKENS,
  PRUNE_PROTECTED_TOOLS,
  removeDanglingTags,
  TRUNCATION_FRACTION,
  TRUNCATION_MARKER,
  truncateWithSlidingWindow,
} from '../../src/index.ts'
import { sharedPath } from '../support/shared.ts'

/*
 * Roo Code has the same fields on its messages. Its recorded results are replayed here; where we differ on
 * purpose, the case is listed with what we give instead and why.
 */

type Case = {
  readonly fn: string
  readonly name: string
  readonly input: { readonly messages: ChatMessage[]; readonly fracToRemove?: number }
  readonly expected: unknown
}

function casesOf(file: string): Case[] {
  const path = sharedPath(`golden/agents/${file}`)
  return path === undefined ? [] : (JSON.parse(readFileSync(path, 'utf8')) as { cases: Case[] }).cases
}

/**
 * What we show instead, by the end of the case's name. Roo shows nothing before the last summary and drops half
 * pairs while it filters; we hide by tags alone and leave mending to what renders or repairs a history.
 */
const SHOWN_INSTEAD: { readonly [name: string]: { readonly why: string; readonly shown: number[] } } = {
  'should filter out orphan tool_result blocks after fresh start condensation': {
    why: 'results without their call are a matter of rendering',
    shown: [2, 3],
  },
  'should filter orphan tool_results but keep other content in mixed user message': {
    why: 'results without their call are a matter of rendering',
    shown: [2, 3, 4],
  },
  'should handle multiple orphan tool_results in a single message': {
    why: 'results without their call are a matter of rendering',
    shown: [1, 2],
  },
  'should preserve non-tool_result content in user messages': {
    why: 'results without their call are a matter of rendering',
    shown: [1, 2],
  },
  'Rewind After Condense - Issue #8295 > getEffectiveApiHistory > should return summary and messages after summary (fresh start model)':
    { why: 'a tag hides wherever its message stands, behind its summary as well', shown: [3] },
  'should hide condensed messages when their summary still exists (fresh start)': {
    why: 'a message without a tag is visible, before a summary as well',
    shown: [0, 3, 4],
  },
  'getEffectiveApiHistory() > should handle both condenseParent and truncationParent filtering': {
    why: 'messages without a tag are visible, before a summary as well',
    shown: [0, 3, 4, 5, 6],
  },
}

describe('roo-effective-history', () => {
  const cases = casesOf('roo-effective-history.json').filter(({ fn }) => fn === 'getEffectiveApiHistory')

  it.skipIf(cases.length === 0)('S3-U11 shows what Roo Code shows, save in the cases listed', () => {
    const unused = new Set(Object.keys(SHOWN_INSTEAD))
    for (const { name, input, expected } of cases) {
      const instead = Object.keys(SHOWN_INSTEAD).find((end) => name.endsWith(end))
      if (instead !== undefined) unused.delete(instead)
      const shown =
        instead === undefined ? expected : SHOWN_INSTEAD[instead]!.shown.map((index) => input.messages[index])
      expect(getEffectiveHistory(input.messages, { danglingParents: 'visible' }), name).toEqual(shown)
      if (instead !== undefined) expect(shown, `${name} is no difference`).not.toEqual(expected)
    }
    expect(cases).toHaveLength(38)
    expect([...unused]).toEqual([])
  })

  it.skipIf(cases.length === 0)('S3-152 by default differs from that only where a parent dangles', () => {
    for (const { name, input } of cases) {
      const cleaned = removeDanglingTags(input.messages)
      const byTags = getEffectiveHistory(cleaned).map((message) => cleaned.indexOf(message))
      const shown = getEffectiveHistory(input.messages, { danglingParents: 'visible' })
      expect(
        shown.map((message) => input.messages.indexOf(message)),
        name,
      ).toEqual(byTags)
    }
  })
})

describe('roo-cleanup', () => {
  const cases = casesOf('roo-cleanup.json')

  it.skipIf(cases.length === 0)('S3-U11 clears the same dangling tags', () => {
    expect(cases).toHaveLength(20)
    for (const { name, input, expected } of cases)
      expect(removeDanglingTags(input.messages), name).toEqual(expected)
  })
})

/**
 * What we hide of each case, in order. Roo keeps one message and counts the rest; the seed keeps the first pair, counts what
 * follows it, and leaves four messages or fewer alone. Rows of a store need no tag twice: what a condensation
 * hides gets no second parent.
 */
const HIDDEN: readonly { readonly hidden: number[]; readonly removed: number }[] = [
  { hidden: [], removed: 0 },
  // 5 messages: of the 3 behind the pair half is 1, even 0. Roo: of 4 half is 2.
  { hidden: [], removed: 0 },
  { hidden: [], removed: 0 },
  { hidden: [], removed: 0 },
  // 4 messages.
  { hidden: [], removed: 0 },
  // Four in both; the pair stays, so it is the four behind it.
  { hidden: [2, 3, 4, 5], removed: 4 },
  { hidden: [2, 3, 4, 5], removed: 4 },
  // Four are visible, and the condensed ones keep their one parent.
  { hidden: [], removed: 0 },
  // Four in both, behind the visible pair 0 and 6, and the earlier marker with them.
  { hidden: [5, 7, 8, 9, 10], removed: 4 },
  { hidden: [], removed: 0 },
  { hidden: [], removed: 0 },
  // 3 messages.
  { hidden: [], removed: 0 },
]

describe('roo-truncate', () => {
  const cases = casesOf('roo-truncate.json')

  it.skipIf(cases.length === 0)('S3-131 hides by the seed’s count, an even number as Roo Code does', () => {
    expect(cases).toHaveLength(HIDDEN.length)
    for (const [at, { name, input, expected }] of cases.entries()) {
      const { tagged, messagesRemoved } = truncateWithSlidingWindow(input.messages, {
        fraction: input.fracToRemove!,
      })
      const own = tagged.filter(({ content }) => content !== TRUNCATION_MARKER)
      const isNew = (message: ChatMessage, index: number): boolean =>
        message.truncationParent !== input.messages[index]!.truncationParent
      const hidden = own.flatMap((message, index) => (isNew(message, index) ? [index] : []))
      expect({ hidden, removed: messagesRemoved }, name).toEqual(HIDDEN[at])
      const { messagesRemoved: byRoo } = expected as { messagesRemoved: number }
      expect(messagesRemoved, `${name}: never more than Roo Code`).toBeLessThanOrEqual(byRoo)
    }
  })
})

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

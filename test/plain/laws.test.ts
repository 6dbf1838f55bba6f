import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  ContextCompactor,
  deduplicateFileReads,
  getEffectiveHistory,
  pruneToolOutputs,
  removeCondensationTags,
  removeTruncationTags,
  summarizeMessages,
  truncateWithSlidingWindow,
} from '../../src/compat/arrays/index.ts'
import { rowsOf } from '../../src/compat/arrays/rows.ts'
import { estimateMessagesTokens } from '../../src/core/tokens/index.ts'
import type { ChatMessage } from '../../src/index.ts'
import { conversations, failing, partedPairs, saying } from './support.ts'

/*
 * What holds of any conversation. The arrays are frozen to the bottom, so whoever writes into one throws; which
 * messages belong together stands on them as a label that the functions know nothing of.
 */

const share = fc.integer({ min: 0, max: 20 }).map((n) => n / 20)
const config = fc.record({
  summarizer: fc.constantFrom(saying('short'), saying('long '.repeat(400)), failing),
  keepRecentRatio: fc.option(share, { nil: undefined }),
  truncationFraction: fc.option(share, { nil: undefined }),
  pruneProtectTokens: fc.constantFrom(0, 50),
  pruneMinimumSavings: fc.constantFrom(0, 50),
})

/** Messages of an array that the functions must leave visible. */
function untouchable(messages: readonly ChatMessage[]): ChatMessage[] {
  return getEffectiveHistory(messages).filter(({ role, pinned, condenseId, isTruncationMarker }) =>
    pinned === true ? true : role === 'system' && condenseId === undefined && isTruncationMarker !== true,
  )
}

describe('truncateWithSlidingWindow', () => {
  it('removes an even number, parts no pair, loses nothing [S3-134 S3-136]', () => {
    fc.assert(
      fc.property(conversations, share, (messages, fraction) => {
        const outcome = truncateWithSlidingWindow(messages, { fraction })
        expect(outcome.messagesRemoved % 2).toBe(0)
        expect(outcome.truncated).toBe(outcome.messagesRemoved > 0)
        const visible = getEffectiveHistory(messages)
        const gone = visible.filter(({ id }) => !outcome.messages.some((message) => message.id === id))
        expect(gone.filter(({ isTruncationMarker }) => isTruncationMarker !== true)).toHaveLength(
          outcome.messagesRemoved,
        )
        expect(partedPairs(outcome.messages, visible)).toEqual([])
        expect(outcome.messages).toEqual(expect.arrayContaining(untouchable(messages)))
        expect(getEffectiveHistory(outcome.tagged)).toEqual(outcome.messages)
        if (outcome.truncated)
          expect(removeTruncationTags(outcome.tagged, outcome.truncationId!)).toEqual(messages)
      }),
      { numRuns: 300 },
    )
  })
})

describe('summarizeMessages', () => {
  it('parts no pair, keeps at least its share, loses nothing', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, share, async (messages, keepRecentRatio) => {
        const visible = getEffectiveHistory(messages)
        const outcome = await summarizeMessages(messages, { keepRecentRatio, summarizer: saying('s') })
        const keep = Math.min(visible.length, Math.max(4, Math.ceil(visible.length * keepRecentRatio)))
        expect(outcome.messages.slice(-keep)).toEqual(visible.slice(visible.length - keep))
        expect(partedPairs(outcome.messages, visible)).toEqual([])
        expect(outcome.messages).toEqual(expect.arrayContaining(untouchable(messages)))
        expect(getEffectiveHistory(outcome.tagged)).toEqual(outcome.messages)
        const undone = outcome.condenseIds.reduce<ChatMessage[]>(removeCondensationTags, outcome.tagged)
        expect(undone).toEqual(messages)
      }),
      { numRuns: 300 },
    )
  })
})

describe('pruneToolOutputs and deduplicateFileReads', () => {
  it('change contents of results and nothing else, and are done once', () => {
    fc.assert(
      fc.property(conversations, (messages) => {
        const pruned = pruneToolOutputs(messages, { protectTokens: 20, minimumSavings: 0 })
        expect(pruned.messages.map((message) => ({ ...message, content: '' }))).toEqual(
          messages.map((message) => ({ ...message, content: '' })),
        )
        for (const [index, message] of pruned.messages.entries()) {
          if (message !== messages[index]) expect(['tool', 'tool_result']).toContain(message.role)
        }
        expect(pruned.tokensSaved > 0).toBe(pruned.pruned)
        const again = pruneToolOutputs(pruned.messages, { protectTokens: 20, minimumSavings: 0 })
        expect(again.messages).toEqual(pruned.messages)
        expect(deduplicateFileReads(messages).messages).toHaveLength(messages.length)
      }),
      { numRuns: 300 },
    )
  })
})

describe('ContextCompactor', () => {
  it('tells the truth about what it did, whatever the summarizer does', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, config, fc.nat({ max: 1_500 }), async (messages, options, target) => {
        const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
        const outcome = await new ContextCompactor(given).compact(messages, target)
        const visible = getEffectiveHistory(messages)
        expect(outcome.compacted).toBe(outcome.stagesUsed.length > 0)
        expect(getEffectiveHistory(outcome.tagged)).toEqual(outcome.messages)
        expect(partedPairs(outcome.messages, visible)).toEqual([])
        expect(outcome.messages.length).toBeGreaterThan(visible.length === 0 ? -1 : 0)
        expect(outcome.tokensBefore).toBe(rowsOf(messages, 'openai', 'test').view.tokens)
        expect(outcome.tokensAfter).toBe(rowsOf(outcome.messages, 'openai', 'test').view.tokens)
        expect(outcome.reachedTarget).toBe(outcome.tokensAfter <= target)
        const undone = outcome.compactions.reduceRight<ChatMessage[]>(
          (list, { id }) => removeCondensationTags(removeTruncationTags(list, id), id),
          outcome.tagged,
        )
        expect(undone.map(({ id }) => id)).toEqual(messages.map(({ id }) => id))
      }),
      { numRuns: 300 },
    )
  })

  it('counts flat and neutral messages as estimateMessagesTokens does', () => {
    fc.assert(
      fc.property(conversations, (messages) => {
        const plain = getEffectiveHistory(messages).filter((message) => !('tool_calls' in message))
        expect(rowsOf(plain, 'openai', 'test').view.tokens).toBe(estimateMessagesTokens(plain, 'openai'))
      }),
    )
  })
})

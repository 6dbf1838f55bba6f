import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toAnthropic } from '../../../src/adapters/anthropic/to-anthropic.ts'
import { fromOpenAIResponses } from '../../../src/adapters/openai/from-responses.ts'
import { toOpenAI } from '../../../src/adapters/openai/to-openai.ts'
import { toOpenAIResponses } from '../../../src/adapters/openai/to-responses.ts'
import { canonicalJson, stringifyJson } from '../../../src/core/messages/json.ts'
import type { Message } from '../../../src/core/messages/message.ts'
import { messageProblem } from '../../../src/core/messages/message-check.ts'
import { frozen } from '../../support/failures.ts'
import { items } from './items.ts'

/** Reads and writes, also by way of the text a database would hold, and expects what was given. */
function expectSame(given: readonly object[]): void {
  const read = fromOpenAIResponses(frozen(given))
  expect(read).toHaveLength(given.length)
  for (const message of read) expect(messageProblem(message)).toBeUndefined()
  for (const messages of [read, JSON.parse(stringifyJson(read)) as Message[]]) {
    const sent = toOpenAIResponses(frozen(messages))
    expect(sent).toStrictEqual(given)
    expect(canonicalJson(sent)).toBe(canonicalJson(given))
  }
}

describe('there and back', () => {
  it('returns any items unchanged, and does not change its input', () => {
    fc.assert(
      fc.property(items, (given) => expectSame(given)),
      { numRuns: 3_000 },
    )
  })

  it('reports nothing about items that it returns unchanged', () => {
    fc.assert(
      fc.property(items, (given) => {
        const notes: unknown[] = []
        // That a call failed is told by the status of a patch, so nothing at all changes.
        toOpenAIResponses(fromOpenAIResponses(given), { onNote: (note) => notes.push(note) })
        expect(notes).toEqual([])
      }),
    )
  })

  it('reads a batch of items as it reads them one list after another', () => {
    fc.assert(
      fc.property(items, items, (first, second) => {
        const messages = [...fromOpenAIResponses(first), ...fromOpenAIResponses(second)]
        expect(toOpenAIResponses(messages)).toHaveLength(first.length + second.length)
      }),
    )
  })

  it('writes what other formats can read, without anything of its own', () => {
    fc.assert(
      fc.property(items, (given) => {
        const read = fromOpenAIResponses(given)
        const chat = toOpenAI(read)
        for (const message of chat) {
          const isCompaction = 'type' in message && message.type === 'compaction'
          if (!isCompaction) expect(JSON.stringify(message)).not.toContain('openai-responses')
        }
        toAnthropic(read)
      }),
    )
  })
})

import { describe, expect, test } from 'vitest'
import { fromAnthropic, toAnthropic } from '../src/adapters/anthropic/index.ts'
import { detectFormat } from '../src/adapters/detect.ts'
import { fromGemini, toGemini } from '../src/adapters/google/index.ts'
import { fromOpenAI, fromOpenAIResponses, toOpenAI, toOpenAIResponses } from '../src/adapters/openai/index.ts'
import {
  ContextCompactor,
  deduplicateFileReads,
  filterEffectiveHistory,
  getEffectiveHistory,
  pruneToolOutputs,
  removeCondensationTags,
  removeDanglingTags,
  removeTruncationTags,
  summarizeMessages,
  tagForCondensation,
  tagForTruncation,
  truncateWithSlidingWindow,
} from '../src/compat/arrays/index.ts'
import {
  checkContextBudget,
  estimateMessagesTokens,
  estimateTokens,
  getAvailableInputTokens,
  getContextWindowSize,
  getOutputReserve,
  getProviderMultiplier,
} from '../src/core/tokens/index.ts'
import {
  extractiveSummarizer,
  isUndertextError,
  renderView,
  UndertextError,
  validateHistory,
} from '../src/index.ts'
import { CANARY, expectFailure, failureOf } from './support/failures.ts'

/*
 * The pure functions of the package's face, called with what cannot be: one error of ours, nothing of the
 * conversation in it. What has a sensible answer for anything (a window's default, a guard) answers.
 */

const bad = (value: unknown): never => value as never
const messages = [
  { id: 'm1', role: 'user' as const, content: CANARY },
  { id: 'm2', role: 'assistant' as const, content: CANARY },
]

/** Values that are no list of messages. */
const NO_LISTS: readonly unknown[] = [null, undefined, 5, 'x', {}, new Set(), true, Symbol('x')]
/** Lists of what are no messages. */
const NO_MESSAGES: readonly unknown[] = [
  [null],
  [5],
  [CANARY],
  [[]],
  [{}],
  [{ role: 'user' }],
  [{ content: CANARY }],
]

const TAKE_MESSAGES: Record<string, (list: never) => unknown> = {
  estimateMessagesTokens: (list) => estimateMessagesTokens(list),
  validateHistory: (list) => validateHistory(list, 'openai'),
  renderView: (list) => renderView(list, { provider: 'openai' }),
  toAnthropic: (list) => toAnthropic(list),
  toOpenAI: (list) => toOpenAI(list),
  toOpenAIResponses: (list) => toOpenAIResponses(list),
  fromAnthropic: (list) => fromAnthropic(list),
  fromGemini: (list) => fromGemini(list),
  toGemini: (list) => toGemini(list),
  fromOpenAI: (list) => fromOpenAI(list),
  fromOpenAIResponses: (list) => fromOpenAIResponses(list),
  getEffectiveHistory: (list) => getEffectiveHistory(list),
  filterEffectiveHistory: (list) => filterEffectiveHistory(list),
  removeDanglingTags: (list) => removeDanglingTags(list),
  pruneToolOutputs: (list) => pruneToolOutputs(list),
  deduplicateFileReads: (list) => deduplicateFileReads(list),
  truncateWithSlidingWindow: (list) => truncateWithSlidingWindow(list),
  summarizeMessages: (list) => summarizeMessages(list),
  'ContextCompactor.compact': (list) => new ContextCompactor().compact(list),
  tagForCondensation: (list) => tagForCondensation(list, 0, 1, 'c1'),
  tagForTruncation: (list) => tagForTruncation(list, 0, 1, 't1'),
  removeCondensationTags: (list) => removeCondensationTags(list, 'c1'),
  removeTruncationTags: (list) => removeTruncationTags(list, 't1'),
}

describe('what is no list of messages', () => {
  for (const [name, act] of Object.entries(TAKE_MESSAGES)) {
    test(name, async () => {
      for (const value of NO_LISTS)
        expectFailure(await failureOf(() => act(bad(value))), 'INVALID_INPUT', `${name}(${String(value)})`)
    })
  }
})

describe('a list of what are no messages', () => {
  for (const [name, act] of Object.entries(TAKE_MESSAGES)) {
    test(name, async () => {
      for (const value of NO_MESSAGES) {
        let error: unknown
        try {
          await act(bad(value))
        } catch (thrown) {
          error = thrown
        }
        // Some of them need no role, or no content; none may fail with an error that is not ours.
        if (error !== undefined) expectFailure(error, 'INVALID_INPUT', `${name}(${JSON.stringify(value)})`)
      }
    })
  }
})

describe('options', () => {
  const TAKE_OPTIONS: Record<string, (options: never) => unknown> = {
    checkContextBudget: (options) => checkContextBudget(options),
    getEffectiveHistory: (options) => getEffectiveHistory(messages, options),
    pruneToolOutputs: (options) => pruneToolOutputs(messages, options),
    deduplicateFileReads: (options) => deduplicateFileReads(messages, options),
    truncateWithSlidingWindow: (options) => truncateWithSlidingWindow(messages, options),
    summarizeMessages: (options) => summarizeMessages(messages, options),
    ContextCompactor: (options) => new ContextCompactor(options),
    renderView: (options) => renderView([], options),
  }
  for (const [name, act] of Object.entries(TAKE_OPTIONS)) {
    test(`${name} rejects values that are not options`, async () => {
      for (const value of [null, 5, 'x', [], { misspelt: true }, { provider: 5 }])
        expectFailure(
          await failureOf(() => act(bad(value))),
          'INVALID_INPUT',
          `${name}(${JSON.stringify(value)})`,
        )
    })
  }

  test('ContextCompactor rejects invalid targets', async () => {
    for (const target of [Number.NaN, -1, 1.5, '5', null])
      expectFailure(
        await failureOf(() => new ContextCompactor().compact(messages, bad(target))),
        'INVALID_INPUT',
      )
  })
})

describe('names and numbers', () => {
  test('a provider that is no text', async () => {
    for (const provider of [5, null, {}, undefined]) {
      // Without a provider only the rules of all providers hold.
      if (provider !== undefined) {
        expectFailure(
          await failureOf(() => validateHistory([], bad(provider))),
          'INVALID_INPUT',
          'validateHistory',
        )
      }
      expectFailure(await failureOf(() => checkContextBudget({ provider: bad(provider) })), 'INVALID_INPUT')
    }
  })

  test('an invalid text', async () => {
    for (const text of [5, null, undefined, {}, [CANARY]])
      expectFailure(await failureOf(() => estimateTokens(bad(text))), 'INVALID_INPUT', 'estimateTokens')
  })

  test('an invalid tag, an invalid place', async () => {
    for (const id of [5, null, '', undefined]) {
      expectFailure(await failureOf(() => tagForCondensation(messages, 0, 1, bad(id))), 'INVALID_INPUT')
      expectFailure(await failureOf(() => removeCondensationTags(messages, bad(id))), 'INVALID_INPUT')
      expectFailure(await failureOf(() => tagForTruncation(messages, 0, 1, bad(id))), 'INVALID_INPUT')
      expectFailure(await failureOf(() => removeTruncationTags(messages, bad(id))), 'INVALID_INPUT')
    }
    for (const place of [Number.NaN, '0', null]) {
      expectFailure(await failureOf(() => tagForCondensation(messages, bad(place), 1, 'c')), 'INVALID_INPUT')
      expectFailure(await failureOf(() => tagForTruncation(messages, 0, bad(place), 't')), 'INVALID_INPUT')
    }
  })
})

describe('objects that return something for every property', () => {
  test('windows: an unknown name has the default, names of objects are unknown', () => {
    for (const name of ['', 'nobody', '__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(getContextWindowSize(name)).toBe(128_000)
      expect(getContextWindowSize(name, name)).toBe(128_000)
      expect(getContextWindowSize('openai', name)).toBe(128_000)
      expect(getProviderMultiplier(name)).toBe(1)
      expect(getAvailableInputTokens(name, name)).toBe(83_200)
    }
    expect(getOutputReserve(128_000)).toBe(44_800)
  })

  test('guards', () => {
    for (const value of [
      null,
      undefined,
      5,
      'x',
      {},
      new Error('x'),
      { code: 'STALE_PLAN', name: 'UndertextError' },
    ])
      expect(isUndertextError(value)).toBe(false)
    const error = new UndertextError('STORE_CLOSED', {})
    expect(isUndertextError(error)).toBe(true)
    expect(isUndertextError(error, 'STALE_PLAN')).toBe(false)
  })

  test('a boundary that no message is to blame for names none', () => {
    const messageOf = (messageIds: readonly string[]) =>
      new UndertextError('ILLEGAL_BOUNDARY', { sessionId: 's', why: 'no', messageIds }).message
    expect(messageOf([])).toBe("These messages can't be hidden (no).")
    expect(messageOf(['a'])).toBe(`These messages can't be hidden (no): "a".`)
  })

  test('formats: a value without a format is not detected, or rejected', async () => {
    for (const value of [null, 5, {}, [], [null], [CANARY], [{}]]) {
      try {
        detectFormat(bad(value))
      } catch (error) {
        expectFailure(error, 'INVALID_INPUT', 'detectFormat')
      }
    }
  })

  test('the extractive summarizer takes any messages that are messages', async () => {
    const { text } = await extractiveSummarizer.summarize({
      sessionId: 's',
      messages: [],
      sections: [],
      maxTokens: 1,
      files: { read: [], modified: [] },
    })
    expect(typeof text).toBe('string')
  })
})

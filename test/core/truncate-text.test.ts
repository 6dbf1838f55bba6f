import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { characterEnd, characterStart } from '../../src/core/messages/characters.ts'
import { estimateTokens, truncateToTokenBudget } from '../../src/core/tokens/index.ts'
import { neurolinkEstimator } from '../../src/core/tokens/measure.ts'
import { type Estimator, isUndertextError } from '../../src/index.ts'
import { growth } from '../support/growth.ts'
import { characterEnds, hardText, solidText } from './texts.ts'

function estimatorOf(name: string, measureText: (text: string) => number): Estimator {
  return { ...neurolinkEstimator, name, measureText, toTokens: (units) => units }
}

/** One token for three bytes. */
const byBytes = estimatorOf('bytes', (text) => Math.ceil(Buffer.byteLength(text) / 3))
/** A beginning that ends inside a word counts more than the whole word, as real tokenizers do. */
const byWords = estimatorOf('words', (text) => {
  const words = text.match(/[a-zA-Z]+|[^a-zA-Z]/g) ?? []
  return words.length + (/[a-zA-Z]$/.test(text) ? 2 : 0)
})
const ESTIMATORS = [neurolinkEstimator, byBytes, byWords]
const PROVIDERS = [undefined, 'openai', 'anthropic', 'mistral', '__proto__']

const tokensOf = (text: string, estimator: Estimator, provider?: string): number =>
  estimator.toTokens(estimator.measureText(text), provider)

describe('a text that is too long', () => {
  // ceil(8 × 1.15) = 10 and ceil(9 × 1.15) = 11: ten tokens are 8 × 4 characters, three of them the ending.
  it.each([
    ['openai', 10, `${'x'.repeat(29)}...`],
    // ceil(7 × 1.23 × 1.15) = 10
    ['anthropic', 10, `${'x'.repeat(25)}...`],
    ['openai', 2, 'x...'],
    ['openai', 1, ''],
    ['openai', 0, ''],
    ['openai', -5, ''],
  ])('is cut for %s to %i tokens, ending included', (provider, maxTokens, text) => {
    expect(truncateToTokenBudget('x'.repeat(100), maxTokens, provider)).toEqual({ text, truncated: true })
  })

  it.each([
    ['a sentence', 'One two three four. Five six seven eight nine ten', 'One two three four....'],
    ['a line', 'One two three four\nFive six seven eight nine ten', 'One two three four...'],
    ['a line of Windows', 'One two three four\r\nFive six seven eight nine ten', 'One two three four...'],
    ['a quoted sentence', '"One two three four!" Five six seven eight nine', '"One two three four!"...'],
    [
      'a Chinese sentence',
      '一二三四五六七八九十一二三四五六。一二三四五六七八九十一二三四五六',
      '一二三四五六七八九十一二三四五六。...',
    ],
    // The sentence of 14 characters is not past half of the 29 there is room for.
    ['a word', 'One two three. Four five six seven eight nine', 'One two three. Four five six...'],
    ['nothing, when the only word is too far back', `One ${'x'.repeat(60)}`, `One ${'x'.repeat(25)}...`],
    ['a character', `${'x'.repeat(28)}🙂🙂🙂🙂`, `${'x'.repeat(28)}...`],
    ['a family', `${'x'.repeat(20)}👩‍👩‍👧‍👦👩‍👩‍👧‍👦`, `${'x'.repeat(20)}...`],
    ['a letter with its mark', `${'x'.repeat(28)}e\u0301${'x'.repeat(20)}`, `${'x'.repeat(28)}...`],
  ])('ends after %s', (_, text, cut) => {
    expect(truncateToTokenBudget(text, 10, 'openai')).toEqual({ text: cut, truncated: true })
  })

  it('has the ending asked for, or none', () => {
    const text = 'x'.repeat(100)
    expect(truncateToTokenBudget(text, 10, 'openai', { ending: '' }).text).toBe('x'.repeat(32))
    expect(truncateToTokenBudget(text, 10, 'openai', { ending: ' [cut]' }).text).toBe(
      `${'x'.repeat(26)} [cut]`,
    )
    // An ending of 40 characters does not fit in ten tokens.
    expect(truncateToTokenBudget(text, 10, 'openai', { ending: '-'.repeat(40) }).text).toBe('x'.repeat(32))
  })
})

it('leaves a text alone that fits', () => {
  expect(truncateToTokenBudget('a'.repeat(400), 115, 'openai')).toEqual({
    text: 'a'.repeat(400),
    truncated: false,
  })
  expect(truncateToTokenBudget('a'.repeat(401), 115, 'openai').truncated).toBe(true)
  expect(truncateToTokenBudget('', 0)).toEqual({ text: '', truncated: false })
  expect(truncateToTokenBudget('abc', Number.POSITIVE_INFINITY)).toEqual({ text: 'abc', truncated: false })
})

it('fits also where an estimator counts more for less text', () => {
  // 'aaa' counts 3, 'aaa ' counts 2: the end of the word does not fit, the blank behind it does.
  const cut = truncateToTokenBudget('aaa bbbb', 2, 'openai', { estimator: byWords, ending: '' })
  expect(cut).toEqual({ text: 'aaa ', truncated: true })
  // A beginning of 16 characters counts 3, the whole 2.
  const whole = `${'a'.repeat(60)} `
  expect(truncateToTokenBudget(whole, 2, 'openai', { estimator: byWords })).toEqual({
    text: whole,
    truncated: false,
  })
})

it('refuses what is not a text, a number or a known option', () => {
  const bad: unknown[][] = [
    [5, 5],
    ['a', '5'],
    ['a', Number.NaN],
    ['a', 5, 5],
    ['a', 5, 'openai', { endings: '' }],
  ]
  for (const args of bad) {
    const error = (() => {
      try {
        return (truncateToTokenBudget as (...args: unknown[]) => unknown)(...args)
      } catch (thrown) {
        return thrown
      }
    })()
    expect(isUndertextError(error, 'INVALID_INPUT'), JSON.stringify(args)).toBe(true)
  }
})

describe('whatever the text, the budget and the estimator', () => {
  const anyCase = fc.tuple(
    hardText,
    fc.integer({ min: 0, max: 60 }),
    fc.constantFrom(...PROVIDERS),
    fc.constantFrom(...ESTIMATORS),
    fc.constantFrom('...', '', '… [TRUNCATED]'),
  )

  it('it fits, ending included, is a beginning that ends between two characters, and stays as it is', () => {
    fc.assert(
      fc.property(anyCase, ([text, maxTokens, provider, estimator, ending]) => {
        const result = truncateToTokenBudget(text, maxTokens, provider, { estimator, ending })
        expect(tokensOf(result.text, estimator, provider)).toBeLessThanOrEqual(maxTokens)
        expect(result.truncated).toBe(tokensOf(text, estimator, provider) > maxTokens)
        if (!result.truncated) {
          expect(result.text).toBe(text)
          return
        }
        const hasEnding = tokensOf(ending, estimator, provider) <= maxTokens
        const kept = hasEnding ? result.text.slice(0, result.text.length - ending.length) : result.text
        expect(result.text).toBe(`${kept}${hasEnding ? ending : ''}`)
        expect(text.startsWith(kept)).toBe(true)
        expect(characterEnds(text).has(kept.length)).toBe(true)
        const again = truncateToTokenBudget(result.text, maxTokens, provider, { estimator, ending })
        expect(again).toEqual({ text: result.text, truncated: false })
      }),
      { numRuns: 3_000 },
    )
  })

  it('one character more would not fit where there is nothing better to cut at', () => {
    fc.assert(
      fc.property(
        solidText,
        fc.integer({ min: 3, max: 60 }),
        fc.constantFrom(neurolinkEstimator, byBytes),
        (text, maxTokens, estimator) => {
          const result = truncateToTokenBudget(text, maxTokens, 'openai', { estimator })
          if (!result.truncated) return
          const length = result.text.length - 3
          const next = [...characterEnds(text)].find((end) => end > length)
          expect(tokensOf(`${text.slice(0, next)}...`, estimator, 'openai')).toBeGreaterThan(maxTokens)
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

it('agrees with estimateTokens, the seed\u2019s estimator', () => {
  for (const provider of ['openai', 'anthropic', 'google-ai', 'mistral', undefined]) {
    for (let maxTokens = 0; maxTokens < 200; maxTokens++) {
      const { text } = truncateToTokenBudget('lorem ipsum dolor sit amet, '.repeat(40), maxTokens, provider)
      expect(estimateTokens(text, provider)).toBeLessThanOrEqual(maxTokens)
    }
  }
})

it('looks at no more of a text of 10 MB than the budget reaches, a few times', () => {
  let measured = 0
  const counting = estimatorOf('counting', (text) => {
    measured += text.length
    return Math.ceil(text.length / 4)
  })
  const { text } = truncateToTokenBudget('some words here '.repeat(650_000), 1_000, 'openai', {
    estimator: counting,
  })
  expect(text.length).toBeGreaterThan(3_900)
  // 1,000 tokens are 4,000 characters; the first look is at 8,000, and 13 more halve the rest.
  expect(measured).toBeLessThan(8_000 * 15)
})

it.each([
  ['words', 'some words here '],
  ['Chinese words', '你 好 '],
  ['stops inside characters', '。\u0301'],
  ['spaces inside characters', '\u0600 '],
  ['flags', '🇩🇪'],
  ['one word', 'x'],
  ['blanks', ' '],
])('cuts long texts to large budgets in linear time: %s', (_, piece) => {
  const run = (size: number): void => {
    const result = truncateToTokenBudget(piece.repeat(Math.ceil(size / piece.length)), size / 10, 'openai')
    expect(estimateTokens(result.text, 'openai')).toBeLessThanOrEqual(size / 10)
  }
  expect(growth(run, 2_000_000)).toBeLessThan(3)
})

describe('where characters end', () => {
  it('is where the whole text has it, at every place', () => {
    fc.assert(
      fc.property(hardText, (text) => {
        const ends = characterEnds(text)
        for (let at = 0; at <= text.length; at++) {
          const start = [...ends].filter((end) => end <= at).at(-1)
          expect(characterStart(text, at)).toBe(start)
          expect(characterEnd(text, at)).toBe([...ends].find((end) => end >= at))
        }
      }),
      { numRuns: 300 },
    )
  })

  it('is known in the middle of a thousand flags, where only their number decides which letters belong together', () => {
    const flags = '🇩🇪'.repeat(1_000)
    for (let at = 1_990; at < 2_010; at++) expect(characterStart(flags, at)).toBe(at - (at % 4))
    const odd = `🇩${flags}`
    for (let at = 1_990; at < 2_010; at++) expect(characterStart(odd, at)).toBe(at - (at % 4))
  })

  it('is between code points in a character without end', () => {
    const endless = `e${'\u0301'.repeat(10_000)}`
    expect(characterStart(endless, 5_000)).toBe(5_000)
    const chain = '👩‍'.repeat(5_000)
    expect(characterStart(chain, 6_001)).toBe(6_000)
    expect(chain.slice(0, characterStart(chain, 6_001)).isWellFormed()).toBe(true)
  })
})

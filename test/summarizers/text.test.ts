import { expect, it } from 'vitest'
import { headOf, tailOf } from '../../src/core/messages/characters.ts'
import {
  cleanLine,
  ends,
  firstLine,
  sentenceAround,
  sentencesOf,
  shorten,
  shortenPath,
  unitsWithin,
  withoutFences,
} from '../../src/core/summarizers/text.ts'
import { estimateTokens } from '../../src/core/tokens/measure.ts'

it('cuts no code point in two', () => {
  expect(headOf('a😀b', 2)).toBe('a')
  expect(headOf('a😀b', 3)).toBe('a😀')
  expect(tailOf('a😀b', 2)).toBe('b')
  expect(tailOf('a😀b', 3)).toBe('😀b')
  expect(shorten('😀😀😀', 4)).toBe('😀…')
  expect(ends('😀'.repeat(10), 3, 3)).toBe('😀\n\n😀')
})

it('leaves lone surrogates in place', () => {
  expect(headOf('\ud83da\ude00', 2)).toBe('\ud83da')
  expect(tailOf('\ude00\ude00', 1)).toBe('\ude00')
})

it.each([
  [0, ''],
  [1, 'o'],
  [5, 'one…'],
  [7, 'one two'],
])('shortens to %i', (max, text) => {
  expect(shorten('one two', max)).toBe(text)
})

it('keeps the end of a path', () => {
  expect(shortenPath('/a/b/c.ts', 6)).toBe('…/c.ts')
})

it('finds the first line with content', () => {
  expect(firstLine('\n \n  two   words \nmore', 20)).toBe('two words')
  expect(firstLine(' \n', 20)).toBe('')
})

it.each([
  ['One. Two! Three?', ['One.', 'Two!', 'Three?']],
  ['See src/main.ts, v1.2 e.g. here. Done.', ['See src/main.ts, v1.2 e.g. here.', 'Done.']],
  ['# Title\n- item one\n2. item two\n- [ ] box', ['Title', 'item one', 'item two', 'box']],
  ['He said "stop." Then left (at once.) So.', ['He said "stop."', 'Then left (at once.)', 'So.']],
  ['一。二！三', ['一。', '二！', '三']],
  [
    'You must never commit the generated files that stand\nin the dist folder. Ever.',
    ['You must never commit the generated files that stand in the dist folder.', 'Ever.'],
  ],
  ['short\nlines are lines', ['short', 'lines are lines']],
  ['', []],
])('splits %j', (text, sentences) => {
  expect(sentencesOf(text)).toEqual(sentences)
})

it('finds the sentence around a place', () => {
  const text = 'First one. Second one here. Third.'
  expect(sentenceAround(text, 14)).toEqual({ sentence: 'Second one here.', end: 27 })
})

it('takes off marks of lists, quotes, headings and boxes', () => {
  expect(['- a', '> * b', '12) c', '### d', '- [x] e', '-f'].map(cleanLine)).toEqual([
    'a',
    'b',
    'c',
    'd',
    'e',
    '-f',
  ])
})

it('takes out code blocks', () => {
  expect(withoutFences('a ```x``` b ```y``` c')).toBe('a \n b \n c')
  expect(withoutFences('a ```x')).toBe('a ')
})

it.each([0, 1, 2, 3, 50, 51, 52, 1_000, 12_345])(
  '%i tokens hold so many units and not one more',
  (maxTokens) => {
    const units = unitsWithin(maxTokens)
    expect(estimateTokens('x'.repeat(units))).toBeLessThanOrEqual(maxTokens)
    expect(estimateTokens('x'.repeat(units + 1))).toBeGreaterThan(maxTokens)
  },
)

it('knows no negative and no endless budget', () => {
  expect(unitsWithin(-1)).toBe(0)
  expect(unitsWithin(Number.NaN)).toBe(0)
  expect(unitsWithin(Number.POSITIVE_INFINITY)).toBe(Number.MAX_SAFE_INTEGER)
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readQuery } from '../../src/core/search/query.ts'
import { snippetOf } from '../../src/core/search/snippet.ts'
import { growth } from '../support/growth.ts'

const marked = (text: string, query: string, length?: number): string[] => {
  const snippet = snippetOf(text, readQuery(query), length)
  return snippet.marks.map(([start, end]) => snippet.text.slice(start, end))
}

describe('a snippet', () => {
  it('is the whole of a short text, with a mark on each word found', () => {
    const text = 'She went to the Zoo; dogs stay outside.'
    expect(snippetOf(text, readQuery('go zoo dog'))).toEqual({
      text,
      marks: [
        [4, 8],
        [16, 19],
        [21, 25],
      ],
    })
  })

  it('is the passage with the most distinct words of the query', () => {
    const text = `${'dog dog dog '.repeat(30)}${'filler '.repeat(60)}the dog chased a cat ${'filler '.repeat(60)}`
    const snippet = snippetOf(text, readQuery('dog cat'), 100)
    expect(snippet.text).toContain('the dog chased a cat')
    expect(snippet.text.length).toBeLessThanOrEqual(102)
    expect(marked(text, 'dog cat', 100)).toEqual(['dog', 'cat'])
  })

  it('marks the part of an identifier, pairs of characters as one, and words with accents', () => {
    expect(marked('call getUserName() now', 'user')).toEqual(['User'])
    expect(marked('我喜欢上海天气', '上海天气')).toEqual(['上海天气'])
    expect(marked('une Café noire', 'cafe')).toEqual(['Café'])
  })

  it('begins with the text where no word of the query is found', () => {
    expect(snippetOf(`first ${'other '.repeat(100)}`, readQuery('dog'), 20)).toEqual({
      text: 'first other other',
      marks: [],
    })
  })

  it('does not cut a character', () => {
    for (let shift = 0; shift < 12; shift++) {
      const text = `${'x'.repeat(shift)}${'👨‍👩‍👧'.repeat(60)} dog ${'👨‍👩‍👧'.repeat(60)}`
      const snippet = snippetOf(text, readQuery('dog'), 60)
      expect(snippet.text.isWellFormed()).toBe(true)
      expect(snippet.text.replaceAll('👨‍👩‍👧', '')).toMatch(/^x* ?dog ?$/)
    }
  })

  it('is a part of the text, and its marks are words of the query, in order, apart from each other', () => {
    const word = fc.constantFrom(
      'dog',
      'Dogs',
      'cat',
      'src/cat.ts',
      '上海',
      '海',
      '🎉',
      'filler',
      '\n',
      "cat's",
      'catDog',
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 120 }), fc.integer({ min: 1, max: 200 }), (words, length) => {
        const text = words.join(' ')
        const snippet = snippetOf(text, readQuery('dog cat 上海'), length)
        expect(text).toContain(snippet.text)
        let last = 0
        for (const [start, end] of snippet.marks) {
          expect(start).toBeGreaterThanOrEqual(last)
          expect(snippet.text.slice(start, end)).toMatch(
            /^(?:dogs?|cat|cat's|catdog|上海|cat\.ts|src\/cat\.ts)$/i,
          )
          last = end
        }
      }),
    )
  })

  it.each(['dog ', 'a', '漢', '😀', 'dog'])('takes linear time on %j', (unit) => {
    const query = readQuery('dog 漢漢')
    expect(growth((size) => snippetOf(unit.repeat(size / unit.length), query), 100_000)).toBeLessThan(3.5)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readQuery } from '../../src/core/search/query.ts'

const wordsIn = (text: string): string[] =>
  readQuery(text)
    .words.filter(({ weight }) => weight >= 0.6)
    .map(({ word }) => word)

describe('a query', () => {
  it('has the distinct words of a question, and fewer weight for words of the same meaning', () => {
    const { words } = readQuery('Which dog did the dog buy?')
    expect(words.filter(({ weight }) => weight === 1).map(({ word }) => word)).toEqual(['dog', 'buy'])
    expect(words.filter(({ weight }) => weight < 0.5).map(({ word }) => word)).toContain('purchas')
  })

  it('has the texts in quotes as phrases; a lone quote is ignored', () => {
    expect(readQuery('the "red house" and “blue cars”').phrases).toEqual([
      ['red', 'hous'],
      ['blue', 'car'],
    ])
    expect(readQuery('the "red house').phrases).toEqual([])
    expect(readQuery('「上海天气」怎么样').phrases).toEqual([['上海', '海天', '天气']])
    expect(readQuery('"the of" ""').phrases).toEqual([])
  })

  it('tells which of its words are too common to be searched for, as written and once each', () => {
    expect(readQuery('The kettle: where is it, and WHERE was it?').leftOut).toEqual([
      ...['The', 'where', 'is', 'it', 'and', 'was'],
    ])
    expect(readQuery("“don't” the-of").leftOut).toEqual(["don't"])
    expect(readQuery('kettle 水').leftOut).toEqual([])
    for (const text of ['', ' … ?!', '"\'’'])
      expect(readQuery(text)).toMatchObject({ words: [], leftOut: [] })
  })

  it('of any text either has a word or names those that it left out', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 30 }), (text) => {
        const { words, leftOut } = readQuery(text)
        const hasLetters = /[\p{L}\p{N}]/u.test(text)
        expect(words.length > 0 || leftOut.length > 0 || !hasLetters).toBe(true)
        for (const word of leftOut) {
          expect(text).toContain(word)
          expect(readQuery(word).words).toEqual([])
        }
      }),
    )
  })

  it('has parts and wholes of codes and paths', () => {
    expect(wordsIn('error TS2345 in src/lib/b.ts')).toEqual(
      expect.arrayContaining(['error', 'ts2345', 'src', 'lib', 'bts', 'srclibbt']),
    )
  })

  it.each([
    ['on 5 July 2023', [{ year: 2023, month: 7, day: 5 }]],
    ['on July 5th, 2023', [{ year: 2023, month: 7, day: 5 }]],
    ['in May', [{ month: 5 }]],
    ['May I see it? it may rain', []],
    ['on the 3rd of march', [{ month: 3, day: 3 }]],
    ['in 2022', [{ year: 2022 }]],
    ['on 2024-05-15', [{ year: 2024, month: 5, day: 15 }]],
    ['2023年5月6日去了哪里', [{ year: 2023, month: 5, day: 6 }]],
    ['the 3000 others', []],
  ])('%j names dates', (text, dates) => {
    expect(readQuery(text).dates).toEqual(dates)
  })

  it('asks for a time', () => {
    expect(
      ['When did she go?', 'what year was it', 'How long ago', '什么时候去'].map(
        (text) => readQuery(text).asksTime,
      ),
    ).toEqual([true, true, true, true])
    expect(readQuery('Where did she go?').asksTime).toBe(false)
  })

  it('asks for the words of the user, or of the assistant', () => {
    expect(readQuery('What did I order?').asksRole).toBe('user')
    expect(readQuery('Which hotel did you recommend to me?').asksRole).toBe('assistant')
    expect(readQuery('What did Anna order?').asksRole).toBeUndefined()
  })

  it('is bounded, and never throws', () => {
    const long = Array.from({ length: 2_000 }, (_, i) => `word${i}`).join(' ')
    expect(readQuery(long).words.length).toBeLessThanOrEqual(64)
    expect(readQuery(`"${'a b '.repeat(100)}" `.repeat(100)).phrases.length).toBeLessThanOrEqual(8)
    for (const text of [
      '',
      '"',
      '"" AND OR NOT NEAR( * ^ :',
      '🎉',
      '\ud800',
      "' OR 1=1 --",
      'a'.repeat(1_000_000),
    ])
      expect(readQuery(text).words.length).toBeLessThanOrEqual(64)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const { words } = readQuery(text)
        expect(new Set(words.map(({ word }) => word)).size).toBe(words.length)
        for (const { word } of words) expect(word).toMatch(/^[\p{L}\p{N}_]{1,40}$/u)
      }),
    )
  })
})

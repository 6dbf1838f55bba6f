import { describe, expect, it } from 'vitest'
import { clip, glimpse, percent, widthOf, wrap } from './text.ts'

const ESCAPE = '\u001b'

describe('text on its way to a terminal', () => {
  it.each([
    ['plain', 5, 'plain'],
    ['plain', 4, 'pla…'],
    ['plain', 1, '…'],
    ['plain', 0, ''],
    ['漢字', 4, '漢字'],
    ['漢字', 3, '漢…'],
    ['e\u0301te\u0301', 3, 'e\u0301te\u0301'],
    [`${ESCAPE}[31mred${ESCAPE}[39m`, 3, `${ESCAPE}[31mred${ESCAPE}[39m`],
    [`${ESCAPE}[31mred${ESCAPE}[39m`, 2, `${ESCAPE}[31mr…${ESCAPE}[0m`],
  ])('%j in %i columns', (text, width, expected) => {
    expect(clip(text, width)).toBe(expected)
    expect(widthOf(expected)).toBeLessThanOrEqual(width)
  })

  it('is one harmless line, for any content of a conversation', () => {
    expect(glimpse(` a\n\t${ESCAPE}[2Jb\u202ec\u2028\ud800 `)).toBe('a [2Jb c')
  })

  it('is broken between words only', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrap('one 80\u00a0%', 6)).toEqual(['one', '80\u00a0%'])
  })

  it.each([
    [0, '0'],
    [0.0004, '0.0'],
    [0.054, '5.4'],
    [0.5, '50'],
    [0.9999, '99'],
    [1, '100'],
  ])('%d is a share of %s %%', (share, expected) => {
    expect(percent(share)).toBe(`${expected}\u00a0%`)
  })
})

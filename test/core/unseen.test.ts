import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { safeText } from '../../src/cli/output/safe-text.ts'
import { visibleText } from '../../src/transfer/document/options.ts'

/** What the terminal and documents must not let through as it is; from the Unicode standard, and alone, without what may go before. */
const DANGEROUS: Readonly<Record<string, readonly (number | readonly [number, number])[]>> = {
  'older controls': [[0x00, 0x08], [0x0b, 0x1f], 0x7f],
  'later controls': [[0x80, 0x9f]],
  directions: [0x061c, [0x200e, 0x200f], [0x202a, 0x202e], [0x2066, 0x2069]],
  'what has no width': [0xad, 0x034f, 0x180e, 0x200b, [0x2060, 0x2065], [0x206a, 0x206f], 0xfeff],
  'joiners where nothing is joined': [[0x200c, 0x200d]],
  fillers: [0x115f, 0x1160, [0x17b4, 0x17b5], 0x3164, 0xffa0],
  'variants of nothing': [[0x180b, 0x180d], 0x180f, [0xfe00, 0xfe0f], [0xe0100, 0xe01ef]],
  tags: [0xe0001, [0xe0020, 0xe007f]],
  'line and paragraph separators': [[0x2028, 0x2029]],
  'marks of annotations': [[0xfff9, 0xfffb]],
  'controls of shorthand, music and hieroglyphs': [
    [0x1bca0, 0x1bca3],
    [0x1d173, 0x1d17a],
    [0x13430, 0x1343f],
  ],
  'halves of pairs': [[0xd800, 0xdfff]],
}

function codesOf(ranges: readonly (number | readonly [number, number])[]): number[] {
  return ranges.flatMap((range) => {
    const [from, to] = typeof range === 'number' ? [range, range] : range
    return Array.from({ length: to - from + 1 }, (_, at) => from + at)
  })
}

describe('on a terminal and in documents', () => {
  it.each(Object.entries(DANGEROUS))('shown: %s', (_, ranges) => {
    const characters = codesOf(ranges).map((code) => String.fromCodePoint(code))
    const through = characters.filter((one) => safeText(one).includes(one) || visibleText(one).includes(one))
    expect(through).toEqual([])
  })

  it.each([
    'a line\nand a tab\t',
    'é 日本 \u00a0 ½ € \u0600\u0661 \u06dd',
    '👩‍💻 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿',
    'می‌خواهم क्‍ष',
    '\ufffd \ue000',
  ])('%j stays as it is', (text) => {
    expect([safeText(text), visibleText(text)]).toEqual([text, text])
  })

  it('the same characters are shown, of all there are', () => {
    const differ: number[] = []
    let shown = 0
    for (let code = 0; code <= 0x10ffff; code++) {
      const character = String.fromCodePoint(code)
      const isShown = safeText(character) !== character
      if (isShown) shown += 1
      if (isShown !== (visibleText(character) !== character)) differ.push(code)
    }
    expect(differ).toEqual([])
    expect(shown).toBeGreaterThan(codesOf(Object.values(DANGEROUS).flat()).length)
  })

  it('the same places of a text are shown', () => {
    const pieces = [
      'a',
      '日',
      'ک',
      'क',
      '्',
      '👩',
      '🏽',
      '❤',
      '🏴',
      '\ufe0f',
      '\u200c',
      '\u200d',
      '\u202e',
      '\x1b',
    ]
    const tags = ['\u{e0067}', '\u{e0062}', '\u{e007f}', '\r', '\n', '\t', '\ud800', '\udc00', ' ']
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...pieces, ...tags), { maxLength: 12 }).map((list) => list.join('')),
        (text) => {
          const byNumber = visibleText(text).replaceAll(/⟨U\+([0-9A-F]+)⟩/g, (_, digits: string) => {
            const code = digits.toLowerCase()
            return code.length > 4 ? `\\u{${code}}` : `\\u${code}`
          })
          expect(byNumber).toBe(safeText(text))
        },
      ),
    )
  })
})

import fc from 'fast-check'

/* Texts that are hard to cut, and what says where their characters end. */

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Every place of a text between two characters, both ends included. */
export function characterEnds(text: string): ReadonlySet<number> {
  return new Set([...segmenter.segment(text)].map(({ index }) => index).concat(text.length))
}

const PIECES = [
  'a',
  'Z',
  '7',
  'word',
  ' ',
  '. ',
  '! ',
  '\n',
  '\r\n',
  'é',
  'e\u0301',
  'n\u0303\u0323',
  '你好',
  '。',
  'か\u3099',
  '🙂',
  '👍🏽',
  '👩‍👩‍👧‍👦',
  '🇩🇪',
  '🇫🇷',
  '☂️',
  '각',
  '한글',
  'नि',
] as const

/** A text of hard pieces in any order, or anything at all, lone surrogates included. */
export const hardText: fc.Arbitrary<string> = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 120 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 80 })
    .map((units) => String.fromCharCode(...units)),
)

/** The same without blanks and wide stops, where nothing can be cut but between characters. */
export const solidText: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...PIECES.filter((piece) => !/[\s.!。]/.test(piece))), { maxLength: 120 })
  .map((pieces) => pieces.join(''))

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Sink } from '../../../src/cli/command.ts'
import {
  createStyle,
  safeJson,
  safeLine,
  safeText,
  sealed,
  terminalCode,
} from '../../../src/cli/output/safe-text.ts'

/** What no terminal may get but a line break and a tab; joiners and variation selectors have their places. */
const FORBIDDEN = new RegExp(
  [
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]',
    '[\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]',
    '[\\u{e0100}-\\u{e01ef}]',
    '\\p{Cs}',
  ].join('|'),
  'u',
)
/** Flags of regions are written with tags, and our own colours with escapes. */
const FLAGS = /🏴[\u{e0030}-\u{e007f}]+/gu
const COLOURS = new RegExp(`${'\x1b'}\\[(?:1|22|31|39)m`, 'g')

/** Text full of what is dangerous, and of what must not be spoilt. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)),
      fc.constantFrom(
        '\x1b[2J',
        '\x1b]0;x\x07',
        '\x9b31m',
        '\x1b[31;1m',
        '\u202e',
        '\u2066',
        '\u200b',
        '\ud800',
        '\udfff',
        '\r',
        '\u200d',
        '\ufe0f',
        '👨‍👩‍👧',
        '日本',
        '\n',
        '\t',
      ),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''))

describe('safeText', () => {
  it.each([
    ['plain text stays', 'plain text stays'],
    ['two\nlines\tand a tab', 'two\nlines\tand a tab'],
    ['\x1b[31mred\x1b[0m', '␛[31mred␛[0m'],
    ['\x9b31m', '\\u009b31m'],
    ['a\rb', 'a␍b'],
    ['a\r\nb', 'a\nb'],
    ['\x00\x07\x7f', '␀␇␡'],
    ['abc\u202edef', 'abc\\u202edef'],
    ['zero\u200bwidth', 'zero\\u200bwidth'],
    ['lone \ud83d surrogate', 'lone \\ud83d surrogate'],
    ['tag \u{e0041}', 'tag \\u{e0041}'],
    ['a\u200db', 'a\\u200db'],
    // What people write stays whole.
    ['family 👨‍👩‍👧, heart ❤️, flag 🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'family 👨‍👩‍👧, heart ❤️, flag 🏴󠁧󠁢󠁥󠁮󠁧󠁿'],
    ['می‌خواهم', 'می‌خواهم'],
    ['क्‍ष', 'क्‍ष'],
  ])('shows %j as %j', (text, shown) => {
    expect(safeText(text)).toBe(shown)
  })

  it('lets nothing through that a terminal obeys, and changes nothing the second time', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const safe = safeText(text)
        expect(safe.replace(FLAGS, '')).not.toMatch(FORBIDDEN)
        expect(safeText(safe)).toBe(safe)
        expect(safeLine(text)).not.toMatch(/[\n\t]/)
      }),
    )
  })
})

describe('a sealed sink', () => {
  const written = (colours: boolean, write: (sink: Sink) => void): string => {
    let text = ''
    const raw: Sink = {
      isTerminal: true,
      columns: 80,
      write: (more) => {
        text += more
      },
    }
    write(sealed(raw, colours))
    return text
  }

  it('sends our own colours and shows those of others', () => {
    const style = createStyle(true)
    const text = `${style.red('a\x1b[32mb')}\x1b[1mc`
    expect(written(true, (sink) => sink.write(text))).toBe('\x1b[31ma␛[32mb\x1b[39m␛[1mc')
    expect(written(false, (sink) => sink.write(text))).toBe('a␛[32mb␛[1mc')
  })

  it('nests styles, ends them with each line, and sends codes that were meant', () => {
    const style = createStyle(true)
    expect(written(true, (sink) => sink.write(style.bold(`a${style.dim('b')}c`)))).toBe(
      '\x1b[1ma\x1b[2mb\x1b[22m\x1b[1mc\x1b[22m',
    )
    expect(written(true, (sink) => sink.write(style.red('a\nb')))).toBe(
      '\x1b[31ma\x1b[39m\n\x1b[31mb\x1b[39m',
    )
    expect(written(true, (sink) => sink.write(terminalCode('\r\x1b[2K')))).toBe('\r\x1b[2K')
  })

  it('lets no escape of a stored text through, whatever is done to it', () => {
    const style = createStyle(true)
    fc.assert(
      fc.property(hostile, (text) => {
        const sent = written(true, (sink) => sink.write(style.bold(style.red(text)) + text))
        expect(sent.replace(COLOURS, '').replace(FLAGS, '')).not.toMatch(FORBIDDEN)
      }),
    )
  })
})

it('writes JSON that means the same and that no terminal obeys', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const json = safeJson(JSON.stringify({ [text]: text }, null, 2))
      expect(json).not.toMatch(FORBIDDEN)
      expect(JSON.parse(json)).toEqual({ [text]: text })
    }),
  )
})

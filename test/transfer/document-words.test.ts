import { describe, expect, it } from 'vitest'
import { NO_SIZES } from '../../src/core/tokens/measure.ts'
import { mediaOf } from '../../src/transfer/document/blocks.ts'
import {
  figure,
  positionWords,
  size,
  time,
  visibleLine,
  visibleText,
} from '../../src/transfer/document/options.ts'
import { sharesOf } from '../../src/transfer/document/session-document.ts'
import { PNG } from './sessions.ts'

describe('what cannot be seen', () => {
  it.each([
    ['line breaks and tabs stay', 'a\n\tb\r\nc', 'a\n\tb\nc'],
    ['controls by their pictures', '\0\u0007\u001b[2J\u007f\r', '␀␇␛[2J␡␍'],
    ['later controls by number', '\u0085\u009b', '⟨U+0085⟩⟨U+009B⟩'],
    ['directions', 'a\u202eb\u202c\u2066c\u2069\u200f', 'a⟨U+202E⟩b⟨U+202C⟩⟨U+2066⟩c⟨U+2069⟩⟨U+200F⟩'],
    ['what takes no room', 'a\u200bb\ufeff\u00ad\u2060', 'a⟨U+200B⟩b⟨U+FEFF⟩⟨U+00AD⟩⟨U+2060⟩'],
    ['tags that carry hidden words', '\u{e0041}\u{e007f}', '⟨U+E0041⟩⟨U+E007F⟩'],
    ['separators', 'a\u2028b\u2029', 'a⟨U+2028⟩b⟨U+2029⟩'],
    ['halves of pairs', '\ud83d\ude00 \ud83d \ude00', '😀 ⟨U+D83D⟩ ⟨U+DE00⟩'],
    ['emoji and scripts as they are', '👩‍💻 می‌خواهم ❤️', '👩‍💻 می‌خواهم ❤️'],
  ])('%s', (_, text, visible) => {
    expect(visibleText(text)).toBe(visible)
  })

  it('stays on a line where it must', () => {
    expect(visibleLine('a\nb\tc')).toBe('a␊b␉c')
  })
})

it('contain figures, sizes, times and places', () => {
  expect([0, 999, 1_000, 1_234_567].map(figure)).toEqual(['0', '999', '1,000', '1,234,567'])
  expect([1, 999, 34_400, 1_250_000].map(size)).toEqual(['1 byte', '999 bytes', '34 KB', '1.3 MB'])
  expect([time(0), time(-1), time(Number.MAX_SAFE_INTEGER)]).toEqual([
    '1970-01-01 00:00:00 UTC',
    '1969-12-31 23:59:59 UTC',
    'at an invalid time',
  ])
  expect(positionWords([[3, 3]])).toBe('position 3')
  expect(positionWords([[3, 41]])).toBe('positions 3–41')
  expect(
    positionWords([
      [1, 2],
      [4, 4],
      [1_000, 2_000],
    ]),
  ).toBe('positions 1–2, 4, 1000–2000')
})

it('shares a whole out to the last thousandth', () => {
  const sizes = { ...NO_SIZES, text: 1, reasoning: 1, toolResults: 1 }
  expect(sharesOf(sizes).map(({ key, share }) => [key, share])).toEqual([
    ['text', 333],
    ['reasoning', 334],
    ['toolResults', 333],
  ])
  expect(sharesOf(NO_SIZES)).toEqual([])
})

describe('pictures', () => {
  const heads = {
    'image/png': PNG,
    'image/jpeg': Buffer.from('ffd8ffe000104a464946', 'hex'),
    'image/gif': Buffer.from('GIF89a\x01\0', 'latin1'),
    'image/webp': Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1'),
  }
  it.each(Object.entries(heads))('are described by their bytes: %s', (mediaType, bytes) => {
    const base64 = bytes.toString('base64')
    for (const image of [bytes, base64, `data:text/html;base64,${base64}`])
      expect(mediaOf({ type: 'image', image, mediaType: 'image/svg+xml' })).toEqual({
        picture: { mediaType, base64 },
        bytes: bytes.length,
      })
  })

  it.each([
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
    Buffer.from('RIFF\x10\0\0\0WAVE', 'latin1'),
    Buffer.from('<html>'),
    Buffer.from(''),
  ])('are nothing else, whatever they are called', (bytes) => {
    expect(mediaOf({ type: 'image', image: bytes, mediaType: 'image/png' })).toEqual({
      picture: undefined,
      bytes: bytes.length,
      address: undefined,
    })
  })

  it('are not fetched', () => {
    expect(mediaOf({ type: 'image', image: 'HTTPS://example.org/a.png' }).address).toBe(
      'HTTPS://example.org/a.png',
    )
    expect(mediaOf({ type: 'image', image: 'javascript:alert(1)' })).toEqual({
      picture: undefined,
      bytes: undefined,
      address: undefined,
    })
  })
})

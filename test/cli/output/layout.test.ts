import stringWidth from 'string-width'
import { expect, it } from 'vitest'
import wrapAnsi from 'wrap-ansi'
import { clipped, widthOf, wrapped } from '../../../src/cli/output/layout.ts'
import { markStyles } from '../../../src/cli/output/safe-text.ts'

/** The libraries take the square of a line's length. One composes characters, which what is shown does not. */
it.each([
  'Please fix the error in src/index.ts – é ',
  'a  b   ',
  '文字 ',
  '文字',
  '👨‍👩‍👧',
  'e\u0301 ',
  '🇩🇪',
  'é',
])('measures and wraps a long line of %s as string-width and wrap-ansi do', (piece) => {
  const text = piece.repeat(Math.ceil(9_000 / piece.length)).trim()
  const lines = wrapAnsi(text, 70, { hard: true }).split('\n')
  expect(widthOf(text)).toBe(stringWidth(text))
  expect(wrapped(text, 70).map((line) => line.normalize())).toEqual(lines.map((line) => line.trimEnd()))
})

it('clips a long line between characters as people see them', () => {
  expect(clipped('👨‍👩‍👧'.repeat(9_000), 6)).toBe('👨‍👩‍👧👨‍👩‍👧…')
  expect(clipped('\u200b'.repeat(9_000).concat('abcdef'), 4)).toBe(`${'\u200b'.repeat(9_000)}abc…`)
})

it('measures what is styled without its codes', () => {
  expect(widthOf(markStyles('\u001b[1mab\u001b[22m \u001b[31m文\u001b[39m'))).toBe(5)
})

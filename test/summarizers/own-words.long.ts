import { expect, it } from 'vitest'
import { ownWords } from '../../src/core/summarizers/extractive/own-words.ts'
import { growth } from '../support/growth.ts'

/** `n` lines made of their numbers. */
const lines = (n: number, line: (i: number) => string): string =>
  Array.from({ length: n }, (_, i) => line(i)).join('')

it.each<[string, (n: number) => string]>([
  ['open tags', (n) => '<a>\n'.repeat(n)],
  ['open tags and one that closes', (n) => `${'<a>\n'.repeat(n)}</a>`],
  ['tags of many names', (n) => lines(n, (i) => `<a${i}>\n`)],
  ['many names, closed in order', (n) => lines(n, (i) => `<a${i}>\n`) + lines(n, (i) => `</a${i}>\n`)],
  ['tags of one line', (n) => '<b>x</b>'.repeat(n)],
  ['tags of one line that cross', (n) => '<b> '.repeat(n) + '</b> '.repeat(n)],
  ['three quotes', (n) => '"""\n'.repeat(n)],
  ['senders', (n) => 'From: a\n'.repeat(n)],
  ['signs', (n) => '>'.repeat(10 * n)],
  ['blanks', (n) => ' '.repeat(10 * n)],
  ['less-than signs', (n) => '<a '.repeat(n)],
  ['brackets', (n) => '[web '.repeat(n)],
])('reads %s in linear time', (_, text) => {
  expect(growth((n) => ownWords(text(n)), 150_000)).toBeLessThan(3)
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { indexOfText } from '../../src/core/messages/characters.ts'

it('a text is found where indexOf finds it, long ones that repeat themselves included', () => {
  const repeated = fc
    .tuple(fc.constantFrom('a', 'ab', 'aab', 'éa'), fc.nat(400), fc.constantFrom('', 'b', 'a'))
    .map(([unit, times, last]) => unit.repeat(times) + last)
  fc.assert(
    fc.property(repeated, repeated, repeated, fc.nat(900), (before, sought, after, from) => {
      const text = before + sought + after
      expect(indexOfText(text, sought, from)).toBe(text.indexOf(sought, from))
      expect(indexOfText(text, `${sought}c`, from)).toBe(-1)
    }),
  )
})

it('a long search ends in which each place nearly matches', () => {
  const text = '\\\\a'.repeat(200_000).slice(0, 500_000)
  // The halves of what is sought are out of step: indexOf takes 20 seconds.
  expect(indexOfText(text, text.slice(0, 125_000) + text.slice(-125_000))).toBe(-1)
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { StreamedText } from '../../../src/cli/commands/chat/reporter.ts'
import { safeText } from '../../../src/cli/output/safe-text.ts'

function streamed(pieces: readonly string[]): string {
  let shown = ''
  const text = new StreamedText((piece) => {
    shown += safeText(piece)
  })
  for (const piece of pieces) text.push(piece)
  text.end()
  return shown
}

it('shows an emoji of several signs whole, however it is cut', () => {
  const family = '👩‍👩‍👧 und 🏳️‍🌈 fin'
  expect(streamed([...family].flatMap((character) => character.split('')))).toBe(family)
})

it('loses and adds nothing', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 8 }), { maxLength: 8 }), (pieces) => {
      let shown = ''
      const text = new StreamedText((piece) => {
        shown += piece
      })
      for (const piece of pieces) text.push(piece)
      text.end()
      expect(shown).toBe(pieces.join(''))
    }),
  )
})

it('shows every escape of a stream, wherever it is cut', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('\x1b', '[2J', ']0;x\x07', 'a', '\x9b', '31m', '\n')), (pieces) => {
      expect(streamed(pieces)).not.toMatch(/(?!\n)\p{Cc}/u)
    }),
  )
})

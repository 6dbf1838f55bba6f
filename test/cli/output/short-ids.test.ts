import fc from 'fast-check'
import { expect, it } from 'vitest'
import { shortIds } from '../../../src/cli/output/ids.ts'

it('shows an id by its last eight letters, or by as many as tell it from others', () => {
  expect([...shortIds(['0000-aaaaaaaa', '1111-aaaaaaaa', '0000-bbbbbbbb', 'short'])]).toEqual([
    ['0000-aaaaaaaa', '0-aaaaaaaa'],
    ['1111-aaaaaaaa', '1-aaaaaaaa'],
    ['0000-bbbbbbbb', 'bbbbbbbb'],
    ['short', 'short'],
  ])
  // An end with which another begins would be taken for that.
  expect(shortIds(['xx12345678', '12345678yy']).get('xx12345678')).toBe('x12345678')
})

it('is the shortest end that no other id begins or ends with', () => {
  const id = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 14 })
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 8 }), (ids) => {
      for (const [whole, short] of shortIds(ids)) {
        const isTold = (end: string): boolean =>
          !ids.some((other) => other !== whole && (other.endsWith(end) || other.startsWith(end)))
        expect(whole.endsWith(short)).toBe(true)
        if (short !== whole) expect(isTold(short)).toBe(true)
        const shorter = Math.min(short.length, whole.length) - 1
        for (let length = 8; length <= shorter; length += 1) expect(isTold(whole.slice(-length))).toBe(false)
      }
    }),
    { numRuns: 2_000 },
  )
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sessionsNamed, shortIds, shortSessionIds } from '../../../src/cli/output/ids.ts'

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

const CALLER = '0d4e5f60-1111-4222-8333-abcdefabcdef'

it('names a session before its subagents, and a subagent by the end of its id', () => {
  const ids = [CALLER, `${CALLER}/agent-1a2b3c4d`, `${CALLER}/agent-5e6f7a8b`, 'billing', 'billing-2']
  expect([...shortSessionIds(ids.slice(0, 3), ids)]).toEqual([
    [CALLER, '0d4e5f60'],
    [`${CALLER}/agent-1a2b3c4d`, '1a2b3c4d'],
    [`${CALLER}/agent-5e6f7a8b`, '5e6f7a8b'],
  ])
  expect(sessionsNamed('0d', ids)).toEqual([CALLER])
  expect(sessionsNamed('bill', ids)).toEqual(['billing', 'billing-2'])
  expect(sessionsNamed('-2', ids)).toEqual(['billing-2'])
  // An id that begins so goes before one that ends so.
  expect(sessionsNamed('2', [...ids, '2nd'])).toEqual(['2nd'])
})

it('is a text of at least eight characters that names the session alone, and no shorter beginning does', () => {
  const id = fc.string({ unit: fc.constantFrom('a', 'b', '/', '𝒞'), minLength: 1, maxLength: 14 })
  fc.assert(
    fc.property(fc.uniqueArray(id, { minLength: 1, maxLength: 8 }), (ids) => {
      for (const [whole, short] of shortSessionIds(ids, ids)) {
        expect(sessionsNamed(short, ids)).toEqual([whole])
        expect(short.isWellFormed()).toBe(true)
        expect(short.length).toBeGreaterThanOrEqual(Math.min(8, whole.length))
        for (let length = 8; length < short.length; length++) {
          const beginning = whole.slice(0, length)
          if (beginning.isWellFormed()) expect(sessionsNamed(beginning, ids)).not.toEqual([whole])
        }
      }
    }),
    { numRuns: 2_000 },
  )
})

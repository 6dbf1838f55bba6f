import fc from 'fast-check'
import { expect, it } from 'vitest'
import { partialJson } from '../../src/transfer/head.ts'

it.each([
  ['{"a":1,"b":[1,{"c":"wor', { a: 1, b: [1, { c: 'wor' }] }],
  ['[{"role":"user","content":"cut \\u00', [{ role: 'user', content: 'cut ' }]],
  ['{"a":"x\\', { a: 'x' }],
  ['{"a":1,"key', { a: 1 }],
  ['{"a":1,"key":', { a: 1 }],
  ['{"a":1,"key":tru', { a: 1 }],
  ['[1,2', [1, 2]],
  ['{', {}],
  ['{"mapping":{"n":', { mapping: { n: undefined } }],
])('tells as much as there is of %j', (text, expected) => {
  expect(partialJson(text)).toEqual(expected)
})

it.each(['', 'words', '}', '{"a":nope'])('reads nothing from %j', (text) => {
  expect(partialJson(text) ?? {}).toEqual({})
})

it('reads what is whole as it is, and never throws on a part of it', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (value, cut) => {
      const text = JSON.stringify(value)
      expect(partialJson(text)).toEqual(JSON.parse(text))
      expect(typeof partialJson(text.slice(0, 1 + (cut % text.length)))).toBe('object')
    }),
  )
})

it('reads what is nested as deep as a head is long in a moment', () => {
  expect(Array.isArray(partialJson('['.repeat(50_000)) ?? [])).toBe(true)
})

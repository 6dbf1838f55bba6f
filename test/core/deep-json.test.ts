import { expect, it } from 'vitest'
import { dataFrom } from '../../src/adapters/ai-sdk/fields.ts'
import { parsedJson } from '../../src/core/messages/json.ts'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

it('JSON in a text is read as deep as it can be written again, and a deeper one is no JSON', () => {
  expect(JSON.stringify(parsedJson(nested(2_000)))).toBe(nested(2_000))
  expect(parsedJson(nested(2_001))).toBeUndefined()
  expect(parsedJson(nested(500_000))).toBeUndefined()
  expect(parsedJson(`{"a": "${nested(5_000)}"}`)).toEqual({ a: nested(5_000) })
})

it('the data of a file is tagged once, however often its tag is nested', () => {
  let value: unknown = 'aGk='
  for (let level = 0; level < 100_000; level++) value = { type: 'data', data: value }
  expect(dataFrom(value)).toBeUndefined()
  expect(dataFrom({ type: 'data', data: 'aGk=' })).toEqual({ data: 'aGk=', own: { tagged: true } })
})

import { describe, expect, it } from 'vitest'
import {
  coversRange,
  readVariant,
  requestedRange,
  shownRange,
  statedRange,
  UNKNOWN_LINES,
} from '../../src/core/model/line-range.ts'
import { indexMessage } from '../../src/core/model/message-parts.ts'
import { neurolinkEstimator } from '../../src/core/tokens/measure.ts'
import { decodeCalls, encodeTools, skipTools } from '../../src/storage/sql/row-codec.ts'

describe('the lines a read asks for', () => {
  it.each([
    [{}, { from: 1 }],
    [{ head: 10 }, { from: 1, to: 10 }],
    [{ tail: 10 }, UNKNOWN_LINES],
    [{ offset: -10 }, UNKNOWN_LINES],
    [
      { offset: 5, limit: '10' },
      { from: 5, to: 14 },
    ],
    [{ view_range: [5, -1] }, { from: 5 }],
    [{ view_range: [-5, -1] }, UNKNOWN_LINES],
  ])('%j', (input, range) => {
    expect(requestedRange(input)).toEqual(range)
  })
})

it('lines without a number cover nothing, and only the whole file covers them', () => {
  expect(coversRange(UNKNOWN_LINES, UNKNOWN_LINES)).toBe(false)
  expect(coversRange(UNKNOWN_LINES, { from: 1, to: 1 })).toBe(false)
  expect(coversRange({ from: 1, to: 9_999 }, UNKNOWN_LINES)).toBe(false)
  expect(coversRange({ from: 2 }, UNKNOWN_LINES)).toBe(false)
  expect(coversRange({ from: 1 }, UNKNOWN_LINES)).toBe(true)
})

describe('what else decides what is shown', () => {
  it.each([
    [{ path: 'a' }, undefined],
    [{ path: 'a', offset: 1, limit: 2, ref: null }, undefined],
    [{ path: 'a', ref: 'b' }, '{"ref":"b"}'],
    [{ ref: 'a', path: 'a' }, '{"ref":"a"}'],
    [{ path: 'a', limit: 2, end_line: 7 }, '{"end_line":7}'],
    [{ path: 'a', offset: -3 }, '{"offset":-3}'],
  ])('%j', (input, variant) => {
    expect(readVariant(input, 'a')).toBe(variant)
  })

  it('long ones are hashed, whatever the order of keys', () => {
    const long = 'x'.repeat(100)
    const variant = readVariant({ path: 'a', x: long, y: 1 }, 'a')
    expect(variant).toHaveLength(16)
    expect(readVariant({ y: 1, x: long, path: 'a' }, 'a')).toBe(variant)
    expect(readVariant({ y: 2, x: long, path: 'a' }, 'a')).not.toBe(variant)
  })
})

describe('the lines a result shows', () => {
  const ten = 'x\n'.repeat(10)
  it.each([
    ['all', ten, { from: 1 }],
    ['a count of what is left', `${ten}... (450 more lines)`, { from: 1, to: 10 }],
    ['a limit', `${ten}[output limit reached]`, { from: 1, to: 10 }],
    ['bytes', `${ten}[12.3KB more bytes]`, { from: 1, to: 10 }],
    ['dots', `${ten}...`, { from: 1, to: 10 }],
    ['a gap', `${ten}[... 7 lines omitted ...]\n${'y\n'.repeat(600)}`, UNKNOWN_LINES],
    ['the last lines', `[showing the last 10 lines]\n${ten}`, UNKNOWN_LINES],
    ['lines of a total', `${ten}(lines 1-10 of 20)`, { from: 1, to: 10 }],
  ])('%s', (_, text, range) => {
    expect(shownRange({ from: 1 }, text)).toEqual(range)
  })

  it('named in the heading', () => {
    expect(statedRange('Read file a.ts lines 51-120\nx')).toEqual({ from: 51, to: 120 })
    expect(statedRange('Read file a.ts:51-120\nx')).toEqual({ from: 51, to: 120 })
    expect(statedRange('Read file a.ts\nlines 51-120')).toBeUndefined()
  })
})

it('the index of calls goes through its column and back', () => {
  const inputs = [
    {},
    { path: 'a' },
    { path: 'a', offset: 3 },
    { path: 'a', offset: 3, limit: 4 },
    { path: 'a', tail: 3 },
    { path: 'a', ref: '1' },
    { path: 'a', ref: '1', offset: 3 },
    { path: 'a', ref: 'x'.repeat(99), offset: 3, limit: 4 },
  ]
  const content = inputs.map((input, index) => ({
    type: 'tool-call' as const,
    toolCallId: `c${index}`,
    toolName: 'read',
    input,
  }))
  const index = indexMessage({ content }, neurolinkEstimator)
  const values = JSON.parse(`[0,${encodeTools(index)!}]`) as unknown[]
  expect(decodeCalls(values, 1)).toEqual(index.calls)
  expect(skipTools(values, 1)).toBe(values.length)
})

it('values that are no index of calls are found, not taken for none', () => {
  const damaged = [
    '"x"',
    '[]',
    '{}',
    'null',
    '-1',
    '1',
    '1,-1,5,6,0',
    '1,"x","y","z",0,0,0',
    '1,0,"c",null,null,0,0',
  ]
  for (const column of damaged) {
    // Behind it stands a row of one result, which a wrong count would swallow.
    const values = JSON.parse(`[${column},1,0,"c",1,0,0,0]`) as unknown[]
    expect(skipTools(values, 0), column).toBeUndefined()
  }
})

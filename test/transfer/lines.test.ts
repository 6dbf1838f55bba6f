import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  type JsonLine,
  type Line,
  readFilledLines,
  readJsonLines,
  readLines,
  valuesInLine,
} from '../../src/transfer/lines.ts'
import { growth } from '../support/growth.ts'
import { all, chunked } from './support/chunked.ts'

const linesOf = (text: string | Uint8Array, sizes?: readonly number[], max?: number): Promise<Line[]> =>
  all(readLines(chunked(text, sizes), max))
const jsonOf = (text: string, max?: number): Promise<JsonLine[]> =>
  all(readJsonLines(chunked(text, [5]), max))

it('cuts at line feeds alone, and counts blank lines', async () => {
  expect(await linesOf('a\u2028b\r\n\n\rc\x85\u2029d\n')).toEqual([
    { number: 1, ended: true, text: 'a\u2028b' },
    { number: 2, ended: true, text: '' },
    { number: 3, ended: true, text: '\rc\x85\u2029d' },
  ])
})

it('reports of the last line whether it has an end', async () => {
  expect(await linesOf('a\nb\r')).toEqual([
    { number: 1, ended: true, text: 'a' },
    { number: 2, ended: false, text: 'b\r' },
  ])
  expect(await linesOf('')).toEqual([])
  expect(await linesOf('\n')).toEqual([{ number: 1, ended: true, text: '' }])
})

it('skips a byte order mark at the beginning, and nowhere else', async () => {
  expect(await linesOf('\ufeffa\n\ufeffb\n', [1])).toEqual([
    { number: 1, ended: true, text: 'a' },
    { number: 2, ended: true, text: '\ufeffb' },
  ])
  expect(await linesOf('\ufeff\r\n', [2])).toEqual([{ number: 1, ended: true, text: '' }])
})

it('tells of a line that is no UTF-8, and reads on', async () => {
  const bytes = Buffer.concat([Buffer.from('ä\n'), Buffer.from([0xc3, 0x0a]), Buffer.from('ö\n')])
  expect(await linesOf(bytes, [1])).toEqual([
    { number: 1, ended: true, text: 'ä' },
    { number: 2, ended: true, problem: 'it is not UTF-8' },
    { number: 3, ended: true, text: 'ö' },
  ])
})

it.each([[1], [3], [100]])('tells of a line that is too long and reads on, in chunks of %i', async (size) => {
  expect(await linesOf('123456\n12345\r\n1234567890\n1\n123456', [size], 5)).toEqual([
    { number: 1, ended: true, problem: 'it is longer than 5 bytes' },
    { number: 2, ended: true, text: '12345' },
    { number: 3, ended: true, problem: 'it is longer than 5 bytes' },
    { number: 4, ended: true, text: '1' },
    { number: 5, ended: false, problem: 'it is longer than 5 bytes' },
  ])
})

it('reads the same whatever the chunks are', async () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '\n', '\r', 'ß', '€', '𝄞', '\u2028', '\ufeff'),
    maxLength: 40,
  })
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(text, sizes, async (given, cuts) => {
      const expected = given
        .replace(/^\ufeff/, '')
        .split('\n')
        .map((line, i, list) => (i < list.length - 1 ? line.replace(/\r$/, '') : line))
      if (given === '\ufeff') return
      if (expected.at(-1) === '') expected.pop()
      const read = await linesOf(given, cuts)
      expect(read.map((line) => ('text' in line ? line.text : line.problem))).toEqual(expected)
    }),
  )
})

it('reads a JSON value a line, without blank ones, and never quotes an invalid one', async () => {
  expect(await jsonOf('{"a":1}\n\n  \nsecret words\n[2]\n{"b":')).toEqual([
    { line: 1, ended: true, value: { a: 1 }, text: '{"a":1}' },
    { line: 4, ended: true, problem: expect.stringMatching(/^it is not JSON/), isTorn: true },
    { line: 5, ended: true, value: [2], text: '[2]' },
    { line: 6, ended: false, problem: 'the file ends within it', isTorn: true },
  ])
  expect(JSON.stringify(await jsonOf('secret words\n'))).not.toContain('secret')
})

it('reads a last line without an end that is whole', async () => {
  expect(await jsonOf('1\n{"a":2}')).toEqual([
    { line: 1, ended: true, value: 1, text: '1' },
    { line: 2, ended: false, value: { a: 2 }, text: '{"a":2}' },
  ])
})

it('reads several values of a line, with the column of each', async () => {
  expect(await jsonOf('{"a":1}{"b":"}{"} \0\0[3]\n[4]\n')).toEqual([
    { line: 1, column: 1, ended: true, value: { a: 1 }, text: '{"a":1}' },
    { line: 1, column: 8, ended: true, value: { b: '}{' }, text: '{"b":"}{"}' },
    { line: 1, column: 21, ended: true, value: [3], text: '[3]' },
    { line: 2, ended: true, value: [4], text: '[4]' },
  ])
})

it.each([
  ['in a text', '{"a":"hel{"b":2}{"c":"\\"}"}', [2, '{"b":2}', '{"c":"\\"}"}']],
  ['between fields', '{"a":1,{"b":[2]}', [1, '{"b":[2]}']],
  ['with zeros after it', '{"a":"hel\0\0{"b":2}', [1, '{"b":2}']],
  ['by text that is not JSON', 'words {"b":2}', [1, '{"b":2}']],
  ['between whole ones', '{"a":1}{"x":"y{"b":2}', ['{"a":1}', 1, '{"b":2}']],
  ['and two of them', '{"a":nul}{"b":2}{"c":tru}', [1, '{"b":2}', 1]],
])('reads what precedes and what follows a value that is torn %s', async (_, text, expected) => {
  const merged: (string | number)[] = []
  for (const piece of await jsonOf(`${text}\n`)) {
    if ('text' in piece) merged.push(piece.text)
    else if (typeof merged.at(-1) === 'number') merged[merged.length - 1] = Number(merged.at(-1)) + 1
    else merged.push(1)
  }
  expect(merged.map((one) => (typeof one === 'number' ? 'torn' : one))).toEqual(
    expected.map((one) => (typeof one === 'number' ? 'torn' : one)),
  )
})

it('takes no part of a value that is torn at its end for a value', async () => {
  const part = '{"type":"message","content":[{"type":"text"}'
  expect(await jsonOf(`${part}\n`)).toMatchObject([{ line: 1, isTorn: true }])
  expect(await jsonOf(part)).toMatchObject([{ problem: 'the file ends within it' }])
})

const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
const between = fc.constantFrom('', ' ', '\t', '\0\0', '\ufeff')

it('reads all values of a line, whatever is between them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(objects, between), { minLength: 1 }), async (given) => {
      const line = given.map(([value, after]) => JSON.stringify(value) + after).join('')
      const read = await jsonOf(line)
      expect(read.map((one) => ('text' in one ? one.text : one.problem))).toEqual(
        given.map(([value]) => JSON.stringify(value)),
      )
    }),
  )
})

it('reads the whole values after one that a crash cut within a text', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary' }),
      fc.array(objects, { minLength: 1 }),
      async (text, after) => {
        const torn = JSON.stringify({ type: 'user', text: `${text}.` }).slice(0, -2)
        const written = after.map((value) => JSON.stringify({ type: 'user', ...value }))
        const read = await jsonOf(`${torn}${written.join('')}\n`)
        expect(read.flatMap((one) => ('text' in one ? [one.text] : []))).toEqual(written)
      },
    ),
  )
})

it.each(['{"a":1}', '{"a":"', '{', '}', '"\\', '\\"', '{x}'])(
  'divides a line of many %j in linear time',
  (piece) => {
    expect(growth((size) => valuesInLine(piece.repeat(size), true), 20_000)).toBeLessThan(3)
  },
)

it('passes over blank lines without telling them, and counts them', async () => {
  const blank = ' \r\n\t\n\n'.repeat(100_000)
  const told = await all(readFilledLines(chunked(`${blank}a\n${blank}b`, [65_536])))
  expect(told).toEqual([
    { number: 300_001, ended: true, text: 'a' },
    { number: 600_002, ended: false, text: 'b' },
  ])
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type ElementOptions, type JsonElement, readElements } from '../../src/transfer/json-elements.ts'
import { all, chunked } from './support/chunked.ts'

const read = (text: string | Uint8Array, options?: ElementOptions, sizes = [7]): Promise<JsonElement[]> =>
  all(readElements(chunked(text, sizes), options))

const element = (n: number, value: unknown, line = 1, list?: string): JsonElement => ({
  type: 'element',
  line,
  element: n,
  value,
  ...(list !== undefined && { list }),
})
const NO_JSON = expect.stringMatching(/^it is not JSON( from character \d+ on)?$/)

it('reads the elements of a list, with the lines they begin in', async () => {
  expect(await read('\ufeff [ {"a":[1,{"b":"]"}]},\n\n "x\\"],", null\n, -1.5e3 ]\n')).toEqual([
    element(1, { a: [1, { b: ']' }] }),
    element(2, 'x"],', 3),
    element(3, null, 3),
    element(4, -1500, 4),
  ])
  expect(await read('[]')).toEqual([])
  expect(await read(' [ \n ] ')).toEqual([])
})

it('reads the fields of an object, and those lists of it that are asked for by element', async () => {
  const text = '{"title":"t","messages":[1,\n2],"deep":{"messages":[3]},"n":[4],"messages2":[]}'
  const all = [
    { type: 'field', line: 1, key: 'title', value: 't' },
    element(1, 1, 1, 'messages'),
    element(2, 2, 2, 'messages'),
    { type: 'field', line: 2, key: 'deep', value: { messages: [3] } },
    { type: 'field', line: 2, key: 'n', value: [4] },
    { type: 'field', line: 2, key: 'messages2', value: [] },
  ]
  expect(await read(text, { lists: ['messages'] })).toEqual(all)
  expect(await read(text, { lists: ['messages'], fields: (key) => key === 'n' })).toEqual([
    all[1],
    all[2],
    all[4],
  ])
  expect(await read('{}')).toEqual([])
  expect(await read('{"messages":{"a":[]}}', { lists: ['messages'] })).toEqual([
    { type: 'field', line: 1, key: 'messages', value: { a: [] } },
  ])
  expect(await read('{"messages":[]}', { lists: ['messages'] })).toEqual([])
})

it.each([
  ['{"a":x}', 'a word'],
  ['', 'nothing'],
  ['{"a":"b\nc"}', 'a line feed in a text'],
  ['1}', 'a bracket too many of the other kind'],
  ['{"a":[1,2}}', 'a bracket of another kind'],
  ['{"a":1}{"b":2}', 'no comma between'],
])('continues after an element that is not JSON: %j, %s', async (bad) => {
  const lines = 1 + bad.split('\n').length - 1
  expect(await read(`[{"first":1},${bad},{"third":3}]`)).toEqual([
    element(1, { first: 1 }),
    { type: 'problem', line: 1, element: 2, why: NO_JSON },
    element(3, { third: 3 }, lines),
  ])
})

it('never quotes what is no JSON', async () => {
  expect(JSON.stringify(await read('[secret, {"password": hunter2}]'))).not.toMatch(/secret|hunter/)
})

it('tells of an element that is no UTF-8', async () => {
  const text = Buffer.concat([Buffer.from('["a","'), Buffer.from([0xff]), Buffer.from('","c"]')])
  expect(await read(text, {}, [1])).toEqual([
    element(1, 'a'),
    { type: 'problem', line: 1, element: 2, why: 'it is not UTF-8' },
    element(3, 'c'),
  ])
})

it('holds nothing of an element that is too long', async () => {
  expect(await read('[1,"123456789",2,"1234567"]', { maxBytes: 9 }, [3])).toEqual([
    element(1, 1),
    { type: 'problem', line: 1, element: 2, why: 'it is longer than 9 bytes' },
    element(3, 2),
    element(4, '1234567'),
  ])
})

it.each([
  ['[{"a":1},{"b":', [element(1, { a: 1 })], { element: 2 }],
  ['[{"a":1},\n', [element(1, { a: 1 })], {}],
  ['[', [], {}],
  ['[1,"tex', [element(1, 1)], { element: 2 }],
  ['[1,{"a":"unclosed},{"b":"c"}]', [element(1, 1)], { element: 2 }],
  ['{"a":1,"b', [{ type: 'field', line: 1, key: 'a', value: 1 }], {}],
])('reports where a file ends within: %j', async (text, before, where) => {
  const line = text.split('\n').length
  expect(await read(text)).toEqual([
    ...before,
    { type: 'problem', line, ...where, why: 'the file ends within it' },
  ])
})

it.each([
  ['[1] [2]', [element(1, 1)], 'there is text after its end'],
  ['[1]\n]', [element(1, 1)], 'there is text after its end'],
  ['{"a":1}x', [{ type: 'field', line: 1, key: 'a', value: 1 }], 'there is text after its end'],
  ['12', [], 'it is neither a list nor an object'],
  ['{"a"}', [], 'a field has no value'],
  ['{"m":[1] "a":2}', [element(1, 1, 1, 'm')], 'its fields are not separated by commas'],
])('reports what is wrong with the structure, once: %j', async (text, before, why) => {
  const line = text.split('\n').length
  expect(await read(text, { lists: ['m'] })).toEqual([...before, { type: 'problem', line, why }])
})

it('reads the same as JSON.parse, whatever the chunks are', async () => {
  const values = fc.array(fc.jsonValue({ noUnicodeString: false }), { maxLength: 6 })
  const sizes = fc.array(fc.integer({ min: 1, max: 11 }), { minLength: 1, maxLength: 5 })
  const indents = fc.constantFrom(undefined, 1, '\t')
  await fc.assert(
    fc.asyncProperty(values, sizes, indents, async (list, cuts, indent) => {
      const text = JSON.stringify(list, undefined, indent)
      const parsed = JSON.parse(text) as unknown[]
      const read = await all(readElements(chunked(text, cuts)))
      expect(read.map((each) => (each.type === 'element' ? each.value : each))).toEqual(parsed)
    }),
  )
})

it('finds every other element around a damaged one, whatever the chunks are', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', '\\', '[', '}', ',', '\n', 'ä'), maxLength: 12 })
  const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: 5 }),
      fc.nat(4),
      sizes,
      async (texts, nth, cuts) => {
        const bad = nth % texts.length
        const elements = texts.map((each, i) => (i === bad ? '{"x":nope}' : JSON.stringify({ x: each })))
        const read = await all(readElements(chunked(`[${elements.join(',')}]`, cuts)))
        expect(read).toEqual(
          texts.map((x, i) =>
            i === bad ? { type: 'problem', line: 1, element: i + 1, why: NO_JSON } : element(i + 1, { x }),
          ),
        )
      },
    ),
  )
})

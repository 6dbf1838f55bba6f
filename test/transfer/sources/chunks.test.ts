import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SOURCES } from '../../../src/transfer/detect.ts'
import type { Input, SourceEvent } from '../../../src/transfer/source.ts'
import { all, chunked } from '../support/chunked.ts'

/* A source tells the same events wherever the chunks of a file are cut, also when the file is damaged. */

const said = (role: string, words: string) => ({
  author: { role },
  content: { content_type: 'text', parts: [words] },
})
const talk = {
  id: 'talk',
  current_node: 'b',
  mapping: {
    a: { id: 'a', parent: null, message: said('user', 'größe "x"') },
    b: { id: 'b', parent: 'a', message: said('assistant', '€ 5') },
  },
}
const page = {
  uuid: 'page',
  name: 'größe',
  chat_messages: [
    { uuid: 'a', sender: 'human', text: '€ 5', attachments: [{ file_name: 'ä', extracted_content: '"ü"' }] },
    { uuid: 'b', sender: 'assistant', content: [{ type: 'tool_use', name: 'f', input: {} }] },
  ],
}
const call = {
  role: 'assistant',
  content: '',
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
}
const use = { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] }
const flat = [
  { role: 'tool_call', content: '{}', tool: 'f' },
  { role: 'tool_result', content: 'ä' },
]

const lines = (values: readonly object[]): string =>
  values.map((value) => `${JSON.stringify(value)}\r\n`).join('')

const FILES: readonly (readonly [source: string, text: string])[] = [
  ['chatgpt', JSON.stringify([talk, { ...talk, id: 'other' }], null, 1)],
  ['claude', JSON.stringify([page, { ...page, uuid: 'other' }], null, 1)],
  ['claude', lines([page])],
  ['openai', lines([{ role: 'user', content: 'ü' }, call])],
  [
    'openai',
    JSON.stringify({ messages: [call, { role: 'tool', tool_call_id: 'c', content: 'ok' }], model: 'm' }),
  ],
  ['anthropic', JSON.stringify({ messages: [{ role: 'user', content: 'ß' }, use], system: 'brief' })],
  ['messages', lines(flat)],
  ['messages', JSON.stringify([{ messages: flat }, { messages: [] }])],
]

function inputOf(bytes: Buffer, sizes?: readonly number[]): Input {
  return { name: 'file', folder: 'folder', size: bytes.length, bytes: () => chunked(bytes, sizes) }
}

const eventsOf = (source: string, input: Input): Promise<SourceEvent[]> =>
  all(SOURCES.find(({ name }) => name === source)!.read(input, { branches: true }))

it.each(FILES)('%s', async (source, text) => {
  const whole = Buffer.from(text)
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 })
  const damage = fc.option(fc.tuple(fc.nat(whole.length - 1), fc.constantFrom(0xff, 0x7b, 0x22, 0x20)))
  await fc.assert(
    fc.asyncProperty(sizes, damage, fc.nat(whole.length), async (cuts, damaged, lost) => {
      const bytes = Buffer.from(lost % 3 === 0 ? whole.subarray(0, whole.length - (lost % 20)) : whole)
      if (damaged !== null) bytes[damaged[0] % bytes.length] = damaged[1]
      expect(await eventsOf(source, inputOf(bytes, cuts))).toEqual(await eventsOf(source, inputOf(bytes)))
    }),
    { numRuns: 60 },
  )
  const undamaged = await eventsOf(source, inputOf(whole))
  expect(undamaged.filter(({ type }) => type === 'message').length).toBeGreaterThan(1)
  expect(undamaged.filter(({ type }) => type === 'problem')).toEqual([])
})

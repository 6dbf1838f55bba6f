import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mapTexts, type TextPlace } from '../../src/core/messages/map-texts.ts'
import type { Message, Part } from '../../src/core/messages/message.ts'

const upper = (text: string): string => text.toUpperCase()
const one = (part: Part): Message => ({ role: 'assistant', content: [part] })
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const mark = (text: string): string => `<${text}>`

const EVERYTHING: Message = {
  role: 'assistant',
  content: [
    { type: 'text', text: 'a', providerOptions: { openai: { itemId: 'b' } } },
    { type: 'reasoning', text: 'c' },
    { type: 'image', image: 'iVBORw0KGgo=', mediaType: 'image/png' },
    { type: 'image', image: 'https://d' },
    { type: 'file', data: base64('e'), mediaType: 'text/plain', filename: 'f' },
    { type: 'file', data: new TextEncoder().encode('g'), mediaType: 'application/json' },
    { type: 'file', data: 'JVBERi0=', mediaType: 'application/pdf' },
    { type: 'tool-call', toolCallId: '1', toolName: 'read', input: { h: ['i', { j: 'k' }, 1, null] } },
    { type: 'tool-result', toolCallId: '1', toolName: 'read', output: { type: 'json', value: ['l'] } },
    {
      type: 'tool-result',
      toolCallId: '1',
      output: {
        type: 'content',
        value: [
          { type: 'text', text: 'm' },
          { type: 'file', data: `data:text/csv;base64,${base64('n')}`, mediaType: 'text/csv' },
          { type: 'provider', provider: 'anthropic', data: { type: 'o', encrypted_content: 'sealed' } },
        ],
      },
    },
    { type: 'provider', provider: 'openai', data: { p: 'q' } },
  ],
  metadata: { r: 's', undertext: { brokenOff: 'length' } },
}

describe('the texts of a message', () => {
  it('are those of all parts, of JSON with the names of its fields, of text files and of URLs', () => {
    const seen: string[] = []
    mapTexts(EVERYTHING, (text) => {
      seen.push(text)
      return text
    })
    expect([...new Set(seen)].sort()).toEqual(
      [...'abcefghijklmnopqs', 'https://d', 'itemId', 'type', 'encrypted_content'].sort(),
    )
  })

  it('change in place: media, ids, names, roles, types and sealed fields stay', () => {
    const { message, changed, metadataChanged, sealed, opaque } = mapTexts(EVERYTHING, mark)
    expect(message).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: '<a>', providerOptions: { openai: { '<itemId>': '<b>' } } },
        { type: 'reasoning', text: '<c>' },
        { type: 'image', image: 'iVBORw0KGgo=', mediaType: 'image/png' },
        { type: 'image', image: '<https://d>' },
        { type: 'file', data: base64('<e>'), mediaType: 'text/plain', filename: '<f>' },
        { type: 'file', data: new TextEncoder().encode('<g>'), mediaType: 'application/json' },
        { type: 'file', data: 'JVBERi0=', mediaType: 'application/pdf' },
        {
          type: 'tool-call',
          toolCallId: '1',
          toolName: 'read',
          input: { '<h>': ['<i>', { '<j>': '<k>' }, 1, null] },
        },
        { type: 'tool-result', toolCallId: '1', toolName: 'read', output: { type: 'json', value: ['<l>'] } },
        {
          type: 'tool-result',
          toolCallId: '1',
          output: {
            type: 'content',
            value: [
              { type: 'text', text: '<m>' },
              { type: 'file', data: `data:text/csv;base64,${base64('<n>')}`, mediaType: 'text/csv' },
              { type: 'provider', provider: 'anthropic', data: { type: 'o', encrypted_content: 'sealed' } },
            ],
          },
        },
        { type: 'provider', provider: 'openai', data: { '<p>': '<q>' } },
      ],
      metadata: { r: '<s>', undertext: { brokenOff: 'length' } },
    })
    expect(changed).toEqual([0, 1, 3, 4, 5, 7, 8, 9, 10])
    expect(metadataChanged).toBe(true)
    expect(sealed).toEqual([9])
    expect(opaque).toEqual([9])
  })

  it('have a place: the part, and the innermost JSON field, also in a list', () => {
    const places: [string, TextPlace][] = []
    mapTexts(
      { role: 'user', content: [{ type: 'text', text: 'x' }], metadata: { keys: ['y', { z: 'w' }] } },
      (text, place) => {
        places.push([text, place])
        return text
      },
    )
    expect(places).toEqual([
      ['y', { part: undefined, field: 'keys' }],
      ['w', { part: undefined, field: 'z' }],
      ['z', { part: undefined, field: undefined }],
      ['x', { part: 0, field: undefined }],
    ])
  })

  it('of a content that is a string are part 0', () => {
    expect(mapTexts({ role: 'user', content: 'x' }, upper)).toEqual({
      message: { role: 'user', content: 'X' },
      changed: [0],
      metadataChanged: false,
      sealed: [],
      opaque: [],
    })
  })

  it('keep all fields when two names become the same', () => {
    const part: Part = { type: 'tool-call', toolCallId: '1', toolName: 't', input: { a: 1, A: 2, b: 3 } }
    expect(mapTexts(one(part), () => 'x').message.content).toEqual([
      { ...part, input: { x: 1, x2: 2, x3: 3 } },
    ])
  })
})

describe('texts that a signature binds', () => {
  it.each<[string, Part]>([
    [
      'signed reasoning',
      { type: 'reasoning', text: 'x', providerOptions: { anthropic: { signature: 's' } } },
    ],
    [
      'a provider’s thinking block',
      { type: 'provider', provider: 'anthropic', data: { type: 'thinking', thinking: 'x', signature: 's' } },
    ],
  ])('%s stays, and is reported only if it should change', (_, part) => {
    const found = mapTexts(one(part), upper)
    expect(found.message.content).toEqual([part])
    expect([found.sealed, found.opaque, found.changed]).toEqual([[0], [], []])
    expect(mapTexts(one(part), (text) => text).sealed).toEqual([])
  })

  it.each<[string, Part]>([
    [
      'redacted thinking',
      { type: 'provider', provider: 'anthropic', data: { type: 'redacted_thinking', data: 'x' } },
    ],
    ['redacted data', { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'x' } } }],
    [
      'encrypted reasoning',
      { type: 'reasoning', text: '', providerOptions: { openai: { reasoningEncryptedContent: 'x' } } },
    ],
    [
      'an encrypted compaction',
      { type: 'provider', provider: 'openai', data: { type: 'compaction', encrypted_content: 'x' } },
    ],
  ])('%s is opaque: it is stored as it is', (_, part) => {
    const found = mapTexts(one(part), (text) => (text === 'x' ? 'y' : text))
    expect(found.message.content).toEqual([part])
    expect([found.sealed, found.opaque]).toEqual([[], [0]])
  })

  it('a signature of thoughts on a text or a call doesn’t bind its text', () => {
    const options = { google: { thoughtSignature: 's' } }
    const parts: Part[] = [
      { type: 'text', text: 'x', providerOptions: options },
      { type: 'tool-call', toolCallId: '1', toolName: 't', input: ['x'], providerOptions: options },
    ]
    const { message, sealed } = mapTexts({ role: 'assistant', content: parts }, (text) =>
      text === 'x' ? 'y' : text,
    )
    expect(message.content).toEqual([
      { ...parts[0], text: 'y' },
      { ...parts[1], input: ['y'] },
    ])
    expect(sealed).toEqual([])
  })

  it('what is never sent isn’t bound', () => {
    const data = { value: 'x', signature: 's' }
    const part: Part = { type: 'provider', provider: 'undertext-unread', data }
    const found = mapTexts(one(part), (text) => (text === 'x' ? 'y' : text))
    expect(found.message.content).toEqual([{ ...part, data: { value: 'y', signature: 's' } }])
  })
})

describe('the data of a file', () => {
  const fileOf = (data: string | Uint8Array, mediaType: string) => one({ type: 'file', data, mediaType })
  const dataAfter = (data: string | Uint8Array, mediaType: string): unknown => {
    const [part] = mapTexts(fileOf(data, mediaType), upper).message.content as Part[]
    return part?.type === 'file' && part.data
  }

  it.each([
    ['a text that isn’t base64', 'hello there', 'text/plain', 'HELLO THERE'],
    ['base64', base64('hello'), 'text/markdown; charset=utf-8', base64('HELLO')],
    ['a data URL', 'data:text/plain,a%20b', 'text/plain', 'data:text/plain,A%20B'],
    ['a data URL of base64', `data:;base64,${base64('ab')}`, 'text/plain', `data:;base64,${base64('AB')}`],
    ['a vendor’s JSON', base64('"a"'), 'application/vnd.api+json', base64('"A"')],
    ['a URL', 'https://a:b@c', 'application/pdf', 'HTTPS://A:B@C'],
    [
      'bytes that aren’t UTF-8',
      new Uint8Array([0xff, 0xfe, 0x61]),
      'text/plain',
      new Uint8Array([0xff, 0xfe, 0x61]),
    ],
    [
      'a byte order mark',
      new TextEncoder().encode('\ufeffa'),
      'text/plain',
      new TextEncoder().encode('\ufeffA'),
    ],
    ['a PDF', base64('%PDF-1 a'), 'application/pdf', base64('%PDF-1 a')],
    ['an image in a data URL', 'data:image/png;base64,YQ==', 'image/png', 'data:image/png;base64,YQ=='],
  ])('%s', (_, data, mediaType, expected) => {
    expect(dataAfter(data, mediaType)).toEqual(expected)
  })
})

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<never>
const record = fc.dictionary(fc.string(), json)
const options = fc.option(fc.dictionary(fc.string(), record), { nil: undefined })
const leaf = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: fc.string(), providerOptions: options }),
  fc.record({
    type: fc.constant('file' as const),
    data: fc.string(),
    mediaType: fc.constantFrom('text/plain', 'application/pdf'),
    providerOptions: options,
  }),
  fc.record({ type: fc.constant('image' as const), image: fc.string(), providerOptions: options }),
  fc.record({ type: fc.constant('provider' as const), provider: fc.string(), data: json }),
)
const output = fc.oneof(
  fc.record({ type: fc.constantFrom('text' as const, 'error-text' as const), value: fc.string() }),
  fc.record({ type: fc.constantFrom('json' as const, 'error-json' as const), value: json }),
  fc.record({ type: fc.constant('content' as const), value: fc.array(leaf) }),
)
const part = fc.oneof(
  leaf,
  fc.record({ type: fc.constant('reasoning' as const), text: fc.string(), providerOptions: options }),
  fc.record({
    type: fc.constant('tool-call' as const),
    toolCallId: fc.string(),
    toolName: fc.string(),
    input: json,
    providerOptions: options,
  }),
  fc.record({
    type: fc.constant('tool-result' as const),
    toolCallId: fc.string(),
    output,
    providerOptions: options,
  }),
)
const message = fc.record({
  role: fc.constantFrom('user' as const, 'assistant' as const),
  content: fc.oneof(fc.string(), fc.array(part)),
  metadata: fc.option(record, { nil: undefined }),
}) as fc.Arbitrary<Message>

/** Every string of a value, names of fields included. */
function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(stringsOf)
  return Object.entries(value).flatMap(([name, inner]) => [name, ...stringsOf(inner)])
}

describe('for all messages', () => {
  it('the same object comes back if no text changes', () => {
    fc.assert(
      fc.property(message, (given) => {
        expect(mapTexts(given, (text) => text).message).toBe(given)
      }),
    )
  })

  it('every string of an input, a result and a provider’s data is visited', () => {
    fc.assert(
      fc.property(message, (given) => {
        const seen = new Set<string>()
        mapTexts(given, (text) => {
          seen.add(text)
          return text
        })
        if (typeof given.content === 'string') return
        for (const one of given.content) {
          const texts =
            one.type === 'tool-call'
              ? stringsOf(one.input)
              : one.type === 'tool-result' && one.output.type !== 'content'
                ? stringsOf(one.output.value)
                : one.type === 'provider'
                  ? stringsOf(one.data)
                  : one.type === 'text' || one.type === 'reasoning'
                    ? [one.text]
                    : []
          for (const text of texts) expect(seen).toContain(text)
        }
      }),
    )
  })

  it('a second pass of a function that changes nothing twice changes nothing', () => {
    fc.assert(
      fc.property(message, (given) => {
        const once = mapTexts(given, (text) => (text.startsWith('!') ? text : `!${text}`)).message
        const again = mapTexts(once, (text) => (text.startsWith('!') ? text : `!${text}`)).message
        expect(again).toEqual(once)
      }),
    )
  })
})

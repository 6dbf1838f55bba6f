import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json, NewMessage, Part } from '../../../src/index.ts'
import { appendAll, type Contract, S } from './support.ts'

/** Any text: lone surrogates, NUL, emoji, and what JSON must escape. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({
    unit: fc.constantFrom('\0', '\ud800', '\udfff', '"', '\\', '\u2028', '😀', 'é', '\n', 'x', "'", '\u001f'),
    maxLength: 12,
  }),
)
const json: fc.Arbitrary<Json> = fc
  .jsonValue({ depthSize: 'medium', stringUnit: 'binary' })
  .chain((value) =>
    fc.constantFrom<Json>(
      value as Json,
      [value as Json, -0, 5e-324, 1.7976931348623157e308],
      JSON.parse(`{"__proto__":${JSON.stringify(value)},"constructor":{"x":[]},"":null}`) as Json,
    ),
  )
const jsonObject = fc.dictionary(text, json, { maxKeys: 3 })
const options = fc.option(
  fc.dictionary(fc.constantFrom('openai', 'anthropic', '__proto'), jsonObject, {
    maxKeys: 2,
    noNullPrototype: true,
  }),
  { nil: undefined },
)
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.uint8Array({ minLength: 5_000, maxLength: 5_100 }),
)
const data = fc.oneof(
  text,
  bytes,
  bytes.map((value) => Buffer.from(value).toString('base64')),
  bytes.map((value) => `data:image/png;base64,${Buffer.from(value).toString('base64')}`),
  text.map((value) => value.repeat(500)),
)

function withOptions<T extends object>(part: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc
    .tuple(part, options)
    .map(([value, providerOptions]) =>
      providerOptions === undefined ? value : { ...value, providerOptions },
    )
}
const textPart = withOptions(fc.record({ type: fc.constant('text'), text }))
const imagePart = withOptions(fc.record({ type: fc.constant('image'), image: data }))
const filePart = withOptions(
  fc.record({
    type: fc.constant('file'),
    data,
    mediaType: fc.constantFrom('text/plain', 'application/pdf', ''),
    filename: text,
  }),
)
const providerPart = fc.record({ type: fc.constant('provider'), provider: text, data: json })
const part = fc.oneof(
  textPart,
  withOptions(fc.record({ type: fc.constant('reasoning'), text })),
  imagePart,
  filePart,
  providerPart,
  withOptions(
    fc.record({
      type: fc.constant('tool-call'),
      toolCallId: text,
      toolName: text,
      input: json,
      providerExecuted: fc.boolean(),
    }),
  ),
  withOptions(
    fc.record({
      type: fc.constant('tool-result'),
      toolCallId: text,
      toolName: text,
      output: fc.oneof(
        fc.record({ type: fc.constantFrom('text', 'error-text'), value: text }),
        fc.record({ type: fc.constantFrom('json', 'error-json'), value: json }),
        fc.record({
          type: fc.constant('content'),
          value: fc.array(fc.oneof(textPart, imagePart, filePart, providerPart), { maxLength: 3 }),
          isError: fc.boolean(),
        }),
      ),
    }),
  ),
) as unknown as fc.Arbitrary<Part>

const message: fc.Arbitrary<NewMessage> = fc
  .record({
    role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const, 'tool' as const),
    content: fc.oneof(text, fc.array(part, { maxLength: 4 })),
    metadata: fc.option(jsonObject, { nil: undefined }),
  })
  .map(({ metadata, ...rest }) => plain(metadata === undefined ? rest : { ...rest, metadata }) as NewMessage)

/** The same value with ordinary objects: fast-check makes some without a prototype. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]))
}

const bodyOf = ({ role, content, metadata }: NewMessage): unknown =>
  metadata === undefined ? { role, content } : { role, content, metadata }

export function describeLossless({ open, openBoth, keeps }: Contract): void {
  describe('what goes in comes out', () => {
    test('whatever it is', async () => {
      const { store, reopen } = await openBoth()
      let session = 0
      await fc.assert(
        fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 4 }), async (messages) => {
          const id = `s${session++}`
          await store.append(id, messages)
          const rows = await store.getMessages(id)
          // Not toStrictEqual: it takes a key named "constructor" for a class.
          const given = messages.map(bodyOf)
          expect(isDeepStrictEqual(rows.map(bodyOf), given)).toBe(true)
          expect(isDeepStrictEqual((await store.getEffectiveHistory(id)).map(bodyOf), given)).toBe(true)
          if (keeps.verify) expect((await store.sessions.verify(id)).findings).toEqual([])
        }),
        { numRuns: 150 },
      )
      if (reopen === undefined) return
      const before = await Promise.all(
        Array.from({ length: session }, (_, at) => store.getMessages(`s${at}`)),
      )
      await store.close()
      const again = await reopen()
      for (const [at, rows] of before.entries())
        expect(isDeepStrictEqual(await again.getMessages(`s${at}`), rows)).toBe(true)
    })

    test('numbers that JSON.stringify would change', async () => {
      const store = await open()
      const input = [-0, { a: -0, b: [0, -0] }, 1e21, 2 ** 53 + 2]
      await appendAll(store, [
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'x', input }] },
        {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: 'c', output: { type: 'json', value: -0 } }],
        },
      ])
      const [called, answered] = await store.getMessages(S)
      expect(called!.content).toStrictEqual([{ type: 'tool-call', toolCallId: 'c', toolName: 'x', input }])
      expect(answered!.content).toStrictEqual([
        { type: 'tool-result', toolCallId: 'c', output: { type: 'json', value: -0 } },
      ])
    })

    test('a text stays a text, and one part stays one part', async () => {
      const store = await open()
      const contents = [
        '',
        'x',
        [],
        [{ type: 'text' as const, text: '' }],
        [{ type: 'text' as const, text: 'x' }],
      ]
      await appendAll(
        store,
        contents.map((content) => ({ role: 'user', content })),
      )
      expect((await store.getMessages(S)).map(({ content }) => content)).toStrictEqual(contents)
    })

    test('nesting a thousand deep', async () => {
      const store = await open()
      let input: Json = 'deep'
      for (let depth = 0; depth < 999; depth++) input = depth % 2 === 0 ? [input] : { in: input }
      await appendAll(store, [
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'x', input }] },
      ])
      expect((await store.getMessages(S))[0]!.content).toStrictEqual([
        { type: 'tool-call', toolCallId: 'c', toolName: 'x', input },
      ])
    })

    test('a key named __proto__ in metadata, input and provider options', async () => {
      const store = await open()
      const tricky = JSON.parse('{"__proto__":{"polluted":true},"toString":1}') as never
      await appendAll(store, [
        {
          role: 'assistant',
          metadata: tricky,
          content: [
            {
              type: 'tool-call',
              toolCallId: 'c',
              toolName: 'x',
              input: tricky,
              providerOptions: { openai: tricky },
            },
          ],
        },
      ])
      const [row] = await store.getMessages(S)
      expect(Object.keys(row!.metadata!)).toEqual(['__proto__', 'toString'])
      const [one] = row!.content as unknown as { input: object; providerOptions: { openai: object } }[]
      expect(Object.keys(one!.input)).toEqual(['__proto__', 'toString'])
      expect(Object.keys(one!.providerOptions.openai)).toEqual(['__proto__', 'toString'])
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    })

    test('views on larger buffers, and Buffers', async () => {
      const store = await open()
      const large = new Uint8Array(20_000).map((_, at) => at % 251)
      const view = large.subarray(100, 9_000)
      await appendAll(store, [
        { role: 'user', content: [{ type: 'image', image: view }] },
        { role: 'user', content: [{ type: 'image', image: Buffer.from(view) }] },
      ])
      for (const { content } of await store.getMessages(S)) {
        const [image] = content as readonly { image: Uint8Array }[]
        expect(new Uint8Array(image!.image)).toStrictEqual(new Uint8Array(view))
      }
    })

    test('text of ten million characters', async () => {
      const store = await open()
      const long = 'ä😀\0'.repeat(2_500_000)
      await appendAll(store, [{ role: 'user', content: long }])
      expect((await store.getMessages(S))[0]!.content === long).toBe(true)
      expect((await store.getContextStats(S))!.sizes.text).toBe(2_500_000)
    })
  })
}

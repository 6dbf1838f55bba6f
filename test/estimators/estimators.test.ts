import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  estimateNcaMessages,
  estimatePromptfleetMessages,
  ncaBytesEstimator,
  ncaEstimator,
  neurolinkAdditiveEstimator,
  neuronBytesEstimator,
  neuronEstimator,
  promptfleetEstimator,
  providerFactor,
} from '../../src/compat/index.ts'
import type { Part } from '../../src/core/messages/message.ts'
import { indexMessage } from '../../src/core/model/message-parts.ts'
import {
  BUILT_IN_ESTIMATORS,
  calibratedEstimator,
  estimateMessagesTokens,
  estimateTokens,
  estimatorNamed,
  looksLikeCode,
  truncateToTokenBudget,
} from '../../src/core/tokens/index.ts'
import { addSizes, measureMessage, measurePart, NO_SIZES } from '../../src/core/tokens/measure.ts'
import { type Estimator, openStore } from '../../src/index.ts'
import { growth } from '../support/growth.ts'

const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: fc.string({ unit: 'grapheme' }) }),
  fc.record({ type: fc.constant('reasoning' as const), text: fc.string() }),
  fc.record({ type: fc.constant('image' as const), image: fc.constant('aGk=') }),
  fc.record({
    type: fc.constant('file' as const),
    data: fc.constant('aGk='),
    mediaType: fc.constantFrom('application/pdf', 'text/plain'),
  }),
  fc.record({
    type: fc.constant('tool-call' as const),
    toolCallId: fc.constant('c'),
    toolName: fc.string(),
    input: fc.jsonValue() as fc.Arbitrary<never>,
  }),
  fc.record({
    type: fc.constant('tool-result' as const),
    toolCallId: fc.constant('c'),
    output: fc.record({ type: fc.constant('text' as const), value: fc.string({ unit: 'grapheme' }) }),
  }),
)

it.each(BUILT_IN_ESTIMATORS.map((one) => [one.name, one] as const))(
  '%s: sizes add up over parts, are whole, and tokens never fall when units rise',
  (name, estimator) => {
    expect(estimatorNamed(name)).toBe(estimator)
    fc.assert(
      fc.property(fc.array(part), (content) => {
        const sum = content.reduce((sizes, one) => addSizes(sizes, measurePart(one, estimator)), NO_SIZES)
        expect(measureMessage({ content }, estimator)).toEqual(sum)
        expect(indexMessage({ content }, estimator).sizes).toEqual(sum)
        for (const size of Object.values(sum)) expect(Number.isInteger(size) && size >= 0).toBe(true)
      }),
    )
    expect(estimator.measureText('')).toBe(0)
    for (const provider of [undefined, 'anthropic', '__proto__']) {
      expect(estimator.toTokens(0, provider)).toBe(0)
      fc.assert(
        fc.property(fc.nat(1e6), fc.nat(1000), (units, more) => {
          const tokens = estimator.toTokens(units, provider)
          expect(Number.isInteger(tokens)).toBe(true)
          expect(estimator.toTokens(units + more, provider)).toBeGreaterThanOrEqual(tokens)
        }),
      )
    }
  },
)

it('files, images, calls and kinds count by the rule of each', () => {
  const pdf: Part = { type: 'file', data: 'aGk=', mediaType: 'application/pdf' }
  const image: Part = { type: 'image', image: 'aGk=' }
  const call: Part = { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: {} }
  const result: Part = {
    type: 'tool-result',
    toolCallId: 'c',
    output: { type: 'text', value: 'a'.repeat(7) },
  }
  expect(measurePart(pdf, neuronEstimator).media).toBe(500)
  expect(measurePart(image, neuronEstimator).media).toBe(300)
  expect(measurePart(pdf, ncaEstimator).media).toBe(128)
  // Name and input one token each, three for the call.
  expect(measurePart(call, promptfleetEstimator).toolCalls).toBe(5)
  expect(ncaEstimator.toTokens(measurePart(call, ncaEstimator).toolCalls)).toBe(50)
  // 7 characters: 7 / 3.5 as a tool's, 7 / 4 as anybody's.
  expect(ncaEstimator.toTokens(measurePart(result, ncaEstimator).toolResults)).toBe(2)
  expect(ncaEstimator.toTokens(ncaEstimator.measureText('a'.repeat(7)))).toBe(1)
  expect(neuronBytesEstimator.measureText('日本語')).toBe(3)
  expect(neuronEstimator.measureText('日本語')).toBe(1)
  expect(ncaBytesEstimator.toTokens(ncaBytesEstimator.measureText('日本語日'))).toBe(3)
})

it('an estimator of the old form still measures', () => {
  const old: Estimator = {
    name: 'old',
    measureText: (text: string) => text.length,
    mediaTokens: 7,
    toTokens: (units: number) => units,
    tokensPerMessage: 0,
    tokensPerConversation: 0,
  }
  const file: Part = { type: 'file', data: 'aGk=', mediaType: 'application/pdf' }
  const call: Part = { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: {} }
  expect(measurePart(file, old).media).toBe(7)
  expect(measurePart(call, old).toolCalls).toBe(3)
})

it('what lacks something every estimator has is refused at every door', async () => {
  const whole = {
    name: 'mine',
    measureText: (text: string) => text.length,
    toTokens: (units: number) => units,
    mediaTokens: 7,
    tokensPerMessage: 0,
    tokensPerConversation: 0,
  }
  const refused = expect.objectContaining({ code: 'INVALID_INPUT' })
  const doors = [
    (estimator: never) => openStore(':memory:', { estimator }).then((store) => store.close()),
    async (estimator: never) => estimateMessagesTokens([{ role: 'user', content: 'x' }], 'openai', estimator),
    async (estimator: never) => truncateToTokenBudget('some text', 1, 'openai', { estimator }),
  ]
  const wrong = Object.keys(whole).map((name) => ({ ...whole, [name]: undefined }))
  for (const door of doors) {
    await door(whole as never)
    for (const estimator of [...wrong, { ...whole, tokensPerMessage: Number.NaN }, 5, null])
      await expect(door(estimator as never)).rejects.toEqual(refused)
  }
})

it('the units of a store differ from the plain lists by less than a token a message', () => {
  const roles = fc.constantFrom('user', 'assistant', 'system')
  const messages = fc.array(
    fc.record({ role: roles, content: fc.string({ unit: 'grapheme', maxLength: 60 }) }),
    {
      minLength: 1,
    },
  )
  fc.assert(
    fc.property(messages, (list) => {
      const nca = estimateMessagesTokens(list, undefined, ncaEstimator) - estimateNcaMessages(list)
      expect(nca).toBeGreaterThanOrEqual(0)
      expect(nca).toBeLessThan(list.length)
      const fleet =
        estimateMessagesTokens(list, undefined, promptfleetEstimator) - estimatePromptfleetMessages(list)
      expect(Math.abs(fleet)).toBeLessThanOrEqual(list.length)
    }),
  )
  const talk = [1, 2, 3].flatMap(() => [
    { role: 'user', content: 'What is 2+2?' },
    { role: 'assistant', content: 'Four.' },
  ])
  expect(estimateMessagesTokens(talk, undefined, promptfleetEstimator)).toBe(
    estimatePromptfleetMessages(talk),
  )
})

it('the margin of the later versions is added instead of multiplied', () => {
  // 100 × 1.23 + 100 × 0.05 = 128; 100 × 1.23 × 1.15 = 141.45.
  expect(neurolinkAdditiveEstimator.toTokens(100, 'anthropic')).toBe(128)
  const text = 'a'.repeat(400)
  expect(estimateTokens(text, 'anthropic', false, { marginMode: 'additive' })).toBe(128)
  expect(estimateTokens(text, 'anthropic')).toBe(142)
  expect(() => estimateTokens(text, 'anthropic', false, { marginmode: 'additive' } as never)).toThrow()
  expect(() => estimateTokens(text, 'anthropic', 'yes' as never)).toThrow()
})

it('takes code for code and prose for prose', () => {
  const code = 'export function add(a: number, b: number): number {\n  return a + b\n}\n'
  const python = 'def add(a, b):\n    """Sum."""\n    return [x for x in (a, b) if x is not None]\n'
  const prose =
    'We met at noon, as agreed (she was late), and walked to the river; it rained. "Well," she said.'
  expect(looksLikeCode(code)).toBe(true)
  expect(looksLikeCode(python)).toBe(true)
  expect(looksLikeCode('{"a":1,"b":[true,false],"name":"x"}')).toBe(true)
  expect(looksLikeCode(prose)).toBe(false)
  expect(looksLikeCode('')).toBe(false)
  expect(looksLikeCode('会议将于下午三点开始。')).toBe(false)
  expect(estimateTokens(code, 'openai', 'auto')).toBe(estimateTokens(code, 'openai', true))
  expect(estimateTokens(prose, 'openai', 'auto')).toBe(estimateTokens(prose, 'openai'))
})

it('calibrated: whole, at least one for a text, about additive, never thrown off by any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      const together = calibratedEstimator.measureText(a + b)
      const apart = calibratedEstimator.measureText(a) + calibratedEstimator.measureText(b)
      expect(Number.isInteger(together)).toBe(true)
      if (a !== '') expect(calibratedEstimator.measureText(a)).toBeGreaterThanOrEqual(1)
      // A cut moves at most the pieces on both sides of it.
      expect(Math.abs(together - apart)).toBeLessThanOrEqual(16 * 6)
    }),
    { numRuns: 500 },
  )
  // Lone surrogates, both halves.
  expect(calibratedEstimator.measureText('\ud83d')).toBeGreaterThan(0)
  expect(calibratedEstimator.measureText('\ude00')).toBeGreaterThan(0)
  expect(providerFactor('constructor')).toBe(1)
})

it.each(['a', 'A', ' ', '\n', '-', '7', '😀', '的', '\\n', "'s", 'aB', 'e\u0301'])(
  'calibrated takes linear time for a text that repeats %j',
  (unit) => {
    const run = (size: number) => calibratedEstimator.measureText(unit.repeat(size / unit.length))
    expect(growth(run, 500_000)).toBeLessThan(3)
  },
)

it('a store takes an estimator by name, and opens sessions of every built-in one', async () => {
  for (const { name } of BUILT_IN_ESTIMATORS) {
    const store = await openStore(':memory:', { estimator: name })
    await store.append('s', [
      { role: 'user', content: 'Look at this.' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'read', input: { a: 1 } }],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', output: { type: 'text', value: 'ok' } }],
      },
    ])
    expect((await store.sessions.verify('s')).findings).toEqual([])
    for (const other of BUILT_IN_ESTIMATORS) await store.sessions.reestimate('s', other.name)
    expect((await store.sessions.verify('s')).findings).toEqual([])
    await store.close()
  }
  await expect(openStore(':memory:', { estimator: 'neurolnik' })).rejects.toThrow(
    /must be an estimator, or one of neurolink,/,
  )
  await expect(openStore(':memory:', { estimator: '__proto__' })).rejects.toThrow(/must be an estimator/)
})

it('a session cut under an estimator with finer units holds what it counted', async () => {
  for (const estimator of ['calibrated', 'nca'] as const) {
    const store = await openStore(':memory:', { estimator })
    for (let turn = 0; turn < 6; turn++)
      await store.append('s', [
        { role: 'user', content: `Question ${turn}: ${'what of the harbour and its ships? '.repeat(40)}` },
        {
          role: 'assistant',
          content: [{ type: 'tool-call', toolCallId: `c${turn}`, toolName: 'read', input: {} }],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: `c${turn}`,
              output: { type: 'text', value: 'line of log\n'.repeat(300) },
            },
          ],
        },
        { role: 'assistant', content: 'Done.' },
      ])
    await store.compactSession('s', { provider: 'openai', model: 'gpt-4', targetTokens: 900 })
    expect((await store.sessions.verify('s')).findings).toEqual([])
    await store.close()
  }
})

it('a list never counts less for one message more, and no message with a text counts nothing', () => {
  const message = fc.record({
    role: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const),
    content: fc.string({ unit: 'grapheme', minLength: 1 }),
  })
  for (const estimator of BUILT_IN_ESTIMATORS) {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 6 }),
        message,
        fc.constantFrom('openai', 'anthropic', undefined),
        (before, one, provider) => {
          const tokens = (list: typeof before): number => estimateMessagesTokens(list, provider, estimator)
          expect(tokens([...before, one])).toBeGreaterThanOrEqual(tokens(before))
          expect(tokens([one])).toBeGreaterThan(0)
        },
      ),
      { numRuns: 50 },
    )
  }
})

it('calibrated: a longer beginning of a text never counts less', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.integer({ min: 1, max: 30 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (stretch, times, share) => {
        const { measureText } = calibratedEstimator
        const text = stretch.repeat(times)
        const beginning = text.slice(0, Math.floor(share * text.length))
        expect(measureText(beginning)).toBeLessThanOrEqual(measureText(text))
      },
    ),
  )
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Part, Role } from '../../src/core/messages/message.ts'
import { SUMMARY_SECTIONS } from '../../src/core/summarizers/summarizer.ts'
import { estimateTokens } from '../../src/core/tokens/measure.ts'
import { assistant, did, type Row, summarize, user } from './support.ts'

/** Any UTF-16 units at all, lone surrogates among them. */
const units = fc.array(fc.nat(0xffff), { maxLength: 40 }).map((codes) => String.fromCharCode(...codes))

/** Pieces that the extractor looks for, and pieces that could lead it astray. */
const pieces = fc.constantFrom(
  'You must never do that. ',
  'Let’s use tabs instead of spaces.\n',
  'rules you must follow:\n- one\n- two\n',
  '```ts\ncode()\n```\n',
  '```',
  '- [ ] a box\n',
  '- [x] a box\n',
  '## Constraints and Established Rules\n- User: "always so"\n',
  '## Files and Code Sections\n- Root: `/a/`\n- `b.ts` — written, 2 edits\n',
  'Remaining:\n- this\n- that\n',
  '<system-reminder>x</system-reminder>',
  '<system-reminder>',
  'Error: no such thing\n',
  '`userName` and snake_case in main.ts ',
  '😀😀😀 ',
  '你必须。不！',
  'a'.repeat(700),
  ' \n\t ',
)
const texts = fc.array(fc.oneof(pieces, units), { maxLength: 12 }).map((parts) => parts.join(''))

const parts: fc.Arbitrary<Part> = fc.oneof(
  texts.map((text): Part => ({ type: 'text', text })),
  fc.record({
    type: fc.constant('tool-call' as const),
    toolCallId: fc.constantFrom('1', '2'),
    toolName: fc.oneof(fc.constantFrom('read', 'edit', 'write', 'bash', 'TodoWrite'), units),
    input: fc.oneof(
      fc.record({ path: texts, oldText: texts, newText: texts }),
      fc.record({ path: texts, content: texts }),
      fc.record({ command: texts }),
      fc.record({
        todos: fc.array(fc.record({ content: texts, status: fc.constantFrom('pending', 'done') })),
      }),
      fc.jsonValue({ maxDepth: 2 }).map((value) => value as string),
    ),
  }),
  fc.record({
    type: fc.constant('tool-result' as const),
    toolCallId: fc.constantFrom('1', '2'),
    output: fc.oneof(
      texts.map((value) => ({ type: 'text' as const, value })),
      texts.map((value) => ({ type: 'error-text' as const, value })),
      fc.jsonValue({ maxDepth: 2 }).map((value) => ({ type: 'json' as const, value: value as string })),
      texts.map((text) => ({ type: 'content' as const, value: [{ type: 'text' as const, text }] })),
    ),
  }),
)

const rows: fc.Arbitrary<Row[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('message', 'message', 'message', 'summary', 'marker'),
    role: fc.constantFrom<Role>('user', 'assistant', 'tool', 'system'),
    content: fc.oneof(texts, fc.array(parts, { maxLength: 4 })),
  }),
  { maxLength: 15 },
) as fc.Arbitrary<Row[]>

const budgets = fc.oneof(fc.nat(80), fc.nat(2_000))

it('keeps the budget, whatever the messages and the earlier summary', () => {
  fc.assert(
    fc.property(
      rows,
      fc.option(texts, { nil: undefined }),
      budgets,
      (messages, previousSummary, maxTokens) => {
        const text = summarize(messages, {
          maxTokens,
          ...(previousSummary !== undefined && { previousSummary }),
        })
        expect(estimateTokens(text)).toBeLessThanOrEqual(maxTokens)
        if (messages.length > 0 && maxTokens >= 2) expect(text).not.toBe('')
      },
    ),
    { numRuns: 400 },
  )
})

it('returns the same for the same input', () => {
  fc.assert(
    fc.property(rows, budgets, (messages, maxTokens) => {
      expect(summarize(structuredClone(messages), { maxTokens })).toBe(summarize(messages, { maxTokens }))
    }),
  )
})

it('writes well-formed text', () => {
  fc.assert(
    fc.property(rows, budgets, (messages, maxTokens) => summarize(messages, { maxTokens }).isWellFormed()),
  )
})

it('cuts no code point in two', () => {
  const wellFormed = fc.array(fc.constantFrom('😀', '😀 ', 'must 😀', '. ', '😀\n', '👍'), {
    minLength: 20,
    maxLength: 900,
  })
  fc.assert(
    fc.property(wellFormed, fc.integer({ min: 2, max: 300 }), (emoji, maxTokens) => {
      const text = emoji.join('')
      const messages: Row[] = [
        { kind: 'message', role: 'user', content: text },
        {
          kind: 'message',
          role: 'assistant',
          content: [
            { type: 'text', text },
            { type: 'tool-call', toolCallId: '1', toolName: 'bash', input: { command: text } },
          ],
        },
        {
          kind: 'message',
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId: '1', output: { type: 'error-text', value: text } }],
        },
      ]
      expect(summarize(messages, { maxTokens, previousSummary: text })).not.toContain('\ufffd')
    }),
  )
})

it('carries every rule on through any number of rounds, while there is room', () => {
  const rule = fc
    .stringMatching(/^[a-z]{3,10}( [a-z]{3,10}){2,8}$/)
    .map((words) => `You must never ${words}.`)
  fc.assert(
    fc.property(
      fc.uniqueArray(rule, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 5 }),
      (rules, rounds) => {
        const filler: Row[] = [
          { kind: 'message', role: 'user', content: 'And now the next part of the work.' },
          { kind: 'message', role: 'assistant', content: 'It is done. '.repeat(300) },
        ]
        let summary = summarize([
          ...rules.map((content): Row => ({ kind: 'message', role: 'user', content })),
          ...filler,
        ])
        for (let round = 0; round < rounds; round++) summary = summarize(filler, { previousSummary: summary })
        for (const text of rules) expect(summary).toContain(`- User: "${text}"`)
      },
    ),
  )
})

it('takes its own summary apart and puts the same together again, when nothing was added', () => {
  fc.assert(
    fc.property(rows, (messages) => {
      const first = summarize(messages.filter(({ kind }) => kind === 'message'))
      fc.pre(first.startsWith('## '))
      const marker: Row = { kind: 'marker', role: 'user', content: 'gone' }
      const second = summarize([marker], { previousSummary: first })
      const third = summarize([marker], { previousSummary: second })
      expect(third).toBe(second)
    }),
    { numRuns: Number(process.env.RUNS ?? 300) },
  )
})

it('keeps what was current when nothing came that could replace it', () => {
  const first = '## Required Files\n- `src/main.ts`'
  expect(summarize([{ kind: 'marker', role: 'user', content: 'gone' }], { previousSummary: first })).toBe(
    first,
  )
})

it('accepts any titles', () => {
  fc.assert(
    fc.property(
      rows,
      fc.array(fc.oneof(units, fc.constantFrom(...SUMMARY_SECTIONS, 'Goals')), { maxLength: 12 }),
      (messages, sections) => {
        expect(estimateTokens(summarize(messages, { sections, maxTokens: 300 }))).toBeLessThanOrEqual(300)
      },
    ),
  )
})

it('holds the first and the newest request in 64 tokens or more, and two rules in 128, whatever tools returned', () => {
  const field = fc.record({ id: fc.stringMatching(/^[A-Z]{3}[0-9]{3,6}$/), total: fc.nat(99_999) })
  const records = fc.array(fc.array(field, { minLength: 1, maxLength: 8 }), { minLength: 2, maxLength: 12 })
  fc.assert(
    fc.property(records, fc.integer({ min: 64, max: 400 }), (found, maxTokens) => {
      const messages = [
        user(
          'Please move all of my bookings to the sixth of May, and tell me what it costs to do that for each.',
        ),
        ...found.flatMap((record, i) =>
          did(String(i), `look_up_${i % 3}`, { key: i }, JSON.stringify(record)),
        ),
        assistant('I found them. Shall I go on?'),
        user('You must never charge the old card again. Never write to my office address.'),
        assistant('Understood.'),
        user(
          'Which of the hotels has a pool for the children? Two of us cannot swim, so it should not be deep.',
        ),
        ...did('last', 'look_up_2', { key: 99 }, JSON.stringify(found[0])),
      ]
      const text = summarize(messages, { maxTokens })
      expect(estimateTokens(text)).toBeLessThanOrEqual(maxTokens)
      expect(text).toMatch(/^- First request: "Please /m)
      expect(text).toMatch(/^- Newest request: "Which /m)
      if (maxTokens < 128) return
      expect(text).toMatch(/^- User: "You must /m)
      expect(text).toMatch(/^- User: "Never write /m)
    }),
  )
})

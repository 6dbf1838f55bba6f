import { expect, it } from 'vitest'
import { growth } from '../support/growth.ts'
import { assistant, call, type Row, result, summarize, user } from './support.ts'

const WORDS =
  "the file must never return a value instead of parser `buildIndex` please fix error in src/core/index.ts because we decided to keep it and don't change userName or snake_case_name now let me check whether it works why does this fail".split(
    ' ',
  )

/** The same text each time, flat in memory. */
function prose(length: number, seed: number): string {
  let state = seed
  const words: string[] = []
  for (let size = 0; size < length; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    const word = WORDS[state % WORDS.length]!
    words.push(state % 17 === 0 ? `${word}.\n` : word)
    size += word.length + 1
  }
  return Buffer.from(words.join(' ')).toString('latin1')
}

const shapes: [string, (i: number) => Row][] = [
  ['users only', (i) => user(prose(950, i))],
  ['a dialogue', (i) => (i % 2 === 0 ? user : assistant)(prose(950, i))],
  [
    'much work with tools',
    (i) => {
      if (i % 20 === 0) return user(prose(900, i))
      if (i % 2 === 0) return result(`c${i - 1}`, prose(1_500, i))
      const path = `/app/src/file-${i % 97}.ts`
      const edit = call(`c${i}`, 'edit', { path, oldText: prose(100, i), newText: prose(200, i) })
      return assistant(
        prose(100, i),
        i % 4 === 1 ? edit : call(`c${i}`, 'bash', { command: `npm test ${prose(60, i)}` }),
      )
    },
  ],
  [
    'signs that patterns stumble over',
    (i) =>
      user(`${'`'.repeat(101)}${'A1'.repeat(99)}${'a_'.repeat(99)}${' '.repeat(200)}${'a.'.repeat(i % 99)}`),
  ],
]

it.each(shapes)('summarizes twice as many messages in at most three times the time: %s', (_, shape) => {
  const messages = Array.from({ length: 10_000 }, (_, i) => shape(i))
  const run = (size: number) => summarize(messages.slice(0, size), { files: { read: [], modified: [] } })
  expect(growth(run, 5_000)).toBeLessThan(3)
})

it.each<[string, (n: number) => string]>([
  ['one line', (n) => 'a'.repeat(10 * n)],
  ['one heading', (n) => `# ${'#'.repeat(10 * n)}x`],
  ['open fences', (n) => '```\n'.repeat(n)],
  ['items', (n) => '- x\n'.repeat(n)],
])('reads an earlier summary of %s in linear time', (_, previousSummary) => {
  expect(
    growth((n) => summarize([user('go')], { previousSummary: previousSummary(n) }), 500_000),
  ).toBeLessThan(3)
})

import { expect, it } from 'vitest'
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

const MESSAGES = 10_000
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

// The figure wanted is 350 ms; three times that leaves room for a busy machine and notices what is not linear.
it.each(shapes)('summarizes 10,000 messages in time: %s', (_, shape) => {
  const messages = Array.from({ length: MESSAGES }, (_, i) => shape(i))
  const files = { read: [], modified: [] }

  const started = performance.now()
  summarize(messages, { files })
  expect(performance.now() - started).toBeLessThan(1_050)
})

it.each([
  ['one line', 'a'.repeat(5_000_000)],
  ['one heading', `# ${'#'.repeat(5_000_000)}x`],
  ['open fences', '```\n'.repeat(1_000_000)],
  ['items', '- x\n'.repeat(500_000)],
])('is not held up by an earlier summary of %s', (_, previousSummary) => {
  const started = performance.now()
  summarize([user('go')], { previousSummary })
  expect(performance.now() - started).toBeLessThan(5_000)
})

import { expect, it } from 'vitest'
import { assistant, did, sectionsOf, summarize, user } from './support.ts'

it('tells of files, tasks and boxes of calls before thousands of others', () => {
  const path = '/app/src/words.ts'
  const text = sectionsOf(
    summarize([
      user('Write the parser of words.'),
      ...did('a', 'write', { path, content: '/** Splits a text into words. */\nexport const x = 1' }),
      ...did('b', 'write', { path: '/app/plan.md', content: '- [x] Read the words\n- [ ] Count the words' }),
      ...did('c', 'todo', { items: [{ content: 'Publish the package', status: 'pending' }] }),
      ...Array.from({ length: 5_000 }, (_, i) => did(`n${i}`, 'bash', { command: `ls /tmp/${i}` })).flat(),
      assistant('The parser is there.'),
    ]),
  )

  const files = text['Files and Code Sections']?.join('\n')
  expect(files).toContain('words.ts')
  expect(files).toContain('Splits a text into words.')
  expect(text['Pending Tasks']).toEqual(['Publish the package', 'Count the words'])
})

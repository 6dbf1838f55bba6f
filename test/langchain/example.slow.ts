import { expect, it } from 'vitest'
import { runExample } from '../support/run-as-user.ts'

it('the example runs without a key, clears its history and has it again', async () => {
  const printed = await runExample('examples/langchain', 'chat.ts')
  expect(printed.split('\n')).toEqual([
    '> I am Ada.',
    'Hello, Ada.',
    '> Who am I?',
    'You are Ada.',
    '0 messages after clear',
    '4 messages after undo',
    '',
  ])
})

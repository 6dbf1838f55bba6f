import { expect, it } from 'vitest'
import { runExample } from '../support/run-as-user.ts'

it('the example imports a session, deletes it and restores it', async () => {
  const printed = await runExample('examples/claude-agent-sdk', 'import.ts')
  const lines = printed.trim().split('\n')
  // Two words, a call and its result; the title says nothing to a model.
  expect(lines.slice(0, 2)).toEqual(['listed: The word in a.txt', '5 entries, 4 messages for a model'])
  expect(lines[2]).toMatch(/^about \d+ tokens$/)
  expect(lines.slice(3, 5)).toEqual(['deleted: 0 sessions', 'restored: 4 messages'])
  expect(lines.slice(5)).toEqual(expect.arrayContaining(['  created by example', '  undone by example']))
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from '../support/temporary.ts'
import { readTranscript, UnusableFile } from './transcript.ts'

const folder = newFolder()

const user = { role: 'user', content: 'Hello.' }
const longer = { role: 'user', content: 'Hello, hello.' }
const anthropic = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'b', input: {} }] }

function fileOf(content: string): string {
  const path = join(folder, 'given.jsonl')
  writeFileSync(path, content)
  return path
}

function linesOf(...entries: readonly object[]): string {
  return entries.map((entry) => JSON.stringify(entry)).join('\n')
}

it.each([
  ['a message a line', linesOf(user, anthropic), { format: 'anthropic', conversations: 1 }],
  ['lines with CRLF and blanks', `${linesOf(user)}\r\n\r\n${linesOf(user)}\r\n`, { format: 'openai' }],
  ['one line only', linesOf(user), { format: 'openai', conversations: 1 }],
  ['an array with a byte order mark', `\ufeff[${linesOf(user)}]`, { format: 'openai' }],
  ['the largest of conversations', linesOf({ messages: [user] }, { messages: [longer] }), { number: 2 }],
  [
    'conversations in an array',
    JSON.stringify([{ messages: [longer] }, { messages: [user] }]),
    { number: 1 },
  ],
  ['a conversation with a system prompt', linesOf({ system: 'Be brief.', messages: [user, anthropic] }), {}],
  ['wrapped messages', linesOf({ type: 'summary' }, { message: user }), { skipped: 1 }],
  ['the model it names', linesOf({ ...anthropic, model: 'claude-x' }), { model: 'claude-x' }],
  ['no model that could not be one', linesOf({ ...anthropic, model: 'a\u001bb' }), { model: undefined }],
])('reads %s', (_, content, expected) => {
  const transcript = readTranscript(fileOf(content))
  expect(transcript).toMatchObject(expected)
  expect(transcript.sameAs(transcript.messages)).toBe(true)
  expect(transcript.sameAs([])).toBe(false)
})

it.each([
  ['an empty file', '', 'given.jsonl is empty.'],
  ['a line that is not JSON', `${linesOf(user)}\n{"role":`, 'Line 2 of given.jsonl is not JSON.'],
  ['entries that are no messages', linesOf({ a: 1 }), 'given.jsonl is in no form we know'],
  ['entries that are no objects', '[1, 2]', 'Entry 1 of given.jsonl is no JSON object'],
  ['no messages', '[]', 'given.jsonl holds no messages.'],
  [
    'messages beside conversations',
    linesOf({ messages: [user] }, user),
    /given\.jsonl mixes 1\sconversation with 1\sother entry/,
  ],
  [
    'two forms at once',
    linesOf(
      { role: 'tool', tool_call_id: 'a', content: '' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: '' }] },
    ),
    'given.jsonl is in no form we know',
  ],
  [
    'a message nobody can send',
    linesOf({ role: 'user', content: [{ type: 'tool_use', id: 'a', name: 'b', input: {} }] }),
    'given.jsonl holds a message that cannot be taken in',
  ],
])('refuses %s', (_, content, sentence) => {
  const read = (): unknown => readTranscript(fileOf(content))
  expect(read).toThrow(UnusableFile)
  expect(read).toThrow(sentence)
})

it('refuses a folder', () => {
  expect(() => readTranscript(folder)).toThrow('is a folder')
})

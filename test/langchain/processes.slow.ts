import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, it } from 'vitest'
import { openStore } from '../../src/index.ts'
import { newFolder } from '../support/temporary.ts'

const run = promisify(execFile)
const TSX = join(import.meta.dirname, '..', '..', 'node_modules', 'tsx', 'dist', 'cli.mjs')

type Told = { readonly sent: string[][]; readonly shown: string[]; readonly calls: object[] }

let folder: string
beforeEach(async () => {
  folder = newFolder()
})

/** Goes on in a process of its own, and answers what it told. */
async function inProcess(step: string): Promise<Told> {
  const script = join(import.meta.dirname, 'child.ts')
  const { stdout } = await run(process.execPath, [TSX, script, join(folder, 'chats.db'), step])
  return JSON.parse(stdout) as Told
}

it('continues in another process, with compacted messages hidden; a clear removes all', async () => {
  const asked = ['human: I am Ada.', 'ai: Hello, Ada.', 'human: What is in a?', 'ai: ', 'tool: text of a']
  const first = await inProcess('first')
  expect(first.sent).toEqual([asked.slice(0, 1), asked.slice(0, 3), asked])
  expect(first.shown).toEqual([...asked, 'ai: Text.'])
  expect(first.calls).toEqual([{ name: 'look', args: { path: 'a' }, id: 'c1', type: 'tool_call' }])

  const compacted = await inProcess('compact')
  expect(compacted.shown).toEqual([...asked.slice(2), 'ai: Text.'])

  const second = await inProcess('second')
  expect(second.sent).toEqual([[...asked.slice(2), 'ai: Text.', 'human: Go on.']])
  expect(second.calls).toEqual(first.calls)

  expect((await inProcess('clear')).shown).toEqual([])
  expect((await inProcess('undo')).shown).toEqual([...asked, 'ai: Text.', 'human: Go on.', 'ai: Sure.'])

  await using store = await openStore(join(folder, 'chats.db'))
  expect((await store.sessions.verify('s')).findings).toEqual([])
  expect((await store.sessions.get('s')).messageCount).toBe(8)
})

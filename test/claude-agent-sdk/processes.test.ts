import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { foldSessionSummary } from '@anthropic-ai/claude-agent-sdk'
import { expect, it } from 'vitest'
import { transcriptOf } from '../../src/adapters/claude-agent-sdk/entry.ts'
import { undertextSessionStore } from '../../src/adapters/claude-agent-sdk/index.ts'
import { openStore } from '../../src/index.ts'
import { bundle } from '../support/bundled.ts'

const run = promisify(execFile)

it('several processes append to one transcript, and its summary describes all stored entries', async () => {
  const { script, folder, remove } = await bundle('test/claude-agent-sdk/append-in-process.ts')
  const file = join(folder, 'chats.db')
  try {
    const names = ['a', 'b', 'c']
    await Promise.all(names.map((name) => run(process.execPath, [script, file, name, '20'])))

    const store = await openStore(file)
    const transcripts = undertextSessionStore({ store })
    const key = { projectKey: 'project', sessionId: 'one' }
    const entries = (await transcripts.load(key))!
    // Each shared entry once, and each process's own in its order.
    expect(entries).toHaveLength(20 + 3 * 20)
    for (const name of names)
      expect(entries.flatMap(({ uuid }) => (uuid?.startsWith(`${name}-`) ? [uuid] : []))).toEqual(
        Array.from({ length: 20 }, (_, at) => `${name}-${at}`),
      )
    const [summary] = await transcripts.listSessionSummaries('project')
    expect(summary!.data).toEqual(foldSessionSummary(undefined, key, entries).data)
    expect(summary!.data.tag).toBe(entries.findLast(({ type }) => type === 'tag')!.tag)
    const { id } = transcriptOf(key)
    expect((await store.sessions.get(id)).owner).toBe('project')
    expect((await store.sessions.verify(id)).findings).toEqual([])
    await store.close()
  } finally {
    remove()
  }
}, 120_000)

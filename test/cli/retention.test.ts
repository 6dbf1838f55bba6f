import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { fill } from '../retention/support.ts'
import { runCli } from '../support/cli-run.ts'
import { newFolder } from '../support/temporary.ts'

let folder: string
let db: string
beforeEach(async () => {
  folder = newFolder()
  db = join(folder, 'chats.db')
  const store = await openStore(db, { durability: 'normal' })
  await fill(store, 2, 3, 1)
  await store.close()
  writeFileSync(
    join(folder, 'rules.json'),
    JSON.stringify({ toolOutputs: { olderThanDays: 0 }, archived: { olderThanDays: 0 } }),
  )
})

const run = (...args: string[]) =>
  runCli(['retention', ...args, '--rules', 'rules.json', '--db', db], { cwd: folder })

async function firstOutput(): Promise<string> {
  await using store = await openStore(db, { readonly: true })
  return JSON.stringify((await store.getMessages('session-1'))[2]!.content)
}

describe('retention', () => {
  test('shows what the rules of a file remove, and removes it with --yes', async () => {
    const dry = await run('--dry-run')
    expect(dry.lines[0]).toBe('The rules remove:')
    expect(dry.lines[1]).toMatch(/^ {2}2 tool outputs in 1 session, [\d,]+ bytes$/)
    expect(dry.lines[2]).toBe('  1 archived session, 12 messages')
    expect(await firstOutput()).toContain('heroncanary')
    const ran = await run('--yes', '--clear-files')
    expect(ran.exit, ran.err).toBe(0)
    expect(ran.lines).toEqual(['Removed:', ...dry.lines.slice(1)])
    expect(await firstOutput()).toContain('[Tool output removed]')
    const again = await run('--yes')
    expect(again.lines).toEqual(['The rules remove nothing.'])
  })

  test('removes nothing without a confirmation, and rejects a file that has no rules', async () => {
    const asked = await run()
    expect([asked.exit, await firstOutput()]).toEqual([130, expect.stringContaining('heroncanary')])
    writeFileSync(join(folder, 'rules.json'), '[]')
    expect((await run('--dry-run')).exit).toBe(2)
    writeFileSync(join(folder, 'rules.json'), '{ "toolOutput": {} }')
    expect((await run('--dry-run')).exit).toBe(2)
  })

  test('names the option that undoes a compaction of which something was removed', async () => {
    await run('--yes', '--clear-files')
    const undone = await runCli(['undo', 'session-1', '@', '--db', db])
    expect(undone.exit).toBe(4)
    expect(undone.err).toContain('undo --show-retired session-1')
    expect((await runCli(['undo', 'session-1', '@', '--show-retired', '--db', db])).exit).toBe(0)
  })
})

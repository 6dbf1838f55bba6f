import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { runCli } from '../support/cli-run.ts'
import { say } from '../support/conversation.ts'
import { newFolder } from '../support/temporary.ts'

const SECRET = 'sk-live-9Qz7'

let folder: string
let db: string
beforeEach(async () => {
  folder = newFolder()
  db = join(folder, 'chats.db')
  const store = await openStore(db)
  await store.append('talk', [say('user', `use ${SECRET}`), say('assistant', `so ${SECRET} ${SECRET}`)])
  await store.append('other', [say('user', SECRET)])
  await store.close()
})

async function contents(id: string): Promise<unknown[]> {
  await using store = await openStore(db, { readonly: true })
  return (await store.getMessages(id)).map(({ content }) => content)
}

describe('purge-text', () => {
  test('removes a text that is piped in, and prints where it was, never the text', async () => {
    const ran = await runCli(['purge-text', 'talk', '--yes', '--db', db], { piped: `${SECRET}\n` })
    expect(ran.exit, ran.err).toBe(0)
    expect(ran.lines).toEqual(['Removed 3 times: 2 messages.', '  talk: 3 times'])
    expect(ran.out + ran.err).not.toContain(SECRET)
    expect(await contents('talk')).toEqual(['use [removed]', 'so [removed] [removed]'])
    expect(await contents('other')).toEqual([SECRET])
  })

  test('reads it from a file, and with --dry-run only counts', async () => {
    writeFileSync(join(folder, 'key.txt'), `${SECRET}\n`)
    const args = ['purge-text', '--all', '--file', 'key.txt', '--db', db]
    const dry = await runCli([...args, '--dry-run', '--json'], { cwd: folder })
    expect(dry.json).toMatchObject({ dryRun: true, matches: 4, messages: 3 })
    expect(await contents('other')).toEqual([SECRET])
    const ran = await runCli([...args, '--yes', '--replacement', '***', '--json'], { cwd: folder })
    expect(ran.json).toMatchObject({ dryRun: false, matches: 4, messages: 3, kept: [] })
    expect(await contents('other')).toEqual(['***'])
    const again = await runCli([...args, '--yes'], { cwd: folder })
    expect(again.lines).toEqual(["The text wasn't found."])
  })

  test('takes a regular expression', async () => {
    const ran = await runCli(['purge-text', '--all', '--regex', '--yes', '--db', db], {
      piped: 'sk-live-\\w+',
    })
    expect(ran.lines[0]).toBe('Removed 4 times: 3 messages.')
  })

  test('without --yes and a terminal removes nothing', async () => {
    const ran = await runCli(['purge-text', '--all', '--db', db], { piped: SECRET })
    expect(ran.exit).toBe(130)
    expect(ran.err).toContain('Nothing was removed.')
    expect(await contents('other')).toEqual([SECRET])
  })

  test.each([
    [[], SECRET],
    [['talk', '--all'], SECRET],
    [['--all', '--owner', 'ann'], SECRET],
    [['--all'], ''],
    [['--all', '--regex'], '('],
  ])('%j with %j is wrong use', async (args, piped) => {
    const ran = await runCli(['purge-text', ...args, '--yes', '--db', db], { piped, cwd: folder })
    expect(ran.exit).toBe(2)
  })

  test('a file with the text that is missing is not there', async () => {
    const ran = await runCli(['purge-text', '--all', '--file', 'no.txt', '--yes', '--db', db], {
      cwd: folder,
    })
    expect(ran.exit).toBe(3)
  })
})

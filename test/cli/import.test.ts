import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { beforeEach, expect, it } from 'vitest'
import { runCli } from '../support/cli-run.ts'
import { newFolder } from '../support/temporary.ts'

let folder: string
beforeEach(() => {
  folder = newFolder()
})

const line = (content: string) => `${JSON.stringify({ role: 'user', content })}\n`
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return name
}
const run = (...argv: readonly string[]) =>
  runCli(['import', ...argv], { cwd: folder, env: { UNDERTEXT_DB: join(folder, 'chats.db') } })

it('imports what it can of several files, and its exit code tells the worst', async () => {
  const good = file('good.jsonl', line('one') + line('two'))
  const bad = file('bad.jsonl', line('one') + line('my secret').slice(0, -4))
  const { exit, lines, err } = await run('none.jsonl', good, bad)
  expect(exit).toBe(6)
  expect(err).toContain(`none.jsonl" can't be read: there is no such file.`)
  expect(lines.join('\n')).not.toContain('secret')
  expect(lines).toContain('✓ good.jsonl: plain messages, 2 messages stored as good')
  expect(lines).toContain('  line 2: the file ends within it')
  expect(lines).toContain(
    '✗ bad.jsonl: plain messages, rejected as bad: one place cannot be read; --skip-bad stores the rest',
  )
  expect(lines.at(-1)).toBe('3 files: 2 messages in 1 session, 1 conversation rejected, 1 file not read')
  expect((await run('none.jsonl', good)).exit).toBe(3)
  expect((await run(good)).lines[0]).toBe(
    '✓ good.jsonl: plain messages, nothing new in good, 2 there already',
  )
  expect((await run(bad, '--skip-bad')).exit).toBe(0)
})

it('points to its help where a file is not recognized', async () => {
  const page = file('page.html', '<html>')
  const path = join(folder, 'page.html')
  expect((await run(page)).err.trimEnd()).toBe(
    `✗ "${path}" isn't recognized: it looks like text that is not JSON. \`undertext help import\` lists the recognized kinds.`,
  )
})

it('offers --skip-bad only where something is left without the bad places', async () => {
  expect((await run(file('none.jsonl', 'no\n'), '--from', 'messages')).lines[0]).toBe(
    '✗ none.jsonl: plain messages, rejected as none: none of it can be read',
  )
  await run(file('good.jsonl', line('one')))
  const whole = (await runCli(['export', 'good'], { env: { UNDERTEXT_DB: join(folder, 'chats.db') } })).out
  const changed = await run(file('copy.jsonl', whole.replace('"one"', '"two"')), '--session', 'copy')
  expect(changed.exit).toBe(6)
  expect(changed.lines[0]).toMatch(/^✗ copy\.jsonl: histories of undertext, rejected as copy: [^;]+$/)
})

it('tells with --json what became of each file', async () => {
  const good = file('good.jsonl', line('one'))
  const { json, exit } = await run('none.jsonl', good, '--json')
  expect(exit).toBe(3)
  expect(json).toMatchObject({
    files: [
      { path: 'none.jsonl', error: { code: 'FILE_UNREADABLE', facts: { detail: 'there is no such file.' } } },
      { path: 'good.jsonl', source: 'messages', totals: { imported: 1, messages: 1 }, error: null },
    ],
  })
})

it('tells with --json what was done before what ended it', async () => {
  const good = file('good.jsonl', line('one'))
  const bad = file('bad.jsonl', `${line('one')}no\n`)
  await run(file('first.jsonl', line('one')))
  const database = new BetterSqlite3(join(folder, 'chats.db'))
  database.exec(
    "create trigger broken before insert on undertext_messages begin select raise(abort, 'no'); end",
  )
  database.close()
  const { json, exit } = await run('first.jsonl', bad, good, 'none.jsonl', '--json')
  const { files } = json as { files: readonly { path: string; error: { code: string } | null }[] }
  expect(files.map(({ path, error }) => [path, error?.code])).toEqual([
    ['first.jsonl', undefined],
    ['bad.jsonl', undefined],
    ['good.jsonl', 'STORE_CORRUPT'],
  ])
  expect(exit).toBe(5)
})

it('advises when the name belongs to another conversation', async () => {
  const ours = { mapping: { a: { message: null }, b: { parent: 'a', message: said('ours') } } }
  const theirs = { mapping: { a: { message: null }, c: { parent: 'a', message: said('theirs') } } }
  file('a.json', JSON.stringify([{ ...ours, id: 'talk' }]))
  file('b.json', JSON.stringify([{ ...theirs, id: 'talk' }]))
  await run('a.json')
  const { exit, json } = await run('b.json', '--json')
  expect(exit).toBe(4)
  const why =
    'Session "talk" already exists: it is another conversation, belongs to another owner, or has changed since. Import this one under another id, with session or prefix.'
  expect(json).toMatchObject({
    files: [{ conversations: [{ status: 'refused', code: 'SESSION_EXISTS', why }] }],
  })
  expect((await run('b.json', '--prefix', 'b-')).exit).toBe(0)
})

function said(text: string) {
  return { author: { role: 'user' }, content: { content_type: 'text', parts: [text] } }
}
